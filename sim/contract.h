/**
 * @file contract.h
 * Defines an algorithm. Contains the struct of a worker (dsgd_node), the table by which an
 * algorithm describes itself (dsgd_algorithm), and checks of the number of workers. The verbs that
 * an algorithm calls are in sim/verbs/.
 */
#pragma once

#include "base/option.h"
#include "base/status.h"
#include "sim/abi.h" /* defines DSGD_PLUGIN_ABI; sim/abi.cmake writes this file */

DSGD_BEGIN_C

/** One worker or server, as its algorithm sees it. */
typedef struct dsgd_node {
    int rank; /* rank of a worker, in [0, n_workers), or of a server, in [0, n_servers) */
    int n_workers; /* number of workers, P in formulas */
    int64_t step; /* number of the current step, from 0; -1 before the first step */
    const void *params; /* options of the algorithm; NULL if the algorithm has no option table */
    double samples; /* number of samples per mini-batch of the workload */
} dsgd_node;

/**
 * A vector as long as the model. The engine owns it and frees it at the end of the run. Copying,
 * sending or keeping a vector takes O(1) wall time.
 */
typedef struct dsgd_vector dsgd_vector;

/**
 * The text that `dsgd describe algorithm NAME` prints. Each string has no line break at its end.
 */
typedef struct dsgd_doc {
    const char *idea; /* purpose of the algorithm, and the reason why it works */
    const char *rule; /* the update of one step, as formulas */
    const char *sends; /* messages that a worker sends per step, and their sizes; N means the bytes
                        * of the model */
    const char *waits; /* which workers wait, and for which other workers */
} dsgd_doc;

/**
 * An algebraic law that holds for some options of an algorithm. The conformance suite (`dsgd test`)
 * tests every law that an algorithm declares. In the comments, x_i is the model of worker i, and g
 * is a gradient.
 */
typedef enum dsgd_law_kind {
    DSGD_LAW_END, /* end of a list of laws; it is not a law */
    DSGD_LAW_PLAIN_SGD, /* With one worker, the algorithm equals its optimizer. */
    DSGD_LAW_ALLREDUCE, /* The algorithm equals allreduce up to rounding, if the optimizer is linear
                         * in g. */
    /*
     * If g = 0, the sum of all x_i is constant. The sum is compared at instants when all workers
     * have made the same number of steps and no message is on its way.
     */
    DSGD_LAW_KEEPS_MEAN,
    DSGD_LAW_KEEPS_SUM, /* If g = 0, the sum of the models of all workers and servers is constant.
                         * It is compared as for DSGD_LAW_KEEPS_MEAN. */
    /* If g = 0, each x_i converges to the mean of the initial models. */
    DSGD_LAW_REACHES_MEAN
} dsgd_law_kind;

/** DSGD_LIST(type, ...) is a constant array, for use in an initializer. */
#ifdef __cplusplus
#define DSGD_LIST(type, ...)                                                                       \
    ([]() -> const type * {                                                                        \
        static const type list[] = {__VA_ARGS__};                                                  \
        return list;                                                                               \
    }())
#else
#define DSGD_LIST(type, ...) ((const type[]){__VA_ARGS__})
#endif

/** An option and a value that differs from its default. A law lists such options. */
typedef struct dsgd_law_option {
    /*
     * Name of the option, such as "period". If the option picks an entry of a registry, the string
     * also contains the entry, such as "graph=ring". NULL ends a list of options.
     */
    const char *option;
    double value; /* value of the option: a number, or the index of a word; 0 if the option picks an
                   * entry */
} dsgd_law_option;
#define DSGD_WITH(...) DSGD_LIST(dsgd_law_option, __VA_ARGS__, {.option = NULL})

/** A law and the options and numbers of workers for which it holds. */
typedef struct dsgd_law {
    dsgd_law_kind kind;
    const dsgd_law_option *with; /* options under which the law holds, made by DSGD_WITH(); NULL if
                                  * all options have their defaults */
    bool (*at)(const void *params, int n_workers); /* Pure. Returns whether the law holds for @p
                                                    * n_workers. If `at` is NULL, the law holds for
                                                    * any number of workers. */
} dsgd_law;
#define DSGD_LAWS(...) DSGD_LIST(dsgd_law, __VA_ARGS__, {.kind = DSGD_LAW_END})

/** Properties that an algorithm declares: the bits of `traits`. */
typedef enum dsgd_trait {
    /*
     * The first two traits are promises about messages. They do not change results; they let the
     * engine simulate a run faster. A run that breaks a promise stops with an error.
     *
     * DSGD_SENDS_COLLECTIVES: the algorithm calls only collectives, of all workers or of groups,
     * and partial collectives. It calls no verbs for gossip, pairs, servers or messages. The engine
     * then also executes non-blocking collectives of a group one after another, so a collective
     * that waits for other workers delays the next collective.
     */
    DSGD_SENDS_COLLECTIVES = 1 << 0,
    /*
     * The algorithm calls only allreduces of all workers (DSGD_WORLD). `exchange: fusion` requires
     * this trait.
     */
    DSGD_SENDS_ALLREDUCES = 1 << 1 | DSGD_SENDS_COLLECTIVES,

    /*
     * In a step, a worker may send three vectors; an allreduce sends only two. `exchange: bucket:
     * auto` uses this trait to bound the error of merged buckets.
     */
    DSGD_SENDS_THREE_VECTORS = 1 << 14,

    /*
     * The output of the algorithm is dsgd_model() of the servers, not the mean of the workers'
     * models. Evaluations, `until: accuracy` and targets use the output. If several servers share
     * the model, the output consists of their parts. With DSGD_WHOLE_SERVERS, the output is the
     * mean of the servers' models. If the options result in no server, the output is dsgd_shared()
     * of the workers. Servers have no running statistics, so the output contains the mean of the
     * workers' running statistics.
     */
    DSGD_OUTPUT_SERVERS = 1 << 2,
    /*
     * Each server has a whole vector, and exchanges only messages. For example, there is one server
     * per region. Without this trait, the servers share one vector, and every exchange with them
     * (also a message) is split into one part per server.
     */
    DSGD_WHOLE_SERVERS = 1 << 3,

    /*
     * The collectives send models, not gradients or differences of models. `exchange: encoding`
     * then rejects compressors that send only some of the numbers.
     */
    DSGD_AVERAGES_MODELS = 1 << 4,
    /*
     * The algorithm compresses its messages, whatever its options are. So the platform's `encoding`
     * decides how long compression takes. An option that picks an encoding implies this trait.
     */
    DSGD_ENCODES = 1 << 5,
    /*
     * Each worker has its own mini-batches, which are the same in every epoch. See
     * dsgd_own_batch().
     */
    DSGD_OWN_BATCHES = 1 << 6,
    /*
     * The algorithm calls dsgd_cancel(). All chunks of a gradient are then ready at the same time,
     * at the end of the gradient's computation.
     */
    DSGD_CANCELS = 1 << 7,
    /*
     * The algorithm draws random numbers to decide when it sends or to which worker it sends. Two
     * seeds then give different times, even if all steps take the same time. Random graphs of an
     * option `graph` do not need this trait.
     */
    DSGD_DRAWS = 1 << 8,

    /*
     * The following traits decide what happens when a worker fails. If an algorithm has none of
     * these traits and no `comes_back`, all workers restart from the last checkpoint.
     *
     * DSGD_REJOINS: a failed worker that exchanges messages with servers rejoins. A failed worker
     * sends nothing, and a message is lost unless all of its chunks had left before the failure. In
     * a failed worker, dsgd_recv() returns NULL instead of waiting for an answer. The worker
     * rejoins in a step that does not count. In that step, dsgd_has_joined() returns true, and the
     * worker asks for the state that it needs.
     */
    DSGD_REJOINS = 1 << 9,
    /*
     * When a worker fails, the only server receives an empty message from that worker. The server
     * receives it after the worker's last real message, when the failure is detected or the worker
     * is repaired.
     */
    DSGD_NOTIFIES_SERVER = 1 << 10,
    /*
     * The algorithm supports `failures: policy: quorum`: the running workers continue without the
     * failed worker. All collectives must be allreduces. They include only the running workers, and
     * a mean divides by the number of running workers. A repaired worker rejoins in the first step
     * of a period, when all workers have the same state, and copies that state. State that only the
     * failed worker had is lost. The algorithm must reset such state if dsgd_has_joined() returns
     * true.
     */
    DSGD_QUORUM = 1 << 11,
    /*
     * The algorithm supports `failures: policy: quorum` for workers with different models. A
     * repaired worker rejoins in any step, and then has the model of the worker whose state it
     * copied.
     */
    DSGD_QUORUM_COPIES = 1 << 12 | DSGD_QUORUM,
    /*
     * All workers restart from the last checkpoint, even if the algorithm has `comes_back` or
     * DSGD_REJOINS. `traits_with` returns this trait for options that make workers wait for each
     * other.
     */
    DSGD_RESTARTS = 1 << 13
} dsgd_trait;

/** An algorithm: a constant that a source file in algorithms/ or a plug-in defines. */
typedef struct dsgd_algorithm {
    dsgd_entry about; /* Description of the algorithm. Name, summary and reference are required. The
                       * members params_size and options are optional. */
    dsgd_doc doc;
    /**
     * Optional, pure. Rejects combinations of options that an option table cannot express. The
     * error message must name a valid alternative. If `check` is NULL, only an option `graph` is
     * checked.
     */
    dsgd_status (*check)(const void *params, int n_workers, dsgd_error *error);
    /**
     * Required. Executes one worker from start to end. Returns only after dsgd_next_step() has
     * returned false.
     */
    void (*work)(dsgd_node *self);
    /**
     * Optional. Executes a second actor of each worker, which sends or answers requests while
     * work() runs.
     */
    void (*assist)(dsgd_node *self);
    /**
     * Optional. Executes one server from start to end. Servers have their own hosts, which are
     * numbered after the workers.
     */
    void (*serve)(dsgd_node *self);
    /**
     * Optional, pure. Returns the number of servers. If `n_servers` is NULL, the option `servers`
     * sets the number; without this option, the number is 1.
     */
    int (*n_servers)(const void *params, int n_workers);
    /**
     * Optional, pure. Returns the smallest number of chunks per vector; the run rejects a smaller
     * number. An algorithm defines this function if a fragment of the model needs at least one
     * chunk. If `least_pieces` is NULL, the smallest number is 1.
     */
    int64_t (*least_pieces)(const void *params, int n_workers);
    /**
     * Optional, pure. Returns the number of steps after which the communication pattern repeats. If
     * `period` is NULL, the number is the value of the option `period`, or else the period of the
     * option `graph`, or else 1.
     */
    int64_t (*period)(const void *params, int n_workers);
    const dsgd_law *laws; /* list of laws, which ends with DSGD_LAW_END; NULL if the algorithm
                           * declares no law */
    unsigned traits; /* traits of the algorithm: bits of dsgd_trait */
    /** Optional, pure. Returns the traits that depend on the options. */
    unsigned (*traits_with)(const void *params);
    /**
     * Optional. The engine calls comes_back() in a repaired worker before the worker starts its
     * step again. @p peer is a running worker, or -1 if no worker is running. While the worker is
     * failed, the other workers continue. If another worker calls dsgd_pair_average() or
     * dsgd_pair_fetch() with the failed worker, this call gives up when the failure is detected.
     * comes_back() may call these two verbs and dsgd_server_exchange(), but no other verb that
     * waits for other workers. If `comes_back` is NULL, the workers wait for each other, and all
     * restart from the last checkpoint.
     */
    void (*comes_back)(dsgd_node *self, int peer);
} dsgd_algorithm;

/** Returns all traits of an algorithm with the options @p params. */
static inline unsigned dsgd_traits_of(const dsgd_algorithm *algorithm, const void *params)
{
    return algorithm->traits_with != NULL ? algorithm->traits_with(params) : algorithm->traits;
}

/* --- numbers of workers ----------------------------------------------------------------------- */

static inline bool dsgd_is_power_of_two(int64_t n)
{
    return n > 0 && (n & (n - 1)) == 0;
}

/** Returns floor(log2 n), for n >= 1. */
static inline int dsgd_log2(int64_t n)
{
    int bits = 0;
    for (; n > 1; n >>= 1)
        bits++;
    return bits;
}

/**
 * Rejects a number of workers that is not a power of two. The error message contains the two
 * nearest powers of two.
 */
dsgd_status dsgd_check_power_of_two(const char *name, int n_workers, dsgd_error *error);

/**
 * Rejects a number of workers that is not a multiple of @p size. If there are fewer workers than @p
 * size, the number is valid, because all workers form one group. The error message contains two
 * valid numbers.
 */
dsgd_status dsgd_check_groups(const char *name, int64_t size, int n_workers, dsgd_error *error);

/** Returns the number of workers in a group: @p size, but at most @p n_workers. */
static inline int dsgd_group_size(int64_t size, int n_workers)
{
    return size < n_workers ? (int)size : n_workers;
}

/* --- plug-ins --------------------------------------------------------------------------------- */

/**
 * The symbol that a plug-in (a shared object) exports. The program rejects a plug-in that was built
 * with other headers. The definition is const dsgd_plugin dsgd_plugin_algorithms =
 * {DSGD_PLUGIN_ABI, list};
 */
typedef struct dsgd_plugin {
    uint32_t abi; /* version of the headers: DSGD_PLUGIN_ABI */
    const dsgd_algorithm *const *algorithms; /* list of the plug-in's algorithms, NULL-terminated */
} dsgd_plugin;

#define DSGD_PLUGIN_SYMBOL "dsgd_plugin_algorithms"
extern const dsgd_plugin dsgd_plugin_algorithms; /* This declaration is needed in C++, where a
                                                  * constant is otherwise private to its file. */

DSGD_END_C
