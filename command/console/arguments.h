/**
 * @file arguments.h
 * Command lines of the sub-commands, read by tables of their options.
 */
#pragma once

#include "base/status.h"

/** What an option stores; the C type of its field stands beside it. */
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
    char letter; /* 0: none */
    const char *value; /* for --help; NULL for a FLAG */
    const char *help;
    dsgd_argument_kind kind;
    size_t offset; /* of the field in the struct of arguments */
    const char *const *words; /* of a WORD */
    const char *implied; /* value of a TEXT that is given without one; NULL: it needs one */
    const char *gone; /* why this option of earlier versions is refused; NULL: it is not */
} dsgd_argument;

typedef struct dsgd_operands {
    size_t n;
    char **v; /* [n], into the words of the command line */
} dsgd_operands;

enum { DSGD_MOST_TEXTS = 256 };

/** The values of an option that may be repeated. */
typedef struct dsgd_texts {
    size_t n;
    const char *v[DSGD_MOST_TEXTS];
} dsgd_texts;

/**
 * A row: kind without its prefix, field of the sub-command's struct `arguments`, name, letter,
 * value, help, and after it any other member.
 */
#define DSGD_ARGUMENT(kind_, field, name_, letter_, value_, ...)                                   \
    {                                                                                              \
        .kind = DSGD_ARGUMENT_##kind_, .offset = offsetof(arguments, field), .name = name_,        \
        .letter = letter_, .value = value_, .help = __VA_ARGS__                                    \
    }

/** What ends runs; fields of dsgd_run_limits (command/runs/pool.h). */
#define DSGD_ARGUMENT_LIMITS(field)                                                                \
    DSGD_ARGUMENT(                                                                                 \
        SECONDS, field.timeout_s, "timeout", 0, "DURATION",                                        \
        "Ends a run after this wall time, such as 90s, 30min or 2h, with status timeout; "         \
        "the same command then runs it again"),                                                    \
        DSGD_ARGUMENT(                                                                             \
            SECONDS, field.stall_s, "stall", 0, "DURATION",                                        \
            "Ends a run in which nothing moves for this CPU time (10min), as with an algorithm "   \
            "that loops for ever")

/** For dsgd_plugins_load(). */
#define DSGD_ARGUMENT_PLUGIN                                                                       \
    DSGD_ARGUMENT(TEXTS, plugins, "plugin", 0, "FILE",                                             \
                  "Adds the algorithms of a shared object; may be repeated")

/** Words of --numerics, by dsgd_numerics: with `off`, and of commands that compute in any case. */
extern const char *const dsgd_numerics_words[], *const dsgd_computing_words[];

/** A row for those who know --resume. */
#define DSGD_ARGUMENT_RESUME                                                                       \
    {                                                                                              \
        .name = "resume",                                                                          \
        .gone = "the same command goes on from what is done; --force does all anew"                \
    }

typedef struct dsgd_syntax {
    const char *operands, *help;
    size_t least, most; /* operands */
    const char *expected; /* the sentence where there are fewer or more */
    const dsgd_argument *options; /* NULL: none but --help and --usage */
} dsgd_syntax;

/**
 * Parses @p words, the first being the command, such as `dsgd run`, into a struct that begins with
 * a dsgd_operands. Exits on an unknown option, a bad value, and after --help; after `--help=json`
 * alone, which prints the table: packaging/pages.py makes man pages and completions of it.
 */
dsgd_status dsgd_parse(int count, char **words, const dsgd_syntax *syntax, void *arguments,
                       dsgd_error *error);
