/**
 * @file test_schedule.c
 * Tests schedules of pipelines. Every micro-batch must go through all stages as early as possible.
 * Bubbles and memory must equal the closed forms that sim/hybrid/README.md derives.
 */
#include "base/draw.h"
#include "sim/hybrid/swarm.h"
#include "tests/support/suite.h"

enum { MOST = 32, MOST_HOSTS = 4 * MOST };

/* A pipeline, its inputs, and the times of its last run. */
typedef struct trial {
    dsgd_pipeline *pipeline;
    double forward_s[MOST], backward_s[MOST], message_s[MOST], slowness[MOST_HOSTS],
        busy_s[MOST_HOSTS];
    dsgd_pipeline_seconds seconds;
    dsgd_pipeline_times times;
    double *end_s, *gradient_s;
} trial;

static trial begin_of(dsgd_pipeline_shape shape)
{
    const int64_t stages = shape.n_stages;
    dsgd_error error = {""};
    ck_assert_msg(dsgd_pipeline_check(&shape, &error) == DSGD_OK, "%s", error.text);
    trial t = {.pipeline = dsgd_pipeline_new(&shape)};
    t.end_s = dsgd_xcalloc((size_t)t.pipeline->n_tasks, sizeof(double));
    const int64_t n_gradients = stages * t.pipeline->n_slots * t.pipeline->shape.n_jobs;
    t.gradient_s = dsgd_xcalloc((size_t)n_gradients, sizeof(double));
    return t;
}

static trial begin(dsgd_pipeline_kind kind, int64_t stages, int64_t micro_batches, int64_t chunks)
{
    return begin_of(
        (dsgd_pipeline_shape){kind, stages, micro_batches, .n_chunks = chunks, .n_jobs = 0});
}

static void count_busy(void *listener, const dsgd_pipeline_pass *pass)
{
    trial *const t = listener;
    t->busy_s[pass->host] += pass->end_s - pass->since_s;
}

static void run(trial *t)
{
    memset(t->busy_s, 0, sizeof t->busy_s);
    t->seconds.forward_s = t->forward_s;
    t->seconds.backward_s = t->backward_s;
    t->seconds.done = count_busy;
    t->seconds.listener = t;
    t->times = dsgd_pipeline_run(t->pipeline, &t->seconds, t->end_s, t->gradient_s);
}

/*
 * Runs a pipeline with equal stages. A forward pass takes f seconds, and a backward pass takes b
 * seconds. The schedule zero_bubble separates w of these b seconds.
 */
static void run_even(trial *t, double f, double b, double w)
{
    for (int i = 0; i < MOST; i++) {
        t->forward_s[i] = f;
        t->backward_s[i] = b;
    }
    t->seconds.weights_share = w / b;
    run(t);
}

static void end(trial *t)
{
    dsgd_pipeline_free(t->pipeline);
    free(t->end_s);
    free(t->gradient_s);
}

/*
 * Returns the makespan of a pipeline with equal stages (sim/hybrid/README.md), or NAN if there is
 * no closed form.
 */
static double closed_s(const dsgd_pipeline_shape *p, double f, double b, double w)
{
    const double d = (double)p->n_stages, n = (double)p->n_micro_batches, v = (double)p->n_chunks,
                 both = f + b;
    switch (p->kind) {
    case DSGD_PIPELINE_GPIPE:
    case DSGD_PIPELINE_1F1B:
        return (n + d - 1) * both;
    case DSGD_PIPELINE_SWARM:
        return (n / fmax((double)p->n_stage_hosts, 1) + d - 1) * both;
    case DSGD_PIPELINE_INTERLEAVED:
        return (n + (d - 1) / v) * both;
    case DSGD_PIPELINE_GEMS:
        return n * both + (d - 1) * (both + (n - 1) * fmax(f, b));
    case DSGD_PIPELINE_CHIMERA:
        return p->n_micro_batches % p->n_stages != 0
                   ? NAN
                   : n * both + (d - 2) * (fmax(f, b) + (n / d - 1) * fabs(b - f));
    default:
        return n * both + (d - 1) * fmax(fmax(f, b - w), both - 2 * w);
    }
}

SUITE(schedules, "pipelines", .seconds = 60);

static const struct {
    double f, b, w;
} evens[] = {{1, 1, 0.5}, {1, 2, 1},         {1, 1.5, 0.25},
             {2, 1, 0.5}, {0.5, 2.25, 1.75}, {0.25, 1.25, 0.75}};

TEST_RANGE(bubbles_equal_their_closed_forms, 0, DSGD_PIPELINE_KINDS)
{
    int n_checked = 0;
    for (int64_t d = 2; d <= 32; d++)
        for (int64_t n = d; n <= 8 * d; n++)
            for (int64_t v = 1; v <= (_i == DSGD_PIPELINE_INTERLEAVED ? 4 : 1); v++) {
                const dsgd_pipeline_shape shape = {(dsgd_pipeline_kind)_i, d, n, v, 1};
                if (dsgd_pipeline_check(&shape, NULL) != DSGD_OK ||
                    isnan(closed_s(&shape, 1, 1, 0.5)))
                    continue;
                trial t = begin(shape.kind, d, n, v);
                for (size_t k = 0; k < sizeof evens / sizeof evens[0]; k++) {
                    const double f = evens[k].f, b = evens[k].b,
                                 makespan_s = closed_s(&shape, f, b, evens[k].w);
                    run_even(&t, f, b, evens[k].w);
                    ck_assert_double_eq_tol(t.times.makespan_s, makespan_s, 1e-9 * makespan_s);
                    ck_assert_double_eq_tol(t.times.bubble_share,
                                            1 - (double)n * (f + b) / makespan_s, 1e-9);
                    n_checked++;
                }
                end(&t);
            }
    ck_assert_int_gt(n_checked, 100);
}

/*
 * J jobs of N micro-batches take the time of one job of J N micro-batches, because the pipeline
 * fills and drains once. With gpipe, each job fills and drains the pipeline. With 1f1b, the
 * gradient of job j is complete in the last stage when this stage has finished all jobs up to j. In
 * each earlier stage, it is complete one backward pass later.
 */
TEST_RANGE(jobs_fill_and_drain_a_pipeline_once, 0, DSGD_PIPELINE_KINDS)
{
    static const int64_t many[] = {2, 3, 5};
    int n_checked = 0;
    for (int64_t d = 2; d <= 32; d++)
        for (int64_t n = d; n <= 8 * d; n += d <= 8 ? 1 : d)
            for (size_t i = 0; i < 3; i++) {
                const int64_t jobs = many[i];
                const dsgd_pipeline_shape all = {(dsgd_pipeline_kind)_i, d, jobs * n, 2, jobs};
                const bool flushes = all.kind == DSGD_PIPELINE_GPIPE;
                if (dsgd_pipeline_check(&all, NULL) != DSGD_OK || isnan(closed_s(&all, 1, 1, 0.5)))
                    continue;
                trial t = begin_of(all);
                for (size_t k = 0; k < 3; k++) {
                    const double f = evens[k].f, b = evens[k].b, w = evens[k].w;
                    const double flush_s = (double)((jobs - 1) * (d - 1)) * (f + b);
                    const double makespan_s = closed_s(&all, f, b, w) + (flushes ? flush_s : 0);
                    run_even(&t, f, b, w);
                    ck_assert_double_eq_tol(t.times.makespan_s, makespan_s, 1e-9 * makespan_s);
                    ck_assert_double_eq_tol(t.times.bubble_share,
                                            1 - (double)(jobs * n) * (f + b) / t.times.makespan_s,
                                            1e-9);
                    for (int64_t g = 0; all.kind == DSGD_PIPELINE_1F1B && g < d * jobs; g++)
                        ck_assert_double_eq_tol(t.gradient_s[g],
                                                (double)(d - 1) * f +
                                                    (double)((g % jobs + 1) * n) * (f + b) +
                                                    (double)(d - 1 - g / jobs) * b,
                                                1e-9 * makespan_s);
                    n_checked++;
                }
                end(&t);
            }
    ck_assert_int_gt(n_checked, 100);
}

/*
 * Bubbles are shares of the total time. Backward passes take as long as forward passes, or twice as
 * long.
 */
TEST(bubbles_equal_the_published_ones)
{
    const double D = 8, N = 24;
    const struct {
        dsgd_pipeline_kind kind;
        double n, backward, share, off;
    } said[] = {{DSGD_PIPELINE_GPIPE, N, 1, (D - 1) / (N + D - 1), 1e-9},
                {DSGD_PIPELINE_1F1B, N, 2, (D - 1) / (N + D - 1), 1e-9},
                {DSGD_PIPELINE_GEMS, 1000, 2, (D - 1) / (D + 0.5), 1e-3},
                {DSGD_PIPELINE_CHIMERA, N, 1, (D - 2) / (2 * N + D - 2), 1e-9},
                {DSGD_PIPELINE_CHIMERA, D, 2, (D - 2) / (1.5 * D + D - 2), 1e-9},
                {DSGD_PIPELINE_ZERO_BUBBLE, N, 2, (D - 1) / (3 * N + D - 1), 1e-9}};
    for (size_t i = 0; i < sizeof said / sizeof said[0]; i++) {
        trial t = begin(said[i].kind, (int64_t)D, (int64_t)said[i].n, 1);
        run_even(&t, 1, said[i].backward, said[i].backward / 2);
        ck_assert_double_eq_tol(t.times.bubble_share, said[i].share, said[i].off);
        end(&t);
    }
}

TEST(activations_and_weights_equal_their_closed_forms)
{
    for (int64_t d = 2; d <= 32; d += 2)
        for (int64_t n = d; n <= 4 * d; n += d)
            for (int kind = 0; kind < DSGD_PIPELINE_ORDERED; kind++) {
                const int64_t v = 3;
                trial t = begin((dsgd_pipeline_kind)kind, d, n, v);
                const bool two_way = kind == DSGD_PIPELINE_GEMS || kind == DSGD_PIPELINE_CHIMERA;
                ck_assert_int_eq(t.pipeline->weights, two_way ? 2 : 1);
                for (int64_t host = 0; host < d; host++) {
                    const int64_t behind = d - 1 - host, from_end = host < behind ? host : behind;
                    const double passes =
                        fmin((double)(2 * behind + (v - 1) * d + 1), (double)(v * n));
                    const double held[DSGD_PIPELINE_ORDERED] = {
                        [DSGD_PIPELINE_GPIPE] = (double)n,
                        [DSGD_PIPELINE_1F1B] = (double)(d - host),
                        [DSGD_PIPELINE_INTERLEAVED] = passes / (double)v,
                        [DSGD_PIPELINE_GEMS] = 1,
                        [DSGD_PIPELINE_CHIMERA] = (double)(d / 2 + 1 + from_end),
                        [DSGD_PIPELINE_ZERO_BUBBLE] = (double)d,
                    };
                    ck_assert_double_eq_tol(t.pipeline->held[host], held[kind], 1e-12);
                }
                end(&t);
            }
}

/* --- Tests of uneven stages and of messages --------------------------------------------------- */

static double some(uint64_t *state, double from, double to)
{
    *state = *state * 6364136223846793005U + 1442695040888963407U;
    return from + (to - from) * (double)(*state >> 11) * 0x1p-53;
}

static void run_uneven(trial *t, uint64_t seed)
{
    for (int i = 0; i < MOST; i++) {
        t->forward_s[i] = some(&seed, 0.5, 2);
        t->backward_s[i] = some(&seed, 0.5, 4);
        t->message_s[i] = some(&seed, 0, 1);
    }
    for (int i = 0; i < MOST_HOSTS; i++)
        t->slowness[i] = some(&seed, 1, 2);
    t->seconds = (dsgd_pipeline_seconds){
        .weights_share = 0.4, .message_s = t->message_s, .slowness = t->slowness};
    run(t);
}

static double message_between(const trial *t, int a, int b)
{
    const int apart = abs(a - b), last = (int)t->pipeline->shape.n_stages - 1;
    ck_assert(apart <= 1 ||
              (apart == last && t->pipeline->shape.kind == DSGD_PIPELINE_INTERLEAVED));
    return apart == 0 ? 0 : t->message_s[apart > 1 ? last : a < b ? a : b];
}

enum { MOST_PARTS = 64, MOST_MICRO_BATCHES = 32 };

/*
 * Checks that every pass happens exactly once, and at the first instant at which its host is free
 * and its input has arrived. Also checks that each gradient ends with its last pass.
 */
static void check_tasks(const trial *t)
{
    const dsgd_pipeline *const p = t->pipeline;
    const bool apart = p->shape.kind == DSGD_PIPELINE_ZERO_BUBBLE;
    const int64_t n_parts =
        p->shape.n_stages * (p->shape.kind == DSGD_PIPELINE_INTERLEAVED ? p->n_slots : 1);
    static const dsgd_pipeline_task *by[3][MOST_PARTS][MOST_MICRO_BATCHES];
    memset(by, 0, sizeof by);
    double free_s[MOST] = {0}, last_s[MOST][4] = {{0}};
    ck_assert_int_eq(p->n_tasks, n_parts * p->shape.n_micro_batches * (apart ? 3 : 2));
    for (int64_t i = 0; i < p->n_tasks; i++) {
        const dsgd_pipeline_task *const task = &p->task[i];
        const int64_t part = dsgd_pipeline_part(&p->shape, task->host, task->slot);
        double ready_s = free_s[task->host];
        const bool forward = task->phase == DSGD_FORWARD;
        const bool turns = task->phase == DSGD_WEIGHTS || (!forward && part == n_parts - 1);
        if (!forward || part > 0) {
            const dsgd_pipeline_task *const needed =
                by[task->phase - turns][turns     ? part
                                        : forward ? part - 1
                                                  : part + 1][task->micro_batch];
            ck_assert_ptr_nonnull(needed);
            ready_s = fmax(ready_s, t->end_s[needed - p->task] +
                                        message_between(t, needed->host, task->host));
        }
        ck_assert_double_eq_tol(t->end_s[i], ready_s + dsgd_pipeline_task_s(p, &t->seconds, task),
                                1e-9);
        ck_assert_ptr_null(by[task->phase][part][task->micro_batch]);
        by[task->phase][part][task->micro_batch] = task;
        free_s[task->host] = t->end_s[i];
        if (task->phase == (apart ? DSGD_WEIGHTS : DSGD_BACKWARD))
            last_s[task->host][task->slot] = fmax(last_s[task->host][task->slot], t->end_s[i]);
    }
    for (int64_t host = 0; host < p->shape.n_stages; host++)
        for (int64_t slot = 0; slot < p->n_slots; slot++)
            ck_assert_double_eq(t->gradient_s[host * p->n_slots + slot], last_s[host][slot]);
}

TEST_RANGE(tasks_begin_as_soon_as_they_can, 0, DSGD_PIPELINE_ORDERED)
{
    static const int64_t shapes[][3] = {{2, 2, 2},   {2, 6, 3}, {4, 4, 1}, {6, 12, 2}, {8, 24, 3},
                                        {10, 10, 4}, {6, 7, 1}, {8, 3, 1}, {1, 3, 2}};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        const dsgd_pipeline_shape shape = {(dsgd_pipeline_kind)_i, shapes[i][0], shapes[i][1],
                                           shapes[i][2], 1};
        if (dsgd_pipeline_check(&shape, NULL) != DSGD_OK)
            continue;
        trial t = begin(shape.kind, shape.n_stages, shape.n_micro_batches, shape.n_chunks);
        run_uneven(&t, i + 1);
        check_tasks(&t);
        end(&t);
    }
}

/*
 * GPipe is a flow shop of N equal jobs. For the forward passes, the makespan contains each stage
 * once and the slowest stage N - 1 additional times. For the backward passes, the makespan contains
 * the stages in the same way.
 */
TEST(gpipe_of_uneven_stages_waits_for_the_slowest)
{
    trial t = begin(DSGD_PIPELINE_GPIPE, 9, 20, 1);
    run_uneven(&t, 7);
    t.seconds.message_s = NULL;
    run(&t);
    double all = 0, most_f = 0, most_b = 0;
    for (int i = 0; i < 9; i++) {
        const double f = t.forward_s[i] * t.slowness[i], b = t.backward_s[i] * t.slowness[i];
        all += f + b;
        most_f = fmax(most_f, f);
        most_b = fmax(most_b, b);
        ck_assert_double_eq_tol(t.busy_s[i], 20 * (f + b), 1e-9);
    }
    ck_assert_double_eq_tol(t.times.makespan_s, all + 19 * (most_f + most_b), 1e-9);
    end(&t);
}

/*
 * The passes take the milliseconds of a block of BERT-Large in micro-batches of 8 on a P100, as the
 * authors of Chimera measured them (prof/bert-large_time_memory_p100.csv of Shigangli/Chimera). The
 * paper's abstract reports 1.16 to 2.34 times the throughput of other schedules, among them 1F1B.
 * We found no figure for 1F1B only.
 */
TEST(chimera_on_a_p100_has_its_published_speedup_over_1f1b)
{
    for (int64_t d = 8; d <= 32; d *= 2) {
        trial one = begin(DSGD_PIPELINE_1F1B, d, d, 1), two = begin(DSGD_PIPELINE_CHIMERA, d, d, 1);
        run_even(&one, 4.500, 7.653, 0);
        run_even(&two, 4.500, 7.653, 0);
        ck_assert_double_ge(one.times.makespan_s / two.times.makespan_s, 1.16);
        ck_assert_double_le(one.times.makespan_s / two.times.makespan_s, 2.34);
        end(&one);
        end(&two);
    }
}

/* --- schedule swarm --------------------------------------------------------------------------- */

static trial begin_swarm(int64_t stages, int64_t peers, int64_t micro_batches)
{
    return begin_of((dsgd_pipeline_shape){.kind = DSGD_PIPELINE_SWARM,
                                          .n_stages = stages,
                                          .n_micro_batches = micro_batches,
                                          .n_stage_hosts = peers});
}

/*
 * K equal peers per stage take the same time as K pipelines of N / K micro-batches each. The result
 * does not depend on which peer takes which micro-batch.
 */
TEST_RANGE(equal_peers_take_the_time_of_parallel_pipelines, 1, 5)
{
    for (int64_t d = 1; d <= 32; d++)
        for (int64_t n = d; n <= 8 * d; n += d <= 8 ? 1 : d) {
            trial t = begin_swarm(d, _i, _i * n);
            for (size_t k = 0; k < sizeof evens / sizeof evens[0]; k++) {
                run_even(&t, evens[k].f, evens[k].b, evens[k].w);
                const double makespan_s = closed_s(&t.pipeline->shape, evens[k].f, evens[k].b, 0);
                ck_assert_double_eq_tol(t.times.makespan_s, makespan_s, 1e-9 * makespan_s);
                ck_assert_double_eq_tol(t.times.bubble_share, (double)(d - 1) / (double)(n + d - 1),
                                        1e-9);
            }
            end(&t);
        }
}

/*
 * One of K peers takes s times as long as the other peers. Its stage finishes K - 1 + 1 / s
 * micro-batches in the time in which another peer finishes one micro-batch. The pipeline takes the
 * time of this stage, the time to fill and drain, and the time of one micro-batch at the slow peer.
 * With fixed pipelines instead, one pipeline of N / K micro-batches takes s times as long, and all
 * pipelines wait for it.
 */
TEST_RANGE(a_slow_peer_reduces_its_stage_by_its_own_speed, 0, 4)
{
    const double f = 1, b = 2, slow[] = {1.5, 3, 10};
    const int64_t d = 4, peers = 4;
    for (int64_t n = 256; n <= 4096; n *= 4)
        for (int k = 0; k < 3; k++) {
            trial t = begin_swarm(d, peers, n), fixed = begin(DSGD_PIPELINE_1F1B, d, n / peers, 1);
            for (int i = 0; i < MOST_HOSTS; i++)
                t.slowness[i] = fixed.slowness[i] = 1;
            t.slowness[_i * peers + 1] = fixed.slowness[_i] = slow[k];
            t.seconds.slowness = t.slowness;
            fixed.seconds.slowness = fixed.slowness;
            run_even(&t, f, b, 0);
            run_even(&fixed, f, b, 0);
            const double alone_s = (double)n * (f + b) / ((double)peers - 1 + 1 / slow[k]);
            const double done = t.busy_s[_i * peers + 1] / slow[k] / (f + b);
            ck_assert_double_ge(t.times.makespan_s, alone_s);
            ck_assert_double_le(t.times.makespan_s, alone_s + ((double)d + slow[k]) * (f + b));
            ck_assert_double_eq_tol(done, alone_s / slow[k] / (f + b), 1);
            ck_assert_double_ge(fixed.times.makespan_s,
                                slow[k] * (double)(n / peers) * (f + b) * (1 - 1e-9));
            ck_assert_double_lt(t.times.makespan_s, fixed.times.makespan_s);
            end(&t);
            end(&fixed);
        }
}

/*
 * The same peer makes the forward and the backward pass of a micro-batch in a stage. Each peer is
 * therefore busy for whole micro-batches. The passes of a micro-batch follow its path in order,
 * with a message between two passes.
 */
TEST_RANGE(a_micro_batch_returns_over_the_same_peers, 1, 20)
{
    const int64_t d = 1 + _i % 7, peers = 1 + _i % 4, n = 6 + 2 * _i;
    trial t = begin_of((dsgd_pipeline_shape){DSGD_PIPELINE_SWARM, d, n, 1, 2, peers});
    run_uneven(&t, (uint64_t)_i);
    double last_s[MOST][2] = {{0}}; /* end of the gradients of each stage, for each of two jobs */
    for (int64_t stage = 0; stage < d; stage++) {
        double all = 0;
        for (int64_t host = stage * peers; host < (stage + 1) * peers; host++) {
            const double each_s = t.slowness[host] * (t.forward_s[stage] + t.backward_s[stage]);
            const double done = t.busy_s[host] / each_s;
            ck_assert_double_eq_tol(done, round(done), 1e-9);
            all += done;
        }
        ck_assert_double_eq_tol(all, (double)n, 1e-9);
    }
    for (int64_t m = 0; m < n; m++)
        for (int64_t k = 0; k < 2 * d; k++) {
            const int64_t stage = k < d ? k : 2 * d - 1 - k;
            const double least_s = (k < d ? t.forward_s : t.backward_s)[stage];
            const double message_s = k == 0 || k == d ? 0 : t.message_s[k < d ? k - 1 : stage];
            const double before_s = k == 0 ? 0 : t.end_s[(k - 1) * n + m];
            ck_assert_double_ge(t.end_s[k * n + m], before_s + message_s + least_s - 1e-9);
            if (k >= d)
                last_s[stage][2 * m / n] = fmax(last_s[stage][2 * m / n], t.end_s[k * n + m]);
        }
    for (int64_t i = 0; i < 2 * d; i++)
        ck_assert_double_eq(t.gradient_s[i], last_s[i / 2][i % 2]);
    end(&t);
}

/* --- Tests of absent peers and of measured speeds --------------------------------------------- */

static void set_away(trial *t, const dsgd_absence *away, int64_t n)
{
    t->seconds.away = away;
    t->seconds.n_away = n;
}

/*
 * A peer of stage s is missing from the start. Each other peer of this stage gets N / (K - 1)
 * micro-batches. The first micro-batch arrives there after s passes. If the pipeline has more than
 * two stages, the step may take one pass longer.
 */
TEST_RANGE(peers_share_the_work_of_an_absent_peer, 2, 6)
{
    const double f = 1, b = 2;
    for (int64_t d = 1; d <= 4; d++)
        for (int64_t stage = 0; stage < d; stage++) {
            const int64_t n = 4 * _i * (_i - 1);
            trial t = begin_swarm(d, _i, n);
            const dsgd_absence away = {stage * _i + 1, -5, -4, INFINITY, false};
            set_away(&t, &away, 1);
            run_even(&t, f, b, 0);
            const double least_s = ((double)(n / (_i - 1)) + (double)stage) * (f + b);
            ck_assert_double_ge(t.times.makespan_s, least_s * (1 - 1e-9));
            ck_assert_double_le(t.times.makespan_s, least_s + (d <= 2 ? 1e-9 : f + b));
            ck_assert_double_eq(t.busy_s[away.host] + t.times.lost_s, 0);
            for (int64_t host = stage * _i; host < (stage + 1) * _i; host++)
                if (host != away.host)
                    ck_assert_double_eq_tol(t.busy_s[host], (double)n / (_i - 1) * (f + b), 1e-9);
            end(&t);
        }
}

/*
 * One of two peers of a single stage fails. All work of the failed peer is repeated, so the other
 * peer does all work. The other peer continues at the later of two times. One is the detection of
 * the failure, and the other is the end of its own half. A failure after the end of the step loses
 * nothing.
 */
TEST_RANGE(work_of_a_failed_peer_is_repeated, 1, 40)
{
    const double f = 1, b = 2, half_s = 8 * (f + b), since_s = 0.7 * _i;
    for (int known = 0; known < 3; known++) {
        const double known_s = since_s + (double[]){0, 0.3, 20}[known];
        trial t = begin_swarm(1, 2, 16);
        set_away(&t, &(dsgd_absence){1, since_s, known_s, INFINITY, false}, 1);
        run_even(&t, f, b, 0);
        const bool is_over = since_s >= half_s;
        ck_assert_double_eq_tol(t.times.makespan_s, half_s + (is_over ? 0 : fmax(half_s, known_s)),
                                1e-9);
        ck_assert_double_eq_tol(t.times.lost_s, is_over ? 0 : since_s, 1e-9);
        ck_assert_double_eq_tol(t.busy_s[1], fmin(since_s, half_s), 1e-9);
        end(&t);
    }
}

/*
 * Peers fail and rejoin at any time. The work that is done and not lost must be every pass of every
 * micro-batch, exactly once. An absent peer does no work.
 */
TEST_RANGE(every_micro_batch_counts_once, 0, 60)
{
    enum { AWAY = 5 };
    const int64_t d = 1 + _i % 5, peers = 2 + _i % 3, n = 8 + 2 * _i, jobs = 1 + _i % 2;
    trial t = begin_of((dsgd_pipeline_shape){DSGD_PIPELINE_SWARM, d, n, 1, jobs, peers});
    run_uneven(&t, (uint64_t)_i);
    const double before_s = t.times.makespan_s;
    dsgd_absence away[AWAY];
    /* one peer of each stage is away at a time, and some peers fail twice */
    for (int64_t i = 0; i < AWAY; i++) {
        const double since_s =
            before_s *
            (0.3 * (double)i +
             0.1 * dsgd_draw_uniform((dsgd_draw){9, 0, (uint32_t)_i, (uint32_t)i, 0}) - 0.1);
        away[i] = (dsgd_absence){i * 7 % d * peers + i % peers, since_s, since_s + 0.02 * before_s,
                                 since_s + 0.1 * before_s, false};
    }
    t.seconds.slowness = NULL;
    set_away(&t, away, AWAY);
    run(&t);
    double useful_s = -t.times.lost_s, all_s = 0;
    for (int64_t host = 0; host < d * peers; host++)
        useful_s += t.busy_s[host];
    for (int64_t stage = 0; stage < d; stage++)
        all_s += (double)n * (t.forward_s[stage] + t.backward_s[stage]);
    ck_assert_double_eq_tol(useful_s, all_s, 1e-9 * all_s);
    for (int64_t i = 0; i < d * jobs; i++)
        ck_assert_double_le(t.gradient_s[i], t.times.makespan_s);
    end(&t);
}

/*
 * A peer gets as many micro-batches as the others until its passes are measured. Then the result is
 * the same as with known speeds. After a change of the speed, the error of the measured mean falls
 * by a factor of 0.9 per pass.
 */
TEST(measured_speeds_converge_to_true_speeds)
{
    trial t = begin_swarm(1, 2, 40);
    dsgd_measured measured[2] = {{0, 0}};
    t.slowness[0] = 1;
    t.slowness[1] = 2.7;
    t.seconds.slowness = t.slowness;
    run_even(&t, 1, 2, 0);
    const double known_s = t.times.makespan_s;
    t.seconds.measured = measured;
    run_even(&t, 1, 2, 0);
    ck_assert_double_eq_tol(t.times.makespan_s, 20 * 2.7 * 3, 1e-9);
    run_even(&t, 1, 2, 0);
    ck_assert_double_eq_tol(t.times.makespan_s, known_s, 1e-9);
    const double weight = measured[1].weight, before = t.busy_s[1];
    t.slowness[1] = 6;
    run_even(&t, 1, 2, 0);
    const double passes = 2 * t.busy_s[1] / 6 / 3, kept = weight * pow(0.9, passes);
    ck_assert_double_eq_tol(
        measured[1].mean, (kept * 2.7 + (1 - pow(0.9, passes)) * 6) / (kept + 1 - pow(0.9, passes)),
        1e-9);
    /* In the step of the change, the peer still gets as many micro-batches as before. */
    ck_assert_double_eq_tol(t.busy_s[1] / 6, before / 2.7, 1e-9);
    for (int i = 0; i < 9; i++)
        run_even(&t, 1, 2, 0);
    t.seconds.measured = NULL;
    const double then_s = t.times.makespan_s;
    run_even(&t, 1, 2, 0);
    ck_assert_double_eq_tol(then_s, t.times.makespan_s, 1e-9);
    end(&t);
}

/*
 * Returns the shortest possible time of the slowest stage. Each stage gets one peer, and each
 * further peer goes to the stage with the longest time.
 */
static double best_split_s(int64_t stages, int64_t hosts, const double *work)
{
    double peers[MOST];
    int64_t longest = 0;
    for (int64_t d = 0; d < stages; d++)
        peers[d] = 1;
    for (int64_t i = stages; i <= hosts; i++) {
        for (int64_t d = 0; d < stages; d++)
            if (work[d] / peers[d] > work[longest] / peers[longest])
                longest = d;
        peers[longest] += i < hosts;
    }
    return work[longest] / peers[longest];
}

/*
 * For any times of stages and peers, a move never increases the longest time of a stage, no stage
 * loses its last peer, and the moves end. With equal peers, the moves end at the best split into
 * whole numbers. An absent peer does not move.
 */
TEST_RANGE(peers_migrate_until_no_move_helps, 0, 200)
{
    const int64_t stages = 2 + _i % 7, peers = 1 + _i % 6, hosts = stages * peers;
    const bool equal = _i % 2 == 0;
    double work[MOST], speed[MOST_HOSTS], longest_s = INFINITY;
    int32_t stage_of[MOST_HOSTS];
    int64_t moves = 0;
    for (int64_t i = 0; i < hosts; i++) {
        speed[i] = equal ? 1 : dsgd_draw_uniform((dsgd_draw){3, 0, (uint32_t)_i, (uint32_t)i, 0});
        stage_of[i] = (int32_t)(i / peers);
    }
    for (int64_t d = 0; d < stages; d++)
        work[d] = 0.1 + dsgd_draw_uniform((dsgd_draw){4, 0, (uint32_t)_i, (uint32_t)d, 0});
    if (!equal && peers > 1)
        speed[1] = 0;
    do {
        double speeds[MOST] = {0}, now_s = 0;
        for (int64_t i = 0; i < hosts; i++)
            speeds[stage_of[i]] += speed[i];
        for (int64_t d = 0; d < stages; d++)
            now_s = fmax(now_s, work[d] / speeds[d]);
        ck_assert_double_le(now_s, longest_s);
        longest_s = now_s;
    } while (dsgd_swarm_migrate(stages, work, hosts, speed, stage_of) >= 0 && ++moves < 1000);
    ck_assert_int_lt(moves, 100);
    ck_assert_int_eq(dsgd_swarm_migrate(stages, work, hosts, speed, stage_of), -1);
    if (equal)
        ck_assert_double_eq_tol(longest_s, best_split_s(stages, hosts, work), 1e-9);
    else
        ck_assert_int_eq(stage_of[1], 1 / peers);
}

TEST(a_shape_that_a_schedule_does_not_allow_is_rejected)
{
    static const struct {
        dsgd_pipeline_shape shape;
        const char *says;
    } refused[] = {
        {{DSGD_PIPELINE_GPIPE, 0, 4, 1, 1}, "at least 1 stage and 1 micro-batch, got 0 and 4"},
        {{DSGD_PIPELINE_GEMS, 4, 1, 1, 1}, "at least 2 micro-batches, got 4 and 1"},
        {{DSGD_PIPELINE_CHIMERA, 5, 10, 1, 1},
         "an even number) and at least 2 micro-batches, got 5 and 10"},
        {{DSGD_PIPELINE_INTERLEAVED, 4, 6, 2, 1},
         "a multiple of its 4 stages as micro_batches, got 2 and 6"},
        {{DSGD_PIPELINE_1F1B, 4, 9, 1, 2}, "micro-batches must be a multiple of the 2 jobs, got 9"},
        {{DSGD_PIPELINE_1F1B, 100000, 100000, 1, 1}, "more than 10000000 tasks"},
    };
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        dsgd_error error = {""};
        ck_assert_int_eq(dsgd_pipeline_check(&refused[i].shape, &error), DSGD_EUSAGE);
        ck_assert_has(error.text, refused[i].says);
    }
}
