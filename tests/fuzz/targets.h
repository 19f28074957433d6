/**
 * @file targets.h
 * Functions that pass bytes to the program's file readers. In the preset `fuzz`, libFuzzer calls
 * each function through fuzzer.c. In all presets, the suite `fuzz` calls the functions with the
 * files of this folder and with the files that the program ships.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/**
 * Names of all targets. A target reads its bytes as one file or as several files. If the program
 * accepts the input, the target checks properties of the result.
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

/** The text between two files in an input that consists of several files. */
#define FUZZ_SEPARATOR "\n--\n"

typedef struct fuzz_target {
    const char *name;
    void (*feed)(const uint8_t *bytes, size_t n);
    const char *shipped; /* glob() patterns of shipped files, separated by `|`, or NULL */
} fuzz_target;

extern const fuzz_target fuzz_targets[]; /* an entry without a name ends the array */

/**
 * Writes the bytes to file number @p which, and returns its path. A later call with the same number
 * replaces the content.
 */
const char *fuzz_file(size_t which, const void *bytes, size_t n);

/** Prints all keys, names, words and unit suffixes of the program as a dictionary for libFuzzer. */
void fuzz_print_dictionary(FILE *stream);

/**
 * Calls @p call with each file of a target: files of this tree, and files that the program ships.
 */
void fuzz_each_file(const fuzz_target *target,
                    void (*call)(const fuzz_target *target, const char *path, void *argument),
                    void *argument);
