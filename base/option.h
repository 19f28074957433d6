/**
 * @file option.h Option tables of algorithms, models, data sets, imbalance kinds and the sections
 * of an experiment file. A table is declared next to the struct that it fills. It drives reading,
 * checking, `dsgd describe` and the manifest.
 */
#pragma once

#include "base/status.h"

DSGD_BEGIN_C

/** The type of an option's value. The comments give the C type of its field. */
typedef enum dsgd_option_kind {
    DSGD_BOOL, /* bool */
    /* int64_t; with words, word i is stored as -(i + 1), and `min` limits only numbers */
    DSGD_LONG,
    DSGD_DOUBLE, /* double; words as for LONG; for units see dsgd_parse_number() */
    DSGD_CHOICE, /* int or an enumeration of the same size: index into words */
    DSGD_STRING, /* const char *; NULL if absent without a default */
    DSGD_NUMBERS, /* dsgd_numbers: a list; a single number means a list of one */
    DSGD_PAIRS, /* dsgd_pairs: a list of pairs of integers, or a file with one pair per line */
    /* dsgd_lines: a list of texts, one of `words`, or the path of a file with one text per line */
    DSGD_LINES,
    DSGD_TABLE, /* dsgd_table: a mapping from number to number, keys strictly ascending */
    DSGD_STRUCT, /* a struct embedded at the offset, read by `fields` from a nested mapping */
    DSGD_STRUCTS, /* dsgd_structs: a list of mappings, each read by `fields` */
    DSGD_SPEC, /* dsgd_spec: a name from `registry`, or a mapping with that name and its options */
    DSGD_SPECS, /* dsgd_specs: a list of such; a single pick means a list of one */
    DSGD_END /* end of the table: DSGD_OPTION_END */
} dsgd_option_kind;

typedef struct dsgd_numbers {
    size_t n;
    double *v; /* [n] */
} dsgd_numbers;

typedef struct dsgd_pairs {
    size_t n;
    int64_t (*v)[2]; /* [n] */
} dsgd_pairs;

typedef struct dsgd_lines {
    size_t n;
    const char **v; /* [n] */
} dsgd_lines;

typedef struct dsgd_table {
    size_t n;
    double *x; /* [n], strictly ascending */
    double *y; /* [n] */
} dsgd_table;

typedef struct dsgd_structs {
    size_t n;
    void *v; /* [n] structs of size struct_size */
} dsgd_structs;

struct dsgd_entry;

/** An entry of a registry with values of its options. */
typedef struct dsgd_spec {
    const struct dsgd_entry *about; /* NULL if absent */
    void *params; /* about->params_size bytes */
} dsgd_spec;

typedef struct dsgd_specs {
    size_t n;
    dsgd_spec *v; /* [n] */
} dsgd_specs;

/** A file of picks: what they are, and where they come from. */
typedef struct dsgd_spec_set {
    const char *summary, *origin;
    dsgd_specs entries;
} dsgd_spec_set;

/**
 * One row of an option table; DSGD_OPTION_END ends the table. Unset fields mean none. The macros
 * below name the fields in this order, as C++ requires; in C++ no row of LONG or DOUBLE has words.
 */
typedef struct dsgd_option {
    const char *name; /* the key in the file */
    dsgd_option_kind kind;
    size_t offset; /* offset of the field in the struct that the table describes */
    const char *help; /* one line, no full stop */
    bool required; /* true if the file must give it */
    /* true if the value may be a list, each element of which is for separate runs */
    bool multiplies;
    bool refines; /* for STRUCT: true if absent keys keep the values of the outer struct */
    /* for SPECS and STRUCT: folder of shipped files that may be named instead; NULL for none */
    const char *shipped;
    double init; /* default of BOOL, LONG, DOUBLE and CHOICE */
    const char *init_text; /* default of STRING, and the name picked by default for SPEC */
    /* inclusive limits of LONG, DOUBLE, NUMBERS and PAIRS, and of the values of TABLE */
    double min, max;
    const char *const *words; /* for CHOICE, LONG and DOUBLE: words; ends with NULL */
    /*
     * for STRUCT and STRUCTS: the keys; for SPEC: keys of an entry in addition to its own options
     */
    const struct dsgd_option *fields;
    size_t struct_size; /* for STRUCTS */
    const struct dsgd_entry *const *registry; /* for SPEC and SPECS: registry; ends with NULL */
    /*
     * for SPEC and SPECS: the key of the name, "name" or "kind". For a STRUCT with shipped files:
     * the key that names the file from which the values differ
     */
    const char *key;
    const char *unit; /* "s", "bytes", "steps", ...; NULL for a pure number */
} dsgd_option;

/*
 * Rows of a table. The arguments are the struct, its field (whose name is the key), the properties
 * of such an option, the help, and any other member, such as `.required = true` or `.words = x`. A
 * field whose C type differs from the option's does not compile.
 */
#ifdef __cplusplus
#define DSGD_OPTION_AT(c_type, type, field)                                                        \
    (offsetof(type, field) + 0 * sizeof(static_cast<c_type *>(&((type *)0)->field)))
#else
#define DSGD_OPTION_AT(c_type, type, field)                                                        \
    _Generic(((type *)0)->field, c_type : offsetof(type, field))
#endif
#define DSGD_OPTION_AT_BOOL(type, field) DSGD_OPTION_AT(bool, type, field)
#define DSGD_OPTION_AT_LONG(type, field) DSGD_OPTION_AT(int64_t, type, field)
#define DSGD_OPTION_AT_DOUBLE(type, field) DSGD_OPTION_AT(double, type, field)
#define DSGD_OPTION_AT_STRING(type, field) DSGD_OPTION_AT(const char *, type, field)
#define DSGD_OPTION_AT_NUMBERS(type, field) DSGD_OPTION_AT(dsgd_numbers, type, field)
#define DSGD_OPTION_AT_PAIRS(type, field) DSGD_OPTION_AT(dsgd_pairs, type, field)
#define DSGD_OPTION_AT_LINES(type, field) DSGD_OPTION_AT(dsgd_lines, type, field)
#define DSGD_OPTION_AT_TABLE(type, field) DSGD_OPTION_AT(dsgd_table, type, field)
#define DSGD_OPTION_AT_STRUCTS(type, field) DSGD_OPTION_AT(dsgd_structs, type, field)
#define DSGD_OPTION_AT_SPEC(type, field) DSGD_OPTION_AT(dsgd_spec, type, field)
#define DSGD_OPTION_AT_SPECS(type, field) DSGD_OPTION_AT(dsgd_specs, type, field)
#define DSGD_OPTION_AT_STRUCT(type, field) offsetof(type, field) /* any struct */
#define DSGD_OPTION_AT_CHOICE(type, field) /* an enumeration with the size of int */               \
    (offsetof(type, field) + 0 * sizeof(char[sizeof(((type *)0)->field) == sizeof(int) ? 1 : -1]))

/** A row whose key differs from the name of its field. @p kind_ is BOOL, LONG, ... */
#define DSGD_OPTION_AS(key_, kind_, type, field, ...)                                              \
    {                                                                                              \
        .name = key_, .kind = DSGD_##kind_, .offset = DSGD_OPTION_AT_##kind_(type, field),         \
        .help = __VA_ARGS__                                                                        \
    }
#define DSGD_OPTION_BOOL(type, field, init_, ...)                                                  \
    DSGD_OPTION_AS(#field, BOOL, type, field, __VA_ARGS__, .init = init_)
#define DSGD_OPTION_LONG(type, field, init_, min_, max_, unit_, ...)                               \
    DSGD_OPTION_AS(#field, LONG, type, field, __VA_ARGS__, .init = init_, .min = min_,             \
                   .max = max_, .unit = unit_)
#define DSGD_OPTION_DOUBLE_AS(key_, type, field, init_, min_, max_, unit_, ...)                    \
    DSGD_OPTION_AS(key_, DOUBLE, type, field, __VA_ARGS__, .init = init_, .min = min_,             \
                   .max = max_, .unit = unit_)
#define DSGD_OPTION_DOUBLE(type, field, ...) DSGD_OPTION_DOUBLE_AS(#field, type, field, __VA_ARGS__)
#define DSGD_OPTION_CHOICE(type, field, words_, ...)                                               \
    DSGD_OPTION_AS(#field, CHOICE, type, field, __VA_ARGS__, .words = words_)
#define DSGD_OPTION_STRING(type, field, ...)                                                       \
    DSGD_OPTION_AS(#field, STRING, type, field, __VA_ARGS__)
#define DSGD_OPTION_NUMBERS(type, field, min_, max_, ...)                                          \
    DSGD_OPTION_AS(#field, NUMBERS, type, field, __VA_ARGS__, .min = min_, .max = max_)
#define DSGD_OPTION_PAIRS(type, field, min_, max_, ...)                                            \
    DSGD_OPTION_AS(#field, PAIRS, type, field, __VA_ARGS__, .min = min_, .max = max_)
#define DSGD_OPTION_LINES(type, field, words_, ...)                                                \
    DSGD_OPTION_AS(#field, LINES, type, field, __VA_ARGS__, .words = words_)
#define DSGD_OPTION_TABLE(type, field, min_, max_, unit_, ...)                                     \
    DSGD_OPTION_AS(#field, TABLE, type, field, __VA_ARGS__, .min = min_, .max = max_, .unit = unit_)
#define DSGD_OPTION_STRUCT(type, field, fields_, ...)                                              \
    DSGD_OPTION_AS(#field, STRUCT, type, field, __VA_ARGS__, .fields = fields_)
#define DSGD_OPTION_STRUCTS(type, field, record, fields_, ...)                                     \
    DSGD_OPTION_AS(#field, STRUCTS, type, field, __VA_ARGS__, .fields = fields_,                   \
                   .struct_size = sizeof(record))
#define DSGD_OPTION_SPEC(type, field, registry_, key_, ...)                                        \
    DSGD_OPTION_AS(#field, SPEC, type, field, __VA_ARGS__, .registry = registry_, .key = key_)
#define DSGD_OPTION_SPECS(type, field, registry_, key_, ...)                                       \
    DSGD_OPTION_AS(#field, SPECS, type, field, __VA_ARGS__, .registry = registry_, .key = key_)
#define DSGD_OPTION_END                                                                            \
    {                                                                                              \
        .name = NULL, .kind = DSGD_END                                                             \
    }

/**
 * The head of everything that a user can name. It is the first member, so registries are lists of
 * heads.
 */
typedef struct dsgd_entry {
    const char *name;
    const char *summary; /* one line: how the entry differs from its neighbours */
    const char *reference; /* paper and place in it; NULL if there is none */
    size_t params_size; /* bytes of the struct that `options` fills */
    const dsgd_option *options; /* NULL for none */
    size_t n_options; /* number of rows, including the end; 0 if unknown */
} dsgd_entry;

/** The last three members: the struct, and the table (an array) that fills it. */
#define DSGD_PARAMS(type, table)                                                                   \
    .params_size = sizeof(type), .options = table, .n_options = sizeof(table) / sizeof(table)[0]

/**
 * Rejects a head without a summary, a table without an end, options whose fields lie outside the
 * struct or that have no help, two options with the same name, and defaults that are not allowed.
 */
dsgd_status dsgd_entry_check(const dsgd_entry *about, dsgd_error *error);

/** Returns the head with name @p name, or NULL. @p registry ends with NULL. */
const dsgd_entry *dsgd_entry_find(const dsgd_entry *const *registry, const char *name);

enum { DSGD_MOST_NAMES = 64 };

/** Returns the names in a registry, followed by NULL, for dsgd_hint(). */
const char *const *dsgd_entry_names(const dsgd_entry *const *registry);

/** Returns the option with name @p name, or NULL. @p options may be NULL. */
const dsgd_option *dsgd_option_find(const dsgd_option *options, const char *name);

/** Returns the index of a word in @p words, or -1 if it is not one of them. Both may be NULL. */
int dsgd_find_word(const char *const *words, const char *text);

/**
 * Returns the name nearest to @p name by edit distance, or the only one that contains it; NULL if
 * none is near. @p names ends with NULL.
 */
const char *dsgd_nearest(const char *name, const char *const *names);

/** Returns the end of a sentence: " (did you mean `x`?)", or "" if no name is near. */
const char *dsgd_hint(const char *name, const char *const *names);

/** Returns "a, b, c". @p last is the separator before the last name, such as " or ". */
char *dsgd_listed(const char *const *names, const char *last);

/** Fills @p params with the defaults of @p options (may be NULL). Required options stay zero. */
void dsgd_options_default(const dsgd_option *options, void *params);

/** Returns an entry of a registry with its default values. */
dsgd_spec dsgd_spec_default(const dsgd_entry *about);

/** Sets a BOOL, CHOICE, LONG or DOUBLE. A word is given by the number that stores it. */
void dsgd_option_put(const dsgd_option *o, void *params, double value);

/** Returns the text of a value of such an option. */
const char *dsgd_option_text(const dsgd_option *o, double value);

/**
 * Reads a finite number with an optional suffix of @p unit, perhaps after a blank: "s" (ns us ms s
 * min h), "bytes" (k M G T, Ki Mi Gi, each with or without B), "bytes/s" (kB/s MB/s GB/s Mb/s
 * Gb/s), "flop/s" (Mf Gf Tf), "W" (W kW), "s/B" (ps ns us, each with or without /B), "share" (%).
 * Returns false if @p text is not such a number.
 */
bool dsgd_parse_number(const char *text, const char *unit, double *number);

/** Returns the i-th suffix of numbers of @p unit (may be NULL), or NULL if there are no more. */
const char *dsgd_unit_suffix(const char *unit, size_t i);

DSGD_END_C
