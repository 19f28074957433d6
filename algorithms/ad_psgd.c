/**
 * @file ad_psgd.c
 * AD-PSGD: beside each gradient an active worker averages its model with one neighbour, atomically; nobody waits for a gradient.
 *
 * X. Lian, W. Zhang, C. Zhang, J. Liu, "Asynchronous decentralized parallel stochastic gradient descent", ICML 2018, Algorithm 1.
 * Even ranks are passive and only answer, odd ranks are active, so that no circle of waiting can form.
 * Sent per averaging: N bytes in each direction.
 */
#include "sim/algorithm.h"

typedef struct ad_psgd_params {
    int neighbours;
    long averagings;
} ad_psgd_params;

enum { RANDOM, EXPONENTIAL };

/** A passive neighbour: any, at random; or at distance +-1, +-(1 + 2), +-(1 + 4), ... in turn. */
static int choose_neighbour(dsgd_node *self, int how, long round)
{
    const int p = self->n_workers;
    const int n_passive = (p + 1) / 2;
    if (how == RANDOM)
        return 2 * (int)dsgd_random_below(self, (uint64_t)n_passive);
    const int n_exponents = p > 2 ? dsgd_log2(p - 1) : 1;
    const int exponent = (int)(round / 2 % n_exponents);
    const int distance = exponent == 0 ? 1 : 1 + (1 << exponent);
    const int peer = round % 2 == 0 ? self->rank + distance : self->rank - distance;
    return ((peer % p) + p) % p;
}

static void ad_psgd_work(dsgd_node *self)
{
    const ad_psgd_params *p = self->params;
    const bool active = self->rank % 2 == 1;
    dsgd_vector *x = dsgd_model(self);
    dsgd_vector *g = dsgd_vector_new(self);

    while (dsgd_next_step(self)) {
        dsgd_gradient(self, g, x); /* at a snapshot of x, which others' averaging moves meanwhile */
        for (long i = 0; active && i < p->averagings; i++)
            dsgd_pair_average(
                self, x, choose_neighbour(self, p->neighbours, self->step * p->averagings + i));
        dsgd_local_step(self, x, g); /* the stale gradient, applied to x as it is by then */
    }
}

static void ad_psgd_assist(dsgd_node *self)
{
    dsgd_vector *x = dsgd_model(self);
    for (;;)
        dsgd_pair_answer(self, x);
}

static dsgd_status ad_psgd_check(const void *params, int n_workers, dsgd_error *error)
{
    const ad_psgd_params *p = params;
    if (p->neighbours == EXPONENTIAL && n_workers % 2 == 1 && n_workers > 1)
        return dsgd_fail(
            error, DSGD_EUSAGE,
            "ad_psgd: exponential neighbours need an even number of workers, got %d; %d would do",
            n_workers, n_workers + 1);
    return DSGD_OK;
}

static const char *const neighbours_words[] = {"random", "exponential", NULL};

static const dsgd_option ad_psgd_options[] = {
    DSGD_OPTION_CHOICE(ad_psgd_params, neighbours, neighbours_words,
                       "any passive worker, or those of a bipartite exponential graph in turn"),
    DSGD_OPTION_LONG(ad_psgd_params, averagings, 1, 0, 1000, NULL, NULL,
                     "averagings that an active worker starts per gradient"),
    DSGD_OPTION_END,
};

const dsgd_algorithm dsgd_algorithm_ad_psgd = {
    .about = {.name = "ad_psgd",
              .summary = "pairs average their models while both compute; no worker waits for "
                         "another's gradient",
              .reference = "Lian et al., ICML 2018, Algorithm 1",
              .params_size = sizeof(ad_psgd_params),
              .options = ad_psgd_options},
    .check = ad_psgd_check,
    .work = ad_psgd_work,
    .assist = ad_psgd_assist,
};
