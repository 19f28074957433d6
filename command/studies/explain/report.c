/**
 * @file report.c
 * Prints a summary of all points, then a section for each point. A section contains the parts of a
 * step, speed-ups of changed runs, slowest workers and busiest links. A point is a set of runs that
 * differ only in their seeds.
 */
#include <gsl/gsl_sort.h>

#include "command/analysis/frame.h"
#include "command/console/table.h"
#include "command/runs/results.h"
#include "command/runs/rows.h"
#include "command/studies/explain/attribution.h"

const char *const dsgd_counterfactual_names[] = {
#define X(key, name) name,
    DSGD_COUNTERFACTUAL_LIST(X)
#undef X
};

typedef struct explained {
    const dsgd_experiment *experiment;
    const dsgd_results *results; /* results of the original runs and of their counterfactuals */
} explained;

/**
 * Speed-up by a counterfactual. It is the throughput of the changed runs divided by the throughput
 * of the original runs.
 */
typedef struct gain {
    const char *name; /* name of the counterfactual */
    dsgd_ratio speedup; /* the speed-up; its member n is 0 if no changed run has results */
    double step_s, goodput; /* means over the changed runs: step time in seconds, and goodput */
} gain;

/**
 * Kinds of titles of a point. A title that all points share is printed once. Other titles are
 * printed in the section of each point.
 */
enum { SETTING, WORKERS, SEEDS, N_TITLES };

/** A point: runs that differ only in their seeds. */
typedef struct point {
    size_t n, *runs; /* number of runs that have results, and an array of these runs */
    const char *label; /* label of the point: its algorithm, followed by its swept values */
    const char *titles[N_TITLES];
    /* means over the runs of the point */
    double throughput, step_s, compute, communicate, wait, virtual_s, goodput;
    gain gains[DSGD_SAME_STEPS];
} point;

/**
 * Returns the run with which the counterfactuals of run @p i are compared. If the counterfactual
 * DSGD_SAME_STEPS of run @p i has results, it is this counterfactual; otherwise, it is the run
 * itself.
 */
static size_t original_of(const explained *e, size_t i)
{
    const size_t by_steps = dsgd_counterfactual_run(e->experiment, i, DSGD_SAME_STEPS);
    return isnan(dsgd_results_throughput(e->results, by_steps)) ? i : by_steps;
}

static double mean_of(const explained *e, const point *p, const char *column)
{
    double sum = 0;
    for (size_t k = 0; k < p->n; k++)
        sum += dsgd_results_value(e->results, original_of(e, p->runs[k]), column);
    return sum / (double)p->n;
}

/**
 * Computes the speed-up by a counterfactual. A seed counts only if both the original run and the
 * changed run have results.
 */
static gain gain_of(const explained *e, const point *p, dsgd_counterfactual which)
{
    double *const logs = dsgd_keep(p->n, sizeof *logs);
    double sum_s = 0, goodput = 0;
    size_t n = 0;
    for (size_t k = 0; k < p->n; k++) {
        const size_t other = dsgd_counterfactual_run(e->experiment, p->runs[k], which);
        const double ratio = dsgd_results_throughput(e->results, other) /
                             dsgd_results_throughput(e->results, original_of(e, p->runs[k]));
        if (!(ratio > 0))
            continue;
        logs[n++] = log(ratio);
        sum_s += dsgd_results_value(e->results, other, "step_mean_s");
        goodput += dsgd_results_value(e->results, other, "goodput");
    }
    const char *const name = which == DSGD_BY_DALY ? dsgd_xprintf("checkpoints every %.4g s (Daly)",
                                                                  mean_of(e, p, "daly_s"))
                                                   : dsgd_counterfactual_names[which];
    return (gain){name, dsgd_ratio_of(logs, n), sum_s / (double)n, goodput / (double)n};
}

/** Collects the runs of a frame's point that have results, and computes their means. */
static point point_of(const explained *e, const dsgd_frame *f, const dsgd_frame_point *of)
{
    const size_t number = dsgd_csv_column(f->csv, "run");
    point p = {.runs = dsgd_keep(of->n_rows, sizeof *p.runs), .label = dsgd_frame_value(f, of, 0)};
    for (size_t k = 0; k < of->n_rows; k++) {
        p.runs[p.n] = (size_t)dsgd_csv_value(f->csv, of->rows[k], number) - 1;
        p.n += dsgd_results_throughput(e->results, p.runs[p.n]) > 0;
    }
    if (p.n == 0)
        return p;
    const dsgd_planned_run *const run = &e->experiment->runs[p.runs[0]];
    const char *const swept = dsgd_row_swept(e->experiment, p.runs[0]);
    p.label = dsgd_xprintf("%s%s%s", run->label, *swept == '\0' ? "" : " ", swept);
    p.titles[SETTING] = dsgd_xprintf("%s on %s", run->workload_name, run->platform_name);
    p.titles[WORKERS] = dsgd_counted((size_t)run->config.workers, "worker");
    p.titles[SEEDS] = p.n == 1 ? dsgd_xprintf("seed %jd", run->seed)
                               : dsgd_xprintf("%zu seeds from %jd", p.n, run->seed);
    p.throughput = mean_of(e, &p, "throughput_samples_per_s");
    p.step_s = mean_of(e, &p, "step_mean_s");
    p.compute = mean_of(e, &p, "compute_share");
    p.communicate = mean_of(e, &p, "comm_share");
    p.wait = mean_of(e, &p, "wait_share");
    p.virtual_s = mean_of(e, &p, "virtual_s");
    p.goodput = mean_of(e, &p, "goodput");
    for (int which = 0; which < DSGD_SAME_STEPS; which++)
        p.gains[which] = gain_of(e, &p, which);
    return p;
}

/**
 * Removes the titles that all points share and returns these titles as one line. Appends the other
 * titles to the labels of the points.
 */
static const char *shared_title(point *points, size_t n)
{
    char *text = dsgd_xstrdup("");
    for (int k = 0; k < N_TITLES; k++) {
        const char *const first = points[0].titles[k];
        size_t n_alike = 0;
        while (n_alike < n && strcmp(points[n_alike].titles[k], first) == 0)
            n_alike++;
        for (size_t i = 0; n_alike == n && i < n; i++)
            points[i].titles[k] = NULL;
        if (n_alike == n)
            dsgd_append(&text, "%s%s", *text == '\0' ? "" : ", ", first);
    }
    for (point *p = points; p < points + n; p++)
        for (int k = 0; k < N_TITLES; k++)
            if (p->titles[k] != NULL)
                p->label = dsgd_xprintf("%s, %s", p->label, p->titles[k]);
    return text;
}

/* --- conclusions ------------------------------------------------------------------------------ */

static const double least = 1.005; /* smallest speed-up that a conclusion mentions */

/**
 * Returns the kind of a cause of lost time: 0 for workers, 1 for the network, 2 for reductions and
 * copies, and 3 for failures.
 */
static int kind_of(const point *p, const gain *g)
{
    const int which = (int)(g - p->gains);
    return which == DSGD_WITHOUT_LINK_FAILURES || which >= DSGD_N_PLAIN_CAUSES
               ? 3
               : (which > DSGD_WITHOUT_SLOWEST) + (which > DSGD_HALF_LATENCY);
}

/**
 * Returns the counterfactual with the largest speed-up above @p bound, or NULL if there is none.
 * Only counterfactuals that remove a cause of lost time count. If @p but is not NULL,
 * counterfactuals of the same kind as @p but do not count. If several counterfactuals of one kind
 * have equal speed-ups, returns the last of them, because it is the most specific one.
 */
static const gain *best_of(const point *p, const gain *but, double bound)
{
    static const double equal = 1e-3; /* if the relative difference of two speed-ups is below this,
                                       * the speed-ups are equal */
    const gain *best = NULL;
    for (const gain *g = p->gains; g < p->gains + DSGD_N_CAUSES; g++) {
        const double ratio = best == NULL ? bound : best->speedup.ratio;
        const double sign = best != NULL && kind_of(p, g) == kind_of(p, best) ? -1 : 1;
        if (g->speedup.ratio > ratio * (1 + sign * equal) &&
            (but == NULL || kind_of(p, g) != kind_of(p, but)))
            best = g;
    }
    return best;
}

static void print_summary(const point *points, size_t n)
{
    dsgd_columns t = {.wraps = true};
    for (const point *p = points; p < points + n; p++) {
        const gain *const best = best_of(p, NULL, 1.0005);
        dsgd_columns_row(&t);
        dsgd_columns_take(&t, "algorithm", p->label);
        dsgd_columns_put(&t, "samples/s", p->throughput >= 1000 ? "%.0f" : "%.4g", p->throughput);
        dsgd_columns_put(&t, "step (s)", "%.4g", p->step_s);
        dsgd_columns_put(&t, "waiting (%)", "%.1f", 100 * p->wait);
        dsgd_columns_take(&t, "largest possible speed-up",
                          best == NULL ? "-"
                                       : dsgd_xprintf("%.3f, %s", best->speedup.ratio, best->name));
    }
    dsgd_columns_print(&t);
}

static void print_conclusion(const point *p)
{
    const gain *const best = best_of(p, NULL, least);
    const gain *const next = best == NULL ? NULL : best_of(p, best, least);
    const bool waits = p->wait >= p->communicate;
    const double share = 100 * (waits ? p->wait : p->communicate);
    char *text = share < 0.05 ? dsgd_xstrdup("Workers neither wait nor pause for communication.")
                              : dsgd_xprintf("Workers spend %.*f %% of each step %s.", share < 0.5,
                                             share, waits ? "waiting" : "communicating");
    if (p->goodput < 1)
        dsgd_append(&text, " Failures take %.2g %% of the time.", 100 * (1 - p->goodput));
    if (best != NULL)
        dsgd_append(&text, " With %s, %s would be %.2f times as fast.", best->name, p->label,
                    best->speedup.ratio);
    if (next != NULL)
        dsgd_append(&text, " The next best change, %s, gains %.1f %%.", next->name,
                    100 * (next->speedup.ratio - 1));
    if (best == NULL)
        dsgd_append(&text, " No change has an effect of more than %.1f %%.", 100 * (least - 1));
    dsgd_print_text("", 0, "%s", text);
}

/** Prints a blank line and then a table. */
static void print_below(dsgd_columns *t)
{
    putchar('\n');
    dsgd_columns_print(t);
}

/* --- parts of a step, and speed-ups of counterfactuals ---------------------------------------- */

/**
 * Adds a row for one part of the step. @p share is the share of this part in the step. If the share
 * is 0 except for rounding, adds the row only if @p always is true.
 */
static void put_share(dsgd_columns *t, const point *p, const char *part, double share, bool always)
{
    static const double rounding = 1e-9;
    share = share > rounding ? share : 0;
    if (share == 0 && !always)
        return;
    dsgd_columns_row(t);
    dsgd_columns_take(t, "where a step goes", part);
    dsgd_columns_put(t, "time (s)", "%.4g", share * p->step_s);
    dsgd_columns_put(t, "share (%)", "%.1f", 100 * share);
}

/**
 * Prints the parts of the time of a step. @p beside_s is the time per step by which exchanges on
 * the GPU delay the computation.
 */
static void print_parts(const explained *e, const point *p, double beside_s)
{
    static const char *const causes[] = {"lost", "detect", "repair", "restart", "checkpoint", NULL};
    dsgd_columns t = {.wraps = false};
    put_share(&t, p, "computation", p->compute, true);
    put_share(&t, p, "  pipeline bubbles", mean_of(e, p, "bubble_share") * p->compute, false);
    put_share(&t, p, "  slower because of exchanges", beside_s / p->step_s, false);
    put_share(&t, p, "communication", p->communicate, true);
    put_share(&t, p, "waiting for other workers", p->wait, true);
    put_share(&t, p, "total", 1, true);
    /*
     * The cause "lost work" is time in which workers compute. The other causes are times in which
     * workers wait.
     */
    for (size_t k = 0; causes[k] != NULL; k++)
        put_share(&t, p, dsgd_xprintf("taken by failures: %s", causes[k]),
                  mean_of(e, p, dsgd_xprintf("%s_s", causes[k])) / p->virtual_s, false);
    print_below(&t);
}

/**
 * Returns the 95 % interval in which the speed-up of one more seed would be. This interval is wider
 * than the interval of the mean by the factor sqrt(n + 1).
 */
static const char *next_text(const dsgd_ratio *r)
{
    enum { LEAST_SEEDS = 3 };
    const double factor = pow(r->high / r->ratio, sqrt((double)r->n + 1));
    return r->n < LEAST_SEEDS ? ""
                              : dsgd_xprintf("%.3f to %.3f", r->ratio / factor, r->ratio * factor);
}

/**
 * Prints the counterfactuals from @p first to @p end - 1 that have results. The largest speed-up
 * comes first.
 */
static void print_gains(const point *p, const char *head, int first, int end)
{
    static const char *const next = "another seed (95 %)", *const goodput = "goodput";
    dsgd_columns t = {.wraps = false};
    size_t order[DSGD_SAME_STEPS];
    double loss[DSGD_SAME_STEPS] = {0};
    for (int k = first; k < end; k++)
        loss[k - first] = p->gains[k].speedup.n > 0 ? -p->gains[k].speedup.ratio : 0;
    gsl_sort_index(order, loss, 1, (size_t)(end - first));
    for (int k = 0; k < end - first && loss[order[k]] < 0; k++) {
        const gain *const g = &p->gains[first + (int)order[k]];
        dsgd_columns_row(&t);
        dsgd_columns_take(&t, head, g->name);
        dsgd_columns_put(&t, "step (s)", "%.4g", g->step_s);
        dsgd_columns_take(&t, goodput, isnan(g->goodput) ? "" : dsgd_xprintf("%.3g", g->goodput));
        dsgd_columns_put(&t, "speed-up", "%.3f", g->speedup.ratio);
        dsgd_columns_take(&t, next, next_text(&g->speedup));
    }
    if (t.n_rows == 0)
        return;
    dsgd_columns_hide(&t, next, "");
    dsgd_columns_hide(&t, goodput, "");
    print_below(&t);
}

/* --- the slowest workers and the busiest links ------------------------------------------------ */

enum { MOST_NAMED = 3 };

/**
 * Finds up to MOST_NAMED elements of x[n] above @p bound, in descending order. Equal elements keep
 * their order. Returns the number of these elements.
 */
static size_t find_largest(const double *x, size_t n, double bound, size_t largest[MOST_NAMED])
{
    size_t n_found = 0;
    for (size_t i = 0; i < n; i++) {
        size_t k = n_found;
        if (!(x[i] > bound) || (k == MOST_NAMED && !(x[i] > x[largest[k - 1]])))
            continue;
        n_found += k < MOST_NAMED;
        for (k = n_found - 1; k > 0 && x[i] > x[largest[k - 1]]; k--)
            largest[k] = largest[k - 1];
        largest[k] = i;
    }
    return n_found;
}

static void print_workers(const dsgd_facts *f, double steps)
{
    /*
     * smallest computing time of a slow worker, as a multiple of the median worker's computing time
     */
    static const double slow = 1.001;
    if (f->workers == NULL) /* never: every run has workers */
        return;
    const double median_s = f->workers[f->median].compute_s;
    double *const compute_s = dsgd_keep((size_t)f->n_workers, sizeof *compute_s);
    size_t slowest[MOST_NAMED];
    dsgd_columns t = {.wraps = false};
    for (int i = 0; i < f->n_workers; i++)
        compute_s[i] = f->workers[i].compute_s;
    const size_t n = find_largest(compute_s, (size_t)f->n_workers, slow * median_s, slowest);
    for (size_t k = 0; k < n; k++) {
        const dsgd_worker_facts *const w = &f->workers[slowest[k]];
        dsgd_columns_row(&t);
        dsgd_columns_put(&t, "slowest worker", "%zu", slowest[k]);
        dsgd_columns_put(&t, "host", "%d", w->slow_place);
        if (w->stage >= 0)
            dsgd_columns_put(&t, "slowest stage", "%d (%.2f times)", w->stage, w->stage_slowness);
        dsgd_columns_put(&t, "computes (s)", "%.4g", w->compute_s);
        dsgd_columns_put(&t, "over median", "%.3f", w->compute_s / median_s);
        dsgd_columns_put(&t, "last (%)", "%.1f", 100 * w->last);
        dsgd_columns_put(&t, "others wait (s/step)", "%.3g",
                         w->held_s / fmax(1, f->n_workers - 1) / steps);
    }
    if (n == 0)
        puts("\nNo worker computes longer than the median worker.");
    else
        print_below(&t);
}

/**
 * Returns a readable name such as "NIC 3, out" for a link that the program has made. Returns the
 * name of a link from a user's file unchanged.
 */
static const char *link_name(const char *link)
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
        return dsgd_xprintf("node of host %d, %s", i, direction);
    return link;
}

static void print_links(const dsgd_facts *f, double virtual_s)
{
    static const double alike = 0.99; /* if the ratio of two utilisations is above this, the
                                       * utilisations count as equal */
    double *const use = dsgd_keep(f->n_links + 1, sizeof *use);
    /* number of links that are about as busy as the last printed link, or busier */
    size_t busiest[MOST_NAMED], n_alike = 0;
    dsgd_columns t = {.wraps = false};
    for (size_t i = 0; i < f->n_links; i++)
        use[i] = f->links[i].bytes / f->links[i].bytes_per_s / virtual_s;
    const size_t n = find_largest(use, f->n_links, 0, busiest);
    for (size_t k = 0; k < n; k++) {
        const dsgd_link_facts *const link = &f->links[busiest[k]];
        dsgd_columns_row(&t);
        dsgd_columns_take(&t, "busiest link", link_name(link->link));
        dsgd_columns_put(&t, "utilisation (%)", "%.1f", 100 * use[busiest[k]]);
        dsgd_columns_put(&t, "data sent (GB)", "%.4g", link->bytes / 1e9);
        dsgd_columns_put(&t, "bandwidth (GB/s)", "%.4g", link->bytes_per_s / 1e9);
    }
    for (size_t i = 0; n > 0 && i < f->n_links; i++)
        n_alike += use[i] >= alike * use[busiest[n - 1]];
    if (n == 0)
        puts("\nNo link carries data.");
    else
        print_below(&t);
    if (n_alike > n)
        printf("%s as busy as the last of these.\n",
               n_alike == n + 1 ? "1 more link is"
                                : dsgd_xprintf("%zu more links are", n_alike - n));
}

/* --- sections --------------------------------------------------------------------------------- */

static dsgd_status print_point(const explained *e, const point *p, dsgd_error *error)
{
    dsgd_facts facts = {0};
    double beside_s = 0;
    /* Read the first run last, so that `facts` finally contains the facts of the first run. */
    for (size_t k = p->n; k-- > 0;) {
        DSGD_TRY(dsgd_facts_read(e->results->folder, p->runs[k], &facts, error));
        for (int i = 0; i < facts.n_workers; i++)
            beside_s += facts.workers[i].beside_s / facts.n_workers / (double)p->n;
    }
    const dsgd_planned_run *const run = &e->experiment->runs[p->runs[0]];
    const int rule = DSGD_TEXT_WIDTH - (int)strlen(p->label) - 5;
    printf("\n--- %s ", p->label);
    for (int k = 0; k < rule; k++)
        putchar('-');
    putchar('\n');
    print_conclusion(p);
    print_parts(e, p, beside_s);
    print_gains(p, "what if", 0, DSGD_N_CAUSES);
    print_gains(p, "instead", DSGD_N_CAUSES, DSGD_SAME_STEPS);
    print_workers(&facts, dsgd_results_value(e->results, p->runs[0], "steps"));
    print_links(&facts, dsgd_results_value(e->results, p->runs[0], "virtual_s"));
    if (run->platform.routes.n > 0 && run->config.network == DSGD_NETWORK_FLOWS)
        puts("Routes between regions are not counted.");
    return DSGD_OK;
}

/** Prints why runs failed or diverged. */
static void print_notes(const explained *e)
{
    for (size_t i = 0; i < e->experiment->n_runs; i++) {
        const dsgd_planned_run *const run = &e->experiment->runs[i];
        const char *const why = dsgd_results_why(e->results, i);
        if (*why != '\0')
            dsgd_print_text("", 0, "run %zu%s%s %s: %s", run->unchanged + 1,
                            run->parameter == NULL ? "" : ", ",
                            run->parameter == NULL ? "" : run->parameter,
                            dsgd_results_field(e->results, i, "status"), why);
    }
}

dsgd_status dsgd_explained_print(const dsgd_experiment *experiment, const dsgd_results *results,
                                 dsgd_error *error)
{
    const explained e = {experiment, results};
    dsgd_csv runs;
    dsgd_frame f;
    size_t n = 0;
    DSGD_TRY(dsgd_csv_read(&runs, error, "%s/runs.csv", results->folder));
    DSGD_TRY(dsgd_frame_open(&runs, &(dsgd_framing){.planned = true}, &f, error));
    point *const points = dsgd_keep(f.n_points + 1, sizeof *points);
    for (const dsgd_frame_point *of = f.points; of < f.points + f.n_points; of++) {
        /* Skip the points of counterfactuals, because gain_of() reads their results. */
        if (*dsgd_frame_value(&f, of, f.n_keys - 1) != '\0')
            continue;
        points[n] = point_of(&e, &f, of);
        if (points[n].n == 0)
            printf("%s: no run has results to explain\n\n", points[n].label);
        n += points[n].n > 0;
    }
    if (n > 0) {
        printf("%s\n\n", shared_title(points, n));
        print_summary(points, n);
    }
    for (const point *p = points; p < points + n; p++)
        DSGD_TRY(print_point(&e, p, error));
    putchar('\n');
    print_notes(&e);
    dsgd_print_text("", 0,
                    "Speed-up: throughput of the changed run divided by that of the original run, "
                    "with the same random draws. Each row changes one thing, so speed-ups do not "
                    "add up. No stragglers: every gradient takes the median time. Communication "
                    "that overlaps with computation counts as computation. last (%%): share of the "
                    "steps in which the worker was the last to finish computing. others wait: "
                    "time that each other worker waits for this one.");
    return DSGD_OK;
}
