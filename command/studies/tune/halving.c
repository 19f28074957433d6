/**
 * @file halving.c
 * Rungs: who runs for how long, and who goes on.
 *
 * There are as many short rungs as leave three candidates; then one of full length with one seed, and
 * one with all seeds, of two, each with what is beside the best.
 */
#include <stdlib.h>
#include <string.h>

#include "base/option.h"
#include "command/studies/tune/tune.h"

enum { FINALISTS = 2 };

static size_t n_short_rungs(const dsgd_tune *t, const dsgd_tune_contestant *c)
{
    size_t n = 0;
    for (size_t left = c->n_begun; left > DSGD_TUNE_ETA && n + 1 < t->n_lengths; n++)
        left = (left + DSGD_TUNE_ETA - 1) / DSGD_TUNE_ETA;
    return n;
}

size_t dsgd_tune_length(const dsgd_tune *t, const dsgd_tune_contestant *c, size_t rung)
{
    const size_t n_short = n_short_rungs(t, c);
    return rung < n_short ? t->n_lengths - 1 - n_short + rung : t->n_lengths - 1;
}

size_t dsgd_tune_seeds(const dsgd_tune *t, const dsgd_tune_contestant *c, size_t rung)
{
    return rung + 1 == c->n_rungs ? t->n_seeds : 1;
}

void dsgd_tune_begin(const dsgd_tune *t, dsgd_tune_contestant *c)
{
    const bool has_middle = c->n_begun > FINALISTS && t->n_seeds > 1;
    c->n_rungs = n_short_rungs(t, c) + has_middle + 1;
    c->is_in = dsgd_xcalloc(c->n_candidates, sizeof *c->is_in);
    c->order = dsgd_xcalloc(c->n_candidates, sizeof *c->order);
    for (size_t i = 0; i < c->n_candidates; i++) {
        c->is_in[i] = true;
        for (size_t k = 0; k < c->n_options; k++) {
            const size_t v = dsgd_tune_value(c, i, k);
            c->is_in[i] = c->is_in[i] && v >= c->options[k].low && v <= c->options[k].high;
        }
    }
    for (size_t i = 0; i < c->n_candidates; i++) /* what its algorithm refuses has no run */
        c->order[i] = i;
}

/** The runs of a contestant's rung that are not known from shorter ones. */
static void choose(const dsgd_tune *t, const dsgd_tune_contestant *c, bool *chosen)
{
    const size_t length = dsgd_tune_length(t, c, c->rung);
    for (size_t i = 0; i < c->n_candidates; i++)
        for (size_t s = 0; c->is_in[i] && s < dsgd_tune_seeds(t, c, c->rung); s++) {
            const size_t run = dsgd_tune_run(t, c, i, length, s);
            const dsgd_tune_result *const known = dsgd_tune_result_of(t, c, i, length, s);
            if (run > 0 && (known == NULL || known == &t->results[run - 1]))
                chosen[run - 1] = true;
        }
}

void dsgd_tune_choose(const dsgd_tune *t, bool *chosen)
{
    for (size_t a = 0; a < t->n_contestants; a++)
        if (!t->contestants[a].is_over)
            choose(t, &t->contestants[a], chosen);
}

/** Ranks the candidates of the rung, best first; of equals the one with smaller values. */
static dsgd_tune_score *rank(const dsgd_tune *t, dsgd_tune_contestant *c)
{
    c->n_order = 0;
    for (size_t i = 0; i < c->n_candidates; i++)
        if (c->is_in[i] && dsgd_tune_run(t, c, i, dsgd_tune_length(t, c, c->rung), 0) > 0)
            c->order[c->n_order++] = i;
    dsgd_tune_score *const scores = dsgd_xcalloc(c->n_order + 1, sizeof *scores);
    dsgd_tune_score_all(t, c, c->order, c->n_order, scores);
    for (size_t i = 1; i < c->n_order; i++)
        for (size_t k = i; k > 0 && dsgd_tune_compare(t, &scores[k], &scores[k - 1]) < 0; k--) {
            const dsgd_tune_score worse = scores[k - 1];
            const size_t candidate = c->order[k - 1];
            scores[k - 1] = scores[k];
            scores[k] = worse;
            c->order[k - 1] = c->order[k];
            c->order[k] = candidate;
        }
    return scores;
}

/** Adds the value beyond an end to the rung, if the best lies there; false: it does not. */
static bool widen(const dsgd_tune *t, dsgd_tune_contestant *c, const dsgd_tune_score *scores)
{
    const size_t best = c->order[0];
    const bool ties = c->n_order > 1 && dsgd_tune_compare(t, &scores[0], &scores[1]) == 0;
    const bool has_diverged = scores[0].n_diverged > 0;
    size_t stride = c->n_candidates;
    for (size_t k = 0; k < c->n_options; k++) {
        dsgd_tune_option *const o = &c->options[k];
        const size_t v = dsgd_tune_value(c, best, k);
        stride /= o->n;
        if (o->n_beyond == 0 || (ties && !has_diverged))
            continue;
        if (v == o->low && v > 0) {
            o->low--;
            c->is_in[best - stride] = true;
            return true;
        }
        if (v == o->high && v + 1 < o->n && !has_diverged) {
            o->high++;
            c->is_in[best + stride] = true;
            return true;
        }
    }
    return false;
}

/**
 * Early rungs can drop what is best late, and one seed what is best over all. So in rungs of full
 * length all next to the best take part, until the best lies between two that are worse; false: it
 * does.
 */
static bool look_around(const dsgd_tune *t, dsgd_tune_contestant *c, const dsgd_tune_score *scores)
{
    const bool is_whole = dsgd_tune_length(t, c, c->rung) + 1 == t->n_lengths;
    const size_t best = c->order[0];
    size_t stride = c->n_candidates;
    bool any = false;
    if (!is_whole || scores[0].n_diverged > 0)
        return false;
    for (size_t k = 0; k < c->n_options; k++) {
        const dsgd_tune_option *const o = &c->options[k];
        const size_t v = dsgd_tune_value(c, best, k);
        double number = 0;
        stride /= o->n;
        if (!dsgd_parse_number(o->texts[v], NULL, &number))
            continue; /* words have no order */
        const size_t beside[] = {v > o->low ? best - stride : best,
                                 v < o->high ? best + stride : best};
        for (size_t i = 0; i < 2; i++) {
            const size_t length = t->n_lengths - 1;
            const dsgd_tune_result *const known = dsgd_tune_result_of(t, c, beside[i], length, 0);
            const bool is_new = !c->is_in[beside[i]] &&
                                dsgd_tune_run(t, c, beside[i], length, 0) > 0 &&
                                !(known != NULL && known->diverged);
            c->is_in[beside[i]] = c->is_in[beside[i]] || is_new;
            any = any || is_new;
        }
    }
    return any;
}

/** None of the last rung, and none that diverged. */
static size_t n_kept(const dsgd_tune *t, const dsgd_tune_contestant *c,
                     const dsgd_tune_score *scores)
{
    if (c->rung + 1 == c->n_rungs)
        return 0;
    const bool is_final_next = c->rung + 2 == c->n_rungs && t->n_seeds > 1;
    size_t n = is_final_next ? FINALISTS : (c->n_order + DSGD_TUNE_ETA - 1) / DSGD_TUNE_ETA;
    n = n < FINALISTS ? FINALISTS : n;
    n = n < c->n_order ? n : c->n_order;
    while (n > 0 && scores[n - 1].n_diverged > 0)
        n--;
    return n;
}

static void note(dsgd_tune *t, const dsgd_tune_contestant *c, const dsgd_tune_score *scores,
                 size_t kept)
{
    t->trials = dsgd_xrealloc(t->trials, t->n_trials + c->n_order, sizeof *t->trials);
    for (size_t i = 0; i < c->n_order; i++)
        t->trials[t->n_trials++] = (dsgd_tune_trial){
            .contestant = (size_t)(c - t->contestants),
            .rung = c->rung,
            .rank = i,
            .candidate = c->order[i],
            .score = scores[i],
            .ties = i > 0 && dsgd_tune_compare(t, &scores[i - 1], &scores[i]) == 0,
            .fate = i < kept ? DSGD_TUNE_KEPT
                    : kept == 0 && i == 0 && scores[i].n_diverged < scores[i].n_seeds
                        ? DSGD_TUNE_BEST
                        : DSGD_TUNE_DROPPED};
}

/** After a round: to the next rung, unless there is more to try beside the best. */
static void advance(dsgd_tune *t, dsgd_tune_contestant *c)
{
    dsgd_tune_score *const scores = rank(t, c);
    if (c->n_order > 0 && (widen(t, c, scores) || look_around(t, c, scores))) {
        free(scores);
        return;
    }
    const size_t kept = n_kept(t, c, scores);
    note(t, c, scores, kept);
    memset(c->is_in, 0, c->n_candidates * sizeof *c->is_in);
    for (size_t i = 0; i < kept; i++)
        c->is_in[c->order[i]] = true;
    c->is_over = kept == 0;
    c->rung += kept > 0;
    free(scores);
}

dsgd_status dsgd_tune_advance(dsgd_tune *t, bool *more, dsgd_error *error)
{
    bool *const wanted = dsgd_xcalloc(t->experiment->n_runs, sizeof *wanted);
    dsgd_status status = dsgd_tune_read(t, error);
    dsgd_tune_choose(t, wanted);
    size_t n_missing = 0;
    for (size_t i = 0; i < t->experiment->n_runs && status == DSGD_OK; i++)
        n_missing += wanted[i] && !t->results[i].is_done;
    if (n_missing > 0)
        status = dsgd_fail(error, DSGD_ERUNS,
                           "%zu runs failed, so it is not known which candidates are better; the "
                           "others are kept in %s, and the same command does the rest",
                           n_missing, t->folder);
    *more = false;
    for (size_t a = 0; a < t->n_contestants && status == DSGD_OK; a++) {
        if (!t->contestants[a].is_over)
            advance(t, &t->contestants[a]);
        *more = *more || !t->contestants[a].is_over;
    }
    free(wanted);
    return status;
}
