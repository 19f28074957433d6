/**
 * @file contract.h
 * The contract of an algorithm: what a worker is to it, and what it says of itself, with what that
 * is made of, and checks of numbers of workers. Its verbs are in sim/verbs/.
 */
#pragma once

#include "base/option.h"
#include "base/status.h"
#include "sim/abi.h" /* DSGD_PLUGIN_ABI; written by sim/abi.cmake */

DSGD_BEGIN_C

/** One worker (or server), as its algorithm sees it. */
typedef struct dsgd_node {
    int rank; /* [0, n_workers); of a server, [0, n_servers) */
    int n_workers; /* P */
    int64_t step; /* the step under way, from 0; -1 before the first */
    const void *params; /* the algorithm's own, filled from its option table; NULL without one */
    double samples; /* of a mini-batch, as the workload has them */
} dsgd_node;

/** A vector as long as the model. Copying, sending and keeping one cost O(1) in wall time. */
typedef struct dsgd_vector dsgd_vector;

/** What `dsgd describe algorithm NAME` prints: lines without a final end of line. */
typedef struct dsgd_doc {
    const char *idea;
    const char *rule; /* the update of one step, as formulas */
    const char *sends; /* what is sent and how much, per worker and step; N: bytes of a model */
    const char *waits; /* who waits for whom */
} dsgd_doc;

/** An algebraic law, or invariant, under some options. The conformance suite tests every declared
 * law. */
typedef enum dsgd_law_kind {
    DSGD_LAW_END,
    DSGD_LAW_PLAIN_SGD, /* with P = 1 it is its optimizer alone */
    DSGD_LAW_ALLREDUCE, /* equals allreduce, to rounding, if the optimizer is linear in g */
    /* g = 0, all have made as many steps, no message on its way: sum of x_i is constant */
    DSGD_LAW_KEEPS_MEAN,
    DSGD_LAW_KEEPS_SUM, /* like KEEPS_MEAN, for the sum over workers and servers */
    DSGD_LAW_REACHES_MEAN /* g = 0: each x_i comes to the mean of the first: weights are kept */
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

/** An option that differs from its default. */
typedef struct dsgd_law_option {
    /* "period"; of an option that picks from a registry with the name, "graph=ring". NULL ends a
     * list */
    const char *option;
    double value; /* a number, or the index of a word; of a pick 0 */
} dsgd_law_option;
#define DSGD_WITH(...) DSGD_LIST(dsgd_law_option, __VA_ARGS__, {.option = NULL})

typedef struct dsgd_law {
    dsgd_law_kind kind;
    const dsgd_law_option *with; /* any number, by DSGD_WITH(); NULL: all defaults */
    bool (*at)(const void *params,
               int n_workers); /* pure: whether it holds there; NULL: at any P */
} dsgd_law;
#define DSGD_LAWS(...) DSGD_LIST(dsgd_law, __VA_ARGS__, {.kind = DSGD_LAW_END})

/** What an algorithm says of itself: bits of `traits`. */
typedef enum dsgd_trait {
    /*
     * Promises about its messages. They change no result; the more is promised, the faster a run is
     * simulated. A run that breaks one is stopped with a sentence.
     *
     * Only collectives: of all workers, of communicators, and partial ones; no gossip, pairs,
     * servers or messages. Non-blocking collectives of a communicator then follow each other, too:
     * one that waits for others keeps the next waiting.
     */
    DSGD_SENDS_COLLECTIVES = 1 << 0,
    /* Only allreduces on DSGD_WORLD: makes `exchange: fusion` possible. */
    DSGD_SENDS_ALLREDUCES = 1 << 1 | DSGD_SENDS_COLLECTIVES,

    /* In a step a worker may send three vectors, where an allreduce sends two: `exchange: bucket:
     * auto` bounds by this what merged buckets change. */
    DSGD_SENDS_THREE_VECTORS = 1 << 14,

    /*
     * Its output is the servers' dsgd_model(), not the mean of the workers' models: evaluations,
     * `until: accuracy` and targets are of it. It is put together from the parts of servers that
     * share it; with DSGD_WHOLE_SERVERS it is their mean. Where options leave no server, workers
     * have it in dsgd_shared(). Running statistics are the workers' mean, as servers have none.
     */
    DSGD_OUTPUT_SERVERS = 1 << 2,
    /* Each server has a whole vector, by messages only: servers of regions. Without it the
     * servers share one, and every exchange is cut into a part for each, messages too. */
    DSGD_WHOLE_SERVERS = 1 << 3,

    /* Its collectives carry models, not gradients or differences: `exchange: encoding` refuses to
     * send a few numbers of them. */
    DSGD_AVERAGES_MODELS = 1 << 4,
    /* It encodes what it sends, whatever its options (an option that picks an encoding says it
     * itself): the platform's `encoding` decides its times. */
    DSGD_ENCODES = 1 << 5,
    /* Each worker has mini-batches of its own, the same in every epoch: dsgd_own_batch(). */
    DSGD_OWN_BATCHES = 1 << 6,
    /* It calls dsgd_cancel(): all pieces of a gradient are ready together, at its end. */
    DSGD_CANCELS = 1 << 7,
    /* It draws when or to whom it sends: two seeds differ in their times though no step does.
     * What an option `graph` draws is not meant. */
    DSGD_DRAWS = 1 << 8,

    /*
     * What happens when workers fail. Without one of these, and without `comes_back`, all restart
     * from the last checkpoint.
     *
     * Workers that exchange messages with servers rejoin. A worker that fails sends nothing more,
     * and a message of which not all pieces have left is not seen; where it would wait for an
     * answer, dsgd_recv() returns NULL. It comes back in a step that counts for nothing, in which
     * dsgd_has_joined(), and asks for what it needs.
     */
    DSGD_REJOINS = 1 << 9,
    /* Its one server gets an empty message from a worker that failed, after the worker's last
     * message, when the failure is detected or the worker is repaired. */
    DSGD_NOTIFIES_SERVER = 1 << 10,
    /*
     * Under `failures: policy: quorum` the running workers continue: its collectives, only
     * allreduces, are theirs, and so is a mean. A worker comes back in a step in which the period
     * begins and all that it needs is what all have alike, which it copies; what it had by itself
     * is lost (dsgd_has_joined()).
     */
    DSGD_QUORUM = 1 << 11,
    /* With DSGD_QUORUM, where workers differ: a worker comes back in any step, and its model is
     * then that of the worker from which it has copied. */
    DSGD_QUORUM_COPIES = 1 << 12 | DSGD_QUORUM,
    /* All restart, although there is `comes_back` or DSGD_REJOINS: for `traits_with`. */
    DSGD_RESTARTS = 1 << 13
} dsgd_trait;

typedef struct dsgd_algorithm {
    dsgd_entry about; /* name, summary, reference (required); params_size, options */
    dsgd_doc doc;
    /** Optional, pure. Refuses what no option table can; the message names a way out. NULL: an
     * option `graph` is checked, nothing else. */
    dsgd_status (*check)(const void *params, int n_workers, dsgd_error *error);
    /** Required. One worker's life. Returns only when dsgd_next_step() returns false, or never. */
    void (*work)(dsgd_node *self);
    /** Optional. A second actor of each worker, which answers or asks others meanwhile. */
    void (*assist)(dsgd_node *self);
    /** Optional. The life of one of the servers, on hosts behind the workers'. */
    void (*serve)(dsgd_node *self);
    /** Optional, pure. How many there are. NULL: what the option `servers` has, or 1. */
    int (*n_servers)(const void *params, int n_workers);
    /** Optional, pure. Fewer pieces are refused: each fragment needs one. NULL: 1. */
    int64_t (*least_pieces)(const void *params, int n_workers);
    /** Optional, pure. Steps after which what is sent repeats itself. NULL: what its option
     * `period` has, or the rounds after which its option `graph` repeats itself, or 1. */
    int64_t (*period)(const void *params, int n_workers);
    const dsgd_law *laws; /* DSGD_LAW_END ends them; NULL: none */
    unsigned traits; /* dsgd_trait */
    /** Optional, pure. The traits with these options, where they depend on them. */
    unsigned (*traits_with)(const void *params);
    /**
     * Optional. What a worker does after its repair, before it begins its step again; @p peer is a
     * running worker, or -1. The other workers continue during the failure: if one asks the failed
     * worker by dsgd_pair_average() or dsgd_pair_fetch(), it gives up when the failure is detected.
     * Of the verbs that wait for others it may call these two and dsgd_server_exchange(). NULL: the
     * workers wait for each other, and all restart from the last checkpoint.
     */
    void (*comes_back)(dsgd_node *self, int peer);
} dsgd_algorithm;

/** The traits of an algorithm with these options. */
static inline unsigned dsgd_traits_of(const dsgd_algorithm *algorithm, const void *params)
{
    return algorithm->traits_with != NULL ? algorithm->traits_with(params) : algorithm->traits;
}

/* --- sets of address bits --------------------------------------------------------------------- */

static inline bool dsgd_is_power_of_two(int64_t n)
{
    return n > 0 && (n & (n - 1)) == 0;
}

/** floor(log2 n), n >= 1. */
static inline int dsgd_log2(int64_t n)
{
    int bits = 0;
    for (; n > 1; n >>= 1)
        bits++;
    return bits;
}

/** Refuses P unless it is a power of two; the sentence names the two nearest. */
dsgd_status dsgd_check_power_of_two(const char *name, int n_workers, dsgd_error *error);

/** Refuses P unless groups of @p size divide it; fewer than a group are one. Names two that would
 * do. */
dsgd_status dsgd_check_groups(const char *name, int64_t size, int n_workers, dsgd_error *error);

/** Workers in a group of @p size where there are @p n_workers. */
static inline int dsgd_group_size(int64_t size, int n_workers)
{
    return size < n_workers ? (int)size : n_workers;
}

/* --- algorithms from outside the tree --------------------------------------------------------- */

/**
 * The symbol that a shared object exports: const dsgd_plugin dsgd_plugin_algorithms =
 * {DSGD_PLUGIN_ABI, list}; One built with other headers than the program's is refused.
 */
typedef struct dsgd_plugin {
    uint32_t abi;
    const dsgd_algorithm *const *algorithms; /* NULL-terminated */
} dsgd_plugin;

#define DSGD_PLUGIN_SYMBOL "dsgd_plugin_algorithms"
extern const dsgd_plugin
    dsgd_plugin_algorithms; /* else a constant of C++ would be its file's own */

DSGD_END_C
