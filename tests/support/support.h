/**
 * @file support.h
 * Small runs for tests: an idle switch, a workload of given bytes and seconds, a model on generated
 * or real data. Each simulation runs in a process of its own, because SimGrid has one engine per
 * process, and its outcome comes back through shared memory.
 */
#pragma once

#include "base/sanitizers.h"
#include "sim/engine/engine.h"
#include "sim/registry.h"
#include "sim/run.h"
#include "tests/support/distance.h"
#include "tests/support/kept.h"
#include "tests/support/set.h"

/**
 * Under a sanitizer actors are threads, and switch thirty times slower: tests that multiply cases
 * take fewer.
 */
#if defined(DSGD_ADDRESS_SANITIZER) || defined(DSGD_THREAD_SANITIZER)
enum { SUPPORT_SLOW = 1 };
#else
enum { SUPPORT_SLOW = 0 };
#endif

enum {
    SUPPORT_IMBALANCES = 4,
    SUPPORT_POINTS = 64,
    SUPPORT_PARAMS = 64,
    SUPPORT_AGES = 256,
    SUPPORT_LOADS = 64,
    SUPPORT_STEP_BINS = DSGD_MOST_STEP_TIMES
};

/** A run and everything that it points to. Take one from support_new(), change it, simulate it. */
typedef struct support_case {
    dsgd_platform platform;
    dsgd_workload workload;
    dsgd_learning learning;
    dsgd_lr_drop drop;
    dsgd_spec imbalance[SUPPORT_IMBALANCES];
    dsgd_run_config config;
} support_case;

typedef struct support_load {
    char name[24];
    double bytes, bytes_per_s;
} support_load;

/** What came out. */
typedef struct support_outcome {
    dsgd_status status;
    dsgd_error error;
    dsgd_run_result result; /* its arrays are not here, but below */
    dsgd_point points[SUPPORT_POINTS];
    dsgd_step_bin step_times[SUPPORT_STEP_BINS]; /* of the result, which points here */
    double ages[SUPPORT_AGES], gradient_ages[SUPPORT_AGES];
    support_load loads[SUPPORT_LOADS];
    size_t n_params;
    double note[64]; /* for the algorithms of a test */
    double weight; /* of push-sum, at workers and on its way, mean over pieces */
    double final_mean[SUPPORT_PARAMS]; /* of workers and servers */
    double x[]; /* [workers][n_params]: all models at the end */
} support_outcome;

/** Zeroed memory that lives as long as the process. */
void *support_alloc(size_t n, size_t size);

/** The defaults of what a table describes. */
void *support_params(const dsgd_entry *about);
/** An entry of a registry with its defaults, except one numeric option; NULL: none. */
dsgd_spec support_picked(const dsgd_entry *const *registry, const char *name, const char *option,
                         double value);

/**
 * What the environment's DSGD_TEST_DEVICE names: cpu (in double; also where it names nothing),
 * cpu-float or cuda (in float).
 */
dsgd_numerics support_numerics(void);
bool support_in_float(void);
/** Relative distance that is rounding there. */
double support_rounding(void);

/**
 * P workers on an idle switch (10 GB/s, 1 us, no overhead, no reduction cost), 1 MB per exchange, 1
 * s per step, and the hyperplane in double, 32 features, batch 4, learning rate 0.05, momentum 0.9;
 * ends after 20 steps.
 */
support_case *support_new(const char *algorithm, int workers);

/** Makes the data of support_new() once, for all processes that this one forks. */
bool support_keep_data(void);

/** The same of an algorithm by a struct of the test's own. */
support_case *support_of(const dsgd_algorithm *algorithm, int workers);

/** Every worker makes so many steps; nothing else ends the run. */
void support_steps_each(support_case *c, long steps);

/** Sets a numeric option of the algorithm (LONG, CHOICE or DOUBLE). */
void support_option(support_case *c, const char *name, double value);

typedef struct support_number {
    const char *name;
    double value;
} support_number;

/** Sets numeric options of the algorithm: OPTIONS(c, {"period", 2}, {"delay", 1}). */
#define OPTIONS(c, ...)                                                                            \
    support_options((c), sizeof(support_number[]){__VA_ARGS__} / sizeof(support_number),           \
                    (const support_number[]){__VA_ARGS__})
void support_options(support_case *c, size_t n, const support_number *options);

/**
 * Sets an option that picks one, such as a graph; returns the parameters of what was picked, filled
 * with defaults.
 */
void *support_spec(support_case *c, const char *name, const char *pick);

/** How many algorithms there are. */
int support_n_algorithms(void);

/** Whether the algorithm has an option. */
bool support_has(const support_case *c, const char *name);

/**
 * Every worker (and server) begins with a model of its own: the common one plus noise of the common
 * one's size.
 */
void support_spread(support_case *c);

/** Workers that fail and are gone; @p events[n]. */
void support_dies(support_case *c, size_t n, dsgd_failure_event *events);

/** Adds an imbalance entry; returns its parameters, filled with defaults. */
void *support_imbalance(support_case *c, const char *kind);

/** An algorithm of a test, by the members other than its name. */
#define TEST_ALGORITHM(algorithm, ...)                                                             \
    static const dsgd_algorithm algorithm = {.about = {.name = #algorithm}, __VA_ARGS__}

/** Like support_imbalance(), with numeric options: IMBALANCE(c, "slow", {"worker", 1}). */
#define IMBALANCE(c, kind, ...)                                                                    \
    support_imbalance_numbers((c), (kind),                                                         \
                              sizeof(support_number[]){__VA_ARGS__} / sizeof(support_number),      \
                              (const support_number[]){__VA_ARGS__})
void support_imbalance_numbers(support_case *c, const char *kind, size_t n,
                               const support_number *numbers);
/** Like support_imbalance(), with one numeric option set. */
void support_imbalance_number(support_case *c, const char *kind, const char *name, double value);

/** Sets a numeric option of anything described by a table. */
void support_set(const dsgd_entry *about, void *params, const char *name, double value);

/** Learns on Fashion-MNIST by a perceptron of one hidden layer of 32, instead of the hyperplane. */
void support_use_mlp(support_case *c);

/** Whether an algorithm decides by values, and is refused without learning. */

/** Times only, but for an algorithm that decides by values. Returns the case. */
support_case *support_no_learning(support_case *c);

/** Runs it. The outcome lives as long as the process. */
support_outcome *support_simulate(const support_case *c);

/** Like support_simulate(), and demands success. */
support_outcome *support_ok(const support_case *c);

/** Runs it, and demands that it aborts and says the sentence on the standard error. */
void support_expect_abort(const support_case *c, const char *sentence);

/** The same of any function. */
void support_function_aborts(void (*function)(const void *argument), const void *argument,
                             const char *sentence);

/** Where algorithms of a test leave notes; in the simulating process. */
extern support_outcome *support_current;

/** Mean over the workers' models, [n_params], of support_alloc(). */
double *support_mean_model(const support_outcome *outcome, int workers);

/** Steps of a run of support_expect_kept_mean() in which workers may still exchange models. */
enum { SUPPORT_MIXING_STEPS = 10 };

/** Demands that mixing keeps the mean of the models; overwrites the algorithm. */
void support_expect_kept_mean(support_case *c);

/**
 * What the hyperplane of a case is fitted to; only the data and the order of the samples are shared
 * with the code under test.
 */
typedef struct support_problem {
    dsgd_data *data;
    dsgd_network network;
    dsgd_stream stream;
    uint32_t count; /* samples of a mini-batch that count */
} support_problem;

support_problem *support_problem_new(const support_case *c);

/** The gradient of the squared error, written out. */
void support_gradient(void *problem, int worker, long step, const double *x, double *g);
/** Half the mean squared error on the test set, likewise. */
double support_loss(const support_problem *p, const double *x);

/**
 * Momentum SGD on the hyperplane by one worker, written out; only the data is shared with the code
 * under test.
 */
double *support_plain_sgd(const support_case *c, long steps);

/**
 * A synchronous baseline that models are compared with: local step, then the mean of all models.
 */
extern const dsgd_algorithm support_averaging;

/** No messages: every worker takes its own steps. */
extern const dsgd_algorithm support_alone;

/** Seconds of one message each from i to to[i]; -1: none. */
double support_volley_s(const dsgd_machine *machine, const int *to, double bytes);

/** The view of pieces index, index + n, index + 2 n, ... of x. */
static inline dsgd_vector *support_fragment(dsgd_node *self, dsgd_vector *x, size_t index, size_t n)
{
    return dsgd_slice(self, x, index, dsgd_pieces(self, x), n);
}
