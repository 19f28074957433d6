/**
 * @file scenes.h
 * What a user does with the program, each in a folder of its own; and what has to hold afterwards,
 * whatever failed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "tests/faults/inject.h"

/**
 * Verdicts; all from LESS on are bugs. LIBRARY: a library takes memory that it did not get for
 * granted (libfyaml, in fy_parse_input_append()).
 */
#define VERDICTS(X)                                                                                \
    X(SAME, "same bytes")                                                                          \
    X(SAID, "error said")                                                                          \
    X(LIBRARY, "died in library")                                                                  \
    X(MISSED, "not reached")                                                                       \
    X(LESS, "EXIT 0 WITH LESS")                                                                    \
    X(SILENT, "NO SENTENCE")                                                                       \
    X(SIGNALLED, "SIGNAL")                                                                         \
    X(HANGS, "HANGS")                                                                              \
    X(LEFT, "PROCESS LEFT")                                                                        \
    X(LITTER, "FILE LEFT")                                                                         \
    X(DAMAGED, "DAMAGED")

typedef enum verdict {
#define X(name, text) name,
    VERDICTS(X)
#undef X
        N_VERDICTS
} verdict;

extern const char *const verdict_names[N_VERDICTS];

typedef struct scene {
    const char *name;
    const char *words; /* behind the name of the program */
    const char *before; /* a command of the shell that makes what is there, after a run */
    const char *made; /* files that it makes, by which results are compared */
    const char *kept; /* files that no fault may change */
    bool takes_up; /* the same command does the rest */
} scene;

extern const scene scenes[];
extern const size_t n_scenes;

/** A stage has a folder, and what a scene gives there undisturbed. */
typedef struct stage {
    const scene *scene;
    char *root, *work, *before; /* folders: of the stage, where it runs, as it is before */
    char *made, *kept; /* contents, undisturbed */
    const char *words[16];
    char *text; /* of the words */
    shim_shared *shared;
    char *shared_path;
    long counts[INJECT_MOST_CALLS]; /* of each call */
    uint64_t *sites; /* of allocations */
    size_t n_sites;
    bool cannot; /* this kernel does not let one process watch another */
} stage;

/** Sets a scene up in a new folder, and counts its calls. False: the reason is on stderr. */
bool stage_open(stage *s, const scene *of);
void stage_close(stage *s);

/** The folder as it is before the scene. */
void stage_reset(const stage *s);

/** Plays the scene with a fault. *why is what was wrong or what it said, to be freed. */
verdict stage_play(stage *s, const inject_fault *fault, inject_result *result, char **why);

/**
 * What is wrong with the folder after a disturbed scene and the same command again: MISSED where
 * nothing is. @p may_litter: a file could not be removed.
 */
verdict stage_judge(stage *s, bool may_litter, char **why);

/** Contents of files in the folder where the stage runs, without times of the wall; to be freed. */
char *stage_contents(const stage *s, const char *files);
