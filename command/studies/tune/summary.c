/**
 * @file summary.c
 * The table of the best values, and sentences: the rungs, and the caveats of the values.
 */
#include "base/csv.h"
#include "base/file.h"
#include "base/option.h"
#include "command/analysis/frame.h"
#include "command/console/table.h"
#include "command/experiment/config.h"
#include "command/runs/swept.h"
#include "command/studies/tune/tune.h"

const char *dsgd_tune_length_text(const dsgd_tune *t, size_t length)
{
    const dsgd_until *const until = &t->lengths[length];
    const double bounds[] = {until->steps, until->seconds, until->samples};
    static const char *const units[] = {"steps", "s", "samples"};
    char *text = dsgd_xstrdup("");
    for (size_t k = 0; k < 3; k++)
        if (bounds[k] > 0)
            dsgd_append(&text, "%s%.6g %s", *text == '\0' ? "" : ", ", bounds[k], units[k]);
    return text;
}

/** The value of an option for readers; NULL: the algorithm does not have the option. */
static const char *shown(const dsgd_tune *t, size_t candidate, size_t k)
{
    const char *const value = dsgd_tune_value(t, candidate, k);
    return value == NULL ? NULL : dsgd_swept_value(t->grid.columns[k], value);
}

/** "0.1" or "lr 0.1, group 4". */
static const char *shown_all(const dsgd_tune *t, size_t candidate)
{
    char *text = dsgd_xstrdup("");
    const char *value = NULL, *last = "";
    size_t n = 0;
    for (size_t k = 0; k < t->n_options; k++) {
        if ((value = shown(t, candidate, k)) == NULL)
            continue;
        dsgd_append(&text, "%s%s %s", n++ == 0 ? "" : ", ", dsgd_last_key(t->options[k]), value);
        last = value;
    }
    return n == 1 ? last : text;
}

/* --- sentences -------------------------------------------------------------------------------- */

/** A sentence with the algorithms that it is about. */
typedef struct note {
    char *who;
    const char *text;
} note;

typedef struct notes {
    size_t n;
    note *v; /* [n] */
} notes;

static void say(notes *all, const dsgd_tuned *a, const char *text)
{
    size_t i = 0;
    while (i < all->n && strcmp(all->v[i].text, text) != 0)
        i++;
    if (i < all->n) {
        dsgd_append(&all->v[i].who, ", %s", a->label);
        return;
    }
    all->v = dsgd_keep_more(all->v, all->n + 1, sizeof *all->v);
    all->v[all->n++] = (note){dsgd_xstrdup(a->label), text};
}

static void print_notes(const notes *all)
{
    for (size_t i = 0; i < all->n; i++)
        dsgd_print_text("", 2, "%s: %s", all->v[i].who, all->v[i].text);
}

/* --- the plan --------------------------------------------------------------------------------- */

static const char *rungs_text(const dsgd_tune *t, const dsgd_tuned *a)
{
    char *text = dsgd_xstrdup("");
    size_t n = a->n_begun;
    for (size_t rung = 0; rung < a->n_rungs; rung++) {
        const size_t n_seeds = dsgd_rung_seeds(t, a, rung), length = dsgd_rung_length(t, a, rung);
        if (rung > 0)
            n = n_seeds > 1 ? DSGD_TUNE_FINALISTS : (n + DSGD_TUNE_ETA - 1) / DSGD_TUNE_ETA;
        n = n < DSGD_TUNE_FINALISTS && a->n_begun > 1 ? DSGD_TUNE_FINALISTS : n;
        /* dsgd_tune_advance() adds these in rungs of full length. */
        const bool looks_beside = rung > 0 && length + 1 == t->n_lengths;
        dsgd_append(&text, "%s%zu%s for %s with %s", rung == 0 ? "" : "; the best ", n,
                    rung == 0      ? " candidates"
                    : looks_beside ? " and those beside the best"
                                   : "",
                    dsgd_tune_length_text(t, length), dsgd_counted(n_seeds, "seed"));
    }
    return text;
}

dsgd_status dsgd_tune_print_plan(void *tune, dsgd_error *error)
{
    (void)error;
    const dsgd_tune *const t = tune;
    notes all = {0, NULL};
    for (const dsgd_tuned *a = t->algorithms; a < t->algorithms + t->n_algorithms; a++)
        say(&all, a, rungs_text(t, a));
    print_notes(&all);
    fflush(stdout);
    return DSGD_OK;
}

/* --- the table -------------------------------------------------------------------------------- */

/** The places or values of a candidate's seeds in the last rung, [n_seeds]; NAN: none of that kind.
 */
static double *of_seeds(const dsgd_tune *t, const dsgd_trial *x, bool of_place)
{
    double *const v = dsgd_keep(t->n_seeds, sizeof *v);
    for (size_t s = 0; s < t->n_seeds; s++) {
        const dsgd_tune_result *const r = dsgd_tune_ended(t, x->candidate, t->n_lengths - 1, s);
        v[s] = r == NULL ? NAN : of_place ? r->reached : r->value;
    }
    return v;
}

/** Moves the numbers to the front; returns how many there are. */
static size_t without_nan(double *x, size_t n)
{
    size_t n_left = 0;
    for (size_t i = 0; i < n; i++)
        if (isfinite(x[i]))
            x[n_left++] = x[i];
    return n_left;
}

/** "412 ± 30" */
static const char *interval_text(dsgd_interval mean, int digits)
{
    return isnan(mean.ci) ? dsgd_xprintf("%.*g", digits, mean.mean)
                          : dsgd_xprintf("%.*g ± %.2g", digits, mean.mean, mean.ci);
}

/** The mean over all seeds of the best. */
static const char *mean_text(const dsgd_tune *t, const dsgd_tuned *a, bool of_place)
{
    double *const x = of_seeds(t, a->ranked, of_place);
    return interval_text(dsgd_mean(x, without_nan(x, t->n_seeds)), 4);
}

/**
 * How much better the best is than the runner-up, over common seeds: times, losses or throughputs
 * by ratios, of which logarithms are taken, else by differences. *settled: by more than a tie and
 * the noise (95 %), or in more seeds.
 */
static const char *difference(const dsgd_tune *t, const dsgd_tuned *a, bool of_place, bool *settled)
{
    const bool of_ratio = of_place || t->target.below || t->of_throughput;
    double *const best = of_seeds(t, &a->ranked[0], of_place);
    double *const second = of_seeds(t, &a->ranked[1], of_place);
    double *const x = dsgd_keep(t->n_seeds, sizeof *x);
    for (size_t s = 0; s < t->n_seeds; s++)
        x[s] = t->of_throughput ? log(best[s] / second[s])
               : of_ratio       ? log(second[s] / best[s])
                                : best[s] - second[s];
    const size_t n = without_nan(x, t->n_seeds);
    const dsgd_interval mean = dsgd_mean(x, n);
    if (n < t->n_seeds) {
        *settled = without_nan(best, t->n_seeds) > without_nan(second, t->n_seeds);
        return *settled ? "more seeds" : "-";
    }
    *settled = mean.mean > mean.ci && (!of_ratio || mean.mean > log1p(DSGD_TIE));
    if (!of_ratio)
        return interval_text(mean, 2);
    const char *const times = dsgd_xprintf("%.3g times", exp(mean.mean));
    return n < 2 ? times
                 : dsgd_xprintf("%s (%.3g to %.3g)", times, exp(mean.mean - mean.ci),
                                exp(mean.mean + mean.ci));
}

static const char *place_head(const dsgd_tune *t)
{
    return t->on == DSGD_TUNE_TIME ? "time (s)" : "steps";
}

static void put_row(const dsgd_tune *t, const dsgd_tuned *a, dsgd_columns *table)
{
    const bool has_one = dsgd_tune_has_best(a), has_second = has_one && a->n_ranked > 1;
    const bool of_place = has_one && a->ranked->n_reached > 0;
    bool settled = false;
    dsgd_columns_row(table);
    dsgd_columns_put(table, "algorithm", "%s", a->label);
    for (size_t k = 0; k < t->n_options; k++) {
        const char *const value = has_one ? shown(t, a->ranked->candidate, k) : NULL;
        dsgd_columns_put(table, dsgd_last_key(t->options[k]), "%s", value == NULL ? "-" : value);
    }
    if (t->on != DSGD_TUNE_FINAL) {
        dsgd_columns_put(table, "reached", "%zu of %zu", has_one ? a->ranked->n_reached : 0,
                         t->n_seeds);
        dsgd_columns_put(table, place_head(t), "%s", of_place ? mean_text(t, a, true) : "-");
    }
    dsgd_columns_put(table, t->target.column, "%s",
                     has_one && !of_place ? mean_text(t, a, false) : "-");
    dsgd_columns_put(table, "runner-up", "%s",
                     has_second ? shown_all(t, a->ranked[1].candidate) : "-");
    const char *const by = has_second ? difference(t, a, of_place, &settled) : "-";
    dsgd_columns_put(table, "better by", "%s%s", by, settled ? " *" : "");
}

/** How many candidates were tried on one side of the best by option @p k. */
static size_t n_tried(const dsgd_tune *t, const dsgd_tuned *a, size_t k, int way)
{
    size_t n = 0, c = a->ranked->candidate;
    while ((c = dsgd_tune_beside(t, a, c, k, way)) != SIZE_MAX && t->candidates[c].is_tried)
        n++;
    return n;
}

/** Whether a best value is the smallest or largest of those tried. */
static void say_ends(notes *all, const dsgd_tune *t, const dsgd_tuned *a)
{
    for (size_t k = 0; k < t->n_options; k++) {
        const size_t n[] = {n_tried(t, a, k, -1), n_tried(t, a, k, 1)};
        if (n[0] + n[1] > 1 && (n[0] == 0 || n[1] == 0))
            say(all, a,
                dsgd_xprintf("the best %s, %s, is at the end of what was tried, so one beyond it "
                             "may be better",
                             dsgd_last_key(t->options[k]), shown(t, a->ranked->candidate, k)));
    }
}

/** The candidates that cannot be best, by the reason. */
static void say_lost(notes *all, const dsgd_tune *t, const dsgd_tuned *a)
{
    char *lost = dsgd_xstrdup("");
    const char *before = "";
    for (size_t c = a->first; c < a->first + a->n; c++) {
        const char *const out = t->candidates[c].out;
        if (out == NULL)
            continue;
        const bool again = strcmp(out, before) == 0;
        dsgd_append(&lost, "%s%s%s%s", *lost == '\0' ? "" : "; ", again ? "" : out,
                    again ? "" : ": ", shown_all(t, c));
        before = out;
    }
    if (*lost != '\0')
        say(all, a, lost);
}

static void say_all(notes *all, const dsgd_tune *t, const dsgd_tuned *a)
{
    bool settled = true;
    if (!dsgd_tune_has_best(a)) {
        say(all, a,
            dsgd_xprintf("no value that was tried can be best, so the file's own stays: %s %s",
                         shown_all(t, a->ranked->candidate), a->ranked->out));
        say_lost(all, t, a);
        return;
    }
    if (t->on != DSGD_TUNE_FINAL && a->ranked->n_reached == 0)
        say(all, a,
            dsgd_xprintf("no value reaches %s; they are ranked by how near they come",
                         t->target.text));
    if (a->n_ranked > 1)
        difference(t, a, a->ranked->n_reached > 0, &settled);
    if (!settled)
        say(all, a,
            dsgd_xprintf(
                "%s may be as good: %s", shown_all(t, a->ranked[1].candidate),
                t->n_seeds == 1
                    ? "of one seed no noise is known"
                    : dsgd_xprintf("the difference is within 2 %% or the noise of %zu seeds",
                                   t->n_seeds)));
    say_ends(all, t, a);
    say_lost(all, t, a);
}

/**
 * Runs and steps that were needed, beside what every tried candidate with every seed to the end
 * takes.
 */
static void print_cost(const dsgd_tune *t)
{
    size_t n = 0, n_full = 0;
    double steps = 0;
    for (size_t i = 0; i < t->grid.n_runs; i++) {
        n += t->results[i].is_done;
        steps += t->results[i].steps;
    }
    for (size_t c = 0; c < t->n_candidates; c++)
        n_full += t->candidates[c].is_tried * t->n_seeds;
    printf("%zu runs with %.0f steps in all; every candidate with every seed would be %zu runs", n,
           steps, n_full);
    const double whole = t->lengths[t->n_lengths - 1].steps;
    printf("%s\n", whole > 0 ? dsgd_xprintf(" with %.0f", whole * (double)n_full) : "");
}

dsgd_status dsgd_tune_print(const dsgd_tune *t, dsgd_error *error)
{
    dsgd_columns table = {.wraps = true};
    notes all = {0, NULL};
    dsgd_whole_file file;
    for (const dsgd_tuned *a = t->algorithms; a < t->algorithms + t->n_algorithms; a++) {
        put_row(t, a, &table);
        say_all(&all, t, a);
    }
    dsgd_columns_hide(&table, t->target.column, "-");
    dsgd_columns_hide(&table, place_head(t), "-");
    if (dsgd_whole_open(&file, error, "%s/tune.csv", t->pool.folder) == NULL)
        return DSGD_EIO;
    dsgd_columns_write(&table, file.stream);
    DSGD_TRY(dsgd_whole_close(&file, error));
    printf("\n");
    dsgd_columns_print(&table);
    printf("\n");
    if (t->on != DSGD_TUNE_FINAL)
        printf("%s to %s, over %s that the experiment does not have.\n",
               t->on == DSGD_TUNE_TIME ? "Virtual time" : "Steps", t->target.text,
               dsgd_counted(t->n_seeds, "seed"));
    printf("Better by: over common seeds, with its 95 %% interval; *: by more than the noise.\n");
    print_notes(&all);
    print_cost(t);
    return DSGD_OK;
}
