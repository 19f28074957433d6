/**
 * @file file.h
 * Functions for files and temporary folders. They read whole files into memory. They also write
 * files that appear under their name only when they are complete.
 */
#pragma once

#include "base/status.h"

/**
 * Reads a whole file, or at most 64 MiB of a pipe or device. Stores the *length bytes and a null
 * byte in *text. On failure returns DSGD_EIO, with the reason in errno, and sets *text to NULL.
 */
dsgd_status dsgd_file_read(const char *path, char **text, size_t *length, dsgd_error *error);

/**
 * Reads a line like getline(). Returns false at the end of the file and on failure. Ends the
 * process if memory runs out.
 */
bool dsgd_read_line(FILE *stream, char **line, size_t *room);

/**
 * Returns DSGD_EIO with an error message if a file exists but a function of this header could not
 * read it. A caller may treat such a file as missing without a report, because dsgd_program_end()
 * reports it.
 */
dsgd_status dsgd_file_unread(dsgd_error *error);

/**
 * A file that is written under the name PATH.new. It is renamed to PATH when it is complete and on
 * the disk.
 */
typedef struct dsgd_whole_file {
    char *path, *beside;
    FILE *stream;
} dsgd_whole_file;

/**
 * Opens the file for writing. Returns its stream. If the file cannot be opened, returns NULL and
 * stores DSGD_EIO's message in @p error.
 */
FILE *dsgd_whole_open(dsgd_whole_file *file, dsgd_error *error, const char *path, ...)
    __attribute__((format(printf, 3, 4)));
dsgd_status dsgd_whole_close(dsgd_whole_file *file, dsgd_error *error);
/**
 * Closes the file and deletes the data that was written so far. A file PATH that existed before is
 * not changed.
 */
void dsgd_whole_drop(dsgd_whole_file *file);

/** Returns true if a file exists and this process may read it. */
bool dsgd_can_read(const char *path, ...) __attribute__((format(printf, 1, 2)));

/**
 * Makes a folder and its parent folders, like mkdir -p. The path is formatted as for printf().
 * Returns DSGD_EIO if the folder cannot be made, or if files cannot be created in it.
 */
dsgd_status dsgd_make_folder(dsgd_error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/**
 * Makes the folder FOLDER/NAME in a folder that other users may write to. Rejects a link with that
 * name.
 */
dsgd_status dsgd_make_folder_within(const char *folder, const char *name, dsgd_error *error);

/**
 * Returns true if @p text is safe as the name of a file in a folder. Such a name is not empty and
 * does not begin with a dot. It contains neither slashes nor control characters.
 */
bool dsgd_is_file_name(const char *text);

/**
 * Returns the number of bytes of the UTF-8 character at the start of @p text, which has @p n bytes.
 * Returns 0 if there is no valid character.
 */
size_t dsgd_utf8_length(const char *text, size_t n);

/**
 * Makes an empty folder with the name PREFIX.XXXXXX, where XXXXXX are random characters. If @p
 * prefix is NULL, the folder is in $TMPDIR or /tmp. Returns its path, which the caller passes to
 * dsgd_folder_remove(). On failure returns NULL and stores a message in @p error. While such a
 * folder exists, a closed output pipe (SIGPIPE) does not end the program.
 */
char *dsgd_folder_new(const char *prefix, dsgd_error *error);

/** Removes a folder with all its contents. Does nothing if @p path is NULL. */
void dsgd_folder_remove(const char *path);

/**
 * Returns the names of a folder's entries that end with @p ending, in alphabetical order and
 * followed by NULL. If @p ending is NULL, returns all names. If the folder cannot be read, returns
 * NULL, with the reason in errno.
 */
char **dsgd_folder_names(const char *path, const char *ending);
