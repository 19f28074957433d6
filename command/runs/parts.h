/**
 * @file parts.h
 * A part is what one run adds to the results: DIR/.parts/N.part, N from 1. A part whose checksum
 * does not match counts as absent.
 */
#pragma once

#include "base/status.h"

/** The sections of a part: rows of the tables in the order of dsgd_results_files, and a note. */
enum {
    DSGD_PART_RUNS,
    DSGD_PART_CURVES,
    DSGD_PART_TABLES = 6,
    DSGD_PART_NOTE = DSGD_PART_TABLES,
    DSGD_PART_SECTIONS
};

typedef struct dsgd_part {
    char *text; /* NULL if there is no complete part */
    const char *sections[DSGD_PART_SECTIONS]; /* pointers into the text */
    size_t n_bytes[DSGD_PART_SECTIONS];
} dsgd_part;

/** Writes the part of run @p i (from 0): @p text, sections of n_bytes[DSGD_PART_SECTIONS]. */
dsgd_status dsgd_part_write(const char *folder, size_t i, const char *text, const size_t *n_bytes,
                            dsgd_error *error);

/** Reads a part. Returns DSGD_EIO if an existing file cannot be read. */
dsgd_status dsgd_part_read(const char *folder, size_t i, dsgd_part *p, dsgd_error *error);

/** Returns whether there is a part of run @p i, complete or not. */
bool dsgd_part_exists(const char *folder, size_t i);
bool dsgd_parts_exist(const char *folder);

void dsgd_part_remove(const char *folder, size_t i);

/** Removes the incomplete part of a process that died. */
void dsgd_part_remove_unfinished(const char *folder, size_t i);
