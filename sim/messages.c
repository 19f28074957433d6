/**
 * @file messages.c
 * Allreduces as messages on the simulated network: recursive doubling with full vectors, Rabenseifner's halving and doubling, and
 * the ring. Each message costs the overhead, each reduction its time per byte, both serial with the wire.
 *
 * With n bytes, latency L, bandwidth B, overhead o, reduction c per byte, and P = 2^k workers that arrive together on an idle network:
 * recursive doubling k (o + L + n/B + c n); Rabenseifner 2 k (o + L) + (P-1)/P (2 n/B + c n); ring 2 (P-1) (o + L + n/(P B)) + (P-1)/P c n.
 * (Thakur, Rabenseifner, Gropp: "Optimization of collective communication operations in MPICH", 2005.)
 */
#include "sim/engine.h"

enum {
    SHORT_BYTES = 64 * 1024
}; /* below, latency decides and recursive doubling has the fewest messages */

/** One phase: sends to @p to and receives from @p from (-1: nobody), then reduces what came. */
static void phase(dsgd_worker *w, dsgd_mailbox *out, double out_bytes, dsgd_mailbox *in,
                  double reduced_bytes)
{
    const double started_s = dsgd_exchange(out, out_bytes, in);
    if (out != NULL) {
        w->engine->result->messages++;
        w->engine->result->bytes += out_bytes;
    }
    dsgd_message_cost(w, reduced_bytes);
    dsgd_count_communication(w, started_s);
}

/** A phase with the partner across one address bit. Mailboxes are looked up once. */
static void bit_phase(dsgd_worker *w, int bit, double bytes, double reduced_bytes)
{
    if (w->to_bit[bit] == NULL) {
        const int partner = w->node.rank ^ (1 << bit);
        w->to_bit[bit] = dsgd_mailbox_of(w->node.rank, partner, 'c');
        w->from_bit[bit] = dsgd_mailbox_of(partner, w->node.rank, 'c');
    }
    phase(w, w->to_bit[bit], bytes, w->from_bit[bit], reduced_bytes);
}

void dsgd_messages_butterfly(dsgd_worker *w, dsgd_group group, double bytes)
{
    for (int bit = 0; (group >> bit) != 0; bit++)
        if ((group >> bit) & 1)
            bit_phase(w, bit, bytes, bytes);
}

/** Position among the largest power of two of workers, after the rest has been folded in. */
typedef struct folded {
    int core; /* that power of two */
    int rank; /* in it; -1: this worker gave its part to its right neighbour and waits for the result */
    int extra; /* P - core */
} folded;

static int unfold(folded f, int rank)
{
    return rank < f.extra ? 2 * rank + 1 : rank + f.extra;
}

static folded fold_in(dsgd_worker *w, double bytes)
{
    const int rank = w->node.rank;
    folded f = {.core = 1 << dsgd_log2(w->node.n_workers)};
    f.extra = w->node.n_workers - f.core;
    if (rank >= 2 * f.extra) {
        f.rank = rank - f.extra;
    } else if (rank % 2 == 0) {
        phase(w, dsgd_mailbox_of(rank, rank + 1, 'c'), bytes, NULL, 0);
        f.rank = -1;
    } else {
        phase(w, NULL, 0, dsgd_mailbox_of(rank - 1, rank, 'c'), bytes);
        f.rank = rank / 2;
    }
    return f;
}

static void fold_out(dsgd_worker *w, folded f, double bytes)
{
    const int rank = w->node.rank;
    if (rank >= 2 * f.extra)
        return;
    if (rank % 2 == 0)
        phase(w, NULL, 0, dsgd_mailbox_of(rank + 1, rank, 'c'), 0);
    else
        phase(w, dsgd_mailbox_of(rank, rank - 1, 'c'), bytes, NULL, 0);
}

/** A phase with a partner of the folded set. */
static void core_phase(dsgd_worker *w, folded f, int bit, double bytes, double reduced_bytes)
{
    if (f.extra == 0) {
        bit_phase(w, bit, bytes, reduced_bytes);
        return;
    }
    const int partner = unfold(f, f.rank ^ (1 << bit));
    phase(w, dsgd_mailbox_of(w->node.rank, partner, 'c'), bytes,
          dsgd_mailbox_of(partner, w->node.rank, 'c'), reduced_bytes);
}

static void recursive_doubling(dsgd_worker *w, double bytes)
{
    const folded f = fold_in(w, bytes);
    if (f.rank >= 0)
        for (int bit = 0; (1 << bit) < f.core; bit++)
            core_phase(w, f, bit, bytes, bytes);
    fold_out(w, f, bytes);
}

static void rabenseifner(dsgd_worker *w, double bytes)
{
    const folded f = fold_in(w, bytes);
    const int bits = dsgd_log2(f.core);
    if (f.rank >= 0) {
        double part = bytes;
        for (int bit = 0; bit < bits; bit++) {
            part /= 2;
            core_phase(w, f, bit, part, part); /* reduce-scatter by halving */
        }
        for (int bit = bits - 1; bit >= 0; bit--) {
            core_phase(w, f, bit, part, 0); /* allgather by doubling */
            part *= 2;
        }
    }
    fold_out(w, f, bytes);
}

static void ring(dsgd_worker *w, double bytes)
{
    const int p = w->node.n_workers;
    dsgd_mailbox *const right = dsgd_mailbox_of(w->node.rank, (w->node.rank + 1) % p, 'c');
    dsgd_mailbox *const left = dsgd_mailbox_of((w->node.rank + p - 1) % p, w->node.rank, 'c');
    const double part = bytes / p;
    for (int i = 0; i < p - 1; i++)
        phase(w, right, part, left, part);
    for (int i = 0; i < p - 1; i++)
        phase(w, right, part, left, 0);
}

void dsgd_messages_allreduce(dsgd_worker *w, double bytes)
{
    if (w->node.n_workers == 1)
        return;
    int how = w->engine->config->collective;
    if (how == DSGD_COLLECTIVE_AUTO)
        how =
            bytes < SHORT_BYTES ? DSGD_COLLECTIVE_RECURSIVE_DOUBLING : DSGD_COLLECTIVE_RABENSEIFNER;
    if (how == DSGD_COLLECTIVE_RECURSIVE_DOUBLING)
        recursive_doubling(w, bytes);
    else if (how == DSGD_COLLECTIVE_RABENSEIFNER)
        rabenseifner(w, bytes);
    else
        ring(w, bytes);
}
