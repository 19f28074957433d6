/**
 * @file cluster_based.c
 * Asynchronous SGD in the cluster-based model: processes of a cluster read each other's registers,
 * clusters exchange messages, and each step ends with rounds of approximate agreement among as many
 * clusters as have a majority of all processes. One live process speaks for its cluster.
 *
 * H. Attiya, N. Schiller, "Asynchronous fully-decentralized SGD in the cluster-based model", CIAC 2023.
 * By its abstract: two layers of communication, crashes, wait-free reads and writes within a cluster,
 * multidimensional approximate agreement in each step, clusters with a majority of all processes where
 * losses are arbitrary, and that strongly convex ones withstand partitions. The rest is this simulator's:
 * a register is a copy at each reader, so that a write is a message over the links of the cluster, and
 * a read takes none; one round per step; the mean of what is there. `mid_extremes` is the rule of
 * M. Fuegger, T. Nowak, "Fast multidimensional asymptotic and approximate consensus", DISC 2018, from
 * memory. Coming back is no part of the paper.
 */
#include "sim/algorithm.h"

typedef struct cluster_based_params {
    int64_t cluster, quorum, rounds;
    int aggregate;
} cluster_based_params;

enum { MAJORITY = -1, NOBODY = 0 };
enum { MEAN, MID_EXTREMES };

/* What a message is: a value of a round; what is the value?; that, to who asks. */
enum { VALUE, QUESTION, ANSWER };

/** Of a round and, as others may be one ahead that wait for this process, the next. */
enum { SLOTS = 2 };

typedef struct cell {
    dsgd_vector *x; /* NULL: none yet */
    double round;
} cell;

/** A process. */
typedef struct process {
    dsgd_vector *x, *value;
    cell *from; /* [P][SLOTS] registers and messages */
    bool *heard; /* [P] by cluster */
    double round;
    bool answered; /* what it asked */
} process;

static int64_t quorum_of(const cluster_based_params *p, int n_workers)
{
    const int64_t wanted = p->quorum == MAJORITY ? n_workers / 2 + 1 : p->quorum;
    return wanted < n_workers ? wanted : n_workers;
}

static int64_t cluster_size(const cluster_based_params *p, int n_workers, int64_t cluster)
{
    const int64_t left = n_workers - cluster * p->cluster;
    return left < p->cluster ? left : p->cluster;
}

/** The value of a process in this round, else its next; NULL: it has yet to come. */
static dsgd_vector *value_of(const process *s, int rank)
{
    const cell *best = NULL;
    for (const cell *c = &s->from[rank * SLOTS]; c < &s->from[(rank + 1) * SLOTS]; c++)
        if (c->x != NULL && c->round >= s->round && (best == NULL || c->round < best->round))
            best = c;
    return best == NULL ? NULL : best->x;
}

/** Whether clusters with enough processes have been heard of, its own included. */
static bool has_quorum(const dsgd_node *self, process *s)
{
    const cluster_based_params *p = self->params;
    const int64_t n_clusters = (self->n_workers + p->cluster - 1) / p->cluster;
    for (int64_t c = 0; c < n_clusters; c++)
        s->heard[c] = false;
    for (int i = 0; i < self->n_workers; i++)
        s->heard[i / p->cluster] |= i == self->rank || value_of(s, i) != NULL;
    int64_t n = 0;
    for (int64_t c = 0; c < n_clusters; c++)
        n += s->heard[c] ? cluster_size(p, self->n_workers, c) : 0;
    return n >= quorum_of(p, self->n_workers);
}

/** Takes the next message. False: none has come by then, or it has failed. */
static bool hear(dsgd_node *self, process *s, double until_s)
{
    const dsgd_message *m = dsgd_recv(self, until_s);
    if (m == NULL)
        return false;
    const double round = m->numbers[1];
    if (m->numbers[0] == QUESTION) {
        dsgd_send(self, m->from, s->value, (double[]){ANSWER, s->round}, 2);
        return true;
    }
    if (m->numbers[0] == ANSWER) {
        if (!s->answered && round >= s->round) {
            dsgd_copy(self, s->x, m->x);
            s->round = round;
        }
        s->answered = true;
        return true;
    }
    if (round < s->round)
        return true;
    cell *const c = &s->from[m->from * SLOTS + (int)fmod(round, SLOTS)];
    if (c->x == NULL)
        c->x = dsgd_vector_new(self);
    dsgd_message_used(self, m, -1);
    dsgd_copy(self, c->x, m->x);
    c->round = round;
    return true;
}

/** Writes its register, and sends to the other clusters. */
static void tell(dsgd_node *self, process *s)
{
    dsgd_copy(self, s->value, s->x);
    for (int i = 1; i < self->n_workers; i++) /* each begins at another */
        dsgd_send(self, (self->rank + i) % self->n_workers, s->value, (double[]){VALUE, s->round},
                  2);
}

/** x <- the midpoint of the two values that are farthest from each other. */
static void take_mid_extremes(dsgd_node *self, process *s, dsgd_vector *difference)
{
    dsgd_vector *a = s->value, *b = s->value;
    double most = 0;
    for (int i = 0; i < self->n_workers; i++)
        for (int j = 0; j < i; j++) {
            dsgd_vector *const x = i == self->rank ? s->value : value_of(s, i);
            dsgd_vector *const y = j == self->rank ? s->value : value_of(s, j);
            if (x == NULL || y == NULL)
                continue;
            dsgd_copy(self, difference, x);
            dsgd_combine(self, difference, 1, -1, y);
            const double distance = dsgd_norm(self, difference);
            if (distance <= most)
                continue;
            most = distance;
            a = x;
            b = y;
        }
    dsgd_copy(self, difference, a);
    dsgd_combine(self, difference, 0.5, 0.5, b);
    dsgd_copy(self, s->x, difference);
}

static void take_mean(dsgd_node *self, process *s, dsgd_vector *sum)
{
    int n = 0;
    for (int i = 0; i < self->n_workers; i++) {
        dsgd_vector *const x = i == self->rank ? s->value : value_of(s, i);
        if (x != NULL)
            dsgd_combine(self, sum, n++ > 0, 1, x);
    }
    dsgd_divide(self, sum, n);
    dsgd_copy(self, s->x, sum);
}

/** A round of approximate agreement. False: it has failed. */
static bool agree(dsgd_node *self, process *s, dsgd_vector *room)
{
    static const double instant_s = 1e-9; /* who comes at one instant comes together */
    const cluster_based_params *p = self->params;
    tell(self, s);
    while (!has_quorum(self, s))
        if (!hear(self, s, INFINITY))
            return false;
    for (const double until_s = dsgd_time_s(self) + instant_s; hear(self, s, until_s);)
        continue;
    if (p->aggregate == MEAN)
        take_mean(self, s, room);
    else
        take_mid_extremes(self, s, room);
    s->round++;
    return true;
}

/** What it missed it does not read; it takes the value of who answers first, and says so in that round. */
static void come_back(dsgd_node *self, process *s)
{
    while (hear(self, s, dsgd_time_s(self)))
        continue;
    s->answered = self->n_workers == 1;
    for (int i = 1; i < self->n_workers; i++)
        dsgd_send(self, (self->rank + i) % self->n_workers, NULL, (double[]){QUESTION, s->round},
                  2);
    while (!s->answered)
        if (!hear(self, s, INFINITY))
            return;
    tell(self, s);
}

static void cluster_based_work(dsgd_node *self)
{
    const cluster_based_params *p = self->params;
    const size_t n = (size_t)self->n_workers;
    process s = {.x = dsgd_model(self),
                 .value = dsgd_vector_new(self),
                 .from = dsgd_memory_new(self, n * SLOTS, sizeof(cell)),
                 .heard = dsgd_memory_new(self, n, sizeof(bool))};
    dsgd_vector *g = dsgd_vector_new(self);
    dsgd_vector *room = dsgd_vector_new(self);
    dsgd_copy(self, s.value, s.x);

    while (dsgd_next_step(self)) {
        if (dsgd_has_joined(self)) {
            come_back(self, &s);
            continue;
        }
        dsgd_gradient(self, g, s.x);
        dsgd_local_step(self, s.x, g);
        dsgd_wait_any(self, DSGD_ON_GRADIENT, INFINITY);
        for (int64_t r = 0; r < p->rounds && agree(self, &s, room); r++)
            continue;
    }
}

static dsgd_traffic cluster_based_traffic(const void *params, const dsgd_scale *scale)
{
    const cluster_based_params *p = params;
    const double n = (double)p->rounds * (scale->n_workers - 1);
    return dsgd_traffic_sum(dsgd_vector_traffic(scale, n),
                            (dsgd_traffic){0, n * 2 * sizeof(double)});
}

static const char *const quorum_words[] = {"majority", NULL};
static const char *const aggregate_words[] = {"mean", "mid_extremes", NULL};

static const dsgd_option cluster_based_options[] = {
    DSGD_OPTION_LONG(cluster_based_params, cluster, 8, 1, 1 << 20, "workers",
                     "processes that share memory, by rank: those of a node or an island"),
    DSGD_OPTION_LONG(
        cluster_based_params, quorum, MAJORITY, NOBODY, 1 << 20, "workers",
        "whose clusters a round hears of, one process of each, its own with all of its "
        "processes; majority: P / 2 + 1; all where there are fewer; 0: it takes what "
        "is there, as for strongly convex losses, and bears partitions",
        .words = quorum_words),
    DSGD_OPTION_LONG(cluster_based_params, rounds, 1, 1, 1000, NULL,
                     "of approximate agreement in each step"),
    DSGD_OPTION_CHOICE(cluster_based_params, aggregate, aggregate_words,
                       "of the values there are: their mean, or the midpoint of the two farthest "
                       "from each other, whatever the dimension"),
    DSGD_OPTION_END,
};

const dsgd_algorithm dsgd_algorithm_cluster_based = {
    .about = {.name = "cluster_based",
              .summary = "approximate agreement among a majority; one live process speaks for its "
                         "cluster",
              .reference = "Attiya, Schiller, CIAC 2023, by its abstract",
              DSGD_PARAMS(cluster_based_params, cluster_based_options)},
    .doc = {.idea = "Shared memory makes a crash cheap: a cluster is there as long as one of its "
                    "processes is.",
            .rule =
                "x <- x + U(g, x, t);  `rounds` times: x to all; wait until values of this round "
                "or the next are there of clusters with `quorum` processes; x <- their mean, own "
                "x included, or the midpoint of the two farthest",
            .sends = "(P - 1) N per round: to the own cluster as writes of registers, whose copies "
                     "are at their readers; to the others as messages",
            .waits =
                "for one process of each of some clusters, whichever come first; for nobody of "
                "its own. Late values are not read. Without a majority all wait. What a slow link "
                "has to carry piles up"},
    .work = cluster_based_work,
    .averages_models = true,
    .reads = DSGD_READS_TO_COMPUTE,
    .traffic = cluster_based_traffic,
    .rejoins = true,
    .laws = DSGD_LAWS(
        {DSGD_LAW_PLAIN_SGD}, {DSGD_LAW_ALLREDUCE, DSGD_WITH({"cluster", 1}, {"quorum", 1 << 20})},
        {DSGD_LAW_KEEPS_MEAN, DSGD_WITH({"cluster", 1}, {"quorum", 1 << 20})},
        {DSGD_LAW_KEEPS_MEAN, DSGD_WITH({"cluster", 1}, {"quorum", 1 << 20}, {"rounds", 3})}),
};
