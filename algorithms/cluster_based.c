/**
 * @file cluster_based.c
 * Asynchronous SGD in the cluster-based model: processes of a cluster read each other's registers,
 * clusters exchange messages, and each step ends with rounds of approximate agreement among as many
 * clusters as have a majority of all processes. One live process speaks for its cluster.
 *
 * H. Attiya, N. Schiller, "Asynchronous fully-decentralized SGD in the cluster-based model", CIAC
 * 2023. By its abstract: two layers of communication, crashes, wait-free reads and writes within a
 * cluster, multidimensional approximate agreement in each step, clusters with a majority of all
 * processes where losses are arbitrary, and that strongly convex ones withstand partitions.
 * Assumed: a register is a copy at each reader, so that a write is a message over the links of the
 * cluster and a read takes no time; an agreement is a mean, of slow processes' values, too; who
 * comes back takes what is in its registers and messages.
 */
#include "sim/algorithm.h"

typedef struct cluster_based_params {
    int64_t cluster, quorum, rounds;
} cluster_based_params;

enum { MAJORITY = -1 };

/** What a process has told last, and before; of rounds below 0: nothing. */
typedef struct told {
    dsgd_vector *x[2];
    double round[2], latest; /* its own rounds; with the last, the highest that it had heard of */
} told;

typedef struct process {
    dsgd_vector *x, *value, *sum; /* the model; as it was told; room */
    told *by; /* [P] */
    bool *spoke; /* [P], of each cluster: it has a value of this round, or of a later one */
    int64_t n_heard; /* processes of such clusters */
    double round, latest; /* its own; the highest of all that it has heard of */
} process;

static int64_t quorum_of(const cluster_based_params *p, int n_workers)
{
    const int64_t wanted = p->quorum == MAJORITY ? n_workers / 2 + 1 : p->quorum;
    return wanted < n_workers ? wanted : n_workers;
}

/** Counts a process's cluster where its value is of this round or a later one. */
static void count(const dsgd_node *self, process *s, int from)
{
    const cluster_based_params *p = self->params;
    const int64_t cluster = from / p->cluster, left = self->n_workers - cluster * p->cluster;
    if (s->spoke[cluster] || (from != self->rank && s->by[from].round[0] < s->round))
        return;
    s->spoke[cluster] = true;
    s->n_heard += p->cluster < left ? p->cluster : left;
}

/** Takes the next message. False: none has come by then, or it has failed. */
static bool hear(dsgd_node *self, process *s, double until_s)
{
    const dsgd_message *m = dsgd_recv(self, until_s);
    if (m == NULL)
        return false;
    told *const t = &s->by[m->from];
    dsgd_vector *const room = t->x[1] != NULL ? t->x[1] : dsgd_vector_new(self);
    *t = (told){{room, t->x[0]}, {m->numbers[0], t->round[0]}, m->numbers[1]};
    s->latest = fmax(s->latest, t->latest);
    dsgd_copy(self, room, m->x);
    count(self, s, m->from);
    dsgd_message_used(self, m, -1);
    return true;
}

/** Counts anew, in a round in which its own cluster has a value. */
static void begin_round(const dsgd_node *self, process *s)
{
    s->n_heard = 0;
    for (int i = 0; i < self->n_workers; i++)
        s->spoke[i] = false;
    for (int i = 0; i < self->n_workers; i++)
        count(self, s, i);
}

/** x <- the mean of the values of this round, and of others that were told in the last round of
 * any. */
static void take_mean(dsgd_node *self, process *s)
{
    int n = 0;
    for (int i = 0; i < self->n_workers; i++) {
        const told *const t = &s->by[i];
        const bool is_there = t->round[0] >= s->round || t->latest >= s->latest - 1;
        dsgd_vector *const x = i == self->rank           ? s->value
                               : t->round[1] >= s->round ? t->x[1]
                               : is_there                ? t->x[0]
                                                         : NULL;
        if (x != NULL)
            dsgd_combine(self, s->sum, n++ > 0, 1, x);
    }
    dsgd_divide(self, s->sum, n);
    dsgd_copy(self, s->x, s->sum);
}

/** A round of approximate agreement. False: it has failed. */
static bool agree(dsgd_node *self, process *s)
{
    static const double instant_s = 1e-9; /* who comes at one instant comes together */
    while (hear(self, s, dsgd_time_s(self)))
        continue;
    s->latest = fmax(s->latest, s->round);
    dsgd_copy(self, s->value, s->x);
    for (int i = 1; i < self->n_workers; i++) /* each begins at another */
        dsgd_send(self, (self->rank + i) % self->n_workers, s->value,
                  (double[]){s->round, s->latest}, 2);
    begin_round(self, s);
    while (s->n_heard < quorum_of(self->params, self->n_workers))
        if (!hear(self, s, INFINITY))
            return false;
    for (const double until_s = dsgd_time_s(self) + instant_s; hear(self, s, until_s);)
        continue;
    take_mean(self, s);
    s->round++;
    return true;
}

/** Takes the value and the round of who is ahead of all. */
static void come_back(dsgd_node *self, process *s)
{
    while (hear(self, s, dsgd_time_s(self)))
        continue;
    for (int i = 0; i < self->n_workers; i++) {
        if (s->by[i].round[0] < s->round)
            continue;
        s->round = s->by[i].round[0];
        dsgd_copy(self, s->x, s->by[i].x[0]);
    }
}

static void cluster_based_work(dsgd_node *self)
{
    const cluster_based_params *p = self->params;
    process s = {dsgd_model(self), dsgd_vector_new(self), dsgd_vector_new(self),
                 dsgd_memory_new(self, (size_t)self->n_workers, sizeof(told)),
                 dsgd_memory_new(self, (size_t)self->n_workers, sizeof(bool))};
    dsgd_vector *g = dsgd_vector_new(self);
    for (int i = 0; i < self->n_workers; i++)
        s.by[i].round[0] = s.by[i].round[1] = s.by[i].latest = -INFINITY;

    while (dsgd_next_step(self)) {
        if (dsgd_has_joined(self)) {
            come_back(self, &s);
            continue;
        }
        dsgd_gradient(self, g, s.x);
        dsgd_local_step(self, s.x, g);
        dsgd_wait_any(self, DSGD_ON_GRADIENT, INFINITY);
        for (int64_t r = 0; r < p->rounds && agree(self, &s); r++)
            continue;
    }
}

static const char *const quorum_words[] = {"majority", NULL};

static const dsgd_option cluster_based_options[] = {
    DSGD_OPTION_LONG(cluster_based_params, cluster, 8, 1, 1 << 20, "workers",
                     "processes that share memory, by rank: those of a node or an island"),
    DSGD_OPTION_LONG(cluster_based_params, quorum, MAJORITY, 0, 1 << 20, "workers",
                     "in the clusters of which a round has a value, its own cluster included; "
                     "majority: P / 2 + 1; all where there are fewer; 0: it waits for nobody, as "
                     "for strongly convex losses, and bears partitions",
                     .words = quorum_words),
    DSGD_OPTION_LONG(cluster_based_params, rounds, 1, 1, 1000, NULL,
                     "of approximate agreement in each step"),
    DSGD_OPTION_END,
};

const dsgd_algorithm dsgd_algorithm_cluster_based = {
    .about = {.name = "cluster_based",
              .summary = "a majority of clusters agrees; one live process speaks for its cluster",
              .reference = "Attiya, Schiller, CIAC 2023, by its abstract",
              DSGD_PARAMS(cluster_based_params, cluster_based_options)},
    .doc = {.idea = "Shared memory makes a crash cheap: a cluster is there as long as one of its "
                    "processes is.",
            .rule =
                "x <- x + U(g, x, t);  `rounds` times: r <- max of r and the rounds heard of, x "
                "to all; wait until clusters with `quorum` processes have a value of round r; "
                "x <- mean of the values not older than r - 1, own x included; r <- r + 1",
            .sends = "(P - 1) N per round: to the own cluster as writes of registers, whose copies "
                     "are at their readers; to the others as messages",
            .waits = "for one process of each of some clusters, whichever come first; for nobody "
                     "of its own. Without a majority all wait. What a slow link has to carry "
                     "piles up"},
    .work = cluster_based_work,
    .traits = DSGD_AVERAGES_MODELS | DSGD_REJOINS,
    .laws = DSGD_LAWS(
        {DSGD_LAW_PLAIN_SGD}, {DSGD_LAW_ALLREDUCE, DSGD_WITH({"cluster", 1}, {"quorum", 1 << 20})},
        {DSGD_LAW_KEEPS_MEAN, DSGD_WITH({"cluster", 1}, {"quorum", 1 << 20}, {"rounds", 3})}),
};
