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

static const char run_columns[] =
    "run,algorithm,workers,seed,platform,workload,status,steps,virtual_s,samples,learn_samples,"
    "throughput_samples_per_s,step_mean_s,compute_share,wait_share,comm_share,staleness_mean,"
    "staleness_max,messages,bytes,final_loss,final_accuracy,final_consensus,local_loss,"
    "local_accuracy,local_accuracy_min,exposed_mean_s,active_mean,lag_mean,lag_max,"
    "gradient_staleness_mean,gradient_staleness_max,partial_skipped,partial_duplicates,wall_s";
static const char worker_columns[] =
    "run,algorithm,workers,seed,worker,compute_share,wait_share,comm_share,steps\n";
static const char staleness_columns[] = "run,algorithm,workers,seed,measure,age,share\n";
static const char *const outcomes[] = {"ok", "diverged", "timeout", "failed"};

/* Path of a fragment: the folder of results, the number of the run, a name out of `parts`. */
#define PART "%s/.parts/%zu.%s"

/* --- rows ------------------------------------------------------------------------------------- */

static void print_run(FILE *stream, const dsgd_experiment *experiment, const dsgd_run_key *key,
                      const dsgd_run_result *r)
{
    const dsgd_planned_run *const run = &experiment->runs[key->run - 1];
    /* Nothing is final in a run that has failed. */
    const bool failed = r->outcome == DSGD_RUN_FAILED;
    const bool partial = !isnan(r->partial_active_mean);
    const dsgd_point *const last = r->n_points > 0 && !failed ? &r->points[r->n_points - 1] : NULL;
    dsgd_run_key_print(stream, key);
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
                              r->partial_active_mean,
                              r->lag_mean,
                              r->lag_max,
                              r->gradient_staleness_mean,
                              r->gradient_staleness_max,
                              partial ? r->partial_skipped : NAN,
                              partial ? r->partial_duplicates : NAN};
    dsgd_csv_numbers(stream, numbers, sizeof numbers / sizeof numbers[0]);
    fprintf(stream, ",%.2f", r->total_wall_s);
    for (size_t k = 0; k < experiment->n_columns; k++) {
        fputc(',', stream);
        dsgd_csv_text(stream, run->swept[k] == NULL ? "" : run->swept[k]);
    }
    fputc('\n', stream);
}

static void print_workers(FILE *stream, const dsgd_run_key *key, const dsgd_run_result *r)
{
    for (int w = 0; w < key->workers && r->worker_shares != NULL; w++) {
        dsgd_run_key_print(stream, key);
        fprintf(stream, ",%d", w);
        const double numbers[] = {r->worker_shares[w].compute, r->worker_shares[w].wait,
                                  r->worker_shares[w].communicate, r->worker_steps[w]};
        dsgd_csv_numbers(stream, numbers, sizeof numbers / sizeof numbers[0]);
        fputc('\n', stream);
    }
}

static void print_ages(FILE *stream, const dsgd_run_key *key, const char *measure,
                       const dsgd_ages *ages)
{
    for (size_t age = 0; age < ages->n; age++) {
        if (ages->share[age] == 0)
            continue;
        dsgd_run_key_print(stream, key);
        fprintf(stream, ",%s,%zu", measure, age);
        dsgd_csv_numbers(stream, &ages->share[age], 1);
        fputc('\n', stream);
    }
}

/** The histograms of the ages at which values were used, and gradients applied. */
static void print_staleness(FILE *stream, const dsgd_run_key *key, const dsgd_run_result *r)
{
    print_ages(stream, key, "staleness", &r->ages);
    print_ages(stream, key, "gradient_staleness", &r->gradient_ages);
}

/** Line 1: why it failed or diverged, else empty. Line 2, unless it failed: what runs.csv lacks. */
static void print_note(FILE *stream, const dsgd_run_result *r)
{
    const bool failed = r->outcome == DSGD_RUN_FAILED;
    fprintf(stream, "%s\n", failed || r->outcome == DSGD_RUN_DIVERGED ? r->why.text : "");
    if (failed)
        return;
    fprintf(stream, "simulated %.4g s; compute alone %.4g s", r->virtual_s, r->ideal_s);
    if (!isnan(r->link_s))
        fprintf(stream, ", links alone %.4g s", r->link_s);
    fputc(';', stream);
    fprintf(stream, " staleness %.2f (at most %g), lag %.2f (%g), of gradients %.2f (%g);",
            r->staleness_mean, r->staleness_max, r->lag_mean, r->lag_max,
            r->gradient_staleness_mean, r->gradient_staleness_max);
    if (!isnan(r->partial_active_mean))
        fprintf(stream,
                " %.1f fresh contributions per partial collective, %.6g sums missed, %.6g used "
                "again;",
                r->partial_active_mean, r->partial_skipped, r->partial_duplicates);
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
    const dsgd_run_key key = {i + 1, run->label, run->config.workers, run->config.seed};
    /* The row of runs.csv last: it implies the other fragments. */
    for (size_t k = sizeof parts / sizeof parts[0]; k-- > 0;) {
        dsgd_whole_file file;
        FILE *const stream = dsgd_whole_open(&file, error, PART, folder, i + 1, parts[k]);
        if (stream == NULL)
            return DSGD_EIO;
        if (k == PART_RUNS)
            print_run(stream, experiment, &key, result);
        else if (k == PART_CURVES)
            dsgd_curve_print(stream, &key, result->n_points, result->points);
        else if (k == PART_WORKERS)
            print_workers(stream, &key, result);
        else if (k == PART_STALENESS)
            print_staleness(stream, &key, result);
        else
            print_note(stream, result);
        if (dsgd_whole_close(&file, error) != DSGD_OK)
            return DSGD_EIO;
    }
    return DSGD_OK;
}

/* --- fragments -------------------------------------------------------------------------------- */

/** A fragment as text, or NULL. The caller frees it. */
static char *read_part(const char *folder, size_t i, const char *what)
{
    char *const path = dsgd_xprintf(PART, folder, i + 1, what);
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
    return read_part(folder, i, "note");
}

char *dsgd_results_field(const char *folder, size_t i, const char *column)
{
    size_t k = 0; /* commas before the column */
    for (const char *at = run_columns; strncmp(at, column, strlen(column)) != 0; k++)
        at = strchr(at, ',') + 1;
    dsgd_csv row; /* read as the header of a file without rows */
    dsgd_csv_read(&row, NULL, PART, folder, i + 1, "runs");
    char *const field = k < row.n_columns ? dsgd_xstrdup(row.fields[k]) : NULL;
    dsgd_csv_close(&row);
    return field;
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
        char *const path = dsgd_xprintf(PART, folder, i + 1, parts[k]);
        unlink(path);
        free(path);
    }
}

dsgd_status dsgd_results_join(const char *folder, const dsgd_experiment *experiment,
                              dsgd_error *error)
{
    static const char *const headers[] = {run_columns, dsgd_curve_columns, worker_columns,
                                          staleness_columns};
    for (size_t k = 0; k < N_TABLES; k++) {
        dsgd_whole_file file;
        FILE *const stream = dsgd_whole_open(&file, error, "%s/%s.csv", folder, parts[k]);
        if (stream == NULL)
            return DSGD_EIO;
        fputs(headers[k], stream);
        for (size_t c = 0; k == PART_RUNS && c < experiment->n_columns; c++)
            fprintf(stream, ",%s", experiment->columns[c]);
        fputs(k == PART_RUNS ? "\n" : "", stream);
        for (size_t i = 0; i < experiment->n_runs; i++) {
            char *const rows = read_part(folder, i, parts[k]);
            if (rows != NULL)
                fputs(rows, stream);
            free(rows);
        }
        if (dsgd_whole_close(&file, error) != DSGD_OK)
            return DSGD_EIO;
    }
    return DSGD_OK;
}

/* --- the manifest ----------------------------------------------------------------------------- */

/** Members of a run in the manifest that are options of its configuration. */
static const dsgd_option run_options[] = {
    DSGD_OPTION_AS("imbalance", PICKS, dsgd_run_config, imbalance, NULL),
    DSGD_OPTION_AS("until", RECORD, dsgd_run_config, until, NULL, .fields = dsgd_until_options),
    DSGD_OPTION_AS("placement", LINES, dsgd_run_config, placement, NULL),
    DSGD_OPTION_AS("exchange", RECORD, dsgd_run_config, exchange, NULL,
                   .fields = dsgd_exchange_options),
    DSGD_OPTION_AS("stops", RECORDS, dsgd_run_config, stops, NULL, .fields = dsgd_stop_options,
                   .record_size = sizeof(dsgd_stop)),
    DSGD_OPTION_END,
};

static json_t *run_json(const dsgd_planned_run *run)
{
    const dsgd_run_config *const c = &run->config;
    json_t *const learn =
        c->learning == NULL ? json_null() : dsgd_json_options(dsgd_learning_options, c->learning);
    /* The nulls keep the places of the options. */
    json_t *const json = json_pack(
        "{s:o, s:o, s:i, s:I, s:o, s:o, s:b, s:n, s:n, s:o, s:i}", "algorithm",
        dsgd_json_pick(&run->algorithm), "label", dsgd_json_text(run->label), "workers", c->workers,
        "seed", (json_int_t)c->seed, "platform",
        dsgd_json_options(dsgd_platform_options, &run->platform), "workload",
        dsgd_json_options(dsgd_workload_options, &run->workload), "inherent", (int)c->inherent,
        "imbalance", "until", "learn", learn, "collective", c->collective);
    json_object_update_new(json, dsgd_json_options(run_options, c));
    return json;
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
    json_t *const about = json_pack("{s:I, s:o, s:o}", "run", (json_int_t)i + 1, "label",
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
    if (status == DSGD_OK)
        status = dsgd_make_folder(error, "%s", folder);
    if (status == DSGD_OK)
        status = dsgd_make_folder(error, "%s/.parts", folder);
    for (size_t i = 0; status == DSGD_OK && other && i < experiment->n_runs; i++)
        dsgd_results_forget(folder, i);
    dsgd_whole_file file;
    if (status == DSGD_OK && dsgd_whole_open(&file, error, "%s", path) == NULL)
        status = DSGD_EIO;
    if (status == DSGD_OK) {
        fprintf(file.stream, "%s\n", text);
        status = dsgd_whole_close(&file, error);
    }
    free(path);
    free(text);
    return status;
}
