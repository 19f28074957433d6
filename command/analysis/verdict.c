/**
 * @file verdict.c
 * Verdicts: fates, a target, the least that it takes.
 */
#include "command/analysis/verdict.h"

#include "base/option.h"
#include "command/analysis/sentences.h"

static const double least_progress = 0.1, full_progress = 0.9; /* as shares of the best's */
static const double most_growth = 1e3; /* of a loss */

/* --- progress --------------------------------------------------------------------------------- */

static void suffer(dsgd_contestant *c, dsgd_fate what, size_t n_seeds)
{
    if (c->fate == FATE_ABLE && n_seeds > 0) {
        c->fate = what;
        c->n_seeds = n_seeds;
    }
}

static dsgd_ends *all_ends(const dsgd_evidence *of, const char *name)
{
    const dsgd_run_table *const curves = &of->curves;
    const size_t column = dsgd_csv_column(&curves->csv, name), n = of->frame->csv->n_rows;
    dsgd_ends *const x = dsgd_keep(n + 1, sizeof *x);
    for (size_t row = 0; row < n; row++) {
        x[row] = (dsgd_ends){NAN, NAN, NAN, NAN};
        for (size_t k = curves->first[row]; k != SIZE_MAX; k = curves->next[k]) {
            x[row].last = dsgd_csv_value(&curves->csv, k, column);
            x[row].first = isnan(x[row].first) ? x[row].last : x[row].first;
            x[row].least = fmin(x[row].least, x[row].last);
            x[row].most = fmax(x[row].most, x[row].last);
        }
    }
    return x;
}

static dsgd_ends ends_of(const dsgd_contest *at, size_t row)
{
    return (at->by_accuracy ? at->of->accuracies : at->of->losses)[row];
}

static double last_of(const dsgd_contest *at, size_t row)
{
    return ends_of(at, row).last;
}

static double best_of(const dsgd_contest *at, size_t row)
{
    return at->by_accuracy ? ends_of(at, row).most : ends_of(at, row).least;
}

/** Accuracy where there is one; the logarithm of losses where all are above 0. */
static void choose_scale(dsgd_contest *at)
{
    double most = NAN, least = NAN;
    at->by_logarithm = true;
    for (size_t i = 0; i < at->n; i++)
        for (size_t k = 0; k < at->v[i].point->n_rows; k++) {
            const dsgd_ends loss = at->of->losses[at->v[i].point->rows[k]];
            most = fmax(most, at->of->accuracies[at->v[i].point->rows[k]].first);
            least = fmin(least, loss.first);
            at->by_logarithm = at->by_logarithm && !(loss.first <= 0) && !(loss.last <= 0);
        }
    at->by_accuracy = !isnan(most);
    at->learns = at->by_accuracy || !isnan(least);
    at->start = at->by_accuracy ? most : least;
    at->what = at->by_accuracy ? "accuracy" : "loss";
}

static double progress_to(const dsgd_contest *at, double value)
{
    return at->by_accuracy    ? value - at->start
           : at->by_logarithm ? log(at->start / value)
                              : at->start - value;
}

static double progress_of(const dsgd_contest *at, size_t row)
{
    return progress_to(at, last_of(at, row));
}

bool dsgd_loss_grew(double first, double last)
{
    return last > most_growth * fmax(first, 1);
}

static void measure_progress(dsgd_contest *at, dsgd_contestant *c)
{
    const double n = (double)c->point->n_rows;
    size_t n_grown = 0;
    c->progress = c->first = c->last = c->best = 0;
    for (size_t k = 0; k < c->point->n_rows; k++) {
        const dsgd_ends loss = at->of->losses[c->point->rows[k]];
        n_grown += dsgd_loss_grew(loss.first, loss.last);
        c->progress += progress_of(at, c->point->rows[k]) / n;
        c->first += ends_of(at, c->point->rows[k]).first / n;
        c->last += last_of(at, c->point->rows[k]) / n;
        c->best += best_of(at, c->point->rows[k]) / n;
    }
    suffer(c, FATE_DIVERGED, n_grown);
}

/* --- fates ------------------------------------------------------------------------------------ */

static void find_fates(dsgd_contest *at)
{
    const dsgd_frame *const f = at->of->frame;
    bool somebody_sends = false;
    for (const dsgd_contestant *c = at->v; c < at->v + at->n; c++)
        somebody_sends = somebody_sends || dsgd_contest_number(at, c, DSGD_SENT) > 0;
    for (dsgd_contestant *c = at->v; c < at->v + at->n; c++) {
        suffer(c, FATE_FAILED, dsgd_frame_count(f, c->point, "failed"));
        suffer(c, FATE_TIMEOUT, dsgd_frame_count(f, c->point, "timeout"));
        suffer(c, FATE_DIVERGED, dsgd_frame_count(f, c->point, "diverged"));
        suffer(c, FATE_SILENT,
               somebody_sends && dsgd_contest_number(at, c, DSGD_SENT) <= 0 ? c->point->n_rows : 0);
        if (!at->learns || c->fate != FATE_ABLE)
            continue;
        measure_progress(at, c);
        at->best = c->fate == FATE_ABLE ? fmax(at->best, c->progress) : at->best;
    }
    const double least = fmax(DSGD_TIE, least_progress * at->best);
    for (dsgd_contestant *c = at->v; c < at->v + at->n && at->learns; c++) {
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
static void measure_to_target(const dsgd_contest *at)
{
    const dsgd_evidence *const of = at->of;
    for (size_t m = 0; m < DSGD_N_MEASURES; m++)
        for (const dsgd_contestant *c = at->v; c < at->v + at->n && dsgd_measures[m].along != NULL;
             c++)
            for (size_t k = 0; k < c->point->n_rows; k++)
                dsgd_measure_row(of->frame, &of->to_target[m], &at->target, &of->curves,
                                 c->point->rows[k], &of->numbers[m][c->point->rows[k]], NULL);
}

/** The target, and who does not always reach it. */
static dsgd_status aim(dsgd_contest *at, const char *target, dsgd_error *error)
{
    double hardest = NAN; /* that all seeds reach of who made full progress */
    for (const dsgd_contestant *c = at->v; c < at->v + at->n && target == NULL; c++)
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
    for (dsgd_contestant *c = at->v; c < at->v + at->n; c++)
        suffer(c, FATE_SHORT,
               c->point->n_rows - dsgd_frame_mean(c->point, at->of->numbers[DSGD_TO_TARGET]).n);
    const double far = strcmp(at->target.column, at->what) == 0
                           ? full_progress * progress_to(at, at->target.value)
                           : -INFINITY;
    for (dsgd_contestant *c = at->v; c < at->v + at->n; c++) {
        size_t n = 0;
        for (size_t k = 0; k < c->point->n_rows; k++)
            n += progress_of(at, c->point->rows[k]) < far;
        suffer(c, FATE_LEFT, n);
    }
    return DSGD_OK;
}

/* --- who wins --------------------------------------------------------------------------------- */

/** Of who is short of the target it is open where its runs ended before the best was there. */
static void leave_open(dsgd_contest *at, const dsgd_contestant *best)
{
    for (dsgd_contestant *c = at->v; c < at->v + at->n; c++)
        if (c->fate == FATE_SHORT && dsgd_frame_mean(c->point, at->of->ended_s).mean <
                                         dsgd_contest_number(at, best, DSGD_TO_TARGET))
            c->fate = FATE_OPEN;
}

/* --- all places ------------------------------------------------------------------------------- */

static dsgd_status judge(dsgd_contest *at, const char *target, const char **out,
                         dsgd_verdict *verdict, dsgd_error *error)
{
    choose_scale(at);
    find_fates(at);
    for (const dsgd_contestant *c = at->v; c < at->v + at->n; c++)
        for (size_t k = 0; k < c->point->n_rows; k++)
            out[c->point->rows[k]] = dsgd_fate_reasons[c->fate];
    if (at->learns)
        DSGD_TRY(aim(at, target, error));
    const size_t m = at->learns ? DSGD_TO_TARGET : DSGD_THROUGHPUT;
    const dsgd_contestant *const best =
        at->learns && at->target.column == NULL ? NULL : dsgd_contest_best(at, m);
    *verdict = (dsgd_verdict){.at = at->v[0].point, .goal = at->goal, .text = dsgd_xstrdup("")};
    if (best == NULL) {
        dsgd_append(&verdict->text, "Nobody wins.");
        verdict->brief = dsgd_xstrdup("nobody wins");
    } else {
        if (at->learns)
            leave_open(at, best);
        dsgd_say_winner(at, verdict, best, m);
        if (at->learns)
            dsgd_say_expenses(at, verdict, best);
    }
    dsgd_say_fates(at, verdict);
    dsgd_say_doubts(at, verdict, best, m);
    return DSGD_OK;
}

static void gather(const dsgd_verdicts *v, const char *folder, const json_t *manifest,
                   dsgd_evidence *of)
{
    *of = (dsgd_evidence){
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
    dsgd_evidence of;
    bool is_won = false;
    all.planned = true;
    *v = (dsgd_verdicts){.unvaried = ""};
    DSGD_TRY(dsgd_frame_open(runs, &all, &v->frame, error));
    gather(v, folder, manifest, &of);
    dsgd_contest *const places = dsgd_keep(v->frame.n[DSGD_PLACE] + 1, sizeof *places);
    for (const dsgd_frame_point *p = v->frame.points; p < v->frame.points + v->frame.n_points;
         p++) {
        dsgd_contest *const at = &places[p->at[DSGD_PLACE]];
        if (p->at[DSGD_VARIATION] != 0)
            continue;
        at->v = dsgd_keep_more(at->v, at->n + 1, sizeof *at->v);
        at->v[at->n++] = (dsgd_contestant){.point = p, .progress = NAN};
    }
    v->v = dsgd_keep(v->frame.n[DSGD_PLACE] + 1, sizeof *v->v);
    v->out = dsgd_keep(runs->n_rows + 1, sizeof *v->out);
    for (size_t k = 0; k < v->frame.n[DSGD_PLACE]; k++) {
        places[k].of = &of;
        if (places[k].n > 0)
            DSGD_TRY(judge(&places[k], target, v->out, &v->v[v->n++], error));
        is_won = is_won || (places[k].n > 1 && v->v[v->n - 1].winner != NULL);
    }
    if (is_won)
        v->unvaried = dsgd_unvaried(&v->frame, manifest);
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
