/**
 * @file summary.c
 * For readers: what the rungs need, which values are best, and how sure that is.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "base/json.h"
#include "command/analysis/frame.h"
#include "command/console/table.h"
#include "command/runs/swept.h"
#include "command/studies/tune/tune.h"

/** The value for readers; the caller frees it. */
static char *shown(const dsgd_tune *t, const dsgd_tune_contestant *c, size_t candidate, size_t k)
{
    return dsgd_swept_value(t->experiment->columns[c->options[k].column],
                            dsgd_tune_text_of(c, candidate, k));
}

/** "0.1" or "lr 0.1, group 4". */
static char *shown_all(const dsgd_tune *t, const dsgd_tune_contestant *c, size_t candidate)
{
    char *text = dsgd_xstrdup("");
    for (size_t k = 0; k < c->n_options; k++) {
        char *const value = shown(t, c, candidate, k);
        if (c->n_options > 1)
            dsgd_append(&text, "%s%s ", k == 0 ? "" : ", ", dsgd_last_key(c->options[k].path));
        dsgd_append(&text, "%s", value);
        free(value);
    }
    return text;
}

/* --- the plan --------------------------------------------------------------------------------- */

/** Contestants with the same grid and rungs share their sentence. */
static bool same_plan(const dsgd_tune_contestant *a, const dsgd_tune_contestant *b)
{
    return a->n_begun == b->n_begun && a->n_rungs == b->n_rungs;
}

static void print_rungs(const dsgd_tune *t, const dsgd_tune_contestant *c, const char *who)
{
    char *text = dsgd_xstrdup("");
    size_t n = c->n_begun;
    for (size_t rung = 0; rung < c->n_rungs; rung++) {
        const size_t n_seeds = dsgd_tune_seeds(t, c, rung);
        char *const length = dsgd_tune_length_text(&t->lengths[dsgd_tune_length(t, c, rung)]);
        if (rung > 0)
            n = rung + 1 == c->n_rungs && t->n_seeds > 1 ? 2
                                                         : (n + DSGD_TUNE_ETA - 1) / DSGD_TUNE_ETA;
        n = n < 2 && c->n_begun > 1 ? 2 : n;
        /* dsgd_tune_advance() adds those in rungs of full length. */
        const bool looks_around = rung > 0 && dsgd_tune_length(t, c, rung) + 1 == t->n_lengths;
        dsgd_append(&text, "%s%zu%s for %s with %zu seed%s", rung == 0 ? "" : "; the best ", n,
                    rung == 0      ? " candidates"
                    : looks_around ? " and those beside the best"
                                   : "",
                    length, n_seeds, n_seeds == 1 ? "" : "s");
        free(length);
    }
    char *const sentence = dsgd_xprintf("%s: %s", who, text);
    dsgd_print_wrapped(stdout, "", 2, DSGD_TEXT_WIDTH, sentence);
    free(sentence);
    free(text);
}

void dsgd_tune_print_plan(const dsgd_tune *t)
{
    for (size_t a = 0; a < t->n_contestants; a++) {
        const dsgd_tune_contestant *const c = &t->contestants[a];
        char *who = dsgd_xstrdup(c->label);
        bool is_first = true;
        for (size_t b = 0; b < t->n_contestants; b++)
            if (b != a && same_plan(c, &t->contestants[b])) {
                is_first = is_first && b > a;
                dsgd_append(&who, ", %s", t->contestants[b].label);
            }
        if (is_first)
            print_rungs(t, c, who);
        free(who);
    }
    fflush(stdout);
}

/* --- the table -------------------------------------------------------------------------------- */

/** The place or value of a seed in the last rung; NAN: it has none of that kind. */
static double of_seed(const dsgd_tune *t, const dsgd_tune_contestant *c, size_t candidate,
                      size_t seed, bool of_place)
{
    const dsgd_tune_result *const r = dsgd_tune_result_of(t, c, candidate, t->n_lengths - 1, seed);
    if (r == NULL || r->diverged || r->n == 0)
        return NAN;
    return of_place ? r->reached : t->evaluations[r->first + r->n - 1].value;
}

/** "412 ± 30", of all seeds. */
static char *mean_text(const dsgd_tune *t, const dsgd_tune_contestant *c, size_t candidate,
                       bool of_place)
{
    double *const x = dsgd_xcalloc(t->n_seeds, sizeof *x);
    size_t n = 0;
    for (size_t s = 0; s < t->n_seeds; s++)
        if (!isnan(x[n] = of_seed(t, c, candidate, s, of_place)))
            n++;
    const dsgd_interval of_seeds = dsgd_mean(x, n);
    const double mean = of_seeds.mean, ci = of_seeds.ci;
    free(x);
    char *text = dsgd_xprintf("%.4g", mean);
    if (!isnan(ci))
        dsgd_append(&text, " ± %.2g", ci);
    return text;
}

/** The best of a contestant; false: all diverged. */
static bool best_of(const dsgd_tune *t, const dsgd_tune_contestant *c, dsgd_tune_trial *best)
{
    const size_t a = (size_t)(c - t->contestants);
    for (size_t i = 0; i < t->n_trials; i++)
        if (t->trials[i].contestant == a && t->trials[i].fate == DSGD_TUNE_BEST) {
            *best = t->trials[i];
            return true;
        }
    return false;
}

/** How much better one seed is: a logarithm of a ratio of times or losses, or a difference. */
static double gain(const dsgd_tune *t, double best, double second, bool of_ratio)
{
    if (of_ratio)
        return log(second / best);
    return t->target.below ? second - best : best - second;
}

/**
 * How much better the best is than the runner-up, over common seeds. *settled: by more than the
 * noise (95 %), or in more seeds. The caller frees it.
 */
static char *difference(const dsgd_tune *t, const dsgd_tune_contestant *c, bool of_place,
                        bool *settled)
{
    const bool of_ratio = of_place || t->target.below;
    double *const x = dsgd_xcalloc(t->n_seeds, sizeof *x);
    size_t n = 0, n_best = 0, n_second = 0;
    for (size_t s = 0; s < t->n_seeds; s++) {
        const double best = of_seed(t, c, c->order[0], s, of_place);
        const double second = of_seed(t, c, c->order[1], s, of_place);
        n_best += !isnan(best);
        n_second += !isnan(second);
        x[n] = gain(t, best, second, of_ratio);
        n += isfinite(x[n]);
    }
    const dsgd_interval of_seeds = dsgd_mean(x, n);
    const double mean = of_seeds.mean, ci = of_seeds.ci;
    free(x);
    *settled = n < t->n_seeds ? n_best > n_second : mean > ci;
    if (n < t->n_seeds)
        return dsgd_xstrdup(n_best > n_second ? "more seeds" : "-");
    if (of_ratio)
        return n < 2 ? dsgd_xprintf("%.3g times", exp(mean))
                     : dsgd_xprintf("%.3g times (%.3g to %.3g)", exp(mean), exp(mean - ci),
                                    exp(mean + ci));
    return n < 2 ? dsgd_xprintf("%.2g", mean) : dsgd_xprintf("%.2g ± %.2g", mean, ci);
}

static const char *place_head(const dsgd_tune *t)
{
    return t->on == DSGD_TUNE_TIME ? "time (s)" : "steps";
}

static void put_row(const dsgd_tune *t, const dsgd_tune_contestant *c, const char *const *rests,
                    dsgd_columns *table)
{
    dsgd_tune_trial best;
    const bool has_best = best_of(t, c, &best);
    dsgd_columns_row(table);
    dsgd_columns_put(table, "algorithm", "%s", c->label);
    for (size_t j = 0; rests[j] != NULL; j++) {
        const size_t k = dsgd_tune_option_of(c, rests[j]);
        dsgd_columns_take(table, dsgd_last_key(rests[j]),
                          has_best && k < c->n_options ? shown(t, c, best.candidate, k)
                                                       : dsgd_xstrdup("-"));
    }
    const bool of_place = has_best && best.score.n_reached > 0;
    if (t->on != DSGD_TUNE_FINAL) {
        dsgd_columns_put(table, "reached", "%zu of %zu", has_best ? best.score.n_reached : 0,
                         t->n_seeds);
        dsgd_columns_take(table, place_head(t),
                          of_place ? mean_text(t, c, best.candidate, true) : dsgd_xstrdup("-"));
    }
    dsgd_columns_take(table, t->target.column,
                      has_best && !of_place ? mean_text(t, c, best.candidate, false)
                                            : dsgd_xstrdup("-"));
    const bool has_second = has_best && c->n_order > 1;
    bool settled = false;
    dsgd_columns_take(table, "runner-up",
                      has_second ? shown_all(t, c, c->order[1]) : dsgd_xstrdup("-"));
    char *const by = has_second ? difference(t, c, of_place, &settled) : dsgd_xstrdup("-");
    dsgd_columns_put(table, "better by", "%s%s", by, settled ? " *" : "");
    free(by);
}

/** Sentences, each with the algorithms that it is about. */
typedef struct notes {
    size_t n;
    char **who, **texts; /* [n] */
} notes;

/** Takes the text. */
static void say(notes *all, const dsgd_tune_contestant *c, char *text)
{
    size_t i = 0;
    while (i < all->n && strcmp(all->texts[i], text) != 0)
        i++;
    if (i < all->n) {
        dsgd_append(&all->who[i], ", %s", c->label);
        free(text);
        return;
    }
    all->who = dsgd_xrealloc(all->who, i + 1, sizeof *all->who);
    all->texts = dsgd_xrealloc(all->texts, i + 1, sizeof *all->texts);
    all->who[i] = dsgd_xstrdup(c->label);
    all->texts[i] = text;
    all->n++;
}

/** Prints them and frees them. */
static void print_notes(notes *all)
{
    for (size_t i = 0; i < all->n; i++) {
        char *const text = dsgd_xprintf("%s: %s", all->who[i], all->texts[i]);
        dsgd_print_wrapped(stdout, "", 2, DSGD_TEXT_WIDTH, text);
        free(text);
        free(all->who[i]);
        free(all->texts[i]);
    }
    free(all->who);
    free(all->texts);
}

/** Whether a best value is the smallest or largest of those tried, and what to do. */
static void say_ends(notes *all, const dsgd_tune *t, const dsgd_tune_contestant *c,
                     size_t candidate)
{
    for (size_t k = 0; k < c->n_options; k++) {
        const dsgd_tune_option *const o = &c->options[k];
        const size_t v = dsgd_tune_value(c, candidate, k);
        double x = 0;
        if (o->high < o->low + 2 || (v != o->low && v != o->high) ||
            !dsgd_parse_number(o->texts[v], NULL, &x))
            continue;
        char *const value = shown(t, c, candidate, k);
        char *text =
            dsgd_xprintf("the best %s, %s, is at the end of what was tried, so one beyond it may "
                         "be better",
                         dsgd_last_key(o->path), value);
        if (strcmp(dsgd_tune_rest_of(o), "optimizer.lr") == 0) {
            double other = 0; /* on which side it lies is said by the other end */
            dsgd_parse_number(o->texts[v == o->low ? o->high : o->low], NULL, &other);
            dsgd_append(&text, ": --over %s.optimizer.lr=%.4g:%.4g:6", c->label,
                        x < other ? x / 16 : x, x < other ? 2 * x : 32 * x);
        }
        say(all, c, text);
        free(value);
    }
}

static void say_diverged(notes *all, const dsgd_tune *t, const dsgd_tune_contestant *c)
{
    char *text = dsgd_xstrdup("");
    for (size_t i = 0; i < t->n_trials; i++) {
        const dsgd_tune_trial *const trial = &t->trials[i];
        if (&t->contestants[trial->contestant] != c || trial->score.n_diverged == 0)
            continue;
        char *const value = shown_all(t, c, trial->candidate);
        dsgd_append(&text, "%s%s", *text == '\0' ? "diverged: " : "; ", value);
        free(value);
    }
    if (*text != '\0')
        say(all, c, text);
    else
        free(text);
}

static void say_all(notes *all, const dsgd_tune *t, const dsgd_tune_contestant *c)
{
    dsgd_tune_trial best;
    if (!best_of(t, c, &best)) {
        say(all, c,
            dsgd_xstrdup("no value that was tried ends with a result, so the file's own stays"));
        say_diverged(all, t, c);
        return;
    }
    if (t->on != DSGD_TUNE_FINAL && best.score.n_reached == 0)
        say(all, c,
            dsgd_xprintf("no value reaches %s; they are ranked by how near they come",
                         t->target.text));
    bool settled = true;
    char *const by = c->n_order > 1 ? difference(t, c, best.score.n_reached > 0, &settled) : NULL;
    free(by);
    if (!settled) {
        char *const second = shown_all(t, c, c->order[1]);
        say(all, c,
            t->n_seeds > 1
                ? dsgd_xprintf("%s may be as good: the difference is within the noise of %zu seeds",
                               second, t->n_seeds)
                : dsgd_xprintf("%s may be as good: of one seed no noise is known", second));
        free(second);
    }
    say_ends(all, t, c, best.candidate);
    say_diverged(all, t, c);
}

/** Runs and steps that were needed, beside those of every candidate with every seed to the end. */
static void print_cost(const dsgd_tune *t)
{
    size_t n = 0, n_full = 0;
    double steps = 0;
    for (size_t i = 0; i < t->experiment->n_runs; i++) {
        n += t->results[i].is_done;
        steps += t->results[i].steps;
    }
    for (size_t a = 0; a < t->n_contestants; a++) {
        const dsgd_tune_contestant *const c = &t->contestants[a];
        size_t n_tried = 1;
        for (size_t k = 0; k < c->n_options; k++)
            n_tried *= c->options[k].high - c->options[k].low + 1;
        n_full += n_tried * t->n_seeds;
    }
    printf("%zu runs of %.0f steps were needed; all candidates with all seeds are %zu", n, steps,
           n_full);
    const double whole = t->lengths[t->n_lengths - 1].steps;
    if (whole > 0)
        printf(" of %.0f", whole * (double)n_full);
    printf("\n");
}

void dsgd_tune_print(const dsgd_tune *t)
{
    dsgd_columns table = {.wraps = true};
    notes all = {0, NULL, NULL};
    const char **const rests = dsgd_tune_all_rests(t);
    for (size_t a = 0; a < t->n_contestants; a++)
        put_row(t, &t->contestants[a], rests, &table);
    free(rests);
    dsgd_columns_hide(&table, t->target.column, "-");
    dsgd_columns_hide(&table, place_head(t), "-");
    printf("\n");
    dsgd_columns_print(&table);
    printf("\n");
    if (t->on != DSGD_TUNE_FINAL)
        printf("%s to %s, over %zu seed%s that the experiment does not have.\n",
               t->on == DSGD_TUNE_TIME ? "Virtual time" : "Steps", t->target.text, t->n_seeds,
               t->n_seeds == 1 ? "" : "s");
    printf("Better by: over common seeds, with its 95 %% interval; *: by more than the noise.\n");
    for (size_t a = 0; a < t->n_contestants; a++)
        say_all(&all, t, &t->contestants[a]);
    print_notes(&all);
    print_cost(t);
}
