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
#include "command/experiment/config.h"
#include "command/studies/tune/tune.h"

void dsgd_tune_begin(const dsgd_tune *t, dsgd_tuned *a)
{
    size_t n_short = 0;
    for (size_t left = a->n_begun; left > DSGD_TUNE_ETA && n_short + 1 < t->n_lengths; n_short++)
        left = (left + DSGD_TUNE_ETA - 1) / DSGD_TUNE_ETA;
    const bool has_middle = a->n_begun > DSGD_TUNE_FINALISTS && t->n_seeds > 1;
    a->n_rungs = n_short + has_middle + 1;
    for (size_t rung = 0; rung < a->n_rungs; rung++) {
        a->rungs[rung].length = t->n_lengths - 1 - (rung < n_short ? n_short - rung : 0);
        a->rungs[rung].n_seeds = rung + 1 == a->n_rungs ? t->n_seeds : 1;
    }
    a->is_in = dsgd_config_alloc(t->config, a->n_candidates * sizeof *a->is_in);
    a->trials = dsgd_config_alloc(t->config, a->n_rungs * a->n_candidates * sizeof *a->trials);
    for (size_t i = 0; i < a->n_candidates; i++) {
        a->is_in[i] = true;
        for (size_t k = 0; k < a->n_options; k++) {
            const size_t v = dsgd_tune_value(a, i, k);
            a->is_in[i] = a->is_in[i] && v >= a->options[k].low && v <= a->options[k].high;
        }
    }
}

void dsgd_tune_choose(void *tune, bool *chosen)
{
    const dsgd_tune *const t = tune;
    for (const dsgd_tuned *a = t->algorithms; a < t->algorithms + t->n_algorithms; a++)
        for (size_t i = 0; !a->is_over && i < a->n_candidates; i++)
            for (size_t s = 0; a->is_in[i] && s < a->rungs[a->rung].n_seeds; s++) {
                const size_t length = a->rungs[a->rung].length;
                const size_t run = dsgd_tune_run(t, a, i, length, s);
                const dsgd_tune_result *const known = dsgd_tune_result_of(t, a, i, length, s);
                if (run > 0 && (known == NULL || known == &t->results[run - 1]))
                    chosen[run - 1] = true; /* else it is known from a shorter one */
            }
}

/** Adds the value beyond an end to the rung, if the best lies there; false: it does not. */
static bool widen(const dsgd_tune *t, dsgd_tuned *a, const dsgd_tune_trial *ranked, size_t n)
{
    const size_t best = ranked[0].candidate;
    const bool ties = n > 1 && dsgd_tune_compare(t, &ranked[0], &ranked[1]) == 0;
    const bool has_diverged = ranked[0].n_diverged > 0;
    size_t stride = a->n_candidates;
    for (size_t k = 0; k < a->n_options; k++) {
        dsgd_tune_option *const o = &a->options[k];
        const size_t v = dsgd_tune_value(a, best, k);
        stride /= o->n;
        if (o->n_beyond == 0 || (ties && !has_diverged))
            continue;
        if (v == o->low && v > 0) {
            o->low--;
            a->is_in[best - stride] = true;
            return true;
        }
        if (v == o->high && v + 1 < o->n && !has_diverged) {
            o->high++;
            a->is_in[best + stride] = true;
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
static bool look_around(const dsgd_tune *t, dsgd_tuned *a, const dsgd_tune_trial *best)
{
    const size_t length = t->n_lengths - 1;
    size_t stride = a->n_candidates;
    bool any = false;
    if (a->rungs[a->rung].length != length || best->n_diverged > 0)
        return false;
    for (size_t k = 0; k < a->n_options; k++) {
        const dsgd_tune_option *const o = &a->options[k];
        const size_t v = dsgd_tune_value(a, best->candidate, k);
        double number = 0;
        stride /= o->n;
        if (!dsgd_parse_number(o->texts[v], NULL, &number))
            continue; /* words have no order */
        const size_t beside[] = {best->candidate - (v > o->low ? stride : 0),
                                 best->candidate + (v < o->high ? stride : 0)};
        for (size_t i = 0; i < 2; i++) {
            const dsgd_tune_result *const known = dsgd_tune_result_of(t, a, beside[i], length, 0);
            const bool is_new = !a->is_in[beside[i]] &&
                                dsgd_tune_run(t, a, beside[i], length, 0) > 0 &&
                                !(known != NULL && known->diverged);
            a->is_in[beside[i]] = a->is_in[beside[i]] || is_new;
            any = any || is_new;
        }
    }
    return any;
}

/** None of the last rung, and none that diverged. */
static size_t n_kept(const dsgd_tune *t, const dsgd_tuned *a, const dsgd_tune_trial *ranked,
                     size_t n_ranked)
{
    if (a->rung + 1 == a->n_rungs)
        return 0;
    const bool is_final_next = a->rung + 2 == a->n_rungs && t->n_seeds > 1;
    size_t n = is_final_next ? DSGD_TUNE_FINALISTS : (n_ranked + DSGD_TUNE_ETA - 1) / DSGD_TUNE_ETA;
    n = n < DSGD_TUNE_FINALISTS ? DSGD_TUNE_FINALISTS : n;
    n = n < n_ranked ? n : n_ranked;
    while (n > 0 && ranked[n - 1].n_diverged > 0)
        n--;
    return n;
}

/** After a round: to the next rung, unless there is more to try beside the best. */
static void advance(const dsgd_tune *t, dsgd_tuned *a)
{
    dsgd_tune_trial *const ranked = a->trials + a->n_trials;
    size_t n = 0;
    for (size_t i = 0; i < a->n_candidates; i++) /* what its algorithm refuses has no run */
        if (a->is_in[i] && dsgd_tune_run(t, a, i, a->rungs[a->rung].length, 0) > 0)
            ranked[n++] = (dsgd_tune_trial){.rung = a->rung, .candidate = i};
    dsgd_tune_score(t, a, ranked, n);
    for (size_t i = 1; i < n; i++) /* best first; of equals the one with smaller values */
        for (size_t k = i; k > 0 && dsgd_tune_compare(t, &ranked[k], &ranked[k - 1]) < 0; k--) {
            const dsgd_tune_trial worse = ranked[k - 1];
            ranked[k - 1] = ranked[k];
            ranked[k] = worse;
        }
    if (n > 0 && (widen(t, a, ranked, n) || look_around(t, a, ranked)))
        return;
    const size_t kept = n_kept(t, a, ranked, n);
    memset(a->is_in, 0, a->n_candidates * sizeof *a->is_in);
    for (size_t i = 0; i < n; i++) {
        ranked[i].ties = i > 0 && dsgd_tune_compare(t, &ranked[i - 1], &ranked[i]) == 0;
        ranked[i].fate = i < kept ? DSGD_TUNE_KEPT
                         : kept == 0 && i == 0 && ranked[i].n_diverged < ranked[i].n_seeds
                             ? DSGD_TUNE_BEST
                             : DSGD_TUNE_DROPPED;
        a->is_in[ranked[i].candidate] = i < kept;
    }
    a->last = ranked;
    a->n_last = n;
    a->n_trials += n;
    a->is_over = kept == 0;
    a->rung += kept > 0;
}

bool dsgd_tune_has_best(const dsgd_tuned *a)
{
    return a->n_last > 0 && a->last->fate == DSGD_TUNE_BEST;
}

dsgd_status dsgd_tune_advance(void *tune, bool *more, dsgd_error *error)
{
    dsgd_tune *const t = tune;
    bool *const wanted = dsgd_xcalloc(t->grid.n_runs, sizeof *wanted);
    dsgd_status status = dsgd_tune_read(t, error);
    dsgd_tune_choose(t, wanted);
    size_t n_missing = 0;
    for (size_t i = 0; i < t->grid.n_runs && status == DSGD_OK; i++)
        n_missing += wanted[i] && !t->results[i].is_done;
    free(wanted);
    if (n_missing > 0)
        status = dsgd_fail(error, DSGD_ERUNS,
                           "%zu runs failed, so it is not known which candidates are better; the "
                           "others are kept in %s, and the same command does the rest",
                           n_missing, t->pool.folder);
    *more = false;
    for (size_t i = 0; i < t->n_algorithms && status == DSGD_OK; i++) {
        if (!t->algorithms[i].is_over)
            advance(t, &t->algorithms[i]);
        *more = *more || !t->algorithms[i].is_over;
    }
    return status;
}
