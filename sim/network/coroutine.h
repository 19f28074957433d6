/**
 * @file coroutine.h
 * Functions that stop for one another, each on a stack of its own: Boost.Context's two functions of
 * assembler, and stacks that cost memory only as far as they are used.
 */
#pragma once

/** Zeroed: what called the first coroutine, on the stack of the process. */
typedef struct dsgd_coroutine {
    void *context; /* where it has stopped */
    char *stack; /* lowest address; NULL: of the process */
    void (*body)(void *argument);
    void *argument;
    struct dsgd_coroutine *next; /* among the coroutines that have ended */
    void *sanitizer; /* the address sanitizer's fake stack, or the thread sanitizer's fiber */
} dsgd_coroutine;

/** Makes one that will begin by @p body, which must not return: it ends by dsgd_coroutine_end(). */
void dsgd_coroutine_open(dsgd_coroutine *coroutine, void (*body)(void *argument), void *argument);

/** Stops @p from, which runs, until somebody switches back; lets @p to go on. */
void dsgd_coroutine_switch(dsgd_coroutine *from, dsgd_coroutine *to);

/**
 * The same for the last time: another coroutine may get the stack. @p from stays where it is until
 * dsgd_coroutines_close().
 */
void dsgd_coroutine_end(dsgd_coroutine *from, dsgd_coroutine *to) __attribute__((noreturn));

/** Frees all stacks; no coroutine runs. */
void dsgd_coroutines_close(void);
