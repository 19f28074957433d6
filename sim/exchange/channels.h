/**
 * @file channels.h
 * Exchanges of vectors that run concurrently with the algorithm: channels and their jobs, packets,
 * and the functions by which every verb starts and ends the exchange of its pieces.
 *
 * A channel is an actor that executes jobs in first-in, first-out order. A worker has one channel
 * if exchanges are blocking, else one per piece. If a worker is a group of hosts, each host has
 * channels for its own pieces. Piece k of every exchange uses channel k mod n_channels, or
 * piece_channel[k]. All workers therefore execute common jobs in the same order, and collectives
 * cannot deadlock.
 *
 * Non-blocking collectives of a group use side channels; there are as many side channels as
 * channels. On an ordinary channel, a collective that waits for other workers would delay the
 * collectives of workers that need not wait.
 *
 * If the platform has `staging`, a piece is copied from device memory to host memory before its
 * exchange, as soon as it is ready, and back afterwards. Each direction has a copy engine, which
 * makes one copy at a time. Copies overlap with computation, with exchanges, and with copies in the
 * other direction.
 */
#pragma once

#include "sim/engine/engine.h"
#include "sim/engine/vectors.h"
#include "sim/observe/observe.h"

enum { DSGD_MAX_CHANNELS = 64 }; /* of a host; there are as many side channels */
enum { DSGD_MAX_ALL_CHANNELS = 1 << 13 }; /* of all hosts of a worker; mailboxes have 16 bits */

typedef struct dsgd_channel dsgd_channel;

/**
 * The exchange of one piece. A family of verbs (a file) has its own job type, which begins with
 * this struct.
 */
typedef struct dsgd_job {
    struct dsgd_job *next; /* next job of the channel */
    /* The actor of the channel calls one of these two functions to execute the job. step() executes
     * one step at a time (sim/network/cluster.h), until it returns DSGD_AWAIT_NOTHING. run() may
     * wait. The function sets `done` if a request has the job. */
    dsgd_await (*step)(dsgd_channel *channel, struct dsgd_job *job);
    void (*run)(dsgd_channel *channel, struct dsgd_job *job);
    size_t piece;
    bool aside; /* uses a side channel, so that it does not delay other jobs */
    bool again; /* set by partial.c: quorum.c puts the job on its channel again once the others have
                   summed without it */
    double not_before_s; /* time at which the piece is in host memory */
    bool done;
    double done_s; /* time of completion */
    int64_t collective; /* number of the worker's collective, from 1; 0 if it is not a collective */
    const char *verb; /* name of the verb, for timelines */
} dsgd_job;

/** The queue of messages into a server, or out of a server by one channel (turns.c). */
struct dsgd_turns {
    struct dsgd_passage *first, *last; /* messages on their way or being processed, in order */
    double free_s; /* time at which the sender's end has finished the bytes of the last message */
    double there_s; /* time at which the receiver's end has finished them */
    double latency_s; /* latency of the last message */
    double treated_s; /* processing time of the last message, which overlaps with other bytes */
    const void *whose; /* into a server: the channel that sent last; out of it: the last receiver */
    bool late; /* out of a server: the last awaited message was late by more than a latency */
    dsgd_semaphore *over; /* into a server: semaphore of the next message */
    bool awaited; /* true if a channel waits at `over` for the end of the first message */
};

/** A channel. The fields that every step reads come first, as in dsgd_worker. */
struct dsgd_channel {
    dsgd_worker *worker;
    dsgd_job *current; /* job that is being executed, taken from the list; NULL if there is none */
    dsgd_job *first, *last;
    double staging_since_s; /* start of waiting for the piece in host memory; -1 if not waiting */
    int number;
    bool waits; /* true if the actor waits for a post of its semaphore */
    dsgd_semaphore *semaphore;
    dsgd_steps steps;
    size_t span; /* timeline.c: span of the current job */
    struct dsgd_sending *sending; /* schedules.c: a collective sent as messages; NULL without one */
    struct dsgd_schedule *schedule; /* analytic.c: the collective in progress; NULL without one */
    int member; /* index of the worker in `schedule` */
    struct dsgd_turns outlet; /* of a server: messages out of it */
    dsgd_channel *behind; /* the next channel in the queue of senders to a host (turns.c) */
    double came_s; /* time at which the channel joined that queue */
};

/** Starts the channels of a worker or server. The first one gets the number @p number. */
dsgd_channel *dsgd_channels_open(dsgd_worker *w, size_t number);

/** Marks a job as done at the present time. For run() of a job. */
void dsgd_job_finish(dsgd_job *job);

/** Returns the channel for a job: the channel or side channel of its piece. */
dsgd_channel *dsgd_channel_of(dsgd_worker *w, const dsgd_job *job);

/** Appends @p job to the queue of the channel that dsgd_channel_of() returns for it. */
void dsgd_channel_add(dsgd_worker *w, dsgd_job *job);

/** Waits until a job is done; @p in describes the wait. For work and assist actors. */
void dsgd_job_wait(dsgd_worker *w, const dsgd_waiting *in, const dsgd_job *job);

/**
 * Returns the mailbox for messages from rank @p from to rank @p to, or NULL if either rank is -1.
 * As with MPI contexts, messages of different communicators never match. A worker that calls
 * collectives of two communicators in a different order from another member therefore waits for
 * that member. Communicators whose numbers differ by a multiple of 500 share a mailbox.
 */
dsgd_mailbox *dsgd_channel_mailbox(const dsgd_channel *channel, int from, int to,
                                   const dsgd_comm *comm);

/* --- exchanges -------------------------------------------------------------------------------- */

/** The functions of a verb for one piece, which the work actor calls. */
typedef struct dsgd_exchange {
    /** Called when in[k] is ready. Starts the job of the piece, if it has one, by
     * dsgd_exchange_start(). */
    void (*begin)(dsgd_worker *w, size_t k, dsgd_request *request);
    /** Called when the job of piece k is done, before the job is freed. Sets out[k]. */
    void (*end)(dsgd_worker *w, size_t k, dsgd_request *request);
    dsgd_waiting waiting; /* the verb that waits for the end of the exchange */
    bool encodes_itself; /* true if `exchange: encoding` does not compress what the verb sends */
} dsgd_exchange;

/** A piece whose exchange has started. */
typedef struct dsgd_begun {
    dsgd_piece sent; /* the values that are sent, compressed under `exchange: encoding` */
    dsgd_job *job; /* NULL if the piece has no job */
} dsgd_begun;

/** One call of a verb, like an MPI_Request, but for all pieces of a vector or view. */
struct dsgd_request {
    const dsgd_exchange *exchange;
    dsgd_request *next; /* next request of the worker that has not ended */
    dsgd_vector *in; /* vector that is sent; NULL if nothing is sent, in blocking verbs only */
    uint32_t call; /* number of the compression of `in` */
    dsgd_vector *out; /* vector that gets the result; NULL before dsgd_exchange_end() */
    const void *arguments; /* arguments of the verb; NULL after the verb has returned */
    double since_s; /* start time */
    int64_t step; /* the worker's step at the start */
    double staged_s; /* time at which the piece that started last is in host memory */
    double back_s; /* time at which all pieces that have ended are in device memory */
    bool unchanged; /* set by end() if out[k] did not change, so that nothing is copied back */
    const dsgd_vector *of; /* `in`, or `out` of a blocking verb; it has the request's pieces */
    dsgd_begun *begun; /* one per piece, until the request ends */
};

/** Returns the state of piece @p k of a request. */
static inline dsgd_begun *dsgd_begun_of(const dsgd_request *request, size_t k)
{
    return &request->begun[(k - request->of->first) / request->of->stride];
}

/** Puts the job of a piece on its channel. For begin(). */
void dsgd_exchange_start(dsgd_worker *w, dsgd_request *request, dsgd_job *job);

/**
 * Stops the program if the algorithm's traits do not allow this exchange, which is not an allreduce
 * of all workers. @p by_collective: the exchange is a collective.
 */
void dsgd_exchanges_otherwise(const dsgd_worker *w, bool by_collective);

/**
 * Executes a blocking verb. At most n_channels pieces are under way at a time; with fusion, all
 * pieces may be.
 */
void dsgd_exchange_run(dsgd_worker *w, const dsgd_exchange *exchange, dsgd_vector *in,
                       dsgd_vector *out, const void *arguments);

/** Starts a non-blocking verb, with all its pieces. */
dsgd_request *dsgd_exchange_begin(dsgd_worker *w, const dsgd_exchange *exchange, dsgd_vector *in,
                                  const void *arguments);

/** Returns the first job of a request that is not done, or NULL if all are done. */
const dsgd_job *dsgd_request_undone(const dsgd_request *request);

/**
 * Counts a poll that found nothing. The millionth poll at one instant does not return, and the run
 * reports that the worker waits for ever.
 */
void dsgd_count_poll(dsgd_worker *w, bool (*lacks)(const dsgd_worker *, const dsgd_job *, int),
                     const dsgd_job *job);

/**
 * Sets the age of out[k] to @p lag if in[k] was computed from a gradient, because out[k] then mixes
 * gradients at several models. For end().
 */
void dsgd_exchange_gradients(dsgd_request *request, size_t k, dsgd_lag lag);

/** Returns the number of requests under way. Stores the step of the oldest one in *step. */
size_t dsgd_requests_left(const dsgd_worker *w, int64_t *step);

/**
 * Returns the number of messages that a host has not received. Stores the host's step at the
 * arrival of the oldest one in *step.
 */
size_t dsgd_messages_left(const dsgd_worker *w, int64_t *step);

/** Waits for all pieces, ends them, and frees the request, like MPI_Wait(). */
void dsgd_exchange_end(dsgd_worker *w, dsgd_request *request, dsgd_vector *out);

/* --- staging ---------------------------------------------------------------------------------- */

/**
 * Plans the copy of @p sent, the values of piece @p k of x, to host memory. The copy starts at @p
 * since_s, or when the piece was ready and compressed if that is later. Returns the time at which
 * the copy ends; does not wait.
 */
double dsgd_stage_out(dsgd_worker *w, const dsgd_vector *x, size_t k, const dsgd_piece *sent,
                      double since_s);

/** Plans the copy of a result from host memory, where it is at @p since_s, to device memory.
 * Returns the time at which the copy ends. */
double dsgd_stage_in(dsgd_worker *w, const dsgd_vector *x, size_t k, double since_s);

/**
 * Plans the GPU's work for an NCCL collective of piece @p k of x: the launch, and the copies of
 * @p reduced_bytes into a bucket and back. The GPU does not compute during this work. Returns the
 * time at which the work ends.
 */
double dsgd_stage_collective(dsgd_worker *w, const dsgd_vector *x, size_t k, double reduced_bytes,
                             double since_s);

/**
 * Waits for the time that the framework's operation takes in host memory to exchange piece @p k.
 * Returns false if it takes no time.
 */
bool dsgd_operate(dsgd_worker *w, const dsgd_vector *x, size_t k, int passes);

/** Wait until the end of a copy, or for some seconds; the time counts as communication. */
void dsgd_staging_wait(dsgd_worker *w, double until_s);
void dsgd_spend(dsgd_worker *w, double seconds);

/* --- packets ---------------------------------------------------------------------------------- */

/** A piece of a vector on its way between two workers, or between a worker and a server. */
typedef struct dsgd_packet {
    int from, channel; /* rank and channel of the sender, for an answer */
    int host; /* index of the sender in engine->workers */
    int kind; /* kind of request, for the worker or server that answers it */
    double bytes, sent_s;
    size_t span; /* return value of dsgd_observe_sent() */
    size_t piece;
    dsgd_piece content;
    double share; /* share of the content that the receiver gets (gossip) */
    int64_t version; /* version of a server's piece */
    struct incoming *whole; /* messages.c: the message that this packet is a part of */
    struct dsgd_passage *passage; /* turns.c: its place in the queue into a server */
    double there_s; /* turns.c: arrival time if the packet meets no other traffic */
} dsgd_packet;

/** Returns a new packet with piece @p k, which holds a reference to the value of @p content. */
dsgd_packet *dsgd_packet_new(dsgd_worker *w, int channel, size_t k, dsgd_piece content);
void dsgd_packet_free(dsgd_worker *w, dsgd_packet *message);

/**
 * Returns the seconds that a receiver spends on a message of @p bytes: the cost of a message, plus
 * the reduction of @p reduced_bytes, plus @p more_s.
 */
static inline double dsgd_received_cost_s(const dsgd_worker *w, double bytes, double reduced_bytes,
                                          double more_s)
{
    static const double least_s = 1e-9; /* shorter sleeps do not exist in SimGrid */
    const double cost_s = dsgd_platform_message_s(w->engine->config->platform, bytes) +
                          reduced_bytes * w->wire.reduction_s_per_byte + more_s;
    return cost_s > 0 && cost_s < least_s ? least_s : cost_s;
}

/** Returns the seconds that a receiver spends on a packet without a piece. */
static inline double dsgd_packet_cost_s(const dsgd_worker *w)
{
    return dsgd_received_cost_s(w, 0, 0, 0);
}

/** Returns the seconds that a receiver spends on a packet whose piece is added or copied. */
static inline double dsgd_piece_cost_s(const dsgd_worker *w, const dsgd_piece *piece, size_t k,
                                       double passes)
{
    const dsgd_encoded *const encoded = piece->encoded;
    const double whole = w->engine->layout.piece_bytes[k];
    const double added = encoded == NULL || encoded->decodes ? whole : encoded->bytes[k];
    const bool decodes = encoded != NULL && encoded->decodes;
    /* The handshakes of a server overlap with the messages of others. */
    const double bytes = dsgd_is_server(w) ? 0 : dsgd_encoded_bytes(w->engine, encoded, k);
    return dsgd_received_cost_s(w, bytes, passes * added,
                                decodes ? whole * w->engine->costs.encoding_s_per_byte : 0);
}

/** Sleeps for @p cost_s seconds, if it is greater than 0. */
void dsgd_sleep_cost(double cost_s);

/** Counts a packet that has arrived. Returns the time at which both sides were ready. */
double dsgd_packet_arrived(dsgd_worker *w, const dsgd_packet *message, double waiting_since_s);

/**
 * Counts a packet that has arrived, then sleeps for @p cost_s. The time since both sides were ready
 * counts as communication.
 */
void dsgd_packet_received(dsgd_worker *w, const dsgd_packet *message, double waiting_since_s,
                          double cost_s);

/* --- turns.c: messages to hosts that answer any worker ---------------------------------------- */

/**
 * Waits in the queue of senders to the host @p to, until @p channel may send. The order is by time
 * of arrival, then by rank, then by channel. dsgd_inbound_leave() lets the next channel send. A
 * channel is in at most one such queue at a time.
 */
void dsgd_inbound_enter(dsgd_worker *to, dsgd_channel *channel);
void dsgd_inbound_leave(dsgd_worker *to);

/**
 * Sends a packet from a worker to a server, or back. Waits for the packet's turn. A worker then
 * waits until the packet has arrived, and a server until its bytes have left.
 */
void dsgd_packet_send(dsgd_channel *channel, dsgd_worker *to, dsgd_mailbox *mailbox,
                      dsgd_packet *message);

/** Returns the seconds that the receiver spends on such a packet. */
double dsgd_packet_treated_s(const dsgd_worker *to, const dsgd_packet *message);

/** Marks a packet that came by dsgd_packet_send() as processed by the server. */
void dsgd_packet_treated(dsgd_worker *server, const dsgd_packet *message);

/* --- schedules.c: collectives, executed by channels ------------------------------------------- */

/**
 * Executes the next step of an allreduce of all workers (if @p gathers: of an allgather), of @p
 * bytes in total, by the algorithm of `exchange: collective`. Returns DSGD_AWAIT_NOTHING at the
 * end. @p meeting is as in analytic.h.
 */
dsgd_await dsgd_schedule_fused(dsgd_channel *channel, bool gathers, double bytes,
                               struct dsgd_schedule **meeting);

/** Executes the next step of the collective that the members of a reduction have called. */
dsgd_await dsgd_schedule_reduction(dsgd_channel *channel, struct dsgd_reduction *reduction);

/**
 * Executes a negotiation of Horovod: rank 0 gathers the list of ready tensors from each worker in
 * turn, and broadcasts the answer by a binomial tree.
 */
void dsgd_schedule_negotiation(dsgd_channel *channel, size_t n_tensors);

/* --- fusion.c --------------------------------------------------------------------------------- */

struct dsgd_fused;

/**
 * Announces that this worker's part in the allreduce of a piece is ready. All members pass the same
 * @p tensor; *tensor is NULL at first. Calls finish() for the job of each worker when its sum is
 * complete.
 */
void dsgd_fusion_announce(dsgd_worker *w, struct dsgd_fused **tensor, dsgd_job *job,
                          void (*finish)(dsgd_worker *w, dsgd_job *job));

/* --- gossip.c: for tests ---------------------------------------------------------------------- */

/** Returns the push-sum weight of all workers and of all messages on their way, averaged over the
 * pieces. It is always P. */
double dsgd_gossip_weight(const dsgd_engine *engine);
