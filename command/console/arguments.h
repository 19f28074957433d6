/**
 * @file arguments.h
 * Parses the command lines of sub-commands, from tables of their options.
 */
#pragma once

#include "base/status.h"

/** The value of an option, and the C type of the field that stores it. */
typedef enum dsgd_argument_kind {
    DSGD_ARGUMENT_FLAG, /* bool */
    DSGD_ARGUMENT_TEXT, /* const char * */
    DSGD_ARGUMENT_TEXTS, /* dsgd_texts: may be repeated */
    DSGD_ARGUMENT_COUNT, /* long: from 1 to 1000000 */
    DSGD_ARGUMENT_SECONDS, /* double: above 0, with a unit of time or without */
    DSGD_ARGUMENT_WORD /* int: index into words */
} dsgd_argument_kind;

/** An option of a command line. A row without a name ends a table. */
typedef struct dsgd_argument {
    const char *name;
    char letter; /* 0 if none exists */
    const char *value; /* for --help; NULL for a FLAG */
    const char *help;
    dsgd_argument_kind kind;
    size_t offset; /* offset of the field in the struct of arguments */
    const char *const *words; /* valid words of a WORD */
    const char *implied; /* value of a TEXT that is given without one; NULL if it needs one */
    const char *gone; /* for an option of earlier versions: what to use instead; else NULL */
} dsgd_argument;

typedef struct dsgd_operands {
    size_t n;
    char **v; /* [n], pointers into the command line */
} dsgd_operands;

enum { DSGD_MOST_TEXTS = 256 };

/** The values of an option that may be repeated. */
typedef struct dsgd_texts {
    size_t n;
    const char *v[DSGD_MOST_TEXTS];
} dsgd_texts;

/**
 * Defines a row: kind without its prefix, field of the struct `arguments` of the sub-command, name,
 * letter, value, help, and any further members.
 */
#define DSGD_ARGUMENT(kind_, field, name_, letter_, value_, ...)                                   \
    {                                                                                              \
        .kind = DSGD_ARGUMENT_##kind_, .offset = offsetof(arguments, field), .name = name_,        \
        .letter = letter_, .value = value_, .help = __VA_ARGS__                                    \
    }

/** The options that end runs; they store into a dsgd_run_limits (command/runs/pool.h). */
#define DSGD_ARGUMENT_LIMITS(field)                                                                \
    DSGD_ARGUMENT(                                                                                 \
        SECONDS, field.timeout_s, "timeout", 0, "DURATION",                                        \
        "Ends a run after this wall time, such as 90s, 30min or 2h, with status timeout; run "     \
        "the same command again to repeat these runs"),                                            \
        DSGD_ARGUMENT(                                                                             \
            SECONDS, field.stall_s, "stall", 0, "DURATION",                                        \
            "Ends a run that makes no progress for this much CPU time [default: 10min], such as "  \
            "an infinite loop in an algorithm")

/** The option whose values dsgd_plugins_load() takes. */
#define DSGD_ARGUMENT_PLUGIN                                                                       \
    DSGD_ARGUMENT(TEXTS, plugins, "plugin", 0, "FILE",                                             \
                  "Adds the algorithms of a plug-in, a shared object (may be repeated)")

/** Words of --numerics in the order of dsgd_numerics: with `off`, and for commands that always
 * compute. */
extern const char *const dsgd_numerics_words[], *const dsgd_computing_words[];

/** A row that explains what replaces --resume. */
#define DSGD_ARGUMENT_RESUME                                                                       \
    {                                                                                              \
        .name = "resume",                                                                          \
        .gone = "run the same command again to continue; --force runs everything again"            \
    }

typedef struct dsgd_syntax {
    const char *operands, *help;
    size_t least, most; /* operands */
    const char *expected; /* error if there are fewer or more operands */
    const dsgd_argument *options; /* NULL if there are only --help and --usage */
} dsgd_syntax;

/**
 * Parses @p words, whose first is the command, such as `dsgd run`, into a struct that begins with a
 * dsgd_operands. Exits after an unknown option, a wrong value, or --help. With only `--help=json`
 * it prints the table as JSON, from which packaging/pages.py makes man pages and completions, and
 * exits.
 */
dsgd_status dsgd_parse(int count, char **words, const dsgd_syntax *syntax, void *arguments,
                       dsgd_error *error);
