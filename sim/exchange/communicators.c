/**
 * @file communicators.c
 * Creates groups of workers: by splitting all workers by their colours, or from a list of members.
 */
#include "sim/exchange/reductions.h"

typedef struct dsgd_partition {
    struct dsgd_partition *next;
    dsgd_colours colours; /* function that returns the colours; NULL if the split was made for one
                           * group with given members */
    int64_t users; /* number of users: reductions that have not ended, plus 1 for the run if this
                    * is a split by colours */
    dsgd_comm *of; /* [n_colours] communicators; this array and the others follow the struct in
                    * memory, with room for [n_workers] entries */
    uint64_t *begun; /* [n_workers] number of collectives that each member has started; sorted by
                      * colour, then by rank */
    int *rank; /* [n_workers] ranks of the members, sorted by colour, then by rank */
    int *index; /* [n_workers] index of each rank among the members of its communicator; -1 if
                 * the rank has no communicator */
    int *colour; /* [n_workers] index of each rank's communicator in the array `of` */
} dsgd_partition;

struct dsgd_comms {
    dsgd_partition *splits; /* list of the splits that exist */
    uint64_t n_comms; /* number of communicators that the run has made so far */
};

/* --- creation of communicators ---------------------------------------------------------------- */

typedef struct coloured {
    int colour, rank;
} coloured;

static int by_colour(const void *a, const void *b)
{
    const coloured *const x = a;
    const coloured *const y = b;
    return x->colour != y->colour ? (x->colour > y->colour) - (x->colour < y->colour)
                                  : x->rank - y->rank;
}

/**
 * Makes the communicators of a split from its colours. All workers without a colour share one
 * communicator without members.
 */
static void make_comms(dsgd_engine *engine, dsgd_partition *split)
{
    const int p = engine->n_workers;
    coloured *const sorted = dsgd_xcalloc((size_t)p, sizeof *sorted);
    int n_comms = -1;
    for (int i = 0; i < p; i++)
        sorted[i] = (coloured){split->colour[i], i};
    qsort(sorted, (size_t)p, sizeof *sorted, by_colour);
    for (int i = 0; i < p; i++) {
        const bool first = i == 0 || sorted[i].colour != sorted[i - 1].colour;
        n_comms += first && (i == 0 || sorted[i].colour >= 0 || sorted[i - 1].colour >= 0);
        dsgd_comm *const comm = &split->of[n_comms];
        if (comm->split == NULL)
            *comm = (dsgd_comm){.split = split, .rank = &split->rank[i], .begun = &split->begun[i]};
        if (comm->id == 0 && sorted[i].colour >= 0)
            comm->id = ++engine->exchanges.comms->n_comms;
        split->rank[i] = sorted[i].rank;
        split->colour[sorted[i].rank] = n_comms;
        split->index[sorted[i].rank] = sorted[i].colour < 0 ? -1 : comm->n++;
    }
    free(sorted);
}

/** Returns a new split, whose colours are not set yet, and adds it to the list of splits. */
static dsgd_partition *new_split(dsgd_engine *engine)
{
    const size_t p = (size_t)engine->n_workers;
    dsgd_partition *const split =
        dsgd_run_alloc(engine, sizeof *split + p * (sizeof *split->of + sizeof *split->begun +
                                                    3 * sizeof *split->rank));
    split->of = (dsgd_comm *)(split + 1);
    split->begun = (uint64_t *)(split->of + p);
    split->rank = (int *)(split->begun + p);
    split->index = split->rank + p;
    split->colour = split->index + p;
    split->next = engine->exchanges.comms->splits;
    return engine->exchanges.comms->splits = split;
}

/* --- users of communicators ------------------------------------------------------------------- */

void dsgd_comm_retain(dsgd_comm *comm)
{
    if (comm != NULL)
        comm->split->users++;
}

void dsgd_comm_release(dsgd_engine *engine, dsgd_comm *comm)
{
    if (comm == NULL || --comm->split->users > 0)
        return;
    dsgd_partition **link = &engine->exchanges.comms->splits;
    while (*link != comm->split)
        link = &(*link)->next;
    *link = comm->split->next;
    dsgd_run_free(comm->split);
}

static struct dsgd_comms *comms_of(dsgd_engine *engine)
{
    if (engine->exchanges.comms == NULL)
        engine->exchanges.comms = dsgd_run_alloc(engine, sizeof *engine->exchanges.comms);
    return engine->exchanges.comms;
}

/** Returns the communicator of the worker @p rank in a split. */
static dsgd_comm *comm_in(const dsgd_partition *split, int rank)
{
    return &split->of[split->colour[rank]];
}

const dsgd_comm *dsgd_comm_split(dsgd_node *self, dsgd_colours colours)
{
    dsgd_engine *const engine = dsgd_worker_of(self)->engine;
    dsgd_partition *split = comms_of(engine)->splits;
    while (split != NULL && split->colours != colours)
        split = split->next;
    if (split == NULL) {
        split = new_split(engine);
        split->colours = colours;
        split->users = 1;
        colours(self->params, engine->n_workers, split->colour);
        make_comms(engine, split);
    }
    return comm_in(split, self->rank);
}

/** Returns whether the split was made for one group with exactly the members @p ranks. */
static bool has_members(const dsgd_partition *split, const int *ranks, int n)
{
    const dsgd_comm *const comm = comm_in(split, ranks[0]);
    return split->colours == NULL && comm->n == n &&
           memcmp(comm->rank, ranks, (size_t)n * sizeof *ranks) == 0;
}

dsgd_comm *dsgd_comm_among(dsgd_engine *engine, const int *ranks, int n)
{
    dsgd_partition *group = comms_of(engine)->splits;
    while (group != NULL && !has_members(group, ranks, n))
        group = group->next;
    if (group == NULL) {
        group = new_split(engine);
        for (int i = 0; i < engine->n_workers; i++)
            group->colour[i] = -1;
        for (int i = 0; i < n; i++)
            group->colour[ranks[i]] = 0;
        make_comms(engine, group);
    }
    dsgd_comm *const comm = comm_in(group, ranks[0]);
    dsgd_comm_retain(comm);
    return comm;
}

/* --- members of communicators ----------------------------------------------------------------- */

int dsgd_comm_index(const dsgd_comm *comm, int rank)
{
    const dsgd_partition *const split = comm->split;
    return comm_in(split, rank) == comm ? split->index[rank] : -1;
}

int dsgd_comm_rank(const dsgd_node *self, const dsgd_comm *comm)
{
    return comm == DSGD_WORLD ? self->rank : dsgd_comm_index(comm, self->rank);
}

int dsgd_comm_size(const dsgd_node *self, const dsgd_comm *comm)
{
    return comm == DSGD_WORLD ? self->n_workers : comm->n;
}
