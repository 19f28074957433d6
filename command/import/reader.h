/**
 * @file reader.h
 * Defines the state of `dsgd import`, and the readers that add their findings to this state.
 *
 * A reader consists of three parts: an entry of the table in command/import.c, a file in this
 * folder, and a function in traces/ that parses the format. Each file is offered to the readers in
 * the order of the table, until a reader finds something in the file. After the last file, the
 * platform is opened. Then the function finish() of each reader that found something is called.
 */
#pragma once

#include "traces/platform.h"

/** The parts of the experiment file that `dsgd import` writes. */
typedef enum dsgd_import_part {
    DSGD_IMPORT_NCCL, /* those keys of the platform's `nccl` whose values are not single numbers */
    DSGD_IMPORT_WORKLOAD,
    DSGD_IMPORT_IMBALANCE, /* elements of the list `imbalance` */
    DSGD_IMPORT_TOP, /* keys workers, placement, exchange and until; each key occurs at most once */
    DSGD_IMPORT_PARTS
} dsgd_import_part;

/**
 * A number of the platform, such as `island_hosts` or `nccl.links`. If the value is a word, the
 * number is the index of this word.
 */
typedef struct dsgd_import_number {
    const char *key, *from;
    double value;
} dsgd_import_number;

/**
 * Measurements of a job, for a comparison with a simulation. step_s is 0 if there are no
 * measurements.
 */
typedef struct dsgd_profiled {
    double step_s, deviation_s; /* mean and standard deviation of the step time, in seconds; 0 if
                                 * there are too few steps */
    size_t n_buckets;
    bool is_bound; /* true if the traces of some ranks are missing, so that bucket_s may include
                    * waiting for these ranks */
    double *bucket_bytes, *bucket_s; /* bucket_bytes: array of n_buckets sizes; bucket_s: array of
                                      * times from the start of a bucket's sum at the last rank to
                                      * the end of the sum */
} dsgd_profiled;

typedef struct dsgd_import {
    /* Options of the command line. An option that the user does not give is NULL or 0. */
    const char *output, *platform_name, *workload_name;
    int64_t nodes, ranks, first; /* number of nodes and of ranks, and number of steps from which the
                                  * experiment is made; 0 selects all steps */
    const char *job_nodes; /* list of the job's hosts, or a file that contains this list */
    /* Facts that the readers have found in the files. */
    const char *gpu, *gpu_from; /* first name of a GPU in the files, and the file that contains the
                                 * name; NULL if no file names a GPU */
    /* array of n_numbers numbers that readers found for the platform */
    dsgd_import_number *numbers;
    size_t n_numbers;
    char *parts[DSGD_IMPORT_PARTS]; /* YAML lines of each part, not indented */
    dsgd_profiled measured;
    size_t left_out; /* number of skipped files or tables that have a known format */
    char *gave; /* findings in the current file, as one line; NULL if there are none */
    /*
     * The platform with all numbers that were found. It is valid from the first call of finish().
     */
    dsgd_platform platform;
    bool is_open;
} dsgd_import;

typedef struct dsgd_import_reader {
    const char *name, *gives; /* name: kind of file, such as "log of nccl-tests"; gives: parts that
                               * the reader provides */
    /**
     * Function that returns false if the reader certainly cannot read the file. @p head is the
     * start of the file, inflated and zero-terminated. The function is NULL if the reader accepts
     * any text.
     */
    bool (*recognise)(const char *head);
    /**
     * Function that reads a file. If it finds something, it calls dsgd_import_gave(); otherwise the
     * file is offered to the next reader. state[state_bytes] belongs to the reader and is zero at
     * the start. If the reader rejects the file, the state does not change.
     */
    dsgd_status (*read)(dsgd_import *m, const char *path, void *state, dsgd_error *error);
    size_t state_bytes;
    /**
     * Function that is called after the platform was opened. NULL if the reader needs no such
     * function.
     */
    dsgd_status (*finish)(dsgd_import *m, void *state, dsgd_error *error);
} dsgd_import_reader;

enum { DSGD_IMPORT_READERS = 7 };
extern const dsgd_import_reader
    *const dsgd_import_readers[DSGD_IMPORT_READERS]; /* table of all readers (command/import.c) */

extern const dsgd_import_reader dsgd_import_kineto, dsgd_import_nccl_tests, dsgd_import_slurm,
    dsgd_import_step_log, dsgd_import_step_times, dsgd_import_topology, dsgd_import_matrix;

/** Reads at most @p most bytes of a file and appends a zero byte. Inflates a gzip file. */
dsgd_status dsgd_import_inflate(const char *path, size_t most, char **text, size_t *n,
                                dsgd_error *error);

/**
 * Reads a file as text. Inflates a gzip file. Replaces control characters by blanks, because a
 * terminal would execute them.
 */
dsgd_status dsgd_import_text(const char *path, char **text, dsgd_error *error);

/** Adds a text to the line of findings in the current file, which the program prints. */
void dsgd_import_gave(dsgd_import *m, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/**
 * Stores the name of a GPU as its driver or tool prints it. The platform is chosen by this name.
 * Only the first name is stored.
 */
void dsgd_import_gpu(dsgd_import *m, const char *name, const char *from);

/**
 * Adds a number of the platform, with the position "FILE:LINE" that contains it. If another file
 * contains another value, returns DSGD_EUSAGE with both positions. If the value is invalid, returns
 * DSGD_EIO.
 */
dsgd_status dsgd_import_number_is(dsgd_import *m, const char *key, double value, const char *from,
                                  dsgd_error *error);

/**
 * Appends a line to a part of the experiment. If @p from is not NULL, it becomes the comment of the
 * line.
 */
void dsgd_import_line(dsgd_import *m, dsgd_import_part part, const char *from, const char *format,
                      ...) __attribute__((format(printf, 4, 5)));

/** Returns true if a line of a part begins with a key. */
bool dsgd_import_has(const dsgd_import *m, dsgd_import_part part, const char *key);

/**
 * Sets the step time of the workload. The second function sets the number of workers. Both do
 * nothing if a file has already set this value.
 */
void dsgd_import_step(dsgd_import *m, double step_s, const char *from);
void dsgd_import_workers(dsgd_import *m, int64_t workers, const char *from);

/** Returns a size as a text, such as "32 MiB" or "12.5 KiB". */
const char *dsgd_import_bytes(double bytes);

/** Opens the base platform, and replaces its numbers by the numbers that the files contain. */
dsgd_status dsgd_import_open_platform(dsgd_import *m, dsgd_error *error);

/**
 * Returns the shape of a group of GPUs on the platform. The group consists of the first @p gpus
 * GPUs of each of @p nodes nodes.
 */
dsgd_nccl_shape dsgd_import_shape(const dsgd_import *m, int64_t nodes, int64_t gpus);

/** Writes the experiment file. */
dsgd_status dsgd_import_write(const dsgd_import *m, dsgd_error *error);

/**
 * Simulates the written experiment and prints how it differs from the measurements. This function
 * can be called only once per process. (validate.c)
 */
dsgd_status dsgd_import_validate(const dsgd_import *m, dsgd_error *error);
