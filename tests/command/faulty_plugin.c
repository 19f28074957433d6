/**
 * @file faulty_plugin.c
 * A plug-in for the tests of `dsgd test`. Its algorithm is local SGD, and it is correct if it is
 * compiled without a flag. The flags -D REFUSED_LAW, -D FALSE_LAW and -D CRASH add one error each.
 * -D STEP=MISTAKE adds an error to each step, and -D ROWS=MISTAKE or -D ABOUT=MISTAKE adds an error
 * to the table of the algorithm. Like an algorithm with fragments, the algorithm rejects periods
 * below 5.
 */
#include "sim/algorithm.h"

typedef struct faulty_params {
    long period;
} faulty_params;

#define NEXT ((self->rank + 1) % self->n_workers)

/* The model of worker 0, which all workers of the process can read. */
static dsgd_vector *model_of_first;
static dsgd_vector *kept;

/* --- errors in a step ------------------------------------------------------------------------- */

#define NONE (void)x
#define UNENDED (void)dsgd_collective_begin(self, DSGD_ALLREDUCE, x, DSGD_WORLD)
#define READS_ANOTHERS dsgd_combine(self, x, 0.5, 0.5, model_of_first)
#define NO_VECTOR dsgd_copy(self, x, NULL)
#define UNREAD                                                                                     \
    if (self->n_workers > 1)                                                                       \
    dsgd_send(self, NEXT, x, NULL, 0)
#define EARLY                                                                                      \
    if (self->n_workers > 1)                                                                       \
    dsgd_send(self, NEXT, NULL, NULL, 0)
#define FORGOTTEN                                                                                  \
    if (self->n_workers > 1) {                                                                     \
        dsgd_send(self, NEXT, x, NULL, 0);                                                         \
        if (self->step == 0)                                                                       \
            kept = dsgd_recv(self, INFINITY)->x;                                                   \
        else if (dsgd_recv(self, INFINITY)->x != NULL)                                             \
            dsgd_copy(self, x, kept);                                                              \
    }
#define WILD *(volatile int *)8 = 1
#define TO_ITSELF dsgd_send(self, self->rank, NULL, NULL, 0)
#define OTHER_VERBS                                                                                \
    if (self->rank == 0)                                                                           \
        dsgd_allreduce_sum(self, g, DSGD_WORLD);                                                   \
    else                                                                                           \
        dsgd_collective_run(self, DSGD_BROADCAST, g, 0, DSGD_WORLD)
#define MISSPELT dsgd_allreduce_average(self, x, DSGD_WORLD)

extern void dsgd_allreduce_average(dsgd_node *self, dsgd_vector *x, const dsgd_comm *comm);

#ifndef STEP
#define STEP NONE
#endif

static void faulty_work(dsgd_node *self)
{
    const faulty_params *p = self->params;
    dsgd_vector *x = dsgd_model(self);
    dsgd_vector *g = dsgd_vector_new(self);
    if (self->rank == 0)
        model_of_first = x;
    while (dsgd_next_step(self)) {
        dsgd_gradient(self, g, x);
        dsgd_local_step(self, x, g);
        STEP;
#ifdef CRASH
        if (self->step == 3) {
            fputs("faulty: step 3\nfaulty: no table\n", stderr);
            abort();
        }
#endif
        if ((self->step + 1) % p->period == 0)
            dsgd_allreduce_mean(self, x, DSGD_WORLD);
    }
}

static dsgd_status faulty_check(const void *params, int n_workers, dsgd_error *error)
{
    (void)n_workers;
    const long period = ((const faulty_params *)params)->period;
    if (period < 5)
        return dsgd_refuse(error, "faulty: period: %ld, but 5 or more are needed", period);
    return DSGD_OK;
}

static long faulty_period(const void *params, int n_workers)
{
    (void)n_workers;
    return ((const faulty_params *)params)->period;
}

#define PERIOD(init)                                                                               \
    DSGD_OPTION_LONG(faulty_params, period, init, 1, 1000, "steps", "between averages")
#define RIGHT PERIOD(5), DSGD_OPTION_END
#define NO_END PERIOD(5)
#define TWICE PERIOD(5), PERIOD(6), DSGD_OPTION_END
#define OUT_OF_LIMITS PERIOD(1001), DSGD_OPTION_END

#ifndef ROWS
#define ROWS RIGHT
#endif
static const dsgd_option faulty_options[] = {ROWS};

#define WHOLE                                                                                      \
    .summary = "local SGD", .reference = "an example", DSGD_PARAMS(faulty_params, faulty_options)
#define NO_SIZE .summary = "local SGD", .reference = "an example", .options = faulty_options
#define NO_REFERENCE .summary = "local SGD", DSGD_PARAMS(faulty_params, faulty_options)
#define NO_SUMMARY .reference = "an example", DSGD_PARAMS(faulty_params, faulty_options)
#ifndef ABOUT
#define ABOUT WHOLE
#endif

static bool is_eight(const void *params, int n_workers)
{
    (void)params;
    return n_workers == 8;
}

#ifdef LAW_AT_NO_P
static bool nowhere(const void *params, int n_workers)
{
    return is_eight(params, n_workers) && n_workers == 0;
}
#endif

static const dsgd_algorithm faulty = {
    .about = {.name = "faulty", ABOUT},
    .check = faulty_check,
    .work = faulty_work,
    .period = faulty_period,
    .laws = DSGD_LAWS(
#ifdef REFUSED_LAW
        {.kind = DSGD_LAW_ALLREDUCE, .with = DSGD_WITH({"period", 1})},
#endif
#ifdef FALSE_LAW
        {.kind = DSGD_LAW_ALLREDUCE, .with = DSGD_WITH({"period", 7})},
#endif
#ifdef LAW_AT_NO_P
        {.kind = DSGD_LAW_ALLREDUCE, .at = nowhere},
#endif
        {.kind = DSGD_LAW_PLAIN_SGD}, {.kind = DSGD_LAW_REACHES_MEAN},
        {.kind = DSGD_LAW_KEEPS_MEAN, .at = is_eight}),
};

static const dsgd_algorithm *const list[] = {&faulty, NULL};
const dsgd_plugin dsgd_plugin_algorithms = {DSGD_PLUGIN_ABI, list};
