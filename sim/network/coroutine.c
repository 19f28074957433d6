/**
 * @file coroutine.c
 * Implements switches between coroutines, and their stacks.
 *
 * Stacks are parts of large memory mappings. The kernel provides memory only for pages that have
 * been written, usually one page of a stack of 128 KiB. A guard page below a stack splits its
 * mapping, and a process can have only 65,530 mappings (vm.max_map_count). Therefore only the first
 * stacks have a guard page, so that small runs detect a stack overflow.
 */
#include "sim/network/coroutine.h"

#include <sys/mman.h>

#include "base/sanitizers.h"
#include "base/status.h"

#ifdef DSGD_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef DSGD_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
#endif

/*
 * The C interface of Boost.Context. Only its C++ headers declare it
 * (boost/context/detail/fcontext.hpp).
 */
typedef struct transfer_t {
    void *fctx; /* place at which the caller has stopped */
    void *data;
} transfer_t;
extern void *make_fcontext(void *highest, size_t size, void (*function)(transfer_t));
extern transfer_t jump_fcontext(void *to, void *data);

/* --- stacks ----------------------------------------------------------------------------------- */

#if defined(DSGD_ADDRESS_SANITIZER) || defined(DSGD_THREAD_SANITIZER)
enum { STACK_BYTES = 512 << 10 }; /* larger, because sanitizers need larger stack frames */
#else
enum { STACK_BYTES = 128 << 10 };
#endif
enum { MAPPING_STACKS = 256, MOST_GUARDS = 16384, GUARD_BYTES = 4096 };
static const size_t mapping_bytes = (size_t)STACK_BYTES * MAPPING_STACKS;

static struct {
    char **mapping; /* [n_mappings] mappings with MAPPING_STACKS stacks each */
    size_t n_mappings, n_used; /* n_mappings: number of mappings; n_used: number of stacks that have
                                * been used so far */
    dsgd_coroutine *ended; /* list of coroutines that have ended, whose stacks can be reused */
} stacks;

static char *take_stack(void)
{
    const dsgd_coroutine *const ended = stacks.ended;
    if (ended != NULL) {
        stacks.ended = ended->next;
        return ended->stack;
    }
    if (stacks.n_used == stacks.n_mappings * MAPPING_STACKS) {
        char *const mapping = mmap(NULL, mapping_bytes, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (mapping == MAP_FAILED)
            dsgd_no_memory();
        madvise(mapping, mapping_bytes,
                MADV_NOHUGEPAGE); /* With a huge page of 2 MiB, the memory of 16 stacks would become
                                   * resident at once. */
        stacks.mapping =
            dsgd_xrealloc(stacks.mapping, stacks.n_mappings + 1, sizeof *stacks.mapping);
        stacks.mapping[stacks.n_mappings++] = mapping;
    }
    char *const stack = stacks.mapping[stacks.n_mappings - 1] +
                        stacks.n_used % MAPPING_STACKS * (size_t)STACK_BYTES;
    if (stacks.n_used++ < MOST_GUARDS)
        mprotect(stack, GUARD_BYTES, PROT_NONE);
    return stack;
}

void dsgd_coroutines_close(void)
{
    for (size_t i = 0; i < stacks.n_mappings; i++) {
#ifdef DSGD_ADDRESS_SANITIZER
        ASAN_UNPOISON_MEMORY_REGION(stacks.mapping[i], mapping_bytes);
#endif
        munmap(stacks.mapping[i], mapping_bytes);
    }
    free(stacks.mapping);
    stacks.mapping = NULL;
    stacks.n_mappings = stacks.n_used = 0;
    stacks.ended = NULL;
}

/* --- switches between coroutines -------------------------------------------------------------- */

static dsgd_coroutine *running; /* coroutine that runs now */

#ifdef DSGD_ADDRESS_SANITIZER

static const void *process_stack;
static size_t process_stack_bytes;

/** Announces a switch to the address sanitizer. If @p last is true, @p from never runs again. */
static void announce(dsgd_coroutine *from, const dsgd_coroutine *to, bool last)
{
    void **const fake_stack = last ? NULL : &from->sanitizer;
    if (to->stack == NULL)
        __sanitizer_start_switch_fiber(fake_stack, process_stack, process_stack_bytes);
    else
        __sanitizer_start_switch_fiber(fake_stack, to->stack, STACK_BYTES);
}

static void confirm(const dsgd_coroutine *from)
{
    const void *bottom = NULL;
    size_t bytes = 0;
    __sanitizer_finish_switch_fiber(running->sanitizer, &bottom, &bytes);
    if (from->stack == NULL) {
        process_stack = bottom;
        process_stack_bytes = bytes;
    }
}

#elif defined(DSGD_THREAD_SANITIZER)

static void *ended; /* fiber that has ended and can be destroyed when another fiber runs */

/*
 * This function is inline, because the thread sanitizer records calls per fiber: no function may
 * return between the switch of the fiber and the jump.
 */
static inline __attribute__((always_inline)) void announce(dsgd_coroutine *from,
                                                           const dsgd_coroutine *to, bool last)
{
    from->sanitizer = __tsan_get_current_fiber();
    ended = last ? from->sanitizer : NULL;
    __tsan_switch_to_fiber(to->sanitizer, 0);
}

static void confirm(const dsgd_coroutine *from)
{
    (void)from;
    if (ended != NULL)
        __tsan_destroy_fiber(ended);
    ended = NULL;
}

#else

static void announce(dsgd_coroutine *from, const dsgd_coroutine *to, bool last)
{
    (void)from;
    (void)to;
    (void)last;
}

static void confirm(const dsgd_coroutine *from)
{
    (void)from;
}

#endif

/**
 * Stores the place at which the previous coroutine has stopped. Runs in the coroutine that
 * continues.
 */
static void arrive(transfer_t by)
{
    dsgd_coroutine *const from = by.data;
    from->context = by.fctx;
    confirm(from);
}

static void begin(transfer_t by)
{
    arrive(by);
    running->body(running->argument);
    abort();
}

void dsgd_coroutine_open(dsgd_coroutine *coroutine, void (*body)(void *argument), void *argument)
{
    char *const stack = take_stack();
    *coroutine = (dsgd_coroutine){.context = make_fcontext(stack + STACK_BYTES, STACK_BYTES, begin),
                                  .stack = stack,
                                  .body = body,
                                  .argument = argument};
#ifdef DSGD_THREAD_SANITIZER
    coroutine->sanitizer = __tsan_create_fiber(0);
#endif
}

void dsgd_coroutine_switch(dsgd_coroutine *from, dsgd_coroutine *to)
{
    running = to;
    announce(from, to, false);
    arrive(jump_fcontext(to->context, from));
}

void dsgd_coroutine_end(dsgd_coroutine *from, dsgd_coroutine *to)
{
    from->next = stacks.ended; /* No coroutine can take this stack before the jump, because no
                                * coroutine is opened between this line and the jump. */
    stacks.ended = from;
    running = to;
    announce(from, to, true);
    jump_fcontext(to->context, from);
    abort();
}
