/**
 * @file swept.h
 * Formats the names, units and values of swept columns for readers.
 */
#pragma once

#include <stdbool.h>

/** Returns the last key of the path of a swept column, such as `group` for algorithms.0.group. */
const char *dsgd_last_key(const char *column);

/**
 * Returns the last key of a swept column without its unit, such as `host_bandwidth` for
 * platform.host_bandwidth_bytes_per_s.
 */
char *dsgd_swept_name(const char *column);

/**
 * Returns the last key of a swept column without its unit and with spaces, such as `host
 * bandwidth`. The name of a list's element contains the list, as in `imbalance deviation`.
 */
char *dsgd_swept_title(const char *column);

/**
 * Returns a swept value with its unit for readers, such as 1.25GB/s for 1250000000 in a column of
 * bytes_per_s, or 5h for 18000 in a column of s.
 */
char *dsgd_swept_value(const char *column, const char *value);

/**
 * Returns true if @p text has the same meaning as @p value of a swept column: the same text, or the
 * same number in other units. For example, 8GB/s equals 8000000000 in a column of bytes_per_s.
 */
bool dsgd_swept_is(const char *column, const char *value, const char *text);

/** Returns true if a swept column or an assignment belongs only to algorithms. */
bool dsgd_is_of_algorithms(const char *column);
