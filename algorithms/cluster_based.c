/**
 * @file cluster_based.c
 * Asynchronous SGD in the cluster-based model: processes of a cluster read each other's registers,
 * and clusters exchange messages. Each step ends with rounds of approximate agreement. The clusters
 * that agree together contain a majority of all processes. One running process represents its whole
 * cluster.
 *
 * H. Attiya, N. Schiller, "Asynchronous fully-decentralized SGD in the cluster-based model", CIAC
 * 2023. This file follows the paper's abstract: two layers of communication, crashes, wait-free
 * reads and writes within a cluster, and multidimensional approximate agreement in each step. For
 * arbitrary loss functions, the agreeing clusters must contain a majority of all processes. For
 * strongly convex loss functions, the network may be partitioned.
 *
 * This simulator makes three assumptions. Each reader has a copy of a register, so a write is a
 * message over the links of the cluster, and a read takes no time. An agreement is a mean that
 * includes the values of slow processes. A repaired process takes over the values of its registers
 * and messages.
 */
#include "sim/algorithm.h"

typedef struct cluster_based_params {
    int64_t cluster, quorum, rounds;
} cluster_based_params;

enum { MAJORITY = -1 };

/**
 * The last two values of a process, the newest value first. A negative round marks a value that
 * does not exist yet.
 */
typedef struct last_values {
    dsgd_vector *x[2];
    double round[2], latest; /* round: rounds of the two values; latest: highest round that the
                              * sender of the values knew */
} last_values;

typedef struct process {
    dsgd_vector *x, *value,
        *sum; /* the model; the value that this process sent; scratch memory for a sum */
    last_values *by; /* last two values of every process; P entries */
    bool *has_value; /* true for each cluster that has a value of this round or of a later round; P
                      * entries */
    int64_t n_heard; /* number of processes in the clusters that have a value of this round */
    double round, latest; /* round: present round of this process; latest: highest round that this
                           * process knows */
} process;

static int64_t quorum_of(const cluster_based_params *p, int n_workers)
{
    const int64_t wanted = p->quorum == MAJORITY ? n_workers / 2 + 1 : p->quorum;
    return wanted < n_workers ? wanted : n_workers;
}

/**
 * Counts the cluster of process @p from if this process has a value of the present round or of a
 * later round.
 */
static void count_cluster(const dsgd_node *self, process *s, int from)
{
    const cluster_based_params *p = self->params;
    const int64_t cluster = from / p->cluster, left = self->n_workers - cluster * p->cluster;
    if (s->has_value[cluster] || (from != self->rank && s->by[from].round[0] < s->round))
        return;
    s->has_value[cluster] = true;
    s->n_heard += p->cluster < left ? p->cluster : left;
}

/**
 * Receives the next message. Returns false if no message arrives until @p until_s, or after a
 * failure.
 */
static bool receive(dsgd_node *self, process *s, double until_s)
{
    const dsgd_message *m = dsgd_recv(self, until_s);
    if (m == NULL)
        return false;
    last_values *const t = &s->by[m->from];
    dsgd_vector *const room = t->x[1] != NULL ? t->x[1] : dsgd_vector_new(self);
    *t = (last_values){{room, t->x[0]}, {m->numbers[0], t->round[0]}, m->numbers[1]};
    s->latest = fmax(s->latest, t->latest);
    dsgd_copy(self, room, m->x);
    count_cluster(self, s, m->from);
    dsgd_message_used(self, m, -1);
    return true;
}

/**
 * Begins a round: counts the clusters that already have a value of this round. The cluster of this
 * process always counts.
 */
static void begin_round(const dsgd_node *self, process *s)
{
    s->n_heard = 0;
    for (int i = 0; i < self->n_workers; i++)
        s->has_value[i] = false;
    for (int i = 0; i < self->n_workers; i++)
        count_cluster(self, s, i);
}

/**
 * Sets x to the mean of the values of this round. An older value also counts if its sender knew the
 * highest round or the round before it.
 */
static void take_mean(dsgd_node *self, process *s)
{
    int n = 0;
    for (int i = 0; i < self->n_workers; i++) {
        const last_values *const t = &s->by[i];
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

/** Executes one round of approximate agreement. Returns false after a failure. */
static bool agree_once(dsgd_node *self, process *s)
{
    /* Values that arrive within this time, in seconds, count as simultaneous. */
    static const double instant_s = 1e-9;
    while (receive(self, s, dsgd_time_s(self)))
        continue;
    s->latest = fmax(s->latest, s->round);
    dsgd_copy(self, s->value, s->x);
    /*
     * Each process sends first to the rank after its own, so that processes do not all send to the
     * same rank at once.
     */
    for (int i = 1; i < self->n_workers; i++)
        dsgd_send(self, (self->rank + i) % self->n_workers, s->value,
                  (double[]){s->round, s->latest}, 2);
    begin_round(self, s);
    while (s->n_heard < quorum_of(self->params, self->n_workers))
        if (!receive(self, s, INFINITY))
            return false;
    for (const double until_s = dsgd_time_s(self) + instant_s; receive(self, s, until_s);)
        continue;
    take_mean(self, s);
    s->round++;
    return true;
}

/** Copies the value and the round of the process that has the highest round. */
static void take_latest_value(dsgd_node *self, process *s)
{
    while (receive(self, s, dsgd_time_s(self)))
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
                 dsgd_memory_new(self, (size_t)self->n_workers, sizeof(last_values)),
                 dsgd_memory_new(self, (size_t)self->n_workers, sizeof(bool))};
    dsgd_vector *g = dsgd_vector_new(self);
    for (int i = 0; i < self->n_workers; i++)
        s.by[i].round[0] = s.by[i].round[1] = s.by[i].latest = -INFINITY;

    while (dsgd_next_step(self)) {
        if (dsgd_has_joined(self)) {
            take_latest_value(self, &s);
            continue;
        }
        dsgd_gradient(self, g, s.x);
        dsgd_local_step(self, s.x, g);
        dsgd_wait_any(self, DSGD_ON_GRADIENT, INFINITY);
        for (int64_t r = 0; r < p->rounds && agree_once(self, &s); r++)
            continue;
    }
}

static const char *const quorum_words[] = {"majority", NULL};

static const dsgd_option cluster_based_options[] = {
    DSGD_OPTION_LONG(
        cluster_based_params, cluster, 8, 1, 1 << 20, "workers",
        "number of processes that share memory, with consecutive ranks: those of a host or a node"),
    DSGD_OPTION_LONG(cluster_based_params, quorum, MAJORITY, 0, 1 << 20, "workers",
                     "number of processes in the clusters that must have a value of the round, the "
                     "own cluster included. majority: P / 2 + 1. At most the number of workers. 0: "
                     "no waiting, for strongly convex losses; tolerates partitions",
                     .words = quorum_words),
    DSGD_OPTION_LONG(cluster_based_params, rounds, 1, 1, 1000, NULL,
                     "number of rounds of approximate agreement per step"),
    DSGD_OPTION_END,
};

const dsgd_algorithm dsgd_algorithm_cluster_based = {
    .about = {.name = "cluster_based",
              .summary =
                  "a majority of clusters agrees; one running process speaks for its cluster",
              .reference = "Attiya, Schiller, CIAC 2023, by its abstract",
              DSGD_PARAMS(cluster_based_params, cluster_based_options)},
    .doc = {.idea = "Shared memory makes a crash cheap: a cluster takes part as long as one of its "
                    "processes is running.",
            .rule =
                "x <- x + U(g, x, t);  `rounds` times: send x with the own round r and the "
                "highest known round;  wait until clusters with `quorum` processes have a value "
                "of round r or later;  x <- mean of the own x, values of round r or later, and "
                "older ones whose senders knew of the round before the highest;  r <- r + 1",
            .sends = "(P - 1) N per round: register writes in the own cluster, whose copies are at "
                     "their readers, and messages to the others.",
            .waits = "A worker waits for one process of each of some clusters, whichever come "
                     "first, and for none of its own. Without a majority all wait."},
    .work = cluster_based_work,
    .traits = DSGD_AVERAGES_MODELS | DSGD_REJOINS,
    .laws = DSGD_LAWS(
        {DSGD_LAW_PLAIN_SGD}, {DSGD_LAW_ALLREDUCE, DSGD_WITH({"cluster", 1}, {"quorum", 1 << 20})},
        {DSGD_LAW_KEEPS_MEAN, DSGD_WITH({"cluster", 1}, {"quorum", 1 << 20}, {"rounds", 3})}),
};
