/**
 * @file targets.h
 * The program's file readers, as functions that take bytes. In the preset `fuzz`, libFuzzer calls
 * each of them through fuzzer.c. In all presets, the suite `fuzz` feeds them the files that are
 * kept here and the files that the program ships.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/**
 * Each target reads its bytes as a file or as several files. If the input is accepted, the target
 * asserts the properties that must hold.
 */
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

/** Separates the files of an input that consists of several files. */
#define FUZZ_SEPARATOR "\n--\n"

typedef struct fuzz_target {
    const char *name;
    void (*feed)(const uint8_t *bytes, size_t n);
    const char *shipped; /* glob() patterns in the source folder, with `|` between; may be NULL */
} fuzz_target;

extern const fuzz_target fuzz_targets[]; /* the last entry has the name NULL */

/**
 * Stores the bytes as a file, and returns its path, which stays the same. The next call replaces
 * the file.
 */
const char *fuzz_file(size_t which, const void *bytes, size_t n);

/** Prints all keys, names, words and suffixes of the program, as a dictionary of libFuzzer. */
void fuzz_print_dictionary(FILE *stream);

/**
 * Calls @p call with every file that belongs to a target: files kept in the tree and shipped files.
 */
void fuzz_each_file(const fuzz_target *target,
                    void (*call)(const fuzz_target *target, const char *path, void *argument),
                    void *argument);
