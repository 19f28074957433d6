/**
 * @file columns.c
 * Defines the columns of all results files. Writes rows and prints the meanings of columns.
 */
#include "command/runs/columns.h"

#include <jansson.h>

#include "base/csv.h"
#include "command/console/table.h"
#include "command/experiment/experiment.h"
#include "models/values/values.h"
#include "sim/network/cluster.h"
#include "traces/platform.h"
#include "traces/workload.h"

/* --- common columns -------------------------------------------------------------------------- */

const dsgd_column dsgd_key_columns[] = {
    {.name = "run", .meaning = "number of the run in the list, from 1"},
    {.name = "algorithm", .cell = DSGD_CELL_TEXT, .meaning = "label of the algorithm"},
    {.name = "workers", .meaning = "number of workers P"},
    {.name = "seed", .meaning = "seed of all random numbers"},
    {.name = NULL},
};

const char *dsgd_swept_cells(const char *const *texts, size_t n)
{
    char *cells = NULL;
    size_t n_bytes = 0;
    FILE *const stream = dsgd_text_open(&cells, &n_bytes);
    for (size_t k = 0; k < n; k++) {
        fputc(',', stream);
        dsgd_csv_text(stream, texts[k] == NULL ? "" : texts[k]);
    }
    dsgd_text_close(stream, &cells);
    return cells;
}

void dsgd_results_header(FILE *stream, const dsgd_results_file *file, const char *swept)
{
    for (const dsgd_column *c = dsgd_key_columns; c->name != NULL; c++)
        fprintf(stream, "%s%s", c == dsgd_key_columns ? "" : ",", c->name);
    for (const dsgd_column *c = file->columns; c->name != NULL; c++)
        fprintf(stream, ",%s", c->name);
    fprintf(stream, "%s\n", swept);
}

static void print_row(FILE *stream, const dsgd_results_file *file, const dsgd_run_key *key,
                      const void *row)
{
    fprintf(stream, "%zu,%s,%d,%llu", key->run, key->label, key->workers,
            (unsigned long long)key->seed);
    for (const dsgd_column *c = file->columns; c->name != NULL; c++) {
        const void *const cell = (const char *)row + c->offset;
        fputc(',', stream);
        if (c->cell == DSGD_CELL_TEXT)
            dsgd_csv_text(stream, *(const char *const *)cell);
        else if (c->cell == DSGD_CELL_HUNDREDTHS)
            fprintf(stream, "%.2f", *(const double *)cell);
        else
            dsgd_csv_number(stream, *(const double *)cell);
    }
    fprintf(stream, "%s\n", key->swept);
}

/* --- runs.csv --------------------------------------------------------------------------------- */

/** A row of runs.csv: the result of a run, and further values that are computed from the result. */
typedef struct run_row {
    dsgd_run_result r;
    const char *platform, *workload, *status;
    double learn_samples, throughput_samples_per_s, messages, failures, inner_bytes;
    dsgd_evaluation last;
    double pieces, piece_bytes;
    const char *collective, *partial_collective, *mode, *network, *timed_by;
    double sent_mean_bytes, sent_max_bytes, energy_j, cost, samples_per_cost;
    const char *currency, *why;
} run_row;

/*
 * Macros that define columns of a row: numbers that count as times, numbers that count as results
 * of training, and texts.
 */
#define COLUMN(row, member, name, unit, counts, cell, meaning)                                     \
    {                                                                                              \
        name, unit, DSGD_COUNTS_##counts, DSGD_CELL_##cell, offsetof(row, member), meaning         \
    }
#define TIMED(row, member, name, unit, meaning)                                                    \
    COLUMN(row, member, name, unit, TIMED, NUMBER, meaning)
#define LEARNED(row, member, name, unit, meaning)                                                  \
    COLUMN(row, member, name, unit, LEARNED, NUMBER, meaning)
#define TEXT(row, member, name, meaning) COLUMN(row, member, name, NULL, TIMED, TEXT, meaning)

static const dsgd_column run_columns[] = {
    TEXT(run_row, platform, "platform",
         "names of platform and workload; `inline` if the experiment contains the values"),
    TEXT(run_row, workload, "workload", NULL),
    TEXT(run_row, status, "status",
         "outcome: `ok`; `diverged` (the timing is still complete); `failed` (a worker hangs or "
         "returns early, nothing moves for `--stall`, or the process dies; the reason is printed); "
         "`timeout`"),
    TIMED(run_row, r.steps, "steps", NULL, "number of gradient steps of all workers, divided by P"),
    TIMED(run_row, r.virtual_s, "virtual_s", "s", "virtual time: simulated seconds"),
    TIMED(run_row, r.samples, "samples", NULL,
          "number of samples of the workload, and of the reduced model; without samples that "
          "DropCompute drops"),
    TIMED(run_row, learn_samples, "learn_samples", NULL, NULL),
    TIMED(run_row, throughput_samples_per_s, "throughput_samples_per_s", "samples/s",
          "throughput: samples of the workload per simulated second, without samples that failures "
          "undo. A step that `until: {seconds: T}` cuts short counts in part"),
    TIMED(run_row, r.step_mean_s, "step_mean_s", "s",
          "step time: simulated seconds per step, mean over workers"),
    TIMED(run_row, r.shares.compute, "compute_share", "1",
          "shares of a worker's time that it computes, waits and communicates, mean over workers; "
          "communication that overlaps with computation counts as computation"),
    TIMED(run_row, r.shares.wait, "wait_share", "1", NULL),
    TIMED(run_row, r.shares.communicate, "comm_share", "1", NULL),
    TIMED(
        run_row, r.staleness_mean, "staleness_mean", NULL,
        "staleness, mean and maximum: age of the values of other workers that were used, in local "
        "steps that both the owner and the user have made since (sim/rules.md)"),
    TIMED(run_row, r.staleness_max, "staleness_max", NULL, NULL),
    TIMED(run_row, messages, "messages", NULL,
          "number of messages and of bytes sent over the simulated network"),
    TIMED(run_row, r.bytes, "bytes", "B", NULL),
    LEARNED(run_row, last.loss, "final_loss", NULL,
            "loss and accuracy of the algorithm's output at the end, on the test set"),
    LEARNED(run_row, last.accuracy, "final_accuracy", NULL, NULL),
    LEARNED(run_row, last.consensus, "final_consensus", NULL,
            "consensus distance: root mean square distance of the workers' models to their mean; 0 "
            "if all are equal"),
    LEARNED(run_row, r.local_loss, "local_loss", NULL,
            "loss and accuracy of the workers' own models at the end, mean and worst, with "
            "`evaluate: {local: true}`"),
    LEARNED(run_row, r.local_accuracy, "local_accuracy", NULL, NULL),
    LEARNED(run_row, r.local_accuracy_min, "local_accuracy_min", NULL, NULL),
    TIMED(run_row, r.exposed_mean_s, "exposed_mean_s", "s",
          "exposed communication: seconds of a step after its computation or between its passes, "
          "waiting included"),
    TIMED(run_row, r.partial_active_mean, "active_mean", NULL,
          "number of workers that contributed to a partial collective in time, mean"),
    TIMED(
        run_row, r.lag_mean, "lag_mean", NULL,
        "lag, mean and maximum: age of the same values in iterations, that is the iteration of the "
        "user, or the version of a partial collective, minus the iteration in which the value was "
        "made; "
        "WAGMA's `period` bounds it"),
    TIMED(run_row, r.lag_max, "lag_max", NULL, NULL),
    TIMED(run_row, r.gradient_staleness_mean, "gradient_staleness_mean", NULL,
          "gradient staleness, mean and maximum: updates of the model between computing a gradient "
          "and applying it; with a server, pushes of other workers since the fetch"),
    TIMED(run_row, r.gradient_staleness_max, "gradient_staleness_max", NULL, NULL),
    TIMED(run_row, r.partial_skipped, "partial_skipped", NULL,
          "sums of partial collectives that workers missed because a later one had arrived, and "
          "sums that they used again because no later one had; all workers together"),
    TIMED(run_row, r.partial_duplicates, "partial_duplicates", NULL, NULL),
    TIMED(run_row, pieces, "pieces", NULL,
          "number of chunks per vector, and size of the largest chunk"),
    TIMED(run_row, piece_bytes, "piece_bytes", "B", NULL),
    TEXT(run_row, collective, "collective",
         "collectives that summed the largest vector, over all workers and in groups or partial "
         "collectives, or whose second half gathered compressed vectors; empty if there was none"),
    TEXT(run_row, partial_collective, "partial_collective", NULL),
    TEXT(run_row, mode, "exchange_mode",
         "mode of exchanges: `overlap` with the backward pass, or `late`; `blocking` or `at-once`; "
         "`barrier`, `fusion`"),
    TEXT(run_row, network, "network", "network model: `flows` or `simgrid`"),
    TEXT(run_row, timed_by, "timed_by",
         "source of the times of messages: `flows`, `simgrid`, `arithmetic` (closed forms), or two "
         "of "
         "them with a `+`; `none` if no message was sent; empty if unknown"),
    TIMED(run_row, sent_mean_bytes, "sent_mean_bytes", "B",
          "bytes that a worker sends (one of its `gpus`), mean and maximum; without bytes that "
          "servers send"),
    TIMED(run_row, sent_max_bytes, "sent_max_bytes", "B", NULL),
    TIMED(run_row, energy_j, "energy_j", "J",
          "energy of the workers' GPUs, with `busy_power` while they compute, else `idle_power`; "
          "without processors, servers, network and cooling"),
    TIMED(run_row, cost, "cost", NULL,
          "cost: GPUs times hours times `price`, failed GPUs included, plus the price of the data "
          "that left a region; and its currency"),
    TEXT(run_row, currency, "currency", NULL),
    TIMED(
        run_row, samples_per_cost, "samples_per_cost", NULL,
        "samples of the workload that count, per unit of the currency, such as tokens per dollar; "
        "the cost of failures is included"),
    TIMED(run_row, failures, "failures", NULL,
          "number of failures; this and the next columns are empty if no worker can fail"),
    TIMED(run_row, r.failures.goodput, "goodput", "1",
          "goodput: share of the workers' time that was useful, that is none of the following"),
    TIMED(run_row, r.failures.lost_s, "lost_s", "s",
          "lost work: work that failures undid, which is repeated if all workers restart"),
    TIMED(run_row, r.failures.detect_s, "detect_s", "s",
          "detection: time in which work waited until failures were detected"),
    TIMED(run_row, r.failures.repair_s, "repair_s", "s",
          "repair: time until failed workers were available again"),
    TIMED(run_row, r.failures.restart_s, "restart_s", "s",
          "restart: time to start, and to read a checkpoint or copy a model"),
    TIMED(run_row, r.failures.checkpoint_s, "checkpoint_s", "s",
          "checkpoints: time to write them while all workers wait"),
    TIMED(run_row, r.failures.daly_s, "daly_s", "s",
          "optimal checkpoint interval: work between two checkpoints at which least time is lost, "
          "by Daly "
          "(`every: daly`)"),
    TIMED(run_row, r.failures.outlived, "outlived", NULL,
          "number of failed peers (`swarm`) whose stage continued without them, and of peers that "
          "moved to another stage; empty if no peer can fail or move"),
    TIMED(run_row, r.failures.moves, "moves", NULL, NULL),
    TIMED(run_row, r.bubble_share, "bubble_share", "1",
          "pipeline bubbles: share of the computation of workers with several hosts (`inner`) in "
          "which "
          "their pipelines wait; and bytes that the hosts of a worker send each other, all workers "
          "together; empty if a worker is one host"),
    TIMED(run_row, inner_bytes, "inner_bytes", "B", NULL),
    TEXT(run_row, why, "why", "reason why `status` is not `ok`; empty if it is"),
    {"wall_s", "s", DSGD_COUNTS_TIMED, DSGD_CELL_HUNDREDTHS, offsetof(run_row, r.total_wall_s),
     "wall time: real seconds that the simulation of the run took"},
    {.name = NULL},
};

static const dsgd_results_file runs_file = {"runs", "per run", run_columns};

static const char *collective_name(int collective)
{
    return collective == DSGD_COLLECTIVE_AUTO ? "" : dsgd_collective_names[collective];
}

static void print_run(FILE *stream, const dsgd_run_key *key, const dsgd_planned_run *run,
                      const dsgd_run_result *r)
{
    static const char *const outcomes[] = {"ok", "diverged", "timeout", "failed"};
    /*
     * A failed run has no final values. If the process of the run died, the run has no counts
     * either.
     */
    const bool failed = r->outcome == DSGD_RUN_FAILED || r->outcome == DSGD_RUN_TIMEOUT;
    const bool is_counted = r->n_pieces > 0;
    const dsgd_run_config *const config = &run->config;
    const dsgd_exchange_config *const exchange = &config->exchange;
    dsgd_price price = {NAN, ""};
    const bool has_price = dsgd_platform_price(config->platform, &price) && is_counted;
    const int gpus = dsgd_workload_gpus(config->workload);
    const double of_gpus = price.per_hour * (r->virtual_s / 3600) * config->workers * gpus;
    /*
     * Multiply by the number of GPUs per host, because only one GPU of each host sends in the
     * simulation.
     */
    const int each = gpus / dsgd_workload_hosts(config->workload);
    const double cost = has_price ? of_gpus + each * r->transfer_cost : NAN;
    char *const mode = dsgd_xprintf("%s%s%s%s", exchange->overlap ? "overlap" : "late",
                                    exchange->blocking ? " blocking" : " at-once",
                                    exchange->barrier ? " barrier" : "",
                                    exchange->fusion_bytes > 0 ? " fusion" : "");
    run_row row = {.r = *r,
                   .platform = run->platform_name,
                   .workload = run->workload_name,
                   .status = outcomes[r->outcome],
                   .learn_samples = r->n_points == 0 ? NAN : r->learn_samples,
                   .throughput_samples_per_s = r->samples_per_s,
                   .messages = is_counted ? (double)r->messages : NAN,
                   .last = {NAN, NAN, NAN},
                   .failures = isnan(r->failures.goodput) ? NAN : (double)r->failures.n,
                   .inner_bytes = is_counted && r->n_stages > 0 ? r->inner_bytes : NAN,
                   .pieces = is_counted ? (double)r->n_pieces : NAN,
                   .piece_bytes = is_counted ? r->piece_bytes : NAN,
                   .collective = collective_name(r->collective),
                   .partial_collective = collective_name(r->partial_collective),
                   .mode = mode,
                   .network = dsgd_network_names[config->network],
                   .timed_by = is_counted ? dsgd_timed_by_name(r->timed_by) : "",
                   .sent_mean_bytes = is_counted ? r->sent_mean_bytes : NAN,
                   .sent_max_bytes = is_counted ? r->sent_max_bytes : NAN,
                   .energy_j =
                       is_counted ? dsgd_platform_energy_j(config->platform, config->workers * gpus,
                                                           r->virtual_s, r->shares.compute)
                                  : NAN,
                   .cost = cost,
                   .currency = has_price ? price.currency : "",
                   .samples_per_cost = cost > 0 ? r->samples / cost : NAN,
                   .why = r->outcome == DSGD_RUN_OK ? "" : r->why.text};
    if (r->n_points > 0 && !failed)
        row.last = r->points[r->n_points - 1].at;
    if (failed)
        row.r.local_loss = row.r.local_accuracy = row.r.local_accuracy_min = NAN;
    if (isnan(r->partial_active_mean))
        row.r.partial_skipped = row.r.partial_duplicates = NAN;
    print_row(stream, &runs_file, key, &row);
}

/* --- the other files -------------------------------------------------------------------------- */

static const dsgd_column curve_columns[] = {
    TIMED(dsgd_point, virtual_s, "virtual_s", "s",
          "virtual time: simulated seconds since the start of the run"),
    TIMED(dsgd_point, steps, "steps", NULL,
          "number of gradient steps of all workers since then, divided by P"),
    LEARNED(dsgd_point, at.loss, "loss", NULL,
            "loss and accuracy of the algorithm's output, on the test set"),
    LEARNED(dsgd_point, at.accuracy, "accuracy", NULL, NULL),
    LEARNED(dsgd_point, at.consensus, "consensus", NULL,
            "consensus distance: root mean square distance of the workers' models to their mean"),
    {.name = NULL},
};

static const dsgd_results_file curves_file = {"curves", "per evaluation", curve_columns};

typedef struct worker_row {
    double worker, steps;
    dsgd_time_shares shares;
} worker_row;

static const dsgd_column worker_columns[] = {
    TIMED(worker_row, worker, "worker", NULL, "rank of the worker, from 0"),
    TIMED(worker_row, shares.compute, "compute_share", "1",
          "shares of its time that the worker computes, waits and communicates; cancelled "
          "gradients count as waiting"),
    TIMED(worker_row, shares.wait, "wait_share", "1", NULL),
    TIMED(worker_row, shares.communicate, "comm_share", "1", NULL),
    TIMED(worker_row, steps, "steps", NULL, "number of gradient steps"),
    {.name = NULL},
};

static const dsgd_results_file workers_file = {"workers", "per worker", worker_columns};

typedef struct age_row {
    const char *measure;
    double age, share;
} age_row;

static const dsgd_column age_columns[] = {
    TEXT(age_row, measure, "measure", "`staleness` or `gradient_staleness`, as in `runs.csv`"),
    TIMED(age_row, age, "age", NULL, "age, in the unit of the measure"),
    TIMED(age_row, share, "share", "1",
          "share of the uses with this age (a sum of gradients counts with its mean age, rounded "
          "down)"),
    {.name = NULL},
};

static const dsgd_results_file staleness_file = {
    "staleness", "per age of values when they were used, and of gradients when they were applied",
    age_columns};

static const dsgd_column step_columns[] = {
    TIMED(dsgd_step_bin, step_s, "step_s", "s",
          "step time, from the start of a worker's step to the start of its next step: mean of a "
          "bin of 1/64 of a "
          "power of two"),
    TIMED(dsgd_step_bin, share, "share", "1", "share of all steps in this bin"),
    {.name = NULL},
};

static const dsgd_results_file steps_file = {"steps", "per bin of step times", step_columns};

static const dsgd_column failure_columns[] = {
    TIMED(struct dsgd_failed, worker, "worker", NULL,
          "rank of the worker that failed; the first if several fail at once"),
    TIMED(struct dsgd_failed, at_s, "time_s", "s", "virtual time of the failure"),
    {.name = NULL},
};

static const dsgd_results_file failures_file = {"failures", "per failure, at most 10,000 of a run",
                                                failure_columns};

/* --- the list of files ------------------------------------------------------------------------ */

const dsgd_results_file *const dsgd_results_files[] = {
    &runs_file, &curves_file, &workers_file, &staleness_file, &steps_file, &failures_file, NULL};

void dsgd_run_rows(FILE *stream, size_t k, const dsgd_run_key *key, const dsgd_planned_run *run,
                   const dsgd_run_result *r)
{
    const dsgd_results_file *const file = dsgd_results_files[k];
    if (file == &runs_file)
        print_run(stream, key, run, r);
    /* A curve ends at the first point after a divergence. The loss of this point is NAN. */
    for (size_t i = 0; file == &curves_file && i < r->n_points && !isnan(r->points[i].at.loss); i++)
        print_row(stream, file, key, &r->points[i]);
    for (int w = 0; file == &workers_file && w < key->workers && r->worker_shares != NULL; w++) {
        const worker_row row = {w, r->worker_steps[w], r->worker_shares[w]};
        print_row(stream, file, key, &row);
    }
    const dsgd_ages *const ages[] = {&r->ages, &r->gradient_ages};
    for (size_t m = 0; file == &staleness_file && m < 2; m++)
        for (size_t age = 0; age < ages[m]->n; age++) {
            const age_row row = {m == 0 ? "staleness" : "gradient_staleness", (double)age,
                                 ages[m]->share[age]};
            if (row.share != 0)
                print_row(stream, file, key, &row);
        }
    const int64_t n_failures =
        isnan(r->failures.goodput) ? 0 : (int64_t)fmin((double)r->failures.n, DSGD_MOST_LISTED);
    for (int64_t i = 0; file == &failures_file && i < n_failures; i++)
        print_row(stream, file, key, &r->failures.listed[i]);
    for (size_t i = 0; file == &steps_file && i < r->step_times.n; i++)
        print_row(stream, file, key, &r->step_times.bin[i]);
}

const dsgd_column *dsgd_column_find(const char *name, size_t *place)
{
    const dsgd_column *const lists[] = {dsgd_key_columns, run_columns};
    *place = 0;
    for (size_t k = 0; k < 2; k++)
        for (const dsgd_column *c = lists[k]; c->name != NULL; c++, (*place)++)
            if (strcmp(c->name, name) == 0)
                return c;
    return NULL;
}

bool dsgd_status_has_results(const char *status)
{
    return strcmp(status, "ok") == 0 || strcmp(status, "diverged") == 0;
}

bool dsgd_column_counts(const dsgd_column *column, const char *status)
{
    if (column != NULL && column->counts == DSGD_COUNTS_LEARNED)
        return strcmp(status, "ok") == 0;
    return dsgd_status_has_results(status);
}

/* --- dsgd describe results -------------------------------------------------------------------- */

/** Returns the next column that has its own meaning, or the end of the columns. */
static const dsgd_column *end_of(const dsgd_column *c)
{
    do
        c++;
    while (c->name != NULL && c->meaning == NULL);
    return c;
}

/**
 * Returns the names of the columns that share a meaning. Each name is between two @p quote texts.
 * The unit follows as " (unit)", unless the column is a share.
 */
static const char *names_of(const dsgd_column *c, const char *quote)
{
    char *text = dsgd_xstrdup("");
    for (const dsgd_column *end = end_of(c), *at = c; at < end; at++) {
        dsgd_append(&text, "%s%s%s%s", at == c ? "" : ", ", quote, at->name, quote);
        if (at->unit != NULL && strcmp(at->unit, "1") != 0)
            dsgd_append(&text, " (%s)", at->unit);
    }
    return text;
}

static void print_columns(const dsgd_column *columns)
{
    enum { INDENT = 8 };
    for (const dsgd_column *c = columns; c->name != NULL; c = end_of(c)) {
        dsgd_print_wrapped(stdout, "    ", 4, DSGD_TEXT_WIDTH, names_of(c, ""));
        dsgd_print_wrapped(stdout, "", INDENT, DSGD_TEXT_WIDTH, c->meaning);
    }
}

static void print_text(void)
{
    dsgd_print_wrapped(stdout, "", 0, DSGD_TEXT_WIDTH,
                       "A results folder contains these files. An empty cell means that the value "
                       "is unknown or was "
                       "not measured. Columns of swept values follow in every file.");
    puts("\nfirst columns of every file");
    print_columns(dsgd_key_columns);
    for (const dsgd_results_file *const *f = dsgd_results_files; *f != NULL; f++) {
        printf("\n%s.csv, one row %s\n", (*f)->name, (*f)->rows);
        print_columns((*f)->columns);
    }
}

static void print_markdown(void)
{
    for (size_t k = 0; dsgd_results_files[k] != NULL; k++) {
        printf("%s| `%s.csv`, one row %s | meaning |\n|---|---|\n", k == 0 ? "" : "\n",
               dsgd_results_files[k]->name, dsgd_results_files[k]->rows);
        for (const dsgd_column *c = dsgd_results_files[k]->columns; c->name != NULL; c = end_of(c))
            printf("| %s | %s |\n", names_of(c, "`"), c->meaning);
    }
}

static json_t *columns_json(const dsgd_column *columns)
{
    json_t *const json = json_object();
    const char *meaning = NULL;
    for (const dsgd_column *c = columns; c->name != NULL; c++) {
        json_t *const counts = json_pack("[s]", "ok");
        if (c->counts == DSGD_COUNTS_TIMED)
            json_array_append_new(counts, json_string("diverged"));
        meaning = c->meaning == NULL ? meaning : c->meaning;
        json_object_set_new(json, c->name,
                            json_pack("{s:s, s:s?, s:o, s:s}", "type",
                                      c->cell == DSGD_CELL_TEXT ? "text" : "number", "unit",
                                      c->unit, "counts", counts, "meaning", meaning));
    }
    return json;
}

static void print_json(void)
{
    json_t *const files = json_object();
    for (const dsgd_results_file *const *f = dsgd_results_files; *f != NULL; f++) {
        json_t *const columns = columns_json(dsgd_key_columns);
        json_object_update_new(columns, columns_json((*f)->columns));
        json_object_set_new(files, (*f)->name,
                            json_pack("{s:s, s:o}", "row", (*f)->rows, "columns", columns));
    }
    json_dumpf(files, stdout, JSON_INDENT(1));
    putchar('\n');
}

void dsgd_schema_print(dsgd_schema_form form)
{
    if (form == DSGD_SCHEMA_JSON)
        print_json();
    else if (form == DSGD_SCHEMA_MARKDOWN)
        print_markdown();
    else
        print_text();
}
