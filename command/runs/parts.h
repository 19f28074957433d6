/**
 * @file parts.h
 * Defines parts. A part contains the results of one run: it is the file DIR/.parts/N.part for run
 * number N. A part whose checksum is wrong counts as absent.
 */
#pragma once

#include "base/status.h"

/** Sections of a part: rows of the results files in the order of dsgd_results_files, and a note. */
enum {
    DSGD_PART_RUNS,
    DSGD_PART_CURVES,
    DSGD_PART_TABLES = 6,
    DSGD_PART_NOTE = DSGD_PART_TABLES,
    DSGD_PART_SECTIONS
};

typedef struct dsgd_part {
    char *text; /* content of the part; NULL if there is no complete part */
    const char *sections[DSGD_PART_SECTIONS]; /* start of each section within the text */
    size_t n_bytes[DSGD_PART_SECTIONS];
} dsgd_part;

/**
 * Writes the part of run @p i (from 0). @p text consists of DSGD_PART_SECTIONS sections; section k
 * has n_bytes[k] bytes.
 */
dsgd_status dsgd_part_write(const char *folder, size_t i, const char *text, const size_t *n_bytes,
                            dsgd_error *error);

/** Reads the part of run @p i (from 0). Returns DSGD_EIO if the file exists but cannot be read. */
dsgd_status dsgd_part_read(const char *folder, size_t i, dsgd_part *p, dsgd_error *error);

/** Returns true if the part of run @p i exists. The part may be incomplete. */
bool dsgd_part_exists(const char *folder, size_t i);
bool dsgd_parts_exist(const char *folder);

void dsgd_part_remove(const char *folder, size_t i);

/** Removes the temporary file of a part if the process that wrote it died. */
void dsgd_part_remove_unfinished(const char *folder, size_t i);
