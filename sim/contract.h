/**
 * @file contract.h
 * The contract of an algorithm: what a worker is to it, and what it says of itself, with what that
 * is made of: the traffic of verbs, checks of numbers of workers. Its verbs are in sim/verbs/.
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

/**
 * A promise about an algorithm's messages; each includes those before it. It changes no result, and
 * a run that breaks it is stopped with a sentence.
 */
typedef enum dsgd_sends {
    DSGD_SENDS_ANYTHING, /* no promise: right for every algorithm */
    /*
     * Collectives alone: of all workers, of communicators, and partial ones. Non-blocking ones
     * of a communicator then follow each other, too: one that waits for others keeps the next
     * waiting. No gossip, pairs, servers or messages.
     */
    DSGD_SENDS_COLLECTIVES,
    /* dsgd_allreduce_*() on DSGD_WORLD alone: makes `exchange: fusion` possible. */
    DSGD_SENDS_ALLREDUCES
} dsgd_sends;

/** The model that an algorithm makes: evaluations, `until: accuracy` and targets are of it. */
typedef enum dsgd_output {
    DSGD_OUTPUT_WORKERS, /* the mean of the workers' models */
    /*
     * The servers' dsgd_model(): put together from the parts of servers that share it, the mean of
     * `whole_servers`. Where options leave no server, workers have it in dsgd_shared(). Running
     * statistics are the workers' mean, as servers have none.
     */
    DSGD_OUTPUT_SERVERS
} dsgd_output;

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
    /* Each server has a whole vector, by messages alone: servers of regions. Without it the
     * servers share one, and every exchange is cut into a part for each, messages too. */
    bool whole_servers;
    /** What is evaluated. With servers that have the model of the paper DSGD_OUTPUT_SERVERS. */
    dsgd_output output;
    /** Optional, pure. Fewer pieces are refused: each fragment needs one. NULL: 1. */
    int64_t (*least_pieces)(const void *params, int n_workers);
    /** Optional, pure. Steps after which what is sent repeats itself. NULL: what its option
     * `period` has, or the rounds after which its option `graph` repeats itself, or 1. */
    int64_t (*period)(const void *params, int n_workers);
    const dsgd_law *laws; /* DSGD_LAW_END ends them; NULL: none */
    /** What its messages are. The more is promised, the faster it is simulated. */
    dsgd_sends sends;
    /** Optional, pure. The same with these options, where it depends on them. */
    dsgd_sends (*sends_with)(const void *params);
    /* Its collectives carry models, not gradients or differences: `exchange: encoding` refuses to
     * send a few numbers of them. */
    bool averages_models;
    /* It encodes what it sends, whatever its options (an option that picks an encoding says it
     * itself): the platform's `encoding` decides its times. */
    bool encodes;
    /* Each worker has mini-batches of its own, the same in every epoch: dsgd_own_batch() says
     * which. */
    bool own_batches;
    /*
     * work() may call dsgd_cancel(): then all pieces of a gradient are ready together, at its end.
     */
    bool cancels;
    /* Whom it sends to, or when, is drawn: two seeds differ in their times though no step does.
     * What an option `graph` draws is not meant. */
    bool draws;
    /**
     * Optional. What a worker does that comes back after a failure, before it begins its step anew;
     * @p peer is one that is there, or -1. The others go on meanwhile: who asks one that has
     * failed, by dsgd_pair_average() or dsgd_pair_fetch(), gives up when that is detected. Of other
     * verbs it may use those of dsgd_server_push(). NULL: it waits for others, and all restart from
     * the last checkpoint.
     */
    void (*comes_back)(dsgd_node *self, int peer);
    /** Optional, pure. Whether it does so, or rejoins, with these options. NULL: with all. */
    bool (*goes_on)(const void *params);
    /*
     * Instead of comes_back, of workers that talk to servers by messages: who fails sends nothing
     * more, nor is a message seen of which pieces have left; where it would wait for an answer to
     * that dsgd_recv() returns NULL. It comes back in a step that counts for nothing, in which
     * dsgd_has_joined(), and asks for what it needs.
     */
    bool rejoins;
    /*
     * Its one server is told of failures, when they are detected or the worker is repaired: as if
     * it had sent an empty message, behind all else that it has sent.
     */
    bool told;
    /*
     * Under `failures: policy: quorum` those who are there go on: its collectives, allreduces
     * alone, are of them, and a mean is theirs. Who comes back does so in a step in which the
     * period begins and all that it needs is what all have alike, which it copies; what it has had
     * alone is lost (dsgd_has_joined()).
     */
    bool quorum;
    /*
     * Of `quorum`, where workers differ: who comes back does so in any step, whose model is then
     * that of the one from which it has copied.
     */
    bool copies;
} dsgd_algorithm;

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
