/**
 * @file schedule.c
 * Makes the schedules of all kinds of pipelines except swarm. Each kind determines the order of
 * each host's tasks. These orders are merged into one order of all tasks, in which no task waits
 * for a later task. One pass over the merged order then gives all times.
 */
#include "sim/hybrid/schedule.h"
#include "sim/hybrid/swarm.h"

enum { MOST_TASKS = 10000000 };

static bool is_two_way(dsgd_pipeline_kind kind)
{
    return kind == DSGD_PIPELINE_GEMS || kind == DSGD_PIPELINE_CHIMERA;
}

static int64_t slots_of(const dsgd_pipeline_shape *shape)
{
    return is_two_way(shape->kind)                    ? 2
           : shape->kind == DSGD_PIPELINE_INTERLEAVED ? shape->n_chunks
                                                      : 1;
}

dsgd_status dsgd_pipeline_check(const dsgd_pipeline_shape *shape, dsgd_error *error)
{
    const int64_t stages = shape->n_stages, micro_batches = shape->n_micro_batches;
    if (stages < 1 || micro_batches < 1)
        return dsgd_refuse(error,
                           "a pipeline needs at least 1 stage and 1 micro-batch, got %jd and %jd",
                           (intmax_t)stages, (intmax_t)micro_batches);
    if (is_two_way(shape->kind) && (stages < 2 || micro_batches < 2 ||
                                    (shape->kind == DSGD_PIPELINE_CHIMERA && stages % 2 != 0)))
        return dsgd_refuse(
            error,
            "%s has two pipelines in opposite directions, so it needs at least 2 stages "
            "(chimera: an even number) and at least 2 micro-batches, got %jd and %jd",
            dsgd_pipeline_words[shape->kind], (intmax_t)stages, (intmax_t)micro_batches);
    if (shape->kind == DSGD_PIPELINE_INTERLEAVED &&
        (shape->n_chunks < 1 || micro_batches % stages != 0))
        return dsgd_refuse(
            error,
            "interleaved needs at least 1 chunk, and a multiple of its %jd stages as "
            "micro_batches, got %jd and %jd",
            (intmax_t)stages, (intmax_t)shape->n_chunks, (intmax_t)micro_batches);
    if (shape->n_jobs > 1 && micro_batches % shape->n_jobs != 0)
        return dsgd_refuse(error, "micro-batches must be a multiple of the %jd jobs, got %jd",
                           (intmax_t)shape->n_jobs, (intmax_t)micro_batches);
    const int64_t each = dsgd_at_least_one(shape->n_stage_hosts) * slots_of(shape);
    if (3.0 * (double)stages * (double)micro_batches * (double)each > MOST_TASKS)
        return dsgd_refuse(
            error, "%jd stages and %jd micro-batches give more than %d tasks per step. Use fewer",
            (intmax_t)stages, (intmax_t)micro_batches, MOST_TASKS);
    return DSGD_OK;
}

/* The order of a host's tasks, while the order is made. */
typedef struct order {
    const dsgd_pipeline_shape *shape;
    int32_t host;
    dsgd_pipeline_task *next;
} order;

int64_t dsgd_pipeline_part(const dsgd_pipeline_shape *shape, int64_t host, int64_t slot)
{
    if (is_two_way(shape->kind))
        return slot == 0 ? host : shape->n_stages - 1 - host;
    return slot * shape->n_stages + host;
}

static void add(order *o, dsgd_pipeline_phase phase, int64_t micro_batch, int64_t slot)
{
    *o->next++ = (dsgd_pipeline_task){.host = o->host,
                                      .slot = (int32_t)slot,
                                      .part = (int32_t)dsgd_pipeline_part(o->shape, o->host, slot),
                                      .micro_batch = (int32_t)micro_batch,
                                      .phase = phase};
}

static void order_gpipe(order *o)
{
    const int64_t jobs = o->shape->n_jobs, n = o->shape->n_micro_batches / jobs;
    for (int64_t first = 0; first < jobs * n; first += n) {
        for (int64_t m = 0; m < n; m++)
            add(o, DSGD_FORWARD, first + m, 0);
        for (int64_t m = n; m-- > 0;)
            add(o, DSGD_BACKWARD, first + m, 0);
    }
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/*
 * Adds the k-th pass of a host. First, D micro-batches pass the first chunk of the host, then the
 * second chunk, and so on. Then the next D micro-batches follow.
 */
static void add_pass(order *o, dsgd_pipeline_phase phase, int64_t k)
{
    const int64_t stages = o->shape->n_stages, chunks = slots_of(o->shape),
                  chunk = k / stages % chunks;
    add(o, phase, k / (stages * chunks) * stages + k % stages,
        phase == DSGD_FORWARD ? chunk : chunks - 1 - chunk);
}

/*
 * Orders a host's tasks as 1F1B. The number of micro-batches under way at host d is the number of
 * hosts from d to the end of the pipeline. With interleaved it is the smallest number of passes
 * with which no pass is late. With zero-bubble, host d delays the gradients of the weights by d
 * micro-batches, because the host that waits for the fewest passes has the most idle time to fill.
 */
static void order_1f1b(order *o)
{
    const int64_t stages = o->shape->n_stages, chunks = slots_of(o->shape),
                  n = o->shape->n_micro_batches * chunks;
    const int64_t behind = stages - 1 - o->host;
    const bool interleaved = o->shape->kind == DSGD_PIPELINE_INTERLEAVED,
               apart = o->shape->kind == DSGD_PIPELINE_ZERO_BUBBLE;
    const int64_t ahead = smaller(interleaved ? 2 * behind + (chunks - 1) * stages : behind, n);
    for (int64_t k = 0; k < ahead; k++)
        add_pass(o, DSGD_FORWARD, k);
    for (int64_t k = 0; k < n + (apart ? o->host : 0); k++) {
        if (ahead + k < n)
            add_pass(o, DSGD_FORWARD, ahead + k);
        if (k < n)
            add_pass(o, DSGD_BACKWARD, k);
        if (apart && k >= o->host)
            add_pass(o, DSGD_WEIGHTS, k - o->host);
    }
}

static void order_gems(order *o)
{
    for (int64_t m = 0; m < o->shape->n_micro_batches; m++) {
        add(o, DSGD_FORWARD, m, m % 2);
        add(o, DSGD_BACKWARD, m, m % 2);
    }
}

/**
 * Returns the micro-batch of one direction that uses time slot @p t, or -1 if no micro-batch uses
 * the slot. The schedule begins at slot 0, and all tasks take one slot. D / 2 micro-batches use
 * every second slot, and the next D / 2 micro-batches start 2 D slots later (README.md).
 */
static int64_t at_slot(int64_t t, int64_t stages)
{
    const int64_t unit = t / 2 / stages, in_unit = t / 2 % stages;
    return t < 0 || t % 2 != 0 || in_unit >= stages / 2 ? -1 : unit * (stages / 2) + in_unit;
}

/*
 * Orders a host's tasks in both directions by time slots. No two tasks of a host share a slot.
 * Every second micro-batch goes in the opposite direction.
 */
static void order_chimera(order *o)
{
    const int64_t stages = o->shape->n_stages, n = o->shape->n_micro_batches;
    const dsgd_pipeline_task *const end = o->next + 2 * n;
    for (int64_t t = 0; o->next < end; t++)
        for (int i = 0; i < 4; i++) {
            const int64_t slot = i / 2, stage = slot == 0 ? o->host : stages - 1 - o->host;
            const int64_t m = at_slot(t - (i % 2 == 0 ? stage : 2 * stages - 1 - stage), stages);
            if (m >= 0 && 2 * m + slot < n)
                add(o, i % 2 == 0 ? DSGD_FORWARD : DSGD_BACKWARD, 2 * m + slot, slot);
        }
}

static void (*const order_of[DSGD_PIPELINE_ORDERED])(order *) = {
    [DSGD_PIPELINE_GPIPE] = order_gpipe,      [DSGD_PIPELINE_1F1B] = order_1f1b,
    [DSGD_PIPELINE_INTERLEAVED] = order_1f1b, [DSGD_PIPELINE_GEMS] = order_gems,
    [DSGD_PIPELINE_CHIMERA] = order_chimera,  [DSGD_PIPELINE_ZERO_BUBBLE] = order_1f1b,
};

/*
 * Positions of tasks in the merged order of all hosts, while this order is made. at[3][n_parts][N]
 * has the position by phase, part and micro-batch; -1 if the task has no position yet.
 */
typedef struct places {
    const dsgd_pipeline *pipeline;
    int64_t n_parts;
    int32_t *at;
} places;

static int32_t *place(const places *p, const dsgd_pipeline_task *task, int64_t part)
{
    const int64_t row = task->phase * p->n_parts + part;
    return &p->at[row * p->pipeline->shape.n_micro_batches + task->micro_batch];
}

/*
 * Finds the task that sends the message that @p task needs. Returns false if that task has no
 * position yet.
 */
static bool find_needed(const places *p, dsgd_pipeline_task *task)
{
    const bool forward = task->phase == DSGD_FORWARD;
    const bool is_second = is_two_way(p->pipeline->shape.kind) && task->slot == 1;
    const int64_t from = forward ? task->part - 1 : task->part + 1,
                  stages = p->pipeline->shape.n_stages;
    const int64_t other = (task->host + (forward != is_second ? stages - 1 : 1)) % stages;
    task->needs = task->link = -1;
    /* true if the input of the task is on the task's own host */
    if (task->phase == DSGD_WEIGHTS || from < 0 || from == p->n_parts)
        return true;
    task->needs = *place(p, task, from);
    if (other != task->host)
        task->link =
            (int32_t)(llabs(other - task->host) == 1 ? smaller(other, task->host) : stages - 1);
    return task->needs >= 0;
}

/* Merges the orders of all hosts into one order. @p row has the orders: [D][tasks of a host]. */
static void place_all(dsgd_pipeline *pipeline, dsgd_pipeline_task *row)
{
    const int64_t stages = pipeline->shape.n_stages, each = pipeline->n_tasks / stages;
    places p = {.pipeline = pipeline,
                .n_parts = (is_two_way(pipeline->shape.kind) ? 1 : pipeline->n_slots) * stages};
    const size_t n = (size_t)(3 * p.n_parts * pipeline->shape.n_micro_batches);
    p.at = memset(dsgd_xcalloc(n, sizeof *p.at), -1, n * sizeof *p.at);
    int64_t *const next = dsgd_xcalloc((size_t)stages, sizeof *next);
    for (int32_t placed = 0, had = -1; placed < pipeline->n_tasks;) {
        DSGD_ASSERT(placed > had, "the orders of %s wait for each other",
                    dsgd_pipeline_words[pipeline->shape.kind]);
        had = placed;
        for (int64_t d = 0; d < stages; d++)
            for (dsgd_pipeline_task *task;
                 next[d] < each && find_needed(&p, task = &row[d * each + next[d]]); next[d]++) {
                /*
                 * at this time, member `before` of a host's previous task contains the position of
                 * that task
                 */
                task->before = next[d] == 0 ? -1 : task[-1].before;
                pipeline->task[placed] = *task;
                task->before = placed;
                *place(&p, task, task->part) = placed++;
            }
    }
    free(p.at);
    free(next);
}

/*
 * Returns the largest number of activations that a host stores at a time. The unit is the
 * activations of one micro-batch in a whole stage.
 */
static double held_in(const dsgd_pipeline *pipeline, const dsgd_pipeline_task *row, int64_t n)
{
    const dsgd_pipeline_phase last =
        pipeline->shape.kind == DSGD_PIPELINE_ZERO_BUBBLE ? DSGD_WEIGHTS : DSGD_BACKWARD;
    int64_t held = 0, most = 0;
    for (int64_t i = 0; i < n; i++) {
        held += (row[i].phase == DSGD_FORWARD) - (row[i].phase == last);
        most = held > most ? held : most;
    }
    return (double)most / (is_two_way(pipeline->shape.kind) ? 1.0 : (double)pipeline->n_slots);
}

dsgd_pipeline *dsgd_pipeline_new(const dsgd_pipeline_shape *shape)
{
    const int64_t stages = shape->n_stages;
    dsgd_pipeline *const pipeline = dsgd_xcalloc(1, sizeof *pipeline);
    pipeline->shape = *shape;
    pipeline->shape.n_jobs = dsgd_at_least_one(shape->n_jobs);
    pipeline->shape.n_stage_hosts = dsgd_at_least_one(shape->n_stage_hosts);
    pipeline->n_slots = slots_of(shape);
    pipeline->weights = is_two_way(shape->kind) ? 2 : 1;
    const int64_t each = shape->n_micro_batches *
                         (shape->kind == DSGD_PIPELINE_ZERO_BUBBLE ? 3 : 2) *
                         (is_two_way(shape->kind) ? 1 : pipeline->n_slots);
    pipeline->n_tasks = each * stages;
    if (shape->kind >= DSGD_PIPELINE_ORDERED)
        return pipeline;
    pipeline->task = dsgd_xcalloc((size_t)pipeline->n_tasks, sizeof *pipeline->task);
    pipeline->held = dsgd_xcalloc((size_t)stages, sizeof *pipeline->held);

    /* [D][each] orders of the tasks of all hosts */
    dsgd_pipeline_task *const row = dsgd_xcalloc((size_t)pipeline->n_tasks, sizeof *row);
    for (int64_t d = 0; d < stages; d++) {
        order o = {.shape = &pipeline->shape, .host = (int32_t)d, .next = &row[d * each]};
        order_of[shape->kind](&o);
        DSGD_ASSERT(o.next == &row[(d + 1) * each], "host %jd of %s has not %jd tasks", (intmax_t)d,
                    dsgd_pipeline_words[shape->kind], (intmax_t)each);
        pipeline->held[d] = held_in(pipeline, &row[d * each], each);
    }
    place_all(pipeline, row);
    free(row);
    return pipeline;
}

void dsgd_pipeline_free(dsgd_pipeline *pipeline)
{
    if (pipeline == NULL)
        return;
    free(pipeline->task);
    free(pipeline->held);
    free(pipeline);
}

double dsgd_pipeline_task_s(const dsgd_pipeline *pipeline, const dsgd_pipeline_seconds *seconds,
                            const dsgd_pipeline_task *task)
{
    const dsgd_pipeline_kind kind = pipeline->shape.kind;
    const int64_t stage = task->part % pipeline->shape.n_stages;
    double task_s =
        task->phase == DSGD_FORWARD ? seconds->forward_s[stage] : seconds->backward_s[stage];
    if (kind == DSGD_PIPELINE_ZERO_BUBBLE && task->phase != DSGD_FORWARD)
        task_s *= task->phase == DSGD_WEIGHTS ? seconds->weights_share : 1 - seconds->weights_share;
    if (kind == DSGD_PIPELINE_INTERLEAVED)
        task_s /= (double)pipeline->n_slots;
    return seconds->slowness == NULL ? task_s : task_s * seconds->slowness[task->host];
}

dsgd_pipeline_times dsgd_pipeline_run(const dsgd_pipeline *pipeline,
                                      const dsgd_pipeline_seconds *seconds, double *end_s,
                                      double *gradient_s)
{
    const int64_t stages = pipeline->shape.n_stages, jobs = pipeline->shape.n_jobs;
    const int64_t of_job = pipeline->shape.n_micro_batches / jobs;
    double makespan_s = 0, all_busy_s = 0;
    memset(gradient_s, 0, (size_t)(stages * pipeline->n_slots * jobs) * sizeof *gradient_s);
    if (pipeline->shape.kind == DSGD_PIPELINE_SWARM)
        return dsgd_swarm_run(pipeline, seconds, end_s, gradient_s);
    for (int64_t i = 0; i < pipeline->n_tasks; i++) {
        const dsgd_pipeline_task *const task = &pipeline->task[i];
        double at_s = task->before >= 0 ? end_s[task->before] : 0;
        if (task->needs >= 0) {
            const double message_s =
                task->link >= 0 && seconds->message_s != NULL ? seconds->message_s[task->link] : 0;
            at_s = fmax(at_s, end_s[task->needs] + message_s);
        }
        const double task_s = dsgd_pipeline_task_s(pipeline, seconds, task);
        end_s[i] = at_s + task_s;
        makespan_s = fmax(makespan_s, end_s[i]);
        if (seconds->done != NULL)
            seconds->done(seconds->listener, &(dsgd_pipeline_pass){task->host, task->micro_batch,
                                                                   task->phase, at_s, end_s[i]});
        all_busy_s += task_s;
        if (task->phase != DSGD_FORWARD) /* the backward pass that ends last overwrites the times of
                                          * earlier passes */
            gradient_s[(task->host * pipeline->n_slots + task->slot) * jobs +
                       task->micro_batch / of_job] = end_s[i];
    }
    const double bubble_share = makespan_s > 0 ? 1 - all_busy_s / ((double)stages * makespan_s) : 0;
    return (dsgd_pipeline_times){.makespan_s = makespan_s, .bubble_share = bubble_share};
}
