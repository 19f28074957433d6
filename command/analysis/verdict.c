/**
 * @file verdict.c
 * Verdicts: fates, a target, the least that it takes, and sentences.
 */
#include "command/analysis/verdict.h"

#include "base/option.h"
#include "command/console/table.h"
#include "command/runs/swept.h"

static const double least_progress = 0.1, full_progress = 0.9; /* as shares of the best's */
static const double most_growth = 1e3; /* of a loss */

/**
 * Why a point cannot win; from FATE_SHORT on all reasons are of a target. FATE_SILENT: nothing was exchanged.
 * FATE_OPEN: its runs ended before the winner reached the target, so that nobody knows.
 */
typedef enum fate {
    FATE_ABLE,
    FATE_FAILED,
    FATE_TIMEOUT,
    FATE_DIVERGED,
    FATE_SILENT,
    FATE_UNLEARNED,
    FATE_FORGOT,
    FATE_SHORT,
    FATE_LEFT,
    FATE_OPEN,
    N_FATES
} fate;

static const char *const reasons[N_FATES] = {
    [FATE_FAILED] = "failed",           [FATE_TIMEOUT] = "ran into the time limit",
    [FATE_DIVERGED] = "diverged",       [FATE_SILENT] = "exchanged nothing in these runs",
    [FATE_UNLEARNED] = "did not learn", [FATE_FORGOT] = "learned and lost it again",
};

/** A column of curves.csv at the first evaluation of a run, at its last, and the least and the most; NAN: none. */
typedef struct ends {
    double first, last, least, most;
} ends;

typedef struct contestant {
    const dsgd_frame_point *point;
    fate fate;
    size_t n_seeds; /* to which it happened */
    double progress, first, last, best; /* means over seeds; NAN: not known */
} contestant;

/** What is known of all runs. */
typedef struct evidence {
    const dsgd_frame *frame;
    const json_t *manifest;
    const char *unit; /* of throughput */
    dsgd_run_table curves;
    ends *losses, *accuracies; /* [rows of runs.csv] */
    dsgd_measured to_target[DSGD_N_MEASURES]; /* of the measures to a target */
    double *ended_s; /* [rows of runs.csv]: virtual time */
    double *numbers[DSGD_N_MEASURES]; /* to a target: of a place's own one; NULL: not asked for */
} evidence;

/** A place, and what decides there. */
typedef struct place {
    const evidence *of;
    contestant *v; /* [n] */
    size_t n;
    bool learns, by_accuracy, by_logarithm;
    const char *what; /* column of curves.csv */
    double start; /* the best first evaluation: that of one seed can be below chance */
    double best; /* progress */
    dsgd_target target; /* column NULL: throughput decides, or nobody learned */
    const char *goal; /* the same, for readers */
} place;

static double number(const place *at, const contestant *c, size_t m)
{
    return at->of->numbers[m] == NULL ? NAN : dsgd_frame_mean(c->point, at->of->numbers[m]).mean;
}

/** The series: the algorithm, or what --by names, and its own swept options. */
static const char *name_of(const place *at, const contestant *c)
{
    const dsgd_frame *const f = at->of->frame;
    const char *const own = dsgd_frame_settings(f, c->point, 1 << DSGD_SERIES, f->by, " with ");
    return dsgd_xprintf(
        "%s%s%s", dsgd_swept_value(dsgd_frame_key(f, f->by), dsgd_frame_value(f, c->point, f->by)),
        *own == '\0' ? "" : " with ", own);
}

/* --- progress --------------------------------------------------------------------------------- */

static void suffer(contestant *c, fate what, size_t n_seeds)
{
    if (c->fate == FATE_ABLE && n_seeds > 0) {
        c->fate = what;
        c->n_seeds = n_seeds;
    }
}

static ends *all_ends(const evidence *of, const char *name)
{
    const dsgd_run_table *const curves = &of->curves;
    const size_t column = dsgd_csv_column(&curves->csv, name), n = of->frame->csv->n_rows;
    ends *const x = dsgd_keep(n + 1, sizeof *x);
    for (size_t row = 0; row < n; row++) {
        x[row] = (ends){NAN, NAN, NAN, NAN};
        for (size_t k = curves->first[row]; k != SIZE_MAX; k = curves->next[k]) {
            x[row].last = dsgd_csv_value(&curves->csv, k, column);
            x[row].first = isnan(x[row].first) ? x[row].last : x[row].first;
            x[row].least = fmin(x[row].least, x[row].last);
            x[row].most = fmax(x[row].most, x[row].last);
        }
    }
    return x;
}

static ends ends_of(const place *at, size_t row)
{
    return (at->by_accuracy ? at->of->accuracies : at->of->losses)[row];
}

static double last_of(const place *at, size_t row)
{
    return ends_of(at, row).last;
}

static double best_of(const place *at, size_t row)
{
    return at->by_accuracy ? ends_of(at, row).most : ends_of(at, row).least;
}

/** Accuracy where there is one; the logarithm of losses where all are above 0. */
static void choose_scale(place *at)
{
    double most = NAN, least = NAN;
    at->by_logarithm = true;
    for (size_t i = 0; i < at->n; i++)
        for (size_t k = 0; k < at->v[i].point->n_rows; k++) {
            const ends loss = at->of->losses[at->v[i].point->rows[k]];
            most = fmax(most, at->of->accuracies[at->v[i].point->rows[k]].first);
            least = fmin(least, loss.first);
            at->by_logarithm = at->by_logarithm && !(loss.first <= 0) && !(loss.last <= 0);
        }
    at->by_accuracy = !isnan(most);
    at->learns = at->by_accuracy || !isnan(least);
    at->start = at->by_accuracy ? most : least;
    at->what = at->by_accuracy ? "accuracy" : "loss";
}

static double progress_to(const place *at, double value)
{
    return at->by_accuracy    ? value - at->start
           : at->by_logarithm ? log(at->start / value)
                              : at->start - value;
}

static double progress_of(const place *at, size_t row)
{
    return progress_to(at, last_of(at, row));
}

bool dsgd_loss_grew(double first, double last)
{
    return last > most_growth * fmax(first, 1);
}

static void measure_progress(place *at, contestant *c)
{
    const double n = (double)c->point->n_rows;
    size_t n_grown = 0;
    c->progress = c->first = c->last = c->best = 0;
    for (size_t k = 0; k < c->point->n_rows; k++) {
        const ends loss = at->of->losses[c->point->rows[k]];
        n_grown += dsgd_loss_grew(loss.first, loss.last);
        c->progress += progress_of(at, c->point->rows[k]) / n;
        c->first += ends_of(at, c->point->rows[k]).first / n;
        c->last += last_of(at, c->point->rows[k]) / n;
        c->best += best_of(at, c->point->rows[k]) / n;
    }
    suffer(c, FATE_DIVERGED, n_grown);
}

/* --- fates ------------------------------------------------------------------------------------ */

static void find_fates(place *at)
{
    const dsgd_frame *const f = at->of->frame;
    bool somebody_sends = false;
    for (const contestant *c = at->v; c < at->v + at->n; c++)
        somebody_sends = somebody_sends || number(at, c, DSGD_SENT) > 0;
    for (contestant *c = at->v; c < at->v + at->n; c++) {
        suffer(c, FATE_FAILED, dsgd_frame_count(f, c->point, "failed"));
        suffer(c, FATE_TIMEOUT, dsgd_frame_count(f, c->point, "timeout"));
        suffer(c, FATE_DIVERGED, dsgd_frame_count(f, c->point, "diverged"));
        suffer(c, FATE_SILENT,
               somebody_sends && number(at, c, DSGD_SENT) <= 0 ? c->point->n_rows : 0);
        if (!at->learns || c->fate != FATE_ABLE)
            continue;
        measure_progress(at, c);
        at->best = c->fate == FATE_ABLE ? fmax(at->best, c->progress) : at->best;
    }
    const double least = fmax(DSGD_TIE, least_progress * at->best);
    for (contestant *c = at->v; c < at->v + at->n && at->learns; c++) {
        size_t n = 0, n_forgot = 0;
        for (size_t k = 0; k < c->point->n_rows; k++) {
            const bool is_back = !(progress_of(at, c->point->rows[k]) > least);
            n += is_back;
            n_forgot += is_back && progress_to(at, best_of(at, c->point->rows[k])) > least;
        }
        suffer(c, n_forgot == n ? FATE_FORGOT : FATE_UNLEARNED, n);
    }
}

/** Two digits, on the side that is easier to reach. */
static double rounded(double x, bool below)
{
    const double unit = x == 0 ? 1 : pow(10, floor(log10(fabs(x))) - 1);
    const double near = 1e-9; /* what was a round number stays one */
    return unit * (below ? ceil(x / unit - near) : floor(x / unit + near));
}

/** What the place's runs take to the target. */
static void measure_to_target(const place *at)
{
    const evidence *const of = at->of;
    for (size_t m = 0; m < DSGD_N_MEASURES; m++)
        for (const contestant *c = at->v; c < at->v + at->n && dsgd_measures[m].along != NULL; c++)
            for (size_t k = 0; k < c->point->n_rows; k++)
                dsgd_measure_row(of->frame, &of->to_target[m], &at->target, &of->curves,
                                 c->point->rows[k], &of->numbers[m][c->point->rows[k]], NULL);
}

/** The target, and who does not always reach it. */
static dsgd_status aim(place *at, const char *target, dsgd_error *error)
{
    double hardest = NAN; /* that all seeds reach of who made full progress */
    for (const contestant *c = at->v; c < at->v + at->n && target == NULL; c++)
        for (size_t k = 0; c->fate == FATE_ABLE && c->progress >= full_progress * at->best &&
                           k < c->point->n_rows;
             k++) {
            const double last = last_of(at, c->point->rows[k]);
            hardest = at->by_accuracy ? fmin(hardest, last) : fmax(hardest, last);
        }
    if (target == NULL && isnan(hardest))
        return DSGD_OK;
    if (target == NULL)
        target = dsgd_xprintf("%s=%.6g", at->what, rounded(hardest, !at->by_accuracy));
    DSGD_TRY(dsgd_target_parse(target, &at->target, error));
    at->goal = dsgd_xprintf("%s %g", at->target.column, at->target.value);
    measure_to_target(at);
    for (contestant *c = at->v; c < at->v + at->n; c++)
        suffer(c, FATE_SHORT,
               c->point->n_rows - dsgd_frame_mean(c->point, at->of->numbers[DSGD_TO_TARGET]).n);
    const double far = strcmp(at->target.column, at->what) == 0
                           ? full_progress * progress_to(at, at->target.value)
                           : -INFINITY;
    for (contestant *c = at->v; c < at->v + at->n; c++) {
        size_t n = 0;
        for (size_t k = 0; k < c->point->n_rows; k++)
            n += progress_of(at, c->point->rows[k]) < far;
        suffer(c, FATE_LEFT, n);
    }
    return DSGD_OK;
}

/* --- who wins --------------------------------------------------------------------------------- */

/** The best by a measure among those who can win; NULL: nobody can, or the table does not have it. */
static const contestant *best_by(const place *at, size_t m)
{
    const contestant *best = NULL;
    for (const contestant *c = at->v; c < at->v + at->n; c++) {
        const double x = number(at, c, m), least = best == NULL ? NAN : number(at, best, m);
        if (c->fate == FATE_ABLE && !isnan(x) &&
            (best == NULL || (m == DSGD_THROUGHPUT ? x > least : x < least)))
            best = c;
    }
    return best;
}

/** How many times as much as @p other's a contestant's measure is, or its inverse: at least 1 for a winner. */
static dsgd_ratio lead(const place *at, const contestant *c, const contestant *other, size_t m)
{
    const bool more = m == DSGD_THROUGHPUT;
    return dsgd_frame_ratio(at->of->frame, more ? c->point : other->point,
                            more ? other->point : c->point, at->of->numbers[m]);
}

/** Of who is short of the target it is open where its runs ended before the best was there. */
static void leave_open(place *at, const contestant *best)
{
    for (contestant *c = at->v; c < at->v + at->n; c++)
        if (c->fate == FATE_SHORT &&
            dsgd_frame_mean(c->point, at->of->ended_s).mean < number(at, best, DSGD_TO_TARGET))
            c->fate = FATE_OPEN;
}

/* --- sentences -------------------------------------------------------------------------------- */

/**
 * Who is as good as the best within DSGD_TIE, cannot be told from it, or has no seed in common with it; who is
 * the next; the baseline.
 */
typedef struct ranking {
    dsgd_names tied, open, apart; /* open: with how many times as much they take */
    const contestant *others[2]; /* NULL: there is none */
    bool has_ended; /* somebody before the best was there */
    bool has_part; /* somebody cannot win for some of its seeds */
} ranking;

/** Whether an interval is so wide that a ratio near 1 says nothing. */
static bool is_wide(const dsgd_ratio *by)
{
    static const double most = 0.1;
    return by->n > 1 && (by->high > 1 + most || by->low < 1 / (1 + most));
}

static ranking rank(const place *at, const contestant *best, size_t m)
{
    ranking r = {.tied = {.n = 0}};
    dsgd_names_add(&r.tied, name_of(at, best));
    for (const contestant *c = at->v; c < at->v + at->n; c++) {
        r.has_ended = r.has_ended || c->fate == FATE_OPEN;
        r.has_part = r.has_part || (c->fate != FATE_ABLE && c->n_seeds < c->point->n_rows);
        if (c == best || c->fate != FATE_ABLE)
            continue;
        const dsgd_ratio by = lead(at, best, c, m);
        if (by.n == 0)
            dsgd_names_add(&r.apart, name_of(at, c));
        else if (fabs(log(by.ratio)) <= log1p(DSGD_TIE) && !is_wide(&by))
            dsgd_names_add(&r.tied, name_of(at, c));
        else if (by.n > 1 && by.n_settling > 0)
            dsgd_names_add(&r.open, dsgd_xprintf("%s (%.3g times)", name_of(at, c), by.ratio));
        else {
            if (r.others[0] == NULL || by.ratio < lead(at, best, r.others[0], m).ratio)
                r.others[0] = c;
            if (c->point == best->point->baseline)
                r.others[1] = c;
        }
    }
    if (r.others[1] == r.others[0])
        r.others[1] = NULL;
    return r;
}

/** What was reached, or how fast, and by how much before whom. */
static void say_winner(const place *at, dsgd_verdict *verdict, const contestant *best, size_t m)
{
    const ranking r = rank(at, best, m);
    verdict->winner = best->point;
    verdict->name = name_of(at, best);
    const bool leads = r.open.n + r.apart.n > 0 || r.has_ended;
    verdict->is_tied = r.tied.n > 1 || leads;
    dsgd_append(&verdict->text, "%s%s", dsgd_listed(r.tied.v, " and "),
                at->n == 1            ? " ran alone, with nothing to compare it with"
                : r.tied.n > 1        ? " tie"
                : leads               ? " leads"
                : r.others[0] == NULL ? r.has_part ? " is the only one that can win with every seed"
                                                   : " is the only one that can win"
                : at->learns          ? " learns fastest"
                                      : " is fastest");
    verdict->brief = dsgd_xprintf("%s%s", verdict->text,
                                  r.open.n > 0    ? ", within noise of others"
                                  : r.apart.n > 0 ? ", without a seed in common with others"
                                                  : "");
    if (at->learns)
        dsgd_append(&verdict->text, ": %s after %s s", at->goal,
                    dsgd_readable(number(at, best, m), 4));
    else
        dsgd_append(&verdict->text, ": %s %s/s", dsgd_readable(number(at, best, m), 4),
                    at->of->unit);
    for (size_t i = 0; i < 2; i++) {
        if (r.others[i] == NULL)
            continue;
        const dsgd_ratio by = lead(at, best, r.others[i], m);
        dsgd_append(&verdict->text, ", %s times as fast as %s", dsgd_ratio_text(&by),
                    name_of(at, r.others[i]));
    }
    if (r.open.n > 0)
        dsgd_append(&verdict->text, ", but with %zu seeds it cannot be told from %s",
                    best->point->n_rows, dsgd_listed(r.open.v, " and "));
    if (r.apart.n > 0)
        dsgd_append(
            &verdict->text,
            ", but has no seed in common with %s: who is faster is open until both have run "
            "with the same ones",
            dsgd_listed(r.apart.v, " and "));
    dsgd_append(&verdict->text, ".");
}

/** Who takes the least of what is not time, where it is somebody else. */
static void say_expenses(const place *at, dsgd_verdict *verdict, const contestant *best)
{
    static const char *const texts[DSGD_N_EXPENSES] = {"sends least", "takes the least energy",
                                                       "costs least"};
    for (size_t i = 0; i < DSGD_N_EXPENSES; i++) {
        const size_t m = dsgd_expenses[i].to_target;
        const contestant *const c = best_by(at, m);
        if (c == NULL || c == best)
            continue;
        const dsgd_ratio r = lead(at, best, c, m); /* of what the best takes */
        if (r.ratio < 1 / (1 + DSGD_TIE) && !(r.n > 1 && r.n_settling > 0))
            dsgd_append(&verdict->text, " %s %s until then: %s of what %s does.", name_of(at, c),
                        texts[i], dsgd_ratio_text(&r), name_of(at, best));
    }
}

/** "; a: every worker waited at 2 s": what the first run that is not ok says, up to its first colon. */
static const char *cause_of(const place *at, fate of)
{
    for (const contestant *c = at->v; c < at->v + at->n; c++)
        for (size_t k = 0; c->fate == of && k < c->point->n_rows; k++) {
            const char *const why = dsgd_field_of(at->of->frame->csv, c->point->rows[k], "why");
            if (*why != '\0')
                return dsgd_xprintf("; %s: %.*s", name_of(at, c), (int)strcspn(why, ":"), why);
        }
    return "";
}

/** "a and b failed": who cannot win, by reason. */
static void say_fates(const place *at, dsgd_verdict *verdict)
{
    enum { MOST_NAMES = 4 }; /* below a figure */
    for (fate of = FATE_FAILED; of < N_FATES; of++) {
        dsgd_names names = {.n = 0};
        for (const contestant *c = at->v; c < at->v + at->n; c++) {
            if (c->fate != of)
                continue;
            char *name = dsgd_xstrdup(name_of(at, c));
            if (c->n_seeds < c->point->n_rows)
                dsgd_append(&name, " (%zu of %zu seeds)", c->n_seeds, c->point->n_rows);
            else if (of == FATE_UNLEARNED)
                dsgd_append(&name, " (%s %.3g, from %.3g)", at->what, c->last, c->first);
            else if (of == FATE_FORGOT)
                dsgd_append(&name, " (%s %.3g, after %.3g)", at->what, c->last, c->best);
            else if (of == FATE_OPEN)
                dsgd_append(&name, " (after %s s)",
                            dsgd_readable(dsgd_frame_mean(c->point, at->of->ended_s).mean, 4));
            else if (of == FATE_LEFT)
                dsgd_append(&name, " (%s %.3g at the end)", at->what, c->last);
            dsgd_names_add(&names, name);
        }
        if (names.n == 0)
            continue;
        const char *const reason =
            of < FATE_SHORT    ? reasons[of]
            : of == FATE_SHORT ? dsgd_xprintf("did not reach %s in these runs", at->goal)
            : of == FATE_LEFT  ? dsgd_xprintf("reached %s and lost it again", at->goal)
                               : "ended before that, so that it is open (a longer `until`, "
                                 "in seconds for all, decides)";
        const char *const who = dsgd_listed(names.v, " and ");
        dsgd_append(&verdict->text, " %s %s%s.", who, reason,
                    of <= FATE_DIVERGED ? cause_of(at, of) : "");
        dsgd_append(&verdict->brief, "; %s %s",
                    names.n > MOST_NAMES ? dsgd_xprintf("%zu of %zu", names.n, at->n) : who,
                    of == FATE_OPEN ? "ended before" : reason);
    }
}

/** What the manifest has of a contestant's first run. */
static const json_t *run_of(const place *at, const contestant *c)
{
    return dsgd_run_of(at->of->manifest, at->of->frame->csv, c->point->rows[0]);
}

/** The learning rate of a contestant's runs; NAN: not known. */
static double rate_of(const place *at, const contestant *c)
{
    const json_t *const optimizer = dsgd_run_option(run_of(at, c), "learn", "optimizer");
    const json_t *const rate = json_object_get(optimizer, "lr");
    return json_is_number(rate) ? json_number_value(rate) : NAN;
}

/** The time between the two evaluations between which a run passes the target. */
static double gap_of(const place *at, size_t row)
{
    const dsgd_run_table *const curves = &at->of->curves;
    const double passed_s = at->of->numbers[DSGD_TO_TARGET][row];
    double before = NAN, now = NAN;
    for (size_t k = curves->first[row]; k != SIZE_MAX && !(now >= passed_s); k = curves->next[k]) {
        before = now;
        now = dsgd_csv_value(&curves->csv, k, dsgd_csv_column(&curves->csv, "virtual_s"));
    }
    return now - before;
}

/** Times to a target lie on lines between evaluations, which may be a third of them, or more than a lead. */
static void doubt_lines(const place *at, dsgd_verdict *verdict, const contestant *best)
{
    const double best_s = number(at, best, DSGD_TO_TARGET);
    double gap_s = 0, lead_s = INFINITY; /* the longest, the least that is no tie */
    for (const contestant *c = at->v; c < at->v + at->n; c++) {
        const double by_s = number(at, c, DSGD_TO_TARGET) - best_s;
        for (size_t k = 0; c->fate == FATE_ABLE && k < c->point->n_rows; k++)
            gap_s = fmax(gap_s, gap_of(at, c->point->rows[k]));
        if (c->fate == FATE_ABLE && by_s > DSGD_TIE * best_s)
            lead_s = fmin(lead_s, by_s);
    }
    if (gap_s <= fmin(best_s / 3, lead_s))
        return;
    dsgd_append(&verdict->text, " The target was passed between evaluations up to %s s apart, %s.",
                dsgd_readable(gap_s, 3),
                gap_s > lead_s ? "more than a lead: who is first rests on the line between them"
                               : "so that the time is rough");
    dsgd_append(&verdict->brief, "; evaluations %s s apart", dsgd_readable(gap_s, 3));
}

/** @p best NULL: nobody wins. */
static void say_doubts(const place *at, dsgd_verdict *verdict, const contestant *best, size_t m)
{
    enum { FEW_SEEDS = 3 };
    size_t least = SIZE_MAX, n_able = 0;
    const double rate = rate_of(at, at->v);
    bool is_common = at->learns && at->n > 1, by_chance = false;
    for (const contestant *c = at->v; c < at->v + at->n; c++) {
        const size_t n = dsgd_frame_mean(c->point, at->of->numbers[m]).n;
        least = c->fate == FATE_ABLE && n < least ? n : least;
        n_able += c->fate == FATE_ABLE;
        is_common = is_common && rate_of(at, c) == rate;
        by_chance = by_chance || dsgd_is_by_chance(at->of->manifest, run_of(at, c));
    }
    if (best != NULL && n_able > 1 && least < FEW_SEEDS && by_chance) {
        dsgd_append(&verdict->text, least == 1 ? " With one seed a difference can be chance."
                                               : " Intervals over two seeds are wide.");
        dsgd_append(&verdict->brief, least == 1 ? "; one seed" : "; two seeds");
    }
    if (is_common) {
        dsgd_append(&verdict->text,
                    " One learning rate, %g, was used for all, which suits some better than others "
                    "(`dsgd tune` finds each one's).",
                    rate);
        dsgd_append(&verdict->brief, "; one learning rate for all");
    }
    if (best != NULL && at->learns)
        doubt_lines(at, verdict, best);
}

/* --- all places ------------------------------------------------------------------------------- */

static dsgd_status judge(place *at, const char *target, const char **out, dsgd_verdict *verdict,
                         dsgd_error *error)
{
    choose_scale(at);
    find_fates(at);
    for (const contestant *c = at->v; c < at->v + at->n; c++)
        for (size_t k = 0; k < c->point->n_rows; k++)
            out[c->point->rows[k]] = reasons[c->fate];
    if (at->learns)
        DSGD_TRY(aim(at, target, error));
    const size_t m = at->learns ? DSGD_TO_TARGET : DSGD_THROUGHPUT;
    const contestant *const best = at->learns && at->target.column == NULL ? NULL : best_by(at, m);
    *verdict = (dsgd_verdict){.at = at->v[0].point, .goal = at->goal, .text = dsgd_xstrdup("")};
    if (best == NULL) {
        dsgd_append(&verdict->text, "Nobody wins.");
        verdict->brief = dsgd_xstrdup("nobody wins");
    } else {
        if (at->learns)
            leave_open(at, best);
        say_winner(at, verdict, best, m);
        if (at->learns)
            say_expenses(at, verdict, best);
    }
    say_fates(at, verdict);
    say_doubts(at, verdict, best, m);
    return DSGD_OK;
}

static void gather(const dsgd_verdicts *v, const char *folder, const json_t *manifest, evidence *of)
{
    *of = (evidence){
        .frame = &v->frame, .manifest = manifest, .unit = dsgd_sample_unit(manifest, v->frame.csv)};
    dsgd_run_table_open(&of->curves, v->frame.csv, folder, "curves.csv", NULL);
    of->ended_s = dsgd_frame_numbers(&v->frame, "virtual_s");
    of->losses = all_ends(of, "loss");
    of->accuracies = all_ends(of, "accuracy");
    of->numbers[DSGD_THROUGHPUT] = dsgd_frame_numbers(&v->frame, "throughput_samples_per_s");
    of->numbers[DSGD_SENT] = dsgd_frame_numbers(&v->frame, "sent_mean_bytes");
    for (size_t m = 0; m < DSGD_N_MEASURES; m++) {
        if (dsgd_measures[m].along == NULL)
            continue;
        of->to_target[m] = dsgd_measured_columns(&v->frame, m);
        of->numbers[m] = dsgd_keep(v->frame.csv->n_rows + 1, sizeof *of->numbers[m]);
    }
}

dsgd_status dsgd_verdicts_open(const dsgd_csv *runs, const char *folder,
                               const dsgd_framing *framing, const json_t *manifest,
                               const char *target, dsgd_verdicts *v, dsgd_error *error)
{
    dsgd_framing all = *framing;
    evidence of;
    all.planned = true;
    *v = (dsgd_verdicts){.unvaried = ""};
    DSGD_TRY(dsgd_frame_open(runs, &all, &v->frame, error));
    gather(v, folder, manifest, &of);
    place *const places = dsgd_keep(v->frame.n[DSGD_PLACE] + 1, sizeof *places);
    for (const dsgd_frame_point *p = v->frame.points; p < v->frame.points + v->frame.n_points;
         p++) {
        place *const at = &places[p->at[DSGD_PLACE]];
        if (p->at[DSGD_VARIATION] != 0)
            continue;
        at->v = dsgd_keep_more(at->v, at->n + 1, sizeof *at->v);
        at->v[at->n++] = (contestant){.point = p, .progress = NAN};
    }
    v->v = dsgd_keep(v->frame.n[DSGD_PLACE] + 1, sizeof *v->v);
    v->out = dsgd_keep(runs->n_rows + 1, sizeof *v->out);
    for (size_t k = 0; k < v->frame.n[DSGD_PLACE]; k++) {
        places[k].of = &of;
        if (places[k].n > 0)
            DSGD_TRY(judge(&places[k], target, v->out, &v->v[v->n++], error));
        if (places[k].n > 1 && v->v[v->n - 1].winner != NULL)
            v->unvaried = dsgd_unvaried(&v->frame, manifest);
    }
    return DSGD_OK;
}

const char *dsgd_verdicts_summary(const dsgd_verdicts *v)
{
    dsgd_names winners = {.n = 0}, texts = {.n = 0}, goals = {.n = 0};
    size_t *const n = dsgd_keep(v->n + 1, sizeof *n);
    size_t n_open = 0;
    for (size_t i = 0; i < v->n; i++) {
        n[dsgd_names_add(&winners, v->v[i].winner == NULL ? "nobody" : v->v[i].name)]++;
        n_open += v->v[i].is_tied;
        if (v->v[i].goal != NULL)
            dsgd_names_add(&goals, v->v[i].goal);
    }
    for (size_t k = 0; k < winners.n; k++)
        dsgd_names_add(&texts, dsgd_xprintf("%s is first at %zu", winners.v[k], n[k]));
    char *text = n[0] == v->n && v->v[0].winner == NULL
                     ? dsgd_xprintf("At none of %zu places can anybody win", v->n)
                 : n_open == v->n
                     ? dsgd_xprintf("At none of %zu places is anybody first for certain: each is "
                                    "open or a tie",
                                    v->n)
                     : dsgd_xprintf("Of %zu places %s", v->n, dsgd_listed(texts.v, " and "));
    if (n_open > 0 && n_open < v->n)
        dsgd_append(&text, "; at %zu that is open or a tie", n_open);
    if (goals.n > 1)
        dsgd_append(&text, "; each has a target of its own, so that their times are not to be "
                           "compared (`--target` sets one)");
    return text;
}
