/**
 * @file schedules.c
 * Allreduces as messages on the simulated network: recursive doubling with full vectors,
 * Rabenseifner's halving and doubling, and the ring. Each message costs the overhead, each
 * reduction its time per byte, both serial with the wire.
 *
 * With n bytes, latency L, bandwidth B, overhead o, reduction c per byte, and P = 2^k workers that
 * arrive together on an idle network: recursive doubling k (o + L + n/B + c n); Rabenseifner 2 k (o
 * + L) + (P-1)/P (2 n/B + c n); ring 2 (P-1) (o + L + n/(P B)) + (P-1)/P c n. (Thakur,
 * Rabenseifner, Gropp: "Optimization of collective communication operations in MPICH", 2005.)
 */
#include "sim/exchange/channels.h"

/* Below, latency decides: recursive doubling has the fewest phases. */
enum { SHORT_BYTES = 64 * 1024 };

static dsgd_mailbox *mailbox_to(const dsgd_channel *channel, int rank)
{
    return dsgd_mailbox_of(channel->worker->node.rank, rank, DSGD_PORT_COLLECTIVE, channel->number);
}

static dsgd_mailbox *mailbox_from(const dsgd_channel *channel, int rank)
{
    return dsgd_mailbox_of(rank, channel->worker->node.rank, DSGD_PORT_COLLECTIVE, channel->number);
}

/** One phase: sends to rank @p to, receives from rank @p from (-1: does not), and reduces. */
static void phase(dsgd_channel *channel, int to, double out_bytes, int from, double reduced_bytes)
{
    const dsgd_worker *const w = channel->worker;
    dsgd_mailbox *const out = to < 0 ? NULL : mailbox_to(channel, to);
    dsgd_mailbox *const in = from < 0 ? NULL : mailbox_from(channel, from);
    const double started_s = dsgd_sendrecv(out, out_bytes, in);
    if (to >= 0) {
        dsgd_count_message(w->engine, out_bytes);
        dsgd_count_arrival(w->engine, w->host, to, out_bytes);
    }
    dsgd_message_cost(channel->worker, reduced_bytes);
    dsgd_count_communication(channel->worker, started_s);
}

/** A phase in both directions. */
static void phase_with(dsgd_channel *channel, int partner, double bytes, double reduced_bytes)
{
    phase(channel, partner, bytes, partner, reduced_bytes);
}

void dsgd_schedule_butterfly(dsgd_channel *channel, dsgd_group group, double bytes)
{
    for (dsgd_group bit = 1; bit != 0 && bit <= group; bit <<= 1)
        if ((group & bit) != 0)
            phase_with(channel, channel->worker->node.rank ^ (int)bit, bytes, bytes);
}

/** Position among the largest power of two of workers, after the rest has been folded in. */
typedef struct folded {
    int core; /* that power of two */
    int rank; /* in it; -1: folded into the right neighbour */
    int extra; /* P - core */
} folded;

static int unfold(folded f, int rank)
{
    return rank < f.extra ? 2 * rank + 1 : rank + f.extra;
}

static folded fold_in(dsgd_channel *channel, double bytes)
{
    const int rank = channel->worker->node.rank;
    folded f = {.core = 1 << dsgd_log2(channel->worker->node.n_workers)};
    f.extra = channel->worker->node.n_workers - f.core;
    if (rank >= 2 * f.extra) {
        f.rank = rank - f.extra;
    } else if (rank % 2 == 0) {
        phase(channel, rank + 1, bytes, -1, 0);
        f.rank = -1;
    } else {
        phase(channel, -1, 0, rank - 1, bytes);
        f.rank = rank / 2;
    }
    return f;
}

static void fold_out(dsgd_channel *channel, folded f, double bytes)
{
    const int rank = channel->worker->node.rank;
    if (rank >= 2 * f.extra)
        return;
    if (rank % 2 == 0)
        phase(channel, -1, 0, rank + 1, 0);
    else
        phase(channel, rank - 1, bytes, -1, 0);
}

static void recursive_doubling(dsgd_channel *channel, double bytes)
{
    const folded f = fold_in(channel, bytes);
    for (int bit = 1; f.rank >= 0 && bit < f.core; bit *= 2)
        phase_with(channel, unfold(f, f.rank ^ bit), bytes, bytes);
    fold_out(channel, f, bytes);
}

static void rabenseifner(dsgd_channel *channel, double bytes)
{
    const folded f = fold_in(channel, bytes);
    double part = bytes;
    for (int bit = 1; f.rank >= 0 && bit < f.core; bit *= 2) { /* reduce-scatter by halving */
        part /= 2;
        phase_with(channel, unfold(f, f.rank ^ bit), part, part);
    }
    for (int bit = f.core / 2; f.rank >= 0 && bit > 0; bit /= 2) { /* allgather by doubling */
        phase_with(channel, unfold(f, f.rank ^ bit), part, 0);
        part *= 2;
    }
    fold_out(channel, f, bytes);
}

static void ring(dsgd_channel *channel, double bytes)
{
    const int p = channel->worker->node.n_workers;
    const int rank = channel->worker->node.rank;
    const int right = (rank + 1) % p;
    const int left = (rank + p - 1) % p;
    const double part = bytes / p;
    for (int i = 0; i < p - 1; i++)
        phase(channel, right, part, left, part);
    for (int i = 0; i < p - 1; i++)
        phase(channel, right, part, left, 0);
}

/** The message algorithm that the run's setting means for a piece. */
static int how_for(int collective, double bytes)
{
    if (collective != DSGD_COLLECTIVE_AUTO)
        return collective;
    return bytes < SHORT_BYTES ? DSGD_COLLECTIVE_RECURSIVE_DOUBLING : DSGD_COLLECTIVE_RABENSEIFNER;
}

void dsgd_schedule_allreduce(dsgd_channel *channel, double bytes)
{
    if (channel->worker->node.n_workers == 1)
        return;
    const int how = how_for(channel->worker->engine->config->collective, bytes);
    if (how == DSGD_COLLECTIVE_RECURSIVE_DOUBLING)
        recursive_doubling(channel, bytes);
    else if (how == DSGD_COLLECTIVE_RABENSEIFNER)
        rabenseifner(channel, bytes);
    else
        ring(channel, bytes);
}

/* --- traffic ---------------------------------------------------------------------------------- */

/** One allreduce of a piece, of all workers together. */
static dsgd_traffic allreduce_of_piece(int how, int p, double bytes)
{
    const double core = 1 << dsgd_log2(p);
    const double extra = p - core;
    const double bits = dsgd_log2(p);
    if (how == DSGD_COLLECTIVE_RING)
        return (dsgd_traffic){2.0 * p * (p - 1), 2 * (p - 1) * bytes};
    const double folding = 2 * extra * bytes;
    if (how == DSGD_COLLECTIVE_RECURSIVE_DOUBLING)
        return (dsgd_traffic){core * bits + 2 * extra, core * bits * bytes + folding};
    return (dsgd_traffic){2 * core * bits + 2 * extra, 2 * (core - 1) * bytes + folding};
}

dsgd_traffic dsgd_allreduce_traffic(const dsgd_scale *scale)
{
    dsgd_traffic sum = {0, 0};
    for (size_t k = 0; k < scale->n_pieces && scale->n_workers > 1; k++) {
        const double bytes = scale->piece_bytes[k];
        sum = dsgd_traffic_sum(
            sum, allreduce_of_piece(how_for(scale->collective, bytes), scale->n_workers, bytes));
    }
    return dsgd_traffic_times(sum, 1.0 / scale->n_workers);
}

dsgd_traffic dsgd_vector_traffic(const dsgd_scale *scale, double times)
{
    dsgd_traffic sum = {(double)scale->n_pieces * times, 0};
    for (size_t k = 0; k < scale->n_pieces; k++)
        sum.bytes += scale->piece_bytes[k] * times;
    return sum;
}

dsgd_traffic dsgd_partial_traffic(const dsgd_scale *scale, int bits)
{
    const double activations = (double)scale->n_pieces * (scale->n_workers - 1) / scale->n_workers;
    return dsgd_traffic_sum(dsgd_vector_traffic(scale, bits),
                            (dsgd_traffic){activations, activations * DSGD_ACTIVATION_BYTES});
}
