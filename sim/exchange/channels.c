/**
 * @file channels.c
 * What carries exchanges while the algorithm goes on or waits: channels, jobs on them, messages between workers.
 */
#include "sim/engine/engine.h"

#include <stdlib.h>

/* --- channels ---------------------------------------------------------------------------------------------------------------- */

static void channel_main(void *argument)
{
    dsgd_channel *const channel = argument;
    for (;;) {
        while (channel->first == NULL) {
            channel->waits = true;
            dsgd_semaphore_wait(channel->semaphore);
        }
        dsgd_stay_if_stopped(channel->worker);
        dsgd_job *const job = channel->first;
        channel->first = job->next;
        job->run(channel, job);
        dsgd_work_wake(channel->worker);
    }
}

void dsgd_channels_open(dsgd_worker *w)
{
    const size_t n = w->engine->n_channels;
    w->channels = dsgd_xcalloc(n, sizeof *w->channels);
    for (size_t i = 0; i < n; i++) {
        w->channels[i].worker = w;
        w->channels[i].number = (int)i;
        w->channels[i].semaphore = dsgd_semaphore_new();
        dsgd_actor_start(w->host, "channel", channel_main, &w->channels[i]);
    }
}

void dsgd_channels_close(dsgd_worker *w)
{
    for (size_t i = 0; w->channels != NULL && i < w->engine->n_channels; i++)
        dsgd_semaphore_free(w->channels[i].semaphore);
    free(w->channels);
}

void dsgd_channel_add(dsgd_worker *w, dsgd_job *job)
{
    dsgd_channel *const channel = &w->channels[job->piece % w->engine->n_channels];
    job->next = NULL;
    if (channel->first == NULL)
        channel->first = job;
    else
        channel->last->next = job;
    channel->last = job;
    if (channel->waits) {
        channel->waits = false;
        dsgd_semaphore_post(channel->semaphore);
    }
}

void dsgd_job_wait(dsgd_worker *w, const dsgd_job *job)
{
    while (!job->done)
        dsgd_work_sleep(w);
}

void dsgd_exchange_pieces(dsgd_worker *w,
                          void (*begin)(dsgd_worker *w, size_t piece, void *exchange),
                          void (*end)(dsgd_worker *w, size_t piece, void *exchange), void *exchange)
{
    const size_t n = w->engine->n_pieces;
    const size_t window = w->engine->n_channels;
    for (size_t k = 0; k < n + window; k++) {
        if (k >= window)
            end(w, k - window, exchange);
        if (k < n)
            begin(w, k, exchange);
    }
}

dsgd_request *dsgd_request_new(dsgd_worker *w, dsgd_vector *x)
{
    dsgd_request *const request =
        dsgd_run_alloc(w->engine, sizeof *request + w->engine->n_pieces * sizeof request->jobs[0]);
    request->x = x;
    return request;
}

/* --- messages -------------------------------------------------------------------------------------------------------------- */

dsgd_message *dsgd_message_new(dsgd_worker *w, int channel, size_t k, dsgd_piece content)
{
    dsgd_message *const message = dsgd_run_alloc(w->engine, sizeof *message);
    dsgd_value_retain(content.value);
    *message = (dsgd_message){.from = w->node.rank,
                              .channel = channel,
                              .piece = k,
                              .content = content,
                              .share = 1,
                              .sent_s = dsgd_now_s()};
    return message;
}

void dsgd_message_free(dsgd_worker *w, dsgd_message *message)
{
    dsgd_value_release(w->engine->values, message->content.value);
    dsgd_run_free(message);
}

void dsgd_message_received(dsgd_worker *w, const dsgd_message *message, double waiting_since_s,
                           double reduced_bytes)
{
    const double started_s = message->sent_s > waiting_since_s ? message->sent_s : waiting_since_s;
    dsgd_message_cost(w, reduced_bytes);
    dsgd_count_communication(w, started_s);
}
