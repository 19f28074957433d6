/**
 * @file file.h
 * Whole files in memory, files that appear under their name only when they are complete, and
 * folders that are there only for a while.
 */
#pragma once

#include "base/status.h"

/**
 * Reads a file; of a pipe or device at most 64 MiB. *text has *length bytes and then a null byte.
 * DSGD_EIO, with the reason in errno, and *text is NULL.
 */
dsgd_status dsgd_file_read(const char *path, char **text, size_t *length, dsgd_error *error);

/** Like getline(); false at the end, and where it fails. Out of memory ends the process. */
bool dsgd_read_line(FILE *stream, char **line, size_t *room);

/**
 * DSGD_EIO with a sentence: a file that is there could not be read by the functions above. Whoever
 * goes on as if it were not there need not say so: dsgd_program_end() does.
 */
dsgd_status dsgd_file_unread(dsgd_error *error);

/** A file that is written as PATH.new and renamed when it is complete and on the disk. */
typedef struct dsgd_whole_file {
    char *path, *beside;
    FILE *stream;
} dsgd_whole_file;

/** The stream to write to; NULL with DSGD_EIO in @p error if it cannot be opened. */
FILE *dsgd_whole_open(dsgd_whole_file *file, dsgd_error *error, const char *path, ...)
    __attribute__((format(printf, 3, 4)));
dsgd_status dsgd_whole_close(dsgd_whole_file *file, dsgd_error *error);
/** Gives it up: what was written so far goes. */
void dsgd_whole_drop(dsgd_whole_file *file);

/** Whether a file exists and can be read. */
bool dsgd_can_read(const char *path, ...) __attribute__((format(printf, 1, 2)));

/** Like mkdir -p of a path that is formatted. DSGD_EIO where it cannot be made or written to. */
dsgd_status dsgd_make_folder(dsgd_error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/** Makes a folder in one that others may have written: no link is followed. */
dsgd_status dsgd_make_folder_within(const char *folder, const char *name, dsgd_error *error);

/**
 * Whether a text can name a file or folder inside another: it is not empty, does not begin with a
 * dot, and has neither slashes nor control characters.
 */
bool dsgd_is_file_name(const char *text);

/** Bytes of the character of UTF-8 at @p text[n]; 0: there is none. */
size_t dsgd_utf8_length(const char *text, size_t n);

/**
 * Makes an empty folder: PREFIX.XXXXXX with some characters, or, where @p prefix is NULL, one for
 * temporary files, in $TMPDIR or /tmp. Its path is for dsgd_folder_remove(). NULL: DSGD_EIO.
 * While there is one, output that nobody reads any more (SIGPIPE) does not end the program.
 */
char *dsgd_folder_new(const char *prefix, dsgd_error *error);

/** Removes a folder with all that is in it. NULL: nothing. */
void dsgd_folder_remove(const char *path);

/**
 * The names of what is in a folder and ends in @p ending (NULL: of everything), in alphabetical
 * order, with a NULL behind them. NULL: the folder cannot be read (errno).
 */
char **dsgd_folder_names(const char *path, const char *ending);
