/**
 * @file plan.c
 * Describes collectives as rounds of messages: recursive doubling with full vectors, Rabenseifner's
 * halving and doubling, Bruck's algorithm, and the ring. A message first takes its transfer time,
 * then its overhead, and then the time to reduce its bytes.
 *
 * Consider n bytes, latency L, bandwidth B, overhead o, reduction time c per byte, and P = 2^k
 * members that arrive together on an idle network. The times are:
 *     recursive doubling: k (o + L + n/B + c n)
 *     Rabenseifner:       2 k (o + L) + (P-1)/P (2 n/B + c n)
 *     ring:               2 (P-1) (o + L + n/(P B)) + (P-1)/P c n
 * (Thakur, Rabenseifner, Gropp: "Optimization of collective communication operations in MPICH",
 * 2005.)
 *
 * If P is not a power of two, recursive doubling and Rabenseifner's algorithm fold the extra
 * members into a power of two, as MPICH does. The fold sends whole vectors two more times. The ring
 * and Bruck's algorithm need no fold. With k = ceil(log2 P), Bruck's algorithm takes 2 k (o + L) +
 * (P-1)/P (2 n/B + c n) for any P.
 *
 * Rings use the platform's dimensions one after another, for P = X Y ... hosts. First there is a
 * reduce-scatter along the rows. Then the members of each column reduce-scatter the parts that they
 * have, and so on. The allgathers follow in the opposite order. Rings take 2 (X - 1 + Y - 1 + ...)
 * (o + L) + (P-1)/P (2 n/B + c n), and only neighbours exchange messages. If the size of a
 * dimension does not divide the number of members, one ring contains the remaining members.
 *
 * The collectives of NCCL are not rounds (analytic.c, traces/nccl.h). The simulator counts one
 * stream per member, with the bytes that the member would send in a ring.
 *
 * Reduce-scatter and allgather are the two halves of an allreduce. A reduce is a reduce-scatter and
 * a gather up a binomial tree. A broadcast is a scatter down the tree and an allgather (van de
 * Geijn). For short vectors, reduce and broadcast send whole vectors along the tree; this takes k
 * (o + L + n/B), plus k c n for a reduce.
 */
#include "sim/exchange/plan.h"

/* --- allreduces as rounds --------------------------------------------------------------------- */

/*
 * The number of members may differ from a power of two. In this case, 2 * extra members are first
 * folded in pairs: each even member sends its vector to its right neighbour. The even member then
 * does nothing until the last round.
 */

/**
 * Returns a phase in which two members exchange messages in both directions. After the fold, their
 * indices differ in the bit @p bit.
 */
static dsgd_phase exchange(const dsgd_plan *plan, int index, int bit, double bytes, double reduced)
{
    const bool folds = index < 2 * plan->extra;
    if (folds && index % 2 == 0)
        return (dsgd_phase){.to = -1, .from = -1};
    /* index of the partner after the fold */
    const int other = (folds ? index / 2 : index - plan->extra) ^ bit;
    const int partner = other < plan->extra ? 2 * other + 1 : other + plan->extra;
    return (dsgd_phase){partner, partner, bytes, reduced};
}

/**
 * Returns a phase of the fold. If @p in is true, it is the first round, in which even members send
 * to odd members. Otherwise it is the last round, in which odd members send the result back.
 */
static dsgd_phase fold(const dsgd_plan *plan, int index, bool in)
{
    const double reduced = in ? plan->bytes : 0;
    if (index >= 2 * plan->extra)
        return (dsgd_phase){.to = -1, .from = -1};
    if ((index % 2 == 0) == in)
        return (dsgd_phase){.to = index ^ 1, .from = -1, .bytes = plan->bytes};
    return (dsgd_phase){.to = -1, .from = index ^ 1, .bytes = plan->bytes, .reduced = reduced};
}

/**
 * Returns a phase of halving and doubling without a fold. For P = 2^k m, the second half is Bruck's
 * allgather among members with the same index mod 2^k. The first half is the reverse of this
 * allgather, as a reduce-scatter. Among the possible orders of Bruck's phases, this function uses
 * the one in which most bytes travel between neighbours, like PAT of NCCL. (J. Bruck, C.-T. Ho:
 * "Efficient global combine operations in multi-port message-passing systems", 1993; S. Jeaugey:
 * "PAT: a new algorithm for all-gather and reduce-scatter operations at scale", 2025.)
 */
static dsgd_phase bruck(const dsgd_plan *plan, int round, int index)
{
    const int n = plan->n;
    const bool reduces = round < plan->half;
    const int distance = 1 << (reduces ? round : 2 * plan->half - 1 - round);
    /* Counts the odd multiples of the distance that are less than n. */
    const int n_parts = (n + distance - 1) / (2 * distance);
    const double part = plan->bytes / n * n_parts;
    const bool pairs = n % (2 * distance) == 0;
    const int ahead = pairs ? index ^ distance : (index + distance) % n;
    const int behind = pairs ? index ^ distance : (index + n - distance) % n;
    if (reduces)
        return (dsgd_phase){behind, ahead, part, part};
    return (dsgd_phase){ahead, behind, part, 0};
}

static bool goes_in_rings(dsgd_collective how)
{
    return how == DSGD_COLLECTIVE_RING || how == DSGD_COLLECTIVE_RINGS;
}

/**
 * Returns a phase of the rings. The reduce-scatter executes all rounds of the first dimension, then
 * all rounds of the next dimension, and so on. The allgather uses the opposite order.
 */
static dsgd_phase rings(const dsgd_plan *plan, int round, int index)
{
    const bool reduces = round < plan->half;
    int left = reduces ? round : 2 * plan->half - 1 - round, stride = 1, k = 0;
    for (; left >= plan->ring[k] - 1; k++) {
        left -= plan->ring[k] - 1;
        stride *= plan->ring[k];
    }
    const int n = plan->ring[k], at = index / stride % n, first = index - at * stride;
    const double part = plan->bytes / (stride * n);
    return (dsgd_phase){first + (at + 1 < n ? at + 1 : 0) * stride,
                        first + (at > 0 ? at - 1 : n - 1) * stride, part, reduces ? part : 0};
}

/**
 * Returns a phase of an allreduce. The first half of an allreduce is a reduce-scatter, and the
 * second half is an allgather.
 */
static dsgd_phase allreduce_phase(const dsgd_plan *plan, int round, int index)
{
    if (goes_in_rings(plan->how))
        return rings(plan, round, index);
    if (plan->how == DSGD_COLLECTIVE_BRUCK)
        return bruck(plan, round, index);
    if (plan->extra > 0 && (round == 0 || round == plan->n_rounds - 1))
        return fold(plan, index, round == 0);
    const int i = round - (plan->extra > 0);
    if (plan->how == DSGD_COLLECTIVE_RECURSIVE_DOUBLING)
        return exchange(plan, index, 1 << i, plan->bytes, plan->bytes);
    if (i < plan->bits) { /* in these rounds, the reduce-scatter is performed by halving */
        const double part = plan->bytes / (2 << i);
        return exchange(plan, index, 1 << i, part, part);
    }
    /* in the other rounds, the allgather is performed by doubling */
    const int bit = 1 << (2 * plan->bits - 1 - i);
    return exchange(plan, index, bit, plan->bytes / (2 * bit), 0);
}

/** Returns the number of rounds of a binomial tree among n members. */
static int tree_rounds(int n)
{
    return dsgd_log2(n) + !dsgd_is_power_of_two(n);
}

/**
 * Returns the number of parts that the subtree of a member contains. The member is at @p distance
 * from its parent and at position @p from_root, counted from the root.
 */
static int shares_below(const dsgd_plan *plan, int distance, int from_root)
{
    return distance < plan->n - from_root ? distance : plan->n - from_root;
}

/**
 * Returns a phase of a binomial tree between members at @p distance from each other. If @p up is
 * true, messages travel to the root, otherwise from the root. If the plan has halves, a message
 * carries the parts of the subtree, otherwise whole vectors.
 */
static dsgd_phase tree_phase(const dsgd_plan *plan, int distance, int index, bool up)
{
    const int n = plan->n;
    /* position of the member, counted from the root */
    const int place = (index - plan->root + n) % n;
    const bool is_child = place % (2 * distance) == distance;
    const bool is_parent = place % (2 * distance) == 0 && place + distance < n;
    if (!is_child && !is_parent)
        return (dsgd_phase){.to = -1, .from = -1};
    const int child = is_child ? place : place + distance;
    const int other = ((is_child ? place - distance : child) + plan->root) % n;
    const double bytes =
        plan->half > 0 ? plan->bytes / n * shares_below(plan, distance, child) : plan->bytes;
    if (is_child == up)
        return (dsgd_phase){.to = other, .from = -1, .bytes = bytes};
    return (dsgd_phase){
        .to = -1, .from = other, .bytes = bytes, .reduced = up && plan->half == 0 ? bytes : 0};
}

static dsgd_phase part_phase(const dsgd_plan *plan, int round, int index)
{
    const int last = tree_rounds(plan->n) - 1; /* index of the last round of a tree */
    if (plan->part == DSGD_REDUCE && round >= plan->half)
        return tree_phase(plan, 1 << (round - plan->half), index, true);
    if (plan->part == DSGD_BROADCAST && round <= last)
        return tree_phase(plan, 1 << (last - round), index, false);
    if (plan->part == DSGD_BROADCAST)
        round -= last + 1;
    const bool second_half = plan->part == DSGD_ALLGATHER || plan->part == DSGD_BROADCAST;
    return allreduce_phase(plan, second_half ? plan->half + round : round, index);
}

dsgd_phase dsgd_plan_phase(const dsgd_plan *plan, int round, int index)
{
    dsgd_phase phase = part_phase(plan, round, index);
    phase.turn_s = plan->turn_s;
    if (plan->encoding.added > 0 && phase.from >= 0) {
        phase.reduced =
            (plan->encoding.gathers ? phase.bytes : phase.reduced) * plan->encoding.added;
        phase.decoded = phase.bytes * plan->encoding.decoded;
        /* after this round, the member's part of the sum is complete */
        if (round == plan->half - 1)
            phase.decoded += plan->encoding.again;
    }
    return phase;
}

/**
 * Returns the algorithm for a chunk of @p bytes among @p n members. For few bytes, the latency
 * matters most, and recursive doubling has the fewest phases.
 */
static dsgd_collective how_for(dsgd_way way, int n, double bytes)
{
    if (way.how != DSGD_COLLECTIVE_AUTO)
        return way.how;
    if (bytes < way.doubling_bytes)
        return DSGD_COLLECTIVE_RECURSIVE_DOUBLING;
    return (n & (n - 1)) == 0 ? DSGD_COLLECTIVE_RABENSEIFNER : DSGD_COLLECTIVE_BRUCK;
}

/**
 * Returns the algorithm for a reduce-scatter, allgather, reduce or broadcast. These collectives
 * exchange parts of vectors, and have no fold. If @p how is recursive doubling, a reduce or
 * broadcast sends whole vectors along a tree, and a reduce-scatter or allgather uses halving
 * instead.
 */
static dsgd_collective how_in_shares(dsgd_collective how, dsgd_collective_kind part, int n)
{
    const bool by_tree = part == DSGD_REDUCE || part == DSGD_BROADCAST;
    if (how == DSGD_COLLECTIVE_RECURSIVE_DOUBLING && !by_tree)
        how = DSGD_COLLECTIVE_RABENSEIFNER;
    return how == DSGD_COLLECTIVE_RABENSEIFNER && !dsgd_is_power_of_two(n) ? DSGD_COLLECTIVE_BRUCK
                                                                           : how;
}

static dsgd_plan plan_of_allreduce(dsgd_way way, int n, double bytes)
{
    dsgd_plan plan = {.how = how_for(way, n, bytes), .n = n, .bytes = bytes, .turn_s = way.turn_s};
    if (goes_in_rings(plan.how)) {
        int left = n;
        for (int k = 0; k < DSGD_MOST_DIMENSIONS; k++) {
            const int size = plan.how == DSGD_COLLECTIVE_RINGS ? way.along.n[k] : 0;
            plan.ring[k] = size > 0 && left % size == 0 ? size : left;
            left /= plan.ring[k];
            plan.half += plan.ring[k] - 1;
        }
        plan.ring[DSGD_MOST_DIMENSIONS] = left;
        plan.half += left - 1;
        plan.n_rounds = 2 * plan.half;
        return plan;
    }
    plan.bits = dsgd_log2(n);
    if (plan.how == DSGD_COLLECTIVE_BRUCK) {
        plan.half = plan.bits + (n > 1 << plan.bits);
        plan.n_rounds = 2 * plan.half;
        return plan;
    }
    plan.extra = n - (1 << plan.bits);
    plan.half = plan.how == DSGD_COLLECTIVE_RABENSEIFNER && plan.extra == 0 ? plan.bits : 0;
    plan.n_rounds =
        (plan.how == DSGD_COLLECTIVE_RABENSEIFNER ? 2 : 1) * plan.bits + (plan.extra > 0 ? 2 : 0);
    return plan;
}

dsgd_plan dsgd_plan_of(dsgd_way way, dsgd_collective_kind part, int n, double bytes)
{
    if (way.how == DSGD_COLLECTIVE_NCCL)
        return (dsgd_plan){.how = way.how, .n = n, .bytes = bytes, .part = part};
    if (part == DSGD_ALLREDUCE)
        return plan_of_allreduce(way, n, bytes);
    way.how = how_in_shares(how_for(way, n, bytes), part, n);
    dsgd_plan plan = plan_of_allreduce(way, n, bytes);
    plan.part = part;
    plan.n_rounds =
        plan.half + (part == DSGD_REDUCE || part == DSGD_BROADCAST ? tree_rounds(n) : 0);
    return plan;
}

/**
 * Returns the plan for a chunk of compressed vectors, which have @p one bytes each. Uncompressed
 * vectors have @p whole bytes. If compressed vectors cannot be added, an allreduce becomes an
 * allgather of all compressed vectors. In this allgather, a member sends n - 1 compressed vectors.
 * An allreduce of uncompressed vectors sends 2 (n - 1) / n times @p whole bytes. If this is not
 * more, the plan is an allreduce of uncompressed vectors.
 */
static dsgd_plan plan_of_encoded(dsgd_way way, dsgd_collective_kind part, int n,
                                 const dsgd_encoded *e, double one, double whole)
{
    const bool gathers = part == DSGD_ALLREDUCE && e->sum == DSGD_SUM_GATHERED;
    if (part == DSGD_ALLREDUCE && e->sum == DSGD_SUM_REENCODED &&
        /* True, because each member's part is compressed separately. */
        e->decodes)
        one = n * dsgd_encoding_bytes(&e->encoding, whole / n, e->value_bytes);
    if (gathers && n * one >= 2 * whole)
        return dsgd_plan_of(way, part, n, whole);
    const double bytes = gathers ? n * one : one;
    way.how = how_for(way, n, bytes);
    /* Each number must be added and compressed again at only one member. */
    if (e->sum == DSGD_SUM_REENCODED)
        way.how = how_in_shares(way.how, DSGD_REDUCE_SCATTER, n);
    dsgd_plan plan = dsgd_plan_of(way, gathers ? DSGD_ALLGATHER : part, n, bytes);
    const double ratio = whole / one;
    plan.encoding =
        (struct dsgd_plan_encoding){.gathers = gathers,
                                    .added = e->decodes ? ratio : 1,
                                    .decoded = e->decodes ? ratio : 0,
                                    .again = e->sum == DSGD_SUM_REENCODED ? whole / n : 0};
    return plan;
}

dsgd_plan dsgd_plan_of_call(dsgd_way way, const dsgd_call *call, int n, double whole)
{
    dsgd_plan plan = call->encoded == NULL
                         ? dsgd_plan_of(way, call->part, n, call->bytes)
                         : plan_of_encoded(way, call->part, n, call->encoded, call->bytes, whole);
    plan.root = call->root;
    return plan;
}
