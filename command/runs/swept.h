/**
 * @file swept.h
 * Names, units and values of swept columns, for readers.
 */
#pragma once

#include <stdbool.h>

/** What follows the last dot of a swept column's path: `group` of algorithms.0.group. */
const char *dsgd_last_key(const char *column);

/** The same without its unit: `host_bandwidth` of platform.host_bandwidth_bytes_per_s. */
char *dsgd_swept_name(const char *column);

/** The same with spaces for `_`, for readers: `host bandwidth`, `imbalance deviation`. */
char *dsgd_swept_title(const char *column);

/** A swept value for readers, such as 1.25GB/s for 1250000000 in a column of bytes_per_s, or 5h for
 * 18000 in one of s. */
char *dsgd_swept_value(const char *column, const char *value);

/**
 * Whether @p text means @p value of a swept column: the same text, or the same number, perhaps in
 * other units (8GB/s for 8000000000 in a column of bytes_per_s).
 */
bool dsgd_swept_is(const char *column, const char *value, const char *text);

/** Whether a swept column, or an assignment to it, is about algorithms alone. */
bool dsgd_is_of_algorithms(const char *column);
