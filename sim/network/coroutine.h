/**
 * @file coroutine.h
 * Coroutines: functions that switch to each other, each with its own stack. They use the two
 * assembler functions of Boost.Context. Their stacks use memory only for the pages that have been
 * written.
 */
#pragma once

/**
 * A coroutine. A zeroed struct represents the caller of the first coroutine, which uses the stack
 * of the process.
 */
typedef struct dsgd_coroutine {
    void *context; /* place at which the coroutine has stopped */
    char *stack; /* lowest address of the stack; NULL for the stack of the process */
    void (*body)(void *argument);
    void *argument;
    struct dsgd_coroutine *next; /* next coroutine in the list of coroutines that have ended */
    void *sanitizer; /* fake stack of the address sanitizer, or fiber of the thread sanitizer */
} dsgd_coroutine;

/**
 * Makes a coroutine that starts with the function @p body. @p body must not return; it must end by
 * calling dsgd_coroutine_end().
 */
void dsgd_coroutine_open(dsgd_coroutine *coroutine, void (*body)(void *argument), void *argument);

/**
 * Stops the running coroutine @p from until another coroutine switches back to it, and continues @p
 * to.
 */
void dsgd_coroutine_switch(dsgd_coroutine *from, dsgd_coroutine *to);

/**
 * Ends the running coroutine @p from, and continues @p to. Another coroutine may then get the stack
 * of @p from. The struct @p from must exist until dsgd_coroutines_close().
 */
void dsgd_coroutine_end(dsgd_coroutine *from, dsgd_coroutine *to) __attribute__((noreturn));

/** Frees the stacks of all coroutines. No coroutine may be running. */
void dsgd_coroutines_close(void);
