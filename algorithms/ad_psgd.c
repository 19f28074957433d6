/**
 * @file ad_psgd.c
 * AD-PSGD: while a worker computes a gradient, it averages its model with the model of one
 * neighbour. No worker waits for the gradient of another worker.
 *
 * X. Lian, W. Zhang, C. Zhang, J. Liu, "Asynchronous decentralized parallel stochastic gradient
 * descent", ICML 2018, Algorithm 1. Workers of odd rank are active: they start averages. Workers of
 * even rank are passive: they answer. Option `variant` selects the paper's algorithm or one of
 * three released codes that differ from it. The variants gossip_process and shared_copy average the
 * model repeatedly during the computation.
 */
#include "sim/algorithm.h"

typedef struct ad_psgd_params {
    int variant;
    dsgd_spec graph; /* communication graph; if the option is empty, the variant chooses the
                      * neighbours */
    int64_t averagings;
} ad_psgd_params;

enum { PAPER, GOSSIP_PROCESS, SHARED_COPY, PULL };
/* special values of option averagings: the variant's own number, and an endless loop */
enum { OWN = -1, ENDLESS = -2 };

static bool loops(const ad_psgd_params *p)
{
    return p->variant == GOSSIP_PROCESS || p->variant == SHARED_COPY;
}

/**
 * Returns the number of averagings per gradient. Returns ENDLESS if a worker averages in a loop.
 */
static int64_t averagings(const ad_psgd_params *p)
{
    return p->averagings != OWN ? p->averagings : loops(p) ? ENDLESS : 1;
}

static bool is_active(const dsgd_node *self)
{
    return self->rank % 2 == 1;
}

/**
 * Returns the neighbour with which a worker averages in this round. If the graph has several
 * neighbours, the choice is random. There must be at least two workers.
 */
static int neighbour(dsgd_node *self, int64_t round)
{
    const ad_psgd_params *p = self->params;
    const bool own = p->graph.about == NULL;
    const int n_workers = self->n_workers;
    if (own && p->variant == PAPER) /* The paper's algorithm chooses a random passive worker. */
        return 2 * (int)dsgd_random_below(self, (uint64_t)(n_workers + 1) / 2);
    if (own && p->variant == PULL) /* Variant pull chooses a random other worker. */
        return (self->rank + 1 + (int)dsgd_random_below(self, (uint64_t)n_workers - 1)) % n_workers;
    const dsgd_neighbours *of = dsgd_neighbours_of(
        self, own ? &dsgd_graph_exponential_pairs : &p->graph, round, DSGD_COLUMN_STOCHASTIC);
    return of->to[of->n_to == 1 ? 0 : dsgd_random_below(self, (uint64_t)of->n_to)];
}

static void paper_work(dsgd_node *self)
{
    const int64_t n = averagings(self->params);
    dsgd_vector *x = dsgd_model(self);
    dsgd_vector *g = dsgd_vector_new(self);

    while (dsgd_next_step(self)) {
        /* Computes the gradient g at the present x. Averages change x during this computation. */
        dsgd_gradient(self, g, x);
        for (int64_t i = 0; is_active(self) && i < n; i++)
            dsgd_pair_average(self, x, neighbour(self, self->step * n + i));
        dsgd_local_step(self, x, g); /* applies gradient g, which was computed at an older x, to the
                                      * current x */
    }
}

/**
 * The program of a worker of variant gossip_process (SGP's released code). A second process,
 * gossip_process_assist(), averages the model without a pause. The worker computes a gradient.
 * During this time it applies the previous gradient between two averages. The worker waits only if
 * the previous gradient has not yet been applied.
 */
static void gossip_process_work(dsgd_node *self)
{
    dsgd_vector *x = dsgd_model(self);
    dsgd_vector *g[2] = {dsgd_vector_new(self), dsgd_vector_new(self)};

    while (dsgd_next_step(self)) {
        const int64_t t = self->step;
        /* Computes a gradient at a model to which the previous gradient has not been applied. */
        dsgd_gradient(self, g[t % 2], x);
        if (t == 0)
            continue;
        dsgd_lock(self);
        dsgd_local_step(self, x, g[(t - 1) % 2]);
        dsgd_unlock(self);
    }
}

/**
 * Averages the model in rounds. Both workers of a pair know their partner in each round. The
 * passive worker waits for its active partner.
 */
static void gossip_process_assist(dsgd_node *self)
{
    dsgd_vector *x = dsgd_model(self);
    for (int64_t round = 0; is_active(self) && dsgd_next_turn(self, 0); round++) {
        dsgd_lock(self);
        dsgd_pair_average(self, x, neighbour(self, round));
        dsgd_unlock(self);
    }
    /* The passive worker takes no lock, so its gradients never wait for an average. */
    for (int64_t round = 0; !is_active(self); round++)
        dsgd_pair_answer(self, x, neighbour(self, round));
}

/**
 * The program of a worker of variant shared_copy (WAGMA's released code). A second process averages
 * a copy of the model without a pause. When the gradient of a chunk is ready, the worker averages x
 * with the copy. It writes the average into both vectors and then applies the gradient to x. Other
 * workers see this gradient one step later.
 */
static void shared_copy_work(dsgd_node *self)
{
    dsgd_vector *x = dsgd_model(self);
    dsgd_vector *copy = dsgd_shared(self);
    dsgd_vector *g = dsgd_vector_new(self);

    while (dsgd_next_step(self)) {
        dsgd_gradient(self, g, x);
        dsgd_follow(self, x, g);
        dsgd_average(self, x, copy);
        dsgd_local_step(self, x, g);
    }
}

/**
 * Averages the copy of the model in a loop. In the released code, an exchange overwrites a tensor
 * with the average of old values. Values that the worker writes during the exchange are therefore
 * lost. This simulator keeps these values.
 */
static void shared_copy_assist(dsgd_node *self)
{
    dsgd_vector *copy = dsgd_shared(self);
    const int64_t n = averagings(self->params);
    const bool asks = is_active(self) && n != 0;
    for (int64_t i = 0; asks && dsgd_next_turn(self, n == ENDLESS ? 0 : i / n); i++)
        dsgd_pair_average(self, copy, neighbour(self, i));
    while (!is_active(self))
        dsgd_pair_answer(self, copy, DSGD_ANYONE);
}

/**
 * The program of a worker of variant pull (KungFu's code). It fetches the saved model of another
 * worker and averages this model with x. Then it applies the gradient to x and saves x.
 */
static void pull_work(dsgd_node *self)
{
    dsgd_vector *x = dsgd_model(self);
    dsgd_vector *saved = dsgd_shared(self);
    dsgd_vector *theirs = dsgd_vector_new(self);
    dsgd_vector *g = dsgd_vector_new(self);

    while (dsgd_next_step(self)) {
        dsgd_gradient(self, g, x);
        if (self->n_workers > 1) {
            dsgd_pair_fetch(self, theirs, neighbour(self, self->step));
            dsgd_combine(self, x, 0.5, 0.5, theirs);
        }
        dsgd_local_step(self, x, g);
        dsgd_copy(self, saved, x); /* saves each chunk of x when the chunk is ready */
    }
}

static void answering_assist(dsgd_node *self)
{
    const ad_psgd_params *p = self->params;
    dsgd_vector *x = p->variant == PULL ? dsgd_shared(self) : dsgd_model(self);
    for (;;)
        dsgd_pair_answer(self, x, DSGD_ANYONE);
}

static const struct {
    void (*work)(dsgd_node *self);
    void (*assist)(dsgd_node *self);
} variants[] = {[PAPER] = {paper_work, answering_assist},
                [GOSSIP_PROCESS] = {gossip_process_work, gossip_process_assist},
                [SHARED_COPY] = {shared_copy_work, shared_copy_assist},
                [PULL] = {pull_work, answering_assist}};

static void ad_psgd_work(dsgd_node *self)
{
    variants[((const ad_psgd_params *)self->params)->variant].work(self);
}

static void ad_psgd_assist(dsgd_node *self)
{
    if (self->n_workers > 1)
        variants[((const ad_psgd_params *)self->params)->variant].assist(self);
}

/**
 * Makes a repaired worker fetch the model of @p peer and continue. The worker has lost its
 * unfinished gradient.
 */
static void ad_psgd_comes_back(dsgd_node *self, int peer)
{
    const ad_psgd_params *p = self->params;
    dsgd_vector *x = dsgd_model(self);
    /* Chooses a peer of even rank, because odd ranks do not answer. */
    if (peer >= 0 && p->variant == SHARED_COPY)
        peer = (self->rank + 2 - self->rank % 2) % self->n_workers;
    if (peer >= 0 && peer != self->rank)
        dsgd_pair_fetch(self, x, peer);
    if (p->variant == SHARED_COPY || p->variant == PULL)
        dsgd_copy(self, dsgd_shared(self), x);
}

/**
 * Returns the traits of the algorithm. If a worker of variant gossip_process fails, all workers
 * restart, because they wait for particular partners.
 */
static unsigned ad_psgd_traits(const void *params)
{
    const bool waits = ((const ad_psgd_params *)params)->variant == GOSSIP_PROCESS;
    return DSGD_DRAWS | (waits ? DSGD_RESTARTS : 0);
}

static const char *const variant_words[] = {"paper", "gossip_process", "shared_copy", "pull", NULL};

static dsgd_status ad_psgd_check(const void *params, int n_workers, dsgd_error *error)
{
    const ad_psgd_params *p = params;
    const bool own = p->graph.about == NULL;
    if (p->variant == PULL && !own)
        DSGD_TRY(dsgd_graph_check(&p->graph, n_workers, false, "ad_psgd", error));
    else if (p->variant != PULL && !(own && p->variant == PAPER))
        DSGD_TRY(dsgd_graph_check(own ? &dsgd_graph_exponential_pairs : &p->graph, n_workers, true,
                                  "ad_psgd", error));
    if (p->variant == GOSSIP_PROCESS && !own)
        return dsgd_refuse(error,
                           "ad_psgd: graph must be left out with variant: gossip_process, which "
                           "schedules its own pairs, got %s",
                           p->graph.about->name);
    if (!loops(p) && p->averagings == ENDLESS)
        return dsgd_refuse(error,
                           "ad_psgd: averagings must be a number with variant: %s, got endless. "
                           "Use a number, or variant: gossip_process or shared_copy",
                           variant_words[p->variant]);
    if (p->averagings >= 0 && p->averagings != 1 && p->variant == PULL)
        return dsgd_refuse(
            error, "ad_psgd: averagings must be 1 with variant: pull, got %jd. Leave it out",
            p->averagings);
    /*
     * With a fixed number of averagings, all workers of gossip_process wait for the slowest worker.
     */
    if (p->averagings >= 0 && p->variant == GOSSIP_PROCESS)
        return dsgd_refuse(error,
                           "ad_psgd: averagings must be endless with variant: gossip_process, "
                           "whose loops wait for each other, got %jd. Leave it out",
                           p->averagings);
    return DSGD_OK;
}

static const char *const averagings_words[] = {"own", "endless", NULL};

static const dsgd_option ad_psgd_options[] = {
    DSGD_OPTION_CHOICE(ad_psgd_params, variant, variant_words,
                       "version of the algorithm. paper: Algorithm 1. gossip_process: SGP's "
                       "released code. shared_copy: WAGMA's released code. pull: KungFu's code"),
    DSGD_OPTION_SPEC(
        ad_psgd_params, graph, dsgd_graph_kinds, "kind",
        "communication graph between even and odd ranks; a worker takes a random neighbour of the "
        "round. Default: any passive worker (paper, which leaves the graph open), any other worker "
        "(pull), {kind: exponential, schedule: bipartite} (the other variants)"),
    DSGD_OPTION_LONG(ad_psgd_params, averagings, OWN, 0, 1000, NULL,
                     "number of averagings that an active worker starts per gradient. own: the "
                     "variant's number, one (paper, pull) or endless (gossip_process, "
                     "shared_copy). endless: each starts when the last has ended. A number bounds "
                     "the loop of shared_copy and the time of a simulation",
                     .words = averagings_words),
    DSGD_OPTION_END,
};

const dsgd_algorithm dsgd_algorithm_ad_psgd = {
    .about = {.name = "ad_psgd",
              .summary = "pairs average their models while both compute; no worker waits for "
                         "another's gradient",
              .reference = "Lian et al., ICML 2018, Algorithm 1",
              DSGD_PARAMS(ad_psgd_params, ad_psgd_options)},
    .doc = {.idea = "No clock and no barrier: every worker steps at its own pace, and pairs "
                    "average their models meanwhile. Odd ranks ask and even ranks answer; this "
                    "bipartite graph prevents deadlocks.",
            .rule = "x_i, x_j <- (x_i + x_j) / 2 for a random neighbour j (by default any even "
                    "rank);  x_i <- x_i + U(g, t), g at an older x_i, t the worker's own step",
            .sends = "N each way per averaging; with one per gradient of an odd rank, N per worker "
                     "and step. gossip_process and shared_copy: as much as the network carries.",
            .waits = "An odd rank waits for its neighbour's reply, which needs no computation of "
                     "the neighbour. gossip_process waits until the gradient before the last is "
                     "applied, pull for the fetch, shared_copy never."},
    .check = ad_psgd_check,
    .work = ad_psgd_work,
    .assist = ad_psgd_assist,
    .traits = DSGD_DRAWS,
    .comes_back = ad_psgd_comes_back,
    .traits_with = ad_psgd_traits,
    .laws = DSGD_LAWS({DSGD_LAW_PLAIN_SGD}, {DSGD_LAW_PLAIN_SGD, DSGD_WITH({"variant", PULL})},
                      {DSGD_LAW_KEEPS_MEAN}, {DSGD_LAW_KEEPS_MEAN, DSGD_WITH({"graph=ring", 0})}),
};
