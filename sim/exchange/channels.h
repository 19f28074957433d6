/**
 * @file channels.h
 * Exchanges of vectors beside the algorithm: jobs on channels, messages and their schedules, and
 * the one way in which every verb begins and ends its pieces.
 *
 * A channel is an actor that carries out jobs, first in, first out. A worker has one if its
 * exchanges block each other, else one per piece; of a group of hosts each has its own, for the
 * pieces that it has. Piece k of every exchange goes over channel k mod n_channels, or
 * piece_channel[k], so that all workers carry out shared jobs in one order: collectives cannot
 * deadlock.
 *
 * Non-blocking collectives of a communicator go over side channels, as many again: one that waits
 * for other workers would keep the collectives of workers that need not wait.
 *
 * Where the platform has `staging`, a piece is copied from the device's memory to the host's before
 * its exchange, from the instant at which it is ready, and back afterwards. Each direction has an
 * engine that makes one copy at a time, beside computation, exchanges and the other direction.
 */
#pragma once

#include "sim/engine/engine.h"
#include "sim/engine/vectors.h"
#include "sim/observe/observe.h"

enum { DSGD_MAX_CHANNELS = 64 }; /* and as many side channels */
enum { DSGD_MAX_ALL_CHANNELS = 1 << 13 }; /* of all hosts of a worker: mailboxes tell 2^16 apart */

typedef struct dsgd_channel dsgd_channel;

/** One piece of an exchange; the first member of a family's own job. */
typedef struct dsgd_job {
    struct dsgd_job *next; /* on its channel */
    /* One of both carries it out, as the channel's actor, and sets `done` if a request has it:
     * step() a step at a time (sim/network/cluster.h), until it awaits nothing; run() waits itself.
     */
    dsgd_await (*step)(dsgd_channel *channel, struct dsgd_job *job);
    void (*run)(dsgd_channel *channel, struct dsgd_job *job);
    size_t piece;
    bool aside; /* goes over a side channel: keeps no other job waiting */
    bool again; /* quorum.c's: its channel is to have it when the others have made the sum without
                   it */
    double not_before_s; /* when its piece is in host memory */
    bool done;
    double done_s; /* when */
    int64_t collective; /* which of the worker's it belongs to, from 1; 0: to none */
    const char *verb; /* whose it is, for who watches */
} dsgd_job;

/** Of messages that follow each other into a server, or out of it by a channel. */
struct dsgd_turns {
    struct dsgd_passage *first, *last; /* on their way or being treated, in order */
    double free_s, there_s; /* when the last one has had its time at its ends */
    double latency_s, treated_s; /* its own; what its receiver spends on it, beside others' bytes */
    const void *whose; /* its sender, a channel; out of a server: its receiver */
    bool late; /* out of a server: the one that was waited for last, by more than a latency */
    dsgd_semaphore *over; /* into a server: of the next one */
    bool awaited; /* `over`: that the first is */
};

/** What every step reads comes first, as in dsgd_worker. */
struct dsgd_channel {
    dsgd_worker *worker;
    dsgd_job *current; /* taken out of the list, or NULL */
    dsgd_job *first, *last;
    double staging_since_s; /* since when the actor waits for the piece in host memory; -1: no */
    int number;
    bool waits; /* has to be posted */
    dsgd_semaphore *semaphore;
    dsgd_steps steps;
    size_t span; /* timeline.c's, of the job that it carries out */
    struct dsgd_sending *sending; /* schedules.c's: of an allreduce as messages, or NULL */
    struct dsgd_schedule *schedule; /* analytic.c's: the one that it is in, or NULL */
    int member; /* its index in that */
    struct dsgd_turns outlet; /* of a server */
    dsgd_channel *behind; /* it at a door, ... */
    double came_s; /* ... to which it came at this instant */
};

/** Starts as many channels as a worker or server has; @p number is the first one's. */
dsgd_channel *dsgd_channels_open(dsgd_worker *w, size_t number);

/** For run(): the exchange has its result. */
void dsgd_job_finish(dsgd_job *job);

/** Where a job goes: the channel of its piece, or its side channel. */
dsgd_channel *dsgd_channel_of(dsgd_worker *w, const dsgd_job *job);

/** Hands a job to it. */
void dsgd_channel_add(dsgd_worker *w, dsgd_job *job);

/** For work and assist actors: waits until the job is done, in @p in. */
void dsgd_job_wait(dsgd_worker *w, const dsgd_waiting *in, const dsgd_job *job);

/**
 * From one rank to another; -1: none. Like MPI's context: messages of another communicator are
 * others, so that who calls collectives of two in another order than a fellow member waits for it.
 * Those 500 apart share one.
 */
dsgd_mailbox *dsgd_channel_mailbox(const dsgd_channel *channel, int from, int to,
                                   const dsgd_comm *comm);

/* --- exchanges -------------------------------------------------------------------------------- */

/** The functions of a family of verbs for each piece, called by the work actor. */
typedef struct dsgd_exchange {
    /** Called once in[k] is ready. Makes the piece's job, if any: dsgd_exchange_start(). */
    void (*begin)(dsgd_worker *w, size_t k, dsgd_request *request);
    /** Called once the job of piece k is done, before it is freed. Sets out[k]. */
    void (*end)(dsgd_worker *w, size_t k, dsgd_request *request);
    dsgd_waiting waiting; /* the verb that waits for its end */
    bool encodes_itself; /* or not at all, under `exchange: encoding` */
} dsgd_exchange;

/** A piece that is exchanged. */
typedef struct dsgd_begun {
    dsgd_piece sent; /* what of it, from its begin to its end, encoded under `exchange: encoding` */
    dsgd_job *job; /* NULL: none */
} dsgd_begun;

/** One call of a verb. Like an MPI_Request, but of all pieces of a vector or view. */
struct dsgd_request {
    const dsgd_exchange *exchange;
    dsgd_request *next; /* of the worker, begun and not ended */
    dsgd_vector *in; /* sent; NULL: nothing, which only a blocking verb does */
    uint32_t call; /* of encoding what is sent */
    dsgd_vector *out; /* where the result goes; NULL before dsgd_exchange_end() */
    const void *arguments; /* of the verb; NULL once the verb that began it has returned */
    double since_s; /* when it was begun, ... */
    int64_t step; /* ... in which step of its worker's */
    double staged_s; /* when the piece that was begun last is in host memory */
    double back_s; /* when all pieces that were ended are in the device's */
    bool unchanged; /* set by end(): out[k] is as it was, and nothing is copied back */
    const dsgd_vector *of; /* `in`, or `out` of a blocking verb: has its pieces */
    dsgd_begun *begun; /* of each, until it ends */
};

static inline dsgd_begun *dsgd_begun_of(const dsgd_request *request, size_t k)
{
    return &request->begun[(k - request->of->first) / request->of->stride];
}

/** For begin(): hands the piece's job to its channel. */
void dsgd_exchange_start(dsgd_worker *w, dsgd_request *request, dsgd_job *job);

/** Of all but allreduces of all workers: stops the program where `.traits` promises otherwise. */
void dsgd_exchanges_otherwise(const dsgd_worker *w, bool by_collective);

/**
 * A blocking verb: at most n_channels pieces have begun and not ended, or all if they are fused.
 */
void dsgd_exchange_run(dsgd_worker *w, const dsgd_exchange *exchange, dsgd_vector *in,
                       dsgd_vector *out, const void *arguments);

/** A non-blocking verb: begins all pieces. */
dsgd_request *dsgd_exchange_begin(dsgd_worker *w, const dsgd_exchange *exchange, dsgd_vector *in,
                                  const void *arguments);

/** The first job of a request that is not done, or NULL. */
const dsgd_job *dsgd_request_undone(const dsgd_request *request);

/**
 * Counts that a worker asked for something that was not there. At the millionth time at one instant
 * it does not return.
 */
void dsgd_count_poll(dsgd_worker *w, bool (*lacks)(const dsgd_worker *, const dsgd_job *, int),
                     const dsgd_job *job);

/** For end(): if in[k] is of a gradient, out[k] is one of several models, so old on the average. */
void dsgd_exchange_gradients(dsgd_request *request, size_t k, dsgd_lag lag);

/** How many are under way; *step: in which the oldest was begun. */
size_t dsgd_requests_left(const dsgd_worker *w, int64_t *step);

/** How many messages a host has not received; *step: the host's when the oldest had come. */
size_t dsgd_messages_left(const dsgd_worker *w, int64_t *step);

/** Ends all pieces and frees the request. Like MPI_Wait. */
void dsgd_exchange_end(dsgd_worker *w, dsgd_request *request, dsgd_vector *out);

/* --- staging ---------------------------------------------------------------------------------- */

/**
 * Has @p sent, of piece @p k of x, which is ready, copied to host memory, from @p since_s or from
 * when it became ready and was encoded. Returns when it is there; does not wait.
 */
double dsgd_stage_out(dsgd_worker *w, const dsgd_vector *x, size_t k, const dsgd_piece *sent,
                      double since_s);

/** The same from host memory, where the result is at @p since_s. */
double dsgd_stage_in(dsgd_worker *w, const dsgd_vector *x, size_t k, double since_s);

/**
 * Has the GPU begin a collective of NCCL's of piece @p k of x, and copy what of it is reduced into
 * a bucket and back, which keeps it from computing. Returns when that is done.
 */
double dsgd_stage_collective(dsgd_worker *w, const dsgd_vector *x, size_t k, double reduced_bytes,
                             double since_s);

/** Sleeps for what the operation that exchanges piece @p k does in host memory. False: nothing. */
bool dsgd_operate(dsgd_worker *w, const dsgd_vector *x, size_t k, int passes);

/** Sleeps until a copy is there, or for some seconds, which is communication. */
void dsgd_staging_wait(dsgd_worker *w, double until_s);
void dsgd_spend(dsgd_worker *w, double seconds);

/* --- packets ---------------------------------------------------------------------------------- */

/** A piece of a vector on its way between two workers. */
typedef struct dsgd_packet {
    int from, channel; /* where an answer goes */
    int host; /* of the sender, in engine->workers */
    int kind; /* of request, for who answers it */
    double bytes, sent_s;
    size_t span; /* what dsgd_observe_sent() returned */
    size_t piece;
    dsgd_piece content;
    double share; /* of the content, that the receiver gets */
    int64_t version; /* of a server's piece */
    struct incoming *whole; /* messages.c's: of what it is a part */
    struct dsgd_passage *passage; /* turns.c's: into a server */
    double there_s; /* likewise, where it is alone on its way */
} dsgd_packet;

/** A message with piece @p k; holds a reference to the value of @p content. */
dsgd_packet *dsgd_packet_new(dsgd_worker *w, int channel, size_t k, dsgd_piece content);
void dsgd_packet_free(dsgd_worker *w, dsgd_packet *message);

/** Of a message of @p bytes: its own cost + reduced_bytes * seconds per byte + @p more_s. */
static inline double dsgd_received_cost_s(const dsgd_worker *w, double bytes, double reduced_bytes,
                                          double more_s)
{
    static const double least_s = 1e-9; /* that SimGrid sleeps */
    const double cost_s = dsgd_platform_message_s(w->engine->config->platform, bytes) +
                          reduced_bytes * w->wire.reduction_s_per_byte + more_s;
    return cost_s > 0 && cost_s < least_s ? least_s : cost_s;
}

/** The same of a message without a piece. */
static inline double dsgd_packet_cost_s(const dsgd_worker *w)
{
    return dsgd_received_cost_s(w, 0, 0, 0);
}

/** Of a piece that is added or taken. */
static inline double dsgd_piece_cost_s(const dsgd_worker *w, const dsgd_piece *piece, size_t k,
                                       double passes)
{
    const dsgd_encoded *const encoded = piece->encoded;
    const double whole = w->engine->layout.piece_bytes[k];
    const double added = encoded == NULL || encoded->decodes ? whole : encoded->bytes[k];
    const bool decodes = encoded != NULL && encoded->decodes;
    /* A server shakes hands with others meanwhile. */
    const double bytes = dsgd_is_server(w) ? 0 : dsgd_encoded_bytes(w->engine, encoded, k);
    return dsgd_received_cost_s(w, bytes, passes * added,
                                decodes ? whole * w->engine->costs.encoding_s_per_byte : 0);
}

/** Sleeps it; 0: does not. */
void dsgd_sleep_cost(double cost_s);

/** Counts it; returns when both sides were ready. */
double dsgd_packet_arrived(dsgd_worker *w, const dsgd_packet *message, double waiting_since_s);

/** The same; then the cost, and the time since both sides were ready counts as communication. */
void dsgd_packet_received(dsgd_worker *w, const dsgd_packet *message, double waiting_since_s,
                          double cost_s);

/* --- turns.c: to hosts that serve whoever comes ----------------------------------------------- */

/**
 * Waits until a channel may send to a host: by time, and of those who come at one instant by rank,
 * then by channel; then lets the next one. Of two doors a channel is at one at a time.
 */
void dsgd_inbound_enter(dsgd_worker *to, dsgd_channel *channel);
void dsgd_inbound_leave(dsgd_worker *to);

/**
 * From a worker to a server, or back. Waits for its turn, then until it has arrived; what a server
 * sends, until its bytes have left.
 */
void dsgd_packet_send(dsgd_channel *channel, dsgd_worker *to, dsgd_mailbox *mailbox,
                      dsgd_packet *message);

/** What its receiver spends on such a message. */
double dsgd_packet_treated_s(const dsgd_worker *to, const dsgd_packet *message);

/** A server has treated what came to it by dsgd_packet_send(). */
void dsgd_packet_treated(dsgd_worker *server, const dsgd_packet *message);

/* --- schedules.c: of messages, carried out by a channel --------------------------------------- */

/**
 * The next step of an allreduce of all workers or, where it @p gathers, of an allgather of so many
 * bytes in all, by `exchange: collective`, until it is over; @p meeting is as in analytic.h.
 */
dsgd_await dsgd_schedule_fused(dsgd_channel *channel, bool gathers, double bytes,
                               struct dsgd_schedule **meeting);

/** The same of what the reduction's members have called. */
dsgd_await dsgd_schedule_reduction(dsgd_channel *channel, struct dsgd_reduction *reduction);

/**
 * Rank 0 gathers from each in turn what is ready of @p n tensors, and answers by a binomial tree.
 */
void dsgd_schedule_negotiation(dsgd_channel *channel, size_t n_tensors);

/* --- fusion.c --------------------------------------------------------------------------------- */

struct dsgd_fused;

/**
 * This worker's part in the allreduce of a piece is ready. *tensor is the members' in common, NULL
 * at first. Calls finish() for each worker's own job once its sum is there.
 */
void dsgd_fusion_announce(dsgd_worker *w, struct dsgd_fused **tensor, dsgd_job *job,
                          void (*finish)(dsgd_worker *w, dsgd_job *job));

/* --- gossip.c: for tests ---------------------------------------------------------------------- */

/** Push-sum weight at all workers and on its way, mean over pieces: always P. */
double dsgd_gossip_weight(const dsgd_engine *engine);
