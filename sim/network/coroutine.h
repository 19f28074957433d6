/**
 * @file coroutine.h
 * Coroutines: functions that switch to each other, each with its own stack. They use the two
 * assembler functions of Boost.Context, and stacks that use memory only for the pages they touch.
 */
#pragma once

/** A coroutine. A zeroed struct stands for the caller of the first coroutine, on the stack of the
 * process. */
typedef struct dsgd_coroutine {
    void *context; /* place where it has stopped */
    char *stack; /* lowest address; NULL for the stack of the process */
    void (*body)(void *argument);
    void *argument;
    struct dsgd_coroutine *next; /* next coroutine that has ended */
    void *sanitizer; /* the address sanitizer's fake stack, or the thread sanitizer's fiber */
} dsgd_coroutine;

/** Makes a coroutine that starts with @p body. @p body must not return; it must end by
 * dsgd_coroutine_end(). */
void dsgd_coroutine_open(dsgd_coroutine *coroutine, void (*body)(void *argument), void *argument);

/** Stops the running coroutine @p from, until another one switches back to it; continues @p to. */
void dsgd_coroutine_switch(dsgd_coroutine *from, dsgd_coroutine *to);

/**
 * Ends the running coroutine @p from, and continues @p to. Another coroutine may then get its
 * stack. The struct @p from must exist until dsgd_coroutines_close().
 */
void dsgd_coroutine_end(dsgd_coroutine *from, dsgd_coroutine *to) __attribute__((noreturn));

/** Frees all stacks. No coroutine may be running. */
void dsgd_coroutines_close(void);
