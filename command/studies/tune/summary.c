/**
 * @file summary.c
 * Prints the table of `dsgd tune` with the best values, and notes about this table.
 */
#include "base/csv.h"
#include "base/file.h"
#include "base/option.h"
#include "command/analysis/frame.h"
#include "command/console/table.h"
#include "command/experiment/config.h"
#include "command/runs/swept.h"
#include "command/studies/tune/tune.h"

/**
 * Returns the value of option number @p k of a candidate as a text for readers. Returns NULL if the
 * algorithm does not have this option.
 */
static const char *shown(const dsgd_tune *t, size_t candidate, size_t k)
{
    const char *const value = dsgd_tune_value(t, candidate, k);
    return value == NULL ? NULL : dsgd_swept_value(t->grid.columns[k], value);
}

/**
 * Returns a text with the values of all options of a candidate, such as "0.1" or "lr 0.1, group 4".
 */
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

/* --- the table -------------------------------------------------------------------------------- */

/**
 * Returns an array with one number for each of the n_seeds seeds of a candidate in the last rung.
 * The number is the time (or steps) to the target, or the final value. It is NAN if the seed has no
 * such value.
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

/**
 * Moves the numbers that are not NAN to the front of an array. Returns how many numbers these are.
 */
static size_t without_nan(double *x, size_t n)
{
    size_t n_left = 0;
    for (size_t i = 0; i < n; i++)
        if (isfinite(x[i]))
            x[n_left++] = x[i];
    return n_left;
}

/** Returns a mean with its 95 % interval as a text, such as "412 ± 30". */
static const char *interval_text(dsgd_interval mean, int digits)
{
    return isnan(mean.ci) ? dsgd_xprintf("%.*g", digits, mean.mean)
                          : dsgd_xprintf("%.*g ± %.2g", digits, mean.mean, mean.ci);
}

/** Returns the mean of the best candidate over all seeds as a text. */
static const char *mean_text(const dsgd_tune *t, const dsgd_tuned *a, bool of_place)
{
    double *const x = of_seeds(t, a->ranked, of_place);
    return interval_text(dsgd_mean(x, without_nan(x, t->n_seeds)), 4);
}

/**
 * Returns the advantage of the best candidate over the runner-up, over the seeds that both have.
 * Times, losses and throughputs are compared by ratios; accuracies are compared by differences. A
 * star follows if the advantage is larger than a tie and larger than the noise (95 %). A star also
 * follows if the best candidate has results for more seeds.
 */
static const char *difference(const dsgd_tune *t, const dsgd_tuned *a, bool of_place)
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
    if (n < t->n_seeds)
        return without_nan(best, t->n_seeds) > without_nan(second, t->n_seeds) ? "more seeds *"
                                                                               : "-";
    const bool settled = mean.mean > mean.ci && (!of_ratio || mean.mean > log1p(DSGD_TIE));
    const char *const text = !of_ratio ? interval_text(mean, 2)
                             : n < 2
                                 ? dsgd_xprintf("%.3g times", exp(mean.mean))
                                 : dsgd_xprintf("%.3g times (%.3g to %.3g)", exp(mean.mean),
                                                exp(mean.mean - mean.ci), exp(mean.mean + mean.ci));
    return dsgd_xprintf("%s%s", text, settled ? " *" : "");
}

static const char *place_head(const dsgd_tune *t)
{
    return t->on == DSGD_TUNE_TIME ? "time (s)" : "steps";
}

static void put_row(const dsgd_tune *t, const dsgd_tuned *a, dsgd_columns *table)
{
    const bool has_one = dsgd_tune_has_best(a), has_second = has_one && a->n_ranked > 1;
    const bool of_place = has_one && a->ranked->n_reached > 0;
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
    dsgd_columns_take(table, "better by", has_second ? difference(t, a, of_place) : "-");
}

/* --- notes ------------------------------------------------------------------------------------ */

static bool is_tried(const dsgd_tune *t, size_t candidate)
{
    return candidate != SIZE_MAX && t->candidates[candidate].is_tried;
}

/** Prints the options whose best value is the smallest or the largest of all tried values. */
static void print_ends(const dsgd_tune *t, const dsgd_tuned *a)
{
    const size_t best = a->ranked->candidate;
    for (size_t k = 0; k < t->n_options; k++)
        if (is_tried(t, dsgd_tune_beside(t, a, best, k, -1)) !=
            is_tried(t, dsgd_tune_beside(t, a, best, k, 1)))
            dsgd_print_text(
                "", 2,
                "%s: the best %s, %s, is the smallest or largest that was tried; a value beyond "
                "it may be better",
                a->label, dsgd_last_key(t->options[k]), shown(t, best, k));
}

static void print_notes(const dsgd_tune *t, const dsgd_tuned *a)
{
    if (!dsgd_tune_has_best(a))
        dsgd_print_text("", 2,
                        "%s: no value that was tried can be best, so the file keeps its own: %s %s",
                        a->label, shown_all(t, a->ranked->candidate), a->ranked->out);
    else if (t->on != DSGD_TUNE_FINAL && a->ranked->n_reached == 0)
        dsgd_print_text("", 2, "%s: no value reaches %s; they are ranked by how near they come",
                        a->label, t->target.text);
    if (dsgd_tune_has_best(a))
        print_ends(t, a);
}

/**
 * Prints the cost of the search. Also prints the cost of a full grid, which contains all tried
 * candidates with all seeds and the full length.
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
    printf("%zu runs, %.0f steps; a full grid would take %zu runs\n", n, steps, n_full);
}

dsgd_status dsgd_tune_print(const dsgd_tune *t, dsgd_error *error)
{
    dsgd_columns table = {.wraps = true};
    dsgd_whole_file file;
    for (const dsgd_tuned *a = t->algorithms; a < t->algorithms + t->n_algorithms; a++)
        put_row(t, a, &table);
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
        printf("%s to %s, over %s that the experiment does not use.\n",
               t->on == DSGD_TUNE_TIME ? "Virtual time" : "Steps", t->target.text,
               dsgd_counted(t->n_seeds, "seed"));
    printf(
        "Better by: over common seeds, with a 95 %% interval. *: better by more than the noise;\n"
        "without it the runner-up may be as good.\n");
    for (const dsgd_tuned *a = t->algorithms; a < t->algorithms + t->n_algorithms; a++)
        print_notes(t, a);
    print_cost(t);
    return DSGD_OK;
}
