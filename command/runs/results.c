/**
 * @file results.c
 * Rows and the manifest.
 */
#include "command/runs/results.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/csv.h"
#include "base/file.h"
#include "command/runs/curve.h"
#include "command/runs/histograms.h"
#include "command/runs/manifest.h"
#include "command/runs/parts.h"
#include "command/runs/swept.h"
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

char *dsgd_swept_cells(const dsgd_experiment *experiment, const char *const *texts)
{
    char *cells = NULL;
    size_t n_bytes = 0;
    FILE *const stream = dsgd_text_open(&cells, &n_bytes);
    for (size_t k = 0; k < experiment->n_columns; k++) {
        fputc(',', stream);
        dsgd_csv_text(stream, texts[k] == NULL ? "" : texts[k]);
    }
    dsgd_text_close(stream, &cells);
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
    char *const swept = dsgd_swept_cells(experiment, run->swept);
    const dsgd_run_key key = {i + 1, run->label, run->config.workers, run->config.seed, swept};
    char *text = NULL;
    size_t n = 0;
    size_t ends[DSGD_PART_SECTIONS];
    FILE *const stream = dsgd_text_open(&text, &n);
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
        dsgd_text_flush(stream);
        ends[k] = n;
    }
    dsgd_text_close(stream, &text);
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
    char *const swept = dsgd_swept_cells(experiment, experiment->columns);
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

/* --- the folder ------------------------------------------------------------------------------- */

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
        dsgd_results_forget(folder, i);
    return dsgd_manifest_write(folder, manifest, error);
}

dsgd_status dsgd_results_open(const dsgd_results_config *config, dsgd_error *error)
{
    json_t *manifest = NULL;
    dsgd_status status = dsgd_manifest_new(config, &manifest, error);
    if (status == DSGD_OK)
        status = dsgd_results_take(config->folder, manifest, config->experiment->n_runs,
                                   config->force, error);
    json_decref(manifest);
    return status;
}

char *dsgd_results_folder(const char *folder, const dsgd_experiment *experiment,
                          bool is_sensitivity)
{
    return folder != NULL ? dsgd_xstrdup(folder)
                          : dsgd_xprintf("results/%s%s", experiment->name,
                                         is_sensitivity ? "-sensitivity" : "");
}
