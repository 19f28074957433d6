/**
 * @file engine.c
 * A worker's computation and steps: vectors in pieces, gradients that become ready in their course, local steps applied at that
 * moment, and the accounting of time and staleness.
 */
#include "sim/engine.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/draw.h"
#include "base/round.h"

/* --- memory of the run ---------------------------------------------------------------------------------------------------------- */

/** Blocks hang in a ring, so that what killed actors held is found at the end. */
struct dsgd_block {
    struct dsgd_block *before, *after;
    _Alignas(max_align_t) unsigned char memory[];
};

void *dsgd_run_alloc(dsgd_engine *engine, size_t bytes)
{
    if (engine->blocks == NULL) {
        engine->blocks = dsgd_xcalloc(1, sizeof *engine->blocks);
        engine->blocks->before = engine->blocks->after = engine->blocks;
    }
    struct dsgd_block *block = dsgd_xcalloc(1, sizeof *block + bytes);
    block->before = engine->blocks;
    block->after = engine->blocks->after;
    block->before->after = block->after->before = block;
    return block->memory;
}

void dsgd_run_free(void *memory)
{
    if (memory == NULL)
        return;
    struct dsgd_block *block =
        (struct dsgd_block *)((unsigned char *)memory - offsetof(struct dsgd_block, memory));
    block->before->after = block->after;
    block->after->before = block->before;
    free(block);
}

void dsgd_run_free_all(dsgd_engine *engine)
{
    while (engine->blocks != NULL && engine->blocks->after != engine->blocks)
        dsgd_run_free(engine->blocks->after->memory);
    free(engine->blocks);
    engine->blocks = NULL;
}

/* --- accounting ----------------------------------------------------------------------------------------------------------------- */

static double overlap_s(double a, double b, double from, double to)
{
    const double start = a > from ? a : from;
    const double end = b < to ? b : to;
    return end > start ? end - start : 0;
}

static bool computing(const dsgd_worker *w)
{
    return w->computation >= 0 && w->ready < w->engine->n_pieces;
}

void dsgd_count_communication(dsgd_worker *w, double from_s)
{
    const double now_s = dsgd_now_s();
    const double start_s = from_s > w->counted_until_s ? from_s : w->counted_until_s;
    w->counted_until_s = now_s;
    const double compute_end_s = computing(w) ? now_s : w->compute_end_s;
    const double hidden_s = overlap_s(start_s, now_s, w->computing_since_s, compute_end_s) +
                            overlap_s(start_s, now_s, w->previous_start_s, w->previous_end_s);
    const double exposed_s = now_s - start_s - hidden_s;
    if (exposed_s > 0)
        w->communicated_s += exposed_s;
}

long dsgd_local_steps(const dsgd_worker *w, size_t piece)
{
    return w->local_steps[piece];
}

double dsgd_piece_share(const dsgd_engine *engine, size_t piece)
{
    return engine->piece_bytes[piece] / engine->bytes;
}

/** Ages beyond the last bin of the histogram count in that. */
static double *age_bin(dsgd_run_result *result, double age)
{
    const size_t bin = age < DSGD_MOST_AGES - 1 ? (size_t)age : DSGD_MOST_AGES - 1;
    if (bin >= result->n_ages) {
        result->ages = dsgd_xrealloc(result->ages, bin + 1, sizeof *result->ages);
        while (result->n_ages <= bin)
            result->ages[result->n_ages++] = 0;
    }
    return &result->ages[bin];
}

void dsgd_count_age(dsgd_engine *engine, double age, double weight)
{
    engine->staleness_sum += weight * age;
    engine->staleness_weight += weight;
    *age_bin(engine->result, age) += weight;
    if (age > engine->result->staleness_max)
        engine->result->staleness_max = age;
}

void dsgd_count_staleness(dsgd_worker *user, int owner, size_t piece, long stamp, double weight)
{
    if (stamp < 0)
        return; /* a null contribution has no age */
    const long by_owner = dsgd_local_steps(&user->engine->workers[owner], piece);
    const long by_user = dsgd_local_steps(user, piece);
    const long now = by_owner < by_user ? by_owner : by_user;
    dsgd_count_age(user->engine, now > stamp ? (double)(now - stamp) : 0, weight);
}

void dsgd_count_message(dsgd_engine *engine, double bytes)
{
    engine->result->messages++;
    engine->result->bytes += bytes;
}

void dsgd_message_cost(dsgd_worker *w, double reduced_bytes)
{
    const dsgd_platform *const platform = w->engine->config->platform;
    const double cost_s =
        platform->message_overhead_s + reduced_bytes * platform->reduction_s_per_byte;
    if (cost_s > 0)
        dsgd_sleep(cost_s);
}

/* --- vectors --------------------------------------------------------------------------------------------------------------------- */

dsgd_origin dsgd_origin_of(const dsgd_worker *w)
{
    return (dsgd_origin){(uint32_t)w->node.rank, (uint64_t)(w->node.step < 0 ? 0 : w->node.step)};
}

void dsgd_work_wake(dsgd_worker *w)
{
    const int n = w->work_waits;
    w->work_waits = 0; /* before anybody runs who sleeps again */
    for (int i = 0; i < n; i++)
        dsgd_semaphore_post(w->work_semaphore);
}

void dsgd_work_sleep(dsgd_worker *w)
{
    w->work_waits++;
    dsgd_semaphore_wait(w->work_semaphore);
}

bool dsgd_piece_ready(const dsgd_vector *x, size_t piece)
{
    const dsgd_worker *const w = x->owner;
    return x->awaits != w->computation || piece < w->ready;
}

void dsgd_piece_wait(dsgd_vector *x, size_t piece)
{
    while (!dsgd_piece_ready(x, piece))
        dsgd_work_sleep(x->owner);
}

void dsgd_piece_set(dsgd_engine *engine, dsgd_piece *piece, dsgd_value value, long stamp)
{
    dsgd_value_release(engine->values, piece->value);
    piece->value = value;
    piece->stamp = stamp;
}

dsgd_vector *dsgd_vector_new(dsgd_node *self)
{
    dsgd_worker *const w = dsgd_worker_of(self);
    const size_t n = w->engine->n_pieces;
    dsgd_vector *x = dsgd_run_alloc(w->engine, sizeof *x + n * sizeof x->piece[0]);
    x->owner = w;
    x->next = w->engine->vectors;
    w->engine->vectors = x;
    x->awaits = -1;
    for (size_t k = 0; k < n; k++)
        x->piece[k] = (dsgd_piece){.stamp = -1, .weight = 1};
    return x;
}

double *dsgd_numbers_new(dsgd_node *self, size_t n)
{
    return dsgd_run_alloc(dsgd_worker_of(self)->engine, n * sizeof(double));
}

dsgd_vector *dsgd_shared(dsgd_node *self)
{
    dsgd_worker *const w = dsgd_worker_of(self);
    if (w->shared == NULL) {
        w->shared = dsgd_vector_new(self);
        for (size_t k = 0; k < w->engine->n_pieces; k++)
            dsgd_piece_set(w->engine, &w->shared->piece[k],
                           dsgd_value_retain(w->initial->piece[k].value), 0);
    }
    return w->shared;
}

dsgd_vector *dsgd_model(dsgd_node *self)
{
    return dsgd_worker_of(self)->model;
}

void dsgd_copy(dsgd_node *self, dsgd_vector *y, dsgd_vector *x)
{
    dsgd_engine *const engine = dsgd_worker_of(self)->engine;
    for (size_t k = 0; k < engine->n_pieces; k++) {
        dsgd_piece_wait(x, k);
        dsgd_piece_wait(y, k);
        dsgd_piece_set(engine, &y->piece[k], dsgd_value_retain(x->piece[k].value),
                       x->piece[k].stamp);
        y->piece[k].weight = x->piece[k].weight;
    }
}

/** y <- (a y + b x) / divisor. */
static void combine(dsgd_worker *w, dsgd_vector *y, double a, double b, dsgd_vector *x,
                    double divisor)
{
    const double weights[2] = {a, b};
    for (size_t k = 0; k < w->engine->n_pieces; k++) {
        dsgd_piece_wait(y, k);
        dsgd_piece_wait(x, k);
        const dsgd_value operands[2] = {y->piece[k].value, x->piece[k].value};
        const dsgd_value sum = dsgd_values_combine(w->engine->values, dsgd_origin_of(w), k, 2,
                                                   operands, weights, divisor);
        dsgd_piece_set(w->engine, &y->piece[k], sum, dsgd_local_steps(w, k));
    }
}

void dsgd_combine(dsgd_node *self, dsgd_vector *y, double a, double b, dsgd_vector *x)
{
    combine(dsgd_worker_of(self), y, a, b, x, 1);
}

void dsgd_divide(dsgd_node *self, dsgd_vector *x, double divisor)
{
    combine(dsgd_worker_of(self), x, 1, 0, x, divisor);
}

void dsgd_vector_read(dsgd_vector *x, double *numbers)
{
    dsgd_engine *const engine = x->owner->engine;
    for (size_t k = 0; k < engine->n_pieces; k++)
        dsgd_values_read(engine->values, k, x->piece[k].value, numbers + engine->piece_begin[k]);
}

/* --- computation ------------------------------------------------------------------------------------------------------------------ */

static double learning_rate(const dsgd_worker *w)
{
    if (w->engine->config->learning == NULL)
        return 1; /* nobody sees it */
    return dsgd_optimizer_lr(&w->engine->config->learning->optimizer, w->node.step);
}

static void local_step_piece(dsgd_worker *w, dsgd_vector *x, const dsgd_vector *g, size_t k)
{
    dsgd_engine *const engine = w->engine;
    const long stamp = ++w->local_steps[k];
    if (engine->values == NULL) {
        x->piece[k].stamp = stamp;
        return;
    }
    const dsgd_value moved = dsgd_values_update(
        engine->values, dsgd_origin_of(w), k, x->piece[k].value, g->piece[k].value,
        &w->optimizer_state[k], (dsgd_rate){learning_rate(w), (uint64_t)stamp});
    dsgd_piece_set(engine, &x->piece[k], moved, stamp);
}

double dsgd_learning_rate(dsgd_node *self)
{
    return learning_rate(dsgd_worker_of(self));
}

void dsgd_follow(dsgd_node *self, dsgd_vector *x, dsgd_vector *g)
{
    (void)self;
    x->awaits = g->awaits;
}

void dsgd_local_step(dsgd_node *self, dsgd_vector *x, dsgd_vector *g)
{
    dsgd_worker *const w = dsgd_worker_of(self);
    const size_t n = w->engine->n_pieces;
    const bool waits = !dsgd_piece_ready(g, n - 1);
    const size_t first_unready = waits ? w->ready : n;
    for (size_t k = 0; k < first_unready; k++)
        local_step_piece(w, x, g, k);
    if (!waits)
        return;
    DSGD_ASSERT(w->n_deferred < DSGD_MAX_DEFERRED, "%zu local steps of one gradient",
                w->n_deferred);
    w->deferred[w->n_deferred].x = x;
    w->deferred[w->n_deferred].g = g;
    w->n_deferred++;
    x->awaits = w->computation;
}

/** Pieces up to @p ready are computed: applies the local steps that waited for them. */
static void pieces_done(dsgd_worker *w, size_t ready)
{
    const size_t before = w->ready;
    w->ready = ready;
    for (size_t i = 0; i < w->n_deferred; i++)
        for (size_t k = before; k < ready; k++)
            local_step_piece(w, w->deferred[i].x, w->deferred[i].g, k);
    dsgd_work_wake(w);
}

/** Computes one gradient: what comes before the backward pass, then the pieces one by one (or all at the end, without overlap). */
static void compute_gradient(dsgd_worker *w)
{
    dsgd_engine *const engine = w->engine;
    const size_t n = engine->n_pieces;
    double backward_s = w->backward_s;
    if (!engine->config->exchange.overlap || n == 1)
        backward_s = 0;
    else if (backward_s > w->compute_s)
        backward_s = w->compute_s;
    double todo_s = w->compute_s - backward_s;
    for (size_t k = 0; k < n; k++) {
        todo_s += backward_s * engine->piece_bytes[k] / engine->bytes;
        if (backward_s == 0 && k + 1 < n)
            continue;
        dsgd_compute(todo_s * engine->reference_flops / w->speed);
        todo_s = 0;
        if (k + 1 == n) {
            w->compute_end_s = dsgd_now_s();
            w->computed_s += w->compute_end_s - w->computing_since_s;
        }
        pieces_done(w, k + 1);
    }
}

void dsgd_gpu_main(void *worker)
{
    dsgd_worker *const w = worker;
    for (;;) {
        while (!computing(w)) {
            w->gpu_waits = true;
            dsgd_semaphore_wait(w->gpu_semaphore);
        }
        compute_gradient(w);
    }
}

/** Waits until nothing is computed. */
static void finish_computation(dsgd_worker *w)
{
    while (computing(w))
        dsgd_work_sleep(w);
    w->n_deferred = 0;
}

/** g <- gradient at x over the first @p count samples of the mini-batch; the others count as zeros. */
static void describe_gradient(dsgd_worker *w, dsgd_vector *g, const dsgd_vector *x, long count)
{
    dsgd_engine *const engine = w->engine;
    const long batch = engine->config->learning->batch;
    const size_t n = engine->n_pieces;
    dsgd_value *const old = engine->gathered;
    dsgd_value *const new = engine->gathered + n;
    for (size_t k = 0; k < n; k++)
        old[k] = x->piece[k].value;
    if (count > 0)
        dsgd_values_gradient(engine->values, dsgd_origin_of(w), (uint32_t)count, old,
                             &w->model_state, new);
    for (size_t k = 0; k < n; k++) {
        dsgd_value value = count > 0 ? new[k] : DSGD_ZERO_VALUE;
        if (count > 0 && count < batch) {
            const double part = (double)count;
            value = dsgd_values_combine(engine->values, dsgd_origin_of(w), k, 1, &new[k], &part,
                                        (double)batch);
            dsgd_value_release(engine->values, new[k]);
        }
        dsgd_piece_set(engine, &g->piece[k], value, 0);
    }
}

/** Lets the GPU compute for a while; g is there at its end. */
static void start_computation(dsgd_worker *w, dsgd_vector *g, double compute_s, double backward_s)
{
    for (size_t k = 0; k < w->engine->n_pieces; k++)
        g->piece[k].stamp = dsgd_local_steps(w, k);
    w->compute_s = compute_s;
    w->backward_s = backward_s;
    w->previous_start_s = w->computing_since_s;
    w->previous_end_s = w->compute_end_s;
    w->computing_since_s = dsgd_now_s();
    w->computation++;
    w->ready = 0;
    g->awaits = w->computation;
    if (w->gpu_waits) {
        w->gpu_waits = false;
        dsgd_semaphore_post(w->gpu_semaphore);
    }
}

/** The samples of the worker's step, where the imbalance hangs on them. */
static dsgd_batch_size batch_size(const dsgd_engine *engine, const dsgd_node *self)
{
    dsgd_batch_size size = {0};
    if (!dsgd_imbalance_reads_samples(engine->imbalance))
        return size;
    const dsgd_stream stream = dsgd_stream_of(engine);
    dsgd_stream_rows(&stream, engine->data, (uint32_t)self->rank, (uint64_t)self->step, &size.rows,
                     &size.longest);
    size.samples = stream.batch;
    return size;
}

double dsgd_compute_time_s(dsgd_node *self)
{
    const dsgd_engine *const engine = dsgd_worker_of(self)->engine;
    const dsgd_step_at at = {engine->config->seed, engine->n_workers, self->rank, self->step,
                             batch_size(engine, self)};
    return dsgd_imbalance_seconds(engine->imbalance, engine->config->workload->step_s, at);
}

void dsgd_gradient(dsgd_node *self, dsgd_vector *g, dsgd_vector *x)
{
    dsgd_gradient_until(self, g, x, 1, INFINITY);
}

/** Micro-batch m begins at m times its length, and its backward pass a forward pass later. */
dsgd_cut dsgd_cut_step(dsgd_node *self, double step_s, int n_micro_batches, double limit_s)
{
    if (step_s <= limit_s)
        return (dsgd_cut){n_micro_batches, step_s};
    const double n = n_micro_batches;
    const double each_s = step_s / n;
    const double forward_s =
        each_s * (1 - dsgd_worker_of(self)->engine->config->workload->backward_share);
    const double begun = fmin(n, fmax(0, dsgd_floor(limit_s / each_s) + 1));
    const double done = fmin(begun, fmax(0, dsgd_floor((limit_s - forward_s) / each_s) + 1));
    if (done == n)
        return (dsgd_cut){n_micro_batches, step_s};
    return (dsgd_cut){(int)done, done * each_s + (begun > done ? forward_s : 0)};
}

int dsgd_gradient_until(dsgd_node *self, dsgd_vector *g, dsgd_vector *x, int n_micro_batches,
                        double limit_s)
{
    dsgd_worker *const w = dsgd_worker_of(self);
    dsgd_engine *const engine = w->engine;
    finish_computation(w);
    const double all_s = dsgd_compute_time_s(self);
    const dsgd_cut cut = dsgd_cut_step(self, all_s, n_micro_batches, limit_s);
    w->share_computed = (double)cut.done / n_micro_batches;
    if (engine->values != NULL)
        describe_gradient(w, g, x,
                          lround(w->share_computed * (double)engine->config->learning->batch));
    /* What was accumulated is final in the backward pass of the last micro-batch; after a drop there is none. */
    const dsgd_workload *const workload = engine->config->workload;
    start_computation(w, g, cut.compute_s,
                      cut.done == n_micro_batches
                          ? workload->backward_share * workload->step_s / n_micro_batches
                          : 0);
    return cut.done;
}

/* --- steps --------------------------------------------------------------------------------------------------------------------------- */

static void sleep_for_ever(dsgd_worker *w)
{
    for (;;)
        dsgd_work_sleep(w);
}

/** Ends the simulation at this instant. */
void dsgd_finish(dsgd_engine *engine)
{
    engine->finished = true;
    dsgd_semaphore_post(engine->end_semaphore);
}

void dsgd_plan_evaluation(dsgd_engine *engine)
{
    const dsgd_learning *const learning = engine->config->learning;
    const double every = learning == NULL ? 0 : learning->evaluate.every;
    engine->evaluations++;
    engine->evaluate_next =
        every > 0 ? dsgd_ceil((double)engine->evaluations * every * engine->n_workers) : INFINITY;
}

static const double rounding = 1e-12; /* of a sum of many shares of steps */

/** Counts a step of all workers; evaluates and ends where it is time for that. */
static void count_step(dsgd_worker *w)
{
    dsgd_engine *const engine = w->engine;
    const dsgd_until *const until = &engine->config->until;
    if (engine->finished)
        sleep_for_ever(w); /* another worker ended the run at this very instant */
    w->steps_done++;
    engine->steps_total++;
    engine->whole_steps += w->share_computed;
    if ((double)engine->steps_total >= engine->evaluate_next && engine->values != NULL) {
        dsgd_plan_evaluation(engine);
        const double accuracy = dsgd_evaluate_now(engine);
        /* Without a number there will never be one again. */
        if (until->accuracy > 0 && (accuracy >= until->accuracy || isnan(accuracy)))
            dsgd_finish(engine);
    }
    const double samples = engine->whole_steps * engine->config->workload->samples;
    if (engine->config->progress != NULL) {
        const double by_steps = (double)engine->steps_total / (double)engine->steps_bound;
        const double by_time = until->seconds > 0 ? dsgd_now_s() / until->seconds : 0;
        const double by_samples = until->samples > 0 ? samples / until->samples : 0;
        atomic_store_explicit(engine->config->progress, fmax(by_steps, fmax(by_time, by_samples)),
                              memory_order_relaxed);
    }
    if (engine->steps_total >= engine->steps_bound ||
        (until->samples > 0 && samples >= until->samples * (1 - rounding)))
        dsgd_finish(engine);
    if (engine->finished)
        sleep_for_ever(w);
}

void dsgd_stay_if_stopped(const dsgd_worker *w)
{
    while (w->stopped)
        dsgd_semaphore_wait(w->engine->never_semaphore);
}

/** Whether this worker was to stop by now, or has done all its steps. */
static bool is_to_stop(dsgd_worker *w)
{
    const dsgd_run_config *const config = w->engine->config;
    const dsgd_stop *const stops = config->stops.v;
    for (size_t i = 0; i < config->stops.n; i++)
        if (stops[i].worker == w->node.rank && dsgd_now_s() >= stops[i].after_s)
            w->stopped = true;
    return w->stopped || (config->steps_each > 0 && w->steps_done >= config->steps_each);
}

bool dsgd_next_step(dsgd_node *self)
{
    dsgd_worker *const w = dsgd_worker_of(self);
    finish_computation(w);
    if (self->step >= 0) {
        w->exposed_s += dsgd_now_s() - w->compute_end_s;
        count_step(w);
    }
    if (w->engine->config->exchange.barrier)
        dsgd_barrier(self);
    self->step++;
    w->draws = 0;
    return !is_to_stop(w);
}

void dsgd_barrier(dsgd_node *self)
{
    dsgd_worker *const w = dsgd_worker_of(self);
    dsgd_engine *const engine = w->engine;
    const long round = engine->barrier_round;
    if (++engine->at_barrier == engine->n_workers) {
        engine->at_barrier = 0;
        engine->barrier_round++;
        for (int i = 0; i < engine->n_workers; i++)
            dsgd_work_wake(&engine->workers[i]);
        return;
    }
    while (engine->barrier_round == round)
        dsgd_work_sleep(w);
}

/* --- choices -------------------------------------------------------------------------------------------------------------------------- */

uint64_t dsgd_random_below(dsgd_node *self, uint64_t n)
{
    dsgd_worker *const w = dsgd_worker_of(self);
    const dsgd_draw at = {.seed = w->engine->config->seed,
                          .purpose = DSGD_DRAW_ALGORITHM,
                          .worker = (uint32_t)self->rank,
                          .step = (uint32_t)self->step,
                          .index = w->draws++};
    return dsgd_draw_below(at, n);
}

dsgd_status dsgd_check_power_of_two(const char *name, int n_workers, dsgd_error *error)
{
    if (dsgd_is_power_of_two(n_workers))
        return DSGD_OK;
    const int below = 1 << dsgd_log2(n_workers);
    return dsgd_fail(error, DSGD_EUSAGE,
                     "%s needs a power of two of workers: %d or %d would do, got %d", name, below,
                     2 * below, n_workers);
}
