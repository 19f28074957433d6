/**
 * @file swept.h
 * Formats the names, units and values of swept columns for readers.
 */
#pragma once

#include <stdbool.h>

/** Returns the last key in the path of a swept column, such as `group` for algorithms.0.group. */
const char *dsgd_last_key(const char *column);

/**
 * Returns the last key of a swept column without its unit, such as `host_bandwidth` for
 * platform.host_bandwidth_bytes_per_s.
 */
char *dsgd_swept_name(const char *column);

/**
 * Returns the last key of a swept column without its unit and with spaces, such as `host
 * bandwidth`. If the column is an element of a list, the name contains the list, as in `imbalance
 * deviation`.
 */
char *dsgd_swept_title(const char *column);

/**
 * Returns a swept value with its unit for readers. For example, 1250000000 in a column of
 * bytes_per_s becomes 1.25GB/s, and 18000 in a column of s becomes 5h.
 */
char *dsgd_swept_value(const char *column, const char *value);

/**
 * Returns true if @p text has the same meaning as the value @p value of a swept column. Both are
 * the same text, or the same number in different units. For example, 8GB/s equals 8000000000 in a
 * column of bytes_per_s.
 */
bool dsgd_swept_is(const char *column, const char *value, const char *text);

/** Returns true if a swept column or an assignment changes only algorithms. */
bool dsgd_is_of_algorithms(const char *column);
