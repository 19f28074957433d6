/**
 * @file stage_hosts.c
 * Single hosts of a worker's stages that fail, rejoin and move to another stage
 * (sim/hybrid/swarm.h). Failures do not depend on the events of a run. Therefore a step is planned
 * at its start, with all failures that happen in it. A change between two steps takes effect in the
 * next step.
 *
 * The last running host of a stage does not leave the stage. If that host fails, the whole worker
 * fails. The worker rejoins like any other worker, together with the host.
 */
#include "sim/hybrid/stage_hosts.h"

#include "sim/failures/failures.h"
#include "sim/hybrid/swarm.h"
#include "sim/result.h"

/** An outage: a period in which one host is absent. All times are total times. */
typedef struct outage {
    /*
     * index of the host in the worker; -1 if the outage is a part of another outage, or of a
     * failure of the whole worker
     */
    int host;
    bool moves;
    /*
     * down_s: time of the failure. up_s: time of the repair. back_s: time at which the host has its
     * state and returns; decide_outages() sets it
     */
    double down_s, up_s, back_s;
} outage;

struct dsgd_stage_hosts {
    dsgd_failures *source; /* source of the hosts' failures; NULL if no host fails */
    dsgd_failure next;
    struct stage_hosts_of {
        /*
         * n: number of known outages. n_met: number of outages that steps include. n_over: number
         * of outages, at the start of the list, that are over
         */
        size_t n, n_met, n_over;
        outage *outages; /* [n] known outages, sorted by down_s */
        dsgd_absence *away; /* absences of hosts in the last step */
        double *back_s; /* [n_groups] end of each host's last outage */
        double *slow; /* [n_groups] slowness of each host, summed over the last n_steps steps */
        int64_t n_steps; /* number of steps since the last comparison of the stages */
        double compare_s; /* time of the next comparison of the stages */
        double lost_s;
    } * of; /* [n_workers] state of each worker */
};

dsgd_status dsgd_stage_hosts_open(dsgd_engine *engine, dsgd_error *error)
{
    const dsgd_run_config *const config = engine->config;
    const bool fail = dsgd_stage_hosts_fail(config);
    if (!fail && config->workload->inner.pipeline.migrate_s <= 0)
        return DSGD_OK;
    const size_t n = (size_t)engine->n_workers, groups = (size_t)engine->hybrid.replica->n_groups;
    struct dsgd_stage_hosts *const hosts = engine->hybrid.stage_hosts =
        dsgd_run_alloc(engine, sizeof *hosts);
    hosts->of = dsgd_run_alloc(engine, n * sizeof *hosts->of);
    hosts->next.down_s = INFINITY;
    for (size_t w = 0; w < n; w++) {
        hosts->of[w].back_s = dsgd_run_alloc(engine, 2 * groups * sizeof(double));
        hosts->of[w].slow = hosts->of[w].back_s + groups;
    }
    if (!fail)
        return DSGD_OK;
    const dsgd_failure_units units = dsgd_failures_of_run_units(engine, DSGD_HOSTS_FAIL);
    DSGD_TRY(dsgd_failures_open(&engine->failures.state->config, config->seed, units,
                                &hosts->source, error));
    hosts->next = dsgd_failures_next(hosts->source);
    return DSGD_OK;
}

void dsgd_stage_hosts_close(dsgd_engine *engine)
{
    struct dsgd_stage_hosts *const hosts = engine->hybrid.stage_hosts;
    if (hosts == NULL)
        return;
    dsgd_failures_close(hosts->source);
    for (int w = 0; w < engine->n_workers; w++) {
        free(hosts->of[w].outages);
        free(hosts->of[w].away);
    }
}

double dsgd_stage_hosts_state_bytes(const dsgd_engine *engine, int stage)
{
    const double bytes =
        engine->failures.state == NULL ? 0 : engine->failures.state->config.checkpoint.bytes;
    return (bytes > 0 ? bytes : engine->layout.bytes) * engine->hybrid.replica->share[stage];
}

static double copy_s(const dsgd_worker *w, int host)
{
    return w->replica->costs.copy_s[w->replica->stage_of[host]];
}

static void add(struct stage_hosts_of *of, outage added)
{
    of->outages = dsgd_xrealloc(of->outages, of->n + 1, sizeof *of->outages);
    of->outages[of->n++] = added;
}

/* --- functions for failures and moves in a step ----------------------------------------------- */

/** Adds the failures that happen until @p until_s to the outages of their workers. */
static void read_until(dsgd_engine *engine, double until_s)
{
    struct dsgd_stage_hosts *const hosts = engine->hybrid.stage_hosts;
    while (hosts->next.down_s <= until_s) {
        for (int i = 0; i < engine->n_workers * engine->layout.n_lanes; i++) {
            const int w = i / engine->layout.n_lanes, host = i % engine->layout.n_lanes;
            if (dsgd_failure_is_of_host(hosts->source, &hosts->next, w, host))
                add(&hosts->of[w],
                    (outage){.host = host, .down_s = hosts->next.down_s, .up_s = hosts->next.up_s});
        }
        hosts->next = dsgd_failures_next(hosts->source);
    }
}

/** Returns true if another host of the same stage runs when outage @p o begins. */
static bool is_outlived(const dsgd_worker *w, const struct stage_hosts_of *of, const outage *o)
{
    const int32_t *const stage_of = w->replica->stage_of;
    bool is = false;
    for (int i = 0; i < w->engine->hybrid.replica->n_groups && !is; i++)
        is = i != o->host && stage_of[i] == stage_of[o->host] && of->back_s[i] <= o->down_s;
    return is;
}

/** Extends the current outage of a host if the host fails again before it has returned. */
static void extend_outage(struct stage_hosts_of *of, outage *o)
{
    outage *before = o - 1;
    while (before->host != o->host)
        before--;
    before->up_s = fmax(before->up_s, o->up_s);
    before->back_s = of->back_s[o->host] = fmax(before->back_s, o->back_s);
    o->host = -1;
}

/**
 * Decides the effect of each outage that begins until @p until_s. There are three effects: the
 * outage extends another outage of the same host, affects only its host, or makes the whole worker
 * fail.
 */
static void decide_outages(dsgd_worker *w, double until_s)
{
    struct stage_hosts_of *const of = &w->engine->hybrid.stage_hosts->of[w->node.rank];
    for (; of->n_met < of->n && of->outages[of->n_met].down_s <= until_s; of->n_met++) {
        outage *const o = &of->outages[of->n_met];
        o->back_s = o->up_s + w->engine->failures.state->config.restart_s + copy_s(w, o->host);
        if (of->back_s[o->host] > o->down_s) {
            extend_outage(of, o);
        } else if (is_outlived(w, of, o)) {
            of->back_s[o->host] = o->back_s;
        } else {
            dsgd_fail_worker(w, o->down_s, o->up_s);
            o->host = -1;
        }
    }
}

static void set_away(dsgd_worker *w, double now_s)
{
    struct stage_hosts_of *const of = &w->engine->hybrid.stage_hosts->of[w->node.rank];
    const struct dsgd_failure_state *const f = w->engine->failures.state;
    dsgd_replica_state *const m = w->replica;
    while (of->n_over < of->n_met &&
           (of->outages[of->n_over].host < 0 || of->outages[of->n_over].back_s <= now_s))
        of->n_over++;
    m->away = of->away = dsgd_xrealloc(of->away, of->n_met - of->n_over + 1, sizeof *of->away);
    m->n_away = 0;
    for (size_t i = of->n_over; i < of->n_met; i++) {
        const outage *const o = &of->outages[i];
        const double known_s = o->moves ? o->down_s : o->down_s + f->config.detect_s;
        if (o->host >= 0 && o->back_s > now_s)
            m->away[m->n_away++] =
                (dsgd_absence){o->host, o->down_s - now_s, fmin(known_s, o->back_s) - now_s,
                               o->back_s - now_s, o->moves};
    }
}

/**
 * Moves a host to the stage that needs it most, if the move shortens the step and a comparison of
 * the stages is due.
 */
static void migrate(dsgd_worker *w, double now_s)
{
    dsgd_engine *const engine = w->engine;
    const dsgd_replica *const replica = engine->hybrid.replica;
    struct stage_hosts_of *const of = &engine->hybrid.stage_hosts->of[w->node.rank];
    const double every_s = replica->inner->pipeline.migrate_s;
    if (every_s <= 0 || now_s < of->compare_s)
        return;
    of->compare_s = now_s + every_s;
    if (of->n_steps == 0)
        return;
    double *const work = replica->seconds, *const speed = work + replica->n_stages;
    for (int d = 0; d < replica->n_stages; d++)
        work[d] = dsgd_replica_work_s(replica, w->replica, d);
    for (int i = 0; i < replica->n_groups; i++) {
        speed[i] = of->back_s[i] > now_s ? 0 : (double)of->n_steps / of->slow[i];
        of->slow[i] = 0;
    }
    of->n_steps = 0;
    const int mover = (int)dsgd_swarm_migrate(replica->n_stages, work, replica->n_groups, speed,
                                              w->replica->stage_of);
    if (mover < 0)
        return;
    of->back_s[mover] = now_s + copy_s(w, mover);
    add(of, (outage){0});
    memmove(&of->outages[of->n_met + 1], &of->outages[of->n_met],
            (of->n - 1 - of->n_met) * sizeof *of->outages);
    of->outages[of->n_met++] = (outage){mover, true, now_s, now_s, of->back_s[mover]};
    w->replica->is_current = false;
}

void dsgd_stage_hosts_step(dsgd_worker *w, const double *slowness)
{
    dsgd_engine *const engine = w->engine;
    if (engine->hybrid.stage_hosts == NULL) {
        dsgd_replica_step(engine->hybrid.replica, w->replica, slowness);
        return;
    }
    struct stage_hosts_of *const of = &engine->hybrid.stage_hosts->of[w->node.rank];
    const double now_s = dsgd_time_now_s(engine);
    double until_s = now_s;
    migrate(w, now_s);
    read_until(engine, until_s);
    do {
        decide_outages(w, until_s);
        set_away(w, now_s);
        dsgd_replica_step(engine->hybrid.replica, w->replica, slowness);
        until_s = now_s + w->replica->step_s;
        read_until(engine, until_s);
    } while (of->n_met < of->n && of->outages[of->n_met].down_s <= until_s);
    for (int i = 0; i < engine->hybrid.replica->n_groups; i++)
        of->slow[i] += slowness[i];
    of->n_steps++;
}

void dsgd_stage_hosts_step_end(const dsgd_worker *w, double virtual_s)
{
    const dsgd_replica_state *const m = w->replica;
    dsgd_replica_next(w->engine->hybrid.replica, w->replica);
    if (w->engine->hybrid.stage_hosts != NULL)
        w->engine->hybrid.stage_hosts->of[w->node.rank].lost_s += m->lost_s * virtual_s / m->step_s;
}

/* --- functions that fill the result at the end of a run --------------------------------------- */

static int earlier_first(const void *a, const void *b)
{
    const struct dsgd_failed *const x = a, *const y = b;
    return x->at_s != y->at_s ? (x->at_s < y->at_s ? -1 : 1)
                              : (x->worker > y->worker) - (x->worker < y->worker);
}

static void count_outage(dsgd_engine *engine, int worker, const outage *o)
{
    dsgd_run_result *const result = engine->result;
    dsgd_failure_times *const times = &result->failures;
    const double of_time = 1.0 / engine->n_workers / engine->hybrid.replica->n_groups;
    const double up_s = fmin(o->up_s, result->virtual_s),
                 back_s = fmin(o->back_s, result->virtual_s);
    times->repair_s += (up_s - o->down_s) * of_time;
    times->restart_s += (back_s - up_s) * of_time;
    if (o->back_s <= result->virtual_s)
        result->inner_bytes += dsgd_stage_hosts_state_bytes(
            engine, engine->workers[worker].replica->stage_of[o->host]);
    times->moves += o->moves;
    times->outlived += !o->moves;
    if (o->moves || times->n++ >= DSGD_MOST_LISTED)
        return;
    times->listed = dsgd_xrealloc(times->listed, (size_t)times->n, sizeof *times->listed);
    times->listed[times->n - 1] = (struct dsgd_failed){worker, o->down_s};
}

void dsgd_stage_hosts_sum_up(dsgd_engine *engine)
{
    dsgd_failure_times *const times = &engine->result->failures;
    if (engine->hybrid.stage_hosts == NULL)
        return;
    times->outlived = times->moves = 0;
    for (int w = 0; w < engine->n_workers; w++) {
        const struct stage_hosts_of *const of = &engine->hybrid.stage_hosts->of[w];
        times->lost_s += of->lost_s / engine->n_workers / engine->hybrid.replica->n_groups;
        for (size_t i = 0; i < of->n_met; i++)
            if (of->outages[i].host >= 0 && of->outages[i].down_s <= engine->result->virtual_s)
                count_outage(engine, w, &of->outages[i]);
    }
    if (times->outlived > 0)
        qsort(times->listed, (size_t)fmin((double)times->n, DSGD_MOST_LISTED),
              sizeof *times->listed, earlier_first);
}
