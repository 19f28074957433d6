/**
 * @file exchanges.c
 * Describes the exchanges of runs in tables and notes.
 */
#include "command/runs/exchanges.h"

#include "command/experiment/config.h"
#include "command/runs/swept.h"
#include "sim/run.h"

/* --- the table -------------------------------------------------------------------------------- */

static const char none[] = "-";

static const struct {
    const char *head, *column; /* heading in the table on stdout, and column of runs.csv */
    const char *ordinary; /* value of the column that is not printed if all runs have it */
    bool is_collective;
} ways[] = {{"exchange", "piece_bytes", "", false},
            {"collective", "collective", "", true},
            {"partial", "partial_collective", "", true},
            {"network", "network", "flows", false}};

enum { N_WAYS = sizeof ways / sizeof ways[0], COLLECTIVE = 1, PARTIAL = 2 };

static const char *size_text(double bytes)
{
    if (bytes >= 1e6)
        return dsgd_xprintf("%.4gMB", bytes / 1e6);
    return bytes >= 1e3 ? dsgd_xprintf("%.4gkB", bytes / 1e3) : dsgd_xprintf("%.4gB", bytes);
}

void dsgd_exchanges_put(dsgd_columns *t, const dsgd_results *results, size_t i)
{
    const double bytes = dsgd_results_value(results, i, "piece_bytes");
    const char *const mode = dsgd_results_field(results, i, "exchange_mode");
    const bool fused = mode != NULL && strstr(mode, "fusion") != NULL;
    for (size_t k = 0; k < N_WAYS; k++) {
        const char *how = dsgd_results_field(results, i, ways[k].column);
        if (k == 0 && !isnan(bytes))
            how = dsgd_xprintf("%sx%s", dsgd_results_field(results, i, "pieces"), size_text(bytes));
        const bool says = how != NULL && *how != '\0';
        dsgd_columns_put(t, ways[k].head, "%s%s",
                         says && fused && ways[k].is_collective ? "fused " : "", says ? how : none);
    }
}

char *dsgd_exchanges_fold(dsgd_columns *t)
{
    char *line = dsgd_xstrdup("");
    for (size_t k = 0; k < N_WAYS; k++) {
        const char *text = NULL;
        if (dsgd_columns_fold(t, ways[k].head, none, &text) && strcmp(text, none) != 0 &&
            strcmp(text, ways[k].ordinary) != 0)
            dsgd_append(&line, "%s%s%s %s", *line == '\0' ? "" : ", ", ways[k].head,
                        *line == '\0' ? ":" : "", text);
    }
    return line;
}

/* --- warnings --------------------------------------------------------------------------------- */

static void warn(FILE *stream, const char *sentence)
{
    dsgd_print_wrapped(stream, "note:", 6, DSGD_TEXT_WIDTH, sentence);
}

/**
 * Returns true if a sweep or a list of the experiment changes the cost of a byte or the number of
 * bytes.
 */
static bool varies_network(const dsgd_experiment *experiment)
{
    static const char *const keys[] = {
        "host_bandwidth_bytes_per_s", "bandwidth", "bytes", "reduction", "staging", "name", NULL};
    static const char *const whole[] = {"swept.platform", "swept.workload", NULL};
    for (size_t k = 0; k < experiment->n_columns; k++) {
        const char *const column = experiment->columns[k];
        const bool of_machine =
            strncmp(column, "platform", 8) == 0 || strncmp(column, "workload", 8) == 0;
        if (dsgd_find_word(whole, column) >= 0 ||
            (of_machine && dsgd_find_word(keys, dsgd_last_key(column)) >= 0))
            return true;
    }
    for (size_t i = 1; i < experiment->n_unchanged; i++)
        if (strcmp(experiment->runs[i].platform_name, experiment->runs[0].platform_name) != 0)
            return true;
    return false;
}

void dsgd_exchanges_warn_of_default(FILE *stream, const dsgd_experiment *experiment)
{
    bool is_left_out = false, counts_twice = false;
    for (size_t i = 0; i < experiment->n_runs; i++) {
        const dsgd_planned_run *const run = &experiment->runs[i];
        is_left_out = is_left_out || !run->has_own_exchange;
        counts_twice = counts_twice || dsgd_workload_counts_twice(&run->workload);
    }
    if (counts_twice)
        warn(
            stream,
            "transformer.utilisation is left at 41 %. This is the value of whole jobs: it contains "
            "their bubbles and collectives, and `inner` adds these once more. Give the value of "
            "kernels only");
    if (!is_left_out || !varies_network(experiment) ||
        dsgd_yaml_find(dsgd_config_root(experiment->config), "exchange") != NULL)
        return;
    warn(
        stream,
        dsgd_xprintf(
            "exchange is left out: vectors are sent in buckets of %d MiB during the backward pass. "
            "The cost of a network depends on this: with exchange: {pieces: 1} workers wait for "
            "the "
            "whole exchange, with {pieces: tensors} they wait least",
            DSGD_DEFAULT_BUCKET_BYTES >> 20));
}

/*
 * CPU time to simulate one chunk of one worker's exchange, in seconds. It was measured with 256
 * workers of llm-dp-bytedance on dgx-h100, in 268 chunks. The results were 0.4 us (local SGD), 0.8
 * us (allreduce) and 2.2 us (WAGMA). If SimGrid computes message times, the CPU time is longer.
 */
static const double piece_s = 1e-6;

void dsgd_exchanges_warn_of_time(FILE *stream, const dsgd_experiment *experiment)
{
    enum { FEW_PIECES = 16 };
    double seconds = 0, error = 0;
    size_t most = 0;
    for (size_t i = 0; i < experiment->n_runs; i++) {
        const dsgd_run_config *const config = &experiment->runs[i].config;
        const bool is_auto = config->exchange.pieces == DSGD_PIECES_BUCKETS &&
                             config->exchange.bucket_bytes == DSGD_BUCKET_AUTO;
        double *bytes = NULL;
        const size_t n = dsgd_pieces_of(config, &bytes);
        free(bytes);
        if (is_auto && dsgd_bucket_bytes(config) != DSGD_DEFAULT_BUCKET_BYTES)
            error = fmax(error, dsgd_merging_error(config));
        most = n > most ? n : most;
        seconds += n <= DSGD_MANY_BUCKETS
                       ? 0
                       : piece_s * (double)n * config->workers * config->until.steps;
    }
    if (error > 0)
        warn(stream, dsgd_xprintf("vectors are sent in at most %d buckets, of more than %d MiB "
                                  "each. This changes no step "
                                  "by more than %.2g %% (a bound). exchange: {bucket: %dMi} "
                                  "simulates all buckets, in "
                                  "several times the CPU time",
                                  DSGD_MANY_BUCKETS, DSGD_DEFAULT_BUCKET_BYTES >> 20, 100 * error,
                                  DSGD_DEFAULT_BUCKET_BYTES >> 20));
    if (seconds > 60)
        warn(stream,
             dsgd_xprintf(
                 "this may take %.0f minutes of CPU time or more, because vectors are sent in %zu "
                 "chunks. exchange: {pieces: %d} takes about a tenth of the time. It changes steps "
                 "by "
                 "the time of one chunk; in lock-step gossip by more, because a delay moves on by "
                 "one "
                 "neighbour with each chunk (15 %% with d_psgd, 256 workers of llm-dp-bytedance)",
                 seconds / 60, most, FEW_PIECES));
}

/* --- options without effect ------------------------------------------------------------------- */

/** Returns true if a column has no value in any run although at least one run is ok. */
static bool is_empty(const dsgd_csv *runs, const char *column)
{
    const size_t status = dsgd_csv_column(runs, "status");
    const size_t k = dsgd_csv_column(runs, column);
    bool any_ok = false;
    for (size_t i = 0; i < runs->n_rows; i++) {
        if (*dsgd_csv_field(runs, i, k) != '\0')
            return false;
        any_ok = any_ok || strcmp(dsgd_csv_field(runs, i, status), "ok") == 0;
    }
    return any_ok;
}

void dsgd_exchanges_warn_of_unused(FILE *stream, const dsgd_experiment *experiment,
                                   const dsgd_csv *runs)
{
    bool is_given[N_WAYS] = {false};
    for (size_t i = 0; i < experiment->n_runs; i++) {
        const dsgd_exchange_config *const exchange = &experiment->runs[i].config.exchange;
        is_given[COLLECTIVE] |= exchange->collective != DSGD_COLLECTIVE_AUTO;
        is_given[PARTIAL] |= exchange->partial_collective != DSGD_PARTIAL_AS_COLLECTIVE;
    }
    for (size_t k = 0; k < N_WAYS; k++) {
        const bool is_used = !is_empty(runs, ways[k].column) ||
                             (k == COLLECTIVE && !is_empty(runs, ways[PARTIAL].column));
        if (is_given[k] && !is_used)
            warn(stream,
                 dsgd_xprintf("exchange: %s had no effect: no run used it", ways[k].column));
    }
}
