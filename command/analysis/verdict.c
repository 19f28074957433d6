/**
 * @file verdict.c
 * The outcome of each candidate at a place, the winner, and the caveats.
 */
#include "command/analysis/verdict.h"

#include "base/option.h"
#include "command/analysis/comparison.h"
#include "command/console/table.h"
#include "command/runs/swept.h"

static const double least_progress = 0.1, full_progress = 0.9; /* as shares of the best's */

/** Why a candidate cannot win. Outcomes from SHORT on are about a target. */
typedef enum outcome {
    ABLE,
    FAILED,
    TIMED_OUT,
    DIVERGED,
    SILENT, /* exchanged nothing, while others did */
    GREW, /* its loss grew without end, which counts as DIVERGED */
    UNLEARNED,
    SHORT, /* did not reach the target */
    LOST, /* reached the target, and lost it again */
    OPEN, /* its runs ended before the winner reached the target */
    N_OUTCOMES
} outcome;

static const char *const reasons[SHORT] = {[FAILED] = "failed",
                                           [TIMED_OUT] = "ran into the time limit",
                                           [DIVERGED] = "diverged",
                                           [SILENT] = "exchanged nothing in these runs",
                                           [UNLEARNED] = "made no progress"};

enum { ACCURACY, LOSS, N_QUANTITIES };
static const char *const quantities[N_QUANTITIES] = {"accuracy", "loss"}; /* of curves.csv */

/** A point of a place. */
typedef struct candidate {
    const dsgd_frame_point *point;
    const char *name;
    outcome outcome;
    size_t n_seeds; /* that have the outcome */
} candidate;

/** A place with its candidates. Arrays have a number per row of runs.csv; NAN: not known. */
typedef struct place {
    const dsgd_frame *frame;
    const json_t *manifest;
    const dsgd_run_table *curves;
    const double *first[N_QUANTITIES], *last[N_QUANTITIES]; /* of a run's evaluations */
    double *progress, *ended_s; /* at the last evaluation */
    double *numbers[DSGD_N_MEASURES]; /* NULL: not needed */
    candidate *v; /* [n] */
    size_t n;
    bool learns, by_logarithm, any_sends;
    int quantity; /* that is learned */
    double start; /* the best first evaluation: a single seed's can be below chance */
    double best; /* progress */
    double least, far; /* progress of a run that learned, and that did not lose the target again */
    dsgd_target target;
    const char *goal; /* the target; NULL: throughput decides, or no candidate learned */
    size_t measure; /* that decides */
} place;

/* --- outcomes --------------------------------------------------------------------------------- */

/** The mean over seeds of a column, or of a measure; NAN: not known. */
static double mean(const candidate *c, const double *x)
{
    return x == NULL ? NAN : dsgd_frame_mean(c->point, x).mean;
}

static double number(const place *at, const candidate *c, size_t m)
{
    return mean(c, at->numbers[m]);
}

static double progress_to(const place *at, double value)
{
    return at->quantity == ACCURACY ? value - at->start
           : at->by_logarithm       ? log(at->start / value)
                                    : at->start - value;
}

/** Accuracy where there is one; the logarithm of losses where all are above 0. */
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
        for (size_t k = 0; k < c->point->n_rows; k++) {
            const size_t row = c->point->rows[k];
            at->progress[row] = progress_to(at, at->last[at->quantity][row]);
        }
}

bool dsgd_loss_grew(double first, double last)
{
    static const double most = 1e3;
    return last > most * fmax(first, 1);
}

/** Whether a run of a candidate has an outcome. */
static bool has(const place *at, const candidate *c, size_t row, outcome what)
{
    static const char *const statuses[] = {
        [FAILED] = "failed", [TIMED_OUT] = "timeout", [DIVERGED] = "diverged"};
    switch (what) {
    case SILENT:
        return at->any_sends && number(at, c, DSGD_SENT) <= 0;
    case GREW:
        return dsgd_loss_grew(at->first[LOSS][row], at->last[LOSS][row]);
    case UNLEARNED:
        return at->learns && !(at->progress[row] > at->least);
    case SHORT:
        return isnan(at->numbers[DSGD_TO_TARGET][row]);
    case LOST:
        return !(at->progress[row] > at->far);
    default:
        return strcmp(dsgd_field_of(at->frame->csv, row, "status"), statuses[what]) == 0;
    }
}

/** Sets the first of these outcomes that some seeds of a candidate have, unless it has one. */
static void find_outcomes(place *at, outcome first, outcome last)
{
    for (candidate *c = at->v; c < at->v + at->n; c++)
        for (outcome what = first; c->outcome == ABLE && what <= last; what++) {
            c->n_seeds = 0;
            for (size_t k = 0; k < c->point->n_rows; k++)
                c->n_seeds += has(at, c, c->point->rows[k], what);
            if (c->n_seeds > 0)
                c->outcome = what == GREW ? DIVERGED : what;
        }
}

/** Sets the outcomes that need no target, and in @p out those of runs. */
static void judge_without_target(place *at, const char **out)
{
    for (const candidate *c = at->v; c < at->v + at->n; c++)
        at->any_sends = at->any_sends || number(at, c, DSGD_SENT) > 0;
    find_outcomes(at, FAILED, GREW);
    for (const candidate *c = at->v; c < at->v + at->n; c++)
        if (at->learns && c->outcome == ABLE)
            at->best = fmax(at->best, mean(c, at->progress));
    at->least = fmax(DSGD_TIE, least_progress * at->best);
    find_outcomes(at, UNLEARNED, UNLEARNED);
    for (const candidate *c = at->v; c < at->v + at->n; c++)
        for (size_t k = 0; k < c->point->n_rows; k++)
            out[c->point->rows[k]] = reasons[c->outcome];
}

/** Two digits, on the side that is easier to reach. */
static double rounded(double x, bool below)
{
    const double unit = x == 0 ? 1 : pow(10, floor(log10(fabs(x))) - 1);
    const double near = 1e-9; /* a round number keeps its value */
    return unit * (below ? ceil(x / unit - near) : floor(x / unit + near));
}

/** The target that all seeds of the candidates with full progress reach; NULL: there is none. */
static const char *own_target(const place *at)
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

/** Measures what the runs of the place take to the target, and sets the outcomes about it. */
static dsgd_status aim(place *at, const char *text, dsgd_error *error)
{
    const char *const chosen = text == NULL ? own_target(at) : text;
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

/** The best by a measure among the candidates that can win; NULL: none can, or none has it. */
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

/** How many times as fast as the other a candidate is, or how much less it takes. */
static dsgd_ratio lead_of(const place *at, const candidate *c, const candidate *other, size_t m)
{
    const bool more = m == DSGD_THROUGHPUT;
    return dsgd_frame_ratio(at->frame, more ? c->point : other->point,
                            more ? other->point : c->point, at->numbers[m]);
}

/* --- sentences -------------------------------------------------------------------------------- */

/** Appends a sentence to the text, and a clause to the line below a figure. */
static void say(dsgd_verdict *verdict, const char *sentence, const char *clause)
{
    dsgd_append(&verdict->text, "%s%s", *verdict->text == '\0' ? "" : " ", sentence);
    if (clause != NULL)
        dsgd_append(&verdict->brief, "%s%s", *verdict->brief == '\0' ? "" : "; ", clause);
}

/** Whether a winner's lead is one by which no reader would choose. */
static bool is_tie(const dsgd_ratio *lead)
{
    static const double wide = 1.1; /* an interval beyond makes a ratio near 1 no tie */
    const bool is_wide = lead->n > 1 && (lead->high > wide || lead->low < 1 / wide);
    return fabs(log(lead->ratio)) <= log1p(DSGD_TIE) && !is_wide;
}

/** Says who is first, with the ratios to the next and to the baseline. */
static void say_winner(const place *at, dsgd_verdict *verdict, const candidate *best)
{
    dsgd_names tied = {.n = 0}, open = {.n = 0}; /* open: no certain difference */
    const candidate *others[2] = {NULL, NULL}; /* certainly behind: the next, the baseline */
    double least = INFINITY;
    bool leads = false;
    dsgd_names_add(&tied, best->name);
    for (const candidate *c = at->v; c < at->v + at->n; c++) {
        const dsgd_ratio by = lead_of(at, best, c, at->measure);
        leads = leads || c->outcome == OPEN;
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
    leads = leads || open.n > 0;
    verdict->winner = best->point;
    verdict->name = best->name;
    verdict->is_tied = tied.n > 1 || leads;
    const char *const first =
        dsgd_xprintf("%s %s", dsgd_listed(tied.v, " and "),
                     at->n == 1          ? "is the only candidate"
                     : tied.n > 1        ? "tie"
                     : leads             ? "leads"
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
    if (open.n > 0)
        dsgd_append(&text, ", but with %s it cannot be told from %s",
                    dsgd_counted(best->point->n_rows, "seed"), dsgd_listed(open.v, " and "));
    say(verdict, dsgd_xprintf("%s.", text),
        open.n > 0 ? dsgd_xprintf("%s, within noise of others", first) : first);
}

/** Names the candidates that take the least bytes, energy and money to the target. */
static void say_expenses(const place *at, dsgd_verdict *verdict, const candidate *best)
{
    static const char *const texts[DSGD_N_EXPENSES] = {"sends least", "takes the least energy",
                                                       "costs least"};
    for (size_t i = 0; i < DSGD_N_EXPENSES; i++) {
        const size_t m = dsgd_expenses[i].to_target;
        const candidate *const c = best_by(at, m);
        if (c == NULL || c == best)
            continue;
        const dsgd_ratio r = lead_of(at, best, c, m); /* of what the best takes */
        if (r.ratio < 1 / (1 + DSGD_TIE) && !(r.n > 1 && r.n_settling > 0))
            say(verdict,
                dsgd_xprintf("%s %s until then: %s of what %s does.", c->name, texts[i],
                             dsgd_ratio_text(&r), best->name),
                NULL);
    }
}

/** Details on an outcome: seeds, values as means over seeds, the cause; "": none. */
static const char *detail_of(const place *at, const candidate *c)
{
    const char *const learned = quantities[at->quantity];
    const double last = mean(c, at->last[at->quantity]);
    const char *const why = dsgd_field_of(at->frame->csv, c->point->rows[0], "why");
    return c->n_seeds < c->point->n_rows
               ? dsgd_xprintf(" (%zu of %zu seeds)", c->n_seeds, c->point->n_rows)
           : c->outcome == UNLEARNED ? dsgd_xprintf(" (%s %.3g, from %.3g)", learned, last,
                                                    mean(c, at->first[at->quantity]))
           : c->outcome == LOST      ? dsgd_xprintf(" (%s %.3g at the end)", learned, last)
           : c->outcome == OPEN
               ? dsgd_xprintf(" (after %s s)", dsgd_readable(mean(c, at->ended_s), 4))
           : c->outcome <= DIVERGED && *why != '\0'
               ? dsgd_xprintf(" (%.*s)", (int)strcspn(why, ":"), why)
               : "";
}

/** Names the candidates that cannot win, by reason. */
static void say_outcomes(const place *at, dsgd_verdict *verdict)
{
    enum { MOST_NAMES = 4 }; /* below a figure */
    for (outcome what = FAILED; what < N_OUTCOMES; what++) {
        dsgd_names names = {.n = 0};
        for (const candidate *c = at->v; c < at->v + at->n; c++)
            if (c->outcome == what)
                dsgd_names_add(&names, dsgd_xprintf("%s%s", c->name, detail_of(at, c)));
        if (names.n == 0)
            continue;
        const char *const who = dsgd_listed(names.v, " and ");
        const char *const reason =
            what < SHORT    ? reasons[what]
            : what == SHORT ? dsgd_xprintf("did not reach %s in these runs", at->goal)
            : what == LOST  ? dsgd_xprintf("reached %s and lost it again", at->goal)
                            : "ended before that; a longer `until`, in seconds for all, decides";
        say(verdict, dsgd_xprintf("%s %s.", who, reason),
            dsgd_xprintf("%s %s",
                         names.n > MOST_NAMES ? dsgd_xprintf("%zu of %zu", names.n, at->n) : who,
                         what == OPEN ? "ended before" : reason));
    }
}

/* --- caveats of a place ----------------------------------------------------------------------- */

static const json_t *run_of(const place *at, const candidate *c)
{
    return dsgd_run_of(at->manifest, at->frame->csv, c->point->rows[0]);
}

/** The learning rate of a candidate; NAN: not known. */
static double rate_of(const place *at, const candidate *c)
{
    const json_t *const optimizer = dsgd_run_option(run_of(at, c), "learn", "optimizer");
    const json_t *const rate = json_object_get(optimizer, "lr");
    return json_is_number(rate) ? json_number_value(rate) : NAN;
}

/** Says if the distance between evaluations is more than a third of the time, or than a lead. */
static void say_gap(const place *at, dsgd_verdict *verdict, const candidate *best)
{
    const double best_s = number(at, best, DSGD_TO_TARGET);
    double gap_s = 0, lead_s = INFINITY; /* the longest, the least that is no tie */
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
    if (gap_s > fmin(best_s / 3, lead_s))
        say(verdict,
            dsgd_xprintf("The target was passed between evaluations up to %s s apart, %s.",
                         dsgd_readable(gap_s, 3),
                         gap_s > lead_s ? "more than a lead: who is first rests on the line "
                                          "between them"
                                        : "so that the time is rough"),
            dsgd_xprintf("evaluations %s s apart", dsgd_readable(gap_s, 3)));
}

/** @p best NULL: no candidate wins. */
static void say_caveats(const place *at, dsgd_verdict *verdict, const candidate *best)
{
    enum { FEW_SEEDS = 3 };
    size_t least = SIZE_MAX, n_able = 0;
    const double rate = rate_of(at, at->v);
    bool is_common = at->learns && at->n > 1, by_chance = false;
    for (const candidate *c = at->v; c < at->v + at->n; c++) {
        const size_t n = dsgd_frame_mean(c->point, at->numbers[at->measure]).n;
        least = c->outcome == ABLE && n < least ? n : least;
        n_able += c->outcome == ABLE;
        is_common = is_common && rate_of(at, c) == rate;
        by_chance = by_chance || dsgd_is_by_chance(run_of(at, c));
    }
    if (best != NULL && n_able > 1 && least < FEW_SEEDS && by_chance)
        say(verdict,
            least == 1 ? "With one seed a difference can be chance."
                       : "Intervals over two seeds are wide.",
            least == 1 ? "one seed" : "two seeds");
    if (is_common)
        say(verdict,
            dsgd_xprintf("One learning rate, %g, was used for all, which suits some better than "
                         "others (`dsgd tune` finds each one's).",
                         rate),
            "one learning rate for all");
    if (best != NULL && at->learns)
        say_gap(at, verdict, best);
}

/* --- caveats of all runs ---------------------------------------------------------------------- */

/** The collective by which a run sums; "": it does not, or the table is of an earlier version. */
static const char *collective_of(const dsgd_csv *runs, size_t row)
{
    const char *const partial = dsgd_field_of(runs, row, "partial_collective");
    return dsgd_csv_column(runs, "partial_collective") == runs->n_columns ? ""
           : *partial == '\0' ? dsgd_field_of(runs, row, "collective")
                              : partial;
}

const char *dsgd_mixed_collectives(const dsgd_csv *runs)
{
    dsgd_frame f;
    if (dsgd_frame_open(runs, &(dsgd_framing){.planned = true}, &f, NULL) != DSGD_OK)
        return NULL;
    size_t *const first = dsgd_keep(f.n[DSGD_PLACE] + 1, sizeof *first); /* row + 1 */
    for (size_t row = 0; row < runs->n_rows; row++) {
        const dsgd_frame_point *const p = &f.points[f.point_of[row]];
        size_t *const at = &first[p->at[DSGD_PLACE]];
        if (p->at[DSGD_VARIATION] > 0 || *collective_of(runs, row) == '\0')
            continue;
        *at = *at == 0 ? row + 1 : *at;
        const char *const by[] = {collective_of(runs, *at - 1), collective_of(runs, row)};
        const char *const names[] = {dsgd_csv_field(runs, *at - 1, f.keys[0]),
                                     dsgd_csv_field(runs, row, f.keys[0])};
        if (strcmp(by[0], by[1]) != 0 && strcmp(names[0], names[1]) != 0) /* not swept */
            return dsgd_xprintf("%s sums by %s, %s by %s, so that a difference between them may "
                                "be one of collectives; exchange: {collective, "
                                "partial_collective} sets them",
                                names[0], by[0], names[1], by[1]);
    }
    return NULL;
}

void dsgd_warn_of_mixed_collectives(FILE *stream, const dsgd_csv *runs)
{
    const char *const sentence = dsgd_mixed_collectives(runs);
    if (sentence != NULL)
        dsgd_print_wrapped(stream, "note:", 6, DSGD_TEXT_WIDTH, sentence);
}

/** Whether some run has another value of an option, by a sweep or by --sensitivity. */
static bool is_varied(const dsgd_frame *f, const char *option)
{
    for (size_t k = 0; k < f->n_keys; k++)
        if (f->n_values[k] > 1 && strstr(dsgd_frame_key(f, k), option) != NULL)
            return true;
    return f->n[DSGD_VARIATION] > 1;
}

/** The name of a member: a word, or what a table of options has chosen; "": neither. */
static const char *name_in(const json_t *object, const char *key)
{
    const json_t *const member = json_object_get(object, key);
    const char *const name =
        json_string_value(json_is_string(member) ? member : json_object_get(member, "name"));
    return name == NULL ? "" : name;
}

/** Whether a run compresses, at an encoder's speed that is the program's guess. */
static bool guesses_encoder(const json_t *run)
{
    const json_t *const algorithm = json_object_get(run, "algorithm");
    return strcmp(name_in(json_object_get(run, "platform"), "encoding"), "memory") == 0 &&
           (json_is_object(dsgd_run_option(run, "exchange", "encoding")) ||
            json_object_get(algorithm, "encoding") != NULL ||
            json_object_get(algorithm, "density") != NULL ||
            json_object_get(algorithm, "rank") != NULL);
}

bool dsgd_is_by_chance(const json_t *run)
{
    return !json_is_false(json_object_get(run, "by_chance"));
}

const char *dsgd_partial_results(const dsgd_csv *runs, const json_t *manifest)
{
    const size_t n = json_array_size(json_object_get(manifest, "runs"));
    return runs->n_rows >= n
               ? ""
               : dsgd_xprintf("Partial results: %zu of %zu runs are done, so the winner is open. "
                              "The same command, without --only or --shard, does the rest.",
                              runs->n_rows, n);
}

/** Names defaults that decide differences, and that no run varies; "": there are none. */
static const char *unvaried(const dsgd_frame *f, const json_t *manifest)
{
    bool cuts = false, encodes = false;
    for (size_t row = 0; row < f->csv->n_rows; row++) {
        const json_t *const run = dsgd_run_of(manifest, f->csv, row);
        cuts =
            cuts || (strcmp(name_in(json_object_get(run, "exchange"), "pieces"), "buckets") == 0 &&
                     dsgd_csv_value(f->csv, row, dsgd_csv_column(f->csv, "pieces")) > 1);
        encodes = encodes || guesses_encoder(run);
    }
    const struct {
        bool is_open;
        const char *option, *text;
    } all[] = {{cuts, "exchange.pieces", "how vectors are cut for their exchange (buckets)"},
               {encodes, "platform.encoding", "the encoder's speed (a guess)"},
               {dsgd_mixed_collectives(f->csv) != NULL, "exchange.collective",
                "one collective against another"}};
    const char *const file = json_string_value(json_object_get(manifest, "file"));
    const char *const given = json_string_value(json_object_get(manifest, "command"));
    dsgd_names names = {.n = 0};
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++)
        if (all[k].is_open && !is_varied(f, all[k].option))
            dsgd_names_add(&names, all[k].text);
    if (names.n == 0)
        return "";
    return dsgd_xprintf(
        "Not varied here, though it may decide: %s; `%s` with --sensitivity=choices and another "
        "folder (-o) varies it.",
        dsgd_listed(names.v, ", "),
        given != NULL && strncmp(given, "dsgd run ", strlen("dsgd run ")) == 0
            ? given
            : dsgd_xprintf("dsgd run %s", file == NULL ? "FILE" : file));
}

/* --- all places ------------------------------------------------------------------------------- */

static dsgd_status judge(place *at, const char *target, const char **out, dsgd_verdict *verdict,
                         dsgd_error *error)
{
    *verdict =
        (dsgd_verdict){.at = at->v[0].point, .text = dsgd_xstrdup(""), .brief = dsgd_xstrdup("")};
    measure_progress(at);
    judge_without_target(at, out);
    if (at->learns)
        DSGD_TRY(aim(at, target, error));
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

/** Tables and columns of all runs, for every place. */
static place gather(const dsgd_frame *frame, const dsgd_run_table *curves, const json_t *manifest)
{
    const size_t n = frame->csv->n_rows;
    place at = {.frame = frame, .manifest = manifest, .curves = curves};
    for (int q = 0; q < N_QUANTITIES; q++) {
        double *const first = dsgd_keep(n + 1, sizeof *first);
        double *const last = dsgd_keep(n + 1, sizeof *last);
        for (size_t row = 0; row < n; row++)
            dsgd_run_table_ends(curves, row, quantities[q], &first[row], &last[row]);
        at.first[q] = first;
        at.last[q] = last;
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

/** The algorithm, or the value of --by, with the swept options of its own. */
static const char *name_of(const dsgd_frame *f, const dsgd_frame_point *p)
{
    const char *const own = dsgd_frame_settings(f, p, 1 << DSGD_SERIES, f->by, " with ");
    return dsgd_xprintf("%s%s%s",
                        dsgd_swept_value(dsgd_frame_key(f, f->by), dsgd_frame_value(f, p, f->by)),
                        *own == '\0' ? "" : " with ", own);
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
    const place all_runs = gather(&v->frame, &curves, manifest);
    const size_t n = v->frame.n[DSGD_PLACE];
    place *const places = dsgd_keep(n + 1, sizeof *places);
    for (size_t k = 0; k < n; k++)
        places[k] = all_runs;
    for (const dsgd_frame_point *p = v->frame.points; p < v->frame.points + v->frame.n_points;
         p++) {
        place *const at = &places[p->at[DSGD_PLACE]];
        if (p->at[DSGD_VARIATION] != 0)
            continue;
        at->v = dsgd_keep_more(at->v, at->n + 1, sizeof *at->v);
        at->v[at->n++] = (candidate){.point = p, .name = name_of(&v->frame, p)};
    }
    v->v = dsgd_keep(n + 1, sizeof *v->v);
    v->out = dsgd_keep(runs->n_rows + 1, sizeof *v->out);
    for (size_t k = 0; k < n; k++) {
        if (places[k].n > 0)
            DSGD_TRY(judge(&places[k], target, v->out, &v->v[v->n++], error));
        is_won = is_won || (places[k].n > 1 && v->v[v->n - 1].winner != NULL);
    }
    if (is_won)
        v->unvaried = unvaried(&v->frame, manifest);
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
        dsgd_names_add(&texts, dsgd_xprintf("%s is first at %zu", winners.v[k], n[k]));
    return dsgd_xprintf(
        "Of %zu places %s%s%s", v->n, dsgd_listed(texts.v, " and "),
        n_open == 0      ? ""
        : n_open == v->n ? "; each of them is open or a tie"
                         : dsgd_xprintf("; at %zu that is open or a tie", n_open),
        goals.n > 1 ? "; each has a target of its own, so that their times are not to be compared "
                      "(`--target` sets one)"
                    : "");
}
