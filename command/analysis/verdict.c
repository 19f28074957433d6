/**
 * @file verdict.c
 * Collects the candidates of each setting, finds the candidates that can win, and writes the
 * sentences of the verdict. A setting is a combination of workers, platform, workload and swept
 * values.
 */
#include "command/analysis/verdict.h"

#include "base/option.h"
#include "command/analysis/comparison.h"
#include "command/console/table.h"
#include "command/runs/swept.h"

/*
 * Smallest share of the best candidate's progress: for a candidate that counts as learning, and for
 * a candidate that helps to define the default target.
 */
static const double least_progress = 0.1, full_progress = 0.9;

/** Reasons why a candidate cannot win. The outcomes SHORT and later outcomes concern a target. */
typedef enum outcome {
    ABLE, /* The candidate can win. */
    FAILED,
    TIMED_OUT,
    DIVERGED, /* The run's status is diverged, or its loss grew without bound. */
    SILENT, /* The candidate exchanged no data, but other candidates did. */
    UNLEARNED,
    SHORT, /* The candidate did not reach the target. */
    LOST, /* The candidate reached the target, but later lost a tenth of its progress. */
    OPEN, /* The candidate's runs ended before the winner reached the target. */
    N_OUTCOMES
} outcome;

static const char *const reasons[SHORT] = {[FAILED] = "failed",
                                           [TIMED_OUT] = "reached the time limit",
                                           [DIVERGED] = "diverged",
                                           [SILENT] = "exchanged nothing in these runs",
                                           [UNLEARNED] = "made no progress"};

enum { ACCURACY, LOSS, N_QUANTITIES };
/* names of the columns of curves.csv */
static const char *const quantities[N_QUANTITIES] = {"accuracy", "loss"};

/** A candidate in a setting: a point of the frame, and the reason why it cannot win. */
typedef struct candidate {
    const dsgd_frame_point *point;
    const char *name;
    outcome outcome;
    size_t n_seeds; /* number of seeds whose runs have this outcome */
} candidate;

/**
 * A setting (place) with its candidates. Arrays have one number per row of runs.csv. An unknown
 * number is NAN.
 */
typedef struct place {
    const dsgd_frame *frame;
    const json_t *manifest;
    const dsgd_run_table *curves;
    /* values at the first evaluation and at the last evaluation of each run */
    double *first[N_QUANTITIES], *last[N_QUANTITIES];
    double *progress, *ended_s; /* progress: progress of each run at its last evaluation; ended_s:
                                 * virtual time at the end of each run */
    double *numbers[DSGD_N_MEASURES]; /* array with the numbers of each measure; NULL for a measure
                                       * that verdicts do not need */
    candidate *v; /* array of n candidates */
    size_t n;
    bool learns, by_logarithm, any_sends;
    int quantity; /* index of the quantity that is learned: ACCURACY or LOSS */
    double start; /* best value of all first evaluations; a single seed can start with an accuracy
                   * below chance */
    double best, least, far; /* best: progress of the best candidate; least: smallest progress that
                              * counts as learning; far: smallest final progress of a candidate that
                              * reached the target */
    dsgd_target target;
    /* text of the target; NULL if throughput decides or if no candidate learned */
    const char *goal;
    size_t measure; /* index of the measure that determines the winner */
} place;

/* --- collection of candidates ----------------------------------------------------------------- */

/** Reads the data that all settings need: tables, and numbers of all runs. */
static place read_runs(const dsgd_frame *frame, const dsgd_run_table *curves,
                       const json_t *manifest)
{
    const size_t n = frame->csv->n_rows;
    place at = {.frame = frame, .manifest = manifest, .curves = curves};
    for (int q = 0; q < N_QUANTITIES; q++) {
        at.first[q] = dsgd_keep(n + 1, sizeof *at.first[q]);
        at.last[q] = dsgd_keep(n + 1, sizeof *at.last[q]);
        for (size_t row = 0; row < n; row++)
            dsgd_run_table_ends(curves, row, quantities[q], &at.first[q][row], &at.last[q][row]);
    }
    at.progress = dsgd_keep(n + 1, sizeof *at.progress);
    at.ended_s = dsgd_frame_numbers(frame, "virtual_s");
    at.numbers[DSGD_THROUGHPUT] = dsgd_frame_numbers(frame, "throughput_samples_per_s");
    at.numbers[DSGD_SENT] = dsgd_frame_numbers(frame, "sent_mean_bytes");
    for (size_t m = 0; m < DSGD_N_MEASURES; m++)
        if (dsgd_measures[m].along != NULL)
            at.numbers[m] = dsgd_keep(n + 1, sizeof *at.numbers[m]);
    return at;
}

/**
 * Returns the name of a candidate. The name is its algorithm, or its value of --by, with the swept
 * options that only this algorithm has.
 */
static const char *name_of(const dsgd_frame *f, const dsgd_frame_point *p)
{
    const char *const own = dsgd_frame_settings(f, p, 1 << DSGD_SERIES, f->by, " with ");
    return dsgd_xprintf("%s%s%s",
                        dsgd_swept_value(dsgd_frame_key(f, f->by), dsgd_frame_value(f, p, f->by)),
                        *own == '\0' ? "" : " with ", own);
}

/**
 * Returns an array of the frame's settings with their candidates. If n of a setting is 0, the
 * setting has only variations of --sensitivity.
 */
static place *collect(const dsgd_frame *frame, const dsgd_run_table *curves, const json_t *manifest)
{
    const place all_runs = read_runs(frame, curves, manifest);
    place *const places = dsgd_keep(frame->n[DSGD_PLACE] + 1, sizeof *places);
    for (size_t k = 0; k < frame->n[DSGD_PLACE]; k++)
        places[k] = all_runs;
    for (const dsgd_frame_point *p = frame->points; p < frame->points + frame->n_points; p++) {
        place *const at = &places[p->at[DSGD_PLACE]];
        if (p->at[DSGD_VARIATION] != 0)
            continue;
        at->v = dsgd_keep_more(at->v, at->n + 1, sizeof *at->v);
        at->v[at->n++] = (candidate){.point = p, .name = name_of(frame, p)};
    }
    return places;
}

/**
 * Returns the mean of the numbers @p x over a candidate's seeds. Returns NAN if the mean is
 * unknown.
 */
static double mean(const candidate *c, const double *x)
{
    return x == NULL ? NAN : dsgd_frame_mean(c->point, x).mean;
}

/**
 * Returns the mean of measure @p m over a candidate's seeds. Returns NAN if the mean is unknown.
 */
static double number(const place *at, const candidate *c, size_t m)
{
    return mean(c, at->numbers[m]);
}

/** Returns the configuration of the candidate's first run, from the manifest. */
static const json_t *run_of(const place *at, const candidate *c)
{
    return dsgd_run_of(at->manifest, at->frame->csv, c->point->rows[0]);
}

/* --- outcomes of candidates ------------------------------------------------------------------- */

/** Returns the progress that the learned quantity makes from its start to @p value. */
static double progress_to(const place *at, double value)
{
    return at->quantity == ACCURACY ? value - at->start
           : at->by_logarithm       ? log(at->start / value)
                                    : at->start - value;
}

/**
 * Measures the progress of each run. Uses the accuracy if it is known, otherwise the loss. If all
 * losses are above 0, uses the logarithm of the loss.
 */
static void measure_progress(place *at)
{
    double start[N_QUANTITIES] = {NAN, NAN};
    at->by_logarithm = true;
    for (const candidate *c = at->v; c < at->v + at->n; c++)
        for (size_t k = 0; k < c->point->n_rows; k++) {
            const size_t row = c->point->rows[k];
            start[ACCURACY] = fmax(start[ACCURACY], at->first[ACCURACY][row]);
            start[LOSS] = fmin(start[LOSS], at->first[LOSS][row]);
            at->by_logarithm =
                at->by_logarithm && !(at->first[LOSS][row] <= 0) && !(at->last[LOSS][row] <= 0);
        }
    at->quantity = isnan(start[ACCURACY]) ? LOSS : ACCURACY;
    at->start = start[at->quantity];
    at->learns = !isnan(at->start);
    at->measure = at->learns ? DSGD_TO_TARGET : DSGD_THROUGHPUT;
    for (const candidate *c = at->v; c < at->v + at->n; c++)
        for (const size_t *row = c->point->rows; row < c->point->rows + c->point->n_rows; row++)
            at->progress[*row] = progress_to(at, at->last[at->quantity][*row]);
}

bool dsgd_loss_grew(double first, double last)
{
    static const double most = 1e3;
    return last > most * fmax(first, 1);
}

/** Returns true if the run in row @p row has outcome @p which. */
static bool has_outcome(const place *at, const candidate *c, size_t row, outcome which)
{
    static const char *const statuses[] = {
        [FAILED] = "failed", [TIMED_OUT] = "timeout", [DIVERGED] = "diverged"};
    switch (which) {
    case FAILED:
    case TIMED_OUT:
    case DIVERGED:
        return strcmp(dsgd_field_of(at->frame->csv, row, "status"), statuses[which]) == 0 ||
               (which == DIVERGED && dsgd_loss_grew(at->first[LOSS][row], at->last[LOSS][row]));
    case SILENT:
        return at->any_sends && number(at, c, DSGD_SENT) <= 0;
    case UNLEARNED:
        return at->learns && !(at->progress[row] > at->least);
    case SHORT:
        return isnan(at->numbers[DSGD_TO_TARGET][row]);
    default:
        return !(at->progress[row] > at->far);
    }
}

/**
 * Sets the outcome of each candidate whose outcome is still ABLE. The new outcome is the first
 * outcome from @p first to @p last that at least one of the candidate's seeds has.
 */
static void find_outcomes(place *at, outcome first, outcome last)
{
    for (candidate *c = at->v; c < at->v + at->n; c++)
        for (outcome which = first; c->outcome == ABLE && which <= last; which++) {
            c->n_seeds = 0;
            for (size_t k = 0; k < c->point->n_rows; k++)
                c->n_seeds += has_outcome(at, c, c->point->rows[k], which);
            if (c->n_seeds > 0)
                c->outcome = which;
        }
}

/**
 * Finds the outcomes that do not depend on a target. Stores in @p out why each run cannot win.
 */
static void judge_without_target(place *at, const char **out)
{
    for (const candidate *c = at->v; c < at->v + at->n; c++)
        at->any_sends = at->any_sends || number(at, c, DSGD_SENT) > 0;
    find_outcomes(at, FAILED, SILENT);
    for (const candidate *c = at->v; c < at->v + at->n; c++)
        if (at->learns && c->outcome == ABLE)
            at->best = fmax(at->best, mean(c, at->progress));
    at->least = fmax(DSGD_TIE, least_progress * at->best);
    find_outcomes(at, UNLEARNED, UNLEARNED);
    for (const candidate *c = at->v; c < at->v + at->n; c++)
        for (size_t k = 0; k < c->point->n_rows; k++)
            out[c->point->rows[k]] = reasons[c->outcome];
}

/**
 * Rounds a number to two digits. The result is a target that is easier to reach than the number.
 */
static double rounded(double x, bool below)
{
    const double unit = x == 0 ? 1 : pow(10, floor(log10(fabs(x))) - 1);
    /* a number that differs from a round number by less than this is already round */
    const double near = 1e-9;
    return unit * (below ? ceil(x / unit - near) : floor(x / unit + near));
}

/**
 * Returns the default target: the hardest target that all seeds of the candidates with full
 * progress reach. Returns NULL if no candidate has full progress.
 */
static const char *default_target(const place *at)
{
    double hardest = NAN;
    for (const candidate *c = at->v; c < at->v + at->n; c++) {
        const bool is_full = mean(c, at->progress) >= full_progress * at->best;
        for (size_t k = 0; c->outcome == ABLE && is_full && k < c->point->n_rows; k++) {
            const double last = at->last[at->quantity][c->point->rows[k]];
            hardest = at->quantity == ACCURACY ? fmin(hardest, last) : fmax(hardest, last);
        }
    }
    return isnan(hardest) ? NULL
                          : dsgd_xprintf("%s=%.6g", quantities[at->quantity],
                                         rounded(hardest, at->quantity == LOSS));
}

/**
 * Measures the time, bytes, energy and cost of each run up to the target. Finds the outcomes that
 * depend on the target.
 */
static dsgd_status judge_by_target(place *at, const char *text, dsgd_error *error)
{
    const char *const chosen = text == NULL ? default_target(at) : text;
    if (chosen == NULL)
        return DSGD_OK;
    DSGD_TRY(dsgd_target_parse(chosen, &at->target, error));
    at->goal = dsgd_xprintf("%s %g", at->target.column, at->target.value);
    at->far = strcmp(at->target.column, quantities[at->quantity]) == 0
                  ? full_progress * progress_to(at, at->target.value)
                  : -INFINITY;
    for (const candidate *c = at->v; c < at->v + at->n; c++)
        for (size_t m = 0; m < DSGD_N_MEASURES; m++)
            for (size_t k = 0; dsgd_measures[m].along != NULL && k < c->point->n_rows; k++) {
                const size_t row = c->point->rows[k];
                dsgd_measure_row(at->frame, m, &at->target, at->curves, row, &at->numbers[m][row],
                                 NULL);
            }
    find_outcomes(at, SHORT, LOST);
    return DSGD_OK;
}

/**
 * Returns the candidate with the best measure @p m, of all candidates that can win. Returns NULL if
 * no candidate can win.
 */
static const candidate *best_by(const place *at, size_t m)
{
    const candidate *best = NULL;
    for (const candidate *c = at->v; c < at->v + at->n; c++) {
        const double x = number(at, c, m), least = best == NULL ? NAN : number(at, best, m);
        if (c->outcome == ABLE && !isnan(x) &&
            (best == NULL || (m == DSGD_THROUGHPUT ? x > least : x < least)))
            best = c;
    }
    return best;
}

/**
 * Returns the ratio by which candidate @p c is better than candidate @p other. A better candidate
 * is faster or has a smaller measure.
 */
static dsgd_ratio lead_of(const place *at, const candidate *c, const candidate *other, size_t m)
{
    const bool more = m == DSGD_THROUGHPUT;
    return dsgd_frame_ratio(at->frame, more ? c->point : other->point,
                            more ? other->point : c->point, at->numbers[m]);
}

/** Returns true if a lead is a tie: the lead is small, and its interval is narrow. */
static bool is_tie(const dsgd_ratio *lead)
{
    static const double wide = 1.1; /* widest interval of a lead that can be a tie, as a ratio */
    const bool is_wide = lead->n > 1 && (lead->high > wide || lead->low < 1 / wide);
    return fabs(log(lead->ratio)) <= log1p(DSGD_TIE) && !is_wide;
}

/* --- sentences -------------------------------------------------------------------------------- */

/**
 * Appends a sentence to the verdict. If @p clause is not NULL, also appends the clause to the line
 * below a figure.
 */
static void say(dsgd_verdict *verdict, const char *sentence, const char *clause)
{
    dsgd_append(&verdict->text, "%s%s", *verdict->text == '\0' ? "" : " ", sentence);
    if (clause != NULL)
        dsgd_append(&verdict->brief, "%s%s", *verdict->brief == '\0' ? "" : "; ", clause);
}

/**
 * Adds a sentence that names the winner, with its ratios to the next candidate and to the baseline.
 */
static void say_winner(const place *at, dsgd_verdict *verdict, const candidate *best)
{
    /*
     * tied: candidates that tie with the winner; open: candidates whose difference from the winner
     * is not certain
     */
    dsgd_names tied = {.n = 0}, open = {.n = 0};
    /* candidates that are certainly slower than the winner: the next candidate, and the baseline */
    const candidate *others[2] = {NULL, NULL};
    double least = INFINITY;
    bool is_open = false;
    dsgd_names_add(&tied, best->name);
    for (const candidate *c = at->v; c < at->v + at->n; c++) {
        const dsgd_ratio by = lead_of(at, best, c, at->measure);
        is_open = is_open || c->outcome == OPEN;
        if (c == best || c->outcome != ABLE)
            continue;
        if (by.n == 0)
            dsgd_names_add(&open, dsgd_xprintf("%s (no seed in common)", c->name));
        else if (is_tie(&by))
            dsgd_names_add(&tied, c->name);
        else if (by.n > 1 && by.n_settling > 0)
            dsgd_names_add(&open, dsgd_xprintf("%s (%.3g times)", c->name, by.ratio));
        else {
            others[0] = by.ratio < least ? c : others[0];
            others[1] = c->point == best->point->baseline ? c : others[1];
            least = fmin(least, by.ratio);
        }
    }
    is_open = is_open || open.n > 0;
    verdict->winner = best->point;
    verdict->name = best->name;
    verdict->is_tied = tied.n > 1 || is_open;
    const char *const first =
        dsgd_xprintf("%s %s", dsgd_listed(tied.v, " and "),
                     at->n == 1          ? "is the only candidate"
                     : tied.n > 1        ? "tie"
                     : is_open           ? "leads"
                     : others[0] == NULL ? "is the only candidate that can win"
                     : at->learns        ? "learns fastest"
                                         : "is fastest");
    const char *const value = dsgd_readable(number(at, best, at->measure), 4);
    char *text = at->learns ? dsgd_xprintf("%s: %s after %s s", first, at->goal, value)
                            : dsgd_xprintf("%s: %s %s/s", first, value,
                                           dsgd_sample_unit(at->manifest, at->frame->csv));
    for (size_t i = 0; i < 2 && others[i] != NULL; i++) {
        const dsgd_ratio by = lead_of(at, best, others[i], at->measure);
        if (i == 0 || others[1] != others[0])
            dsgd_append(&text, ", %s times as fast as %s", dsgd_ratio_text(&by), others[i]->name);
    }
    say(verdict, dsgd_xprintf("%s.", text),
        open.n > 0 ? dsgd_xprintf("%s, within noise of others", first) : first);
    if (open.n > 0)
        say(verdict,
            dsgd_xprintf("With %s its lead over %s is not certain.",
                         dsgd_counted(best->point->n_rows, "seed"), dsgd_listed(open.v, " and ")),
            NULL);
}

/**
 * Adds a sentence that names the candidates with the fewest bytes, the least energy and the lowest
 * cost up to the target.
 */
static void say_expenses(const place *at, dsgd_verdict *verdict, const candidate *best)
{
    static const char *const texts[DSGD_N_EXPENSES] = {"sends the fewest bytes",
                                                       "uses the least energy", "costs the least"};
    for (size_t i = 0; i < DSGD_N_EXPENSES; i++) {
        const size_t m = dsgd_expenses[i].to_target;
        const candidate *const c = best_by(at, m);
        if (c == NULL || c == best)
            continue;
        const dsgd_ratio r = lead_of(at, best, c, m);
        if (r.ratio < 1 / (1 + DSGD_TIE) && !(r.n > 1 && r.n_settling > 0))
            say(verdict,
                dsgd_xprintf("%s %s up to the target: %s times the value of %s.", c->name, texts[i],
                             dsgd_ratio_text(&r), best->name),
                NULL);
    }
}

/**
 * Returns details of a candidate's outcome: the number of seeds, means over seeds, or the cause.
 * Returns "" if there are no details.
 */
static const char *detail_of(const place *at, const candidate *c)
{
    const char *const learned = quantities[at->quantity];
    const double last = mean(c, at->last[at->quantity]);
    const char *const why = dsgd_field_of(at->frame->csv, c->point->rows[0], "why");
    if (c->n_seeds < c->point->n_rows)
        return dsgd_xprintf(" (%zu of %zu seeds)", c->n_seeds, c->point->n_rows);
    if (c->outcome == UNLEARNED)
        return dsgd_xprintf(" (%s %.3g, from %.3g)", learned, last,
                            mean(c, at->first[at->quantity]));
    if (c->outcome == LOST)
        return dsgd_xprintf(" (%s %.3g at the end)", learned, last);
    if (c->outcome == OPEN)
        return dsgd_xprintf(" (after %s s)", dsgd_readable(mean(c, at->ended_s), 4));
    return c->outcome <= DIVERGED && *why != '\0'
               ? dsgd_xprintf(" (%.*s)", (int)strcspn(why, ":"), why)
               : "";
}

/** Adds sentences that name the candidates that cannot win, grouped by reason. */
static void say_outcomes(const place *at, dsgd_verdict *verdict)
{
    enum { MOST_NAMES = 4 }; /* largest number of candidates that the line below a figure names */
    for (outcome which = FAILED; which < N_OUTCOMES; which++) {
        dsgd_names names = {.n = 0};
        for (const candidate *c = at->v; c < at->v + at->n; c++)
            if (c->outcome == which)
                dsgd_names_add(&names, dsgd_xprintf("%s%s", c->name, detail_of(at, c)));
        if (names.n == 0)
            continue;
        const char *const listed = dsgd_listed(names.v, " and ");
        const char *const reason =
            which < SHORT    ? reasons[which]
            : which == SHORT ? dsgd_xprintf("did not reach %s in these runs", at->goal)
            : which == LOST  ? dsgd_xprintf("reached %s and lost it again", at->goal)
                             : "ended before the target was reached; a longer `until` can decide";
        say(verdict, dsgd_xprintf("%s %s.", listed, reason),
            dsgd_xprintf("%s %s",
                         names.n > MOST_NAMES ? dsgd_xprintf("%zu of %zu", names.n, at->n) : listed,
                         which == OPEN ? "ended before" : reason));
    }
}

/**
 * Adds a warning if the time between two evaluations is long: more than a third of the time to the
 * target, or more than a lead.
 */
static void say_gap(const place *at, dsgd_verdict *verdict, const candidate *best)
{
    const double best_s = number(at, best, DSGD_TO_TARGET);
    /*
     * gap_s: longest time between two evaluations; lead_s: smallest lead that is not a tie; both in
     * seconds
     */
    double gap_s = 0, lead_s = INFINITY;
    dsgd_passage passage;
    for (const candidate *c = at->v; c < at->v + at->n; c++) {
        const double by_s = number(at, c, DSGD_TO_TARGET) - best_s;
        for (size_t k = 0; c->outcome == ABLE && k < c->point->n_rows; k++)
            if (dsgd_target_reach(&at->target, at->curves, c->point->rows[k], "virtual_s", &passage,
                                  NULL) == DSGD_OK)
                gap_s = fmax(gap_s, passage.gap);
        if (c->outcome == ABLE && by_s > DSGD_TIE * best_s)
            lead_s = fmin(lead_s, by_s);
    }
    const char *const gap = dsgd_readable(gap_s, 3);
    if (gap_s > fmin(best_s / 3, lead_s))
        say(verdict,
            dsgd_xprintf("The target lies between evaluations that are up to %s s apart, so the "
                         "times are rough%s.",
                         gap, gap_s > lead_s ? " and the order is not certain" : ""),
            dsgd_xprintf("evaluations %s s apart", gap));
}

/**
 * Adds warnings about few seeds, a common learning rate, and rare evaluations. @p best is NULL if
 * no candidate wins.
 */
static void say_caveats(const place *at, dsgd_verdict *verdict, const candidate *best)
{
    enum { FEW_SEEDS = 3 };
    size_t least = SIZE_MAX, n_able = 0;
    const double rate = dsgd_run_learning_rate(run_of(at, at->v));
    bool is_common = at->learns && at->n > 1, by_chance = false;
    for (const candidate *c = at->v; c < at->v + at->n; c++) {
        const size_t n = dsgd_frame_mean(c->point, at->numbers[at->measure]).n;
        least = c->outcome == ABLE && n < least ? n : least;
        n_able += c->outcome == ABLE;
        is_common = is_common && dsgd_run_learning_rate(run_of(at, c)) == rate;
        by_chance = by_chance || dsgd_is_by_chance(run_of(at, c));
    }
    if (best != NULL && n_able > 1 && least < FEW_SEEDS && by_chance)
        say(verdict,
            least == 1 ? "With one seed a difference can be chance."
                       : "Intervals over two seeds are wide.",
            least == 1 ? "one seed" : "two seeds");
    if (is_common)
        say(verdict,
            dsgd_xprintf("All candidates use the learning rate %g, which suits some better than "
                         "others; `dsgd tune` finds the best rate of each.",
                         rate),
            "one learning rate for all");
    if (best != NULL && at->learns)
        say_gap(at, verdict, best);
}

/* --- all settings ----------------------------------------------------------------------------- */

static dsgd_status judge(place *at, const char *target, const char **out, dsgd_verdict *verdict,
                         dsgd_error *error)
{
    *verdict =
        (dsgd_verdict){.at = at->v[0].point, .text = dsgd_xstrdup(""), .brief = dsgd_xstrdup("")};
    measure_progress(at);
    judge_without_target(at, out);
    if (at->learns)
        DSGD_TRY(judge_by_target(at, target, error));
    verdict->goal = at->goal;
    const candidate *const best = at->learns && at->goal == NULL ? NULL : best_by(at, at->measure);
    for (candidate *c = at->v; best != NULL && c < at->v + at->n; c++)
        if (c->outcome == SHORT && mean(c, at->ended_s) < number(at, best, DSGD_TO_TARGET))
            c->outcome = OPEN;
    if (best == NULL)
        say(verdict, "No candidate wins.", "no candidate wins");
    else
        say_winner(at, verdict, best);
    if (best != NULL && at->learns)
        say_expenses(at, verdict, best);
    say_outcomes(at, verdict);
    say_caveats(at, verdict, best);
    return DSGD_OK;
}

dsgd_status dsgd_verdicts_open(const dsgd_csv *runs, const char *folder,
                               const dsgd_framing *framing, const json_t *manifest,
                               const char *target, dsgd_verdicts *v, dsgd_error *error)
{
    dsgd_framing all = *framing;
    dsgd_run_table curves;
    bool is_won = false;
    all.planned = true;
    *v = (dsgd_verdicts){.unvaried = ""};
    DSGD_TRY(dsgd_frame_open(runs, &all, &v->frame, error));
    dsgd_run_table_open(&curves, runs, folder, "curves.csv", NULL);
    place *const places = collect(&v->frame, &curves, manifest);
    v->v = dsgd_keep(v->frame.n[DSGD_PLACE] + 1, sizeof *v->v);
    v->out = dsgd_keep(runs->n_rows + 1, sizeof *v->out);
    for (place *at = places; at < places + v->frame.n[DSGD_PLACE]; at++) {
        if (at->n > 0)
            DSGD_TRY(judge(at, target, v->out, &v->v[v->n++], error));
        is_won = is_won || (at->n > 1 && v->v[v->n - 1].winner != NULL);
    }
    if (is_won)
        v->unvaried = dsgd_unvaried_defaults(&v->frame, manifest);
    return DSGD_OK;
}

const char *dsgd_verdicts_summary(const dsgd_verdicts *v)
{
    dsgd_names winners = {.n = 0}, texts = {.n = 0}, goals = {.n = 0};
    size_t *const n = dsgd_keep(v->n + 1, sizeof *n);
    size_t n_open = 0;
    for (size_t i = 0; i < v->n; i++) {
        n[dsgd_names_add(&winners, v->v[i].winner == NULL ? "no candidate" : v->v[i].name)]++;
        n_open += v->v[i].is_tied;
        if (v->v[i].goal != NULL)
            dsgd_names_add(&goals, v->v[i].goal);
    }
    for (size_t k = 0; k < winners.n; k++)
        dsgd_names_add(&texts, dsgd_xprintf("%s is first in %zu", winners.v[k], n[k]));
    return dsgd_xprintf(
        "%s of %zu settings (workers, platform, workload and swept values).%s%s",
        dsgd_listed(texts.v, " and "), v->n,
        n_open == 0 ? "" : dsgd_xprintf(" In %zu of them the winner is not certain.", n_open),
        goals.n > 1 ? " Each setting has its own target, so do not compare times "
                      "between settings, or set one with `--target`."
                    : "");
}
