/**
 * @file summary.c
 * tune.csv with all trials; and sentences for readers: the rungs, the best values, and their
 * caveats.
 */
#include "base/csv.h"
#include "base/file.h"
#include "base/option.h"
#include "command/analysis/frame.h"
#include "command/console/table.h"
#include "command/experiment/config.h"
#include "command/runs/swept.h"
#include "command/studies/tune/tune.h"

static const char *const outcomes[] = {"dropped", "kept", "best"};

/** "400 steps": the bounds that are there. */
static const char *length_text(const dsgd_tune *t, size_t length)
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

dsgd_status dsgd_tune_write(const dsgd_tune *t, dsgd_error *error)
{
    dsgd_whole_file file;
    if (dsgd_whole_open(&file, error, "%s/tune.csv", t->pool.folder) == NULL)
        return DSGD_EIO;
    fputs("algorithm", file.stream);
    for (size_t j = 0; t->rests[j] != NULL; j++)
        fprintf(file.stream, ",%s", t->rests[j]);
    fprintf(file.stream, ",rung,length,seeds,reached,diverged,%s_to_target,%s_else,ties,outcome\n",
            t->on == DSGD_TUNE_TIME ? "seconds" : "steps", t->target.column);
    for (const dsgd_tuned *a = t->algorithms; a < t->algorithms + t->n_algorithms; a++)
        for (size_t i = 0; i < a->n_trials; i++) {
            const dsgd_tune_trial *const x = &a->trials[i];
            dsgd_csv_text(file.stream, a->label);
            for (size_t j = 0; t->rests[j] != NULL; j++) {
                const size_t k = dsgd_tune_option_of(a, t->rests[j]);
                fputc(',', file.stream);
                dsgd_csv_text(file.stream,
                              k == a->n_options ? "" : dsgd_tune_text_of(a, x->candidate, k));
            }
            fprintf(file.stream, ",%zu,", x->rung + 1);
            dsgd_csv_text(file.stream, length_text(t, a->rungs[x->rung].length));
            fprintf(file.stream, ",%zu,%zu,%zu", a->rungs[x->rung].n_seeds, x->n_reached,
                    x->n_diverged);
            dsgd_csv_numbers(file.stream, (double[]){x->place, x->near}, 2);
            fprintf(file.stream, ",%d,%s\n", x->ties, outcomes[x->outcome]);
        }
    return dsgd_whole_close(&file, error);
}

/** The value for readers. */
static const char *shown(const dsgd_tune *t, const dsgd_tuned *a, size_t candidate, size_t k)
{
    return dsgd_swept_value(t->grid.columns[a->options[k].column],
                            dsgd_tune_text_of(a, candidate, k));
}

/** "0.1" or "lr 0.1, group 4". */
static const char *shown_all(const dsgd_tune *t, const dsgd_tuned *a, size_t candidate)
{
    char *text = dsgd_xstrdup("");
    for (size_t k = 0; a->n_options > 1 && k < a->n_options; k++)
        dsgd_append(&text, "%s%s %s", k == 0 ? "" : ", ", dsgd_last_key(a->options[k].path),
                    shown(t, a, candidate, k));
    return a->n_options == 1 ? shown(t, a, candidate, 0) : text;
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
        const size_t n_seeds = a->rungs[rung].n_seeds, length = a->rungs[rung].length;
        if (rung > 0)
            n = rung + 1 == a->n_rungs && t->n_seeds > 1 ? DSGD_TUNE_FINALISTS
                                                         : (n + DSGD_TUNE_ETA - 1) / DSGD_TUNE_ETA;
        n = n < DSGD_TUNE_FINALISTS && a->n_begun > 1 ? DSGD_TUNE_FINALISTS : n;
        /* dsgd_tune_advance() adds these in rungs of full length. */
        const bool looks_around = rung > 0 && length + 1 == t->n_lengths;
        dsgd_append(&text, "%s%zu%s for %s with %zu seed%s", rung == 0 ? "" : "; the best ", n,
                    rung == 0      ? " candidates"
                    : looks_around ? " and those beside the best"
                                   : "",
                    length_text(t, length), n_seeds, n_seeds == 1 ? "" : "s");
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

/** The place or value of a seed in the last rung; NAN: it has none of that kind. */
static double of_seed(const dsgd_tune *t, const dsgd_tuned *a, size_t candidate, size_t seed,
                      bool of_place)
{
    const dsgd_tune_result *const r = dsgd_tune_ended(t, a, candidate, t->n_lengths - 1, seed);
    if (r == NULL)
        return NAN;
    return of_place ? r->reached : t->evaluations[r->first + r->n - 1].value;
}

/** "412 ± 30", of all seeds of the best. */
static const char *mean_text(const dsgd_tune *t, const dsgd_tuned *a, bool of_place)
{
    double *const x = dsgd_keep(t->n_seeds, sizeof *x);
    size_t n = 0;
    for (size_t s = 0; s < t->n_seeds; s++)
        if (!isnan(x[n] = of_seed(t, a, a->last->candidate, s, of_place)))
            n++;
    const dsgd_interval mean = dsgd_mean(x, n);
    return isnan(mean.ci) ? dsgd_xprintf("%.4g", mean.mean)
                          : dsgd_xprintf("%.4g ± %.2g", mean.mean, mean.ci);
}

/**
 * How much better the best is than the runner-up, over common seeds: times, losses or throughputs
 * by ratios, of which logarithms are taken, else by differences. *settled: by more than a tie and
 * the noise (95 %), or in more seeds.
 */
static const char *difference(const dsgd_tune *t, const dsgd_tuned *a, bool of_place, bool *settled)
{
    const bool of_ratio = of_place || t->target.below || t->of_throughput;
    double *const x = dsgd_keep(t->n_seeds, sizeof *x);
    size_t n = 0, n_best = 0, n_second = 0;
    for (size_t s = 0; s < t->n_seeds; s++) {
        const double best = of_seed(t, a, a->last[0].candidate, s, of_place);
        const double second = of_seed(t, a, a->last[1].candidate, s, of_place);
        n_best += !isnan(best);
        n_second += !isnan(second);
        x[n] = t->of_throughput ? log(best / second)
               : of_ratio       ? log(second / best)
                                : best - second;
        n += isfinite(x[n]);
    }
    const dsgd_interval of_seeds = dsgd_mean(x, n);
    const double mean = of_seeds.mean, ci = of_seeds.ci;
    *settled =
        n < t->n_seeds ? n_best > n_second : mean > ci && (!of_ratio || mean > log1p(DSGD_TIE));
    if (n < t->n_seeds)
        return n_best > n_second ? "more seeds" : "-";
    if (of_ratio && n < 2)
        return dsgd_xprintf("%.3g times", exp(mean));
    if (of_ratio)
        return dsgd_xprintf("%.3g times (%.3g to %.3g)", exp(mean), exp(mean - ci), exp(mean + ci));
    return n < 2 ? dsgd_xprintf("%.2g", mean) : dsgd_xprintf("%.2g ± %.2g", mean, ci);
}

static const char *place_head(const dsgd_tune *t)
{
    return t->on == DSGD_TUNE_TIME ? "time (s)" : "steps";
}

static void put_row(const dsgd_tune *t, const dsgd_tuned *a, dsgd_columns *table)
{
    const bool has_one = dsgd_tune_has_best(a), has_second = has_one && a->n_last > 1;
    const bool of_place = has_one && a->last->n_reached > 0;
    bool settled = false;
    dsgd_columns_row(table);
    dsgd_columns_put(table, "algorithm", "%s", a->label);
    for (size_t j = 0; t->rests[j] != NULL; j++) {
        const size_t k = dsgd_tune_option_of(a, t->rests[j]);
        dsgd_columns_put(table, dsgd_last_key(t->rests[j]), "%s",
                         has_one && k < a->n_options ? shown(t, a, a->last->candidate, k) : "-");
    }
    if (t->on != DSGD_TUNE_FINAL) {
        dsgd_columns_put(table, "reached", "%zu of %zu", has_one ? a->last->n_reached : 0,
                         t->n_seeds);
        dsgd_columns_put(table, place_head(t), "%s", of_place ? mean_text(t, a, true) : "-");
    }
    dsgd_columns_put(table, t->target.column, "%s",
                     has_one && !of_place ? mean_text(t, a, false) : "-");
    dsgd_columns_put(table, "runner-up", "%s",
                     has_second ? shown_all(t, a, a->last[1].candidate) : "-");
    const char *const by = has_second ? difference(t, a, of_place, &settled) : "-";
    dsgd_columns_put(table, "better by", "%s%s", by, settled ? " *" : "");
}

/** Whether a best value is the smallest or largest of those tried, and what to do. */
static void say_ends(notes *all, const dsgd_tune *t, const dsgd_tuned *a)
{
    for (size_t k = 0; k < a->n_options; k++) {
        const dsgd_tune_option *const o = &a->options[k];
        const size_t v = dsgd_tune_value(a, a->last->candidate, k);
        double x = 0;
        if (o->high < o->low + 2 || (v != o->low && v != o->high) ||
            !dsgd_parse_number(o->texts[v], NULL, &x))
            continue;
        const char *text = dsgd_xprintf(
            "the best %s, %s, is at the end of what was tried, so one beyond it may be better",
            dsgd_last_key(o->path), shown(t, a, a->last->candidate, k));
        if (strcmp(o->rest, "optimizer.lr") == 0) {
            double other = 0; /* on which side it lies is said by the other end */
            dsgd_parse_number(o->texts[v == o->low ? o->high : o->low], NULL, &other);
            text = dsgd_xprintf("%s: --over %s.optimizer.lr=%.4g:%.4g:6", text, a->label,
                                x < other ? x / 16 : x, x < other ? 2 * x : 32 * x);
        }
        say(all, a, text);
    }
}

static void say_all(notes *all, const dsgd_tune *t, const dsgd_tuned *a)
{
    bool settled = true;
    if (!dsgd_tune_has_best(a))
        say(all, a,
            dsgd_xprintf(
                "no value that was tried can be best, so the file's own stays%s",
                a->n_last == 0
                    ? ""
                    : dsgd_xprintf(": %s %s", shown_all(t, a, a->last->candidate), a->last->out)));
    else if (t->on != DSGD_TUNE_FINAL && a->last->n_reached == 0)
        say(all, a,
            dsgd_xprintf("no value reaches %s; they are ranked by how near they come",
                         t->target.text));
    if (dsgd_tune_has_best(a) && a->n_last > 1)
        difference(t, a, a->last->n_reached > 0, &settled);
    if (!settled) {
        const char *const second = shown_all(t, a, a->last[1].candidate);
        say(all, a,
            t->n_seeds > 1
                ? dsgd_xprintf("%s may be as good: the difference is within 2 %% or the noise of "
                               "%zu seeds",
                               second, t->n_seeds)
                : dsgd_xprintf("%s may be as good: of one seed no noise is known", second));
    }
    if (dsgd_tune_has_best(a))
        say_ends(all, t, a);
    char *lost = dsgd_xstrdup("");
    const char *before = "";
    for (const dsgd_tune_trial *x = a->trials; x < a->trials + a->n_trials; x++) {
        if (x->out == NULL)
            continue;
        const bool again = strcmp(x->out, before) == 0;
        dsgd_append(&lost, "%s%s%s%s", *lost == '\0' ? "" : "; ", again ? "" : x->out,
                    again ? "" : ": ", shown_all(t, a, x->candidate));
        before = x->out;
    }
    if (*lost != '\0')
        say(all, a, lost);
}

/**
 * Runs and steps that were needed, beside what every candidate with every seed to the end takes.
 */
static void print_cost(const dsgd_tune *t)
{
    size_t n = 0, n_full = 0;
    double steps = 0;
    for (size_t i = 0; i < t->grid.n_runs; i++) {
        n += t->results[i].is_done;
        steps += t->results[i].steps;
    }
    for (const dsgd_tuned *a = t->algorithms; a < t->algorithms + t->n_algorithms; a++) {
        size_t n_tried = 1;
        for (size_t k = 0; k < a->n_options; k++)
            n_tried *= a->options[k].high - a->options[k].low + 1;
        n_full += n_tried * t->n_seeds;
    }
    printf("%zu runs with %.0f steps in all; every candidate with every seed would be %zu runs", n,
           steps, n_full);
    const double whole = t->lengths[t->n_lengths - 1].steps;
    if (whole > 0)
        printf(" with %.0f", whole * (double)n_full);
    printf("\n");
}

void dsgd_tune_print(const dsgd_tune *t)
{
    dsgd_columns table = {.wraps = true};
    notes all = {0, NULL};
    for (const dsgd_tuned *a = t->algorithms; a < t->algorithms + t->n_algorithms; a++) {
        put_row(t, a, &table);
        say_all(&all, t, a);
    }
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
    print_notes(&all);
    print_cost(t);
}
