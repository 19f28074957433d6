/**
 * @file results.c
 * Rows and the manifest.
 */
#include "command/run/results.h"

#include <cblas.h>
#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <gsl/gsl_version.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/csv.h"
#include "base/file.h"
#include "base/json.h"
#include "command/experiment/config.h"
#include "command/run/curve.h"
#include "command/run/histograms.h"
#include "command/run/parts.h"
#include "models/record/replay.h"
#include "sim/network/cluster.h"
#include "traces/expenses.h"

static const char run_columns[] =
    "run,algorithm,workers,seed,platform,workload,status,steps,virtual_s,samples,learn_samples,"
    "throughput_samples_per_s,step_mean_s,compute_share,wait_share,comm_share,staleness_mean,"
    "staleness_max,messages,bytes,final_loss,final_accuracy,final_consensus,local_loss,"
    "local_accuracy,local_accuracy_min,exposed_mean_s,active_mean,lag_mean,lag_max,"
    "gradient_staleness_mean,gradient_staleness_max,partial_skipped,partial_duplicates,pieces,"
    "piece_bytes,collective,partial_collective,exchange_mode,network,"
    "sent_mean_bytes,sent_max_bytes,energy_j,cost,currency,wall_s";
static const char worker_columns[] =
    "run,algorithm,workers,seed,worker,compute_share,wait_share,comm_share,steps";
static const char *const outcomes[] = {"ok", "diverged", "timeout", "failed"};

/** The last cells of a row, each behind a comma: swept values, or their columns. In fresh memory. */
static char *swept_cells(const dsgd_experiment *experiment, const char *const *texts)
{
    char *cells = NULL;
    size_t n_bytes = 0;
    FILE *const stream = open_memstream(&cells, &n_bytes);
    DSGD_ASSERT(stream != NULL, "no memory for cells");
    for (size_t k = 0; k < experiment->n_columns; k++) {
        fputc(',', stream);
        dsgd_csv_text(stream, texts[k] == NULL ? "" : texts[k]);
    }
    fclose(stream);
    return cells;
}

/* --- rows ------------------------------------------------------------------------------------- */

/** How vectors travelled: their pieces, the collectives, and the settings that are on. */
static void print_exchange(FILE *stream, const dsgd_exchange_config *exchange,
                           const dsgd_run_result *r)
{
    const bool done = r->n_pieces > 0; /* else the process died */
    const double numbers[] = {done ? (double)r->n_pieces : NAN, done ? r->piece_bytes : NAN};
    const int collectives[] = {r->collective, r->partial_collective};
    dsgd_csv_numbers(stream, numbers, 2);
    for (size_t k = 0; k < 2; k++)
        fprintf(stream, ",%s",
                collectives[k] == DSGD_COLLECTIVE_AUTO ? ""
                                                       : dsgd_collective_names[collectives[k]]);
    char *mode = dsgd_xstrdup(exchange->overlap ? "overlap" : "late");
    dsgd_append(&mode, exchange->blocking ? " blocking" : " at-once");
    if (exchange->barrier)
        dsgd_append(&mode, " barrier");
    if (exchange->fusion_bytes > 0)
        dsgd_append(&mode, " fusion");
    fprintf(stream, ",%s", mode);
    free(mode);
}

/** What was sent, and what the workers' GPUs drew and cost. */
static void print_expenses(FILE *stream, const dsgd_run_config *config, const dsgd_run_result *r)
{
    const bool done = r->n_pieces > 0; /* else the process died */
    const double hours = r->virtual_s / 3600;
    dsgd_price price = {NAN, ""};
    const bool has_price = dsgd_platform_price(config->platform, &price) && done;
    const double numbers[] = {done ? r->sent_mean_bytes : NAN, done ? r->sent_max_bytes : NAN,
                              done ? dsgd_platform_energy_j(config->platform, config->workers,
                                                            r->virtual_s, r->shares.compute)
                                   : NAN,
                              has_price ? price.per_hour * hours * config->workers : NAN};
    dsgd_csv_numbers(stream, numbers, sizeof numbers / sizeof numbers[0]);
    fputc(',', stream);
    dsgd_csv_text(stream, has_price ? price.currency : "");
}

static void print_run(FILE *stream, const dsgd_experiment *experiment, const dsgd_run_key *key,
                      const dsgd_run_result *r)
{
    const dsgd_planned_run *const run = &experiment->runs[key->run - 1];
    /* Nothing is final in a run that has failed; of a process that died nothing is counted. */
    const bool failed = r->outcome == DSGD_RUN_FAILED || r->outcome == DSGD_RUN_TIMEOUT;
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
                              r->n_pieces > 0 ? (double)r->messages : NAN,
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
    print_exchange(stream, &run->config.exchange, r);
    fprintf(stream, ",%s", dsgd_network_names[run->config.network]);
    print_expenses(stream, &run->config, r);
    fprintf(stream, ",%.2f%s\n", r->total_wall_s, key->swept);
}

static void print_workers(FILE *stream, const dsgd_run_key *key, const dsgd_run_result *r)
{
    for (int w = 0; w < key->workers && r->worker_shares != NULL; w++) {
        dsgd_run_key_print(stream, key);
        fprintf(stream, ",%d", w);
        const double numbers[] = {r->worker_shares[w].compute, r->worker_shares[w].wait,
                                  r->worker_shares[w].communicate, r->worker_steps[w]};
        dsgd_csv_numbers(stream, numbers, sizeof numbers / sizeof numbers[0]);
        fprintf(stream, "%s\n", key->swept);
    }
}

/** Where workers go on by themselves they make unequal numbers of steps. */
static void print_steps(FILE *stream, const double *steps, int workers)
{
    double least = steps[0];
    double most = steps[0];
    for (int w = 1; w < workers; w++) {
        least = fmin(least, steps[w]);
        most = fmax(most, steps[w]);
    }
    if (most > least + 1) /* else only where in a step the run ended */
        fprintf(stream, " %g to %g steps per worker;", least, most);
}

/** Line 1: why it did not end well, else empty. Line 2, unless it failed: what runs.csv lacks. */
static void print_note(FILE *stream, const dsgd_run_result *r, int workers)
{
    const bool failed = r->outcome == DSGD_RUN_FAILED || r->outcome == DSGD_RUN_TIMEOUT;
    fprintf(stream, "%s\n", r->outcome == DSGD_RUN_OK ? "" : r->why.text);
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
    print_steps(stream, r->worker_steps, workers);
    fprintf(stream, " wall: timing %.1f s, numerics %.1f s (%s), peak values %.0f MB\n",
            r->timing_wall_s, r->numerics.busy_wall_s, r->device,
            (double)r->numerics.peak_bytes / 1e6);
}

/* --- parts ------------------------------------------------------------------------------------ */

static const char *const tables[DSGD_PART_TABLES] = {"runs", "curves", "workers", "staleness",
                                                     "steps"};

dsgd_status dsgd_results_write(const char *folder, const dsgd_experiment *experiment, size_t i,
                               const dsgd_run_result *result, dsgd_error *error)
{
    const dsgd_planned_run *const run = &experiment->runs[i];
    char *const swept = swept_cells(experiment, run->swept);
    const dsgd_run_key key = {i + 1, run->label, run->config.workers, run->config.seed, swept};
    char *text = NULL;
    size_t n = 0;
    size_t ends[DSGD_PART_SECTIONS];
    FILE *const stream = open_memstream(&text, &n);
    DSGD_ASSERT(stream != NULL, "no memory for rows");
    for (int k = 0; k < DSGD_PART_SECTIONS; k++) {
        if (k == DSGD_PART_RUNS)
            print_run(stream, experiment, &key, result);
        else if (k == DSGD_PART_CURVES)
            dsgd_curve_print(stream, &key, result->n_points, result->points);
        else if (k == DSGD_PART_WORKERS)
            print_workers(stream, &key, result);
        else if (k == DSGD_PART_STALENESS)
            dsgd_staleness_print(stream, &key, result);
        else if (k == DSGD_PART_STEPS)
            dsgd_step_times_print(stream, &key, result);
        else
            print_note(stream, result, run->config.workers);
        fflush(stream);
        ends[k] = n;
    }
    fclose(stream);
    const dsgd_status status = dsgd_part_write(folder, i, text, ends, error);
    free(text);
    free(swept);
    return status;
}

char *dsgd_results_note(const char *folder, size_t i)
{
    return dsgd_part_section(folder, i, DSGD_PART_NOTE);
}

/** Field @p column of a row of runs.csv, in fresh memory. */
static char *field_of(const char *row, const char *column)
{
    size_t k = 0; /* commas before the column */
    for (const char *at = run_columns; strncmp(at, column, strlen(column)) != 0; k++)
        at = strchr(at, ',') + 1;
    dsgd_csv csv; /* the row as the header of a table without rows */
    dsgd_csv_parse(&csv, row, NULL);
    char *const field = k < csv.n_columns ? dsgd_xstrdup(csv.fields[k]) : NULL;
    dsgd_csv_close(&csv);
    return field;
}

char *dsgd_results_field(const char *folder, size_t i, const char *column)
{
    char *const row = dsgd_part_section(folder, i, DSGD_PART_RUNS);
    char *const field = row == NULL ? NULL : field_of(row, column);
    free(row);
    return field;
}

const char *dsgd_results_currency(const dsgd_csv *runs)
{
    const char *const currency = dsgd_csv_first(runs, dsgd_csv_column(runs, "currency"));
    return currency == NULL ? "" : currency;
}

double dsgd_results_throughput(const char *folder, size_t i)
{
    char *const row = dsgd_part_section(folder, i, DSGD_PART_RUNS);
    char *const status = row == NULL ? NULL : field_of(row, "status");
    char *const text = row == NULL ? NULL : field_of(row, "throughput_samples_per_s");
    double throughput = NAN;
    if (status != NULL && dsgd_status_has_results(status) && text != NULL)
        dsgd_parse_number(text, NULL, &throughput);
    free(text);
    free(status);
    free(row);
    return throughput > 0 ? throughput : NAN;
}

bool dsgd_status_has_results(const char *status)
{
    return strcmp(status, "ok") == 0 || strcmp(status, "diverged") == 0;
}

dsgd_status dsgd_results_state(const char *folder, size_t i, dsgd_run_state *state,
                               dsgd_error *error)
{
    dsgd_part p;
    *state = DSGD_RUN_ABSENT;
    const dsgd_status status = dsgd_part_read(folder, i, &p, error);
    if (status != DSGD_OK || p.text == NULL)
        return status;
    char *const row =
        dsgd_xprintf("%.*s", (int)p.n_bytes[DSGD_PART_RUNS], p.sections[DSGD_PART_RUNS]);
    char *const outcome = field_of(row, "status");
    const bool done = outcome != NULL && dsgd_status_has_results(outcome);
    *state = done ? DSGD_RUN_DONE : DSGD_RUN_HAS_ROW;
    free(outcome);
    free(row);
    free(p.text);
    return DSGD_OK;
}

void dsgd_results_forget(const char *folder, size_t i)
{
    dsgd_part_remove(folder, i);
}

/** Appends the rows of all parts to the tables. */
static dsgd_status append_parts(const char *folder, const dsgd_experiment *experiment,
                                const dsgd_whole_file *files, size_t *n_rows, dsgd_error *error)
{
    *n_rows = 0;
    for (size_t i = 0; i < experiment->n_runs; i++) {
        dsgd_part p;
        const dsgd_status status = dsgd_part_read(folder, i, &p, error);
        if (status != DSGD_OK)
            return status;
        for (int k = 0; k < DSGD_PART_TABLES && p.text != NULL; k++)
            fwrite(p.sections[k], 1, p.n_bytes[k], files[k].stream);
        *n_rows += p.text != NULL;
        free(p.text);
    }
    return DSGD_OK;
}

dsgd_status dsgd_results_join(const char *folder, const dsgd_experiment *experiment, size_t *n_rows,
                              dsgd_error *error)
{
    static const char *const headers[] = {run_columns, dsgd_curve_columns, worker_columns,
                                          dsgd_staleness_columns, dsgd_step_columns};
    dsgd_whole_file files[DSGD_PART_TABLES];
    char *const swept = swept_cells(experiment, experiment->columns);
    size_t n_open = 0;
    while (n_open < DSGD_PART_TABLES &&
           dsgd_whole_open(&files[n_open], error, "%s/%s.csv", folder, tables[n_open]) != NULL)
        fprintf(files[n_open].stream, "%s%s\n", headers[n_open], swept), n_open++;
    dsgd_status status = n_open == DSGD_PART_TABLES ? DSGD_OK : DSGD_EIO;
    if (status == DSGD_OK)
        status = append_parts(folder, experiment, files, n_rows, error);
    for (size_t k = 0; k < n_open; k++)
        if (status != DSGD_OK)
            dsgd_whole_drop(&files[k]);
        else
            status = dsgd_whole_close(&files[k], error);
    free(swept);
    return status;
}

/* --- the manifest ----------------------------------------------------------------------------- */

/** Members of a run in the manifest that are options of its configuration. */
static const dsgd_option run_options[] = {
    DSGD_OPTION_AS("imbalance", PICKS, dsgd_run_config, imbalance, NULL),
    DSGD_OPTION_AS("until", RECORD, dsgd_run_config, until, NULL, .fields = dsgd_until_options),
    DSGD_OPTION_AS("placement", LINES, dsgd_run_config, placement, NULL),
    DSGD_OPTION_AS("network", CHOICE, dsgd_run_config, network, NULL, .words = dsgd_network_names),
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
    json_t *const json =
        json_pack("{s:o, s:o, s:i, s:I, s:o, s:o, s:b, s:n, s:n, s:o}", "algorithm",
                  dsgd_json_pick(&run->algorithm), "label", dsgd_json_text(run->label), "workers",
                  c->workers, "seed", (json_int_t)c->seed, "platform",
                  dsgd_json_options(dsgd_platform_options, &run->platform), "workload",
                  dsgd_json_options(dsgd_workload_options, &run->workload), "inherent",
                  (int)c->inherent, "imbalance", "until", "learn", learn);
    json_object_update_new(json, dsgd_json_options(run_options, c));
    return json;
}

/** What simulates the networks of the runs first, first + 1, ..., end - 1; the caller frees it. */
static char *networks_of(const dsgd_experiment *experiment, size_t first, size_t end)
{
    char *text = dsgd_xstrdup("");
    for (int kind = 0; dsgd_network_names[kind] != NULL; kind++)
        for (size_t i = first; i < end; i++) {
            if (experiment->runs[i].config.network != kind)
                continue;
            dsgd_append(&text, "%s%s", text[0] == '\0' ? "" : "; ", dsgd_network_version(kind));
            break;
        }
    return text;
}

/** Of runs first, first + 1, ..., end - 1. */
static json_t *manifest(const dsgd_experiment *experiment, size_t first, size_t end,
                        const char *command)
{
    json_t *const runs = json_array();
    for (size_t i = first; i < end; i++)
        json_array_append_new(runs, run_json(&experiment->runs[i]));
    char *const networks = networks_of(experiment, first, end);
    json_t *const json = json_pack(
        "{s:s, s:o, s:o, s:o, s:{s:s, s:s, s:s, s:s, s:s, s:s, s:s}, s:o}", "dsgd", DSGD_VERSION,
        "experiment", dsgd_json_text(experiment->name), "file", dsgd_json_text(experiment->path),
        "command", dsgd_json_text(command), "libraries", "network", networks, "openblas",
        openblas_get_config(), "cpu_level", dsgd_device_cpu_level(), "gsl", gsl_version, "jansson",
        JANSSON_VERSION, "zlib", zlibVersion(), "libc", gnu_get_libc_version(), "runs", runs);
    free(networks);
    return json;
}

char *dsgd_results_about(const dsgd_experiment *experiment, size_t i, const char *command)
{
    char *const columns = swept_cells(experiment, experiment->columns);
    char *const cells = swept_cells(experiment, experiment->runs[i].swept);
    json_t *const about = json_pack("{s:I, s:o, s:o, s:o, s:o}", "run", (json_int_t)i + 1, "label",
                                    dsgd_json_text(experiment->runs[i].label), "columns",
                                    dsgd_json_text(columns), "cells", dsgd_json_text(cells),
                                    "manifest", manifest(experiment, i, i + 1, command));
    free(columns);
    free(cells);
    char *const text = json_dumps(about, JSON_COMPACT);
    json_decref(about);
    return text;
}

/**
 * Where there are values, and not only times: runs with and without them, and of a CPU and of a GPU,
 * do not go into one table.
 */
static const char *computed_on(const dsgd_experiment *experiment, int numerics)
{
    const char *where = "off";
    for (size_t i = 0; i < experiment->n_runs && numerics != DSGD_NUMERICS_OFF; i++) {
        const dsgd_learning *const learning = experiment->runs[i].config.learning;
        if (learning == NULL)
            continue;
        if (numerics != DSGD_NUMERICS_CPU && learning->precision == DSGD_PRECISION_FLOAT)
            return "cuda";
        where = "cpu";
    }
    return where;
}

static bool same_member(const json_t *a, const json_t *b, const char *key)
{
    return json_equal(json_object_get(a, key), json_object_get(b, key)) == 1;
}

bool dsgd_results_has_record(const dsgd_experiment *experiment, size_t i, const char *path)
{
    char *const head = dsgd_record_head(path);
    if (head == NULL)
        return false;
    char *const about = dsgd_results_about(experiment, i, "");
    json_t *const old = json_loads(head, 0, NULL);
    json_t *const new = json_loads(about, 0, NULL);
    const bool has =
        same_member(old, new, "run") &&
        same_member(json_object_get(old, "manifest"), json_object_get(new, "manifest"), "runs");
    json_decref(old);
    json_decref(new);
    free(head);
    free(about);
    return has;
}

/** Checksum and length of a regular file; NULL of anything else. The caller frees it. */
static char *fingerprint(const char *path)
{
    struct stat facts;
    char *text = NULL;
    size_t n = 0;
    if (stat(path, &facts) != 0 || !S_ISREG(facts.st_mode) ||
        dsgd_file_read(path, &text, &n, NULL) != DSGD_OK)
        return NULL;
    char *const print = dsgd_xprintf("%08lx %zu", dsgd_checksum(text, n), n);
    free(text);
    return print;
}

/** Adds {name: fingerprint of the file}. */
static void add_file(json_t *json, const char *path, const char *name)
{
    char *const print = fingerprint(path);
    json_t *const key = dsgd_json_text(name); /* which is UTF-8 */
    if (print != NULL)
        json_object_set_new(json, json_string_value(key), json_string(print));
    json_decref(key);
    free(print);
}

/**
 * The manifest of the folder. Beside the experiment it has what else decides results: the program
 * with its plug-ins, and files of data.
 */
static json_t *whole_manifest(const dsgd_results_config *config)
{
    const dsgd_experiment *const experiment = config->experiment;
    json_t *const json = manifest(experiment, 0, experiment->n_runs, config->command);
    DSGD_ASSERT(json != NULL, "the manifest is no JSON");
    json_object_set_new(json, "computed", json_string(computed_on(experiment, config->numerics)));
    json_t *const program = json_object();
    add_file(program, "/proc/self/exe", "dsgd");
    for (size_t i = 0; config->plugins != NULL && i < config->plugins->n; i++) {
        const char *const path = config->plugins->v[i];
        const char *const slash = strrchr(path, '/');
        add_file(program, path, slash == NULL ? path : slash + 1);
    }
    json_object_set_new(json, "program", program);
    json_t *const files = json_object();
    for (const char *const *f = dsgd_config_data_files(experiment->config); *f != NULL; f++)
        add_file(files, *f, *f);
    json_object_set_new(json, "files", files);
    return json;
}

/** In which way a folder's results are not those that would be written; NULL: they are. */
static const char *other(const char *folder, const json_t *old, const json_t *new)
{
    if (old == NULL && !dsgd_can_read("%s/manifest.json", folder))
        return dsgd_can_read("%s/runs.csv", folder) ? "results without a manifest.json" : NULL;
    if (!same_member(old, new, "runs"))
        return "the results of another experiment";
    if (!same_member(old, new, "computed"))
        return "the results of this experiment with other --numerics";
    if (!same_member(old, new, "files"))
        return "the results of this experiment with other contents of a file that it names";
    if (!same_member(old, new, "program"))
        return "the results of this experiment by another build of dsgd or a plug-in";
    return same_member(old, new, "libraries")
               ? NULL
               : "the results of this experiment with other libraries or on another kind of CPU";
}

/** Nobody else writes here until this process and those that it starts have ended. */
static dsgd_status lock(const char *folder, dsgd_error *error)
{
    char *const path = dsgd_xprintf("%s/.parts/lock", folder);
    const int descriptor = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
    dsgd_status status = DSGD_OK;
    if (descriptor < 0)
        status = dsgd_fail(error, DSGD_EIO, "%s: the file cannot be written: %m", path);
    else if (flock(descriptor, LOCK_EX | LOCK_NB) != 0)
        status = dsgd_fail(error, errno == EWOULDBLOCK ? DSGD_EUSAGE : DSGD_EIO,
                           errno == EWOULDBLOCK
                               ? "%s: another dsgd is writing its results here; wait for its end, "
                                 "or take another folder with -o"
                               : "%s: the folder cannot be locked: %m",
                           folder);
    if (status != DSGD_OK && descriptor >= 0)
        close(descriptor);
    free(path);
    return status;
}

static dsgd_status write_manifest(const char *folder, const char *text, dsgd_error *error)
{
    dsgd_whole_file file;
    if (dsgd_whole_open(&file, error, "%s/manifest.json", folder) == NULL)
        return DSGD_EIO;
    fprintf(file.stream, "%s\n", text);
    return dsgd_whole_close(&file, error);
}

dsgd_status dsgd_results_open(const dsgd_results_config *config, dsgd_error *error)
{
    const char *const folder = config->folder;
    dsgd_status status = dsgd_make_folder(error, "%s", folder);
    if (status == DSGD_OK)
        status = dsgd_make_folder(error, "%s/.parts", folder);
    if (status == DSGD_OK)
        status = lock(folder, error);
    if (status != DSGD_OK)
        return status;
    json_t *const new = whole_manifest(config);
    char *const path = dsgd_xprintf("%s/manifest.json", folder);
    json_t *const old = json_load_file(path, 0, NULL);
    /* Read back what would be written, so that numbers are compared as they stand in a file. */
    char *const text = json_dumps(new, JSON_INDENT(1));
    json_t *const again = json_loads(text, 0, NULL);
    const char *const are = other(folder, old, again);
    if (are != NULL && !config->force)
        status = dsgd_fail(error, DSGD_EUSAGE,
                           "%s: the folder has %s; take another folder with -o, or --force to "
                           "replace them",
                           folder, are);
    for (size_t i = 0; status == DSGD_OK && are != NULL && i < config->experiment->n_runs; i++)
        dsgd_results_forget(folder, i);
    if (status == DSGD_OK)
        status = write_manifest(folder, text, error);
    json_decref(old);
    json_decref(again);
    json_decref(new);
    free(path);
    free(text);
    return status;
}
