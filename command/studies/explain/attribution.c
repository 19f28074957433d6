/**
 * @file attribution.c
 * Makes counterfactuals: copies of a run with a changed platform, changed failures or changed
 * computation. Executes the original runs and then their counterfactuals, in a temporary folder.
 */
#include "command/studies/explain/attribution.h"

#include <unistd.h>

#include "base/csv.h"
#include "base/file.h"
#include "base/program.h"
#include "command/analysis/plot.h"
#include "command/console/command.h"
#include "command/experiment/config.h"
#include "command/runs/prepare.h"
#include "command/studies/study.h"
#include "sim/registry.h"

/* --- platforms -------------------------------------------------------------------------------- */

/**
 * Copies the list of hosts that differ from the platform's default, with space for @p more entries.
 * A copy is needed because several runs share the original list.
 */
static dsgd_platform_entry *own_hosts(dsgd_platform *p, size_t more)
{
    dsgd_platform_entry *const entries = dsgd_keep(p->hosts.n + more, sizeof *entries);
    if (p->hosts.n > 0)
        memcpy(entries, p->hosts.v, p->hosts.n * sizeof *entries);
    p->hosts.v = entries;
    return entries;
}

static void change_hosts(dsgd_platform *p, double latency_factor, double least_bandwidth)
{
    dsgd_platform_entry *const entries = own_hosts(p, 0);
    for (size_t i = 0; i < p->hosts.n; i++) {
        entries[i].latency_s *= latency_factor;
        entries[i].bandwidth = fmax(entries[i].bandwidth, least_bandwidth);
    }
}

/**
 * For each of @p n workers, makes the GPU of the worker's first host as fast as the GPU of host @p
 * place.
 */
static void equal_speeds(dsgd_platform *p, const dsgd_worker_facts *of, int n, int place)
{
    const double speed = dsgd_platform_host(p, place).speed;
    dsgd_platform_entry *const entries = own_hosts(p, (size_t)n);
    size_t n_entries = p->hosts.n;
    for (int i = 0; i < n; i++) {
        const double factor = speed / dsgd_platform_host(p, of[i].place).speed;
        if (factor != 1)
            entries[n_entries++] = (dsgd_platform_entry){
                .first = of[i].place, .count = 1, .speed = factor, .bandwidth = 1};
    }
    p->hosts.n = n_entries;
}

/** Multiplies the latencies of all links by a factor. */
static void scale_latency(dsgd_platform *p, double factor)
{
    change_hosts(p, factor, 0);
    p->host_latency_s *= factor;
    p->group_latency_s *= factor;
    p->route_latency *= factor;
    p->island_latency_s *= factor;
    p->nccl.network_latency_s *= factor;
    p->nccl.low_latency_s *= factor;
    p->nccl.latency *= factor;
    p->nccl.node_latency *= factor;
    p->file_links.latency *= factor;
}

static void scale_bandwidth(dsgd_platform *p, double factor)
{
    p->host_bandwidth_bytes_per_s *= factor;
    p->group_flow_bytes_per_s *= factor;
    p->group_bytes_per_s *= factor;
    p->route_bandwidth *= factor;
    p->island_bytes_per_s *= factor;
    p->file_links.bandwidth *= factor;
}

/**
 * bandwidth factor of an ideal network; a gigabyte on a link of at least 1 GB/s then takes at most
 * a nanosecond
 */
static const double idle_factor = 1e9;

static void change_platform(dsgd_platform *p, dsgd_counterfactual which)
{
    p->file_links.scaled = !dsgd_platform_has_numbers(p);
    p->file_links.bandwidth = p->file_links.latency = 1;
    switch (which) {
    case DSGD_WITHOUT_SLOW_LINKS:
        change_hosts(p, 0, 1);
        break;
    case DSGD_IDLE_NETWORK:
        scale_bandwidth(p, idle_factor);
        scale_latency(p, 0);
        /* The NCCL model has its own bandwidth limits, so these limits are multiplied too. */
        p->nccl.bandwidth *= idle_factor;
        p->nccl.node_bandwidth *= idle_factor;
        p->message_overhead_s = 0;
        p->rendezvous_s = 0;
        p->partial_turn_s = 0;
        break;
    case DSGD_TWICE_BANDWIDTH:
        scale_bandwidth(p, 2);
        break;
    case DSGD_HALF_LATENCY:
        scale_latency(p, 0.5);
        break;
    case DSGD_FREE_REDUCTION:
        p->reduction_s_per_byte = 0;
        break;
    case DSGD_FREE_STAGING:
        p->staging_s_per_byte = 0;
        p->operation_s_per_byte = 0;
        break;
    default:
        break;
    }
}

/** Changes the failures of a run, or how the run reacts to failures. */
static void change_failures(dsgd_failures_config *f, dsgd_counterfactual which)
{
    if (which == DSGD_WITHOUT_FAILURES) {
        f->mtbf_s = 0;
        f->events.n = 0;
        f->trace = NULL;
    } else if (which == DSGD_WITHOUT_LINK_FAILURES) {
        f->links.n = 0;
    } else if (which == DSGD_BY_DALY) {
        f->checkpoint.interval_s = 0;
        f->checkpoint.every = DSGD_EVERY_DALY;
    } else if (which == DSGD_DETECTED_AT_ONCE) {
        f->detect_s = 0;
    } else if (which == DSGD_BY_QUORUM) {
        f->policy = DSGD_POLICY_QUORUM;
    }
}

/** Returns true if a counterfactual that concerns failures changes the run. */
static bool has_failures(const dsgd_planned_run *run, dsgd_counterfactual which)
{
    const dsgd_failures_config *const f = &run->config.failures;
    const bool by_daly = f->checkpoint.interval_s <= 0 && f->checkpoint.every == DSGD_EVERY_DALY;
    if (!dsgd_failures_any(f) || f->policy == DSGD_POLICY_NONE)
        return false;
    if (which == DSGD_BY_DALY)
        return f->checkpoint.blocking && !by_daly && !dsgd_goes_on(&run->config);
    if (which == DSGD_BY_QUORUM)
        return !dsgd_goes_on(&run->config);
    return which == DSGD_WITHOUT_FAILURES || (f->detect_s > 0 && f->notice_s <= 0);
}

/** Returns true if the run has the cost that counterfactual @p which removes. */
static bool has_cost(const dsgd_planned_run *run, dsgd_counterfactual which)
{
    const dsgd_platform *const p = &run->platform;
    const dsgd_platform_entry *const entries = p->hosts.v;
    double latency_s = p->host_latency_s + p->group_latency_s + p->island_latency_s;
    latency_s += p->routes.n > 0 ? p->route_latency : 0;
    for (size_t i = 0; i < p->hosts.n; i++)
        latency_s += entries[i].latency_s;
    const bool is_of_network = which >= DSGD_WITHOUT_SLOW_LINKS && which <= DSGD_HALF_LATENCY;
    if (which >= DSGD_N_PLAIN_CAUSES)
        return has_failures(run, which);
    if (which == DSGD_WITHOUT_LINK_FAILURES)
        return run->config.failures.links.n > 0;
    if (is_of_network && p->library == DSGD_LIBRARY_NCCL && p->nccl.tables.n > 0)
        return false; /* Measured tables contain the times of collectives, but not the causes of
                       * these times. */
    if (which == DSGD_WITHOUT_SLOW_LINKS)
        return p->hosts.n > 0;
    if (which == DSGD_HALF_LATENCY)
        return latency_s > 0 || !dsgd_platform_has_numbers(p);
    if (which == DSGD_FREE_REDUCTION)
        return p->reduction_s_per_byte > 0;
    return which != DSGD_FREE_STAGING || (p->staging_s_per_byte + p->operation_s_per_byte > 0 &&
                                          run->workload.memory == DSGD_MEMORY_DEVICE);
}

/* --- alternatives of option --instead --------------------------------------------------------- */

/**
 * Changes the algorithm, the buckets or the number of workers of a run, for option --instead.
 * Returns false if the change has no effect on the run.
 */
static bool change_run(dsgd_planned_run *run, dsgd_counterfactual which)
{
    static const int times[] = {2, 4, 16};
    dsgd_exchange_config *const exchange = &run->config.exchange;
    const double bytes = 1 << 20;
    if (which < DSGD_SMALL_BUCKETS) {
        const dsgd_entry *const before = run->algorithm.about;
        run->algorithm =
            dsgd_spec_default(dsgd_entry_find(dsgd_algorithms, dsgd_counterfactual_names[which]));
        run->config.algorithm = (const dsgd_algorithm *)run->algorithm.about;
        run->config.params = run->algorithm.params;
        return run->algorithm.about != before;
    }
    if (which == DSGD_SMALL_BUCKETS) {
        const bool has = exchange->pieces == DSGD_PIECES_BUCKETS && exchange->bucket_bytes == bytes;
        exchange->pieces = DSGD_PIECES_BUCKETS;
        exchange->bucket_bytes = bytes;
        return !has;
    }
    run->workers *= times[which - DSGD_TWICE_WORKERS];
    run->config.workers = (int)run->workers;
    return true;
}

/**
 * Applies a counterfactual to a run. If the algorithm rejects the change, or if Daly's interval is
 * unknown, the run stays unchanged. Its parameter then becomes NULL, so that it is not executed.
 * The alternatives of option --instead are also not executed if @p instead is false. If an
 * alternative is rejected, adds it with the reason to the list of skipped alternatives.
 */
static void take(dsgd_experiment *experiment, dsgd_planned_run *run, dsgd_counterfactual which,
                 bool instead)
{
    const bool is_instead = which >= DSGD_N_CAUSES && which != DSGD_SAME_STEPS;
    const bool of_failures = which == DSGD_WITHOUT_LINK_FAILURES ||
                             (which >= DSGD_N_PLAIN_CAUSES && which < DSGD_N_CAUSES);
    const dsgd_planned_run before = *run;
    dsgd_error why;
    change_platform(&run->platform, which);
    change_failures(&run->config.failures, which);
    if (!is_instead && !of_failures)
        return;
    run->config.machine_checked = run->config.machine_checked && of_failures;
    if (of_failures || (instead && change_run(run, which))) {
        if (dsgd_planned_run_check(run, run->config.numerics, &why) == DSGD_OK)
            return;
        if (is_instead)
            dsgd_append(&experiment->left_out, "run %zu, %s: %s\n", run->unchanged + 1,
                        run->parameter, why.text);
    }
    *run = before;
    run->parameter = NULL;
}

/* --- the list of runs ------------------------------------------------------------------------- */

/**
 * Appends the counterfactuals of all runs after the original runs. They have a column `what_if`.
 * The counterfactuals of run i begin at index n_unchanged + DSGD_N_COUNTERFACTUALS * i.
 */
static dsgd_status add_counterfactuals(dsgd_experiment *experiment,
                                       const dsgd_explain_options *options, dsgd_numerics numerics,
                                       dsgd_error *error)
{
    const size_t n = experiment->n_unchanged;
    /* The runs that the experiment skips have already been reported. */
    experiment->left_out = dsgd_xstrdup("");
    DSGD_TRY(dsgd_study_check_length(experiment, n * (1 + DSGD_N_COUNTERFACTUALS), error));
    experiment->n_runs = n * (1 + DSGD_N_COUNTERFACTUALS);
    experiment->runs =
        dsgd_keep_more(experiment->runs, experiment->n_runs, sizeof *experiment->runs);
    for (size_t i = 0; i < n; i++)
        for (int which = 0; which < DSGD_N_COUNTERFACTUALS; which++) {
            dsgd_planned_run *const run =
                &experiment->runs[dsgd_counterfactual_run(experiment, i, which)];
            *run = experiment->runs[i];
            run->unchanged = i;
            run->parameter = dsgd_counterfactual_names[which];
            take(experiment, run, which, options->instead);
        }
    static const char *const column = "what_if";
    dsgd_experiment_add_columns(experiment, &column, 1);
    for (size_t i = n; i < experiment->n_runs; i++)
        experiment->runs[i].swept[experiment->n_columns - 1] = experiment->runs[i].parameter;
    return dsgd_experiment_settle(experiment, numerics, error);
}

/**
 * Completes a counterfactual of run @p i with facts that were recorded during the run. @p steps is
 * the number of steps of all workers divided by the number of workers. Returns false if the
 * counterfactual would equal the original run.
 */
static bool settle(dsgd_experiment *experiment, size_t i, dsgd_counterfactual which,
                   const dsgd_facts *facts, double steps)
{
    /*
     * if the relative difference of two step times is below this, they are equal except for
     * rounding
     */
    static const double alike = 1e-9;
    dsgd_planned_run *const run = &experiment->runs[dsgd_counterfactual_run(experiment, i, which)];
    if (run->parameter == NULL)
        return false;
    const bool ends_by_work = !(run->config.until.seconds > 0 || run->config.until.accuracy > 0);
    if (!ends_by_work)
        run->config.until = (dsgd_until){.steps = steps};
    if (which == DSGD_SAME_STEPS)
        return !ends_by_work;
    const dsgd_worker_facts *const median = &facts->workers[facts->median];
    if (which == DSGD_WITHOUT_STRAGGLERS) {
        equal_speeds(&run->platform, facts->workers, facts->n_workers, median->place);
        run->config.what_if = (dsgd_what_if){.step_s = facts->gradient_s};
        return facts->longest_s > facts->shortest_s * (1 + alike);
    }
    if (which == DSGD_WITHOUT_SLOWEST) {
        /*
         * The speed of the slowest worker's host explains a part of the slow-down. The remaining
         * part comes from random draws.
         */
        const dsgd_worker_facts *const slowest = &facts->workers[facts->slowest];
        const double factor = median->compute_s / slowest->compute_s;
        const double speeds = dsgd_platform_host(&run->platform, median->place).speed /
                              dsgd_platform_host(&run->platform, slowest->place).speed;
        /*
         * If a worker has several hosts, the speed of its first host does not determine the speed
         * of the worker.
         */
        const bool group = dsgd_workload_hosts(&run->workload) > 1;
        if (!group)
            equal_speeds(&run->platform, slowest, 1, median->place);
        run->config.what_if =
            (dsgd_what_if){.worker = facts->slowest, .factor = group ? factor : factor * speeds};
        return factor < 1 - alike;
    }
    return which >= DSGD_N_CAUSES || has_cost(&experiment->runs[i], which);
}

/** State of the study: the options of the command line and the experiment. */
typedef struct attribution {
    const dsgd_explain_options *options;
    dsgd_experiment *experiment;
    dsgd_pool_config config;
    /*
     * array of n_runs flags: true for each run of the next round; the first round has the original
     * runs, the second round has their counterfactuals
     */
    bool *next;
    bool is_over; /* true if there are no more rounds */
} attribution;

/* --- execution of runs ------------------------------------------------------------------------ */

static dsgd_status simulate(const void *of, size_t i, const dsgd_run_config *run,
                            dsgd_run_result *result, dsgd_error *error)
{
    const attribution *const a = of;
    return i < a->experiment->n_unchanged
               ? dsgd_facts_record(run, result, a->config.folder, i, error)
               : dsgd_simulate(run, result, error);
}

static void choose(void *of, bool *chosen)
{
    const attribution *const a = of;
    memcpy(chosen, a->next, a->experiment->n_runs * sizeof *chosen);
}

/**
 * Selects the counterfactuals that differ from their original runs for the second round. There is
 * no second round for a figure. There is no second round either if all original runs failed.
 */
static dsgd_status read_results(void *of, bool *more, dsgd_error *error)
{
    attribution *const a = of;
    *more = false;
    for (size_t i = 0; !a->is_over && i < a->experiment->n_unchanged; i++) {
        dsgd_facts facts;
        if (!a->next[i] || dsgd_results_state(a->config.results, i) != DSGD_RUN_DONE)
            continue;
        DSGD_TRY(dsgd_facts_read(a->config.folder, i, &facts, error));
        const double steps = dsgd_results_value(a->config.results, i, "steps");
        for (int which = 0; which < DSGD_N_COUNTERFACTUALS; which++)
            a->next[dsgd_counterfactual_run(a->experiment, i, which)] =
                settle(a->experiment, i, which, &facts, steps);
        *more = *more || dsgd_results_throughput(a->config.results, i) > 0;
    }
    memset(a->next, 0, a->experiment->n_unchanged * sizeof *a->next);
    a->is_over = true;
    return DSGD_OK;
}

/* --- output ----------------------------------------------------------------------------------- */

/** Returns the slow-down of each worker in each step, as a table for a figure. */
static char *table_of(const dsgd_facts *f)
{
    /* largest number of rows and columns that a reader can distinguish on half a page */
    enum { MOST_ROWS = 128, MOST_COLUMNS = 160 };
    char *text = NULL;
    size_t n_bytes = 0;
    FILE *const stream = dsgd_text_open(&text, &n_bytes);
    const int64_t rows = (f->n_workers + MOST_ROWS - 1) / MOST_ROWS;
    const int64_t columns = (f->n_steps + MOST_COLUMNS - 1) / MOST_COLUMNS;
    fputs("worker,workers,step,steps,slowdown\n", stream);
    for (int64_t i = 0; i < f->n_workers; i += rows)
        for (int64_t t = 0; t < f->n_steps; t += columns) {
            const int64_t n[] = {rows < f->n_workers - i ? rows : f->n_workers - i,
                                 columns < f->n_steps - t ? columns : f->n_steps - t};
            /*
             * largest step time in the cell divided by the median; NAN if the cell contains no
             * computed step
             */
            double worst = NAN;
            for (int64_t k = 0; k < n[0] * n[1]; k++)
                worst = fmax(worst, f->compute_s[(i + k / n[1]) * f->n_steps + t + k % n[1]] /
                                        f->gradient_s); /* If one argument is NAN, fmax() returns
                                                         * the other argument. */
            fprintf(stream, "%jd,%jd,%jd,%jd,", i, n[0], t, n[1]);
            /* Each row of an image must have the same length, so a field must not be empty. */
            fprintf(stream, "%s\n", isnan(worst) ? "nan" : dsgd_csv_number_text(worst));
        }
    dsgd_text_close(stream, &text);
    return text;
}

static dsgd_status write_map(const attribution *a, dsgd_error *error)
{
    const char *const format = dsgd_explain_formats[a->options->format];
    const size_t i = a->options->run > 0 ? (size_t)a->options->run - 1 : 0;
    dsgd_facts facts;
    DSGD_TRY(dsgd_facts_read(a->config.folder, i, &facts, error));
    if (!(facts.gradient_s > 0))
        return dsgd_fail(error, DSGD_ERUNS, "run %zu ended before its first step was computed",
                         i + 1);
    const char *const path =
        a->options->output != NULL
            ? a->options->output
            : dsgd_xprintf("%s-%zu-slowdown.%s", a->experiment->name, i + 1, format);
    DSGD_TRY(
        dsgd_figure_write("slowdown", table_of(&facts), a->options->size, format, path, error));
    printf("%s: step times of run %zu (%s)\n", path, i + 1, a->experiment->runs[i].label);
    return DSGD_OK;
}

static dsgd_status conclude(void *of, const dsgd_pool_counts *done, dsgd_error *error)
{
    const attribution *const a = of;
    const char *const output = a->options->output;
    if (a->options->format != DSGD_EXPLAIN_TEXT) {
        DSGD_TRY(write_map(a, error));
    } else {
        dsgd_program_flush();
        FILE *const file = output == NULL ? stdout : fopen(output, "w");
        if (file == NULL || dup2(fileno(file), STDOUT_FILENO) < 0)
            return dsgd_fail(error, DSGD_EIO, "%s: the file cannot be written: %m", output);
        if (file != stdout)
            fclose(file);
        DSGD_TRY(dsgd_explained_print(a->experiment, a->config.results, error));
        if (*a->experiment->left_out != '\0')
            printf("\nskipped alternatives:\n%s", a->experiment->left_out);
    }
    return done->n_failed == 0 ? DSGD_OK
                               : dsgd_fail(error, DSGD_ERUNS, "%zu of %zu runs failed",
                                           done->n_failed, done->n_runs);
}

dsgd_status dsgd_attribution(const dsgd_explain_options *options, dsgd_error *error)
{
    const int numerics = options->numerics < 0 ? DSGD_NUMERICS_OFF : options->numerics;
    const dsgd_source source = {options->source.v[0], &options->sets, numerics, options->run};
    dsgd_experiment experiment;
    DSGD_TRY(dsgd_source_open(&source, &experiment, error));
    /* A figure shows only one run. It is the first run, unless the user gives --run. */
    const bool figure = options->format != DSGD_EXPLAIN_TEXT;
    const size_t run = (size_t)(figure && options->run == 0 ? 1 : options->run);
    dsgd_prepare_left_out(&experiment);
    if (run > experiment.n_unchanged)
        return dsgd_refuse(error,
                           "--run must be at most %zu, got %zu; `dsgd check %s` lists the runs",
                           experiment.n_unchanged, run, experiment.path);
    attribution a = {.options = options,
                     .experiment = &experiment,
                     .config = {.experiment = &experiment,
                                .command = "dsgd explain",
                                .jobs = options->jobs,
                                .numerics = numerics,
                                .limits = options->limits,
                                .simulate = simulate,
                                .simulator = &a},
                     .is_over = figure};
    const dsgd_study study = {{&a, choose, read_results}, NULL, conclude};
    DSGD_TRY(dsgd_study_prepare(&a.config, error));
    DSGD_TRY(add_counterfactuals(&experiment, options, a.config.numerics, error));
    a.next = dsgd_keep(experiment.n_runs, sizeof *a.next);
    for (size_t i = 0; i < experiment.n_unchanged; i++)
        a.next[i] = run == 0 || run == i + 1;
    return dsgd_study_run(&study, &a.config, &options->plugins, error);
}
