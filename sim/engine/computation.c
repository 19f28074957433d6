/**
 * @file computation.c Computes gradients, whose chunks become ready during the backward pass. Local
 * steps and linear combinations are applied when a chunk becomes ready.
 */
#include "base/round.h"
#include "sim/engine/engine.h"
#include "sim/engine/vectors.h"
#include "sim/observe/observe.h"

/* --- local steps ------------------------------------------------------------------------------ */

/**
 * Returns the learning rate of the current local step. A worker uses the number of its step. A
 * server has no steps, so it uses @p made, the number of its local steps.
 */
static double learning_rate(const dsgd_worker *w, int64_t made)
{
    /* returns early, because the learning rate has no effect if nothing is trained */
    if (w->engine->config->learning == NULL)
        return 1;
    return dsgd_optimizer_lr(&w->engine->config->learning->optimizer,
                             dsgd_is_server(w) ? made : w->node.step);
}

static void local_step_piece(dsgd_worker *w, const dsgd_update *update, size_t k,
                             const dsgd_piece *g)
{
    dsgd_engine *const engine = w->engine;
    dsgd_piece *const x = &update->y->piece[k];
    const dsgd_history age = update->x->history[k];
    const size_t p = (size_t)engine->n_workers;
    if (!dsgd_is_server(w))
        engine->computations.stepped[k * p + engine->computations.n_stepped[k]++ % p] =
            w->node.rank;
    const int64_t stamp = ++w->learner.local_steps[k];
    const int64_t updates = update->y->history[k].updates++;
    const double missed = age.taken < 0 ? 0 : dsgd_greater((double)(updates - age.taken), 0);
    /* with servers, ages are counted at each push, not at each local step */
    if (age.age >= 0 && engine->n_servers == 0)
        dsgd_count_gradient(engine, (dsgd_lag){age.age + missed, age.age_max + missed},
                            dsgd_piece_share(engine, k));
    if (engine->learning.values == NULL) {
        x->stamp = stamp;
        x->encoded = NULL;
        return;
    }
    const dsgd_value moved = dsgd_values_update(
        engine->learning.values, dsgd_origin_of(w), k, x->value, g->value,
        &w->learner.optimizer_state[k],
        (dsgd_rate){learning_rate(w, stamp - 1), (uint64_t)(stamp - w->learner.state_since)});
    dsgd_vector_set(update->y, k, moved, stamp);
}

double dsgd_learning_rate(dsgd_node *self)
{
    const dsgd_worker *const w = dsgd_worker_of(self);
    return learning_rate(w, dsgd_local_steps(w, w->engine->layout.n_pieces - 1));
}

void dsgd_follow(dsgd_node *self, dsgd_vector *x, dsgd_vector *g)
{
    DSGD_OWN(self, x, g);
    dsgd_require_same_pieces(x, g);
    if (!dsgd_vector_ready(g))
        x->whole->awaits = g->whole->awaits;
}

void dsgd_local_step(dsgd_node *self, dsgd_vector *x, dsgd_vector *g)
{
    DSGD_OWN(self, x, g);
    dsgd_worker *const w = dsgd_worker_of(self);
    dsgd_update_when_ready(w, (dsgd_update){.apply = local_step_piece, .y = x, .x = g});
    /* wakes assist(), which may wait in dsgd_next_turn() for local steps */
    if (dsgd_vector_ready(g))
        dsgd_work_wake(w);
}

/* --- values of gradients ---------------------------------------------------------------------- */

/**
 * Sets g to the gradient at x[n_pieces] over the first @p count samples of the mini-batch. The
 * other samples count as zeros.
 */
static void describe_gradient(dsgd_worker *w, dsgd_vector *g, const dsgd_piece *x, int64_t count)
{
    dsgd_engine *const engine = w->engine;
    const int64_t batch = engine->config->learning->batch;
    const size_t n = engine->layout.n_pieces;
    dsgd_value *const old = dsgd_xcalloc(2 * n, sizeof *old);
    dsgd_value *const new = old + n;
    for (size_t k = 0; k < n; k++)
        old[k] = x[k].value;
    if (count > 0)
        dsgd_values_gradient(engine->learning.values, dsgd_origin_of(w), (uint32_t)count, old,
                             &w->learner.model_state, new);
    for (size_t k = 0; k < n; k++) {
        dsgd_value value = count > 0 ? new[k] : DSGD_ZERO_VALUE;
        if (count > 0 && count < batch) {
            const double part = (double)count;
            value = dsgd_values_combine(engine->learning.values, dsgd_origin_of(w), k, 1, &new[k],
                                        &part, (double)batch);
            dsgd_value_release(engine->learning.values, new[k]);
        }
        dsgd_piece_set(engine, &g->piece[k], value, 0);
    }
    free(old);
}

/**
 * Inputs of a gradient that may be cancelled. The value of the gradient is computed from these
 * inputs when the gradient ends.
 */
struct dsgd_undescribed {
    dsgd_vector *g;
    int64_t count;
    /* [n_pieces] chunks of the model at the start of the gradient; their values are retained */
    dsgd_piece x[];
};

static void keep_inputs(dsgd_worker *w, dsgd_vector *g, const dsgd_vector *x, int64_t count)
{
    const size_t n = w->engine->layout.n_pieces;
    struct dsgd_undescribed *const u = dsgd_run_alloc(w->engine, sizeof *u + n * sizeof u->x[0]);
    u->g = g;
    u->count = count;
    for (size_t k = 0; k < n; k++) {
        u->x[k] = x->piece[k];
        dsgd_value_retain(u->x[k].value);
    }
    w->gpu.computation.undescribed = u;
}

static void drop_inputs(dsgd_worker *w)
{
    struct dsgd_undescribed *const u = w->gpu.computation.undescribed;
    for (size_t k = 0; u != NULL && k < w->engine->layout.n_pieces; k++)
        dsgd_value_release(w->engine->learning.values, u->x[k].value);
    w->gpu.computation.undescribed = NULL;
    dsgd_run_free(u);
}

/* --- the GPU ---------------------------------------------------------------------------------- */

/**
 * Returns how much slower the worker's host is than the reference GPU: the ratio of the computation
 * times. The steps of a group of hosts are already in seconds of its own hosts, so their ratio is
 * 1.
 */
static double slowness(const dsgd_worker *w)
{
    if (w->engine->hybrid.replica != NULL)
        return 1;
    return w->engine->reference_flops / w->speed / dsgd_cluster_speed(w->host);
}

/**
 * Performs the current part of a computation while collectives or other work may slow it down. The
 * computation has rate 1. While a collective runs, it has rate 1 - s, where s is the platform's
 * collective share. A change of the rate posts the semaphore. Work that is requested in the
 * meantime is added. So T seconds of work during a collective of C seconds take T + s C if the
 * collective ends first. Otherwise they take T / (1 - s).
 */
static void compute_beside_others(void *worker)
{
    dsgd_worker *const w = worker;
    const int64_t number = w->gpu.computation.number;
    double left_s = w->gpu.task_s;
    while (left_s + w->gpu.asked_s > 0 && w->gpu.computation.number == number &&
           dsgd_computing(w)) {
        const double share = w->engine->config->platform->collective_share;
        const double rate = w->gpu.n_collectives > 0 ? 1 - share : 1;
        const double since_s = dsgd_now_s();
        left_s += w->gpu.asked_s;
        w->gpu.asked_s = 0;
        const bool posted = dsgd_semaphore_wait_for(w->gpu.semaphore, left_s / rate);
        left_s = posted ? left_s - (dsgd_now_s() - since_s) * rate : 0;
    }
}

void dsgd_gpu_ask(dsgd_worker *w, double seconds)
{
    if (dsgd_computing(w))
        w->gpu.asked_s += seconds;
}

void dsgd_gpu_has_collectives(dsgd_worker *w, int more)
{
    const bool did = w->gpu.n_collectives > 0;
    w->gpu.n_collectives += more;
    if (did != (w->gpu.n_collectives > 0) && w->gpu.computes &&
        w->engine->config->platform->collective_share > 0)
        dsgd_semaphore_post(w->gpu.semaphore);
}

/** Returns true if chunks of the gradient become ready one after another, not all at the end. */
static bool overlaps(const dsgd_engine *engine)
{
    const dsgd_run_config *const config = engine->config;
    return config->exchange.overlap && engine->layout.n_pieces > 1 &&
           !(config->algorithm->traits & DSGD_CANCELS);
}

/**
 * Computes until the next chunk is ready, or to the end of one pass. The first chunk becomes ready
 * after the forward pass and its part of the backward pass.
 */
static dsgd_await compute_piece(dsgd_worker *w)
{
    const dsgd_engine *const engine = w->engine;
    const dsgd_computation *const c = &w->gpu.computation;
    const size_t k = c->ready;
    double todo_s = c->pass_s;
    w->gpu.until = c->backward;
    if (c->group_s > 0 && overlaps(engine)) {
        todo_s = dsgd_stages_next_s(w);
    } else if (c->forward == 0) {
        /*
         * Chunks become ready during the backward pass. Without overlap, all chunks become ready at
         * its end.
         */
        const double backward_s = overlaps(engine) ? dsgd_less(c->backward_s, c->compute_s) : 0;
        todo_s = k == 0 ? c->compute_s - backward_s : 0;
        if (backward_s > 0)
            todo_s += backward_s * engine->layout.piece_work[k] / engine->layout.work;
        w->gpu.until = backward_s > 0 ? k + 1 : engine->layout.n_pieces;
    }
    w->gpu.computes = true;
    if (engine->hybrid.replica != NULL)
        dsgd_stages_send(w, todo_s);
    if ((engine->config->algorithm->traits & DSGD_CANCELS) || engine->failures.others_continue ||
        engine->config->platform->collective_share > 0) {
        w->gpu.task_s = todo_s * slowness(w);
        return (dsgd_await){.kind = DSGD_AWAIT_CALL, .call = {compute_beside_others, w}};
    }
    return (dsgd_await){.kind = DSGD_AWAIT_FLOPS,
                        .amount = engine->hybrid.replica != NULL
                                      ? todo_s * dsgd_cluster_speed(w->host)
                                      : todo_s * engine->reference_flops / w->speed};
}

static void count_bubbles(dsgd_worker *w)
{
    if (w->replica != NULL)
        w->gpu.bubbles_s +=
            w->replica->bubble_share * (w->gpu.computation.end_s - w->gpu.computation.since_s);
}

static void end_pieces(dsgd_worker *w)
{
    const dsgd_engine *const engine = w->engine;
    dsgd_computation *const c = &w->gpu.computation;
    const struct dsgd_undescribed *const u = c->undescribed;
    const size_t before = c->ready;
    /*
     * The computation ends with its last chunk. If it is computed pass by pass, it ends here for
     * each pass.
     */
    const bool over = w->gpu.until == w->engine->layout.n_pieces || c->forward > 0;
    w->gpu.computes = false;
    if (over) {
        /* a run that continues after its end has no values */
        if (u != NULL && w->engine->learning.values != NULL)
            describe_gradient(w, u->g, u->x, u->count);
        drop_inputs(w);
        c->runs = false;
        c->end_s = dsgd_now_s();
        w->engine->computations.n_computing--;
        w->gpu.computed_s += c->end_s - c->since_s;
        count_bubbles(w);
        if (engine->hybrid.replica != NULL)
            dsgd_stages_end(w);
        dsgd_timeline_end(w->engine, c->span);
    }
    c->ready = w->gpu.until;
    for (size_t k = before; k < c->ready; k++)
        c->ready_s[k] = dsgd_now_s();
    dsgd_updates_apply(w, before);
    dsgd_ready_wake(w);
    /* wakes assist(), which may wait in dsgd_next_turn() for a computation */
    if (over)
        dsgd_work_wake(w);
}

dsgd_await dsgd_gpu_next(void *worker)
{
    dsgd_worker *const w = worker;
    if (w->gpu.computes && w->gpu.asked_s > 0 && dsgd_computing(w)) {
        const double asked_s = w->gpu.asked_s;
        w->gpu.asked_s = 0;
        return (dsgd_await){.kind = DSGD_AWAIT_FLOPS,
                            .amount = asked_s * dsgd_cluster_speed(w->host)};
    }
    if (w->gpu.computes)
        end_pieces(w);
    if (dsgd_computing(w))
        return compute_piece(w);
    w->gpu.waits = true;
    return (dsgd_await){.kind = DSGD_AWAIT_POST, .semaphore = w->gpu.semaphore};
}

void dsgd_computation_wait(dsgd_worker *w)
{
    const dsgd_computation *const c = &w->gpu.computation;
    DSGD_REQUIRE(c->forward == 0 || c->backward == w->engine->layout.n_pieces,
                 "worker %d continues in step %jd without a backward dsgd_compute_pass() of pieces "
                 "from %zu on; dsgd_compute_pass() must make both passes of each piece",
                 w->node.rank, w->node.step, c->backward);
    while (dsgd_computing(w))
        dsgd_ready_sleep(w, w->engine->layout.n_pieces);
    dsgd_updates_forget(w);
}

/** Counts the start of a computation. Must be called before the GPU computes. */
static void announce(dsgd_worker *w)
{
    dsgd_stay_if_endless(w);
    w->engine->computations.n_computing++;
    dsgd_count_move(w->engine);
}

/**
 * Starts a computation that takes @p alone_s seconds on this host. The forward pass takes the first
 * @p forward_s seconds.
 */
static void start_computation(dsgd_worker *w, double alone_s, double forward_s, const char *verb)
{
    dsgd_computation *const c = &w->gpu.computation;
    dsgd_count_computation(w);
    c->since_s = dsgd_now_s();
    c->runs = true;
    c->span = dsgd_timeline_begin(w, (dsgd_span){DSGD_SPAN_OF_HOST(COMPUTE), .alone_s = alone_s,
                                                 .turn_s = c->since_s + forward_s, .verb = verb});
    if (w->gpu.waits) {
        w->gpu.waits = false;
        dsgd_semaphore_post(w->gpu.semaphore);
    }
}

/**
 * Marks g as a gradient at x whose chunks the current computation makes ready. Both vectors may be
 * views.
 */
static void take_gradient(dsgd_worker *w, dsgd_vector *g, const dsgd_vector *x)
{
    DSGD_FOR_PIECES (k, g) {
        g->piece[k].stamp = dsgd_local_steps(w, k);
        g->piece[k].encoded = NULL;
        g->history[k].taken = x->history[k].updates;
        g->history[k].age = g->history[k].age_max = 0;
    }
    g->whole->awaits = w->gpu.computation.number;
}

static void begin_computation(dsgd_worker *w, double compute_s, double backward_s)
{
    dsgd_computation *const c = &w->gpu.computation;
    c->compute_s = compute_s;
    c->backward_s = backward_s;
    c->number++;
    w->gpu.asked_s = 0;
    c->group_s = c->ready_at_s = 0;
    c->ready = c->forward = c->backward = 0;
}

/* --- start of a gradient ---------------------------------------------------------------------- */

/** Returns the time of a worker's step on the reference GPU, according to its random draws. */
static double drawn_time_s(const dsgd_engine *engine, int rank, int64_t step)
{
    const int64_t drawn = step + engine->workers[rank].gpu.n_cancelled;
    dsgd_batch_size size = {0};
    if (dsgd_imbalance_reads_samples(engine->imbalance)) {
        dsgd_sampler_rows(engine->learning.sampler, engine->learning.data, (uint32_t)rank,
                          (uint64_t)step, &size.rows, &size.longest);
        size.samples = (double)engine->config->learning->batch;
    }
    const dsgd_step_at at = {engine->config->seed, engine->n_workers, rank, drawn, size};
    return engine->hybrid.replica != NULL
               ? dsgd_stages_time_s(&engine->workers[rank], at)
               : dsgd_imbalance_seconds(engine->imbalance, engine->config->workload->step_s, at);
}

/**
 * Returns the time of this worker's step on the reference GPU, including the changes of `what_if`.
 */
static double reference_time_s(dsgd_node *self)
{
    const dsgd_worker *const w = dsgd_worker_of(self);
    const dsgd_engine *const engine = w->engine;
    const dsgd_what_if *const what_if = &engine->config->what_if;
    if (what_if->step_s > 0 && engine->hybrid.replica == NULL)
        return what_if->step_s / slowness(w);
    const bool changed = what_if->factor > 0 && self->rank == what_if->worker;
    const double drawn_s = drawn_time_s(engine, self->rank, self->step);
    return what_if->step_s > 0 ? what_if->step_s : drawn_s * (changed ? what_if->factor : 1);
}

double dsgd_compute_time_s(dsgd_node *self)
{
    return reference_time_s(self) * slowness(dsgd_worker_of(self));
}

/**
 * Returns the time of the backward pass on the reference GPU, for a step that takes the mean time.
 */
static double nominal_backward_s(const dsgd_worker *w)
{
    const dsgd_workload *const workload = w->engine->config->workload;
    return workload->backward_share * (w->replica != NULL ? w->replica->step_s : workload->step_s);
}

void dsgd_gradient(dsgd_node *self, dsgd_vector *g, dsgd_vector *x)
{
    DSGD_OWN(self, g, x);
    dsgd_gradient_until(self, g, x, 1, INFINITY);
}

/**
 * Micro-batch m starts after m times the length of a micro-batch. Its backward pass starts when its
 * forward pass has ended.
 */
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
    DSGD_OWN(self, g, x);
    dsgd_worker *const w = dsgd_worker_of(self);
    dsgd_engine *const engine = w->engine;
    dsgd_require_whole(g, "dsgd_gradient");
    dsgd_require_whole(x, "dsgd_gradient");
    dsgd_computation_wait(w);
    const double all_s = reference_time_s(self);
    /* A failed worker computes nothing. */
    const bool away = engine->failures.by_quorum && w->presence.state != DSGD_HERE;
    const dsgd_cut cut = away ? (dsgd_cut){0, 0}
                              : dsgd_cut_step(self, all_s, n_micro_batches, limit_s / slowness(w));
    w->gpu.computation.share = (double)cut.done / n_micro_batches;
    if (engine->learning.values != NULL) {
        const int64_t count =
            llround(w->gpu.computation.share * (double)engine->config->learning->batch);
        if (engine->config->algorithm->traits & DSGD_CANCELS)
            keep_inputs(w, g, x, count);
        else
            describe_gradient(w, g, x->piece, count);
    }
    /*
     * Chunks become ready in the backward pass of the last micro-batch. If a step was cut short,
     * that pass is not computed.
     */
    const double backward_s =
        cut.done == n_micro_batches ? nominal_backward_s(w) / n_micro_batches : 0;
    announce(w);
    begin_computation(w, cut.compute_s, backward_s);
    if (engine->hybrid.replica != NULL && cut.done == n_micro_batches)
        w->gpu.computation.group_s = all_s / w->replica->step_s / n_micro_batches;
    take_gradient(w, g, x);
    start_computation(w, cut.compute_s * slowness(w),
                      dsgd_greater(cut.compute_s - backward_s, 0) * slowness(w), NULL);
    if (w->presence.state == DSGD_DOWN && !away)
        dsgd_lose_computation(w);
    return cut.done;
}

/* --- functions for gradients that are computed pass by pass ----------------------------------- */

size_t dsgd_units(dsgd_node *self)
{
    const dsgd_engine *const engine = dsgd_worker_of(self)->engine;
    return overlaps(engine) && engine->hybrid.replica == NULL ? engine->layout.n_pieces : 1;
}

/** Starts a pass of the chunks of @p x. @p all_s is the time of this pass for all chunks. */
static void begin_pass(dsgd_worker *w, const dsgd_vector *x, double all_s, const char *verb)
{
    dsgd_computation *const c = &w->gpu.computation;
    double work = 0;
    DSGD_FOR_PIECES (k, x)
        work += w->engine->layout.piece_work[k];
    c->pass_s = all_s * work / w->engine->layout.work;
    w->clock.exposed_s += dsgd_now_s() - dsgd_greater(w->clock.since_s, c->end_s);
    const double alone_s = c->pass_s * slowness(w);
    start_computation(w, alone_s, c->backward == 0 ? alone_s : 0, verb);
}

/**
 * Stops the program if @p are is false. In that case, the chunks of @p x are not the chunks that
 * must be computed next. Also stops the program if the chunks are not one unit.
 */
static void require_next(const dsgd_worker *w, const dsgd_vector *x, bool are, const char *order)
{
    const size_t n = dsgd_count_pieces(x);
    const bool whole = n == w->engine->layout.n_pieces;
    const bool in_units = overlaps(w->engine) && w->engine->hybrid.replica == NULL;
    DSGD_REQUIRE(are && n > 0 && (n == 1 || x->stride == 1) && (whole || in_units),
                 "worker %d calls dsgd_compute_pass() of pieces %zu to %zu in step %jd, which are "
                 "not the next; pieces are computed unit by unit (dsgd_units()), %s",
                 w->node.rank, x->first, x->end, w->node.step, order);
}

/** Waits until the previous pass has ended. */
static void await_turn(dsgd_worker *w)
{
    while (dsgd_computing(w))
        dsgd_ready_sleep(w, 0);
    announce(w);
}

static void forward(dsgd_worker *w, dsgd_vector *x)
{
    dsgd_node *const self = &w->node;
    dsgd_computation *const c = &w->gpu.computation;
    const size_t n = w->engine->layout.n_pieces;
    const bool first = c->forward == 0 || c->backward == n;
    DSGD_REQUIRE(!(w->engine->config->algorithm->traits & DSGD_CANCELS),
                 "worker %d computes pass by pass in step %jd, but may cancel gradients "
                 "(DSGD_CANCELS)",
                 self->rank, self->step);
    require_next(w, x, x->end == (first ? n : n - c->forward),
                 "forward passes from the last to the first");
    if (first)
        dsgd_computation_wait(w);
    await_turn(w);
    if (first) {
        const double all_s = reference_time_s(self);
        begin_computation(w, all_s, dsgd_less(nominal_backward_s(w), all_s));
        c->share = 1;
    }
    c->forward += dsgd_count_pieces(x);
    begin_pass(w, x, c->compute_s - c->backward_s, dsgd_pass);
}

static void backward(dsgd_worker *w, dsgd_vector *g, dsgd_vector *x)
{
    dsgd_computation *const c = &w->gpu.computation;
    const size_t n = w->engine->layout.n_pieces;
    dsgd_require_same_pieces(g, x);
    require_next(w, x, c->forward == n && c->backward < n && x->first == c->backward,
                 "backward passes after all forward passes, from the first to the last");
    await_turn(w);
    if (c->backward == 0 && w->engine->learning.values != NULL)
        describe_gradient(w, g->whole, x->whole->piece, w->engine->config->learning->batch);
    take_gradient(w, g, x);
    c->backward += dsgd_count_pieces(x);
    begin_pass(w, x, c->backward_s, c->backward < n ? dsgd_pass : NULL);
}

void dsgd_compute_pass(dsgd_node *self, dsgd_vector *g, dsgd_vector *x)
{
    DSGD_OWN(self, x);
    if (g == NULL) {
        forward(dsgd_worker_of(self), x);
        return;
    }
    DSGD_OWN(self, g);
    backward(dsgd_worker_of(self), g, x);
}

/** Ends the gradient now. Its time counts as lost. */
static void cancel_now(dsgd_worker *w)
{
    dsgd_engine *const engine = w->engine;
    dsgd_computation *const c = &w->gpu.computation;
    if (dsgd_computing(w)) {
        c->ready = engine->layout.n_pieces;
        c->runs = false;
        c->end_s = dsgd_now_s();
        engine->computations.n_computing--;
        w->gpu.computes = false;
        drop_inputs(w);
        count_bubbles(w);
        dsgd_timeline_cancel(engine, c->span);
        dsgd_semaphore_post(w->gpu.semaphore);
    } else {
        w->gpu.computed_s -= c->end_s - c->since_s;
    }
    w->gpu.lost_s += c->end_s - c->since_s;
    c->share = 0;
}

void dsgd_lose_computation(dsgd_worker *w)
{
    const size_t before = w->gpu.computation.ready;
    /* True if the last computation belongs to an earlier step. Its gradient is then not lost. */
    const bool is_before = w->gpu.computation.since_s < w->clock.since_s;
    if (w->gpu.computation.number < 0 || (!dsgd_computing(w) && is_before))
        return;
    cancel_now(w);
    for (size_t k = before; k < w->engine->layout.n_pieces; k++)
        w->gpu.computation.ready_s[k] = dsgd_now_s();
    dsgd_updates_apply(w, before);
    dsgd_ready_wake(w);
    dsgd_work_wake(w);
}

void dsgd_cancel(dsgd_node *self)
{
    dsgd_worker *const w = dsgd_worker_of(self);
    dsgd_engine *const engine = w->engine;
    dsgd_computation *const c = &w->gpu.computation;
    DSGD_REQUIRE(engine->config->algorithm->traits & DSGD_CANCELS,
                 "%s cancels a gradient, but does not declare it (DSGD_CANCELS)",
                 engine->config->algorithm->about.name);
    if (w->gpu.cancelled)
        return;
    DSGD_REQUIRE(c->number >= 0 && c->first_deferred == NULL, "worker %d cancels in step %jd %s",
                 self->rank, self->step,
                 c->number < 0 ? "before its first gradient" : "a gradient that an update follows");
    cancel_now(w);
    w->gpu.cancelled = true;
}
