/**
 * @file test_runtime.c
 * Tests the runtime of actors: semaphores, the agenda of events, and stacks.
 */
#include "sim/network/coroutine.h"
#include "sim/network/events.h"
#include "tests/support/suite.h"
#include "tests/support/support.h"

/* --- actors ----------------------------------------------------------------------------------- */

static void waiting_work(dsgd_node *self)
{
    dsgd_semaphore *const never = dsgd_semaphore_new();
    while (dsgd_next_step(self)) {
        for (int i = 0; i < 3; i++) {
            if (self->rank % 2 == 0)
                ck_assert(!dsgd_semaphore_wait_for(never, 0.1));
            else
                dsgd_sleep(0.1);
        }
        support_current->note[self->rank] = dsgd_now_s();
    }
}

SUITE(runtime, "runtime", .seconds = 120);

static const dsgd_algorithm waiting = {.about = {.name = "waiting"}, .work = waiting_work};

/**
 * Some actors stop waiting for a semaphore at the instant at which other actors wake. The actors
 * that stop waiting must not take a wake-up from the other actors.
 */
TEST(all_actors_that_wake_at_one_instant_continue)
{
    support_case *c = support_of(&waiting, 6);
    support_steps_each(c, 2);
    support_no_learning(c);
    const support_outcome *const got = support_ok(c);
    ck_assert_int_eq(got->result.outcome, DSGD_RUN_OK);
    for (int i = 0; i < 6; i++)
        ck_assert_double_eq_tol(got->note[i], 0.6, 1e-12);
}

/* --- events and stacks ------------------------------------------------------------------------ */

TEST(a_heap_gives_the_least_first_and_equals_by_number)
{
    enum { N = 5000 };
    dsgd_heap heap = {0};
    uint32_t state = 1;
    for (uint64_t i = 0; i < N; i++) {
        state = state * 1664525u + 1013904223u;
        dsgd_heap_push(&heap, state >> 24, i, NULL);
    }
    struct dsgd_heap_entry last = {-1, 0, NULL};
    for (int i = 0; i < N; i++) {
        const struct dsgd_heap_entry next = dsgd_heap_pop(&heap);
        ck_assert(next.key > last.key || (next.key == last.key && next.number > last.number));
        last = next;
    }
    ck_assert_uint_eq(heap.n, 0);
    free(heap.entry);
}

/**
 * If _i is 0, the test uses as many different times as the agenda remembers. If _i is 1, it uses
 * ten times as many times, so times replace each other in the agenda's memory.
 */
TEST_RANGE(agenda_returns_the_earliest_time_and_keeps_the_order_of_equal_times, 0, 2)
{
    enum { N = 20000 };
    dsgd_agenda agenda = {0};
    uint32_t state = 1;
    uint64_t n_taken = 0;
    double last_time = 0;
    uint64_t last = 0;
    for (uint64_t i = 1; i <= N || n_taken < N; i++) {
        state = state * 1664525u + 1013904223u;
        if (i <= N)
            dsgd_agenda_add(&agenda, last_time + (double)((state >> 16) % (_i == 0 ? 64 : 640)), i,
                            NULL);
        if (i % 3 == 0 && i <= N)
            continue; /* the agenda first grows, and later shrinks */
        const double time = dsgd_agenda_time(&agenda);
        uint64_t number = 0;
        dsgd_agenda_take(&agenda, &number);
        ck_assert(n_taken == 0 || time > last_time || (time == last_time && number > last));
        last_time = time;
        last = number;
        n_taken++;
    }
    ck_assert(dsgd_agenda_is_empty(&agenda));
    dsgd_agenda_close(&agenda);
}

static int n_happened;
static double happened_s;

static void happen(dsgd_event *event)
{
    (void)event;
    n_happened++;
    happened_s = dsgd_events_now_s();
}

TEST(an_event_happens_when_it_was_planned_last)
{
    dsgd_event moved = {.happen = happen};
    dsgd_event cancelled = {.happen = happen};
    dsgd_event_plan(&moved, 1);
    dsgd_event_plan(&cancelled, 2);
    dsgd_event_plan(&moved, 3);
    dsgd_event_cancel(&cancelled);
    ck_assert(dsgd_events_next());
    ck_assert_int_eq(n_happened, 1);
    ck_assert_double_eq(happened_s, 3);
    ck_assert(!dsgd_events_next());
    dsgd_events_close();
}

enum { N_COROUTINES = 100000 };

static dsgd_coroutine caller, called;
static int n_called;

static void call_back(void *argument)
{
    volatile char frame[2048]; /* this array is a frame that uses part of the stack */
    frame[0] = *(const char *)argument;
    n_called += frame[0];
    dsgd_coroutine_switch(&called, &caller);
    n_called += frame[0];
    dsgd_coroutine_end(&called, &caller);
}

/** The memory of a stack must be reused. 100,000 stacks of 128 KiB would take 12 GiB. */
TEST(a_stack_is_used_again)
{
    char one = 1;
    char *first = NULL;
    for (int i = 0; i < N_COROUTINES; i++) {
        dsgd_coroutine_open(&called, call_back, &one);
        first = i == 0 ? called.stack : first;
        ck_assert_ptr_eq(called.stack, first);
        dsgd_coroutine_switch(&caller, &called);
        dsgd_coroutine_switch(&caller, &called);
    }
    ck_assert_int_eq(n_called, 2 * N_COROUTINES);
    dsgd_coroutines_close();
}

/** The run has more actors than a process may have memory mappings. */
TEST(tens_of_thousands_of_workers_make_steps)
{
    support_case *c = support_new("d_psgd", SUPPORT_SLOW ? 1000 : 24000);
    c->config.until.steps = 2;
    support_no_learning(c);
    const support_outcome *const got = support_ok(c);
    ck_assert_int_eq(got->result.outcome, DSGD_RUN_OK);
    ck_assert_double_eq(got->result.steps, 2);
}

/**
 * A run must leave no state in the process (about time, its end or a deadlock), because it would
 * change the next run.
 */
TEST(successive_runs_of_a_process_equal_separate_processes)
{
    support_case *c = support_new("d_psgd", 16);
    support_no_learning(c);
    dsgd_run_result first, again;
    const dsgd_run_result alone = support_ok(c)->result; /* result of a run in a child process */
    ck_assert_int_eq(dsgd_simulate(&c->config, &first, NULL), DSGD_OK);
    ck_assert_int_eq(dsgd_simulate(&c->config, &again, NULL), DSGD_OK);
    ck_assert_double_eq(first.virtual_s, alone.virtual_s);
    ck_assert_double_eq(again.virtual_s, alone.virtual_s);
    ck_assert_double_eq(again.steps, alone.steps);
    ck_assert_double_eq(again.bytes, alone.bytes);
    dsgd_run_result_free(&first);
    dsgd_run_result_free(&again);
}
