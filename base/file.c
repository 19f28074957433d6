/**
 * @file file.c
 * Reads files; makes and removes folders.
 */
#include "base/file.h"

#include <errno.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_ENDLESS_BYTES = 64 << 20 };

/** The number of bytes read; errno is 0 unless it went wrong. */
static size_t read_all(FILE *stream, char **text)
{
    struct stat facts;
    errno = 0;
    if (fstat(fileno(stream), &facts) != 0)
        return 0;
    const bool is_regular = S_ISREG(facts.st_mode);
    size_t n = 0;
    size_t room = is_regular && facts.st_size > 0 ? (size_t)facts.st_size + 1 : 4096;
    *text = dsgd_xrealloc(NULL, room + 1, 1);
    for (size_t more = 0; (more = fread(*text + n, 1, room - n, stream)) > 0;) {
        n += more;
        if (n < room)
            continue;
        if (!is_regular && n > MOST_ENDLESS_BYTES) {
            errno = EFBIG;
            break;
        }
        room *= 2;
        *text = dsgd_xrealloc(*text, room + 1, 1);
    }
    (*text)[n] = '\0';
    return n;
}

dsgd_status dsgd_file_read(const char *path, char **text, size_t *length, dsgd_error *error)
{
    *text = NULL;
    *length = 0;
    FILE *const stream = fopen(path, "r");
    int why = errno;
    if (stream != NULL) {
        *length = read_all(stream, text);
        why = errno;
        fclose(stream);
        if (why == 0)
            return DSGD_OK;
        free(*text);
        *text = NULL;
    }
    errno = why;
    dsgd_fail(error, DSGD_EIO, "%s: the file cannot be read: %m", path);
    errno = why;
    return DSGD_EIO;
}

bool dsgd_is_file_name(const char *text)
{
    bool is = *text != '\0' && *text != '.';
    for (const char *c = text; *c != '\0'; c++)
        is = is && *c != '/' && (unsigned char)*c >= ' ' && *c != '\x7f';
    return is;
}

static int n_folders; /* that are there */

/** SIGPIPE ends the program when its folders are removed, not before. */
static void let_pipe_break(int how)
{
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, SIGPIPE);
    sigprocmask(how, &one, NULL);
}

char *dsgd_folder_new(const char *prefix, dsgd_error *error)
{
    const char *const tmp = getenv("TMPDIR");
    char *const path =
        prefix != NULL ? dsgd_xprintf("%s.XXXXXX", prefix)
                       : dsgd_xprintf("%s/dsgd-XXXXXX", tmp == NULL || *tmp == '\0' ? "/tmp" : tmp);
    if (mkdtemp(path) != NULL) {
        n_folders++;
        let_pipe_break(SIG_BLOCK);
        return path;
    }
    dsgd_fail(error, DSGD_EIO, "%s: no file can be made there: %m", prefix != NULL ? prefix : path);
    free(path);
    return NULL;
}

static int remove_one(const char *path, const struct stat *facts, int type, struct FTW *at)
{
    (void)facts, (void)type, (void)at;
    return remove(path);
}

void dsgd_folder_remove(char *path)
{
    enum { DESCRIPTORS = 8 }; /* deeper folders are read again and again */
    if (path == NULL)
        return;
    nftw(path, remove_one, DESCRIPTORS, FTW_DEPTH | FTW_PHYS);
    free(path);
    if (--n_folders == 0)
        let_pipe_break(SIG_UNBLOCK);
}
