/**
 * @file actors.c Functions that actors share: memory of the run, waiting for changes that other
 * actors make, the barrier and the lock.
 */
#include "base/sanitizers.h"
#include "sim/engine/engine.h"
#include "sim/failures/failures.h"
#include "sim/observe/observe.h"

/* --- functions that allocate memory of the run ------------------------------------------------ */

#ifdef DSGD_ADDRESS_SANITIZER
/*
 * Only empty blocks are reused, because the sanitizer cannot watch blocks that are freed and
 * reused.
 */
enum { MOST_UNITS = 1 };
#else
enum { MOST_UNITS = 128 };
#endif
enum { UNIT_BYTES = 16 };

/** A block of the run's memory, in a doubly linked list. */
struct dsgd_block {
    struct dsgd_block *next, **link; /* next: next block; link: the pointer that points to this
                                      * block */
    struct dsgd_block *next_unused; /* next block in the list `unused` */
    size_t units;
    _Alignas(max_align_t) unsigned char memory[];
};

/**
 * Lists of small freed blocks, one list per size in units. The block that was freed last is the
 * first of its list, because it is probably still in the cache.
 */
static struct dsgd_block *unused[MOST_UNITS + 1];
static size_t n_unused;

void *dsgd_run_alloc(dsgd_engine *engine, size_t bytes)
{
    const size_t units = (bytes + UNIT_BYTES - 1) / UNIT_BYTES;
    struct dsgd_block *block = units < MOST_UNITS ? unused[units] : NULL;
    if (block != NULL) {
        unused[units] = block->next_unused;
        n_unused--;
        return memset(block->memory, 0, units * UNIT_BYTES);
    }
    block = dsgd_xcalloc(1, sizeof *block + units * UNIT_BYTES);
    block->units = units;
    block->next = engine->blocks;
    block->link = &engine->blocks;
    if (block->next != NULL)
        block->next->link = &block->next;
    engine->blocks = block;
    return block->memory;
}

void dsgd_run_free(void *memory)
{
    if (memory == NULL)
        return;
    struct dsgd_block *const block =
        (struct dsgd_block *)((unsigned char *)memory - offsetof(struct dsgd_block, memory));
    if (block->units < MOST_UNITS) {
        block->next_unused = unused[block->units];
        unused[block->units] = block;
        n_unused++;
        return;
    }
    *block->link = block->next;
    if (block->next != NULL)
        block->next->link = block->link;
    free(block);
}

size_t dsgd_run_free_all(dsgd_engine *engine)
{
    size_t n = 0;
    for (struct dsgd_block *next = NULL; engine->blocks != NULL; engine->blocks = next, n++) {
        next = engine->blocks->next;
        free(engine->blocks);
    }
    n -= n_unused;
    memset(unused, 0, sizeof unused);
    n_unused = 0;
    return n;
}

/* --- functions by which actors sleep, wake and wait ------------------------------------------- */

void dsgd_work_wake(dsgd_worker *w)
{
    const int n = w->waits.n_asleep;
    /* n_asleep becomes 0 before a woken actor runs, because that actor may sleep again */
    w->waits.n_asleep = 0;
    w->waits.wakes += n;
    for (int i = 0; i < n; i++)
        dsgd_semaphore_post(w->waits.work);
}

void dsgd_work_sleep(dsgd_worker *w)
{
    w->waits.n_asleep++;
    dsgd_semaphore_wait(w->waits.work);
}

bool dsgd_work_sleep_until(dsgd_worker *w, double until_s)
{
    const int64_t wakes = w->waits.wakes;
    w->waits.n_asleep++;
    if (until_s == INFINITY)
        dsgd_semaphore_wait(w->waits.work);
    else if (until_s <= dsgd_now_s() ||
             !dsgd_semaphore_wait_for(w->waits.work, until_s - dsgd_now_s())) {
        /*
         * if wakes has changed, dsgd_work_wake() also woke this actor at this instant, and has
         * already subtracted the actor from n_asleep
         */
        w->waits.n_asleep -= w->waits.wakes == wakes;
        return false;
    }
    return true;
}

void dsgd_ready_sleep(dsgd_worker *w, size_t n)
{
    if (w->waits.n_for_ready == 0 || n < w->waits.ready_awaited)
        w->waits.ready_awaited = n;
    w->waits.n_for_ready++;
    dsgd_semaphore_wait(w->waits.ready);
}

void dsgd_ready_wake(dsgd_worker *w)
{
    if (w->gpu.computation.ready < w->waits.ready_awaited)
        return;
    const int n = w->waits.n_for_ready;
    w->waits.n_for_ready = 0;
    for (int i = 0; i < n; i++)
        dsgd_semaphore_post(w->waits.ready);
}

void dsgd_stay_if_stopped(const dsgd_worker *w)
{
    while (w->clock.stopped)
        dsgd_semaphore_wait(w->engine->never_semaphore);
}

dsgd_wait *dsgd_wait_begin(dsgd_worker *w, const dsgd_waiting *in, const struct dsgd_job *job)
{
    dsgd_wait *wait = w->waits.of;
    while (wait < w->waits.of + DSGD_MAX_WAITS && wait->in != NULL)
        wait++;
    DSGD_ASSERT(wait < w->waits.of + DSGD_MAX_WAITS, "worker %d has %d actors that wait in verbs",
                w->node.rank, DSGD_MAX_WAITS + 1);
    *wait = (dsgd_wait){.in = in, .job = job, .since_s = dsgd_now_s()};
    dsgd_timeline_look(w->engine, w->host);
    wait->span = dsgd_timeline_wait(w, wait);
    return wait;
}

dsgd_wait *dsgd_wait_begin_of_work(dsgd_worker *w, const dsgd_waiting *in,
                                   const struct dsgd_job *job)
{
    return dsgd_actor_self() == w->clock.work_actor ? dsgd_wait_begin(w, in, job) : NULL;
}

void dsgd_wait_end(dsgd_worker *w, dsgd_wait *wait)
{
    if (wait == NULL)
        return;
    const bool watched = wait->watched;
    dsgd_timeline_wait_end(w, wait);
    *wait = (dsgd_wait){.in = NULL};
    if (watched && --w->engine->watch.n == 0)
        dsgd_semaphore_post(w->engine->watch.none_left);
}

void dsgd_count_events(const dsgd_engine *engine, uint64_t n)
{
    dsgd_progress *const progress = engine->config->progress;
    if (progress == NULL)
        return;
    const uint64_t before = atomic_load_explicit(&progress->events, memory_order_relaxed);
    atomic_store_explicit(&progress->events, before + n,
                          memory_order_relaxed); /* relaxed order suffices, because no other actor
                                                  * writes `events` */
    atomic_store_explicit(&progress->virtual_s, dsgd_time_now_s(engine), memory_order_relaxed);
}

void dsgd_count_move(dsgd_engine *engine)
{
    dsgd_count_events(engine, 1);
    engine->progress.moves++;
    for (int i = 0; i < engine->n_workers && engine->progress.n_resting > 0; i++)
        dsgd_work_wake(&engine->workers[i]);
}

bool dsgd_lacks_no_host(const dsgd_worker *w, const struct dsgd_job *job, int host)
{
    (void)w;
    (void)job;
    (void)host;
    return false;
}

static bool is_not_at_barrier(const dsgd_worker *w, const struct dsgd_job *none, int host);

static const dsgd_waiting barrier = {"the barrier before a step", is_not_at_barrier};

static bool is_not_at_barrier(const dsgd_worker *w, const struct dsgd_job *none, int host)
{
    (void)none;
    if (host >= w->engine->n_workers)
        return false;
    for (int i = 0; i < DSGD_MAX_WAITS; i++)
        if (w->engine->workers[host].waits.of[i].in == &barrier)
            return false;
    return true;
}

void dsgd_barrier(dsgd_node *self)
{
    dsgd_worker *const w = dsgd_worker_of(self);
    dsgd_engine *const engine = w->engine;
    const int64_t round = engine->barrier.round;
    if (++engine->barrier.n_there == engine->n_workers) {
        engine->barrier.n_there = 0;
        engine->barrier.round++;
        for (int i = 0; i < engine->n_workers; i++)
            dsgd_work_wake(&engine->workers[i]);
        return;
    }
    dsgd_wait *const wait = dsgd_wait_begin(w, &barrier, NULL);
    while (engine->barrier.round == round)
        dsgd_work_sleep(w);
    dsgd_wait_end(w, wait);
}

void dsgd_lock(dsgd_node *self)
{
    dsgd_worker *const w = dsgd_worker_of(self);
    static const dsgd_waiting lock = {"dsgd_lock", dsgd_lacks_no_host};
    const int64_t ticket = w->waits.locks++;
    if (w->waits.unlocks == ticket)
        return;
    dsgd_wait *const wait = dsgd_wait_begin(w, &lock, NULL);
    while (w->waits.unlocks != ticket)
        dsgd_work_sleep(w);
    dsgd_wait_end(w, wait);
}

void dsgd_unlock(dsgd_node *self)
{
    dsgd_worker *const w = dsgd_worker_of(self);
    w->waits.unlocks++;
    dsgd_work_wake(w);
}
