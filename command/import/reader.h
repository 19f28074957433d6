/**
 * @file reader.h
 * The state of `dsgd import`, and the readers of files that add to it.
 *
 * A reader is an entry of the table in command/import.c, a file in this folder, and a function in
 * traces/ that knows the format. Files are offered to the readers in the order of the table. The
 * first reader that finds something takes the file. When all files are read, the platform is
 * opened, and finish() of each reader that took a file is called.
 */
#pragma once

#include "traces/platform.h"

/** The parts of the experiment to write. */
typedef enum dsgd_import_part {
    DSGD_IMPORT_NCCL, /* keys of `nccl` in the platform that are not single numbers */
    DSGD_IMPORT_WORKLOAD,
    DSGD_IMPORT_IMBALANCE, /* elements of the list */
    DSGD_IMPORT_TOP, /* workers, placement, exchange and until, each at most once */
    DSGD_IMPORT_PARTS
} dsgd_import_part;

/**
 * A number of the platform, such as `island_hosts` or `nccl.links`; a choice is stored by its
 * index.
 */
typedef struct dsgd_import_number {
    const char *key, *from;
    double value;
} dsgd_import_number;

/** Measurements of a job, to compare with a simulation; step_s is 0 if there are none. */
typedef struct dsgd_profiled {
    double step_s, deviation_s; /* mean and standard deviation of steps; 0 if there are too few */
    size_t n_buckets;
    bool is_bound; /* some ranks have no trace, so bucket_s may contain waiting for them */
    double *bucket_bytes,
        *bucket_s; /* [n_buckets] time from when all ranks have begun a sum to its end */
} dsgd_profiled;

typedef struct dsgd_import {
    /* From the command line; NULL or 0 if not given. */
    const char *output, *platform_name, *workload_name;
    int64_t nodes, ranks, first; /* number of steps from which the experiment is made; 0 for all */
    const char *job_nodes; /* a list of hosts, or a file with one */
    /* From the files. */
    const char *gpu, *gpu_from; /* first name of a GPU, and its place; NULL if no file names one */
    dsgd_import_number *numbers; /* [n_numbers] numbers of the platform */
    size_t n_numbers;
    char *parts[DSGD_IMPORT_PARTS]; /* lines of YAML, not indented */
    dsgd_profiled measured;
    size_t left_out; /* number of files or tables of a known kind that were skipped */
    char *gave; /* what the current file provides, in a line; NULL if nothing */
    /* Valid from finish() on: the platform with all numbers, and the name of its base. */
    dsgd_platform platform;
    bool is_open;
} dsgd_import;

typedef struct dsgd_import_reader {
    const char *name, *gives; /* kind of file, such as "log of nccl-tests", and what it provides */
    /**
     * Returns false if the file is certainly not for this reader, judged by its start (inflated,
     * zero-terminated). NULL if the reader accepts any text.
     */
    bool (*recognise)(const char *head);
    /**
     * Reads a file, and calls dsgd_import_gave() if it contains something. If not, the file is
     * offered to the next reader. state[state_bytes] belongs to the reader. It is zero at first,
     * and unchanged if a file is rejected.
     */
    dsgd_status (*read)(dsgd_import *m, const char *path, void *state, dsgd_error *error);
    size_t state_bytes;
    /** Called after the platform was opened. Optional. */
    dsgd_status (*finish)(dsgd_import *m, void *state, dsgd_error *error);
} dsgd_import_reader;

enum { DSGD_IMPORT_READERS = 7 };
extern const dsgd_import_reader
    *const dsgd_import_readers[DSGD_IMPORT_READERS]; /* (command/import.c) */

extern const dsgd_import_reader dsgd_import_kineto, dsgd_import_nccl_tests, dsgd_import_slurm,
    dsgd_import_step_log, dsgd_import_step_times, dsgd_import_topology, dsgd_import_matrix;

/** Reads at most @p most bytes of a file, inflated if it is gzip, and adds a zero. */
dsgd_status dsgd_import_inflate(const char *path, size_t most, char **text, size_t *n,
                                dsgd_error *error);

/**
 * Reads a file as text, inflated if it is gzip. Control characters, which a terminal would obey,
 * become blanks.
 */
dsgd_status dsgd_import_text(const char *path, char **text, dsgd_error *error);

/** Adds a text to what the current file provides. */
void dsgd_import_gave(dsgd_import *m, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/**
 * Stores the name of the GPU as its driver or tool prints it, by which the platform is found. The
 * first name stays.
 */
void dsgd_import_gpu(dsgd_import *m, const char *name, const char *from);

/**
 * Adds a number of the platform and its place ("FILE:LINE"). Returns DSGD_EUSAGE with both places
 * if another file has another number, and DSGD_EIO if the platform accepts no such value.
 */
dsgd_status dsgd_import_number_is(dsgd_import *m, const char *key, double value, const char *from,
                                  dsgd_error *error);

/** Appends a line to a part, with its origin as a comment unless @p from is NULL. */
void dsgd_import_line(dsgd_import *m, dsgd_import_part part, const char *from, const char *format,
                      ...) __attribute__((format(printf, 4, 5)));

/** Returns whether a line of a part begins with a key. */
bool dsgd_import_has(const dsgd_import *m, dsgd_import_part part, const char *key);

/**
 * Set the step of the workload, if no file names a workload, and the number of workers. Existing
 * values stay.
 */
void dsgd_import_step(dsgd_import *m, double step_s, const char *from);
void dsgd_import_workers(dsgd_import *m, int64_t workers, const char *from);

/** Returns a size such as 32 MiB or 12.5 KiB. */
const char *dsgd_import_bytes(double bytes);

/** Opens the base platform, and sets its numbers. */
dsgd_status dsgd_import_open_platform(dsgd_import *m, dsgd_error *error);

/** Returns the shape of a group of the platform: the first GPUs of each node. */
dsgd_nccl_shape dsgd_import_shape(const dsgd_import *m, int64_t nodes, int64_t gpus);

/** Writes the experiment. */
dsgd_status dsgd_import_write(const dsgd_import *m, dsgd_error *error);

/**
 * Simulates the experiment, and prints the difference from the measurements. Call it once per
 * process. (validate.c)
 */
dsgd_status dsgd_import_validate(const dsgd_import *m, dsgd_error *error);
