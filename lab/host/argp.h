/**
 * @file argp.h
 * Declares the part of glibc's <argp.h> that the program uses.
 */
#pragma once

#include <stddef.h>

typedef int error_t;

struct argp_option {
    const char *name;
    int key;
    const char *arg;
    int flags;
    const char *doc;
};

struct argp_state {
    int argc;
    char **argv;
    int next;
    void *input;
};

struct argp {
    const struct argp_option *options;
    error_t (*parser)(int key, char *text, struct argp_state *state);
    const char *args_doc, *doc;
};

enum {
    OPTION_ARG_OPTIONAL = 1,
    OPTION_HIDDEN = 2,
    ARGP_KEY_ARGS = 0x1000006,
    ARGP_ERR_UNKNOWN = 7
};

extern const char *argp_program_version;
extern int argp_err_exit_status;

error_t argp_parse(const struct argp *argp, int count, char **words, unsigned flags, int *end,
                   void *input);
void argp_error(const struct argp_state *state, const char *format, ...)
    __attribute__((noreturn, format(printf, 2, 3)));
