/**
 * @file option.h Option tables of algorithms, models, data sets, imbalance kinds and the sections
 * of an experiment file. A table is declared next to the struct that it fills. The program uses the
 * table to read and check values, for `dsgd describe`, and for the manifest.
 */
#pragma once

#include "base/status.h"

DSGD_BEGIN_C

/** The type of an option's value. Each comment starts with the C type of the option's field. */
typedef enum dsgd_option_kind {
    DSGD_BOOL, /* bool */
    /*
     * int64_t; if the option has words, -(i + 1) stands for word i, and `min` limits only numbers
     */
    DSGD_LONG,
    DSGD_DOUBLE, /* double, which may have words like a LONG; dsgd_parse_number() describes the
                  * units */
    DSGD_CHOICE, /* int, or an enumeration of the same size; the value is an index into `words` */
    DSGD_STRING, /* const char *; NULL if the key is absent and has no default */
    /* dsgd_numbers: a list of numbers; a single number stands for a list of one number */
    DSGD_NUMBERS,
    DSGD_PAIRS, /* dsgd_pairs: a list of pairs of integers, or a file with one pair per line */
    /*
     * dsgd_lines: a list of texts, a word of `words`, or the path of a file with one text per line
     */
    DSGD_LINES,
    /* dsgd_table: a mapping from numbers to numbers, whose keys are strictly ascending */
    DSGD_TABLE,
    /* a struct at the offset of the field; `fields` describes the keys of the nested mapping */
    DSGD_STRUCT,
    /* dsgd_structs: a list of mappings; `fields` describes the keys of each mapping */
    DSGD_STRUCTS,
    /* dsgd_spec: the name of an entry of `registry`, or a mapping with that name and its options */
    DSGD_SPEC,
    /*
     * dsgd_specs: a list of values like the value of a SPEC; a single value stands for a list of
     * one value
     */
    DSGD_SPECS,
    /* not an option: ends a table (DSGD_OPTION_END) */
    DSGD_END
} dsgd_option_kind;

typedef struct dsgd_numbers {
    size_t n;
    double *v; /* [n] numbers of the list */
} dsgd_numbers;

typedef struct dsgd_pairs {
    size_t n;
    int64_t (*v)[2]; /* [n] pairs of integers of the list */
} dsgd_pairs;

typedef struct dsgd_lines {
    size_t n;
    const char **v; /* [n] texts of the list */
} dsgd_lines;

typedef struct dsgd_table {
    size_t n;
    double *x; /* [n] keys, strictly ascending */
    double *y; /* [n] values that belong to the keys x */
} dsgd_table;

typedef struct dsgd_structs {
    size_t n;
    void *v; /* [n] structs of struct_size bytes each */
} dsgd_structs;

struct dsgd_entry;

/** An entry of a registry, with values for its options. */
typedef struct dsgd_spec {
    const struct dsgd_entry *about; /* the selected entry; NULL if no entry is selected */
    void *params; /* [about->params_size bytes] values of the entry's options */
} dsgd_spec;

typedef struct dsgd_specs {
    size_t n;
    dsgd_spec *v; /* [n] entries with their options */
} dsgd_specs;

/**
 * The contents of a file with a list of entries. The summary describes the entries, and the origin
 * names their source.
 */
typedef struct dsgd_spec_set {
    const char *summary, *origin;
    dsgd_specs entries;
} dsgd_spec_set;

/**
 * One row of an option table. DSGD_OPTION_END ends the table. Members that are not set have no
 * effect. The macros below set the members in this order, as C++ requires. In C++, a row of kind
 * LONG or DOUBLE cannot have words.
 */
typedef struct dsgd_option {
    const char *name; /* key of the option in a file */
    dsgd_option_kind kind;
    size_t offset; /* byte offset of the option's field in the struct that the table describes */
    const char *help; /* help text of one line, without a full stop */
    bool required; /* true if a file must contain the key */
    /* true if the value may be a list; then each element of the list is used for separate runs */
    bool multiplies;
    bool refines; /* for STRUCT: true if keys that are absent keep the values of the outer struct */
    /*
     * for SPECS and STRUCT: name of the folder of shipped files, which can be named instead of a
     * value; NULL if no such folder exists
     */
    const char *shipped;
    double init; /* default value of BOOL, LONG, DOUBLE and CHOICE */
    const char *init_text; /* default value of STRING; for SPEC, name of the default entry */
    /* smallest and largest value of LONG, DOUBLE, NUMBERS and PAIRS, and of the values of TABLE */
    double min, max;
    const char *const *words; /* for CHOICE, LONG and DOUBLE: list of words that ends with NULL */
    /*
     * for STRUCT and STRUCTS: table of the keys; for SPEC: keys that every entry has in addition to
     * its own options
     */
    const struct dsgd_option *fields;
    size_t struct_size; /* for STRUCTS: bytes of one struct */
    /* for SPEC and SPECS: list of all entries, which ends with NULL */
    const struct dsgd_entry *const *registry;
    /*
     * for SPEC and SPECS: key that contains the name of the entry, "name" or "kind". For a STRUCT
     * with shipped files: key that names the file whose values the other keys change
     */
    const char *key;
    const char *unit; /* unit: "s", "bytes", "steps", ...; NULL for a pure number */
} dsgd_option;

/*
 * Macros for the rows of a table. Their first arguments are the struct and its field, whose name is
 * also the key. Then follow the properties of the kind of option, the help, and any other members,
 * such as `.required = true` or `.words = x`. A field whose C type does not fit the kind of option
 * does not compile.
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
#define DSGD_OPTION_AT_STRUCT(type, field) offsetof(type, field) /* field of any struct type */
#define DSGD_OPTION_AT_CHOICE(type, field) /* field of an enumeration, as large as int */          \
    (offsetof(type, field) + 0 * sizeof(char[sizeof(((type *)0)->field) == sizeof(int) ? 1 : -1]))

/** Makes a row whose key differs from the name of its field. @p kind_ is BOOL, LONG, ... */
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
 * The description of anything that a user can name, such as an algorithm or a model. It is the
 * first member of each described struct, so a registry is a list of pointers to dsgd_entry.
 */
typedef struct dsgd_entry {
    const char *name;
    const char *summary; /* one line that states how the entry differs from similar entries */
    const char *reference; /* paper, and section in the paper; NULL if no paper exists */
    size_t params_size; /* bytes of the struct that the options in `options` fill */
    const dsgd_option *options; /* option table; NULL if there are no options */
    size_t n_options; /* number of rows of the table, including DSGD_OPTION_END; 0 if unknown */
} dsgd_entry;

/**
 * Sets the last three members of a dsgd_entry. @p table must be an array that describes struct @p
 * type.
 */
#define DSGD_PARAMS(type, table)                                                                   \
    .params_size = sizeof(type), .options = table, .n_options = sizeof(table) / sizeof(table)[0]

/**
 * Checks an entry. Rejects an entry without a summary, or with a table without an end. Rejects
 * options whose fields lie outside the struct, or that have no help. Also rejects two options with
 * the same name, and defaults that are not allowed.
 */
dsgd_status dsgd_entry_check(const dsgd_entry *about, dsgd_error *error);

/** Returns the entry with name @p name, or NULL if no entry has this name. @p registry ends with
 * NULL. */
const dsgd_entry *dsgd_entry_find(const dsgd_entry *const *registry, const char *name);

enum { DSGD_MOST_NAMES = 64 };

/**
 * Returns the names of all entries of a registry, followed by NULL. The result fits dsgd_hint().
 */
const char *const *dsgd_entry_names(const dsgd_entry *const *registry);

/** Returns the option with name @p name, or NULL if no option has this name. @p options may be
 * NULL. */
const dsgd_option *dsgd_option_find(const dsgd_option *options, const char *name);

/**
 * Returns the index of @p text in the list @p words, or -1 if the list does not contain it. Both
 * arguments may be NULL.
 */
int dsgd_find_word(const char *const *words, const char *text);

/**
 * Returns the name that is nearest to @p name by edit distance. If no name is near, returns the
 * only name that contains @p name. If there is no such name, returns NULL. @p names ends with NULL.
 */
const char *dsgd_nearest(const char *name, const char *const *names);

/**
 * Returns a hint for the end of a message: " (did you mean `x`?)". Returns "" if no name is near.
 */
const char *dsgd_hint(const char *name, const char *const *names);

/**
 * Returns the names as "a, b, c". @p last is the separator before the last name, such as " or ".
 */
char *dsgd_listed(const char *const *names, const char *last);

/**
 * Fills @p params with the defaults of all options. Required options become zero. @p options may be
 * NULL.
 */
void dsgd_options_default(const dsgd_option *options, void *params);

/** Returns an entry of a registry with default values for its options. */
dsgd_spec dsgd_spec_default(const dsgd_entry *about);

/**
 * Sets an option of kind BOOL, CHOICE, LONG or DOUBLE in @p params. To set a word, pass the number
 * that stands for it.
 */
void dsgd_option_put(const dsgd_option *o, void *params, double value);

/** Returns @p value of an option of kind BOOL, CHOICE, LONG or DOUBLE as a text. */
const char *dsgd_option_text(const dsgd_option *o, double value);

/**
 * Reads a finite number, which may have a suffix of unit @p unit, with or without a blank before
 * it. The units are "s" (ns us ms s min h), "bytes" (k M G T, Ki Mi Gi, each with or without B),
 * "bytes/s" (kB/s MB/s GB/s Mb/s Gb/s), "flop/s" (Mf Gf Tf), "W" (W kW), "s/B" (ps ns us, each with
 * or without /B), "share" (%). Returns false if @p text is not such a number.
 */
bool dsgd_parse_number(const char *text, const char *unit, double *number);

/**
 * Returns suffix number @p i of unit @p unit. Returns NULL if there are no more suffixes. @p unit
 * may be NULL.
 */
const char *dsgd_unit_suffix(const char *unit, size_t i);

DSGD_END_C
