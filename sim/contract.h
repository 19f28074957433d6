/**
 * @file contract.h
 * The contract of an algorithm: what a worker is, how an algorithm describes itself, and checks of
 * the number of workers. The verbs that an algorithm calls are in sim/verbs/.
 */
#pragma once

#include "base/option.h"
#include "base/status.h"
#include "sim/abi.h" /* DSGD_PLUGIN_ABI; written by sim/abi.cmake */

DSGD_BEGIN_C

/** One worker or server, as its algorithm sees it. */
typedef struct dsgd_node {
    int rank; /* of a worker: [0, n_workers); of a server: [0, n_servers) */
    int n_workers; /* P */
    int64_t step; /* the step under way, from 0; -1 before the first step */
    const void *params; /* the algorithm's options; NULL if it has no option table */
    double samples; /* samples of a mini-batch, from the workload */
} dsgd_node;

/**
 * A vector as long as the model. The engine owns it and frees it at the end of the run. Copying,
 * sending or keeping a vector takes O(1) wall time.
 */
typedef struct dsgd_vector dsgd_vector;

/** The text that `dsgd describe algorithm NAME` prints. No line break at the end. */
typedef struct dsgd_doc {
    const char *idea; /* what the algorithm does, and why */
    const char *rule; /* the update of one step, as formulas */
    const char *sends; /* which messages a worker sends per step, and their size; N: model bytes */
    const char *waits; /* which worker waits for which other workers */
} dsgd_doc;

/**
 * An algebraic law that holds with some options. The conformance suite (`dsgd test`) tests every
 * law that an algorithm declares. x_i is the model of worker i, g a gradient.
 */
typedef enum dsgd_law_kind {
    DSGD_LAW_END, /* ends a list of laws */
    DSGD_LAW_PLAIN_SGD, /* with P = 1 the algorithm equals its optimizer */
    DSGD_LAW_ALLREDUCE, /* equals allreduce up to rounding, if the optimizer is linear in g */
    /* With g = 0, the sum of all x_i is constant at instants when all workers have made the same
     * number of steps and no message is on its way. */
    DSGD_LAW_KEEPS_MEAN,
    DSGD_LAW_KEEPS_SUM, /* like KEEPS_MEAN, for the sum over workers and servers */
    DSGD_LAW_REACHES_MEAN /* with g = 0, each x_i converges to the mean of the initial models */
} dsgd_law_kind;

/** A constant array of a type, for an initializer. */
#ifdef __cplusplus
#define DSGD_LIST(type, ...)                                                                       \
    ([]() -> const type * {                                                                        \
        static const type list[] = {__VA_ARGS__};                                                  \
        return list;                                                                               \
    }())
#else
#define DSGD_LIST(type, ...) ((const type[]){__VA_ARGS__})
#endif

/** An option with a value that differs from its default. */
typedef struct dsgd_law_option {
    /* The option, such as "period". If the option picks an entry of a registry, the text also has
     * the name of the entry, such as "graph=ring". NULL ends a list. */
    const char *option;
    double value; /* a number, or the index of a word; 0 if the option picks an entry */
} dsgd_law_option;
#define DSGD_WITH(...) DSGD_LIST(dsgd_law_option, __VA_ARGS__, {.option = NULL})

/** A law and the conditions under which it holds. */
typedef struct dsgd_law {
    dsgd_law_kind kind;
    const dsgd_law_option *with; /* the options, made by DSGD_WITH(); NULL if all have defaults */
    bool (*at)(const void *params,
               int n_workers); /* pure: returns whether the law holds; NULL if it holds at any P */
} dsgd_law;
#define DSGD_LAWS(...) DSGD_LIST(dsgd_law, __VA_ARGS__, {.kind = DSGD_LAW_END})

/** What an algorithm declares about itself: the bits of `traits`. */
typedef enum dsgd_trait {
    /*
     * Promises about messages. They do not change results. They let the engine simulate the run
     * faster. A run that breaks a promise stops with an error.
     *
     * The algorithm calls only collectives: of all workers, of groups, and partial collectives. It
     * calls no gossip, pairs, servers or messages. Non-blocking collectives of a group are then
     * executed one after another, too: a collective that waits for other workers delays the next
     * one.
     */
    DSGD_SENDS_COLLECTIVES = 1 << 0,
    /* The algorithm calls only allreduces on DSGD_WORLD. `exchange: fusion` requires this. */
    DSGD_SENDS_ALLREDUCES = 1 << 1 | DSGD_SENDS_COLLECTIVES,

    /* In a step a worker may send three vectors, while an allreduce sends two. `exchange: bucket:
     * auto` uses this to bound the error of merged buckets. */
    DSGD_SENDS_THREE_VECTORS = 1 << 14,

    /*
     * The output is dsgd_model() of the servers, not the mean of the workers' models. Evaluations,
     * `until: accuracy` and targets use the output. If several servers share the model, the output
     * consists of their parts. With DSGD_WHOLE_SERVERS, it is the mean of the servers' models. If
     * the options leave no server, the workers hold the output in dsgd_shared(). Servers have no
     * running statistics; the output has the mean of the workers' running statistics.
     */
    DSGD_OUTPUT_SERVERS = 1 << 2,
    /* Each server has a whole vector and exchanges messages only, for example one server per
     * region. Without this trait, the servers share one vector, and every exchange (also a message)
     * is split into one part per server. */
    DSGD_WHOLE_SERVERS = 1 << 3,

    /* The collectives carry models, not gradients or differences of models. `exchange: encoding`
     * then rejects compressors that send only a few of the numbers. */
    DSGD_AVERAGES_MODELS = 1 << 4,
    /* The algorithm compresses what it sends, with any options, so that the platform's `encoding`
     * decides how long compression takes. An option that picks an encoding implies this trait. */
    DSGD_ENCODES = 1 << 5,
    /* Each worker has its own mini-batches, the same in every epoch: dsgd_own_batch(). */
    DSGD_OWN_BATCHES = 1 << 6,
    /* The algorithm calls dsgd_cancel(). All chunks of a gradient are then ready at the same time,
     * at the end of its computation. */
    DSGD_CANCELS = 1 << 7,
    /* The algorithm draws when or to whom it sends. Two seeds then give different times even if all
     * steps take the same time. Draws of an option `graph` do not count. */
    DSGD_DRAWS = 1 << 8,

    /*
     * What happens when a worker fails. Without one of these traits, and without `comes_back`, all
     * workers restart from the last checkpoint.
     *
     * A worker that exchanges messages with servers rejoins. A failed worker sends nothing, and a
     * message is lost unless all of its chunks had left before the failure. dsgd_recv() returns
     * NULL where the worker would wait for an answer. The worker rejoins in a step that does not
     * count; in that step dsgd_has_joined() is true, and the worker asks for the state it needs.
     */
    DSGD_REJOINS = 1 << 9,
    /* When a worker fails, the only server gets an empty message from it. The message arrives after
     * the last message of that worker, when the failure is detected or the worker is repaired. */
    DSGD_NOTIFIES_SERVER = 1 << 10,
    /*
     * Supports `failures: policy: quorum`: the running workers continue without the failed one.
     * Collectives, which must all be allreduces, cover the running workers, and a mean divides by
     * their number. A repaired worker rejoins in the first step of a period, when all workers have
     * the same state, and copies that state. State that only the failed worker had is lost; reset
     * it if dsgd_has_joined().
     */
    DSGD_QUORUM = 1 << 11,
    /* Supports `failures: policy: quorum` for workers with different models. A repaired worker
     * rejoins in any step and then has the model of the worker from which it copied the state. */
    DSGD_QUORUM_COPIES = 1 << 12 | DSGD_QUORUM,
    /* All workers restart, even if the algorithm has `comes_back` or DSGD_REJOINS. Used in
     * `traits_with`, for options that make workers wait for each other. */
    DSGD_RESTARTS = 1 << 13
} dsgd_trait;

/** An algorithm: a constant that a source file of algorithms/ or a plug-in defines. */
typedef struct dsgd_algorithm {
    dsgd_entry about; /* required: name, summary, reference; optional: params_size, options */
    dsgd_doc doc;
    /**
     * Optional, pure. Rejects combinations that an option table cannot express; the message must
     * name a way out. If it is NULL, only an option `graph` is checked.
     */
    dsgd_status (*check)(const void *params, int n_workers, dsgd_error *error);
    /** Required. The life of one worker. Returns only after dsgd_next_step() returned false. */
    void (*work)(dsgd_node *self);
    /** Optional. A second actor of each worker, which sends or answers requests while work() runs.
     */
    void (*assist)(dsgd_node *self);
    /** Optional. The life of one server. Servers have their own hosts, numbered after the workers.
     */
    void (*serve)(dsgd_node *self);
    /** Optional, pure. Returns the number of servers. If it is NULL, the number is that of the
     * option `servers`, or 1 without such an option. */
    int (*n_servers)(const void *params, int n_workers);
    /** Optional, pure. Returns the smallest number of chunks; fewer are rejected. Used if a
     * fragment of the model needs at least one chunk. If it is NULL, the number is 1. */
    int64_t (*least_pieces)(const void *params, int n_workers);
    /** Optional, pure. Returns the number of steps after which the communication pattern repeats.
     * If it is NULL, the number is that of the option `period`, else the period of the option
     * `graph`, else 1. */
    int64_t (*period)(const void *params, int n_workers);
    const dsgd_law *laws; /* ends with DSGD_LAW_END; NULL if there are none */
    unsigned traits; /* bits of dsgd_trait */
    /** Optional, pure. Returns the traits, if they depend on the options. */
    unsigned (*traits_with)(const void *params);
    /**
     * Optional. Called in a repaired worker before it starts its step again. @p peer is a running
     * worker, or -1 if there is none. While the worker is failed, the other workers continue. If
     * one of them calls dsgd_pair_average() or dsgd_pair_fetch() for the failed worker, the call
     * gives up when the failure is detected. comes_back() may call these two verbs and
     * dsgd_server_exchange(), but no other verb that waits for other workers. If it is NULL, the
     * workers wait for each other, and all restart from the last checkpoint.
     */
    void (*comes_back)(dsgd_node *self, int peer);
} dsgd_algorithm;

/** Returns the traits of an algorithm with these options. */
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

/** Rejects a number of workers that is not a power of two. The message names the two nearest. */
dsgd_status dsgd_check_power_of_two(const char *name, int n_workers, dsgd_error *error);

/**
 * Rejects a number of workers that is not a multiple of @p size, except if there are fewer workers
 * than @p size: they form one group. The message names two numbers that are valid.
 */
dsgd_status dsgd_check_groups(const char *name, int64_t size, int n_workers, dsgd_error *error);

/** Returns the number of workers in a group of @p size, at most @p n_workers. */
static inline int dsgd_group_size(int64_t size, int n_workers)
{
    return size < n_workers ? (int)size : n_workers;
}

/* --- algorithms from outside the tree --------------------------------------------------------- */

/**
 * The symbol that a plug-in (a shared object) exports:
 *     const dsgd_plugin dsgd_plugin_algorithms = {DSGD_PLUGIN_ABI, list};
 * A plug-in that was built with different headers than the program is rejected.
 */
typedef struct dsgd_plugin {
    uint32_t abi; /* DSGD_PLUGIN_ABI */
    const dsgd_algorithm *const *algorithms; /* NULL-terminated */
} dsgd_plugin;

#define DSGD_PLUGIN_SYMBOL "dsgd_plugin_algorithms"
extern const dsgd_plugin
    dsgd_plugin_algorithms; /* declared, because a constant of C++ is private to its file */

DSGD_END_C
