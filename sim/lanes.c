/**
 * @file lanes.c
 * What carries exchanges while the algorithm goes on or waits: lanes, jobs on them, messages between workers.
 */
#include "sim/engine.h"

#include <stdlib.h>

/* --- lanes ---------------------------------------------------------------------------------------------------------------- */

static void lane_main(void *argument)
{
    dsgd_lane *const lane = argument;
    for (;;) {
        while (lane->first == NULL) {
            lane->waits = true;
            dsgd_semaphore_wait(lane->semaphore);
        }
        dsgd_stay_if_stopped(lane->worker);
        dsgd_job *const job = lane->first;
        lane->first = job->next;
        job->run(lane, job);
        dsgd_work_wake(lane->worker);
    }
}

void dsgd_lanes_open(dsgd_worker *w)
{
    const size_t n = w->engine->n_lanes;
    w->lanes = dsgd_xcalloc(n, sizeof *w->lanes);
    for (size_t i = 0; i < n; i++) {
        w->lanes[i].worker = w;
        w->lanes[i].number = (int)i;
        w->lanes[i].semaphore = dsgd_semaphore_new();
        dsgd_actor_start(w->host, "lane", lane_main, &w->lanes[i]);
    }
}

void dsgd_lanes_close(dsgd_worker *w)
{
    for (size_t i = 0; w->lanes != NULL && i < w->engine->n_lanes; i++)
        dsgd_semaphore_free(w->lanes[i].semaphore);
    free(w->lanes);
}

void dsgd_lane_add(dsgd_worker *w, dsgd_job *job)
{
    dsgd_lane *const lane = &w->lanes[job->piece % w->engine->n_lanes];
    job->next = NULL;
    if (lane->first == NULL)
        lane->first = job;
    else
        lane->last->next = job;
    lane->last = job;
    if (lane->waits) {
        lane->waits = false;
        dsgd_semaphore_post(lane->semaphore);
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
    const size_t window = w->engine->n_lanes;
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

dsgd_message *dsgd_message_new(dsgd_worker *w, int lane, size_t k, dsgd_piece content)
{
    dsgd_message *const message = dsgd_run_alloc(w->engine, sizeof *message);
    dsgd_value_retain(content.value);
    *message = (dsgd_message){.from = w->node.rank,
                              .lane = lane,
                              .piece = k,
                              .content = content,
                              .share = 1,
                              .posted_s = dsgd_now_s()};
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
    const double started_s =
        message->posted_s > waiting_since_s ? message->posted_s : waiting_since_s;
    dsgd_message_cost(w, reduced_bytes);
    dsgd_count_communication(w, started_s);
}
