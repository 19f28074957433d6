/**
 * @file schedules.c
 * Allreduces of all workers or of a group, as messages on the simulated network: recursive doubling
 * with full vectors, Rabenseifner's halving and doubling, Bruck's algorithm, and the ring. Each
 * message costs the overhead, each reduction its time per byte, both serial with the wire.
 *
 * With n bytes, latency L, bandwidth B, overhead o, reduction c per byte, and P = 2^k members that
 * arrive together on an idle network: recursive doubling k (o + L + n/B + c n); Rabenseifner 2 k (o
 * + L) + (P-1)/P (2 n/B + c n); ring 2 (P-1) (o + L + n/(P B)) + (P-1)/P c n. (Thakur,
 * Rabenseifner, Gropp: "Optimization of collective communication operations in MPICH", 2005.)
 *
 * Where P is no power of two, the first two fold the rest into a power of two of members, as MPICH
 * does, which sends whole vectors twice more. The ring and Bruck's algorithm need no fold: with k =
 * ceil(log2 P), Bruck's takes 2 k (o + L) + (P-1)/P (2 n/B + c n) at any P.
 */
#include "sim/exchange/channels.h"
#include "sim/exchange/reductions.h"

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

/** Who takes part in an allreduce, in the order of ranks. */
typedef struct team {
    int n; /* members */
    int index; /* the caller's */
    dsgd_group group; /* address bits in which they differ; 0: all workers */
    int leader; /* the lowest rank */
} team;

static int rank_of(const team *t, int index)
{
    return t->group == 0 ? index : dsgd_group_rank(t->group, t->leader, index);
}

/** A phase in both directions with the member of that index. */
static void phase_with(dsgd_channel *channel, const team *t, int index, double bytes,
                       double reduced_bytes)
{
    const int partner = rank_of(t, index);
    phase(channel, partner, bytes, partner, reduced_bytes);
}

/** Position among the largest power of two of members, after the rest has been folded in. */
typedef struct folded {
    int core; /* that power of two */
    int index; /* in it; -1: folded into the right neighbour */
    int extra; /* n - core */
} folded;

static int unfold(folded f, int index)
{
    return index < f.extra ? 2 * index + 1 : index + f.extra;
}

static folded fold_in(dsgd_channel *channel, const team *t, double bytes)
{
    folded f = {.core = 1 << dsgd_log2(t->n)};
    f.extra = t->n - f.core;
    if (t->index >= 2 * f.extra) {
        f.index = t->index - f.extra;
    } else if (t->index % 2 == 0) {
        phase(channel, rank_of(t, t->index + 1), bytes, -1, 0);
        f.index = -1;
    } else {
        phase(channel, -1, 0, rank_of(t, t->index - 1), bytes);
        f.index = t->index / 2;
    }
    return f;
}

static void fold_out(dsgd_channel *channel, const team *t, folded f, double bytes)
{
    if (t->index >= 2 * f.extra)
        return;
    if (t->index % 2 == 0)
        phase(channel, -1, 0, rank_of(t, t->index + 1), 0);
    else
        phase(channel, rank_of(t, t->index - 1), bytes, -1, 0);
}

static void recursive_doubling(dsgd_channel *channel, const team *t, double bytes)
{
    const folded f = fold_in(channel, t, bytes);
    for (int bit = 1; f.index >= 0 && bit < f.core; bit *= 2)
        phase_with(channel, t, unfold(f, f.index ^ bit), bytes, bytes);
    fold_out(channel, t, f, bytes);
}

static void rabenseifner(dsgd_channel *channel, const team *t, double bytes)
{
    const folded f = fold_in(channel, t, bytes);
    double part = bytes;
    for (int bit = 1; f.index >= 0 && bit < f.core; bit *= 2) { /* reduce-scatter by halving */
        part /= 2;
        phase_with(channel, t, unfold(f, f.index ^ bit), part, part);
    }
    for (int bit = f.core / 2; f.index >= 0 && bit > 0; bit /= 2) { /* allgather by doubling */
        phase_with(channel, t, unfold(f, f.index ^ bit), part, 0);
        part *= 2;
    }
    fold_out(channel, t, f, bytes);
}

static void ring(dsgd_channel *channel, const team *t, double bytes)
{
    const int right = rank_of(t, (t->index + 1) % t->n);
    const int left = rank_of(t, (t->index + t->n - 1) % t->n);
    const double part = bytes / t->n;
    for (int i = 0; i < t->n - 1; i++)
        phase(channel, right, part, left, part);
    for (int i = 0; i < t->n - 1; i++)
        phase(channel, right, part, left, 0);
}

/** The members that a phase of bruck() receives from and sends to. */
typedef struct peers {
    int ahead, behind;
} peers;

static peers peers_at(const team *t, int distance)
{
    if (t->n % (2 * distance) == 0) {
        const int partner = rank_of(t, t->index ^ distance);
        return (peers){partner, partner};
    }
    return (peers){rank_of(t, (t->index + distance) % t->n),
                   rank_of(t, (t->index + t->n - distance) % t->n)};
}

/** Bytes that a phase of bruck() sends: of n shares those of every second multiple of distance. */
static double bytes_at(const team *t, int distance, double bytes)
{
    const int n_shares = (t->n + distance - 1) / (2 * distance);
    return bytes / t->n * n_shares;
}

/**
 * Rabenseifner's halving and doubling without a fold: where P = 2^k m, among the m classes of
 * members of one index mod 2^k Bruck's allgather, and before it the same backwards as a
 * reduce-scatter. Of the orders of Bruck's phases that in which most travels between neighbours, as
 * in NCCL's PAT. (J. Bruck, C.-T. Ho: "Efficient global combine operations in multi-port
 * message-passing systems", 1993; S. Jeaugey: "PAT: a new algorithm for all-gather and
 * reduce-scatter operations at scale", 2025.)
 */
static void bruck(dsgd_channel *channel, const team *t, double bytes)
{
    int distance = 1;
    for (; distance < t->n; distance *= 2) { /* reduce-scatter */
        const peers at = peers_at(t, distance);
        const double part = bytes_at(t, distance, bytes);
        phase(channel, at.behind, part, at.ahead, part);
    }
    for (distance /= 2; distance > 0; distance /= 2) { /* allgather */
        const peers at = peers_at(t, distance);
        phase(channel, at.ahead, bytes_at(t, distance, bytes), at.behind, 0);
    }
}

/** The message algorithm that a setting means for a piece among @p n. */
static dsgd_collective how_for(dsgd_collective setting, int n, double bytes)
{
    if (setting != DSGD_COLLECTIVE_AUTO)
        return setting;
    if (bytes < SHORT_BYTES)
        return DSGD_COLLECTIVE_RECURSIVE_DOUBLING;
    return (n & (n - 1)) == 0 ? DSGD_COLLECTIVE_RABENSEIFNER : DSGD_COLLECTIVE_BRUCK;
}

static void allreduce(dsgd_channel *channel, const team *t, dsgd_collective setting, double bytes)
{
    if (t->n == 1)
        return;
    const dsgd_collective how = how_for(setting, t->n, bytes);
    dsgd_count_collective(channel->worker->engine, t->group != 0, how, bytes);
    if (how == DSGD_COLLECTIVE_RECURSIVE_DOUBLING)
        recursive_doubling(channel, t, bytes);
    else if (how == DSGD_COLLECTIVE_RABENSEIFNER)
        rabenseifner(channel, t, bytes);
    else if (how == DSGD_COLLECTIVE_BRUCK)
        bruck(channel, t, bytes);
    else
        ring(channel, t, bytes);
}

void dsgd_schedule_allreduce(dsgd_channel *channel, double bytes)
{
    const dsgd_worker *const w = channel->worker;
    const team all = {.n = w->node.n_workers, .index = w->node.rank};
    allreduce(channel, &all, w->engine->config->exchange.collective, bytes);
}

void dsgd_schedule_group(dsgd_channel *channel, dsgd_group group, double bytes)
{
    const dsgd_worker *const w = channel->worker;
    const team t = {.n = 1 << __builtin_popcount(group),
                    .index = dsgd_group_index(group, w->node.rank),
                    .group = group,
                    .leader = w->node.rank & (int)~group};
    allreduce(channel, &t, dsgd_partial_collective_of(&w->engine->config->exchange), bytes);
}

enum { REQUEST_BYTES = 64 }; /* name and shape of a tensor */

void dsgd_schedule_negotiation(dsgd_channel *channel, size_t n_tensors)
{
    const int rank = channel->worker->node.rank;
    const int p = channel->worker->node.n_workers;
    const double bytes = REQUEST_BYTES * (double)n_tensors;
    if (rank > 0)
        phase(channel, 0, bytes, -1, 0);
    for (int from = 1; rank == 0 && from < p; from++)
        phase(channel, -1, 0, from, 0);
    for (int bit = 1; bit < p; bit *= 2) {
        if (rank < bit && rank + bit < p)
            phase(channel, rank + bit, bytes, -1, 0);
        else if (rank >= bit && rank < 2 * bit)
            phase(channel, -1, 0, rank - bit, 0);
    }
}

/* --- traffic ---------------------------------------------------------------------------------- */

/** One allreduce of a piece among @p n, of all together. */
static dsgd_traffic allreduce_of_piece(dsgd_collective how, int n, double bytes)
{
    const double core = 1 << dsgd_log2(n);
    const double extra = n - core;
    const double bits = dsgd_log2(n);
    if (how == DSGD_COLLECTIVE_RING)
        return (dsgd_traffic){2.0 * n * (n - 1), 2 * (n - 1) * bytes};
    if (how == DSGD_COLLECTIVE_BRUCK)
        return (dsgd_traffic){2 * n * (bits + (extra > 0)), 2 * (n - 1) * bytes};
    const double folding = 2 * extra * bytes;
    if (how == DSGD_COLLECTIVE_RECURSIVE_DOUBLING)
        return (dsgd_traffic){core * bits + 2 * extra, core * bits * bytes + folding};
    return (dsgd_traffic){2 * core * bits + 2 * extra, 2 * (core - 1) * bytes + folding};
}

/** One allreduce of a vector among @p n, per member. */
static dsgd_traffic allreduce_traffic(const dsgd_scale *scale, int collective, int n)
{
    dsgd_traffic sum = {0, 0};
    for (size_t k = 0; k < scale->n_pieces && n > 1; k++) {
        const double bytes = scale->piece_bytes[k];
        const dsgd_collective how = how_for((dsgd_collective)collective, n, bytes);
        sum = dsgd_traffic_sum(sum, allreduce_of_piece(how, n, bytes));
    }
    return dsgd_traffic_times(sum, 1.0 / n);
}

dsgd_traffic dsgd_allreduce_traffic(const dsgd_scale *scale)
{
    return allreduce_traffic(scale, scale->collective, scale->n_workers);
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
    return dsgd_traffic_sum(allreduce_traffic(scale, scale->partial_collective, 1 << bits),
                            (dsgd_traffic){activations, activations * DSGD_ACTIVATION_BYTES});
}
