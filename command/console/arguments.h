/**
 * @file arguments.h
 * Parses the command lines of sub-commands, from tables of their options.
 */
#pragma once

#include "base/status.h"

/** Kind of an option's value. The kind determines the C type of the field that stores the value. */
typedef enum dsgd_argument_kind {
    DSGD_ARGUMENT_FLAG, /* The field is a bool. */
    DSGD_ARGUMENT_TEXT, /* The field is a const char *. */
    DSGD_ARGUMENT_TEXTS, /* The field is a dsgd_texts, because the option may be repeated. */
    DSGD_ARGUMENT_COUNT, /* The field is an int64_t. Its value is from 1 to 1000000. */
    DSGD_ARGUMENT_SECONDS, /* The field is a double above 0. The user may add a unit of time. */
    /* The field is an int. Its value is the index of the given word. */
    DSGD_ARGUMENT_WORD
} dsgd_argument_kind;

/** An option of a command line. A row whose name is NULL ends a table of options. */
typedef struct dsgd_argument {
    const char *name;
    char letter; /* letter of the short option; 0 if the option has no short form */
    const char *value; /* name of the option's value in `--help`; NULL for a FLAG */
    const char *help;
    dsgd_argument_kind kind;
    size_t offset; /* offset of the field in the struct of arguments, in bytes */
    const char *const *words; /* valid words of a WORD option */
    const char *implied; /* value of a TEXT option if the user gives the option without a value;
                          * NULL if a value is required */
    const char *gone; /* for an option of earlier versions: text that names its replacement; NULL
                       * for a current option */
} dsgd_argument;

typedef struct dsgd_operands {
    size_t n;
    char **v; /* array of n values, as pointers into the command line */
} dsgd_operands;

enum { DSGD_MOST_TEXTS = 256 };

/** The values of an option that may be repeated. */
typedef struct dsgd_texts {
    size_t n;
    const char *v[DSGD_MOST_TEXTS];
} dsgd_texts;

/**
 * Defines a row of an option table. The arguments are the kind without its prefix, the field of the
 * sub-command's struct `arguments`, the name, the letter, the value, the help, and any further
 * members.
 */
#define DSGD_ARGUMENT(kind_, field, name_, letter_, value_, ...)                                   \
    {                                                                                              \
        .kind = DSGD_ARGUMENT_##kind_, .offset = offsetof(arguments, field), .name = name_,        \
        .letter = letter_, .value = value_, .help = __VA_ARGS__                                    \
    }

/**
 * Defines the options that limit runs. They store their values in a dsgd_run_limits
 * (command/runs/pool.h).
 */
#define DSGD_ARGUMENT_LIMITS(field)                                                                \
    DSGD_ARGUMENT(                                                                                 \
        SECONDS, field.timeout_s, "timeout", 0, "DURATION",                                        \
        "Ends a run after this wall time, such as 90s, 30min or 2h, with status timeout; run "     \
        "the same command again to repeat these runs"),                                            \
        DSGD_ARGUMENT(                                                                             \
            SECONDS, field.stall_s, "stall", 0, "DURATION",                                        \
            "Ends a run that makes no progress for this much CPU time [default: 10min], such as "  \
            "an infinite loop in an algorithm")

/** Defines option --plugin. Pass its values to dsgd_plugins_load(). */
#define DSGD_ARGUMENT_PLUGIN                                                                       \
    DSGD_ARGUMENT(TEXTS, plugins, "plugin", 0, "FILE",                                             \
                  "Adds the algorithms of a plug-in, a shared object (may be repeated)")

/**
 * Words of option --numerics, in the order of dsgd_numerics. The first list includes `off`. The
 * second list is for commands that always compute gradients.
 */
extern const char *const dsgd_numerics_words[], *const dsgd_computing_words[];

/** Defines a row for the former option --resume. The row explains what replaces this option. */
#define DSGD_ARGUMENT_RESUME                                                                       \
    {                                                                                              \
        .name = "resume",                                                                          \
        .gone = "run the same command again to continue; --force runs everything again"            \
    }

typedef struct dsgd_syntax {
    const char *operands, *help;
    size_t least, most; /* smallest and largest number of operands */
    const char *expected; /* expected operands, for the error message about a wrong number of
                           * operands */
    const dsgd_argument *options; /* table of options; NULL if the command has only the options
                                   * --help and --usage */
} dsgd_syntax;

/**
 * Parses @p words into a struct that begins with a dsgd_operands. The first word is the command,
 * such as `dsgd run`. Exits after an unknown option, an invalid value, or --help. If the only
 * option is `--help=json`, prints the options as JSON for packaging/pages.py and exits.
 */
dsgd_status dsgd_parse(int count, char **words, const dsgd_syntax *syntax, void *arguments,
                       dsgd_error *error);
