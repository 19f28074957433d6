/**
 * @file results.c
 * Rows, fragments and the manifest.
 */
#include "command/run/results.h"

#include <cblas.h>
#include <gnu/libc-version.h>
#include <gsl/gsl_version.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/csv.h"
#include "base/json.h"
#include "command/run/curve.h"
#include "sim/network/cluster.h"

static const char *const run_columns[] = {"run",
                                          "algorithm",
                                          "workers",
                                          "seed",
                                          "platform",
                                          "workload",
                                          "status",
                                          "steps",
                                          "virtual_s",
                                          "samples",
                                          "learn_samples",
                                          "throughput_samples_per_s",
                                          "step_mean_s",
                                          "compute_share",
                                          "wait_share",
                                          "comm_share",
                                          "staleness_mean",
                                          "staleness_max",
                                          "messages",
                                          "bytes",
                                          "final_loss",
                                          "final_accuracy",
                                          "final_consensus",
                                          "local_loss",
                                          "local_accuracy",
                                          "local_accuracy_min",
                                          "exposed_mean_s",
                                          "active_mean",
                                          "wall_s",
                                          NULL};

static const char worker_columns[] =
    "run,algorithm,workers,seed,worker,compute_share,wait_share,comm_share,steps\n";
static const char staleness_columns[] = "run,algorithm,workers,seed,age_steps,share\n";
static const char *const outcomes[] = {"ok", "diverged", "timeout", "failed"};

/* --- files ------------------------------------------------------------------------------------ */

static char *part_path(const char *folder, size_t i, const char *what)
{
    return dsgd_xprintf("%s/.parts/%zu.%s", folder, i + 1, what);
}

/* --- rows ------------------------------------------------------------------------------------- */

static dsgd_run_key key_of(const dsgd_planned_run *run, size_t i)
{
    return (dsgd_run_key){i + 1, run->label, run->config.workers, run->config.seed};
}

static void print_key(FILE *stream, const dsgd_planned_run *run, size_t i)
{
    const dsgd_run_key key = key_of(run, i);
    dsgd_run_key_print(stream, &key);
}

static void print_run(FILE *stream, const dsgd_experiment *experiment, size_t i,
                      const dsgd_run_result *r)
{
    const dsgd_planned_run *const run = &experiment->runs[i];
    /* Nothing is final in a run that has failed. */
    const bool failed = r->outcome == DSGD_RUN_FAILED;
    const dsgd_point *const last = r->n_points > 0 && !failed ? &r->points[r->n_points - 1] : NULL;
    print_key(stream, run, i);
    fputc(',', stream);
    dsgd_csv_text(stream, run->platform_name);
    fputc(',', stream);
    dsgd_csv_text(stream, run->workload_name);
    fprintf(stream, ",%s", outcomes[r->outcome]);
    const double numbers[] = {r->steps,
                              r->virtual_s,
                              r->samples,
                              r->n_points == 0 ? NAN : r->learn_samples,
                              r->virtual_s > 0 ? r->samples / r->virtual_s : NAN,
                              r->step_mean_s,
                              r->shares.compute,
                              r->shares.wait,
                              r->shares.communicate,
                              r->staleness_mean,
                              r->staleness_max,
                              (double)r->messages,
                              r->bytes,
                              last == NULL ? NAN : last->at.loss,
                              last == NULL ? NAN : last->at.accuracy,
                              last == NULL ? NAN : last->at.consensus,
                              failed ? NAN : r->local_loss,
                              failed ? NAN : r->local_accuracy,
                              failed ? NAN : r->local_accuracy_min,
                              r->exposed_mean_s,
                              r->partial_active_mean};
    dsgd_csv_numbers(stream, numbers, sizeof numbers / sizeof numbers[0]);
    fprintf(stream, ",%.2f", r->total_wall_s);
    for (size_t k = 0; k < experiment->n_columns; k++) {
        fputc(',', stream);
        dsgd_csv_text(stream, run->swept[k] == NULL ? "" : run->swept[k]);
    }
    fputc('\n', stream);
}

static void print_curves(FILE *stream, const dsgd_planned_run *run, size_t i,
                         const dsgd_run_result *r)
{
    const dsgd_run_key key = key_of(run, i);
    dsgd_curve_print(stream, &key, r->n_points, r->points);
}

static void print_workers(FILE *stream, const dsgd_planned_run *run, size_t i,
                          const dsgd_run_result *r)
{
    for (int w = 0; w < run->config.workers && r->worker_shares != NULL; w++) {
        print_key(stream, run, i);
        fprintf(stream, ",%d", w);
        const double numbers[] = {r->worker_shares[w].compute, r->worker_shares[w].wait,
                                  r->worker_shares[w].communicate, r->worker_steps[w]};
        dsgd_csv_numbers(stream, numbers, sizeof numbers / sizeof numbers[0]);
        fputc('\n', stream);
    }
}

/** The histogram of the ages at which values were used. */
static void print_staleness(FILE *stream, const dsgd_planned_run *run, size_t i,
                            const dsgd_run_result *r)
{
    for (size_t age = 0; age < r->n_ages; age++) {
        if (r->ages[age] == 0)
            continue;
        print_key(stream, run, i);
        fprintf(stream, ",%zu", age);
        dsgd_csv_numbers(stream, &r->ages[age], 1);
        fputc('\n', stream);
    }
}

/** Line 1: why it failed or diverged, else empty. Line 2, unless it failed: what runs.csv lacks. */
static void print_note(FILE *stream, const dsgd_run_result *r)
{
    const bool failed = r->outcome == DSGD_RUN_FAILED;
    fprintf(stream, "%s\n", failed || r->outcome == DSGD_RUN_DIVERGED ? r->why.text : "");
    if (failed)
        return;
    fprintf(stream, "simulated %.4g s; compute alone %.4g s, links alone %.4g s;", r->virtual_s,
            r->ideal_s, r->link_s);
    fprintf(stream, " staleness %.2f (at most %g);", r->staleness_mean, r->staleness_max);
    if (!isnan(r->partial_active_mean))
        fprintf(stream, " %.1f fresh contributions per partial collective, %llu sums missed;",
                r->partial_active_mean, (unsigned long long)r->partial_skipped);
    fprintf(stream, " wall: timing %.1f s, numerics %.1f s (%s), peak values %.0f MB\n",
            r->timing_wall_s, r->numerics.busy_wall_s, r->device,
            (double)r->numerics.peak_bytes / 1e6);
}

static const char *const parts[] = {"runs", "curves", "workers", "staleness", "note"};

enum { PART_RUNS, PART_CURVES, PART_WORKERS, PART_STALENESS, PART_NOTE, N_TABLES = PART_NOTE };

dsgd_status dsgd_results_write(const char *folder, const dsgd_experiment *experiment, size_t i,
                               const dsgd_run_result *result, dsgd_error *error)
{
    const dsgd_planned_run *const run = &experiment->runs[i];
    /* The row of runs.csv last: it implies the other fragments. */
    for (size_t k = sizeof parts / sizeof parts[0]; k-- > 0;) {
        dsgd_whole_file file;
        dsgd_status status = dsgd_whole_open(&file, part_path(folder, i, parts[k]), error);
        if (status != DSGD_OK)
            return status;
        if (k == PART_RUNS)
            print_run(file.stream, experiment, i, result);
        else if (k == PART_CURVES)
            print_curves(file.stream, run, i, result);
        else if (k == PART_WORKERS)
            print_workers(file.stream, run, i, result);
        else if (k == PART_STALENESS)
            print_staleness(file.stream, run, i, result);
        else
            print_note(file.stream, result);
        status = dsgd_whole_close(&file, error);
        if (status != DSGD_OK)
            return status;
    }
    return DSGD_OK;
}

/* --- fragments -------------------------------------------------------------------------------- */

/** All of a small file as text, or NULL. */
static char *read_all(char *path)
{
    FILE *const stream = fopen(path, "r");
    free(path);
    if (stream == NULL)
        return NULL;
    char *text = NULL;
    size_t room = 0;
    if (getdelim(&text, &room, '\0', stream) < 0) {
        free(text);
        text = dsgd_xstrdup("");
    }
    fclose(stream);
    return text;
}

char *dsgd_results_note(const char *folder, size_t i)
{
    return read_all(part_path(folder, i, "note"));
}

/** Cuts the first field off a row; commas between quotes are part of it, and so are the quotes. */
static char *cut_field(char **rest)
{
    char *const field = *rest;
    char *c = field;
    bool quoted = false;
    for (; *c != '\0' && (quoted || (*c != ',' && *c != '\n')); c++)
        quoted ^= *c == '"';
    *rest = *c == '\0' ? NULL : c + 1;
    *c = '\0';
    return field;
}

char *dsgd_results_field(const char *folder, size_t i, const char *column)
{
    size_t k = 0;
    while (run_columns[k] != NULL && strcmp(run_columns[k], column) != 0)
        k++;
    char *const row = read_all(part_path(folder, i, "runs"));
    char *rest = row;
    char *field = NULL;
    for (size_t j = 0; j <= k && rest != NULL; j++)
        field = cut_field(&rest);
    char *const copy = dsgd_xstrdup(field);
    free(row);
    return copy;
}

bool dsgd_results_has(const char *folder, size_t i)
{
    char *const status = dsgd_results_field(folder, i, "status");
    const bool has =
        status != NULL && (strcmp(status, "ok") == 0 || strcmp(status, "diverged") == 0);
    free(status);
    return has;
}

void dsgd_results_forget(const char *folder, size_t i)
{
    for (size_t k = 0; k < sizeof parts / sizeof parts[0]; k++) {
        char *const path = part_path(folder, i, parts[k]);
        unlink(path);
        free(path);
    }
}

static void print_run_header(FILE *stream, const dsgd_experiment *experiment)
{
    for (size_t k = 0; run_columns[k] != NULL; k++)
        fprintf(stream, "%s%s", k == 0 ? "" : ",", run_columns[k]);
    for (size_t k = 0; k < experiment->n_columns; k++)
        fprintf(stream, ",%s", experiment->columns[k]);
    fputc('\n', stream);
}

dsgd_status dsgd_results_join(const char *folder, const dsgd_experiment *experiment,
                              dsgd_error *error)
{
    static const char *const headers[] = {NULL, dsgd_curve_columns, worker_columns,
                                          staleness_columns};
    for (size_t k = 0; k < N_TABLES; k++) {
        dsgd_whole_file file;
        const dsgd_status status =
            dsgd_whole_open(&file, dsgd_xprintf("%s/%s.csv", folder, parts[k]), error);
        if (status != DSGD_OK)
            return status;
        if (k == PART_RUNS)
            print_run_header(file.stream, experiment);
        else
            fputs(headers[k], file.stream);
        for (size_t i = 0; i < experiment->n_runs; i++) {
            char *const rows = read_all(part_path(folder, i, parts[k]));
            if (rows != NULL)
                fputs(rows, file.stream);
            free(rows);
        }
        const dsgd_status closed = dsgd_whole_close(&file, error);
        if (closed != DSGD_OK)
            return closed;
    }
    return DSGD_OK;
}

/* --- the manifest ----------------------------------------------------------------------------- */

static json_t *stops_json(const dsgd_records *stops)
{
    json_t *const list = json_array();
    for (size_t i = 0; i < stops->n; i++)
        json_array_append_new(
            list, dsgd_json_options(dsgd_stop_options, (const dsgd_stop *)stops->v + i));
    return list;
}

static json_t *lines_json(const dsgd_lines *lines)
{
    json_t *const list = json_array();
    for (size_t i = 0; i < lines->n; i++)
        json_array_append_new(list, dsgd_json_text(lines->v[i]));
    return list;
}

static json_t *run_json(const dsgd_planned_run *run)
{
    const dsgd_run_config *const c = &run->config;
    json_t *const platform = dsgd_json_options(dsgd_platform_options, &run->platform);
    json_t *const workload = dsgd_json_options(dsgd_workload_options, &run->workload);
    json_t *const learn =
        c->learning == NULL ? json_null() : dsgd_json_options(dsgd_learning_options, c->learning);
    return json_pack(
        "{s:o, s:o, s:i, s:I, s:o, s:o, s:b, s:o, s:o, s:o, s:i, s:o, s:o, s:o}", "algorithm",
        dsgd_json_pick(&run->algorithm), "label", dsgd_json_text(run->label), "workers", c->workers,
        "seed", (json_int_t)c->seed, "platform", platform, "workload", workload, "inherent",
        (int)c->inherent, "imbalance", dsgd_json_picks(&c->imbalance), "until",
        dsgd_json_options(dsgd_until_options, &c->until), "learn", learn, "collective",
        c->collective, "placement", lines_json(&c->placement), "exchange",
        dsgd_json_options(dsgd_exchange_options, &c->exchange), "stops", stops_json(&c->stops));
}

/** Of runs first, first + 1, ..., end - 1. */
static json_t *manifest(const dsgd_experiment *experiment, size_t first, size_t end,
                        const char *command)
{
    json_t *const runs = json_array();
    for (size_t i = first; i < end; i++)
        json_array_append_new(runs, run_json(&experiment->runs[i]));
    return json_pack("{s:s, s:o, s:o, s:o, s:{s:s, s:s, s:s, s:s, s:s, s:s, s:s}, s:o}", "dsgd",
                     DSGD_VERSION, "experiment", dsgd_json_text(experiment->name), "file",
                     dsgd_json_text(experiment->path), "command", dsgd_json_text(command),
                     "libraries", "network", dsgd_simgrid_version(), "openblas",
                     openblas_get_config(), "cpu_level", dsgd_device_cpu_level(), "gsl",
                     gsl_version, "jansson", JANSSON_VERSION, "zlib", zlibVersion(), "libc",
                     gnu_get_libc_version(), "runs", runs);
}

char *dsgd_results_about(const dsgd_experiment *experiment, size_t i, const char *command)
{
    json_t *const about = json_pack("{s:I, s:o, s:o}", "run", (json_int_t)(i + 1), "label",
                                    dsgd_json_text(experiment->runs[i].label), "manifest",
                                    manifest(experiment, i, i + 1, command));
    char *const text = json_dumps(about, JSON_COMPACT);
    json_decref(about);
    return text;
}

/**
 * Whether there are values, and not only times: runs with and without them do not go into one
 * table.
 */
static bool computes(const dsgd_experiment *experiment)
{
    bool any = false;
    for (size_t i = 0; i < experiment->n_runs; i++) {
        const dsgd_run_config *const c = &experiment->runs[i].config;
        any = any || (c->learning != NULL && c->numerics != DSGD_NUMERICS_OFF);
    }
    return any;
}

static bool same_member(const json_t *a, const json_t *b, const char *key)
{
    return json_equal(json_object_get(a, key), json_object_get(b, key)) == 1;
}

dsgd_status dsgd_results_open(const char *folder, const dsgd_experiment *experiment,
                              const char *command, bool force, dsgd_error *error)
{
    json_t *const new = manifest(experiment, 0, experiment->n_runs, command);
    DSGD_ASSERT(new != NULL, "the manifest is no JSON");
    json_object_set_new(new, "computed", json_boolean(computes(experiment)));
    char *const path = dsgd_xprintf("%s/manifest.json", folder);
    json_t *const old = json_load_file(path, 0, NULL);
    /* Read back what would be written, so that numbers are compared as they stand in a file. */
    char *const text = json_dumps(new, JSON_INDENT(1));
    json_t *const again = json_loads(text, 0, NULL);
    const bool other = access(path, F_OK) == 0 &&
                       !(same_member(old, again, "runs") && same_member(old, again, "computed"));
    json_decref(old);
    json_decref(again);
    json_decref(new);
    dsgd_status status = DSGD_OK;
    if (other && !force)
        status =
            dsgd_fail(error, DSGD_EUSAGE,
                      "%s: the folder has the results of another experiment, or of this one with "
                      "other --numerics; take another folder with -o, or --force to replace them",
                      folder);
    char *const folder_of_parts = dsgd_xprintf("%s/.parts", folder);
    if (status == DSGD_OK)
        status = dsgd_make_folder(folder, error);
    if (status == DSGD_OK)
        status = dsgd_make_folder(folder_of_parts, error);
    for (size_t i = 0; status == DSGD_OK && other && i < experiment->n_runs; i++)
        dsgd_results_forget(folder, i);
    dsgd_whole_file file;
    if (status == DSGD_OK)
        status = dsgd_whole_open(&file, dsgd_xstrdup(path), error);
    if (status == DSGD_OK) {
        fprintf(file.stream, "%s\n", text);
        status = dsgd_whole_close(&file, error);
    }
    free(folder_of_parts);
    free(path);
    free(text);
    return status;
}
