/**
 * @file swept.h
 * Names, units and values of swept columns, for readers.
 */
#pragma once

#include <stdbool.h>

/**
 * Returns what follows the last dot in the path of a swept column: `group` for algorithms.0.group.
 */
const char *dsgd_last_key(const char *column);

/** Returns the same without its unit: `host_bandwidth` for platform.host_bandwidth_bytes_per_s. */
char *dsgd_swept_name(const char *column);

/**
 * Returns the same with spaces instead of `_`, for readers: `host bandwidth`, `imbalance
 * deviation`.
 */
char *dsgd_swept_title(const char *column);

/**
 * Returns a swept value for readers, such as 1.25GB/s for 1250000000 in a column of bytes_per_s, or
 * 5h for 18000 in a column of s.
 */
char *dsgd_swept_value(const char *column, const char *value);

/**
 * Returns whether @p text means @p value of a swept column: the same text, or the same number,
 * possibly in other units (8GB/s for 8000000000 in a column of bytes_per_s).
 */
bool dsgd_swept_is(const char *column, const char *value, const char *text);

/** Returns whether a swept column, or an assignment, is about algorithms only. */
bool dsgd_is_of_algorithms(const char *column);
