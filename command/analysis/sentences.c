/**
 * @file sentences.c
 * What a verdict says, and what lets one doubt it.
 */
#include "command/analysis/sentences.h"

#include "base/option.h"
#include "command/console/table.h"

/**
 * Who is as good as the best within DSGD_TIE, cannot be told from it, or has no seed in common with
 * it; who is the next; the baseline.
 */
typedef struct ranking {
    dsgd_names tied, open, apart; /* open: with how many times as much they take */
    const dsgd_contestant *others[2]; /* NULL: there is none */
    bool has_ended; /* somebody before the best was there */
    bool has_part; /* somebody cannot win for some of its seeds */
} ranking;

/** Whether an interval is so wide that a ratio near 1 says nothing. */
static bool is_wide(const dsgd_ratio *by)
{
    static const double most = 0.1;
    return by->n > 1 && (by->high > 1 + most || by->low < 1 / (1 + most));
}

static ranking rank(const dsgd_contest *at, const dsgd_contestant *best, size_t m)
{
    ranking r = {.tied = {.n = 0}};
    dsgd_names_add(&r.tied, dsgd_contest_name(at, best));
    for (const dsgd_contestant *c = at->v; c < at->v + at->n; c++) {
        r.has_ended = r.has_ended || c->fate == FATE_OPEN;
        r.has_part = r.has_part || (c->fate != FATE_ABLE && c->n_seeds < c->point->n_rows);
        if (c == best || c->fate != FATE_ABLE)
            continue;
        const dsgd_ratio by = dsgd_contest_lead(at, best, c, m);
        if (by.n == 0)
            dsgd_names_add(&r.apart, dsgd_contest_name(at, c));
        else if (fabs(log(by.ratio)) <= log1p(DSGD_TIE) && !is_wide(&by))
            dsgd_names_add(&r.tied, dsgd_contest_name(at, c));
        else if (by.n > 1 && by.n_settling > 0)
            dsgd_names_add(&r.open,
                           dsgd_xprintf("%s (%.3g times)", dsgd_contest_name(at, c), by.ratio));
        else {
            if (r.others[0] == NULL || by.ratio < dsgd_contest_lead(at, best, r.others[0], m).ratio)
                r.others[0] = c;
            if (c->point == best->point->baseline)
                r.others[1] = c;
        }
    }
    if (r.others[1] == r.others[0])
        r.others[1] = NULL;
    return r;
}

void dsgd_say_winner(const dsgd_contest *at, dsgd_verdict *verdict, const dsgd_contestant *best,
                     size_t m)
{
    const ranking r = rank(at, best, m);
    verdict->winner = best->point;
    verdict->name = dsgd_contest_name(at, best);
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
                    dsgd_readable(dsgd_contest_number(at, best, m), 4));
    else
        dsgd_append(&verdict->text, ": %s %s/s", dsgd_readable(dsgd_contest_number(at, best, m), 4),
                    at->of->unit);
    for (size_t i = 0; i < 2; i++) {
        if (r.others[i] == NULL)
            continue;
        const dsgd_ratio by = dsgd_contest_lead(at, best, r.others[i], m);
        dsgd_append(&verdict->text, ", %s times as fast as %s", dsgd_ratio_text(&by),
                    dsgd_contest_name(at, r.others[i]));
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

void dsgd_say_expenses(const dsgd_contest *at, dsgd_verdict *verdict, const dsgd_contestant *best)
{
    static const char *const texts[DSGD_N_EXPENSES] = {"sends least", "takes the least energy",
                                                       "costs least"};
    for (size_t i = 0; i < DSGD_N_EXPENSES; i++) {
        const size_t m = dsgd_expenses[i].to_target;
        const dsgd_contestant *const c = dsgd_contest_best(at, m);
        if (c == NULL || c == best)
            continue;
        const dsgd_ratio r = dsgd_contest_lead(at, best, c, m); /* of what the best takes */
        if (r.ratio < 1 / (1 + DSGD_TIE) && !(r.n > 1 && r.n_settling > 0))
            dsgd_append(&verdict->text, " %s %s until then: %s of what %s does.",
                        dsgd_contest_name(at, c), texts[i], dsgd_ratio_text(&r),
                        dsgd_contest_name(at, best));
    }
}

/** "; a: every worker waited at 2 s": what the first run that is not ok says, up to its first
 * colon. */
static const char *cause_of(const dsgd_contest *at, dsgd_fate of)
{
    for (const dsgd_contestant *c = at->v; c < at->v + at->n; c++)
        for (size_t k = 0; c->fate == of && k < c->point->n_rows; k++) {
            const char *const why = dsgd_field_of(at->of->frame->csv, c->point->rows[k], "why");
            if (*why != '\0')
                return dsgd_xprintf("; %s: %.*s", dsgd_contest_name(at, c), (int)strcspn(why, ":"),
                                    why);
        }
    return "";
}

void dsgd_say_fates(const dsgd_contest *at, dsgd_verdict *verdict)
{
    enum { MOST_NAMES = 4 }; /* below a figure */
    for (dsgd_fate of = FATE_FAILED; of < N_FATES; of++) {
        dsgd_names names = {.n = 0};
        for (const dsgd_contestant *c = at->v; c < at->v + at->n; c++) {
            if (c->fate != of)
                continue;
            char *name = dsgd_xstrdup(dsgd_contest_name(at, c));
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
            of < FATE_SHORT    ? dsgd_fate_reasons[of]
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

/** What the manifest has of a dsgd_contestant's first run. */
static const json_t *run_of(const dsgd_contest *at, const dsgd_contestant *c)
{
    return dsgd_run_of(at->of->manifest, at->of->frame->csv, c->point->rows[0]);
}

/** The learning rate of a dsgd_contestant's runs; NAN: not known. */
static double rate_of(const dsgd_contest *at, const dsgd_contestant *c)
{
    const json_t *const optimizer = dsgd_run_option(run_of(at, c), "learn", "optimizer");
    const json_t *const rate = json_object_get(optimizer, "lr");
    return json_is_number(rate) ? json_number_value(rate) : NAN;
}

/** The time between the two evaluations between which a run passes the target. */
static double gap_of(const dsgd_contest *at, size_t row)
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

/** Times to a target lie on lines between evaluations, which may be a third of them, or more than a
 * lead. */
static void doubt_lines(const dsgd_contest *at, dsgd_verdict *verdict, const dsgd_contestant *best)
{
    const double best_s = dsgd_contest_number(at, best, DSGD_TO_TARGET);
    double gap_s = 0, lead_s = INFINITY; /* the longest, the least that is no tie */
    for (const dsgd_contestant *c = at->v; c < at->v + at->n; c++) {
        const double by_s = dsgd_contest_number(at, c, DSGD_TO_TARGET) - best_s;
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

void dsgd_say_doubts(const dsgd_contest *at, dsgd_verdict *verdict, const dsgd_contestant *best,
                     size_t m)
{
    enum { FEW_SEEDS = 3 };
    size_t least = SIZE_MAX, n_able = 0;
    const double rate = rate_of(at, at->v);
    bool is_common = at->learns && at->n > 1, by_chance = false;
    for (const dsgd_contestant *c = at->v; c < at->v + at->n; c++) {
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
