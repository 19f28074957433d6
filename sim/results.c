/**
 * @file results.c
 * Rows, fragments and the manifest.
 */
#include "sim/results.h"

#include <cblas.h>
#include <errno.h>
#include <gnu/libc-version.h>
#include <gsl/gsl_version.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "sim/cluster.h"
#include "sim/csv.h"

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
                                          "wall_s",
                                          NULL};

static const char curve_columns[] =
    "run,algorithm,workers,seed,virtual_s,steps,loss,accuracy,consensus\n";
static const char worker_columns[] =
    "run,algorithm,workers,seed,worker,compute_share,wait_share,comm_share,steps\n";
static const char staleness_columns[] = "run,algorithm,workers,seed,age_steps,share\n";
static const char *const outcomes[] = {"ok", "diverged", "timeout", "failed"};

/* --- files -------------------------------------------------------------------------------------------------------------------------- */

dsgd_status dsgd_make_folder(const char *path, dsgd_error *error)
{
    char *const copy = dsgd_xstrdup(path);
    for (char *slash = strchr(copy + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(copy, 0777);
        *slash = '/';
    }
    free(copy);
    if (mkdir(path, 0777) != 0 && errno != EEXIST)
        return dsgd_fail(error, DSGD_EIO, "%s: the folder cannot be made: %m", path);
    if (access(path, W_OK | X_OK) != 0)
        return dsgd_fail(error, DSGD_EIO, "%s: the folder cannot be written to: %m", path);
    return DSGD_OK;
}

static char *part_path(const char *folder, size_t i, const char *what)
{
    return dsgd_xprintf("%s/.parts/%zu.%s", folder, i + 1, what);
}

/* --- rows --------------------------------------------------------------------------------------------------------------------------- */

static void print_cell(FILE *stream, double x)
{
    fputc(',', stream);
    dsgd_csv_number(stream, x);
}

static void print_key(FILE *stream, const dsgd_planned_run *run, size_t i)
{
    fprintf(stream, "%zu,%s,%d,%llu", i + 1, run->label, run->config.workers,
            (unsigned long long)run->config.seed);
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
                              failed ? NAN : r->local_accuracy_min};
    for (size_t k = 0; k < sizeof numbers / sizeof numbers[0]; k++)
        print_cell(stream, numbers[k]);
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
    for (size_t k = 0; k < r->n_points; k++) {
        const dsgd_point *const p = &r->points[k];
        if (isnan(p->at.loss))
            break; /* numerics had stopped */
        print_key(stream, run, i);
        print_cell(stream, p->virtual_s);
        print_cell(stream, p->steps);
        print_cell(stream, p->at.loss);
        print_cell(stream, p->at.accuracy);
        print_cell(stream, p->at.consensus);
        fputc('\n', stream);
    }
}

static void print_workers(FILE *stream, const dsgd_planned_run *run, size_t i,
                          const dsgd_run_result *r)
{
    for (int w = 0; w < run->config.workers && r->worker_shares != NULL; w++) {
        print_key(stream, run, i);
        fprintf(stream, ",%d", w);
        print_cell(stream, r->worker_shares[w].compute);
        print_cell(stream, r->worker_shares[w].wait);
        print_cell(stream, r->worker_shares[w].communicate);
        print_cell(stream, r->worker_steps[w]);
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
        print_cell(stream, r->ages[age]);
        fputc('\n', stream);
    }
}

static void print_note(FILE *stream, const dsgd_run_result *r)
{
    if (r->outcome == DSGD_RUN_FAILED) {
        fprintf(stream, "%s\n", r->why.text);
        return;
    }
    fprintf(
        stream,
        "simulated %.4g s; compute alone %.4g s, links alone %.4g s; staleness %.2f (at most %g)",
        r->virtual_s, r->ideal_s, r->link_s, r->staleness_mean, r->staleness_max);
    if (!isnan(r->partial_active_mean))
        fprintf(stream, "; %.1f fresh contributions per partial collective, %llu sums missed",
                r->partial_active_mean, (unsigned long long)r->partial_skipped);
    fprintf(stream, "; wall: timing %.1f s, numerics %.1f s (%s), peak values %.0f MB",
            r->timing_wall_s, r->numerics.busy_wall_s, r->device,
            (double)r->numerics.peak_bytes / 1e6);
    if (r->outcome == DSGD_RUN_DIVERGED)
        fprintf(stream, "; %s", r->why.text);
    fputc('\n', stream);
}

static const char *const parts[] = {"runs", "curves", "workers", "staleness", "note"};

enum { PART_RUNS, PART_CURVES, PART_WORKERS, PART_STALENESS, PART_NOTE, N_TABLES = PART_NOTE };

dsgd_status dsgd_results_write(const char *folder, const dsgd_experiment *experiment, size_t i,
                               const dsgd_run_result *result, dsgd_error *error)
{
    const dsgd_planned_run *const run = &experiment->runs[i];
    for (size_t k = sizeof parts / sizeof parts[0];
         k-- > 0;) { /* the row of the run last: it says that the rest is there */
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

/* --- fragments ---------------------------------------------------------------------------------------------------------------------- */

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

char *dsgd_results_field(const char *folder, size_t i, const char *column)
{
    size_t k = 0;
    while (run_columns[k] != NULL && strcmp(run_columns[k], column) != 0)
        k++;
    char *const row = read_all(part_path(folder, i, "runs"));
    char *rest = row;
    char *field = NULL;
    for (size_t j = 0; j <= k && rest != NULL; j++)
        field = strsep(&rest, ",\n");
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
    static const char *const headers[] = {NULL, curve_columns, worker_columns, staleness_columns};
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

/* --- the manifest ------------------------------------------------------------------------------------------------------------------- */

static json_t *table_json(const dsgd_option *options, const void *params);

/** A text; bytes that are no UTF-8, which JSON cannot hold, as \xHH. */
static json_t *text_json(const char *text)
{
    if (text == NULL)
        return json_null();
    json_t *const as_it_is = json_string(text);
    if (as_it_is != NULL)
        return as_it_is;
    char *const escaped = dsgd_xcalloc(4 * strlen(text) + 1, 1);
    for (size_t n = 0; *text != '\0';) {
        size_t length = 4; /* of the character, if it is one */
        json_t *character = NULL;
        while (length > 0 && (character = json_stringn(text, strnlen(text, length))) == NULL)
            length--;
        json_decref(character);
        length = strnlen(text, length);
        if (length > 0)
            memcpy(escaped + n, text, length);
        else
            snprintf(escaped + n, 5, "\\x%02x", (unsigned char)*text);
        n += length > 0 ? length : 4;
        text += length > 0 ? length : 1;
    }
    json_t *const json = json_string(escaped);
    free(escaped);
    return json;
}

static json_t *pick_json(const dsgd_pick *pick)
{
    if (pick->about == NULL)
        return json_null();
    json_t *const object = table_json(pick->about->options, pick->params);
    json_object_set_new(object, "name", text_json(pick->about->name));
    return object;
}

static json_t *option_json(const dsgd_option *o, const void *field)
{
    json_t *const list = json_array();
    switch (o->kind) {
    case DSGD_NUMBERS:
        for (size_t i = 0; i < ((const dsgd_numbers *)field)->n; i++)
            json_array_append_new(list, json_real(((const dsgd_numbers *)field)->v[i]));
        return list;
    case DSGD_PAIRS:
        for (size_t i = 0; i < ((const dsgd_pairs *)field)->n; i++)
            json_array_append_new(
                list, json_pack("[I, I]", (json_int_t)((const dsgd_pairs *)field)->v[i][0],
                                (json_int_t)((const dsgd_pairs *)field)->v[i][1]));
        return list;
    case DSGD_TABLE:
        for (size_t i = 0; i < ((const dsgd_table *)field)->n; i++)
            json_array_append_new(list, json_pack("[f, f]", ((const dsgd_table *)field)->x[i],
                                                  ((const dsgd_table *)field)->y[i]));
        return list;
    case DSGD_RECORDS:
        for (size_t i = 0; i < ((const dsgd_records *)field)->n; i++)
            json_array_append_new(
                list, table_json(o->fields, (const char *)((const dsgd_records *)field)->v +
                                                i * o->record_size));
        return list;
    case DSGD_PICKS:
        for (size_t i = 0; i < ((const dsgd_picks *)field)->n; i++)
            json_array_append_new(list, pick_json(&((const dsgd_picks *)field)->v[i]));
        return list;
    default:
        break;
    }
    json_decref(list);
    const double number = o->kind == DSGD_LONG     ? (double)*(const long *)field
                          : o->kind == DSGD_DOUBLE ? *(const double *)field
                                                   : 0;
    if (number < 0 && o->words != NULL)
        return text_json(o->words[(size_t)-number - 1]);
    switch (o->kind) {
    case DSGD_BOOL:
        return json_boolean(*(const bool *)field);
    case DSGD_LONG:
        return json_integer(*(const long *)field);
    case DSGD_DOUBLE:
        return json_real(*(const double *)field);
    case DSGD_CHOICE:
        return text_json(o->words[*(const int *)field]);
    case DSGD_STRING:
        return text_json(*(const char *const *)field);
    case DSGD_RECORD:
        return table_json(o->fields, field);
    default:
        return pick_json(field);
    }
}

static json_t *table_json(const dsgd_option *options, const void *params)
{
    json_t *const object = json_object();
    for (const dsgd_option *o = options; o != NULL && o->name != NULL; o++)
        json_object_set_new(object, o->name, option_json(o, (const char *)params + o->offset));
    return object;
}

static json_t *picks_json(const dsgd_picks *picks)
{
    json_t *const list = json_array();
    for (size_t i = 0; i < picks->n; i++)
        json_array_append_new(list, pick_json(&picks->v[i]));
    return list;
}

static json_t *stops_json(const dsgd_records *stops)
{
    json_t *const list = json_array();
    for (size_t i = 0; i < stops->n; i++)
        json_array_append_new(list, table_json(dsgd_stop_options, (const dsgd_stop *)stops->v + i));
    return list;
}

static json_t *run_json(const dsgd_planned_run *run)
{
    const dsgd_run_config *const c = &run->config;
    json_t *const platform = table_json(dsgd_platform_options, &run->platform);
    json_t *const workload = table_json(dsgd_workload_options, &run->workload);
    json_t *const learn =
        c->learning == NULL ? json_null() : table_json(dsgd_learning_options, c->learning);
    return json_pack("{s:o, s:o, s:i, s:I, s:o, s:o, s:b, s:o, s:o, s:o, s:i, s:i, s:o, s:o}",
                     "algorithm", pick_json(&run->algorithm), "label", text_json(run->label),
                     "workers", c->workers, "seed", (json_int_t)c->seed, "platform", platform,
                     "workload", workload, "inherent", (int)c->inherent, "imbalance",
                     picks_json(&c->imbalance), "until", table_json(dsgd_until_options, &c->until),
                     "learn", learn, "collective", c->collective, "placement", c->placement,
                     "exchange", table_json(dsgd_exchange_options, &c->exchange), "stops",
                     stops_json(&c->stops));
}

static json_t *manifest(const dsgd_experiment *experiment, const char *command)
{
    json_t *const runs = json_array();
    for (size_t i = 0; i < experiment->n_runs; i++)
        json_array_append_new(runs, run_json(&experiment->runs[i]));
    return json_pack("{s:s, s:o, s:o, s:o, s:{s:s, s:s, s:s, s:s, s:s, s:s, s:s}, s:o}", "dsgd",
                     DSGD_VERSION, "experiment", text_json(experiment->name), "file",
                     text_json(experiment->path), "command", text_json(command), "libraries",
                     "network", dsgd_simgrid_version(), "openblas", openblas_get_config(),
                     "openblas_core", openblas_get_corename(), "gsl", gsl_version, "jansson",
                     JANSSON_VERSION, "zlib", zlibVersion(), "libc", gnu_get_libc_version(), "runs",
                     runs);
}

dsgd_status dsgd_results_open(const char *folder, const dsgd_experiment *experiment,
                              const char *command, bool force, dsgd_error *error)
{
    json_t *const new = manifest(experiment, command);
    DSGD_ASSERT(new != NULL, "the manifest is no JSON");
    char *const path = dsgd_xprintf("%s/manifest.json", folder);
    json_t *const old = json_load_file(path, 0, NULL);
    /* Read back what would be written, so that numbers are compared as they stand in a file. */
    char *const text = json_dumps(new, JSON_INDENT(1));
    json_t *const again = json_loads(text, 0, NULL);
    const bool other = access(path, F_OK) == 0 &&
                       !json_equal(json_object_get(old, "runs"), json_object_get(again, "runs"));
    json_decref(old);
    json_decref(again);
    json_decref(new);
    dsgd_status status = DSGD_OK;
    if (other && !force)
        status = dsgd_fail(error, DSGD_EUSAGE,
                           "%s: the folder has the results of another experiment; take another "
                           "folder with -o, or --force to replace them",
                           folder);
    char *const folder_of_parts = dsgd_xprintf("%s/.parts", folder);
    if (status == DSGD_OK)
        status = dsgd_make_folder(folder, error);
    if (status == DSGD_OK)
        status = dsgd_make_folder(folder_of_parts, error);
    for (size_t i = 0; status == DSGD_OK && other && dsgd_results_has(folder, i); i++)
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
