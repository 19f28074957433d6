/**
 * @file halving.c
 * Ranks candidates by their time to the target, or by their distance from the target. Selects the
 * candidates that continue.
 */
#include "base/option.h"
#include "command/analysis/verdict.h"
#include "command/experiment/config.h"
#include "command/studies/study.h"
#include "command/studies/tune/tune.h"

/* --- results ---------------------------------------------------------------------------------- */

/**
 * Returns the quantity by which candidates are compared if the user gives no target. It is
 * throughput if nothing is learned, accuracy if the runs measure it, and otherwise loss.
 */
static dsgd_target final_target(const dsgd_tune *t, const dsgd_csv *curves)
{
    if (t->of_throughput)
        return (dsgd_target){.column = "throughput_samples_per_s", .value = INFINITY};
    if (dsgd_csv_first(curves, dsgd_csv_column(curves, "accuracy")) != NULL)
        return (dsgd_target){.column = "accuracy", .value = INFINITY};
    return (dsgd_target){.column = "loss", .value = -INFINITY, .below = true};
}

static const char *axis_of(const dsgd_tune *t)
{
    return t->on == DSGD_TUNE_TIME ? "virtual_s" : "steps";
}

/** Reads the result of a run from its row in runs.csv. */
static void read_result(const dsgd_tune *t, const dsgd_csv *runs, size_t row, dsgd_tune_result *r)
{
    double first = NAN, last = NAN;
    dsgd_passage passage;
    r->row = row;
    r->diverged = strcmp(dsgd_field_of(runs, row, "status"), "diverged") == 0;
    r->steps = dsgd_csv_value(runs, row, dsgd_csv_column(runs, "steps"));
    if (t->of_throughput) {
        r->value = dsgd_results_throughput(t->pool.results, (size_t)(r - t->results));
        return;
    }
    dsgd_run_table_ends(&t->curves, row, "loss", &first, &last);
    r->diverged = r->diverged || dsgd_loss_grew(first, last);
    dsgd_run_table_ends(&t->curves, row, t->target.column, &first, &r->value);
    dsgd_run_table_ends(&t->curves, row, axis_of(t), &first, &r->end);
    dsgd_target_reach(&t->target, &t->curves, row, axis_of(t), &passage, NULL);
    r->reached = passage.place;
}

static dsgd_status read_results(dsgd_tune *t, dsgd_error *error)
{
    const char **const out = dsgd_keep(t->grid.n_runs, sizeof *out);
    dsgd_csv runs;
    DSGD_TRY(dsgd_study_outcomes(t->pool.folder, t->grid.n_runs, out, error));
    DSGD_TRY(dsgd_csv_read(&runs, error, "%s/runs.csv", t->pool.folder));
    DSGD_TRY(dsgd_run_table_open(&t->curves, &runs, t->pool.folder, "curves.csv", error));
    if (t->on == DSGD_TUNE_FINAL)
        t->target = final_target(t, &t->curves.csv);
    else
        DSGD_TRY(dsgd_target_check(&t->target, &t->curves.csv, error));
    t->results = dsgd_keep(t->grid.n_runs, sizeof *t->results);
    for (size_t i = 0; i < t->grid.n_runs; i++)
        t->results[i] =
            (dsgd_tune_result){.is_done = dsgd_results_state(t->pool.results, i) == DSGD_RUN_DONE,
                               .out = out[i],
                               .reached = NAN,
                               .value = NAN};
    for (size_t row = 0; row < runs.n_rows; row++) {
        const double run = dsgd_csv_value(&runs, row, dsgd_csv_column(&runs, "run"));
        read_result(t, &runs, row, &t->results[(size_t)run - 1]);
    }
    return DSGD_OK;
}

/**
 * Returns the result of a candidate's run with the given length and seed. If a shorter run already
 * reached the target, returns the result of this shorter run. Returns NULL if no such run is done.
 */
static const dsgd_tune_result *result_of(const dsgd_tune *t, size_t candidate, size_t length,
                                         size_t seed)
{
    if (t->results == NULL)
        return NULL;
    for (size_t l = t->is_prefix && seed == 0 ? 0 : length; l <= length; l++) {
        const dsgd_tune_result *const r = &t->results[dsgd_tune_run(t, candidate, l, seed)];
        if (r->is_done && (l == length || (!isnan(r->reached) && !r->diverged)))
            return r;
    }
    return NULL;
}

const dsgd_tune_result *dsgd_tune_ended(const dsgd_tune *t, size_t candidate, size_t length,
                                        size_t seed)
{
    const dsgd_tune_result *const r = result_of(t, candidate, length, seed);
    return r == NULL || r->diverged || isnan(r->value) ? NULL : r;
}

/* --- results of candidates -------------------------------------------------------------------- */

/**
 * Returns the value of a run at time or step @p at. Interpolates linearly between evaluations.
 * After the end of the run, returns the last value.
 */
static double value_at(const dsgd_tune *t, const dsgd_tune_result *r, double at)
{
    const dsgd_csv *const csv = &t->curves.csv;
    const size_t axis = dsgd_csv_column(csv, axis_of(t));
    const size_t column = dsgd_csv_column(csv, t->target.column);
    size_t k = t->of_throughput ? SIZE_MAX : t->curves.first[r->row];
    for (double x = NAN, y = NAN; k != SIZE_MAX; k = t->curves.next[k]) {
        const double next = dsgd_csv_value(csv, k, axis), value = dsgd_csv_value(csv, k, column);
        if (next >= at)
            return isnan(x) ? value : y + (value - y) * (at - x) / (next - x);
        x = next;
        y = value;
    }
    return r->value;
}

/**
 * Returns the earliest end (as time or step) of the runs in the current rung that miss the target.
 * Candidates are compared at this time, because options can change the time of a step.
 */
static double first_end(const dsgd_tune *t, const dsgd_tuned *a)
{
    double end = INFINITY;
    for (size_t c = a->first; t->on != DSGD_TUNE_FINAL && c < a->first + a->n; c++)
        for (size_t s = 0; t->candidates[c].is_in && s < dsgd_rung_seeds(t, a, a->rung); s++) {
            const dsgd_tune_result *const r =
                dsgd_tune_ended(t, c, dsgd_rung_length(t, a, a->rung), s);
            end = r != NULL && isnan(r->reached) ? fmin(end, r->end) : end;
        }
    return end;
}

/**
 * Returns the results of a candidate in the current rung, including its value at time or step @p
 * at.
 */
static dsgd_trial trial_of(const dsgd_tune *t, const dsgd_tuned *a, size_t candidate, double at)
{
    const size_t length = dsgd_rung_length(t, a, a->rung), n = dsgd_rung_seeds(t, a, a->rung);
    const bool is_last = a->rung + 1 == a->n_rungs;
    dsgd_trial x = {.candidate = candidate};
    double places = 0, values = 0;
    for (size_t seed = 0; seed < n; seed++) {
        const dsgd_tune_result *const r = dsgd_tune_ended(t, candidate, length, seed);
        const dsgd_tune_result *const any = result_of(t, candidate, length, seed);
        x.n_diverged += r == NULL;
        if (r != NULL && isnan(r->reached))
            values += value_at(t, r, at);
        if (r != NULL && !isnan(r->reached)) {
            places += r->reached;
            x.n_reached++;
        }
        /* All runs of the candidate are known only in the last rung. */
        if (is_last && x.out == NULL && any != NULL)
            x.out = any->out;
    }
    x.out = x.n_diverged > 0 ? "diverged" : x.out;
    /* If no seed reached the target, the result is NAN (0 / 0). */
    x.place = places / (double)x.n_reached;
    x.near = values / (double)(n - x.n_diverged - x.n_reached);
    return x;
}

static int order_of(double a, double b)
{
    return isnan(a) || isnan(b) ? isnan(a) - isnan(b) : (a > b) - (a < b);
}

/**
 * Compares two candidates. Returns a negative number if @p a is better, and 0 if they are equal. A
 * candidate that cannot win is worse than each candidate that can win.
 */
static int compare(const dsgd_tune *t, const dsgd_trial *a, const dsgd_trial *b)
{
    const double sign = t->target.below ? 1 : -1;
    const int orders[] = {(a->out != NULL) - (b->out != NULL),
                          order_of((double)a->n_diverged, (double)b->n_diverged),
                          order_of((double)b->n_reached, (double)a->n_reached),
                          order_of(a->place, b->place), order_of(sign * a->near, sign * b->near)};
    size_t k = 0;
    while (k < 4 && orders[k] == 0)
        k++;
    return orders[k];
}

/* --- rungs ------------------------------------------------------------------------------------ */

void dsgd_tune_choose(void *tune, bool *chosen)
{
    const dsgd_tune *const t = tune;
    for (const dsgd_tuned *a = t->algorithms; a < t->algorithms + t->n_algorithms; a++)
        for (size_t c = a->first; !a->is_over && c < a->first + a->n; c++)
            for (size_t s = 0; t->candidates[c].is_in && s < dsgd_rung_seeds(t, a, a->rung); s++) {
                const size_t length = dsgd_rung_length(t, a, a->rung);
                const size_t run = dsgd_tune_run(t, c, length, s);
                const dsgd_tune_result *const known = result_of(t, c, length, s);
                if (known == NULL || known == &t->results[run])
                    /* Select this run, unless a shorter run has already given the result. */
                    chosen[run] = true;
            }
}

/** Returns true if two candidates have equal values of all options except option number @p k. */
static bool is_alike(const dsgd_tune *t, size_t a, size_t b, size_t k)
{
    for (size_t j = 0; j < t->n_options; j++) {
        const char *const values[] = {dsgd_tune_value(t, a, j), dsgd_tune_value(t, b, j)};
        if (j != k && values[0] != NULL && strcmp(values[0], values[1]) != 0)
            return false;
    }
    return true;
}

size_t dsgd_tune_beside(const dsgd_tune *t, const dsgd_tuned *a, size_t candidate, size_t k,
                        int way)
{
    const char *const value = dsgd_tune_value(t, candidate, k);
    double number = 0;
    /* If a value is a word, it has no neighbours. */
    if (value == NULL || !dsgd_parse_number(value, NULL, &number))
        return SIZE_MAX;
    for (size_t c = candidate + (size_t)way; c - a->first < a->n; c += (size_t)way)
        if (is_alike(t, candidate, c, k))
            return c;
    return SIZE_MAX;
}

/**
 * Returns true if neighbour @p beside of the best candidate takes part in the current rung. An
 * early rung can drop the candidate that is best later. A single seed can drop the candidate that
 * is best over all seeds. Therefore, in rungs of full length, tried neighbours take part until the
 * best candidate lies between two worse candidates. An untried neighbour takes part in any rung,
 * unless it is unclear on which side the best candidate lies.
 */
static bool belongs(const dsgd_tune *t, const dsgd_tuned *a, size_t beside)
{
    const size_t length = t->n_lengths - 1;
    const dsgd_trial *const best = &a->ranked[0];
    const bool diverges = best->n_diverged > 0;
    if (!t->candidates[beside].is_tried)
        return diverges ? beside < best->candidate
                        : a->n_ranked == 1 || compare(t, best, &a->ranked[1]) != 0;
    const dsgd_tune_result *const known = result_of(t, beside, length, 0);
    return dsgd_rung_length(t, a, a->rung) == length && !diverges &&
           !(known != NULL && known->diverged);
}

/**
 * Adds neighbours of the best candidate to the current rung. Adds untried neighbours if there are
 * any; otherwise, adds tried neighbours. Returns false if it adds no neighbour.
 */
static bool look_beside(const dsgd_tune *t, const dsgd_tuned *a)
{
    bool any = false;
    for (int tried = 0; tried < 2 && !any; tried++)
        for (size_t i = 0; i < 2 * t->n_options; i++) {
            const size_t c =
                dsgd_tune_beside(t, a, a->ranked[0].candidate, i / 2, i % 2 == 0 ? -1 : 1);
            dsgd_candidate *const beside = c == SIZE_MAX ? NULL : &t->candidates[c];
            if (beside != NULL && !beside->is_in && beside->is_tried == tried && belongs(t, a, c))
                beside->is_in = any = true;
        }
    for (size_t c = a->first; c < a->first + a->n; c++)
        t->candidates[c].is_tried = t->candidates[c].is_tried || t->candidates[c].is_in;
    return any;
}

/**
 * Returns the number of candidates that continue. This number is 0 after the last rung. Diverged
 * candidates do not continue.
 */
static size_t n_kept(const dsgd_tune *t, const dsgd_tuned *a)
{
    if (a->rung + 1 == a->n_rungs)
        return 0;
    const bool is_final_next = a->rung + 2 == a->n_rungs && t->n_seeds > 1;
    size_t n =
        is_final_next ? DSGD_TUNE_FINALISTS : (a->n_ranked + DSGD_TUNE_ETA - 1) / DSGD_TUNE_ETA;
    n = n < DSGD_TUNE_FINALISTS ? DSGD_TUNE_FINALISTS : n;
    n = n < a->n_ranked ? n : a->n_ranked;
    while (n > 0 && a->ranked[n - 1].n_diverged > 0)
        n--;
    return n;
}

/**
 * Ranks the candidates after a round. Then starts the next rung, unless neighbours of the best
 * candidate must be tried first.
 */
static void advance(const dsgd_tune *t, dsgd_tuned *a)
{
    const double at = first_end(t, a);
    a->n_ranked = 0;
    for (size_t c = a->first; c < a->first + a->n; c++) {
        if (!t->candidates[c].is_in)
            continue;
        const dsgd_trial x = trial_of(t, a, c, at);
        /*
         * Put the best candidate first. If candidates are equal, put smaller values of options
         * first.
         */
        size_t k = a->n_ranked++;
        for (; k > 0 && compare(t, &x, &a->ranked[k - 1]) < 0; k--)
            a->ranked[k] = a->ranked[k - 1];
        a->ranked[k] = x;
    }
    if (look_beside(t, a))
        return;
    const size_t kept = n_kept(t, a);
    for (size_t i = 0; i < a->n_ranked; i++)
        t->candidates[a->ranked[i].candidate].is_in = i < kept;
    while (a->n_ranked > 1 && a->ranked[a->n_ranked - 1].out != NULL)
        a->n_ranked--;
    a->is_over = kept == 0;
    a->rung += kept > 0;
}

bool dsgd_tune_has_best(const dsgd_tuned *a)
{
    return a->ranked[0].out == NULL;
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
        return dsgd_fail(
            error, DSGD_ERUNS,
            "%zu runs failed, so the candidates cannot be ranked; %s keeps the others, "
            "and the same command executes the rest",
            n_missing, t->pool.folder);
    *more = false;
    for (dsgd_tuned *a = t->algorithms; a < t->algorithms + t->n_algorithms; a++) {
        if (!a->is_over)
            advance(t, a);
        *more = *more || !a->is_over;
    }
    return DSGD_OK;
}
