/**
 * @file reductions.c
 * Implements the sums of collectives. Members join a reduction, contribute to it, compute the sum
 * and use the sum.
 */
#include "sim/exchange/reductions.h"
#include "sim/engine/vectors.h"

enum { LISTS = 1024 };

struct dsgd_reductions {
    dsgd_reduction *waiting[LISTS]; /* hash table of the reductions that some member has not
                                     * joined */
    uint64_t begun[]; /* [n_workers] number of collectives of all workers that each worker has
                       * joined */
};

static struct dsgd_reductions *reductions_of(dsgd_engine *engine)
{
    if (engine->exchanges.reductions == NULL)
        engine->exchanges.reductions =
            dsgd_run_alloc(engine, sizeof *engine->exchanges.reductions +
                                       (size_t)engine->n_workers * sizeof(uint64_t));
    return engine->exchanges.reductions;
}

static dsgd_reduction *new_reduction(dsgd_engine *engine, dsgd_reduction wanted)
{
    const size_t n = (size_t)wanted.n_members;
    dsgd_reduction *const reduction =
        dsgd_run_alloc(engine, sizeof *reduction + n * sizeof reduction->contribution[0]);
    *reduction = wanted;
    reduction->references = wanted.n_members;
    for (size_t i = 0; i < n; i++)
        reduction->contribution[i].stamp = -1;
    dsgd_comm_retain(wanted.members.comm);
    return reduction;
}

/**
 * Returns the reduction that another member has created, or creates one. If this is the last member
 * to join, removes the reduction from its list.
 */
static dsgd_reduction *join(dsgd_engine *engine, dsgd_reduction wanted)
{
    dsgd_reduction **link =
        &reductions_of(engine)->waiting[(wanted.scope + 61 * wanted.number) % LISTS];
    while (*link != NULL && ((*link)->scope != wanted.scope || (*link)->number != wanted.number))
        link = &(*link)->next;
    if (*link == NULL)
        *link = new_reduction(engine, wanted);
    dsgd_reduction *const reduction = *link;
    if (++reduction->n_joined == reduction->n_members)
        *link = reduction->next;
    return reduction;
}

dsgd_reduction *dsgd_reduction_join_next(dsgd_worker *w, dsgd_comm *comm, dsgd_call call)
{
    dsgd_engine *const engine = w->engine;
    call.caller = w->node.rank;
    uint64_t *const begun = comm != NULL ? &comm->begun[dsgd_comm_index(comm, w->node.rank)]
                                         : &reductions_of(engine)->begun[w->node.rank];
    const dsgd_reduction wanted = {.scope = comm != NULL ? DSGD_SCOPE_COMM + comm->id : 0,
                                   .number = (*begun)++,
                                   .n_members = comm != NULL ? comm->n : engine->n_workers,
                                   .members = {comm, 0, -1},
                                   .call = call};
    dsgd_reduction *const reduction = join(engine, wanted);
    const dsgd_call *const other = &reduction->call;
    DSGD_REQUIRE(other->bytes == call.bytes && other->divisor == call.divisor &&
                     other->part == call.part && other->root == call.root &&
                     other->piece == call.piece,
                 "worker %d calls %s in step %jd (piece %zu of %g bytes, root %d) where worker %d "
                 "called %s (piece %zu of %g bytes, root %d); all must call the same in one order",
                 w->node.rank, call.verb, w->node.step, call.piece, call.bytes, call.root,
                 other->caller, other->verb, other->piece, other->bytes, other->root);
    return reduction;
}

bool dsgd_reduction_lacks(const dsgd_engine *engine, const dsgd_reduction *reduction, int rank)
{
    const int index = dsgd_members_index(&reduction->members, rank);
    if (index < 0)
        return false;
    if (reduction->n_joined == reduction->n_members)
        return engine->exchanges.comms != NULL && !reduction->contribution[index].started;
    const uint64_t *const begun = reduction->members.comm != NULL
                                      ? reduction->members.comm->begun
                                      : engine->exchanges.reductions->begun;
    return begun[index] <= reduction->number;
}

dsgd_reduction *dsgd_reduction_join_group(dsgd_engine *engine, uint64_t number, dsgd_group group,
                                          int leader, dsgd_call call)
{
    const dsgd_reduction wanted = {.scope = 1 + (uint64_t)leader,
                                   .number = number,
                                   .n_members = 1 << __builtin_popcount(group),
                                   .members = {NULL, group, leader},
                                   .call = call};
    return join(engine, wanted);
}

static void release_contributions(dsgd_engine *engine, dsgd_reduction *reduction)
{
    for (int i = 0; i < reduction->n_members; i++) {
        dsgd_value_release(engine->learning.values, reduction->contribution[i].value);
        reduction->contribution[i].value = DSGD_ZERO_VALUE;
    }
}

void dsgd_reduction_leave(dsgd_engine *engine, dsgd_reduction *reduction)
{
    if (reduction == NULL || --reduction->references > 0)
        return;
    dsgd_value_release(engine->learning.values, reduction->sum);
    if (!reduction->combined)
        release_contributions(engine, reduction);
    dsgd_run_free(reduction->numbers);
    dsgd_run_free(reduction->alike);
    dsgd_comm_release(engine, reduction->members.comm);
    dsgd_comm_release(engine, reduction->quorum);
    dsgd_run_free(reduction);
}

int dsgd_members_index(const dsgd_members *members, int rank)
{
    if (members->comm != NULL)
        return dsgd_comm_index(members->comm, rank);
    if (members->leader < 0)
        return rank;
    if ((rank & (int)~members->group) != members->leader)
        return -1;
    int index = 0;
    int to = 0;
    for (dsgd_group left = members->group; left != 0; left &= left - 1)
        index |= ((rank >> __builtin_ctz(left)) & 1) << to++;
    return index;
}

int dsgd_members_rank(const dsgd_members *members, int index)
{
    if (members->comm != NULL)
        return members->comm->rank[index];
    if (members->leader < 0)
        return index;
    int rank = members->leader;
    for (dsgd_group left = members->group; left != 0; left &= left - 1, index >>= 1)
        rank |= (index & 1) << __builtin_ctz(left);
    return rank;
}

void dsgd_reduction_sample(const dsgd_worker *w, dsgd_reduction *reduction, dsgd_piece contribution)
{
    const int index = dsgd_members_index(&reduction->members, w->node.rank);
    reduction->contribution[index] = (dsgd_contribution){.value = contribution.value,
                                                         .stamp = contribution.stamp,
                                                         .of = contribution.of,
                                                         .owner = w->node.rank,
                                                         .counts = w->presence.state == DSGD_HERE};
    reduction->n_sampled++;
    reduction->n_counting += w->presence.state == DSGD_HERE;
    dsgd_observe_sampled(w, reduction->scope, reduction->number, contribution.value,
                         contribution.stamp);
}

/**
 * Computes the number, the newest, the oldest and the sum of the stamps of all contributions that
 * are not empty.
 */
static void sum_up_stamps(dsgd_reduction *reduction)
{
    for (int i = 0; i < reduction->n_members; i++) {
        const int64_t stamp = reduction->contribution[i].stamp;
        if (stamp < 0)
            continue;
        const bool first = reduction->n_stamped++ == 0;
        reduction->newest = first || stamp > reduction->newest ? stamp : reduction->newest;
        reduction->oldest = first || stamp < reduction->oldest ? stamp : reduction->oldest;
        reduction->stamps += (double)stamp;
    }
}

/**
 * Returns the chunk that consists of the i-th of n parts of the contribution of each member i. The
 * chunk is a sum of vectors that are 0 outside their parts, so there are no rounding errors.
 */
static dsgd_value join_shares(dsgd_engine *engine, const dsgd_reduction *reduction,
                              dsgd_origin where, size_t piece)
{
    const size_t n = (size_t)reduction->n_members;
    const size_t begin = engine->learning.piece_begin[piece];
    const size_t length = engine->learning.piece_begin[piece + 1] - begin;
    const dsgd_codec codec = {.kind = DSGD_CODEC_MASK};
    dsgd_value *const share = dsgd_xcalloc(n, sizeof *share);
    double *const ones = dsgd_xcalloc(n, sizeof *ones);
    for (size_t i = 0; i < n; i++) {
        /* own[] is a mask: it is 1 in the member's own part, and 0 elsewhere */
        double *const own = dsgd_xcalloc(begin + length + 1, sizeof *own);
        for (size_t e = length * i / n; e < length * (i + 1) / n; e++)
            own[begin + e] = 1;
        const dsgd_value mask = dsgd_values_constant(engine->learning.values, piece, own);
        share[i] = dsgd_values_encode(engine->learning.values, where, piece, &codec,
                                      reduction->contribution[i].value, mask);
        dsgd_value_release(engine->learning.values, mask);
        ones[i] = 1;
        free(own);
    }
    const dsgd_value sum =
        dsgd_values_combine(engine->learning.values, where, piece, n, share, ones, 1);
    for (size_t i = 0; i < n; i++)
        dsgd_value_release(engine->learning.values, share[i]);
    free(share);
    free(ones);
    return sum;
}

/**
 * Returns the result of an allgather. If the contributions of all members are equal, the result is
 * this value; otherwise it is joined from the parts of all members.
 */
static dsgd_value gathered_value(dsgd_engine *engine, const dsgd_reduction *reduction,
                                 dsgd_origin where, size_t piece)
{
    const dsgd_value first = reduction->contribution[0].value;
    for (int i = 1; i < reduction->n_members; i++)
        if (!dsgd_value_equal(reduction->contribution[i].value, first))
            return join_shares(engine, reduction, where, piece);
    return dsgd_value_retain(first);
}

/** Returns the sum of the compressed contributions x[n], compressed again. */
static dsgd_value encode_again(dsgd_engine *engine, const dsgd_reduction *reduction,
                               dsgd_origin where, size_t piece, const dsgd_value *x)
{
    const size_t n = (size_t)reduction->n_members;
    dsgd_vector **const of = dsgd_xcalloc(n, sizeof *of);
    for (size_t i = 0; i < n; i++)
        of[i] = reduction->contribution[i].of;
    const dsgd_addends added = {where, piece, n, reduction->number, x, of};
    const dsgd_value again =
        dsgd_encode_sum(engine, reduction->call.encoded, &added, reduction->sum);
    free(of);
    return again;
}

void dsgd_reduction_combine(dsgd_engine *engine, dsgd_reduction *reduction, dsgd_origin where,
                            size_t piece)
{
    if (reduction->combined)
        return;
    const int n = reduction->n_members;
    const dsgd_encoded *const encoded = reduction->call.encoded;
    DSGD_ASSERT(reduction->n_sampled == n || engine->failures.by_quorum,
                "%d of %d contributions when the first member was done", reduction->n_sampled, n);
    reduction->combined = true;
    sum_up_stamps(reduction);
    if (reduction->call.part == DSGD_ALLGATHER) {
        reduction->sum = gathered_value(engine, reduction, where, piece);
    } else if (engine->learning.values != NULL) {
        dsgd_value *x = dsgd_xcalloc((size_t)n, sizeof *x);
        double *weights = dsgd_xcalloc((size_t)n, sizeof *weights);
        for (int i = 0; i < n; i++) {
            x[i] = reduction->contribution[i].value;
            weights[i] = 1;
        }
        /*
         * divisor of the sum; under policy quorum, a mean is divided by the number of running
         * members instead
         */
        const double divisor = reduction->call.divisor;
        reduction->sum = dsgd_values_combine(
            engine->learning.values, where, piece, (size_t)n, x, weights,
            divisor == n && engine->failures.by_quorum ? fmax(1, reduction->n_counting) : divisor);
        if (encoded != NULL && encoded->sum == DSGD_SUM_REENCODED)
            reduction->sum = encode_again(engine, reduction, where, piece, x);
        free(x);
        free(weights);
    }
    release_contributions(engine, reduction);
}

void dsgd_reduction_gather(dsgd_engine *engine, dsgd_reduction *reduction, int rank,
                           const double *mine, size_t n)
{
    const size_t members = (size_t)reduction->n_members;
    if (reduction->numbers == NULL)
        reduction->numbers = dsgd_run_alloc(engine, n * members * sizeof *mine);
    memcpy(reduction->numbers + n * (size_t)dsgd_members_index(&reduction->members, rank), mine,
           n * sizeof *mine);
}

/* --- functions that count ages per group of equal contributions ------------------------------- */

/**
 * Returns the index of the group of contributions with this stamp and this number of local steps of
 * the owner. Creates the group if it does not exist.
 */
static size_t alike_of(dsgd_engine *engine, dsgd_reduction *reduction, int64_t stamp,
                       int64_t owner_steps)
{
    size_t place = reduction->n_alike;
    for (size_t i = 0; i < reduction->n_alike; i++) {
        const dsgd_alike *const alike = &reduction->alike[i];
        if (alike->n > 0 && alike->stamp == stamp && alike->owner_steps == owner_steps)
            return i;
        if (alike->n == 0)
            place = i;
    }
    if (place == reduction->room) {
        const size_t room = 2 * place + 4;
        dsgd_alike *const larger = dsgd_run_alloc(engine, room * sizeof *larger);
        if (place > 0)
            memcpy(larger, reduction->alike, place * sizeof *larger);
        dsgd_run_free(reduction->alike);
        reduction->alike = larger;
        reduction->room = room;
    }
    reduction->n_alike += place == reduction->n_alike;
    reduction->alike[place] = (dsgd_alike){stamp, owner_steps, 0};
    return place;
}

/**
 * Puts a contribution into the group with its stamp and its owner's local steps. Does nothing if
 * the contribution is empty.
 */
static void group(dsgd_engine *engine, dsgd_reduction *reduction, int index, size_t piece)
{
    dsgd_contribution *const theirs = &reduction->contribution[index];
    if (theirs->stamp < 0)
        return;
    theirs->alike = alike_of(engine, reduction, theirs->stamp,
                             dsgd_local_steps(&engine->workers[theirs->owner], piece));
    reduction->alike[theirs->alike].n++;
}

/**
 * Updates the groups of contributions. Only contributions whose owners have made local steps since
 * the last update change their group; after many such steps, all groups are made again.
 */
static void follow_owners(dsgd_engine *engine, dsgd_reduction *reduction, size_t piece)
{
    uint64_t step = reduction->steps_seen;
    reduction->steps_seen = engine->computations.n_stepped[piece];
    if (reduction->n_alike == 0 || reduction->steps_seen - step > (uint64_t)reduction->n_members) {
        reduction->n_alike = 0;
        for (int i = 0; i < reduction->n_members; i++)
            group(engine, reduction, i, piece);
        return;
    }
    for (; step < reduction->steps_seen; step++) {
        const size_t p = (size_t)engine->n_workers;
        const int index = dsgd_members_index(&reduction->members,
                                             engine->computations.stepped[piece * p + step % p]);
        if (index < 0 || reduction->contribution[index].stamp < 0)
            continue;
        reduction->alike[reduction->contribution[index].alike].n--;
        group(engine, reduction, index, piece);
    }
}

dsgd_lag dsgd_reduction_count_use(dsgd_worker *user, dsgd_reduction *reduction, size_t piece,
                                  int64_t ahead)
{
    dsgd_engine *const engine = user->engine;
    const double weight = dsgd_piece_share(engine, piece) / reduction->n_members;
    dsgd_observe_sum(user, reduction->scope, reduction->number, reduction->sum);
    if (reduction->n_stamped > 0)
        follow_owners(engine, reduction, piece);
    if (!dsgd_count_ages(user, piece, reduction->alike, reduction->n_alike, weight))
        for (int i = 0; i < reduction->n_members; i++)
            dsgd_count_age(user, reduction->contribution[i].owner, piece,
                           reduction->contribution[i].stamp, weight);
    const int64_t iteration = dsgd_local_steps(user, piece) + ahead;
    dsgd_lag lag = {0, 0};
    /* This block takes O(1) time, because sum_up_stamps() has already summed up the stamps. */
    if (reduction->n_stamped > 0) {
        const double at = (double)(iteration > reduction->newest ? iteration : reduction->newest);
        lag.mean = at - reduction->stamps / reduction->n_stamped;
        lag.max = at - (double)reduction->oldest;
    }
    dsgd_count_lag(engine, lag, weight * reduction->n_stamped);
    return lag;
}
