/**
 * @file import.c
 * Implements `dsgd import`. It makes an experiment from logs and profiles of a user's machine and
 * job.
 */
#include <dirent.h>
#include <sys/stat.h>

#include "base/file.h"
#include "command/console/arguments.h"
#include "command/console/command.h"
#include "command/console/table.h"
#include "command/import/reader.h"

typedef struct arguments {
    dsgd_operands paths;
    dsgd_import in;
    bool force;
} arguments;

/**
 * All readers, in the order in which files are offered to them. The last readers search for their
 * tables in any text.
 */
const dsgd_import_reader *const dsgd_import_readers[DSGD_IMPORT_READERS] = {
    &dsgd_import_kineto,   &dsgd_import_step_times, &dsgd_import_topology, &dsgd_import_slurm,
    &dsgd_import_step_log, &dsgd_import_nccl_tests, &dsgd_import_matrix};

enum { MOST_DEPTH = 8 };

/** State of the command `dsgd import`. */
typedef struct work {
    dsgd_import in;
    void *states[DSGD_IMPORT_READERS];
    bool found[DSGD_IMPORT_READERS];
    dsgd_columns recognised;
    /* error for the first skipped file; empty if no file was skipped */
    dsgd_error refused;
    dsgd_status why;
} work;

static void note(work *w, const char *path, const char *what, const char *gave)
{
    dsgd_columns_row(&w->recognised);
    dsgd_columns_put(&w->recognised, "file", "%s", path);
    dsgd_columns_put(&w->recognised, "is", "%s", what);
    dsgd_columns_put(&w->recognised, "gives", "%s", gave);
}

/**
 * Offers a file to the readers one after another. If a reader rejects the file, its state does not
 * change.
 */
static dsgd_status offer(work *w, const char *path, const char *head, dsgd_error *error)
{
    for (int i = 0; i < DSGD_IMPORT_READERS && w->in.gave == NULL; i++) {
        const dsgd_import_reader *const r = dsgd_import_readers[i];
        if (r->recognise != NULL && !r->recognise(head))
            continue;
        const dsgd_import before = w->in;
        void *const mark = dsgd_mark(), *const state = dsgd_keep(r->state_bytes, 1);
        if (w->states[i] != NULL)
            memcpy(state, w->states[i], r->state_bytes);
        const dsgd_status status = r->read(&w->in, path, state, error);
        if (status != DSGD_OK || w->in.gave == NULL) {
            w->in = before;
            dsgd_drop(mark);
        } else {
            w->states[i] = state;
            note(w, path, r->name, w->in.gave);
        }
        DSGD_TRY(status);
        w->found[i] = w->found[i] || w->in.gave != NULL;
    }
    return DSGD_OK;
}

static dsgd_status read_file(work *w, const char *path, bool is_named, dsgd_error *error)
{
    enum { HEAD = 1 << 16 };
    char *head = NULL;
    size_t n = 0;
    char *kinds = dsgd_xstrdup("");
    if (strpbrk(path, "\r\n") != NULL)
        return dsgd_refuse(error,
                           "%s: the name of a file must not contain a line break, because it is "
                           "written into a comment; rename the file",
                           path);
    DSGD_TRY(dsgd_import_inflate(path, HEAD, &head, &n, error));
    w->in.gave = NULL;
    if (memmem(head, n, "\0\0\0", 4) == NULL) /* Skip binary files, for example checkpoints with a
                                               * size of gigabytes. */
        DSGD_TRY(offer(w, path, head, error));
    for (int i = 0; i < DSGD_IMPORT_READERS; i++)
        dsgd_append(&kinds, "\n  - %s", dsgd_import_readers[i]->gives);
    if (w->in.gave == NULL && is_named)
        return dsgd_refuse(
            error, "%s: this kind of file cannot be imported; kinds that can be imported:%s", path,
            kinds);
    if (w->in.gave == NULL)
        note(w, path, "not recognised", "");
    return DSGD_OK;
}

/**
 * Reads a file that a folder contains. If a reader rejects the file, prints a message and skips the
 * file, because the other files may be sufficient.
 */
static dsgd_status try_file(work *w, const char *path)
{
    dsgd_error error = {""};
    const dsgd_status status = read_file(w, path, false, &error);
    if (status == DSGD_OK)
        return DSGD_OK;
    note(w, path, "left out", error.text);
    w->in.left_out++;
    if (w->why == DSGD_OK)
        w->refused = error;
    w->why = w->why == DSGD_OK ? status : w->why;
    return DSGD_OK;
}

/**
 * Reads a file or a folder. @p depth is the nesting depth of folders; it is 0 for a path that the
 * user gives. It is an error if such a path contains nothing that can be imported.
 */
static dsgd_status read_path(work *w, const char *path, int depth, dsgd_error *error)
{
    struct stat facts;
    const bool is_there = stat(path, &facts) == 0;
    if (is_there && !S_ISDIR(facts.st_mode) && !S_ISREG(facts.st_mode))
        return dsgd_refuse(
            error, "%s: not a regular file; save the output of a pipe to a file first", path);
    if (!is_there || !S_ISDIR(facts.st_mode))
        return depth == 0 ? read_file(w, path, true, error) : try_file(w, path);
    char **names = dsgd_folder_names(path, NULL);
    if (names == NULL || depth == MOST_DEPTH)
        return dsgd_fail(error, DSGD_EIO, "%s: the folder cannot be read: %s", path,
                         names == NULL ? strerror(errno)
                                       : "folders are nested more than eight deep");
    for (; *names != NULL; names++)
        DSGD_TRY(read_path(w, dsgd_xprintf("%s/%s", path, *names), depth + 1, error));
    return DSGD_OK;
}

static const dsgd_argument options[] = {
    DSGD_ARGUMENT(TEXT, in.output, "output", 'o', "FILE", "The experiment file to write"),
    DSGD_ARGUMENT(TEXT, in.platform_name, "platform", 'p', "NAME|FILE",
                  "Base platform, which supplies what logs lack: NICs and links [default: the one "
                  "shipped platform whose GPUs match the logs]"),
    DSGD_ARGUMENT(TEXT, in.workload_name, "workload", 'w', "NAME|FILE",
                  "Model that is trained, if no file describes it [default: resnet50-a100]"),
    DSGD_ARGUMENT(
        COUNT, in.nodes, "nodes", 0, "N",
        "Number of nodes, if the logs do not contain it [default: as many as the GPUs need]"),
    DSGD_ARGUMENT(COUNT, in.ranks, "ranks", 0, "N",
                  "Number of GPUs, if the logs do not contain it"),
    DSGD_ARGUMENT(TEXT, in.job_nodes, "nodelist", 0, "LIST|FILE",
                  "The nodes of a job, as $SLURM_JOB_NODELIST lists them, to find its place in "
                  "Slurm's topology"),
    DSGD_ARGUMENT(COUNT, in.first, "first", 0, "N",
                  "Number of steps of a profile from which the experiment is made; the other steps "
                  "check it [default: all steps do both]"),
    DSGD_ARGUMENT(FLAG, force, "force", 0, NULL, "Replaces an existing file"),
    {.name = NULL},
};

static dsgd_status import_run(int count, char **words, dsgd_error *error)
{
    static const dsgd_syntax syntax = {
        "PATH...",
        "Creates an experiment from files or folders of a machine and a job: profiles of PyTorch, "
        "training logs, step times as CSV, topologies of NCCL, nvidia-smi and Slurm, and logs of "
        "nccl-tests or rccl-tests, whose times hold for groups of the same shape.",
        1,
        SIZE_MAX,
        "import: give files or folders, such as `dsgd import all_reduce.log -o mine.yaml`",
        options};
    arguments a = {.in.workload_name = "resnet50-a100"};
    DSGD_TRY(dsgd_parse(count, words, &syntax, &a, error));
    if (a.in.output == NULL)
        return dsgd_refuse(error,
                           "import: give the output file with -o FILE, such as -o mine.yaml");
    if (!a.force && dsgd_can_read("%s", a.in.output))
        return dsgd_refuse(error, "-o: %s exists already; --force replaces it", a.in.output);
    work w = {.in = a.in, .recognised = {.wraps = true}};
    for (size_t i = 0; i < a.paths.n; i++)
        DSGD_TRY(read_path(&w, a.paths.v[i], 0, error));
    dsgd_columns_print(&w.recognised);
    if (memchr(w.found, 1, sizeof w.found) == NULL && w.why != DSGD_OK)
        return dsgd_fail(error, w.why, "%s", w.refused.text);
    if (memchr(w.found, 1, sizeof w.found) == NULL)
        return dsgd_refuse(error, "%s: no file in it can be imported", a.paths.v[0]);
    DSGD_TRY(dsgd_import_open_platform(&w.in, error));
    for (int i = 0; i < DSGD_IMPORT_READERS; i++)
        if (w.found[i] && dsgd_import_readers[i]->finish != NULL)
            DSGD_TRY(dsgd_import_readers[i]->finish(&w.in, w.states[i], error));
    if (a.in.job_nodes != NULL && !dsgd_import_has(&w.in, DSGD_IMPORT_TOP, "placement"))
        return dsgd_refuse(error, "--nodelist needs a topology of Slurm, but no file is one");
    DSGD_TRY(dsgd_import_write(&w.in, error));
    if (w.in.measured.step_s > 0)
        DSGD_TRY(dsgd_import_validate(&w.in, error));
    return w.in.left_out == 0
               ? DSGD_OK
               : dsgd_fail(
                     error, DSGD_ERUNS,
                     "%zu files or tables were skipped (see above); %s is made from the others",
                     w.in.left_out, a.in.output);
}

const dsgd_command dsgd_command_import = {
    .name = "import",
    .usage = "PATH... -o FILE",
    .summary = "creates an experiment from logs and profiles",
    .run = import_run,
};
