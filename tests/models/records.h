/**
 * @file records.h
 * What the suites of records share: a folder, a run that is recorded, and its replay.
 */
#pragma once

#include "models/record/replay.h"
#include "tests/support/support.h"

/** A folder of the test's own; a checked fixture. */
void records_folder_make(void);
void records_folder_remove(void);

/** A path in the folder; a few are remembered at a time. */
const char *records_path(const char *name);

/** A run to be recorded: three pieces, a delayed worker, an evaluation at every fifth step. */
support_case *records_case(const char *algorithm, int workers, const char *name);

/** @p precision below 0: the record's. */
dsgd_status records_replay_with(const char *path, uint32_t threads, int precision,
                                dsgd_replay_result *result, dsgd_error *error);

/** Fails the test where the replay fails. */
dsgd_replay_result records_replay(const char *path, uint32_t threads);
