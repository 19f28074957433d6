/**
 * @file file.h Whole files in memory, files that appear under their name only when they are
 * complete, and temporary folders.
 */
#pragma once

#include "base/status.h"

/**
 * Reads a file, or at most 64 MiB of a pipe or device. *text has *length bytes, followed by a null
 * byte. On failure returns DSGD_EIO, with the reason in errno, and sets *text to NULL.
 */
dsgd_status dsgd_file_read(const char *path, char **text, size_t *length, dsgd_error *error);

/**
 * Like getline(). Returns false at the end of the file and on failure. Ends the process if memory
 * runs out.
 */
bool dsgd_read_line(FILE *stream, char **line, size_t *room);

/**
 * Returns DSGD_EIO with a sentence if the functions above could not read a file that exists. A
 * caller that continues as if the file did not exist need not report this: dsgd_program_end() does.
 */
dsgd_status dsgd_file_unread(dsgd_error *error);

/** A file that is written as PATH.new, and renamed when it is complete and on the disk. */
typedef struct dsgd_whole_file {
    char *path, *beside;
    FILE *stream;
} dsgd_whole_file;

/**
 * Opens the file. Returns the stream to write to, or NULL, with DSGD_EIO in @p error, if it cannot
 * be opened.
 */
FILE *dsgd_whole_open(dsgd_whole_file *file, dsgd_error *error, const char *path, ...)
    __attribute__((format(printf, 3, 4)));
dsgd_status dsgd_whole_close(dsgd_whole_file *file, dsgd_error *error);
/** Drops the file: deletes the data that was written so far. */
void dsgd_whole_drop(dsgd_whole_file *file);

/** Returns true if a file exists and can be read. */
bool dsgd_can_read(const char *path, ...) __attribute__((format(printf, 1, 2)));

/**
 * Like mkdir -p for a formatted path. Returns DSGD_EIO if the folder cannot be made or written to.
 */
dsgd_status dsgd_make_folder(dsgd_error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/** Makes a folder inside a folder that other users may have written. Follows no links. */
dsgd_status dsgd_make_folder_within(const char *folder, const char *name, dsgd_error *error);

/**
 * Returns true if a text can name a file or folder inside another one: it is not empty, does not
 * begin with a dot, and contains neither slashes nor control characters.
 */
bool dsgd_is_file_name(const char *text);

/** Returns the number of bytes of the UTF-8 character at @p text[n], or 0 if there is none. */
size_t dsgd_utf8_length(const char *text, size_t n);

/**
 * Makes an empty folder with the name PREFIX.XXXXXX, where XXXXXX are random characters. If @p
 * prefix is NULL, the folder is a temporary one in $TMPDIR or /tmp. Returns its path, for
 * dsgd_folder_remove(), or NULL with DSGD_EIO in @p error. While such a folder exists, a closed
 * output pipe (SIGPIPE) does not end the program.
 */
char *dsgd_folder_new(const char *prefix, dsgd_error *error);

/** Removes a folder with all its contents. @p path may be NULL. */
void dsgd_folder_remove(const char *path);

/**
 * Returns the names of a folder's entries that end in @p ending (NULL for all), in alphabetical
 * order and followed by NULL. Returns NULL, with errno, if the folder cannot be read.
 */
char **dsgd_folder_names(const char *path, const char *ending);
