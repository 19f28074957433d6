/**
 * @file report.c
 * What is printed: per algorithm, that is, per group of runs that differ in the seed alone, where a
 * step goes, what would be gained, who is slow, and one sentence.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/analysis/frame.h"
#include "command/console/table.h"
#include "command/runs/results.h"
#include "command/runs/rows.h"
#include "command/studies/explain/attribution.h"
#include "command/studies/explain/counterfactuals.h"

/** Runs that differ in the seed alone. */
typedef struct group {
    size_t n, *runs; /* [n] that have results */
    double throughput, step_s, compute, communicate, wait; /* means */
    double gain[DSGD_SAME_STEPS]; /* of throughput; NAN: not run, or failed */
    double then_s[DSGD_SAME_STEPS]; /* step */
} group;

static double result_of(const dsgd_explained *e, size_t i, const char *column)
{
    return dsgd_results_value(e->results, i, column);
}

static bool differ_in_seed_alone(const dsgd_experiment *e, size_t i, size_t j)
{
    for (size_t a = 0; a < DSGD_N_AXES; a++)
        if (a != DSGD_AXIS_SEED && e->runs[i].chosen[a] != e->runs[j].chosen[a])
            return false;
    for (size_t k = 0; k < e->n_columns; k++) {
        const char *const x = e->runs[i].swept[k];
        const char *const y = e->runs[j].swept[k];
        if (strcmp(e->columns[k], "seed") != 0 && x != y &&
            (x == NULL || y == NULL || strcmp(x, y) != 0))
            return false;
    }
    return true;
}

/** The run with which the counterfactuals of run @p i are compared. */
static size_t as_it_is(const dsgd_explained *e, size_t i)
{
    const size_t by_steps = dsgd_counterfactual_run(e->experiment, i, DSGD_SAME_STEPS);
    return isnan(dsgd_results_throughput(e->results, by_steps)) ? i : by_steps;
}

static double mean_of(const dsgd_explained *e, const group *g, const char *column)
{
    double sum = 0;
    for (size_t k = 0; k < g->n; k++)
        sum += result_of(e, as_it_is(e, g->runs[k]), column);
    return sum / (double)g->n;
}

/** Of the seeds for which both ran. */
static void compare(const dsgd_explained *e, group *g, dsgd_counterfactual which)
{
    double *const logs = dsgd_xcalloc(g->n, sizeof *logs);
    double sum_s = 0;
    size_t n = 0;
    for (size_t k = 0; k < g->n; k++) {
        const size_t other = dsgd_counterfactual_run(e->experiment, g->runs[k], which);
        const double gain = dsgd_results_throughput(e->results, other) /
                            dsgd_results_throughput(e->results, as_it_is(e, g->runs[k]));
        if (!(gain > 0))
            continue;
        logs[n++] = log(gain);
        sum_s += result_of(e, other, "step_mean_s");
    }
    g->gain[which] = n > 0 ? dsgd_ratio_of(logs, n).ratio : NAN;
    g->then_s[which] = sum_s / (double)n;
    free(logs);
}

/** The runs from @p first on that differ in the seed alone, of those that have results. */
static group group_of(const dsgd_explained *e, size_t first)
{
    group g = {.runs = dsgd_xcalloc(e->experiment->n_unchanged, sizeof *g.runs)};
    for (size_t i = first; i < e->experiment->n_unchanged; i++)
        if (e->wanted[i] && differ_in_seed_alone(e->experiment, first, i) &&
            dsgd_results_throughput(e->results, i) > 0)
            g.runs[g.n++] = i;
    if (g.n == 0)
        return g;
    g.throughput = mean_of(e, &g, "throughput_samples_per_s");
    g.step_s = mean_of(e, &g, "step_mean_s");
    g.compute = mean_of(e, &g, "compute_share");
    g.communicate = mean_of(e, &g, "comm_share");
    g.wait = mean_of(e, &g, "wait_share");
    for (int which = 0; which < DSGD_SAME_STEPS; which++)
        compare(e, &g, which);
    return g;
}

/* --- the table -------------------------------------------------------------------------------- */

static void put_row(dsgd_columns *t, const char *what, double step_s, double share, double gain)
{
    dsgd_columns_row(t);
    dsgd_columns_put(t, "", "%s", what);
    dsgd_columns_put(t, "step (s)", "%.4g", step_s);
    dsgd_columns_take(t, "share (%)",
                      isnan(share) ? dsgd_xstrdup("") : dsgd_xprintf("%.1f", 100 * share));
    dsgd_columns_take(t, "times as fast",
                      isnan(gain) ? dsgd_xstrdup("") : dsgd_xprintf("%.3f", gain));
}

static void print_table(const group *g)
{
    static const double rounding = 1e-9;
    dsgd_columns t = {.wraps = false};
    put_row(&t, "as it is", g->step_s, 1, 1);
    put_row(&t, "  compute", g->compute * g->step_s, g->compute, NAN);
    put_row(&t, "  communicate", g->communicate * g->step_s, g->communicate, NAN);
    const double wait = g->wait < rounding ? 0 : g->wait;
    put_row(&t, "  wait", wait * g->step_s, wait, NAN);
    for (int which = 0; which < DSGD_SAME_STEPS; which++)
        if (!isnan(g->gain[which]))
            put_row(&t, dsgd_counterfactual_names[which], g->then_s[which], NAN, g->gain[which]);
    dsgd_columns_print(&t);
}

/** "wagma group=4, 64 workers, habitat-p100 on piz-daint, 3 seeds from 1"; the caller frees it. */
static char *title_of(const dsgd_explained *e, const group *g)
{
    const dsgd_planned_run *const run = &e->experiment->runs[g->runs[0]];
    char *const swept = dsgd_row_swept(e->experiment, g->runs[0]);
    char *title =
        dsgd_xprintf("%s%s%s, %d worker%s, %s on %s, ", run->label, *swept == '\0' ? "" : " ",
                     swept, run->config.workers, run->config.workers == 1 ? "" : "s",
                     run->workload_name, run->platform_name);
    if (g->n > 1)
        dsgd_append(&title, "%zu seeds from %ld", g->n, run->seed);
    else
        dsgd_append(&title, "seed %ld", run->seed);
    free(swept);
    return title;
}

/* --- who is slow ------------------------------------------------------------------------------ */

enum { MOST_NAMED = 3 };

/** The slowest worker that is faster than, or of those alike behind, @p before; -1: none. */
static int next_slowest(const dsgd_facts *f, int before)
{
    int found = -1;
    for (int i = 0; i < f->n_workers; i++) {
        const double s = f->workers[i].compute_s;
        const bool follows = before < 0 || s < f->workers[before].compute_s ||
                             (i > before && s == f->workers[before].compute_s);
        if (follows && (found < 0 || s > f->workers[found].compute_s))
            found = i;
    }
    return found;
}

static void print_workers(const dsgd_facts *f, double steps)
{
    static const double least = 1.001; /* times the median worker's */
    const double median_s = f->workers[f->median].compute_s;
    if (!(f->workers[f->slowest].compute_s > least * median_s)) {
        puts("no worker computes longer than the median one");
        return;
    }
    dsgd_columns t = {.wraps = false};
    int worker = -1;
    for (int n = 0; n < MOST_NAMED && (worker = next_slowest(f, worker)) >= 0; n++) {
        const dsgd_worker_facts *const w = &f->workers[worker];
        if (!(w->compute_s > least * median_s))
            break;
        dsgd_columns_row(&t);
        dsgd_columns_put(&t, "slowest worker", "%d", worker);
        dsgd_columns_put(&t, "host", "%d", w->place);
        dsgd_columns_put(&t, "computes (s)", "%.4g", w->compute_s);
        dsgd_columns_put(&t, "of median", "%.3f", w->compute_s / median_s);
        dsgd_columns_put(&t, "last (%)", "%.1f", 100 * w->last);
        dsgd_columns_put(&t, "holds up each (s/step)", "%.3g",
                         w->held_s / fmax(1, f->n_workers - 1) / steps);
    }
    dsgd_columns_print(&t);
}

static double use_of(const dsgd_facts *f, const dsgd_load *load)
{
    return load->bytes / load->bytes_per_s / f->virtual_s;
}

/** "NIC 3, out", or as it is called in the user's file; the caller frees it. */
static char *link_name(const char *link)
{
    int i = 0;
    char way[8] = "";
    const char *const direction = sscanf(link, "%*[a-z]%d_%7s", &i, way) != 2 ? ""
                                  : strcmp(way, "UP") == 0                    ? "out"
                                  : strcmp(way, "DOWN") == 0                  ? "in"
                                                                              : "";
    if (strncmp(link, "nic", 3) == 0 && *direction != '\0')
        return dsgd_xprintf("NIC %d, %s", i, direction);
    if (strncmp(link, "island", 6) == 0 && *direction != '\0')
        return dsgd_xprintf("island of host %d, %s", i, direction);
    return dsgd_xstrdup(link);
}

static void print_links(const dsgd_facts *f)
{
    static const double alike = 0.99; /* shares of use */
    dsgd_columns t = {.wraps = false};
    double most = INFINITY; /* what was printed last carries so much */
    size_t after = 0;
    for (int n = 0; n < MOST_NAMED; n++) {
        size_t found = f->n_loads;
        for (size_t i = 0; i < f->n_loads; i++) {
            const double use = use_of(f, &f->loads[i]);
            const bool follows = use < most || (use == most && i > after);
            if (follows && use > 0 && (found == f->n_loads || use > use_of(f, &f->loads[found])))
                found = i;
        }
        if (found == f->n_loads)
            break;
        most = use_of(f, &f->loads[found]);
        after = found;
        dsgd_columns_row(&t);
        dsgd_columns_take(&t, "busiest link", link_name(f->loads[found].link));
        dsgd_columns_put(&t, "used (%)", "%.1f", 100 * most);
        dsgd_columns_put(&t, "carries (GB)", "%.4g", f->loads[found].bytes / 1e9);
        dsgd_columns_put(&t, "of (GB/s)", "%.4g", f->loads[found].bytes_per_s / 1e9);
    }
    const size_t n_named = t.n_rows;
    size_t n_alike = 0; /* used as much as the last named one, or more */
    for (size_t i = 0; i < f->n_loads; i++)
        n_alike += n_named > 0 && use_of(f, &f->loads[i]) >= alike * most;
    if (n_named == 0)
        puts("no link carries anything");
    else
        dsgd_columns_print(&t);
    if (n_alike > n_named)
        printf(n_alike - n_named == 1 ? "%zu more link is as busy as the last of these\n"
                                      : "%zu more links are as busy as the last of these\n",
               n_alike - n_named);
}

/* --- the sentence ----------------------------------------------------------------------------- */

/**
 * The largest gain of a cause other than @p but; -1: none by half a per cent. An idle network, which
 * nobody can buy, counts where nothing else of the network gains.
 */
static int best_of(const group *g, int but)
{
    static const double least = 1.005, equal = 1e-3;
    const bool network_gains =
        g->gain[DSGD_TWICE_BANDWIDTH] >= least || g->gain[DSGD_HALF_LATENCY] >= least;
    int best = -1;
    for (int which = 0; which < DSGD_SAME_STEPS; which++) {
        const bool counts = (but < 0 || dsgd_cause_of(which) != dsgd_cause_of(but)) &&
                            !(which == DSGD_IDLE_NETWORK && network_gains);
        if (counts && g->gain[which] >= least &&
            (best < 0 || g->gain[which] > g->gain[best] * (1 + equal)))
            best = which;
    }
    return best;
}

static void print_sentence(const dsgd_explained *e, const group *g)
{
    const int best = best_of(g, -1);
    const int other = best < 0 ? -1 : best_of(g, best);
    const bool waits = g->wait >= g->communicate;
    char *text =
        dsgd_xprintf("%s: %.0f %% of a step is %s", e->experiment->runs[g->runs[0]].label,
                     100 * (waits ? g->wait : g->communicate), waits ? "waiting" : "communication");
    if (best >= 0)
        dsgd_append(&text, "; %s it would be %.2f times as fast", dsgd_counterfactual_names[best],
                    g->gain[best]);
    if (other >= 0)
        dsgd_append(&text, ", %s %.2f times", dsgd_counterfactual_names[other], g->gain[other]);
    if (best < 0)
        dsgd_append(&text, "; nothing that was tried would make it faster");
    putchar('\n');
    dsgd_print_wrapped(stdout, "", 0, DSGD_TEXT_WIDTH, text);
    free(text);
}

static dsgd_status print_group(const dsgd_explained *e, const group *g, dsgd_error *error)
{
    char *const title = title_of(e, g);
    char *const path = dsgd_facts_path(e->results->folder, g->runs[0]);
    dsgd_facts facts;
    const dsgd_status status = dsgd_facts_read(path, &facts, error);
    dsgd_print_wrapped(stdout, "", 0, DSGD_TEXT_WIDTH, title);
    printf(g->throughput >= 1000 ? "%.0f samples/s\n\n" : "%.4g samples/s\n\n", g->throughput);
    print_table(g);
    if (status == DSGD_OK) {
        putchar('\n');
        print_workers(&facts, result_of(e, g->runs[0], "steps"));
        putchar('\n');
        print_links(&facts);
    }
    print_sentence(e, g);
    putchar('\n');
    dsgd_facts_free(&facts);
    free(path);
    free(title);
    return status;
}

/** Why runs failed or diverged. */
static void print_notes(const dsgd_explained *e)
{
    for (size_t i = 0; i < e->experiment->n_runs; i++) {
        const dsgd_planned_run *const run = &e->experiment->runs[i];
        const char *const why = dsgd_results_why(e->results, i);
        if (*why == '\0')
            continue;
        char *const text = dsgd_xprintf("run %zu%s%s %s: %s", run->unchanged + 1,
                                        run->parameter == NULL ? "" : " ",
                                        run->parameter == NULL ? "" : run->parameter,
                                        dsgd_results_field(e->results, i, "status"), why);
        dsgd_print_wrapped(stdout, "", 0, DSGD_TEXT_WIDTH, text);
        free(text);
    }
}

dsgd_status dsgd_explained_print(const dsgd_explained *e, dsgd_error *error)
{
    dsgd_status status = DSGD_OK;
    for (size_t i = 0; status == DSGD_OK && i < e->experiment->n_unchanged; i++) {
        bool is_first = e->wanted[i];
        for (size_t j = 0; j < i; j++)
            is_first = is_first && !(e->wanted[j] && differ_in_seed_alone(e->experiment, j, i));
        if (!is_first)
            continue;
        group g = group_of(e, i);
        if (g.n > 0)
            status = print_group(e, &g, error);
        else
            printf("%s: no step to explain\n\n", e->experiment->runs[i].label);
        free(g.runs);
    }
    print_notes(e);
    dsgd_print_wrapped(
        stdout, "", 0, DSGD_TEXT_WIDTH,
        "Times as fast: samples per second over those of the same run as it is, with "
        "the same draws. Gains do not add up: each is of one change alone.");
    return status;
}
