/**
 * @file columns.c
 * The tables of columns, the rows that they show, and their meanings as a text.
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

/* --- all files ------------------------------------------------------------------------------- */

const dsgd_column dsgd_key_columns[] = {
    {.name = "run", .meaning = "its number in the list, from 1"},
    {.name = "algorithm", .cell = DSGD_CELL_TEXT, .meaning = "its label"},
    {.name = "workers", .meaning = "P"},
    {.name = "seed", .meaning = "of all random draws"},
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

/** A row of runs.csv: the result, and what is made of it. */
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

/* Columns of a row: numbers as of times or of learning, and texts. */
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
    TEXT(run_row, platform, "platform", "names; `inline` where values stand in place"),
    TEXT(run_row, workload, "workload", NULL),
    TEXT(run_row, status, "status",
         "`ok`; `diverged` (the timing still runs to its end); `failed` (a worker hangs or returns "
         "early, nothing moves for `--stall`, the process dies: printed); `timeout`"),
    TIMED(run_row, r.steps, "steps", NULL, "gradient steps of all workers / P"),
    TIMED(run_row, r.virtual_s, "virtual_s", "s", "simulated seconds"),
    TIMED(run_row, r.samples, "samples", NULL,
          "of the workload, and of the reduced model; without what DropCompute drops"),
    TIMED(run_row, learn_samples, "learn_samples", NULL, NULL),
    TIMED(
        run_row, throughput_samples_per_s, "throughput_samples_per_s", "samples/s",
        "samples of the workload per simulated second, without those that failures undo; of steps "
        "that `until: {seconds: T}` cuts short counts what has passed"),
    TIMED(run_row, r.step_mean_s, "step_mean_s", "s",
          "simulated seconds per step, mean over workers"),
    TIMED(run_row, r.shares.compute, "compute_share", "1",
          "of a worker's time, mean over workers; communication hidden by computation counts as "
          "computation"),
    TIMED(run_row, r.shares.wait, "wait_share", "1", NULL),
    TIMED(run_row, r.shares.communicate, "comm_share", "1", NULL),
    TIMED(run_row, r.staleness_mean, "staleness_mean", NULL,
          "age of the values of others that were used, in local steps that both the owner and the "
          "user have made since (sim/rules.md)"),
    TIMED(run_row, r.staleness_max, "staleness_max", NULL, NULL),
    TIMED(run_row, messages, "messages", NULL, "sent over the simulated network"),
    TIMED(run_row, r.bytes, "bytes", "B", NULL),
    LEARNED(run_row, last.loss, "final_loss", NULL, "of the algorithm's output, on the test set"),
    LEARNED(run_row, last.accuracy, "final_accuracy", NULL, NULL),
    LEARNED(run_row, last.consensus, "final_consensus", NULL,
            "root mean square distance of the workers' models to their mean: 0 where all agree"),
    LEARNED(run_row, r.local_loss, "local_loss", NULL,
            "of the workers' own models at the end, mean and worst, with `evaluate: {local: "
            "true}`"),
    LEARNED(run_row, r.local_accuracy, "local_accuracy", NULL, NULL),
    LEARNED(run_row, r.local_accuracy_min, "local_accuracy_min", NULL, NULL),
    TIMED(run_row, r.exposed_mean_s, "exposed_mean_s", "s",
          "seconds of a step after its computation or between its passes: what exchanges cost "
          "beyond it, waiting included"),
    TIMED(run_row, r.partial_active_mean, "active_mean", NULL,
          "workers that contributed to a partial collective in time"),
    TIMED(run_row, r.lag_mean, "lag_mean", NULL,
          "age of the same values in iterations: t, of the user or the version of a partial "
          "collective, less that in which the value was made; WAGMA's `period` bounds it"),
    TIMED(run_row, r.lag_max, "lag_max", NULL, NULL),
    TIMED(run_row, r.gradient_staleness_mean, "gradient_staleness_mean", NULL,
          "updates of the model since the gradient was taken until it is applied; with a server, "
          "others' pushes since the fetch"),
    TIMED(run_row, r.gradient_staleness_max, "gradient_staleness_max", NULL, NULL),
    TIMED(run_row, r.partial_skipped, "partial_skipped", NULL,
          "sums of partial collectives that workers missed because a later one had come, and that "
          "they used again because none had; all workers together"),
    TIMED(run_row, r.partial_duplicates, "partial_duplicates", NULL, NULL),
    TIMED(run_row, pieces, "pieces", NULL, "exchanges per vector, and the size of the largest"),
    TIMED(run_row, piece_bytes, "piece_bytes", "B", NULL),
    TEXT(run_row, collective, "collective",
         "by which the largest vector was summed, over all workers and in groups or partial "
         "collectives, or whose second half gathered encoded vectors; empty: none"),
    TEXT(run_row, partial_collective, "partial_collective", NULL),
    TEXT(run_row, mode, "exchange_mode",
         "`overlap` with the backward pass, or `late`; `blocking` or `at-once`; `barrier`, "
         "`fusion`"),
    TEXT(run_row, network, "network", "`flows` or `simgrid`"),
    TEXT(run_row, timed_by, "timed_by",
         "what gave its messages their times: `flows`, `simgrid`, `arithmetic`, or two of them "
         "with a `+`; `none`: it sent none; empty: not known"),
    TIMED(run_row, sent_mean_bytes, "sent_mean_bytes", "B",
          "sent by a worker (of its `gpus`, by one), mean and most; without what servers send"),
    TIMED(run_row, sent_max_bytes, "sent_max_bytes", "B", NULL),
    TIMED(
        run_row, energy_j, "energy_j", "J",
        "joules of the workers' GPUs, `busy_power` while they compute, else `idle_power`; without "
        "processors, servers, network, cooling"),
    TIMED(run_row, cost, "cost", NULL,
          "GPUs times hours times `price`, also of those that have failed, and what has left "
          "regions times theirs"),
    TEXT(run_row, currency, "currency", NULL),
    TIMED(run_row, samples_per_cost, "samples_per_cost", NULL,
          "samples of the workload that count, for one of the currency, such as tokens per dollar; "
          "what "
          "failures cost has been paid, too"),
    TIMED(run_row, failures, "failures", NULL, "that have come; empty, like these: none can"),
    TIMED(run_row, r.failures.goodput, "goodput", "1",
          "share of the workers' time in which they did what counts once: none of the following"),
    TIMED(run_row, r.failures.lost_s, "lost_s", "s",
          "work that a failure has undone; where all restart, steps done again"),
    TIMED(run_row, r.failures.detect_s, "detect_s", "s",
          "until failures were known, as far as work waited for that"),
    TIMED(run_row, r.failures.repair_s, "repair_s", "s", "until those who had failed were back"),
    TIMED(run_row, r.failures.restart_s, "restart_s", "s",
          "starting, and reading a checkpoint or copying a model"),
    TIMED(run_row, r.failures.checkpoint_s, "checkpoint_s", "s",
          "writing checkpoints, while all wait"),
    TIMED(
        run_row, r.failures.daly_s, "daly_s", "s",
        "work from one checkpoint to the next at which least is lost, by Daly: what `every: daly` "
        "means"),
    TIMED(run_row, r.failures.outlived, "outlived", NULL,
          "failures of peers (`swarm`) whose stage went on without them; and peers that moved to "
          "another stage; empty: all are there, and stay"),
    TIMED(run_row, r.failures.moves, "moves", NULL, NULL),
    TIMED(
        run_row, r.bubble_share, "bubble_share", "1",
        "of the computation of workers of several hosts (`inner`), that their pipelines wait; and "
        "what the hosts of one worker send each other, all workers together; empty: they are one"),
    TIMED(run_row, inner_bytes, "inner_bytes", "B", NULL),
    TEXT(run_row, why, "why", "it is not `ok`; empty: it is"),
    {"wall_s", "s", DSGD_COUNTS_TIMED, DSGD_CELL_HUNDREDTHS, offsetof(run_row, r.total_wall_s),
     "real seconds of the run"},
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
    /* Nothing is final in a run that has failed; of a process that died nothing is counted. */
    const bool failed = r->outcome == DSGD_RUN_FAILED || r->outcome == DSGD_RUN_TIMEOUT;
    const bool is_counted = r->n_pieces > 0;
    const dsgd_run_config *const config = &run->config;
    const dsgd_exchange_config *const exchange = &config->exchange;
    dsgd_price price = {NAN, ""};
    const bool has_price = dsgd_platform_price(config->platform, &price) && is_counted;
    const int gpus = dsgd_workload_gpus(config->workload);
    const double of_gpus = price.per_hour * (r->virtual_s / 3600) * config->workers * gpus;
    /* Of the GPUs of a host one sends for all. */
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
    TIMED(dsgd_point, virtual_s, "virtual_s", "s", "simulated seconds since the begin"),
    TIMED(dsgd_point, steps, "steps", NULL, "gradient steps of all workers / P since then"),
    LEARNED(dsgd_point, at.loss, "loss", NULL, "of the algorithm's output, on the test set"),
    LEARNED(dsgd_point, at.accuracy, "accuracy", NULL, NULL),
    LEARNED(dsgd_point, at.consensus, "consensus", NULL,
            "root mean square distance of the workers' models to their mean"),
    {.name = NULL},
};

static const dsgd_results_file curves_file = {"curves", "per evaluation", curve_columns};

typedef struct worker_row {
    double worker, steps;
    dsgd_time_shares shares;
} worker_row;

static const dsgd_column worker_columns[] = {
    TIMED(worker_row, worker, "worker", NULL, "from 0"),
    TIMED(worker_row, shares.compute, "compute_share", "1",
          "of its time; gradients that were cancelled are in `wait_share`"),
    TIMED(worker_row, shares.wait, "wait_share", "1", NULL),
    TIMED(worker_row, shares.communicate, "comm_share", "1", NULL),
    TIMED(worker_row, steps, "steps", NULL, "gradient steps"),
    {.name = NULL},
};

static const dsgd_results_file workers_file = {"workers", "per worker", worker_columns};

typedef struct age_row {
    const char *measure;
    double age, share;
} age_row;

static const dsgd_column age_columns[] = {
    TEXT(age_row, measure, "measure", "`staleness` or `gradient_staleness`, as in `runs.csv`"),
    TIMED(age_row, age, "age", NULL, "in the units of the measure"),
    TIMED(age_row, share, "share", "1",
          "of the uses with that age (a sum of gradients counts with its mean age, rounded down)"),
    {.name = NULL},
};

static const dsgd_results_file staleness_file = {
    "staleness", "per age that values had when they were used, and gradients when applied",
    age_columns};

static const dsgd_column step_columns[] = {
    TIMED(dsgd_step_bin, step_s, "step_s", "s",
          "from a worker's begin of a step to its begin of the next: mean of a bin of 1/64 of a "
          "power of two"),
    TIMED(dsgd_step_bin, share, "share", "1", "of all steps"),
    {.name = NULL},
};

static const dsgd_results_file steps_file = {"steps", "per bin of step times", step_columns};

static const dsgd_column failure_columns[] = {
    TIMED(struct dsgd_failed, worker, "worker", NULL, "that has failed; of several the first"),
    TIMED(struct dsgd_failed, at_s, "time_s", "s", "simulated seconds"),
    {.name = NULL},
};

static const dsgd_results_file failures_file = {"failures", "per failure, at most 10,000 of a run",
                                                failure_columns};

/* --- the list --------------------------------------------------------------------------------- */

const dsgd_results_file *const dsgd_results_files[] = {
    &runs_file, &curves_file, &workers_file, &staleness_file, &steps_file, &failures_file, NULL};

void dsgd_run_rows(FILE *stream, size_t k, const dsgd_run_key *key, const dsgd_planned_run *run,
                   const dsgd_run_result *r)
{
    const dsgd_results_file *const file = dsgd_results_files[k];
    if (file == &runs_file)
        print_run(stream, key, run, r);
    /* Up to the first point after a divergence. */
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

/** The columns that share a meaning, from @p c on; the next one. */
static const dsgd_column *end_of(const dsgd_column *c)
{
    do
        c++;
    while (c->name != NULL && c->meaning == NULL);
    return c;
}

/** Names between @p quote, and " (unit)" behind each that has a unit, but for shares. */
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
                       "A folder of results has these files. An empty cell: not known or not "
                       "measured. Columns of swept values follow in every file.");
    puts("\nevery file begins with");
    print_columns(dsgd_key_columns);
    for (const dsgd_results_file *const *f = dsgd_results_files; *f != NULL; f++) {
        printf("\n%s.csv, a row %s\n", (*f)->name, (*f)->rows);
        print_columns((*f)->columns);
    }
}

static void print_markdown(void)
{
    for (size_t k = 0; dsgd_results_files[k] != NULL; k++) {
        printf("%s| `%s.csv`, a row %s | meaning |\n|---|---|\n", k == 0 ? "" : "\n",
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
