/**
 * @file halving.c
 * What runs are worth: how soon they reach the target, else how near to it they come; and who goes
 * on.
 */
#include "base/csv.h"
#include "base/option.h"
#include "command/analysis/verdict.h"
#include "command/experiment/config.h"
#include "command/studies/study.h"
#include "command/studies/tune/tune.h"

/* --- results ---------------------------------------------------------------------------------- */

static dsgd_status read_curves(dsgd_tune *t, const dsgd_csv *csv, dsgd_error *error)
{
    const size_t run = dsgd_csv_column(csv, "run"), steps = dsgd_csv_column(csv, "steps");
    const size_t at = t->on == DSGD_TUNE_TIME ? dsgd_csv_column(csv, "virtual_s") : steps;
    const size_t value = dsgd_csv_column(csv, t->target.column),
                 loss = dsgd_csv_column(csv, "loss");
    t->evaluations = dsgd_keep(csv->n_rows + 1, sizeof *t->evaluations);
    for (size_t row = 0; row < csv->n_rows; row++) {
        const double i = dsgd_csv_value(csv, row, run);
        const dsgd_curve_point now = {dsgd_csv_value(csv, row, at),
                                      dsgd_csv_value(csv, row, value)};
        if (!(i >= 1 && i <= (double)t->grid.n_runs))
            return dsgd_fail(error, DSGD_EIO, "%s:%zu: this is no row of the experiment", csv->path,
                             csv->lines[row + 1]);
        dsgd_tune_result *const r = &t->results[(size_t)i - 1];
        if (isnan(now.value) && r->n == 0)
            return dsgd_refuse(error,
                               "%s:%zu: there is no %s, as there is none of a regression; give "
                               "--target loss=NUMBER",
                               csv->path, csv->lines[row + 1], t->target.column);
        if (isnan(now.value)) /* where it diverged */
            continue;
        r->first = r->n == 0 ? row : r->first; /* the rows of a run follow one another */
        if (isnan(r->reached))
            r->reached = dsgd_target_place(&t->target,
                                           r->n == 0 ? (dsgd_curve_point){NAN, NAN}
                                                     : t->evaluations[r->first + r->n - 1],
                                           now);
        t->evaluations[r->first + r->n++] = now;
        r->steps = dsgd_csv_value(csv, row, steps);
    }
    for (dsgd_tune_result *r = t->results; r < t->results + t->grid.n_runs; r++)
        r->diverged = r->diverged ||
                      (r->n > 0 && dsgd_loss_grew(dsgd_csv_value(csv, r->first, loss),
                                                  dsgd_csv_value(csv, r->first + r->n - 1, loss)));
    return DSGD_OK;
}

/** Of runs that learn nothing the throughput is the one evaluation. */
static void read_throughputs(dsgd_tune *t)
{
    t->target = (dsgd_target){.column = "throughput_samples_per_s", .value = INFINITY};
    t->evaluations = dsgd_keep(t->grid.n_runs, sizeof *t->evaluations);
    for (size_t i = 0; i < t->grid.n_runs; i++) {
        dsgd_tune_result *const r = &t->results[i];
        r->steps = r->is_done ? dsgd_results_value(t->pool.results, i, "steps") : 0;
        t->evaluations[i] =
            (dsgd_curve_point){r->steps, dsgd_results_throughput(t->pool.results, i)};
        r->first = i;
        r->n = t->evaluations[i].value > 0;
    }
}

static dsgd_status read_results(dsgd_tune *t, dsgd_error *error)
{
    const char **const out = dsgd_keep(t->grid.n_runs, sizeof *out);
    DSGD_TRY(dsgd_study_outcomes(t->pool.folder, t->grid.n_runs, out, error));
    t->results = dsgd_keep_more(t->results, t->grid.n_runs, sizeof *t->results);
    for (size_t i = 0; i < t->grid.n_runs; i++) {
        const char *const outcome = dsgd_results_field(t->pool.results, i, "status");
        t->results[i] =
            (dsgd_tune_result){.is_done = dsgd_results_state(t->pool.results, i) == DSGD_RUN_DONE,
                               .diverged = outcome != NULL && strcmp(outcome, "diverged") == 0,
                               .out = out[i],
                               .reached = NAN};
    }
    dsgd_csv csv;
    if (t->of_throughput) {
        read_throughputs(t);
        return DSGD_OK;
    }
    DSGD_TRY(dsgd_csv_read(&csv, error, "%s/curves.csv", t->pool.folder));
    if (t->on == DSGD_TUNE_FINAL) { /* accuracy where there is one, else loss */
        t->target = (dsgd_target){.column = "loss", .value = -INFINITY, .below = true};
        if (csv.n_rows > 0 && !isnan(dsgd_csv_value(&csv, 0, dsgd_csv_column(&csv, "accuracy"))))
            t->target = (dsgd_target){.column = "accuracy", .value = INFINITY};
    }
    return read_curves(t, &csv, error);
}

/**
 * The result of a candidate at a length with a seed: of a shorter run, if that reached the target
 * already; NULL: there is none.
 */
static const dsgd_tune_result *result_of(const dsgd_tune *t, const dsgd_tuned *a, size_t candidate,
                                         size_t length, size_t seed)
{
    if (t->results == NULL)
        return NULL;
    for (size_t l = t->is_prefix ? 0 : length; l <= length; l++) {
        const size_t run = dsgd_tune_run(t, a, candidate, l, seed);
        const dsgd_tune_result *const r = run == 0 ? NULL : &t->results[run - 1];
        if (r != NULL && r->is_done && (l == length || (!isnan(r->reached) && !r->diverged)))
            return r;
    }
    return NULL;
}

const dsgd_tune_result *dsgd_tune_ended(const dsgd_tune *t, const dsgd_tuned *a, size_t candidate,
                                        size_t length, size_t seed)
{
    const dsgd_tune_result *const r = result_of(t, a, candidate, length, seed);
    return r == NULL || r->diverged || r->n == 0 ? NULL : r;
}

/** Why a candidate cannot be best at full length; NULL: it can. */
static const char *out_of(const dsgd_tune *t, const dsgd_tuned *a, size_t candidate)
{
    const char *why = NULL;
    for (size_t s = 0; s < t->n_seeds && why == NULL; s++) {
        const dsgd_tune_result *const r = result_of(t, a, candidate, t->n_lengths - 1, s);
        why = r == NULL ? NULL : r->out;
    }
    return why;
}

/* --- scores ----------------------------------------------------------------------------------- */

/** The value of a run at a time or step, between evaluations on a line. */
static double value_at(const dsgd_tune *t, const dsgd_tune_result *r, double at)
{
    const dsgd_curve_point *const e = t->evaluations + r->first;
    size_t k = 0;
    while (k + 1 < r->n && e[k].at < at)
        k++;
    if (k == 0 || e[k].at <= at)
        return e[k].value;
    return e[k - 1].value +
           (e[k].value - e[k - 1].value) * (at - e[k - 1].at) / (e[k].at - e[k - 1].at);
}

/** Scores the @p n candidates of a rung, which are named in trials[n]. */
static void score(const dsgd_tune *t, const dsgd_tuned *a, dsgd_tune_trial *trials, size_t n)
{
    const size_t length = a->rungs[a->rung].length, n_seeds = a->rungs[a->rung].n_seeds;
    /* Options that change the time of a step are compared at one time, not at one step. */
    double at = INFINITY;
    for (size_t i = 0; i < n * n_seeds && t->on != DSGD_TUNE_FINAL; i++) {
        const dsgd_tune_result *const r =
            dsgd_tune_ended(t, a, trials[i / n_seeds].candidate, length, i % n_seeds);
        if (r != NULL && isnan(r->reached))
            at = fmin(at, t->evaluations[r->first + r->n - 1].at);
    }
    for (dsgd_tune_trial *x = trials; x < trials + n; x++) {
        double places = 0, values = 0;
        for (size_t seed = 0; seed < n_seeds; seed++) {
            const dsgd_tune_result *const r = dsgd_tune_ended(t, a, x->candidate, length, seed);
            if (r == NULL) {
                x->n_diverged++;
            } else if (!isnan(r->reached)) {
                x->n_reached++;
                places += r->reached;
            } else {
                values += value_at(t, r, at);
            }
        }
        const size_t n_missed = n_seeds - x->n_diverged - x->n_reached;
        x->place = x->n_reached == 0 ? NAN : places / (double)x->n_reached;
        x->near = n_missed == 0 ? NAN : values / (double)n_missed;
    }
}

static int order_of(double a, double b)
{
    return isnan(a) || isnan(b) ? isnan(a) - isnan(b) : (a > b) - (a < b);
}

/** Below 0: @p a is better; 0: they are equal. Who cannot win is behind all who can. */
static int compare(const dsgd_tune *t, const dsgd_tune_trial *a, const dsgd_tune_trial *b)
{
    if ((a->out == NULL) != (b->out == NULL))
        return a->out == NULL ? -1 : 1;
    if (a->n_diverged != b->n_diverged)
        return a->n_diverged > b->n_diverged ? 1 : -1;
    if (a->n_reached != b->n_reached)
        return a->n_reached < b->n_reached ? 1 : -1;
    const int places = order_of(a->place, b->place);
    if (places != 0)
        return places;
    return order_of(t->target.below ? a->near : -a->near, t->target.below ? b->near : -b->near);
}

/* --- rungs ------------------------------------------------------------------------------------ */

void dsgd_tune_choose(void *tune, bool *chosen)
{
    const dsgd_tune *const t = tune;
    for (const dsgd_tuned *a = t->algorithms; a < t->algorithms + t->n_algorithms; a++)
        for (size_t i = 0; !a->is_over && i < a->n_candidates; i++)
            for (size_t s = 0; a->is_in[i] && s < a->rungs[a->rung].n_seeds; s++) {
                const size_t length = a->rungs[a->rung].length;
                const size_t run = dsgd_tune_run(t, a, i, length, s);
                const dsgd_tune_result *const known = result_of(t, a, i, length, s);
                if (run > 0 && (known == NULL || known == &t->results[run - 1]))
                    chosen[run - 1] = true; /* else it is known from a shorter one */
            }
}

/** Adds the value beyond an end to the rung, if the best lies there; false: it does not. */
static bool widen(const dsgd_tune *t, dsgd_tuned *a, const dsgd_tune_trial *ranked, size_t n)
{
    const size_t best = ranked[0].candidate;
    const bool ties = n > 1 && compare(t, &ranked[0], &ranked[1]) == 0;
    const bool has_diverged = ranked[0].n_diverged > 0;
    for (size_t k = 0; k < a->n_options; k++) {
        dsgd_tune_option *const o = &a->options[k];
        const size_t v = dsgd_tune_value(a, best, k), stride = dsgd_tune_stride(a, k);
        const bool down = v == o->low && v > 0, up = v == o->high && v + 1 < o->n && !has_diverged;
        if (o->n_beyond == 0 || (ties && !has_diverged) || (!down && !up))
            continue;
        o->low -= down;
        o->high += !down;
        a->is_in[down ? best - stride : best + stride] = true;
        return true;
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
    bool any = false;
    if (a->rungs[a->rung].length != length || best->n_diverged > 0)
        return false;
    for (size_t k = 0; k < a->n_options; k++) {
        const dsgd_tune_option *const o = &a->options[k];
        const size_t v = dsgd_tune_value(a, best->candidate, k), stride = dsgd_tune_stride(a, k);
        double number = 0;
        if (!dsgd_parse_number(o->texts[v], NULL, &number))
            continue; /* words have no order */
        const size_t beside[] = {best->candidate - (v > o->low ? stride : 0),
                                 best->candidate + (v < o->high ? stride : 0)};
        for (size_t i = 0; i < 2; i++) {
            const dsgd_tune_result *const known = result_of(t, a, beside[i], length, 0);
            if (a->is_in[beside[i]] || dsgd_tune_run(t, a, beside[i], length, 0) == 0 ||
                (known != NULL && known->diverged))
                continue;
            a->is_in[beside[i]] = any = true;
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
    score(t, a, ranked, n);
    for (dsgd_tune_trial *x = ranked; x < ranked + n; x++) /* at last all runs are known */
        x->out = x->n_diverged > 0           ? "diverged"
                 : a->rung + 1 == a->n_rungs ? out_of(t, a, x->candidate)
                                             : NULL;
    for (size_t i = 1; i < n; i++) /* best first; of equals the one with smaller values */
        for (size_t k = i; k > 0 && compare(t, &ranked[k], &ranked[k - 1]) < 0; k--) {
            const dsgd_tune_trial worse = ranked[k - 1];
            ranked[k - 1] = ranked[k];
            ranked[k] = worse;
        }
    if (n > 0 && (widen(t, a, ranked, n) || look_around(t, a, ranked)))
        return;
    const size_t kept = n_kept(t, a, ranked, n);
    memset(a->is_in, 0, a->n_candidates * sizeof *a->is_in);
    for (size_t i = 0; i < n; i++) {
        ranked[i].ties = i > 0 && compare(t, &ranked[i - 1], &ranked[i]) == 0;
        ranked[i].outcome = i < kept                                       ? DSGD_TUNE_KEPT
                            : kept == 0 && i == 0 && ranked[i].out == NULL ? DSGD_TUNE_BEST
                                                                           : DSGD_TUNE_DROPPED;
        a->is_in[ranked[i].candidate] = i < kept;
    }
    a->last = ranked;
    for (a->n_last = n; a->n_last > 1 && ranked[a->n_last - 1].out != NULL;)
        a->n_last--;
    a->n_trials += n;
    a->is_over = kept == 0;
    a->rung += kept > 0;
}

bool dsgd_tune_has_best(const dsgd_tuned *a)
{
    return a->n_last > 0 && a->last->outcome == DSGD_TUNE_BEST;
}

dsgd_status dsgd_tune_advance(void *tune, bool *more, dsgd_error *error)
{
    dsgd_tune *const t = tune;
    bool *const wanted = dsgd_keep(t->grid.n_runs, sizeof *wanted);
    size_t n_missing = 0;
    DSGD_TRY(read_results(t, error));
    dsgd_tune_choose(t, wanted);
    for (size_t i = 0; i < t->grid.n_runs; i++)
        n_missing += wanted[i] && !t->results[i].is_done;
    if (n_missing > 0)
        return dsgd_fail(error, DSGD_ERUNS,
                         "%zu runs failed, so it is not known which candidates are better; the "
                         "others are kept in %s, and the same command does the rest",
                         n_missing, t->pool.folder);
    *more = false;
    for (dsgd_tuned *a = t->algorithms; a < t->algorithms + t->n_algorithms; a++) {
        if (!a->is_over)
            advance(t, a);
        *more = *more || !a->is_over;
    }
    return DSGD_OK;
}
