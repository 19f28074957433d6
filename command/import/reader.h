/**
 * @file reader.h
 * What `dsgd import` has learnt of a cluster and a job, and the readers of files that add to it.
 *
 * A reader is a row in the table of command/import.c, a file here, and a function of traces/ that
 * knows the format. Files are offered to the readers in the order of the table; the first that
 * finds something takes it. When all are read, the platform is opened, and finish() is called of
 * each reader that read something.
 */
#pragma once

#include "traces/platform.h"

/** Parts of the experiment that is written. */
typedef enum dsgd_import_part {
    DSGD_IMPORT_NCCL, /* keys of the platform's member nccl that are not single numbers */
    DSGD_IMPORT_WORKLOAD,
    DSGD_IMPORT_IMBALANCE, /* elements of the list */
    DSGD_IMPORT_TOP, /* workers, placement, exchange, until: at most once each */
    DSGD_IMPORT_PARTS
} dsgd_import_part;

/** A number of the platform: `island_hosts`, or `nccl.links`; a choice by its index. */
typedef struct dsgd_import_number {
    const char *key, *from;
    double value;
} dsgd_import_number;

/** What a job was seen to do, to be held against a simulation; step_s 0: nothing. */
typedef struct dsgd_profiled {
    double step_s, deviation_s; /* of steps; 0: too few */
    size_t n_buckets;
    bool is_bound; /* ranks have no trace: of what bucket_s has in it for them, nothing is known */
    double *bucket_bytes,
        *bucket_s; /* [n_buckets]: from when all ranks have begun a sum to its end */
} dsgd_profiled;

typedef struct dsgd_import {
    /* By the command line; NULL and 0: not said. */
    const char *output, *platform_name, *workload_name;
    int64_t nodes, ranks, first; /* steps that make the experiment; 0: all */
    const char *job_nodes; /* a list of hosts, or a file with one */
    /* What was read. */
    const char *gpu, *gpu_from; /* the first name of a GPU; NULL: none is known */
    dsgd_import_number *numbers; /* [n_numbers] of the platform */
    size_t n_numbers;
    char *parts[DSGD_IMPORT_PARTS]; /* lines of YAML, not indented */
    dsgd_profiled measured;
    size_t left_out; /* files, or tables in them, of a known kind of which nothing was taken */
    char *gave; /* of the file that is read: what it gave, in a line; NULL: nothing */
    /*
     * From finish() on: the platform with all numbers, and the name of that from which it departs.
     */
    dsgd_platform platform;
    bool is_open;
} dsgd_import;

typedef struct dsgd_import_reader {
    const char *name, *gives; /* "log of nccl-tests", "platform: ..." */
    /** By what a file begins with (inflated, ended by a zero): false: it is certainly another's.
     * NULL: any text. */
    bool (*recognise)(const char *head);
    /**
     * Calls dsgd_import_gave() if there is something in it; else it is offered to the next reader.
     * state[state_bytes] is the reader's own, zeros at first, and as before where a file is
     * refused.
     */
    dsgd_status (*read)(dsgd_import *m, const char *path, void *state, dsgd_error *error);
    size_t state_bytes;
    /** Optional. */
    dsgd_status (*finish)(dsgd_import *m, void *state, dsgd_error *error);
} dsgd_import_reader;

enum { DSGD_IMPORT_READERS = 6 };
extern const dsgd_import_reader
    *const dsgd_import_readers[DSGD_IMPORT_READERS]; /* (command/import.c) */

extern const dsgd_import_reader dsgd_import_kineto, dsgd_import_nccl_tests, dsgd_import_slurm,
    dsgd_import_step_times, dsgd_import_topology, dsgd_import_matrix;

/** At most @p most bytes of a file, inflated if it is gzip, with a zero behind them. */
dsgd_status dsgd_import_inflate(const char *path, size_t most, char **text, size_t *n,
                                dsgd_error *error);

/** A file as text, inflated if it is gzip; control characters, which a terminal would obey, as
 * blanks. */
dsgd_status dsgd_import_text(const char *path, char **text, dsgd_error *error);

/** Says what the file that is read gives; several times: several sentences. */
void dsgd_import_gave(dsgd_import *m, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** The GPU's name as its driver or tool tells it: by it the platform is found. The first stays. */
void dsgd_import_gpu(dsgd_import *m, const char *name, const char *from);

/**
 * A number of the platform, and where it stands ("FILE:LINE"). DSGD_EUSAGE with both places where
 * another file says another number; DSGD_EIO where the platform takes no such value.
 */
dsgd_status dsgd_import_number_is(dsgd_import *m, const char *key, double value, const char *from,
                                  dsgd_error *error);

/** Appends a line to a part, with its origin as comment (NULL: none). */
void dsgd_import_line(dsgd_import *m, dsgd_import_part part, const char *from, const char *format,
                      ...) __attribute__((format(printf, 4, 5)));

/** Whether a line of a part begins with a key. */
bool dsgd_import_has(const dsgd_import *m, dsgd_import_part part, const char *key);

/** The step of the workload, which no file has named; and how many workers there are. What is there
 * stays. */
void dsgd_import_step(dsgd_import *m, double step_s, const char *from);
void dsgd_import_workers(dsgd_import *m, int64_t workers, const char *from);

/** 32 MiB, 12.5 KiB, ... */
const char *dsgd_import_bytes(double bytes);

/** Opens the platform from which all departs, and puts the numbers into it. */
dsgd_status dsgd_import_open_platform(dsgd_import *m, dsgd_error *error);

/** A group of the platform: on each node the first GPUs. */
dsgd_nccl_shape dsgd_import_shape(const dsgd_import *m, int64_t nodes, int64_t gpus);

/** Writes the experiment. */
dsgd_status dsgd_import_write(const dsgd_import *m, dsgd_error *error);

/**
 * Simulates it, and prints how far that is from what was measured. Once per process. (validate.c)
 */
dsgd_status dsgd_import_validate(const dsgd_import *m, dsgd_error *error);
