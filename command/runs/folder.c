/**
 * @file folder.c
 * The lock and the manifest of a folder, and what its runs.csv has.
 */
#include "command/runs/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/file.h"
#include "command/runs/manifest.h"
#include "command/runs/parts.h"

/** Who has the lock: what he wrote into its file, as " (...)"; "" where nobody said so. */
static char *holder_of(int descriptor)
{
    char text[256];
    const ssize_t n = pread(descriptor, text, sizeof text - 1, 0);
    text[n < 0 ? 0 : n] = '\0';
    text[strcspn(text, "\n")] = '\0';
    return text[0] == '\0' ? dsgd_xstrdup("") : dsgd_xprintf(" (%s)", text);
}

/** Says whose lock it is now; where that fails, the lock holds all the same. */
static void sign(int descriptor)
{
    char host[128] = "";
    gethostname(host, sizeof host - 1);
    char *const text = dsgd_xprintf("process %ld on %s\n", (long)getpid(), host);
    if (ftruncate(descriptor, 0) == 0 &&
        pwrite(descriptor, text, strlen(text), 0) != (ssize_t)strlen(text))
        errno = 0;
    free(text);
}

static dsgd_status lock(const char *folder, dsgd_error *error)
{
    char *const path = dsgd_xprintf("%s/.parts/lock", folder);
    const int descriptor = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
    dsgd_status status = DSGD_OK;
    if (descriptor < 0)
        status = dsgd_fail(error, DSGD_EIO, "%s: the file cannot be written: %m", path);
    free(path);
    if (status != DSGD_OK || flock(descriptor, LOCK_EX | LOCK_NB) == 0) {
        if (status == DSGD_OK)
            sign(descriptor);
        return status;
    }
    if (errno == EWOULDBLOCK) {
        char *const holder = holder_of(descriptor);
        status = dsgd_fail(error, DSGD_EUSAGE,
                           "%s: another dsgd%s is writing its results here; wait for its end, or "
                           "take another folder with -o",
                           folder, holder);
        free(holder);
    } else {
        status = dsgd_fail(error, DSGD_EIO,
                           "%s: the folder cannot be locked: %m; take a folder with -o on a file "
                           "system with locks, such as a local one",
                           folder);
    }
    close(descriptor);
    return status;
}

dsgd_status dsgd_results_lock(const char *folder, dsgd_error *error)
{
    dsgd_status status = dsgd_make_folder(error, "%s", folder);
    if (status == DSGD_OK)
        status = dsgd_make_folder(error, "%s/.parts", folder);
    return status == DSGD_OK ? lock(folder, error) : status;
}

dsgd_status dsgd_results_take(const char *folder, const json_t *manifest, size_t n_runs, bool force,
                              dsgd_error *error)
{
    const dsgd_status status = dsgd_results_lock(folder, error);
    if (status != DSGD_OK)
        return status;
    json_t *const old = dsgd_manifest_read(folder);
    const char *const are = dsgd_manifest_other(folder, old, manifest);
    json_decref(old);
    if (are != NULL && !force)
        return dsgd_fail(error, DSGD_EUSAGE,
                         "%s: the folder has %s; take another folder with -o, or --force to "
                         "replace them",
                         folder, are);
    for (size_t i = 0; are != NULL && i < n_runs; i++)
        dsgd_part_remove(folder, i);
    return dsgd_manifest_write(folder, manifest, error);
}

char *dsgd_results_folder(const char *folder, const dsgd_experiment *experiment,
                          bool is_sensitivity)
{
    return folder != NULL ? dsgd_xstrdup(folder)
                          : dsgd_xprintf("results/%s%s", experiment->name,
                                         is_sensitivity ? "-sensitivity" : "");
}

/* --- runs.csv --------------------------------------------------------------------------------- */

size_t dsgd_results_first_swept(const dsgd_csv *runs)
{
    const size_t n = runs->n_columns;
    const size_t wall = dsgd_csv_column(runs, "wall_s");
    const char *const slash = strrchr(runs->path, '/');
    char *const folder = slash == NULL
                             ? dsgd_xstrdup(".")
                             : dsgd_xprintf("%.*s", (int)(slash - runs->path), runs->path);
    json_t *const manifest = dsgd_manifest_read(folder);
    const json_t *const swept = json_object_get(manifest, "swept");
    const size_t n_swept = json_array_size(swept);
    size_t first = json_is_array(swept) && n_swept <= n ? n - n_swept : n;
    for (size_t k = 0; k < n_swept && first < n; k++) {
        const char *const name = json_string_value(json_array_get(swept, k));
        if (name == NULL || strcmp(runs->fields[n - n_swept + k], name) != 0)
            first = n;
    }
    if (!json_is_array(swept)) /* of an older version */
        first = wall < n ? wall + 1 : n;
    json_decref(manifest);
    free(folder);
    return first;
}
