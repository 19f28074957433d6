/**
 * @file file.h
 * Whole files in memory.
 */
#ifndef DSGD_BASE_FILE_H
#define DSGD_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

/**
 * Reads a file; of a pipe or device at most 64 MiB. *text has *length bytes and then a null byte,
 * and is the caller's to free. DSGD_EIO, with the reason in errno, and *text is NULL.
 */
dsgd_status dsgd_file_read(const char *path, char **text, size_t *length, dsgd_error *error);

/**
 * Whether a text can name a file or folder inside another: it is not empty, does not begin with a
 * dot, and has neither slashes nor control characters.
 */
bool dsgd_is_file_name(const char *text);

#endif
