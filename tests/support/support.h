/**
 * @file support.h
 * Small simulations for tests: an idle switch, a workload with given bytes and seconds, and a model
 * on generated or real data. SimGrid has one engine per process. Each simulation therefore runs in
 * a process of its own, and returns its outcome through shared memory.
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
 * SUPPORT_SLOW is 1 under a sanitizer. Actors are then threads, and a switch between actors takes
 * thirty times longer. Tests with many cases therefore run only some of their cases.
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

/**
 * A run and all the objects that it points to. To use a case, create it with support_new(), change
 * it, and simulate it with support_ok().
 */
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

/** The outcome of a simulation, which the child process writes into shared memory. */
typedef struct support_outcome {
    dsgd_status status;
    dsgd_error error;
    dsgd_run_result result; /* result of the run; its arrays are in the members below */
    dsgd_point points[SUPPORT_POINTS];
    /* histogram of the step times, to which result.step_times points */
    dsgd_step_bin step_times[SUPPORT_STEP_BINS];
    double ages[SUPPORT_AGES], gradient_ages[SUPPORT_AGES];
    support_load loads[SUPPORT_LOADS];
    size_t n_params;
    double note[64]; /* values that an algorithm of a test stores for the test */
    double weight; /* mean over the pieces of the push-sum weight at workers and in flight */
    double final_mean[SUPPORT_PARAMS]; /* mean of the final models of all workers and servers */
    double x[]; /* models of all workers at the end, [workers][n_params] */
} support_outcome;

/** Returns zeroed memory that lives until the process ends. */
void *support_alloc(size_t n, size_t size);

/** Returns newly allocated parameters for the entry @p about, filled with defaults. */
void *support_params(const dsgd_entry *about);
/**
 * Returns the registry entry with the name @p name. The numeric option @p option has the given
 * value, and the others have their defaults. If @p option is NULL, all options have their defaults.
 */
dsgd_spec support_picked(const dsgd_entry *const *registry, const char *name, const char *option,
                         double value);

/**
 * Returns the numerics of the device that the environment variable DSGD_TEST_DEVICE names: cpu
 * (double), cpu-float (float) or cuda (float). If the variable is not set, the device is cpu.
 */
dsgd_numerics support_numerics(void);
bool support_in_float(void);
/** Returns the relative distance that counts as rounding on the device of support_numerics(). */
double support_rounding(void);

/**
 * Makes a case with P workers on an idle switch (10 GB/s, 1 us, no overhead, no reduction cost), 1
 * MB per exchange, and 1 s per step. The model is the hyperplane in double with 32 features, batch
 * 4, learning rate 0.05 and momentum 0.9. The run ends after 20 steps.
 */
support_case *support_new(const char *algorithm, int workers);

/**
 * Generates the data of support_new() once. All processes that this process forks later use the
 * same data.
 */
bool support_keep_data(void);

/** Makes the case of support_new() for an algorithm that the test itself defines. */
support_case *support_of(const dsgd_algorithm *algorithm, int workers);

/** Lets every worker make exactly @p steps steps. Nothing else ends the run. */
void support_steps_each(support_case *c, long steps);

/** Sets a numeric option of the algorithm (LONG, CHOICE, BOOL or DOUBLE). */
void support_option(support_case *c, const char *name, double value);

typedef struct support_number {
    const char *name;
    double value;
} support_number;

/** Sets numeric options of the algorithm, for example OPTIONS(c, {"period", 2}, {"delay", 1}). */
#define OPTIONS(c, ...)                                                                            \
    support_options((c), sizeof(support_number[]){__VA_ARGS__} / sizeof(support_number),           \
                    (const support_number[]){__VA_ARGS__})
void support_options(support_case *c, size_t n, const support_number *options);

/**
 * Sets an option that selects an entry of a registry, such as a graph. Returns the parameters of
 * the selected entry, filled with defaults.
 */
void *support_spec(support_case *c, const char *name, const char *pick);

/** Returns the number of algorithms. */
int support_n_algorithms(void);

/** Returns true if the algorithm has the option @p name. */
bool support_has(const support_case *c, const char *name);

/** Gives every worker (and server) its own initial model, with random values in [0, 1). */
void support_spread(support_case *c);

/** Adds @p n permanent failures in the array @p events. The run has no recovery policy. */
void support_dies(support_case *c, size_t n, dsgd_failure_event *events);

/** Adds an imbalance of kind @p kind. Returns its parameters, filled with defaults. */
void *support_imbalance(support_case *c, const char *kind);

/** Defines an algorithm for tests. The further arguments initialize its members except the name. */
#define TEST_ALGORITHM(algorithm, ...)                                                             \
    static const dsgd_algorithm algorithm = {.about = {.name = #algorithm}, __VA_ARGS__}

/**
 * Adds an imbalance of kind @p kind and sets its numeric options, for example IMBALANCE(c, "slow",
 * {"worker", 1}).
 */
#define IMBALANCE(c, kind, ...)                                                                    \
    support_imbalance_numbers((c), (kind),                                                         \
                              sizeof(support_number[]){__VA_ARGS__} / sizeof(support_number),      \
                              (const support_number[]){__VA_ARGS__})
void support_imbalance_numbers(support_case *c, const char *kind, size_t n,
                               const support_number *numbers);
/** Adds an imbalance of kind @p kind and sets one of its numeric options. */
void support_imbalance_number(support_case *c, const char *kind, const char *name, double value);

/** Sets a numeric option in the parameters of any registry entry. */
void support_set(const dsgd_entry *about, void *params, const char *name, double value);

/**
 * Replaces the model and data of the case by a perceptron with one hidden layer of 32 units on
 * Fashion-MNIST.
 */
void support_use_mlp(support_case *c);

/** Turns learning off, so that the run computes only times. Returns the case. */
support_case *support_no_learning(support_case *c);

/** Runs the case in a child process. The outcome lives until the calling process ends. */
support_outcome *support_simulate(const support_case *c);

/** Runs the case as support_simulate() does, and fails the test unless the run succeeds. */
support_outcome *support_ok(const support_case *c);

/**
 * Runs the case, and fails the test unless the run aborts and prints @p sentence to standard error.
 */
void support_expect_abort(const support_case *c, const char *sentence);

/** Fails the test unless @p function aborts and prints @p sentence to standard error. */
void support_function_aborts(void (*function)(const void *argument), const void *argument,
                             const char *sentence);

/**
 * The outcome of the current simulation, in the simulating process. Algorithms of a test store
 * notes in this outcome.
 */
extern support_outcome *support_current;

/** Returns the mean of the workers' models, [n_params], in memory from support_alloc(). */
double *support_mean_model(const support_outcome *outcome, int workers);

/**
 * Number of steps of a run of support_expect_kept_mean() in which workers may still exchange
 * models.
 */
enum { SUPPORT_MIXING_STEPS = 10 };

/**
 * Fails the test unless the algorithm's exchanges keep the mean of the models. Replaces the
 * algorithm of the case.
 */
void support_expect_kept_mean(support_case *c);

/**
 * The regression problem of a case with the hyperplane model. Only the data and the order of the
 * samples come from the code under test.
 */
typedef struct support_problem {
    dsgd_data *data;
    dsgd_network network;
    dsgd_stream stream;
    uint32_t count; /* number of samples of a mini-batch that the gradient uses */
} support_problem;

support_problem *support_problem_new(const support_case *c);

/**
 * Computes the gradient of the squared error with its own formula, independently of the code under
 * test.
 */
void support_gradient(void *problem, int worker, long step, const double *x, double *g);
/**
 * Returns half the mean squared error on the test set, computed independently of the code under
 * test.
 */
double support_loss(const support_problem *p, const double *x);

/**
 * Returns the model after one worker's momentum SGD on the hyperplane, computed independently of
 * the code under test. Only the data comes from that code.
 */
double *support_plain_sgd(const support_case *c, long steps);

/**
 * A synchronous algorithm for comparisons: each step is a local step and then the mean of all
 * models.
 */
extern const dsgd_algorithm support_averaging;

/** An algorithm without messages: every worker makes only local steps. */
extern const dsgd_algorithm support_alone;

/**
 * Returns the seconds until all of some simultaneous messages have arrived: rank i sends to rank
 * to[i]. If to[i] is -1, rank i sends no message.
 */
double support_volley_s(const dsgd_machine *machine, const int *to, double bytes);

/** Returns a vector that consists of every n-th piece of x, starting with the piece @p index. */
static inline dsgd_vector *support_fragment(dsgd_node *self, dsgd_vector *x, size_t index, size_t n)
{
    return dsgd_slice(self, x, index, dsgd_pieces(self, x), n);
}
