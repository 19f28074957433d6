/**
 * @file file.h
 * Whole files in memory, and folders that are there only for a while.
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

/**
 * Makes an empty folder: PREFIX.XXXXXX with some characters, or, where @p prefix is NULL, one for
 * temporary files, in $TMPDIR or /tmp. Its path is for dsgd_folder_remove(). NULL: DSGD_EIO.
 * While there is one, output that nobody reads any more (SIGPIPE) does not end the program.
 */
char *dsgd_folder_new(const char *prefix, dsgd_error *error);

/** Removes a folder with all that is in it, and frees its path. NULL: nothing. */
void dsgd_folder_remove(char *path);

#endif
