/**
 * @file coroutine.c
 * Implements the functions of sim/network/coroutine.c with Emscripten's fibers. Stacks have no
 * guard pages; only a build with -sSTACK_OVERFLOW_CHECK=2 detects an overflow.
 */
#include "sim/network/coroutine.h"

#include <emscripten/fiber.h>

#include "base/status.h"

/* size of a fiber's C stack, and size of the memory that saves a stopped fiber's state, in bytes */
enum { STACK_BYTES = 128 << 10, NOTES_BYTES = 16 << 10 };

typedef struct fiber {
    emscripten_fiber_t of;
    struct fiber *next, *next_unused;
    _Alignas(16) char stack[STACK_BYTES], notes[NOTES_BYTES];
} fiber;

static fiber *all, *unused;
static struct {
    emscripten_fiber_t of;
    char notes[NOTES_BYTES];
} process;
static dsgd_coroutine *running; /* the coroutine that is running now */

static void begin(void *nothing)
{
    running->body(running->argument);
    abort();
}

void dsgd_coroutine_open(dsgd_coroutine *coroutine, void (*body)(void *argument), void *argument)
{
    fiber *f = unused;
    if (f == NULL) {
        f = aligned_alloc(_Alignof(fiber), sizeof *f); /* malloc() would align the memory to only 8
                                                        * bytes. */
        if (f == NULL)
            dsgd_no_memory();
        f->next = all;
        all = f;
    } else {
        unused = f->next_unused;
    }
    emscripten_fiber_init(&f->of, begin, NULL, f->stack, STACK_BYTES, f->notes, NOTES_BYTES);
    *coroutine =
        (dsgd_coroutine){.context = f, .stack = f->stack, .body = body, .argument = argument};
}

static emscripten_fiber_t *fiber_of(dsgd_coroutine *coroutine)
{
    return coroutine->stack == NULL ? &process.of : &((fiber *)coroutine->context)->of;
}

void dsgd_coroutine_switch(dsgd_coroutine *from, dsgd_coroutine *to)
{
    if (from->context == NULL) {
        emscripten_fiber_init_from_current_context(&process.of, process.notes, NOTES_BYTES);
        from->context = &process;
    }
    running = to;
    emscripten_fiber_swap(fiber_of(from), fiber_of(to));
}

void dsgd_coroutine_end(dsgd_coroutine *from, dsgd_coroutine *to)
{
    fiber *const f = from->context;
    /* The fiber can be reused safely, because no coroutine is opened before the switch below. */
    f->next_unused = unused;
    unused = f;
    running = to;
    emscripten_fiber_swap(&f->of, fiber_of(to));
    abort();
}

void dsgd_coroutines_close(void)
{
    for (fiber *next = NULL; all != NULL; all = next) {
        next = all->next;
        free(all);
    }
    unused = NULL;
}
