/**
 * @file targets.h
 * Everything that reads a file, as functions that take bytes. libFuzzer drives each by fuzzer.c, in
 * the preset `fuzz`; the suite `fuzz` feeds what is kept here and what the program ships, in all.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/** Each reads bytes as its file, or files; what must hold of what it accepts is asserted. */
#define FUZZ_TARGETS(X)                                                                            \
    X(experiment)                                                                                  \
    X(platform)                                                                                    \
    X(workload)                                                                                    \
    X(imbalance)                                                                                   \
    X(edit)                                                                                        \
    X(csv)                                                                                         \
    X(replay)                                                                                      \
    X(fit)                                                                                         \
    X(idx)                                                                                         \
    X(text)                                                                                        \
    X(compare)                                                                                     \
    X(part)                                                                                        \
    X(manifest)                                                                                    \
    X(figure)                                                                                      \
    X(report)                                                                                      \
    X(edges)                                                                                       \
    X(placement)                                                                                   \
    X(number)                                                                                      \
    X(cluster)                                                                                     \
    X(import)                                                                                      \
    X(task)                                                                                        \
    X(plugin)

#define X(name) void fuzz_##name(const uint8_t *bytes, size_t n);
FUZZ_TARGETS(X)
#undef X

/** Between the files of an input that is several. */
#define FUZZ_SEPARATOR "\n--\n"

typedef struct fuzz_target {
    const char *name;
    void (*feed)(const uint8_t *bytes, size_t n);
    const char *shipped; /* a glob() in the source folder, more after `|`; NULL: none */
} fuzz_target;

extern const fuzz_target fuzz_targets[]; /* ends with a name NULL */

/** The bytes as a file, whose path stays the same; the next call replaces it. */
const char *fuzz_file(size_t which, const void *bytes, size_t n);

/** All keys, names, words and suffixes of the program, as a dictionary of libFuzzer. */
void fuzz_print_dictionary(FILE *stream);

/** Calls back with every file that belongs to a target: kept in the tree, or shipped. */
void fuzz_each_file(const fuzz_target *target,
                    void (*call)(const fuzz_target *target, const char *path, void *argument),
                    void *argument);
