/**
 * @file channels.h
 * Exchanges of vectors that run concurrently with the algorithm. This header declares channels and
 * their jobs, packets, and the functions by which every verb starts and ends the exchange of its
 * chunks.
 *
 * A channel is an actor that executes jobs in first-in, first-out order. If exchanges are blocking,
 * a worker has one channel; otherwise it has one channel per chunk. If a worker is a group of
 * hosts, each host has channels for its own chunks. Chunk k of every exchange uses channel k mod
 * n_channels, or channel piece_channel[k] in a group of hosts. All workers therefore execute common
 * jobs in the same order, and collectives cannot deadlock.
 *
 * Non-blocking collectives of a group use side channels; there are as many side channels as
 * channels. On an ordinary channel, a collective that waits for other workers would delay the
 * collectives of workers that need not wait.
 *
 * If the platform has `staging`, a chunk is copied from device memory to host memory as soon as it
 * is ready, and is exchanged after this copy. The result is copied back to device memory. Each
 * direction has a copy engine, which makes one copy at a time. Copies overlap with computation,
 * with exchanges, and with copies in the other direction.
 */
#pragma once

#include "sim/engine/engine.h"
#include "sim/engine/vectors.h"
#include "sim/observe/observe.h"

/* Largest number of channels of a host; there are as many side channels. */
enum { DSGD_MAX_CHANNELS = 64 };
/* Largest number of channels of all hosts of a worker; tags of mailboxes have 16 bits. */
enum { DSGD_MAX_ALL_CHANNELS = 1 << 13 };

typedef struct dsgd_channel dsgd_channel;

/**
 * The exchange of one chunk. Each family of verbs has its own job type in its own file. The type
 * starts with this struct.
 */
typedef struct dsgd_job {
    struct dsgd_job *next; /* next job in the queue of the channel */
    /*
     * The actor of the channel calls either step() or run() to execute the job. step() executes one
     * step at a time (sim/network/cluster.h) until it returns DSGD_AWAIT_NOTHING. run() executes
     * the whole job, and may wait. If the job belongs to a request, the function also sets `done`.
     */
    dsgd_await (*step)(dsgd_channel *channel, struct dsgd_job *job);
    void (*run)(dsgd_channel *channel, struct dsgd_job *job);
    size_t piece;
    bool aside; /* true if the job uses a side channel, so that it does not delay other jobs */
    bool again; /* true if quorum.c puts the job on its channel again, after the running workers
                 * have computed the sum without this worker (set by partial.c) */
    double not_before_s; /* earliest start of the job: time at which the chunk is in host memory */
    bool done;
    double done_s; /* time at which the job was completed */
    int64_t collective; /* number of this collective among the worker's collectives, from 1; 0 if
                         * the job is not a collective */
    const char *verb; /* name of the verb that made the job, for timelines */
} dsgd_job;

/**
 * The queue of messages into a server, or of messages that one channel sends out of a server
 * (turns.c).
 */
struct dsgd_turns {
    struct dsgd_passage *first, *last; /* first and last of the messages that are on their way or
                                        * being processed, in the order of sending */
    double free_s; /* time at which the sending end has finished the bytes of the last message */
    double there_s; /* time at which the receiving end has finished the bytes of the last message */
    double latency_s; /* latency of the last message, in seconds */
    double treated_s; /* processing time of the last message in seconds; it overlaps with the bytes
                       * of other messages */
    const void *whose; /* for a queue into a server: the channel that sent last; for a queue out of
                        * a server: the last receiver */
    bool late; /* for a queue out of a server: true if the message that was awaited last was late by
                * more than the latency */
    dsgd_semaphore *over; /* for a queue into a server: semaphore of the channel that sends next */
    bool awaited; /* true if a channel waits at the semaphore `over` for the end of the first
                   * message */
};

/**
 * The state of a channel. The fields that every step of a job reads come first, as in dsgd_worker.
 */
struct dsgd_channel {
    dsgd_worker *worker;
    dsgd_job *current; /* job that the channel executes, which is no longer in the list; NULL if the
                        * channel is idle */
    dsgd_job *first, *last;
    double staging_since_s; /* time at which the wait for the chunk's copy to host memory
                             * started; -1 if there is no such wait */
    int number;
    bool waits; /* true if the actor of the channel waits for a post of its semaphore */
    dsgd_semaphore *semaphore;
    dsgd_steps steps;
    size_t span; /* timeline.c: span of the current job in the timeline */
    struct dsgd_sending *sending; /* schedules.c: state of a collective that is sent as messages;
                                   * NULL if the channel sends none */
    struct dsgd_schedule *schedule; /* analytic.c: the collective in progress whose times are
                                     * computed; NULL if the channel executes no such collective */
    int member; /* index of the worker among the members of `schedule` */
    struct dsgd_turns outlet; /* queue of messages out of a server; unused in channels of workers */
    dsgd_channel *behind; /* next channel in the queue of channels that want to send to the same
                           * host (turns.c) */
    double came_s; /* time at which the channel joined the queue of senders to a host */
};

/**
 * Starts the channels of a worker or server, and returns them. The first channel gets the number @p
 * number, and the other channels get the numbers after it.
 */
dsgd_channel *dsgd_channels_open(dsgd_worker *w, size_t number);

/** Marks a job as done at the present time. Called by the function run() of a job. */
void dsgd_job_finish(dsgd_job *job);

/**
 * Returns the channel of the job's chunk: a side channel if job->aside is true, otherwise an
 * ordinary channel.
 */
dsgd_channel *dsgd_channel_of(dsgd_worker *w, const dsgd_job *job);

/** Appends @p job to the queue of its channel, which dsgd_channel_of() returns. */
void dsgd_channel_add(dsgd_worker *w, dsgd_job *job);

/**
 * Waits until a job is done. @p in contains the name of the waiting verb, for reports. Only work
 * and assist actors may call it.
 */
void dsgd_job_wait(dsgd_worker *w, const dsgd_waiting *in, const dsgd_job *job);

/**
 * Returns the mailbox for messages from rank @p from to rank @p to, or NULL if one of the ranks is
 * -1. As with contexts in MPI, messages of different communicators never match. So if two members
 * call the collectives of two communicators in different orders, each waits for the other.
 * Communicators whose numbers differ by a multiple of 500 share a mailbox.
 */
dsgd_mailbox *dsgd_channel_mailbox(const dsgd_channel *channel, int from, int to,
                                   const dsgd_comm *comm);

/* --- exchanges of vectors --------------------------------------------------------------------- */

/** The functions of a verb for one chunk. The work actor calls them. */
typedef struct dsgd_exchange {
    /**
     * Called when chunk k of the vector `in` is ready. Starts the job of the chunk by
     * dsgd_exchange_start(), if the verb has a job for it.
     */
    void (*begin)(dsgd_worker *w, size_t k, dsgd_request *request);
    /**
     * Called when the job of chunk k is done, and before the job is freed. Sets chunk k of the
     * vector `out`.
     */
    void (*end)(dsgd_worker *w, size_t k, dsgd_request *request);
    dsgd_waiting waiting; /* name of the verb that waits for the end of the exchange, and the
                           * workers for which it waits */
    bool encodes_itself; /* true if `exchange: encoding` does not apply to chunks of this verb */
} dsgd_exchange;

/** State of a chunk whose exchange has started, in a request. */
typedef struct dsgd_begun {
    dsgd_piece sent; /* values that are sent; compressed if `exchange: encoding` is set */
    dsgd_job *job; /* job that exchanges the chunk; NULL if the chunk has no job */
} dsgd_begun;

/** One call of a verb. It is like an MPI_Request, but it covers all chunks of a vector or view. */
struct dsgd_request {
    const dsgd_exchange *exchange;
    dsgd_request *next; /* next request of the same worker that has not ended */
    dsgd_vector *in; /* vector that is sent; NULL if a blocking verb sends nothing */
    uint32_t call; /* number of the compression of `in` in the worker's step */
    dsgd_vector *out; /* vector that receives the result; for a non-blocking verb, it is NULL before
                       * dsgd_exchange_end() */
    const void *arguments; /* arguments of the verb; NULL after a non-blocking verb has returned */
    double since_s; /* time at which the request started */
    int64_t step; /* step of the worker in which a non-blocking request started */
    double staged_s; /* time at which the most recently started chunk is in host memory */
    double back_s; /* time at which the results of all ended chunks are in device memory */
    bool unchanged; /* true if end() did not change the chunk of `out`, so that no result must be
                     * copied back */
    const dsgd_vector *of; /* vector that determines the chunks of the request: `in`, or `out` if
                            * the verb is blocking */
    dsgd_begun *begun; /* array with one entry per chunk, until the request ends */
};

/** Returns the state of chunk @p k in a request. */
static inline dsgd_begun *dsgd_begun_of(const dsgd_request *request, size_t k)
{
    return &request->begun[(k - request->of->first) / request->of->stride];
}

/** Puts the job of a chunk on its channel. Called by the function begin() of an exchange. */
void dsgd_exchange_start(dsgd_worker *w, dsgd_request *request, dsgd_job *job);

/**
 * Stops the program if the traits of the algorithm forbid this exchange, which is not an allreduce
 * of all workers. @p by_collective is true if the exchange is a collective.
 */
void dsgd_exchanges_otherwise(const dsgd_worker *w, bool by_collective);

/**
 * Executes a blocking verb. At most n_channels chunks are exchanged at the same time. With fusion,
 * or if workers are groups of hosts, all chunks may be exchanged at the same time.
 */
void dsgd_exchange_run(dsgd_worker *w, const dsgd_exchange *exchange, dsgd_vector *in,
                       dsgd_vector *out, const void *arguments);

/** Starts a non-blocking verb with all its chunks, and returns its request. */
dsgd_request *dsgd_exchange_begin(dsgd_worker *w, const dsgd_exchange *exchange, dsgd_vector *in,
                                  const void *arguments);

/** Returns the first job of a request that is not done, or NULL if all jobs are done. */
const dsgd_job *dsgd_request_undone(const dsgd_request *request);

/**
 * Counts a poll that found nothing. After a million polls at one instant, this function does not
 * return, and the run reports that the worker waits for ever.
 */
void dsgd_count_poll(dsgd_worker *w, bool (*lacks)(const dsgd_worker *, const dsgd_job *, int),
                     const dsgd_job *job);

/**
 * Sets the age of chunk k of the result to @p lag, if the chunk that was sent was computed from a
 * gradient. The result then mixes gradients that were computed at several models. Called by the
 * function end() of an exchange.
 */
void dsgd_exchange_gradients(dsgd_request *request, size_t k, dsgd_lag lag);

/**
 * Returns the number of requests that have not ended. Stores the step of the oldest request in
 * *step.
 */
size_t dsgd_requests_left(const dsgd_worker *w, int64_t *step);

/**
 * Returns the number of messages that have arrived at a host but that the host has not received. If
 * there are any, stores the step of the host at the arrival of the oldest one in *step.
 */
size_t dsgd_messages_left(const dsgd_worker *w, int64_t *step);

/** Waits for all chunks of a request, ends them, and frees the request, like MPI_Wait(). */
void dsgd_exchange_end(dsgd_worker *w, dsgd_request *request, dsgd_vector *out);

/* --- functions that copy between device and host memory (staging) ----------------------------- */

/**
 * Plans the copy of @p sent to host memory, and returns the time at which the copy ends. @p sent
 * holds the values of chunk @p k of x. The copy starts at @p since_s, or, if that is later, when
 * the chunk is ready and compressed. This function does not wait.
 */
double dsgd_stage_out(dsgd_worker *w, const dsgd_vector *x, size_t k, const dsgd_piece *sent,
                      double since_s);

/**
 * Plans the copy of a result from host memory to device memory, and returns the time at which the
 * copy ends. The result is in host memory at @p since_s.
 */
double dsgd_stage_in(dsgd_worker *w, const dsgd_vector *x, size_t k, double since_s);

/**
 * Plans the GPU's work for an NCCL collective of chunk @p k of x, and returns the time at which
 * this work ends. The work consists of the launch, and of copies of @p reduced_bytes into a bucket
 * and back. The GPU does not compute during this work.
 */
double dsgd_stage_collective(dsgd_worker *w, const dsgd_vector *x, size_t k, double reduced_bytes,
                             double since_s);

/**
 * Waits for the time of the framework's operation in host memory that belongs to the exchange of
 * chunk @p k. The time is multiplied by @p passes. Returns false if the operation takes no time.
 */
bool dsgd_operate(dsgd_worker *w, const dsgd_vector *x, size_t k, int passes);

/**
 * The next two functions wait until virtual time @p until_s, or for some seconds. The waiting time
 * counts as communication.
 */
void dsgd_staging_wait(dsgd_worker *w, double until_s);
void dsgd_spend(dsgd_worker *w, double seconds);

/* --- packets ---------------------------------------------------------------------------------- */

/**
 * A chunk of a vector, or a request for one, on its way between two workers, or between a worker
 * and a server.
 */
typedef struct dsgd_packet {
    int from, channel; /* from: rank of the sender; channel: number of the channel to which an
                        * answer is sent */
    int host; /* index of the sending worker or server in engine->workers */
    int kind; /* kind of the request; each verb defines its own kinds */
    double bytes, sent_s;
    size_t span; /* span of the message in the timeline, which dsgd_observe_sent() returned */
    size_t piece;
    dsgd_piece content;
    double share; /* share of the content that the receiver gets in gossip */
    int64_t version; /* number of pushes that the chunk of a server includes so far */
    struct incoming *whole; /* messages.c: the message that this packet is a part of */
    struct dsgd_passage *passage; /* turns.c: place of the packet in the queue into a server */
    double there_s; /* turns.c: time at which the packet arrives if no other traffic delays it */
} dsgd_packet;

/**
 * Returns a new packet with chunk @p k. The packet holds a reference to the value of @p content.
 */
dsgd_packet *dsgd_packet_new(dsgd_worker *w, int channel, size_t k, dsgd_piece content);
void dsgd_packet_free(dsgd_worker *w, dsgd_packet *message);

/**
 * Returns the seconds that a receiver spends on a message of @p bytes: the overhead of a message,
 * plus the reduction of @p reduced_bytes, plus @p more_s seconds.
 */
static inline double dsgd_received_cost_s(const dsgd_worker *w, double bytes, double reduced_bytes,
                                          double more_s)
{
    static const double least_s = 1e-9; /* SimGrid cannot sleep for a shorter time */
    const double cost_s = dsgd_platform_message_s(w->engine->config->platform, bytes) +
                          reduced_bytes * w->wire.reduction_s_per_byte + more_s;
    return cost_s > 0 && cost_s < least_s ? least_s : cost_s;
}

/** Returns the seconds that a receiver spends on a packet that contains no chunk. */
static inline double dsgd_packet_cost_s(const dsgd_worker *w)
{
    return dsgd_received_cost_s(w, 0, 0, 0);
}

/**
 * Returns the seconds that a receiver spends on a packet whose chunk it adds to a vector or copies.
 */
static inline double dsgd_piece_cost_s(const dsgd_worker *w, const dsgd_piece *piece, size_t k,
                                       double passes)
{
    const dsgd_encoded *const encoded = piece->encoded;
    const double whole = w->engine->layout.piece_bytes[k];
    const double added = encoded == NULL || encoded->decodes ? whole : encoded->bytes[k];
    const bool decodes = encoded != NULL && encoded->decodes;
    /*
     * A server spends no time on a rendezvous, because its handshakes overlap with the messages of
     * other workers.
     */
    const double bytes = dsgd_is_server(w) ? 0 : dsgd_encoded_bytes(w->engine, encoded, k);
    return dsgd_received_cost_s(w, bytes, passes * added,
                                decodes ? whole * w->engine->costs.encoding_s_per_byte : 0);
}

/** Sleeps for @p cost_s seconds, if @p cost_s is greater than 0. */
void dsgd_sleep_cost(double cost_s);

/**
 * Counts a packet that has arrived. Returns the time at which both the sender and the receiver were
 * ready.
 */
double dsgd_packet_arrived(dsgd_worker *w, const dsgd_packet *message, double waiting_since_s);

/**
 * Counts a packet that has arrived, and then sleeps for @p cost_s seconds. The time since both the
 * sender and the receiver were ready counts as communication.
 */
void dsgd_packet_received(dsgd_worker *w, const dsgd_packet *message, double waiting_since_s,
                          double cost_s);

/* --- functions of turns.c for messages to hosts that answer any worker ------------------------ */

/**
 * Waits in the queue of channels that want to send to the host @p to, until @p channel may send.
 * The queue is ordered by time of arrival, then by rank, then by channel. dsgd_inbound_leave() lets
 * the next channel send. A channel is in at most one such queue at a time.
 */
void dsgd_inbound_enter(dsgd_worker *to, dsgd_channel *channel);
void dsgd_inbound_leave(dsgd_worker *to);

/**
 * Sends a packet from a worker to a server, or from a server to a worker, after waiting for the
 * packet's turn. Then waits until the packet has arrived (push or fetch from a worker), or until
 * its bytes have left (all other packets).
 */
void dsgd_packet_send(dsgd_channel *channel, dsgd_worker *to, dsgd_mailbox *mailbox,
                      dsgd_packet *message);

/** Returns the seconds that the receiver spends on a packet that dsgd_packet_send() sent. */
double dsgd_packet_treated_s(const dsgd_worker *to, const dsgd_packet *message);

/** Marks a packet that dsgd_packet_send() sent as processed by the server. */
void dsgd_packet_treated(dsgd_worker *server, const dsgd_packet *message);

/* --- functions of schedules.c, by which channels execute collectives -------------------------- */

/**
 * Executes the next step of an allreduce (if @p gathers is true, of an allgather) of all workers,
 * with @p bytes in total and the algorithm of `exchange: collective`. Returns DSGD_AWAIT_NOTHING
 * after the last step. @p meeting is explained at dsgd_analytic_begin().
 */
dsgd_await dsgd_schedule_fused(dsgd_channel *channel, bool gathers, double bytes,
                               struct dsgd_schedule **meeting);

/** Executes the next step of the collective that the members of @p reduction have called. */
dsgd_await dsgd_schedule_reduction(dsgd_channel *channel, struct dsgd_reduction *reduction);

/**
 * Executes a negotiation of Horovod: rank 0 receives the list of ready tensors from one worker
 * after another, and broadcasts the answer along a binomial tree.
 */
void dsgd_schedule_negotiation(dsgd_channel *channel, size_t n_tensors);

/* --- functions of fusion.c for allreduces as in Horovod --------------------------------------- */

struct dsgd_fused;

/**
 * Announces that this worker's part in the allreduce of a chunk is ready. All members pass the same
 * address @p tensor; *tensor is NULL at first. When the sum is complete, the function finish() is
 * called for the job of each worker.
 */
void dsgd_fusion_announce(dsgd_worker *w, struct dsgd_fused **tensor, dsgd_job *job,
                          void (*finish)(dsgd_worker *w, dsgd_job *job));

/* --- function of gossip.c for tests ----------------------------------------------------------- */

/**
 * Returns the sum of the push-sum weights of all workers and of all messages on their way, averaged
 * over the chunks. The result is always P, up to rounding.
 */
double dsgd_gossip_weight(const dsgd_engine *engine);
