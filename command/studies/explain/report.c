/**
 * @file report.c
 * What is printed: per point, the runs that differ in the seed alone, where a
 * step goes, what would be gained, who is slow, and one sentence.
 */
#include <gsl/gsl_cdf.h>
#include <gsl/gsl_statistics_double.h>

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
    const dsgd_results *results; /* of its runs and their counterfactuals */
} explained;

/** Runs that differ in the seed alone. */
typedef struct point {
    size_t n, *runs; /* [n] that have results */
    double throughput, step_s, compute, communicate, wait; /* means */
    double beside_s; /* of a step: that GPUs compute longer as exchanges need them */
    dsgd_ratio gain[DSGD_SAME_STEPS]; /* of throughput; n == 0: not run, or failed */
    double then_s[DSGD_SAME_STEPS]; /* step */
    double then_goodput[DSGD_SAME_STEPS];
} point;

/** The run with which the counterfactuals of run @p i are compared. */
static size_t as_it_is(const explained *e, size_t i)
{
    const size_t by_steps = dsgd_counterfactual_run(e->experiment, i, DSGD_SAME_STEPS);
    return isnan(dsgd_results_throughput(e->results, by_steps)) ? i : by_steps;
}

static double mean_of(const explained *e, const point *p, const char *column)
{
    double sum = 0;
    for (size_t k = 0; k < p->n; k++)
        sum += dsgd_results_value(e->results, as_it_is(e, p->runs[k]), column);
    return sum / (double)p->n;
}

/** Of the seeds for which both ran. */
static void compare(const explained *e, point *p, dsgd_counterfactual which)
{
    double *const logs = dsgd_keep(p->n, sizeof *logs);
    double sum_s = 0, goodput = 0;
    size_t n = 0;
    for (size_t k = 0; k < p->n; k++) {
        const size_t other = dsgd_counterfactual_run(e->experiment, p->runs[k], which);
        const double gain = dsgd_results_throughput(e->results, other) /
                            dsgd_results_throughput(e->results, as_it_is(e, p->runs[k]));
        if (!(gain > 0))
            continue;
        logs[n++] = log(gain);
        sum_s += dsgd_results_value(e->results, other, "step_mean_s");
        goodput += dsgd_results_value(e->results, other, "goodput");
    }
    p->gain[which] = dsgd_ratio_of(logs, n);
    p->then_s[which] = sum_s / (double)n;
    p->then_goodput[which] = goodput / (double)n;
}

/** The runs of a point of the frame that have results. */
static point point_of(const explained *e, const dsgd_frame *f, const dsgd_frame_point *of)
{
    const size_t number = dsgd_csv_column(f->csv, "run");
    point p = {.runs = dsgd_keep(of->n_rows, sizeof *p.runs)};
    for (size_t k = 0; k < of->n_rows; k++) {
        p.runs[p.n] = (size_t)dsgd_csv_value(f->csv, of->rows[k], number) - 1;
        p.n += dsgd_results_throughput(e->results, p.runs[p.n]) > 0;
    }
    if (p.n == 0)
        return p;
    p.throughput = mean_of(e, &p, "throughput_samples_per_s");
    p.step_s = mean_of(e, &p, "step_mean_s");
    p.compute = mean_of(e, &p, "compute_share");
    p.communicate = mean_of(e, &p, "comm_share");
    p.wait = mean_of(e, &p, "wait_share");
    for (int which = 0; which < DSGD_SAME_STEPS; which++)
        compare(e, &p, which);
    return p;
}

/* --- the table -------------------------------------------------------------------------------- */

/** Where a run with another seed would be, by 95 %; of the mean the interval is narrower by the
 * root of n + 1. */
static const char *next_text(const dsgd_ratio *gain)
{
    enum { LEAST_SEEDS = 3 };
    const double factor = pow(gain->high / gain->ratio, sqrt((double)gain->n + 1));
    return gain->n < LEAST_SEEDS
               ? ""
               : dsgd_xprintf("%.3f to %.3f", gain->ratio / factor, gain->ratio * factor);
}

static const char *const next_head = "another seed (95 %)";

/** @p gain NULL: it is a part of the step. */
static void put_row(dsgd_columns *t, const char *what, double step_s, double share,
                    const dsgd_ratio *gain)
{
    dsgd_columns_row(t);
    dsgd_columns_put(t, "", "%s", what);
    dsgd_columns_put(t, "step (s)", "%.4g", step_s);
    dsgd_columns_take(t, "share (%)", isnan(share) ? "" : dsgd_xprintf("%.1f", 100 * share));
    dsgd_columns_take(t, "times as fast", gain == NULL ? "" : dsgd_xprintf("%.3f", gain->ratio));
    dsgd_columns_take(t, next_head, gain == NULL ? "" : next_text(gain));
}

/** What failures cost, by the columns of runs.csv. */
static const char *const causes[] = {"lost", "detect", "repair", "restart", "checkpoint", NULL};

static double share_of(const explained *e, const point *p, const char *cause)
{
    return mean_of(e, p, dsgd_xprintf("%s_s", cause)) / mean_of(e, p, "virtual_s");
}

/** It is in the rows above it too: lost work is computed, the rest waits. */
static void put_failures(const explained *e, const point *p, dsgd_columns *t)
{
    for (size_t k = 0; causes[k] != NULL; k++) {
        const double share = share_of(e, p, causes[k]);
        if (share > 0)
            put_row(t, dsgd_xprintf("  by failures: %s", causes[k]), share * p->step_s, share,
                    NULL);
    }
}

static void print_table(const explained *e, const point *p)
{
    static const double rounding = 1e-9;
    static const dsgd_ratio one = {.n = 1, .ratio = 1};
    dsgd_columns t = {.wraps = false};
    put_row(&t, "as it is", p->step_s, 1, &one);
    put_row(&t, "  compute", p->compute * p->step_s, p->compute, NULL);
    if (mean_of(e, p, "bubble_share") > rounding)
        put_row(&t, "    of it, bubbles", mean_of(e, p, "bubble_share") * p->compute * p->step_s,
                mean_of(e, p, "bubble_share") * p->compute, NULL);
    if (p->beside_s > rounding * p->step_s)
        put_row(&t, "    of it, for exchanges", p->beside_s, p->beside_s / p->step_s, NULL);
    put_row(&t, "  communicate", p->communicate * p->step_s, p->communicate, NULL);
    const double wait = p->wait < rounding ? 0 : p->wait;
    put_row(&t, "  wait", wait * p->step_s, wait, NULL);
    put_failures(e, p, &t);
    for (int which = 0; which < DSGD_SAME_STEPS; which++)
        if (p->gain[which].n > 0)
            put_row(&t, dsgd_counterfactual_names[which], p->then_s[which], NAN, &p->gain[which]);
    dsgd_columns_hide(&t, next_head, "");
    dsgd_columns_print(&t);
}

/** "wagma group=4, 64 workers, habitat-p100 on piz-daint, 3 seeds from 1". */
static void print_title(const explained *e, const point *p)
{
    const dsgd_planned_run *const run = &e->experiment->runs[p->runs[0]];
    char *const swept = dsgd_row_swept(e->experiment, p->runs[0]);
    const char *const seeds = p->n > 1 ? dsgd_xprintf("%zu seeds from", p->n) : "seed";
    dsgd_print_text("", 0, "%s%s%s, %d worker%s, %s on %s, %s %jd", run->label,
                    *swept == '\0' ? "" : " ", swept, run->config.workers,
                    run->config.workers == 1 ? "" : "s", run->workload_name, run->platform_name,
                    seeds, run->seed);
}

/* --- who is slow ------------------------------------------------------------------------------ */

enum { MOST_NAMED = 3 };

/** Indices of the largest of x[n] above @p least, largest first, of equals the first; gives how
 * many. */
static size_t find_largest(const double *x, size_t n, double least, size_t largest[MOST_NAMED])
{
    size_t n_found = 0;
    for (size_t i = 0; i < n; i++) {
        size_t k = n_found;
        if (!(x[i] > least) || (k == MOST_NAMED && !(x[i] > x[largest[k - 1]])))
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
    static const double least = 1.001; /* times the median worker's */
    const double median_s = f->workers[f->median].compute_s;
    double *const compute_s = dsgd_keep((size_t)f->n_workers, sizeof *compute_s);
    size_t slowest[MOST_NAMED];
    dsgd_columns t = {.wraps = false};
    for (int i = 0; i < f->n_workers; i++)
        compute_s[i] = f->workers[i].compute_s;
    const size_t n = find_largest(compute_s, (size_t)f->n_workers, least * median_s, slowest);
    for (size_t k = 0; k < n; k++) {
        const dsgd_worker_facts *const w = &f->workers[slowest[k]];
        dsgd_columns_row(&t);
        dsgd_columns_put(&t, "slowest worker", "%zu", slowest[k]);
        dsgd_columns_put(&t, "host", "%d", w->slow_place);
        if (w->stage >= 0)
            dsgd_columns_put(&t, "slowest stage", "%d (%.2f times)", w->stage, w->stage_slowness);
        dsgd_columns_put(&t, "computes (s)", "%.4g", w->compute_s);
        dsgd_columns_put(&t, "of median", "%.3f", w->compute_s / median_s);
        dsgd_columns_put(&t, "is last (%)", "%.1f", 100 * w->last);
        dsgd_columns_put(&t, "others wait (s/step)", "%.3g",
                         w->held_s / fmax(1, f->n_workers - 1) / steps);
    }
    if (n == 0)
        puts("no worker computes longer than the median one");
    else
        dsgd_columns_print(&t);
}

/** "NIC 3, out", or as it is called in the user's file */
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
        return dsgd_xprintf("island of host %d, %s", i, direction);
    return link;
}

static void print_links(const dsgd_facts *f, double virtual_s)
{
    static const double alike = 0.99; /* shares of use */
    double *const use = dsgd_keep(f->n_links + 1, sizeof *use);
    size_t busiest[MOST_NAMED], n_alike = 0; /* used as much as the last named one, or more */
    dsgd_columns t = {.wraps = false};
    for (size_t i = 0; i < f->n_links; i++)
        use[i] = f->links[i].bytes / f->links[i].bytes_per_s / virtual_s;
    const size_t n = find_largest(use, f->n_links, 0, busiest);
    for (size_t k = 0; k < n; k++) {
        const dsgd_link_facts *const link = &f->links[busiest[k]];
        dsgd_columns_row(&t);
        dsgd_columns_take(&t, "busiest link", link_name(link->link));
        dsgd_columns_put(&t, "used (%)", "%.1f", 100 * use[busiest[k]]);
        dsgd_columns_put(&t, "carries (GB)", "%.4g", link->bytes / 1e9);
        dsgd_columns_put(&t, "of (GB/s)", "%.4g", link->bytes_per_s / 1e9);
    }
    for (size_t i = 0; n > 0 && i < f->n_links; i++)
        n_alike += use[i] >= alike * use[busiest[n - 1]];
    if (n == 0)
        puts("no link carries anything");
    else
        dsgd_columns_print(&t);
    if (n_alike > n)
        printf("as busy as the last of these: %zu more\n", n_alike - n);
}

/* --- the sentence ----------------------------------------------------------------------------- */

/** Some causes are alike, of workers, of the network or of copies: two that differ are of two
 * kinds. Failing links are of a fourth. */
static int kind_of(int which)
{
    return which == DSGD_WITHOUT_LINK_FAILURES
               ? 3
               : (which > DSGD_WITHOUT_SLOWEST) + (which > DSGD_HALF_LATENCY);
}

static const double least = 1.005, equal = 1e-3; /* gains that are told, or that are alike */
static const int named[] = {DSGD_WITHOUT_SLOWEST, DSGD_WITHOUT_SLOW_LINKS}; /* of kinds 0 and 1 */

/**
 * The largest gain of a cause other than @p but; -1: none that is told. One that can be named has a
 * clause of its own, beside which others of its kind have to gain more. An idle network, which
 * nobody can buy, counts where nothing else of the network gains.
 */
static int best_of(const point *p, int but)
{
    const bool network_gains =
        p->gain[DSGD_TWICE_BANDWIDTH].ratio >= least || p->gain[DSGD_HALF_LATENCY].ratio >= least;
    int best = -1;
    for (int which = 0; which < DSGD_N_PLAIN_CAUSES; which++) {
        const double gain = p->gain[which].ratio;
        const int kind = kind_of(which);
        const bool counts = (but < 0 || kind != kind_of(but)) &&
                            !(which == DSGD_IDLE_NETWORK && network_gains) &&
                            (kind > 1 || !(gain <= p->gain[named[kind]].ratio * (1 + equal)));
        if (counts && gain >= least && (best < 0 || gain > p->gain[best].ratio * (1 + equal)))
            best = which;
    }
    return best;
}

/** "worker 5 (host 5) computed as long as the median one"; NULL: it does, but for chance. */
static const char *slow_worker(const dsgd_facts *f)
{
    static const double alike_s = 1e-12, chance = 0.01;
    const double *const s[] = {f->compute_s + f->slowest * f->n_steps,
                               f->compute_s + f->median * f->n_steps};
    double *const more_s = dsgd_keep((size_t)f->n_steps + 1, sizeof *more_s);
    size_t n = 0;
    for (int64_t t = 0; t < f->n_steps; t++, n += !isnan(more_s[n]))
        more_s[n] = s[0][t] - s[1][t];
    const double mean_s = gsl_stats_mean(more_s, 1, n);
    const double error_s = gsl_stats_sd(more_s, 1, n) / sqrt((double)n);
    const double most = gsl_cdf_tdist_Qinv(chance / f->n_workers, fmax(1, (double)n - 1));
    const dsgd_worker_facts *const w = &f->workers[f->slowest];
    const char *const stage =
        w->stage < 0 ? ""
                     : dsgd_xprintf(", whose stage %d takes %.2f times as long as its others,",
                                    w->stage, w->stage_slowness);
    return n < 2 || !(mean_s > alike_s + error_s * most)
               ? NULL
               : dsgd_xprintf(
                     "worker %d (host %d)%s computed as long as the median one, not %.3g s "
                     "(%.0f %%) longer",
                     f->slowest, w->slow_place, stage, mean_s,
                     100 * mean_s / f->workers[f->median].compute_s);
}

/** "the slow links of host 2 and host 5 were like the others'" */
static const char *slow_links(const dsgd_facts *f, const dsgd_platform *platform)
{
    dsgd_names hosts = {.n = 0};
    for (int i = 0; i < f->n_workers * f->n_lanes; i++) {
        if (dsgd_has_slow_links(platform, f->places[i]))
            dsgd_names_add(&hosts, dsgd_xprintf("host %d", f->places[i]));
    }
    return dsgd_xprintf("the slow links of %s were like the others'",
                        hosts.n == 0 ? "servers" : dsgd_listed(hosts.v, " and "));
}

/** What else could be run: the fastest with as many workers; and what more of them are worth. */
static void append_instead(char **text, const point *p)
{
    int best = DSGD_BY_LOCAL_SGD, most = DSGD_16_TIMES_WORKERS;
    for (int which = best; which <= DSGD_SMALL_BUCKETS; which++)
        if (!(p->gain[best].ratio >= p->gain[which].ratio))
            best = which;
    while (most > DSGD_TWICE_WORKERS && p->gain[most].n == 0)
        most--;
    if (p->gain[best].ratio >= 1 + DSGD_TIE)
        dsgd_append(text,
                    ". Instead, %s, it would make %.2f times as many samples per second (what it "
                    "learns from them a run with `learn` says)",
                    dsgd_counterfactual_names[best], p->gain[best].ratio);
    else if (p->gain[best].n > 0)
        dsgd_append(text, ". No other algorithm that was tried would be faster by %.0f %%",
                    100 * DSGD_TIE);
    if (p->gain[most].n > 0)
        dsgd_append(text, ". And %s, %.3g times as many samples per second",
                    dsgd_counterfactual_names[most], p->gain[most].ratio);
}

/** What failures take, by cause, and which changes give how much of it back. */
static void append_failures(char **text, const explained *e, const point *p)
{
    const double goodput = mean_of(e, p, "goodput"), daly_s = mean_of(e, p, "daly_s");
    const char *before = " (";
    if (!(goodput < 1))
        return;
    dsgd_append(text, ". Failures take %.2g %% of the time", 100 * (1 - goodput));
    for (size_t k = 0; causes[k] != NULL; k++) {
        const double share = share_of(e, p, causes[k]);
        if (!(share > 0))
            continue;
        dsgd_append(text, "%s%s %.2g %%", before, causes[k], 100 * share);
        before = ", ";
    }
    dsgd_append(text, ")");
    for (int which = DSGD_N_PLAIN_CAUSES; which < DSGD_N_CAUSES; which++) {
        if (!(p->gain[which].ratio >= least))
            continue;
        dsgd_append(text, "; %s",
                    which == DSGD_BY_DALY
                        ? dsgd_xprintf("with a checkpoint every %.4g s (Daly)", daly_s)
                        : dsgd_counterfactual_names[which]);
        dsgd_append(text, " it would be %.2f times as fast", p->gain[which].ratio);
        if (which != DSGD_WITHOUT_FAILURES)
            dsgd_append(text, ", at a goodput of %.3g", p->then_goodput[which]);
    }
}

/** What pipelines wait, and what passes between the hosts of workers that are groups. */
static void append_inside(char **text, const explained *e, const point *p)
{
    const double bubbles = mean_of(e, p, "bubble_share");
    const double inside = mean_of(e, p, "inner_bytes") / mean_of(e, p, "steps") /
                          (double)e->experiment->runs[p->runs[0]].workers;
    if (bubbles >= 0.5e-2)
        dsgd_append(text, ". %.0f %% of computing is the pipelines' bubble", 100 * bubbles);
    if (inside > 0)
        dsgd_append(text,
                    inside < 1e11 ? ". Inside a worker %.3g GB pass in a step"
                                  : ". Inside a worker %.0f GB pass in a step",
                    inside / 1e9);
}

/** Of peers that come and go by themselves. */
static void append_peers(char **text, const explained *e, const point *p)
{
    const double outlived = mean_of(e, p, "outlived"), moves = mean_of(e, p, "moves");
    if (outlived > 0)
        dsgd_append(text,
                    ". %.3g failure%s took a peer from its stage, which went on with the others",
                    outlived, outlived == 1 ? "" : "s");
    if (moves > 0)
        dsgd_append(text, "%s moved to a slower stage",
                    moves == 1 ? ". A peer" : dsgd_xprintf(". %.3g peers", moves));
}

static void print_sentence(const explained *e, const point *p, const dsgd_facts *f)
{
    const int best = best_of(p, -1);
    const int other = best < 0 ? -1 : best_of(p, best);
    const bool waits = p->wait >= p->communicate, fails = mean_of(e, p, "goodput") < 1;
    const dsgd_planned_run *const run = &e->experiment->runs[p->runs[0]];
    const char *const ifs[] = {slow_worker(f), slow_links(f, &run->platform)};
    char *text = dsgd_xprintf(
        "%s: %.0f %% of a step is %s%s", run->label, 100 * (waits ? p->wait : p->communicate),
        waits ? "waiting" : "communication", waits && fails ? ", with what failures take" : "");
    for (size_t k = 0; k < 2; k++)
        if (p->gain[named[k]].ratio >= least && ifs[k] != NULL)
            dsgd_append(&text, "; if %s%s, it would be %.2f times as fast", ifs[k],
                        k == 0 && p->n > 1 ? " (first seed)" : "", p->gain[named[k]].ratio);
    if (best >= 0)
        dsgd_append(&text, "; %s it would be %.2f times as fast", dsgd_counterfactual_names[best],
                    p->gain[best].ratio);
    if (other >= 0)
        dsgd_append(&text, ", %s %.2f times", dsgd_counterfactual_names[other],
                    p->gain[other].ratio);
    if (best < 0 && strchr(text, ';') == NULL && !fails)
        dsgd_append(&text, "; nothing that was tried would make it faster");
    append_inside(&text, e, p);
    append_peers(&text, e, p);
    append_failures(&text, e, p);
    append_instead(&text, p);
    putchar('\n');
    dsgd_print_text("", 0, "%s", text);
}

static dsgd_status print_point(const explained *e, point *p, dsgd_error *error)
{
    dsgd_facts facts = {0};
    for (size_t k = p->n; k-- > 0;) { /* those of the first stay */
        DSGD_TRY(dsgd_facts_read(e->results->folder, p->runs[k], &facts, error));
        for (int i = 0; i < facts.n_workers; i++)
            p->beside_s += facts.workers[i].beside_s / facts.n_workers / (double)p->n;
    }
    print_title(e, p);
    printf(p->throughput >= 1000 ? "%.0f samples/s\n\n" : "%.4g samples/s\n\n", p->throughput);
    print_table(e, p);
    putchar('\n');
    print_workers(&facts, dsgd_results_value(e->results, p->runs[0], "steps"));
    putchar('\n');
    print_links(&facts, dsgd_results_value(e->results, p->runs[0], "virtual_s"));
    const dsgd_planned_run *const run = &e->experiment->runs[p->runs[0]];
    if (run->platform.routes.n > 0 && run->config.network == DSGD_NETWORK_FLOWS)
        puts("what a route between regions carries is not counted");
    print_sentence(e, p, &facts);
    putchar('\n');
    return DSGD_OK;
}

/** Why runs failed or diverged. */
static void print_notes(const explained *e)
{
    for (size_t i = 0; i < e->experiment->n_runs; i++) {
        const dsgd_planned_run *const run = &e->experiment->runs[i];
        const char *const why = dsgd_results_why(e->results, i);
        if (*why != '\0')
            dsgd_print_text("", 0, "run %zu%s%s %s: %s", run->unchanged + 1,
                            run->parameter == NULL ? "" : " ",
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
    DSGD_TRY(dsgd_csv_read(&runs, error, "%s/runs.csv", results->folder));
    DSGD_TRY(dsgd_frame_open(&runs, &(dsgd_framing){.planned = true}, &f, error));
    for (const dsgd_frame_point *of = f.points; of < f.points + f.n_points; of++) {
        if (*dsgd_frame_value(&f, of, f.n_keys - 1) != '\0')
            continue; /* what_if: its row is in the table of the runs as they are */
        point p = point_of(&e, &f, of);
        if (p.n > 0)
            DSGD_TRY(print_point(&e, &p, error));
        else
            printf("%s: no step to explain\n\n", dsgd_frame_value(&f, of, 0));
    }
    print_notes(&e);
    dsgd_print_text("", 0,
                    "Times as fast: samples per second over those of the same run as it is, with "
                    "the same draws. Gains do not add up: each is of one change alone.");
    return DSGD_OK;
}
