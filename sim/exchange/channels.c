/**
 * @file channels.c
 * Implements channels and their jobs, the copies of staging, the loops over the chunks of an
 * exchange, and packets.
 */
#include "sim/exchange/channels.h"

#include "base/round.h"
#include "sim/exchange/reductions.h"

/* --- channels and jobs ------------------------------------------------------------------------ */

static void end_job(dsgd_channel *channel)
{
    channel->current = NULL;
    dsgd_timeline_end(channel->worker->engine, channel->span);
    dsgd_work_wake(channel->worker);
}

static void run_job(void *argument)
{
    dsgd_channel *const channel = argument;
    channel->current->run(channel, channel->current);
    end_job(channel);
}

/**
 * Executes the next step of the channel's job, whose chunk is in host memory. Returns
 * DSGD_AWAIT_NOTHING after the last step.
 */
static dsgd_await step_job(dsgd_channel *channel)
{
    if (channel->current->step == NULL)
        return (dsgd_await){.kind = DSGD_AWAIT_CALL, .call = {run_job, channel}};
    const dsgd_await await = channel->current->step(channel, channel->current);
    if (await.kind == DSGD_AWAIT_NOTHING)
        end_job(channel);
    return await;
}

/** Takes the next job from the queue. Waits until the job's chunk is in host memory. */
static dsgd_await take_job(dsgd_channel *channel)
{
    const dsgd_job *const job = channel->current = channel->first;
    channel->first = job->next;
    channel->span = dsgd_timeline_begin(channel->worker, (dsgd_span){.kind = DSGD_SPAN_EXCHANGE,
                                                                     .peer = -1,
                                                                     .track = channel->number,
                                                                     .piece = (int64_t)job->piece,
                                                                     .version = -1,
                                                                     .verb = job->verb});
    const double left_s = job->not_before_s - dsgd_now_s();
    if (left_s <= 0)
        return (dsgd_await){DSGD_AWAIT_NOTHING};
    channel->staging_since_s = dsgd_now_s();
    return (dsgd_await){.kind = DSGD_AWAIT_SECONDS, .amount = left_s};
}

static dsgd_await next_of_channel(void *argument)
{
    dsgd_channel *const channel = argument;
    dsgd_worker *const w = channel->worker;
    dsgd_await await = {DSGD_AWAIT_NOTHING};
    while (await.kind == DSGD_AWAIT_NOTHING) {
        const bool staged = channel->staging_since_s >= 0;
        if (channel->current == NULL && channel->first == NULL) {
            channel->waits = true;
            return (dsgd_await){.kind = DSGD_AWAIT_POST, .semaphore = channel->semaphore};
        }
        if (w->clock.stopped && (staged || channel->current == NULL))
            return (dsgd_await){.kind = DSGD_AWAIT_POST, .semaphore = w->engine->never_semaphore};
        if (staged)
            dsgd_count_communication(w, channel->staging_since_s);
        channel->staging_since_s = -1;
        await = channel->current == NULL ? take_job(channel) : step_job(channel);
    }
    return await;
}

dsgd_channel *dsgd_channels_open(dsgd_worker *w, size_t number)
{
    const dsgd_engine *const engine = w->engine;
    const size_t n = engine->layout.n_channels;
    dsgd_channel *const new = dsgd_run_alloc(w->engine, n * sizeof *new);
    for (size_t i = 0; i < n; i++) {
        new[i].worker = w;
        new[i].number = (int)(number + i);
        new[i].semaphore = dsgd_semaphore_new();
        new[i].staging_since_s = -1;
        new[i].steps = (dsgd_steps){next_of_channel, &new[i], 0};
    }
    for (size_t k = 0; engine->hybrid.replica != NULL && k < engine->layout.n_pieces; k++)
        new[engine->layout.piece_channel[k]].steps.lane = engine->layout.piece_lane[k];
    for (size_t i = 0; i < n; i++)
        dsgd_steps_start(w->host, &new[i].steps);
    return new;
}

/* Side channels are started at their first use, because most runs do not need them. */
dsgd_channel *dsgd_channel_of(dsgd_worker *w, const dsgd_job *job)
{
    const dsgd_engine *const engine = w->engine;
    const size_t n = engine->layout.n_channels;
    if (job->aside && w->wire.side_channels == NULL)
        w->wire.side_channels = dsgd_channels_open(w, n);
    return &(job->aside ? w->wire.side_channels
                        : w->wire.channels)[engine->hybrid.replica == NULL
                                                ? job->piece % n
                                                : engine->layout.piece_channel[job->piece]];
}

void dsgd_channel_add(dsgd_worker *w, dsgd_job *job)
{
    dsgd_channel *const channel = dsgd_channel_of(w, job);
    job->next = NULL;
    if (channel->first == NULL)
        channel->first = job;
    else
        channel->last->next = job;
    channel->last = job;
    dsgd_timeline_look(w->engine, w->host);
    if (channel->waits) {
        channel->waits = false;
        dsgd_semaphore_post(channel->semaphore);
    }
}

void dsgd_job_finish(dsgd_job *job)
{
    job->done = true;
    job->done_s = dsgd_now_s();
}

void dsgd_job_wait(dsgd_worker *w, const dsgd_waiting *in, const dsgd_job *job)
{
    if (job->done)
        return;
    dsgd_wait *const wait = dsgd_wait_begin(w, in, job);
    wait->collective = job->collective;
    while (!job->done)
        dsgd_work_sleep(w);
    dsgd_wait_end(w, wait);
}

enum { TAGS = 500, TAG_BITS = 16 };
_Static_assert(DSGD_MAX_ALL_CHANNELS <= 1 << (TAG_BITS - 2), "one communicator at least");

/**
 * Returns the first tag of a communicator's mailboxes. If a worker has more channels than
 * DSGD_MAX_CHANNELS, there are fewer different tags.
 */
static int tag_of(const dsgd_engine *engine, const dsgd_comm *comm)
{
    const uint64_t n = engine->layout.n_channels;
    if (comm == NULL)
        return 0;
    if (n <= DSGD_MAX_CHANNELS)
        return 2 * DSGD_MAX_CHANNELS * (1 + (int)(comm->id % TAGS));
    return (int)(2 * n * (1 + comm->id % ((1 << TAG_BITS) / (2 * n) - 1)));
}

dsgd_mailbox *dsgd_channel_mailbox(const dsgd_channel *channel, int from, int to,
                                   const dsgd_comm *comm)
{
    const int tag = channel->number + tag_of(channel->worker->engine, comm);
    return from < 0 || to < 0 ? NULL : dsgd_mailbox_of(from, to, DSGD_PORT_COLLECTIVE, tag);
}

/* --- functions that copy between device and host memory --------------------------------------- */

/**
 * Plans a copy. It starts at @p since_s, or when the copy engine is free if that is later. Returns
 * the time at which the copy ends, and stores this time in *free_s.
 */
static double copy(double *free_s, double since_s, double copy_s)
{
    return *free_s = dsgd_greater(*free_s, since_s) + copy_s;
}

/** Returns the seconds that one copy of @p bytes takes, or 0 if the vector is in host memory. */
static double staging_s(const dsgd_vector *x, double bytes)
{
    return x->whole->on_host ? 0 : bytes * x->owner->engine->costs.staging_s_per_byte;
}

/**
 * Returns @p since_s, or, if that is later, the time at which chunk @p k became ready in the
 * computation on which x depends.
 */
static double ready_since_s(const dsgd_worker *w, const dsgd_vector *x, size_t k, double since_s)
{
    const dsgd_computation *const computation = &w->gpu.computation;
    const int64_t awaits = x->whole->awaits;
    return awaits >= 0 && awaits == computation->number
               ? dsgd_greater(since_s, computation->ready_s[k])
               : since_s;
}

double dsgd_stage_out(dsgd_worker *w, const dsgd_vector *x, size_t k, const dsgd_piece *sent,
                      double since_s)
{
    const double copy_s = staging_s(x, dsgd_encoded_bytes(w->engine, sent->encoded, k));
    if (sent->encoded != NULL)
        since_s = dsgd_greater(since_s, sent->encoded_s);
    return copy_s <= 0
               ? since_s
               : copy(&dsgd_copies_of(w, k)->out_s, ready_since_s(w, x, k, since_s), copy_s);
}

double dsgd_stage_collective(dsgd_worker *w, const dsgd_vector *x, size_t k, double reduced_bytes,
                             double since_s)
{
    const dsgd_platform *const p = w->engine->config->platform;
    /* without fusion, adds the time of the launch here; with fusion, reduce_fused() adds it */
    const double launch_s = dsgd_fuses(w->engine) ? 0 : p->collective_launch_s;
    const double cost_s = launch_s + reduced_bytes * p->collective_copy_s_per_byte;
    if (cost_s <= 0 || x->whole->on_host || w->engine->config->workload->memory == DSGD_MEMORY_HOST)
        return since_s;
    dsgd_gpu_ask(w, cost_s);
    return copy(&dsgd_copies_of(w, k)->out_s, ready_since_s(w, x, k, since_s), cost_s);
}

double dsgd_stage_in(dsgd_worker *w, const dsgd_vector *x, size_t k, double since_s)
{
    const double copy_s = staging_s(x, w->engine->layout.piece_bytes[k]);
    return copy_s > 0 ? copy(&dsgd_copies_of(w, k)->in_s, since_s, copy_s) : since_s;
}

bool dsgd_operate(dsgd_worker *w, const dsgd_vector *x, size_t k, int passes)
{
    const bool operates =
        w->engine->costs.operation_s_per_byte > 0 && !x->whole->on_host && !dsgd_fuses(w->engine);
    if (operates)
        dsgd_spend(w, passes * w->engine->layout.piece_bytes[k] *
                          w->engine->costs.operation_s_per_byte);
    return operates;
}

void dsgd_staging_wait(dsgd_worker *w, double until_s)
{
    dsgd_spend(w, until_s - dsgd_now_s());
}

void dsgd_spend(dsgd_worker *w, double seconds)
{
    const double since_s = dsgd_now_s();
    if (seconds <= 0)
        return;
    dsgd_sleep(seconds);
    dsgd_stay_if_stopped(w);
    dsgd_count_communication(w, since_s);
}

/* --- exchanges of vectors --------------------------------------------------------------------- */

void dsgd_exchanges_otherwise(const dsgd_worker *w, bool by_collective)
{
    const dsgd_run_config *const config = w->engine->config;
    DSGD_REQUIRE(!dsgd_has_traits(config, DSGD_SENDS_ALLREDUCES),
                 "%s exchanges otherwise than by allreduces of all workers, but says that it does "
                 "not (.traits)",
                 config->algorithm->about.name);
    DSGD_REQUIRE(by_collective || !dsgd_has_traits(config, DSGD_SENDS_COLLECTIVES),
                 "%s exchanges otherwise than by collectives, but says that it does not (.traits)",
                 config->algorithm->about.name);
}

void dsgd_exchange_start(dsgd_worker *w, dsgd_request *request, dsgd_job *job)
{
    dsgd_begun_of(request, job->piece)->job = job;
    job->not_before_s = request->staged_s;
    job->verb = request->exchange->waiting.verb;
    dsgd_channel_add(w, job);
}

/** Returns a new request that exchanges the chunks of the vector @p of. */
static dsgd_request *new_request(dsgd_worker *w, const dsgd_exchange *exchange, dsgd_vector *in,
                                 const dsgd_vector *of, const void *arguments)
{
    dsgd_stay_if_endless(w);
    dsgd_request *const request = dsgd_run_alloc(w->engine, sizeof *request);
    request->of = of;
    request->begun = dsgd_run_alloc(w->engine, dsgd_count_pieces(of) * sizeof *request->begun);
    request->exchange = exchange;
    request->in = in;
    request->arguments = arguments;
    request->since_s = dsgd_now_s();
    if (dsgd_encoded_exchange(w->engine) != NULL && in != NULL && !exchange->encodes_itself)
        request->call = w->clock.encodings++;
    return request;
}

static void begin_piece(dsgd_worker *w, size_t k, dsgd_request *request)
{
    if (request->in != NULL) {
        dsgd_piece *const sent = &dsgd_begun_of(request, k)->sent;
        dsgd_piece_wait(request->in, k);
        *sent = request->in->piece[k];
        if (request->exchange->encodes_itself)
            dsgd_value_retain(sent->value);
        else
            *sent = dsgd_piece_sent(w, request->in, k, request->call);
        request->staged_s = dsgd_stage_out(w, request->in, k, sent, request->since_s);
        dsgd_observe_sends(w, &request->in->piece[k], request->exchange->waiting.verb);
    }
    request->exchange->begin(w, k, request);
}

static void end_piece(dsgd_worker *w, size_t k, dsgd_request *request)
{
    const dsgd_begun *const begun = dsgd_begun_of(request, k);
    dsgd_job *const job = begun->job;
    if (job != NULL)
        dsgd_job_wait(w, &request->exchange->waiting, job);
    request->exchange->end(w, k, request);
    dsgd_value_release(w->engine->learning.values, begun->sent.value);
    const bool operates = dsgd_operate(w, request->out, k, 1);
    if (!request->unchanged)
        request->back_s = dsgd_greater(
            request->back_s, dsgd_stage_in(w, request->out, k,
                                           operates || job == NULL ? dsgd_now_s() : job->done_s));
    dsgd_run_free(job);
}

void dsgd_exchange_run(dsgd_worker *w, const dsgd_exchange *exchange, dsgd_vector *in,
                       dsgd_vector *out, const void *arguments)
{
    const size_t n = dsgd_count_pieces(out);
    /*
     * With fusion, all chunks are announced as soon as they are ready, so all chunks may be under
     * way.
     */
    const size_t window = dsgd_fuses(w->engine) || w->engine->hybrid.replica != NULL
                              ? n
                              : w->engine->layout.n_channels;
    dsgd_request *const request = new_request(w, exchange, in, out, arguments);
    if (in != NULL)
        dsgd_require_same_pieces(in, out);
    request->out = out;
    for (size_t i = 0; i < n + window; i++) {
        if (i >= window)
            end_piece(w, out->first + (i - window) * out->stride, request);
        if (i < n)
            begin_piece(w, out->first + i * out->stride, request);
    }
    dsgd_staging_wait(w, request->back_s);
    dsgd_run_free(request->begun);
    dsgd_run_free(request);
}

dsgd_request *dsgd_exchange_begin(dsgd_worker *w, const dsgd_exchange *exchange, dsgd_vector *in,
                                  const void *arguments)
{
    dsgd_request *const request = new_request(w, exchange, in, in, arguments);
    DSGD_FOR_PIECES (k, in)
        begin_piece(w, k, request);
    request->arguments = NULL;
    request->step = w->node.step;
    request->next = w->wire.requests;
    w->wire.requests = request;
    return request;
}

size_t dsgd_requests_left(const dsgd_worker *w, int64_t *step)
{
    size_t n = 0;
    for (const dsgd_request *r = w->wire.requests; r != NULL; r = r->next, n++)
        *step = r->step;
    return n;
}

/**
 * Returns the address of the pointer to @p request in the list of requests that have not ended.
 * Stops the program if the list does not contain the request.
 */
static dsgd_request **find_request(dsgd_worker *w, const dsgd_request *request)
{
    dsgd_request **link = &w->wire.requests;
    while (*link != NULL && *link != request)
        link = &(*link)->next;
    DSGD_REQUIRE(*link != NULL, /* The error message must not read the request, because a request
                                 * that has ended may be freed. */
                 "worker %d waits in step %jd for a request that is not under way: it has ended "
                 "already, or another worker began it",
                 w->node.rank, w->node.step);
    return link;
}

enum { MOST_POLLS = 1000000 };

void dsgd_count_poll(dsgd_worker *w, bool (*lacks)(const dsgd_worker *, const dsgd_job *, int),
                     const dsgd_job *job)
{
    const double now_s = dsgd_now_s();
    w->wire.polls = w->wire.polled_s == now_s ? w->wire.polls + 1 : 1;
    w->wire.polled_s = now_s;
    if (w->wire.polls < MOST_POLLS)
        return;
    dsgd_waiting *const in = dsgd_run_alloc(w->engine, sizeof *in);
    *in = (dsgd_waiting){"a million polls without time passing", lacks};
    dsgd_wait_begin(w, in, job);
    for (;;)
        dsgd_semaphore_wait(w->engine->never_semaphore);
}

const dsgd_job *dsgd_request_undone(const dsgd_request *request)
{
    DSGD_FOR_PIECES (k, request->of) {
        const dsgd_job *const job = dsgd_begun_of(request, k)->job;
        if (job != NULL && !job->done)
            return job;
    }
    return NULL;
}

void dsgd_exchange_gradients(dsgd_request *request, size_t k, dsgd_lag lag)
{
    dsgd_history *const sum = &request->out->history[k];
    if (request->in->history[k].age < 0)
        return;
    sum->taken = -1;
    sum->age = lag.mean;
    sum->age_max = lag.max;
}

void dsgd_exchange_end(dsgd_worker *w, dsgd_request *request, dsgd_vector *out)
{
    dsgd_request **const link = find_request(w, request);
    *link = request->next;
    dsgd_require_same_pieces(request->in, out);
    request->out = out;
    DSGD_FOR_PIECES (k, out)
        end_piece(w, k, request);
    dsgd_staging_wait(w, request->back_s);
    dsgd_run_free(request->begun);
    dsgd_request **const oldest =
        &w->wire.ended[w->wire.n_ended++ % (sizeof w->wire.ended / sizeof *w->wire.ended)];
    dsgd_run_free(*oldest);
    *oldest = request;
}

void dsgd_request_wait(dsgd_node *self, dsgd_request *request, dsgd_vector *x)
{
    DSGD_OWN(self, x);
    dsgd_exchange_end(dsgd_worker_of(self), request, x);
}

/* --- packets ---------------------------------------------------------------------------------- */

dsgd_packet *dsgd_packet_new(dsgd_worker *w, int channel, size_t k, dsgd_piece content)
{
    dsgd_packet *const message = dsgd_run_alloc(w->engine, sizeof *message);
    dsgd_value_retain(content.value);
    *message = (dsgd_packet){
        .from = w->node.rank,
        .channel = channel,
        .host = w->host,
        .bytes = content.stamp < 0 ? 0 : dsgd_encoded_bytes(w->engine, content.encoded, k),
        .piece = k,
        .content = content,
        .sent_s = dsgd_now_s()};
    return message;
}

void dsgd_packet_free(dsgd_worker *w, dsgd_packet *message)
{
    dsgd_value_release(w->engine->learning.values, message->content.value);
    dsgd_run_free(message);
}

void dsgd_sleep_cost(double cost_s)
{
    if (cost_s > 0)
        dsgd_sleep(cost_s);
}

double dsgd_packet_arrived(dsgd_worker *w, const dsgd_packet *message, double waiting_since_s)
{
    const double started_s = dsgd_greater(message->sent_s, waiting_since_s);
    dsgd_observe_arrived(w, message->host, dsgd_lane_of(w->engine, message->piece), message->bytes,
                         message->span, started_s, &message->content);
    return started_s;
}

void dsgd_packet_received(dsgd_worker *w, const dsgd_packet *message, double waiting_since_s,
                          double cost_s)
{
    const double started_s = dsgd_packet_arrived(w, message, waiting_since_s);
    dsgd_sleep_cost(cost_s);
    dsgd_count_communication(w, started_s);
}
