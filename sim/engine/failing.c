/**
 * @file failing.c
 * Workers that fail and come back, and what that costs.
 *
 * Where all restart from a checkpoint, nothing of it is simulated but its time: steps that are done
 * again have the same draws, so they take as long and give the same values as the first time. The
 * simulation goes through each of them once, in seconds of progress; engine->away_s is what has
 * passed besides. Where the others go on, failures are simulated: `presence` says who is there.
 */
#include "sim/engine/engine.h"
#include "sim/result.h"
#include "sim/run.h"

/** Failures without progress between them: so many are taken for ever. */
enum { MOST_IN_A_ROW = 100000 };

/** Steps of which a deadline is made, and as many as there have to be. */
enum { ROUNDS = 16, LEAST_ROUNDS = 3 };

struct dsgd_failing {
    dsgd_failures_config config;
    dsgd_failures *source;
    dsgd_failure next;
    int64_t in_a_row; /* without progress */
    int64_t steps; /* of all workers, at the last failure that the others outlived */
    int64_t period; /* of the algorithm */
    double copy_bytes; /* by quorum: of a state, on each host of a worker */
    double round_s[ROUNDS],
        led_s; /* by quorum: lengths of steps, round about; since when the last is led */
    int64_t n_rounds;
    /* Of checkpoints, in seconds of progress: the last one that is whole, and that was begun; one
     * that is written beside the steps, and when it is (INFINITY: none). */
    double cost_s, interval_s;
    double
        noticed_s; /* of the failure, in all time, before which the last one was begun by notice */
    double saved_s, begun_s, snapshot_s, written_s;
};

bool dsgd_goes_on(const dsgd_run_config *config)
{
    const dsgd_algorithm *const a = config->algorithm;
    if (config->failures.policy == DSGD_POLICY_QUORUM)
        return a->quorum;
    return config->failures.policy == DSGD_POLICY_OWN && (a->comes_back != NULL || a->rejoins) &&
           (a->goes_on == NULL || a->goes_on(config->params));
}

/** Whether all workers restart together. */
static bool restarts(const dsgd_engine *engine)
{
    return engine->failing != NULL && !engine->goes_on &&
           engine->failing->config.policy != DSGD_POLICY_NONE;
}

/** The first worker that fails. */
static int worker_of(const dsgd_engine *engine, const dsgd_failure *failure)
{
    int worker = 0;
    while (!dsgd_failure_is_of(engine->failing->source, failure, worker))
        worker++;
    return worker;
}

/** Takes the next failure out of the list. */
static dsgd_failure take(dsgd_engine *engine)
{
    struct dsgd_failing *const f = engine->failing;
    const dsgd_failure failure = f->next;
    dsgd_failing_times *const times = &engine->result->failures;
    f->next = dsgd_failures_next(f->source);
    f->in_a_row++;
    if (times->n++ < DSGD_MOST_LISTED) {
        times->listed = dsgd_xrealloc(times->listed, (size_t)times->n, sizeof *times->listed);
        times->listed[times->n - 1] =
            (struct dsgd_failed){worker_of(engine, &failure), failure.down_s};
    }
    return failure;
}

/* --- opening ----------------------------------------------------------------------------------- */

/** Workers by what fails together, in the order of ranks: with each island or group in which they have a host. */
static dsgd_failure_units units_of(const dsgd_engine *engine)
{
    const dsgd_platform *const platform = engine->config->platform;
    const int per = engine->config->failures.per;
    const int64_t hosts = per == DSGD_PER_ISLAND  ? platform->island_hosts
                          : per == DSGD_PER_GROUP ? platform->group_hosts
                                                  : 1;
    const int each = per == DSGD_PER_WORKER ? 1 : engine->n_lanes, n = engine->n_workers * each;
    const dsgd_failure_units units = {engine->n_workers, each,
                                      dsgd_xcalloc((size_t)n, sizeof *units.of)};
    int64_t *const block = dsgd_xcalloc((size_t)n, sizeof *block); /* of each unit */
    for (int i = 0, n_units = 0; i < n; i++) {
        const int64_t at = dsgd_cluster_places()[dsgd_cluster_host(i / each, i % each)] / hosts;
        int u = hosts > 1 ? 0 : i;
        while (u < n_units && block[u] != at)
            u++;
        block[u] = at;
        n_units += u == n_units;
        units.of[i] = u;
    }
    free(block);
    return units;
}

/** Nobody comes back: the first failure of each worker counts. */
static void find_deaths(dsgd_engine *engine)
{
    struct dsgd_failing *const f = engine->failing;
    for (int left = engine->n_workers; left > 0 && f->next.down_s < INFINITY;) {
        const dsgd_failure failure = take(engine);
        for (int w = 0; w < engine->n_workers; w++) {
            double *const dies_s = &engine->workers[w].dies_s;
            if (*dies_s < INFINITY || !dsgd_failure_is_of(f->source, &failure, w))
                continue;
            *dies_s = failure.down_s;
            left--;
        }
    }
    engine->result->failures.n = 0;
}

dsgd_status dsgd_failing_open(dsgd_engine *engine, int64_t period, dsgd_error *error)
{
    const dsgd_run_config *const config = engine->config;
    if (!dsgd_failures_any(&config->failures))
        return DSGD_OK;
    struct dsgd_failing *const f = dsgd_run_alloc(engine, sizeof *f);
    *f = (struct dsgd_failing){.config = config->failures, .written_s = INFINITY, .period = period};
    if (f->config.policy == DSGD_POLICY_NONE)
        f->config.repair_s = DSGD_REPAIR_NEVER;
    if (f->config.notice_s > 0)
        f->config.detect_s = 0;
    DSGD_TRY(dsgd_failures_open(&f->config, config->seed, units_of(engine), &f->source, error));
    f->next = dsgd_failures_next(f->source);
    const dsgd_checkpoint *const c = &f->config.checkpoint;
    const int gpus = dsgd_workload_gpus(config->workload); /* of which each has its part */
    f->cost_s = dsgd_checkpoint_cost_s(c, engine->bytes * gpus / engine->n_lanes);
    const double blocking_s = c->blocking ? f->cost_s : 0, mtbf_s = dsgd_failures_mtbf_s(f->source);
    f->interval_s = c->interval_s > 0 ? c->interval_s
                    : c->every == DSGD_EVERY_NEVER
                        ? INFINITY
                        : dsgd_checkpoint_interval_s(c->every, blocking_s, mtbf_s);
    engine->goes_on = dsgd_goes_on(config);
    if (!engine->goes_on && f->config.policy != DSGD_POLICY_NONE && blocking_s > 0)
        engine->result->failures.daly_s =
            dsgd_checkpoint_interval_s(DSGD_EVERY_DALY, blocking_s, mtbf_s);
    engine->by_quorum = f->config.policy == DSGD_POLICY_QUORUM;
    f->copy_bytes = c->bytes > 0 ? c->bytes / gpus : engine->bytes / engine->n_lanes;
    engine->failing = f;
    return DSGD_OK;
}

void dsgd_failing_begin(dsgd_engine *engine)
{
    for (int w = 0; w < engine->n_workers; w++)
        engine->workers[w].dies_s = INFINITY;
    if (engine->failing != NULL && engine->failing->config.policy == DSGD_POLICY_NONE)
        find_deaths(engine);
}

void dsgd_failing_close(dsgd_engine *engine)
{
    if (engine->failing != NULL)
        dsgd_failures_close(engine->failing->source);
}

/**
 * Tells a timeline for what all have stood still: @p worker has failed (-1: a checkpoint), and what has
 * been added to @p before.
 */
static void tell_stop(dsgd_engine *engine, int worker, const dsgd_failing_times *before)
{
    const dsgd_failing_times *const now = &engine->result->failures;
    const struct {
        const char *cause;
        double s;
    } parts[] = {{"detect", now->detect_s - before->detect_s},
                 {"repair", now->repair_s - before->repair_s},
                 {"restart", now->restart_s - before->restart_s},
                 {"lost", now->lost_s - before->lost_s},
                 {"checkpoint", now->checkpoint_s - before->checkpoint_s}};
    const dsgd_timeline *const t = engine->timeline;
    if (t == NULL || !t->opened || t->ended != NULL)
        return;
    char *text = worker < 0 ? dsgd_xstrdup("all write") : dsgd_xprintf("worker %d fails", worker);
    for (size_t k = 0; k < sizeof parts / sizeof parts[0]; k++)
        if (parts[k].s > 0)
            dsgd_append(&text, ", %s %.4g s", parts[k].cause, parts[k].s);
    int first = 0; /* of those who are shown */
    while (!t->chosen[first])
        first++;
    dsgd_timeline_mark(&engine->workers[first],
                       (dsgd_span){DSGD_SPAN_OF_HOST(STOPPED), .verb = text});
}

/* --- all restart --------------------------------------------------------------------------------- */

/** Adds to @p cause until @p until_s of all time. False: `until: seconds` comes first. */
static bool spend(const dsgd_engine *engine, double *cause, double *all_s, double until_s)
{
    const double bound_s = engine->config->until.seconds;
    const bool is_over = bound_s > 0 && until_s >= bound_s;
    const double end_s = is_over ? bound_s : until_s;
    *cause += end_s - *all_s;
    *all_s = end_s;
    return !is_over;
}

/** Ends the run as failed. */
static bool give_up(dsgd_engine *engine, double all_s, const char *why)
{
    dsgd_run_result *const result = engine->result;
    result->outcome = DSGD_RUN_FAILED;
    dsgd_fail(&result->why, DSGD_OK, "%s %s after a failure, but at %g s %s",
              engine->config->algorithm->about.name,
              engine->goes_on ? "goes on" : "restarts all workers", all_s, why);
    return false;
}

/** From a failure at *all_s until all work again. False: the run is over. */
static bool bring_back(dsgd_engine *engine, double *all_s)
{
    struct dsgd_failing *const f = engine->failing;
    dsgd_failing_times *const times = &engine->result->failures;
    for (bool fails = true; fails;) {
        const double known_s = f->next.down_s + f->config.detect_s;
        dsgd_failure last = take(engine); /* of those that are down, the one who is back last */
        while (f->next.down_s < INFINITY && f->next.down_s <= fmax(known_s, last.up_s) &&
               f->in_a_row < MOST_IN_A_ROW) {
            const dsgd_failure failure = take(engine);
            last = failure.up_s > last.up_s ? failure : last;
        }
        if (!spend(engine, &times->detect_s, all_s, known_s))
            return false;
        if (isinf(last.up_s) && !(engine->config->until.seconds > 0))
            return give_up(engine, *all_s,
                           dsgd_xprintf("worker %d is never repaired; give repair a time, or until "
                                        "seconds",
                                        worker_of(engine, &last)));
        if (f->in_a_row >= MOST_IN_A_ROW)
            return give_up(engine, *all_s,
                           "100,000 failures have come without a step between: mtbf by the number "
                           "of workers is less than detect, repair, restart and the steps from one "
                           "checkpoint to the next take");
        if (!spend(engine, &times->repair_s, all_s, fmax(known_s, last.up_s)))
            return false;
        const double ready_s = *all_s + f->config.restart_s + f->cost_s;
        fails = f->next.down_s < ready_s;
        if (!spend(engine, &times->restart_s, all_s, fmin(f->next.down_s, ready_s)))
            return false;
    }
    return true;
}

/** A failure at *all_s: until what was done since the last checkpoint is done again, or the next one. */
static bool restart(dsgd_engine *engine, double *all_s)
{
    struct dsgd_failing *const f = engine->failing;
    const double now_s = dsgd_now_s();
    const dsgd_failing_times before = engine->result->failures;
    const int worker = worker_of(engine, &f->next);
    if (f->written_s <= now_s)
        f->saved_s = f->snapshot_s;
    bool goes_on = bring_back(engine, all_s);
    const double done_s = *all_s + now_s - f->saved_s;
    if (goes_on && f->next.down_s >= done_s)
        f->in_a_row = 0;
    goes_on = goes_on &&
              spend(engine, &engine->result->failures.lost_s, all_s, fmin(f->next.down_s, done_s));
    tell_stop(engine, worker, &before);
    return goes_on;
}

/** Whether the next failure is known, and leaves time for a checkpoint that has not been begun for it. */
static bool has_notice(const dsgd_engine *engine)
{
    const struct dsgd_failing *const f = engine->failing;
    const double all_s = dsgd_now_s() + engine->away_s;
    return f->noticed_s != f->next.down_s && all_s >= f->next.down_s - f->config.notice_s &&
           all_s + f->cost_s <= f->next.down_s;
}

void dsgd_failing_step(dsgd_engine *engine)
{
    struct dsgd_failing *const f = engine->failing;
    const double now_s = dsgd_now_s();
    if (!restarts(engine) || engine->steps_total % engine->n_workers != 0)
        return;
    if (f->written_s <= now_s) {
        f->saved_s = f->snapshot_s;
        f->written_s = INFINITY;
    }
    const dsgd_checkpoint *const c = &f->config.checkpoint;
    const int64_t step = engine->steps_total / engine->n_workers;
    const bool by_steps = c->interval_s <= 0 && c->every > 0, by_notice = has_notice(engine);
    if (f->written_s < INFINITY ||
        !(by_notice || (by_steps ? step % c->every == 0 : now_s - f->begun_s >= f->interval_s)))
        return;
    if (by_notice)
        f->noticed_s = f->next.down_s;
    f->begun_s = now_s;
    if (!c->blocking) {
        f->snapshot_s = now_s;
        f->written_s = now_s + f->cost_s;
        return;
    }
    double *const cause = &engine->result->failures.checkpoint_s;
    dsgd_failing_times before = engine->result->failures;
    double all_s = now_s + engine->away_s;
    bool over = false;
    for (int64_t tries = 0; !over && f->next.down_s < all_s + f->cost_s; tries++)
        over =
            tries >= MOST_IN_A_ROW
                ? !give_up(engine, all_s,
                           "100,000 failures have come while one checkpoint was written: mtbf by "
                           "the number of workers is less than it takes")
                : !spend(engine, cause, &all_s, f->next.down_s) || !restart(engine, &all_s);
    over = over || !spend(engine, cause, &all_s, all_s + f->cost_s);
    before.lost_s = engine->result->failures.lost_s; /* of failures meanwhile, which are told */
    before.detect_s = engine->result->failures.detect_s;
    before.repair_s = engine->result->failures.repair_s;
    before.restart_s = engine->result->failures.restart_s;
    if (f->cost_s > 0)
        tell_stop(engine, -1, &before);
    engine->away_s = all_s - now_s;
    f->saved_s = now_s;
    if (over)
        dsgd_finish(engine);
    else if (f->cost_s > 0)
        dsgd_semaphore_post(engine->end_semaphore); /* the clock waits for less progress now */
}

/* --- the others go on ---------------------------------------------------------------------------- */

/** Counts the time since the last change; changes. */
static void change(dsgd_worker *w, dsgd_presence to)
{
    dsgd_failing_times *const times = &w->engine->result->failures;
    const double now_s = dsgd_now_s();
    const double p = w->engine->n_workers;
    if (w->presence == DSGD_HERE)
        times->lost_s += (now_s - w->step_since_s) / p;
    const double up_s =
        w->presence == DSGD_DOWN ? fmin(now_s, fmax(w->up_s, w->changed_s)) : w->changed_s;
    if (w->presence != DSGD_HERE) {
        times->repair_s += (up_s - w->changed_s) / p;
        times->restart_s += (now_s - up_s) / p;
    }
    dsgd_timeline_end(w->engine, w->away_span);
    w->away_span = to == DSGD_HERE
                       ? 0
                       : dsgd_timeline_begin(
                             w, (dsgd_span){DSGD_SPAN_OF_HOST(AWAY),
                                            .verb = to == DSGD_DOWN ? "failed" : "comes back"});
    w->changed_s = now_s;
    w->presence = to;
}

static int shorter_first(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_of(double *s, int n)
{
    qsort(s, (size_t)n, sizeof *s, shorter_first);
    return (s[(n - 1) / 2] + s[n / 2]) / 2;
}

/**
 * When others give up a worker that fails now: as hivemind's users ask for (its issue 676), by the steps
 * that have been, median + k MAD.
 */
static double deadline_s(const dsgd_engine *engine)
{
    const struct dsgd_failing *const f = engine->failing;
    const double latest_s = dsgd_now_s() + f->config.detect_s;
    const int n = f->n_rounds < ROUNDS ? (int)f->n_rounds : ROUNDS;
    if (f->config.detect_mads < 0 || n < LEAST_ROUNDS)
        return latest_s;
    double s[ROUNDS];
    memcpy(s, f->round_s, sizeof s);
    const double median = median_of(s, n);
    for (int i = 0; i < n; i++)
        s[i] = fabs(s[i] - median);
    const double limit_s = f->led_s + median + f->config.detect_mads * median_of(s, n);
    return fmin(latest_s, fmax(dsgd_now_s(), limit_s));
}

/** Has the server wait for no longer than until it knows. */
static void announce(dsgd_worker *w)
{
    dsgd_engine *const engine = w->engine;
    if (!engine->config->algorithm->told || w->untold)
        return;
    w->untold = true;
    engine->n_untold++;
    dsgd_work_wake(&engine->workers[engine->n_workers]);
}

void dsgd_tell_of(dsgd_worker *w)
{
    w->engine->n_untold -= w->untold;
    w->untold = false;
}

double dsgd_to_be_told_s(const dsgd_worker *w)
{
    return fmin(w->changed_s + w->engine->failing->config.detect_s, w->up_s);
}

static void go_down(dsgd_engine *engine)
{
    const dsgd_failure failure = take(engine);
    for (int i = 0; i < engine->n_workers; i++) {
        dsgd_worker *const w = &engine->workers[i];
        if (!dsgd_failure_is_of(engine->failing->source, &failure, i))
            continue;
        w->up_s = fmax(w->up_s, failure.up_s);
        if (w->presence == DSGD_DOWN)
            continue;
        const bool computes = w->presence == DSGD_HERE;
        change(w, DSGD_DOWN);
        w->given_up_s = deadline_s(engine);
        announce(w);
        if (computes)
            dsgd_computation_lose(w);
        else
            dsgd_work_wake(w); /* its restart begins anew */
    }
}

/** The next worker by rank that is there; -1: none. */
static int live_peer(const dsgd_worker *w)
{
    const int p = w->engine->n_workers;
    for (int i = 1; i < p; i++)
        if (w->engine->workers[(w->node.rank + i) % p].presence == DSGD_HERE)
            return (w->node.rank + i) % p;
    return -1;
}

bool dsgd_come_back(dsgd_worker *w)
{
    dsgd_engine *const engine = w->engine;
    const bool rejoins = engine->config->algorithm->rejoins;
    if (w->presence == DSGD_JOINS) /* the step in which it has asked is over */
        change(w, DSGD_HERE);
    while (w->presence != DSGD_HERE) {
        while (dsgd_now_s() < w->up_s && w->up_s < INFINITY)
            dsgd_sleep(w->up_s - dsgd_now_s());
        if (w->up_s == INFINITY)
            return false;
        change(w, DSGD_JOINS);
        dsgd_tell_of(w);
        const double ready_s = dsgd_now_s() + engine->failing->config.restart_s;
        while (w->presence == DSGD_JOINS && dsgd_now_s() < ready_s)
            dsgd_work_sleep_until(w, ready_s);
        if (w->presence == DSGD_JOINS && rejoins) {
            w->computation.share = 0; /* of what it asks with */
            return true;
        }
        if (w->presence == DSGD_JOINS)
            engine->config->algorithm->comes_back(&w->node, live_peer(w));
        if (w->presence == DSGD_JOINS)
            change(w, DSGD_HERE);
    }
    for (size_t k = 0; k < engine->n_pieces; k++) {
        dsgd_value_release(engine->values, w->optimizer_state[k]);
        w->optimizer_state[k] = DSGD_ZERO_VALUE;
    }
    w->state_since = w->local_steps[0];
    w->step_since_s = dsgd_now_s();
    dsgd_work_wake(w); /* assist() */
    return true;
}

bool dsgd_give_up_on(dsgd_worker *w, dsgd_worker *peer)
{
    static const double least_s = 1e-3; /* a refused connection */
    if (peer->presence == DSGD_HERE)
        return false;
    const double known_s = peer->changed_s + w->engine->failing->config.detect_s;
    const double since_s = dsgd_now_s();
    dsgd_sleep(peer->presence == DSGD_DOWN ? fmax(least_s, known_s - since_s) : least_s);
    if (w->presence == DSGD_HERE && !dsgd_computing(w)) { /* nor was that hidden */
        const double from_s = fmax(since_s, fmax(w->changed_s, w->computation.end_s));
        w->engine->result->failures.detect_s += (dsgd_now_s() - from_s) / w->engine->n_workers;
        w->changed_s = dsgd_now_s(); /* of several pieces it counts once */
    }
    return true;
}

/* --- by quorum ------------------------------------------------------------------------------------ */

double dsgd_known_s(const dsgd_worker *w)
{
    const dsgd_failures_config *const config = &w->engine->failing->config;
    const double back_s = fmax(w->up_s, w->changed_s) + config->restart_s;
    return fmin(w->given_up_s, back_s) + config->remake_s;
}

/** Counts a wait of those who are there, but for what is counted already. */
static void count_wait(dsgd_engine *engine, double *cause, const int *ranks, int n,
                       dsgd_interval wait)
{
    for (int i = 0; i < n; i++) {
        dsgd_worker *const w = &engine->workers[ranks[i]];
        const double from_s = fmax(wait.since_s, w->changed_s);
        if (w->presence != DSGD_HERE || wait.end_s <= from_s)
            continue;
        *cause += (wait.end_s - from_s) / engine->n_workers;
        w->changed_s = wait.end_s;
    }
}

void dsgd_others_waited_for(const dsgd_worker *w, const int *ranks, int n)
{
    dsgd_engine *const engine = w->engine;
    dsgd_failing_times *const times = &engine->result->failures;
    dsgd_interval wait = {w->changed_s, dsgd_now_s()};
    for (int i = 0; i < n; i++) {
        const dsgd_worker *const other = &engine->workers[ranks[i]];
        if (other->presence == DSGD_HERE && dsgd_computing(other))
            return; /* for that one */
        if (other->presence == DSGD_HERE)
            wait.since_s = fmax(wait.since_s, other->computation.end_s);
    }
    const double known_s = dsgd_known_s(w) - engine->failing->config.remake_s;
    if (w->presence == DSGD_DOWN)
        count_wait(engine, &times->detect_s, ranks, n, (dsgd_interval){wait.since_s, known_s});
    count_wait(engine, &times->restart_s, ranks, n, wait);
}

void dsgd_lead_others(dsgd_worker *w)
{
    dsgd_engine *const engine = w->engine;
    if (!engine->by_quorum || w->presence != DSGD_HERE || w->node.step <= engine->led)
        return;
    struct dsgd_failing *const f = engine->failing;
    if (engine->led > 0)
        f->round_s[f->n_rounds++ % ROUNDS] = dsgd_now_s() - f->led_s;
    f->led_s = dsgd_now_s();
    engine->led = w->node.step;
    for (int i = 0; i < engine->n_workers; i++)
        if (engine->workers[i].presence != DSGD_HERE)
            dsgd_work_wake(&engine->workers[i]);
}

/** An actor at the peer: what it sends. */
static void send_state(void *worker)
{
    dsgd_worker *const w = worker;
    dsgd_mailbox_send(dsgd_mailbox_of(w->copied_from, w->node.rank, DSGD_PORT_STATE, 0), w,
                      w->engine->failing->copy_bytes);
}

/** Makes communicators and copies the state of the next that is there, if any still is. */
static void copy_state(dsgd_worker *w)
{
    dsgd_engine *const engine = w->engine;
    const double remake_s = engine->failing->config.remake_s;
    if (remake_s > 0)
        dsgd_sleep(remake_s);
    w->copied_from = live_peer(w);
    if (w->copied_from < 0)
        return;
    const double since_s = dsgd_now_s();
    const dsgd_worker *const from = &engine->workers[w->copied_from];
    for (size_t k = 0; engine->config->algorithm->copies && k < engine->n_pieces; k++) {
        dsgd_vector_set(w->model, k, dsgd_value_retain(from->model->piece[k].value),
                        dsgd_local_steps(w, k));
        dsgd_value_release(engine->values, w->optimizer_state[k]);
        w->optimizer_state[k] = DSGD_ZERO_VALUE;
    }
    dsgd_actor_start(from->host, "state", send_state, w);
    dsgd_mailbox_recv(dsgd_mailbox_of(w->copied_from, w->node.rank, DSGD_PORT_STATE, 0));
    dsgd_observe_passed(engine, w->copied_from, w->host, 0, engine->failing->copy_bytes, since_s);
}

void dsgd_follow_others(dsgd_worker *w)
{
    dsgd_engine *const engine = w->engine;
    while (engine->led <= w->node.step)
        dsgd_work_sleep(w);
    if (w->presence == DSGD_JOINS) { /* its first step, in which it has given nothing, is over */
        change(w, DSGD_HERE);
        return;
    }
    const double ready_s = w->up_s + engine->failing->config.restart_s;
    const int64_t period = engine->config->algorithm->copies ? 1 : engine->failing->period;
    if (dsgd_now_s() < ready_s || (w->node.step + 1) % period != 0)
        return;
    change(w, DSGD_JOINS);
    copy_state(w);
}

/* --- the clock, and the end ----------------------------------------------------------------------- */

double dsgd_failing_until_s(const dsgd_engine *engine)
{
    const double bound_s = engine->config->until.seconds;
    const double end_s = bound_s > 0 ? bound_s : INFINITY;
    const bool fails = engine->goes_on || restarts(engine);
    return (fails ? fmin(end_s, engine->failing->next.down_s) : end_s) - engine->away_s;
}

bool dsgd_failing_come(dsgd_engine *engine)
{
    const double bound_s = engine->config->until.seconds;
    if (engine->failing == NULL || (bound_s > 0 && bound_s <= engine->failing->next.down_s))
        return true;
    if (engine->goes_on) {
        struct dsgd_failing *const f = engine->failing;
        f->in_a_row = f->steps == engine->steps_total ? f->in_a_row : 0;
        f->steps = engine->steps_total;
        go_down(engine);
        if (engine->by_quorum && live_peer(&engine->workers[0]) < 0 &&
            engine->workers[0].presence != DSGD_HERE)
            return !give_up(engine, dsgd_now_s(),
                            "no worker is left that has the state; give policy: restart");
        return f->in_a_row >= MOST_IN_A_ROW &&
               !give_up(engine, dsgd_now_s(),
                        "100,000 failures have come without a step between: mtbf by the number of "
                        "workers is too short");
    }
    double all_s = dsgd_now_s() + engine->away_s;
    const bool over = !restart(engine, &all_s);
    engine->away_s = all_s - dsgd_now_s();
    return over;
}

void dsgd_failing_sum_up(dsgd_engine *engine)
{
    for (int i = 0; i < engine->n_workers; i++)
        if (engine->workers[i].presence != DSGD_HERE)
            change(&engine->workers[i], engine->workers[i].presence);
    dsgd_run_result *const result = engine->result;
    dsgd_failing_times *const times = &result->failures;
    const double progress_s = result->virtual_s;
    if (!engine->goes_on && !restarts(engine)) {
        times->lost_s = times->detect_s = times->repair_s = times->restart_s = NAN;
        times->checkpoint_s = NAN;
        return;
    }
    result->virtual_s += engine->away_s;
    result->samples_per_s *= progress_s / result->virtual_s;
    result->step_mean_s *= result->virtual_s / progress_s;
    const double at_work = restarts(engine) ? (progress_s + times->lost_s) / result->virtual_s : 1;
    for (int i = -1; i < engine->n_workers; i++) {
        dsgd_time_shares *const shares = i < 0 ? &result->shares : &result->worker_shares[i];
        shares->compute *= at_work;
        shares->communicate *= at_work;
        shares->lost *= at_work;
        shares->wait = fmax(0, 1 - shares->compute - shares->communicate);
    }
    times->goodput = 1 - (times->lost_s + times->detect_s + times->repair_s + times->restart_s +
                          times->checkpoint_s) /
                             result->virtual_s;
}
