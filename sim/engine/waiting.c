/**
 * @file waiting.c Finds the workers that wait for other workers. Decides whether some workers would
 * wait for ever in a run that reached its bound.
 *
 * Some workers also wait at the end of a correct run: for a straggler, for a message that is under
 * way, or for the rest of a round. No number of steps or seconds distinguishes these waits from a
 * deadlock. With hundreds of local steps per round, or with a worker that is a hundred times
 * slower, a wait may take most of the run. Therefore the run continues after its end, without being
 * counted and without values, until every wait that existed at its end is over.
 *
 * A worker hangs if its wait is not over when no actor and no message moves any more. The run
 * always reaches this state, because every actor stops. work() stops after twice the largest number
 * of steps of any worker at the end of the run (at least LEAST_STEPS), or after MOST_CALLS verbs
 * without a step. assist() stops if it takes turns while no worker makes steps or computes
 * (steps.c). So the verdict is wrong only if a worker would send the missing message after more
 * additional steps than the whole run had. In a correct run the waits end soon, so the continuation
 * takes less time than a step, and no time if no worker waits.
 *
 * Waits of assist() for a request, or for its worker's steps, are not watched, because they may
 * never end.
 */
#include "sim/engine/engine.h"
#include "sim/result.h"

/* --- functions for waits at the end of a run -------------------------------------------------- */

static const dsgd_wait *watched_wait(const dsgd_worker *w)
{
    for (int i = 0; i < DSGD_MAX_WAITS; i++)
        if (w->waits.of[i].watched)
            return &w->waits.of[i];
    return NULL;
}

int dsgd_waits_watched(const dsgd_engine *engine)
{
    int n = 0;
    for (int i = 0; i < engine->n_workers; i++)
        n += watched_wait(&engine->workers[i]) != NULL;
    return n;
}

int dsgd_waits_watch(dsgd_engine *engine)
{
    for (int i = 0; i < engine->n_workers * DSGD_MAX_WAITS; i++) {
        dsgd_worker *const w = &engine->workers[i / DSGD_MAX_WAITS];
        dsgd_wait *const wait = &w->waits.of[i % DSGD_MAX_WAITS];
        if (w->clock.stopped || wait->in == NULL)
            continue;
        wait->watched = true;
        engine->watch.n++;
    }
    return engine->watch.n;
}

enum { MOST_CALLS = 100000 }; /* largest number of verbs that work() may call without a step */

void dsgd_stay_if_endless(dsgd_worker *w)
{
    if (!w->engine->watch.continued || dsgd_actor_self() != w->clock.work_actor)
        return;
    for (w->waits.calls++; w->waits.calls > MOST_CALLS;)
        dsgd_semaphore_wait(w->engine->never_semaphore);
}

/**
 * Virtual time that is longer than all messages under way can take: a thousand messages of 1 GB at
 * 1 B/s, one after another. A long virtual time costs no wall time if nothing moves.
 */
static const double until_nothing_moves_s = 1e15;

/*
 * Least number of steps after which work() stops: twice the number of local steps in the longest
 * round that is in use.
 */
enum { LEAST_STEPS = 1000 };

void dsgd_waits_continue(dsgd_engine *engine)
{
    engine->watch.counted = engine->result;
    engine->watch.computed = engine->learning.values;
    engine->result = dsgd_run_alloc(engine, sizeof *engine->result);
    engine->learning.values = NULL;
    int64_t most = 0;
    for (int i = 0; i < engine->n_workers; i++)
        if (engine->workers[i].clock.steps > most)
            most = engine->workers[i].clock.steps;
    engine->progress.most_steps = most >= LEAST_STEPS / 2 ? 2 * (most + 1) : LEAST_STEPS;
    engine->watch.continued = true;
    engine->watch.none_left = dsgd_semaphore_new();
    for (int i = 0; i < engine->n_workers; i++)
        dsgd_work_wake(&engine->workers[i]);
    dsgd_semaphore_wait_for(engine->watch.none_left, until_nothing_moves_s);
}

void dsgd_waits_end(dsgd_engine *engine)
{
    free(engine->result->ages.share);
    free(engine->result->gradient_ages.share);
    engine->result = engine->watch.counted;
    engine->learning.values = engine->watch.computed;
}

/* --- functions that report a deadlock --------------------------------------------------------- */

/*
 * largest number of waiting workers in the report, and of workers that the report names as the
 * cause of each wait
 */
enum { MOST_NAMED = 3 };

/** Appends a text such as " for workers 0, 1 and 5 more" to *text. */
static void append_peers(const dsgd_worker *w, const dsgd_wait *wait, char **text)
{
    const dsgd_engine *const engine = w->engine;
    const int n_hosts = engine->n_workers + engine->n_servers;
    int n = 0;
    for (int host = 0; host < n_hosts; host++)
        n += wait->in->lacks(w, wait->job, host);
    const int n_named = n > MOST_NAMED ? MOST_NAMED - 1 : n;
    int named = 0;
    for (int host = 0; host < n_hosts && named < n_named; host++) {
        if (!wait->in->lacks(w, wait->job, host))
            continue;
        const bool server = host >= engine->n_workers;
        const char *const plural = n > 1 ? "s " : " ";
        dsgd_append(text, "%s%s%s%d",
                    named == 0       ? " for "
                    : named + 1 == n ? " and "
                                     : ", ",
                    named > 0 ? ""
                    : server  ? "server"
                              : "worker",
                    named > 0 ? "" : plural, server ? host - engine->n_workers : host);
        named++;
    }
    if (n > n_named)
        dsgd_append(text, " and %d more", n - n_named);
}

/** The role of a host in a deadlock. */
typedef struct part_in_deadlock {
    int waited_for_by; /* number of workers that wait for this host */
    bool is_next_to_cause; /* true if this host waits for a worker that does not wait itself */
    bool reported;
} part_in_deadlock;

/** Returns an array of the roles of all hosts: first the workers, then the servers. */
static part_in_deadlock *parts_in_deadlock(const dsgd_engine *engine)
{
    const int n_hosts = engine->n_workers + engine->n_servers;
    part_in_deadlock *const parts = dsgd_keep((size_t)n_hosts, sizeof *parts);
    for (int i = 0; i < engine->n_workers; i++) {
        const dsgd_worker *const w = &engine->workers[i];
        const dsgd_wait *const wait = watched_wait(w);
        for (int host = 0; wait != NULL && host < n_hosts; host++) {
            if (host == i || !wait->in->lacks(w, wait->job, host))
                continue;
            parts[host].waited_for_by++;
            if (watched_wait(&engine->workers[host]) == NULL)
                parts[i].is_next_to_cause = true;
        }
    }
    return parts;
}

/**
 * Appends a text such as "worker 6 does not wait, but 7 workers wait for it; ". Does so only if one
 * host does not wait and more workers wait for it than for any other host.
 */
static void append_host_without_wait(const dsgd_engine *engine, const part_in_deadlock *parts,
                                     char **text)
{
    const int n_hosts = engine->n_workers + engine->n_servers;
    int first = 0;
    bool alone = true;
    for (int host = 1; host < n_hosts; host++) {
        const int more = parts[host].waited_for_by - parts[first].waited_for_by;
        alone = more > 0 || (alone && more < 0);
        first = more > 0 ? host : first;
    }
    const dsgd_worker *const w = &engine->workers[first];
    if (!alone || parts[first].waited_for_by < 2 || watched_wait(w) != NULL || w->clock.stopped ||
        w->clock.left_early)
        return;
    const bool server = first >= engine->n_workers;
    dsgd_append(text, "%s %d does not wait, but %d workers wait for it; ",
                server ? "server" : "worker", server ? first - engine->n_workers : first,
                parts[first].waited_for_by);
}

/**
 * Returns the next worker to report, which is the waiting worker nearest to the cause. If several
 * workers are equally near, returns the one with the lowest rank. At least one unreported worker
 * must exist.
 */
static int next_to_report(const dsgd_engine *engine, part_in_deadlock *parts)
{
    int next = -1;
    for (int i = 0; i < engine->n_workers; i++) {
        if (parts[i].reported || watched_wait(&engine->workers[i]) == NULL)
            continue;
        const part_in_deadlock *const best = &parts[next < 0 ? i : next];
        const bool nearer = parts[i].is_next_to_cause != best->is_next_to_cause
                                ? parts[i].is_next_to_cause
                                : parts[i].waited_for_by > best->waited_for_by;
        if (next < 0 || nearer)
            next = i;
    }
    parts[next].reported = true;
    return next;
}

void dsgd_waits_report(const dsgd_engine *engine, char **text)
{
    static const char *const suffixes[] = {"th", "st", "nd", "rd"};
    const int n = dsgd_waits_watched(engine);
    const int n_reported = n < MOST_NAMED ? n : MOST_NAMED;
    part_in_deadlock *const parts = parts_in_deadlock(engine);
    append_host_without_wait(engine, parts, text);
    for (int k = 0; k < n_reported; k++) {
        const dsgd_worker *const w = &engine->workers[next_to_report(engine, parts)];
        const dsgd_wait *const wait = watched_wait(w);
        const int64_t c = wait->collective;
        dsgd_append(text, "%sworker %d waits in %s", k > 0 ? "; " : "", w->node.rank,
                    wait->in->verb);
        if (c > 0)
            dsgd_append(text, " (its %jd%s collective)", c,
                        suffixes[c % 100 / 10 == 1 || c % 10 > 3 ? 0 : c % 10]);
        append_peers(w, wait, text);
        dsgd_append(text, " since %g s", wait->since_s);
    }
    if (n > n_reported)
        dsgd_append(text, "; %d more worker%s wait%s", n - n_reported,
                    n - n_reported > 1 ? "s" : "", n - n_reported > 1 ? "" : "s");
}
