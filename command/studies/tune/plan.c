/**
 * @file plan.c
 * Makes the assignments that sweep options of the algorithms. Makes the candidates and their runs
 * from the swept experiment.
 */
#include "command/experiment/config.h"
#include "command/studies/study.h"
#include "command/studies/tune/tune.h"

static const char of_rate[] = "optimizer.lr";

/**
 * The default learning rates are the rate in the file times powers of two. The first rung has
 * AROUND rates on each side of the rate in the file. Later rungs can add up to BEYOND rates on each
 * side.
 */
enum { AROUND = 4, BEYOND = 4 };

static dsgd_tuned *algorithm_of(const dsgd_tune *t, const dsgd_planned_run *run)
{
    return &t->algorithms[run->chosen[DSGD_AXIS_ALGORITHM]];
}

void dsgd_tune_add(dsgd_lines *sets, const char *set)
{
    sets->v = dsgd_keep_more(sets->v, sets->n + 1, sizeof *sets->v);
    sets->v[sets->n++] = set;
}

/* --- options ---------------------------------------------------------------------------------- */

/**
 * Returns the value of the key `sweep` for a text. FROM:TO:N becomes a range with equal factors.
 * Other texts are not changed.
 */
static const char *values_of(const char *text)
{
    const char *const first = strchr(text, ':');
    const char *const second = first == NULL ? NULL : strchr(first + 1, ':');
    if (second == NULL || strpbrk(text, "[{ ") != NULL)
        return text;
    return dsgd_xprintf("{from: %.*s, to: %.*s, n: %s, log: true}", (int)(first - text), text,
                        (int)(second - first - 1), first + 1, second + 1);
}

/**
 * Adds a sweep over an option of algorithm number @p i. If the option has two sweeps, the last
 * sweep is used, as with --set.
 */
static void sweep(dsgd_tune *t, size_t i, const char *option, const char *values)
{
    dsgd_tune_add(&t->sets, dsgd_xprintf("algorithms.%zu.%s={sweep: %s}", i, option, values));
}

/**
 * Returns the part of a text that follows @p prefix. Returns NULL if the text does not begin with
 * @p prefix or if nothing follows.
 */
static const char *after(const char *text, const char *prefix)
{
    const size_t n = strlen(prefix);
    return strncmp(text, prefix, n) == 0 && text[n] != '\0' ? text + n : NULL;
}

/**
 * Adds the sweep of an argument --over PATH=VALUES. The sweep is for all algorithms or for one
 * algorithm.
 */
static dsgd_status sweep_over(dsgd_tune *t, const char *text, dsgd_error *error)
{
    const char *const equals = strchr(text, '=');
    if (equals == NULL || equals == text || equals[1] == '\0')
        return dsgd_refuse(error,
                           "--over must be PATH=FROM:TO:N or PATH=[VALUE, ...], such as "
                           "learn.optimizer.lr=0.01:1:7, got `%s`",
                           text);
    const char *const path = dsgd_xprintf("%.*s", (int)(equals - text), text);
    const char *const of_all =
        after(path, "learn.optimizer.") != NULL ? after(path, "learn.")
        : after(path, "exchange.") != NULL || after(path, "failures.") != NULL ? path
                                                                               : NULL;
    bool is_known = false;
    for (size_t i = 0; i < t->n_algorithms; i++) {
        const char *const label = dsgd_xprintf("%s.", t->algorithms[i].label);
        const char *const option = of_all != NULL ? of_all : after(path, label);
        if (option == NULL)
            continue;
        sweep(t, i, option, values_of(equals + 1));
        if (strstr(option, of_rate) != NULL)
            t->algorithms[i].rate = NAN;
        is_known = true;
    }
    return is_known ? DSGD_OK
                    : dsgd_refuse(error,
                                  "--over %s: `%s` cannot be tuned; give learn.optimizer.KEY, "
                                  "exchange.KEY or failures.KEY (for each algorithm), or LABEL.KEY "
                                  "(for one algorithm), such as %s.optimizer.lr",
                                  text, path, t->algorithms[0].label);
}

static dsgd_status sweep_rate(dsgd_tune *t, const dsgd_planned_run *run, dsgd_error *error)
{
    const double rate = run->learning.optimizer.lr;
    if (!(rate > 0))
        return dsgd_refuse(error,
                           "the learning rate of %s is 0, so no rates around it can be tried; give "
                           "--over learn.optimizer.lr=FROM:TO:N",
                           run->label);
    char *list = dsgd_xprintf("[%.9g", ldexp(rate, -AROUND - BEYOND));
    for (int power = 1 - AROUND - BEYOND; power <= AROUND + BEYOND; power++)
        dsgd_append(&list, ", %.9g", ldexp(rate, power));
    sweep(t, run->chosen[DSGD_AXIS_ALGORITHM], of_rate, dsgd_xprintf("%s]", list));
    algorithm_of(t, run)->rate = rate;
    return DSGD_OK;
}

/**
 * Turns each algorithm into a mapping, so that its options can be set. Then adds sweeps over the
 * options.
 */
static dsgd_status sweep_all(dsgd_tune *t, const dsgd_texts *over, dsgd_error *error)
{
    const dsgd_experiment *const plain = t->plain;
    dsgd_yaml **const list = dsgd_yaml_elements(
        dsgd_yaml_find(dsgd_config_root(plain->config), "algorithms"), &t->n_algorithms);
    char *set = dsgd_xstrdup("algorithms=[");
    for (size_t i = 0; i < t->n_algorithms; i++)
        dsgd_append(&set, dsgd_yaml_text(list[i]) == NULL ? "%s%s" : "%s{name: %s}",
                    i == 0 ? "" : ", ", dsgd_yaml_yaml(list[i]));
    dsgd_tune_add(&t->sets, dsgd_xprintf("%s]", set));
    t->algorithms = dsgd_keep(t->n_algorithms, sizeof *t->algorithms);
    for (size_t i = 0; i < plain->n_runs; i++)
        algorithm_of(t, &plain->runs[i])->label = plain->runs[i].label;
    for (size_t k = 0; k < over->n; k++)
        DSGD_TRY(sweep_over(t, over->v[k], error));
    for (size_t i = 0; !t->of_throughput && i < plain->n_runs; i++)
        if (algorithm_of(t, &plain->runs[i])->rate == 0)
            DSGD_TRY(sweep_rate(t, &plain->runs[i], error));
    return DSGD_OK;
}

/* --- seeds and lengths ------------------------------------------------------------------------ */

/** Finds the n_seeds smallest seeds, starting with 1, that the experiment does not use. */
static void find_seeds(dsgd_tune *t)
{
    size_t n = 0;
    t->seeds = dsgd_keep(t->n_seeds, sizeof *t->seeds);
    for (int64_t seed = 1; n < t->n_seeds; seed++) {
        bool is_used = false;
        for (size_t i = 0; i < t->plain->n_runs; i++)
            is_used = is_used || t->plain->runs[i].seed == seed;
        if (!is_used)
            t->seeds[n++] = seed;
    }
    dsgd_tune_add(&t->sets, dsgd_xprintf("seed=%jd", t->seeds[0]));
}

/**
 * Computes the lengths of the runs in the rungs. A length is a part of the experiment's steps,
 * seconds and samples. The last length is the full length.
 */
static dsgd_status find_lengths(dsgd_tune *t, dsgd_error *error)
{
    const dsgd_planned_run *const run = &t->plain->runs[0];
    dsgd_until whole = run->config.until;
    const double every = fmax(run->learning.evaluate.every, 1);
    if (whole.steps == 0 && whole.seconds == 0 && whole.samples == 0)
        return dsgd_refuse(error, "until must contain steps, seconds or samples, because early "
                                  "rounds run for a part of them");
    /* A run can end as soon as it reaches the target. */
    if (t->on != DSGD_TUNE_FINAL && !t->target.below)
        whole.accuracy = t->target.value;
    t->is_prefix = whole.seconds == 0 && whole.samples == 0 && run->learning.evaluate.every > 0;
    for (int k = DSGD_TUNE_MOST_LENGTHS - 1; k >= 0; k--) {
        const double part = pow(DSGD_TUNE_ETA, k);
        dsgd_until length = whole;
        length.steps =
            k == 0 ? whole.steps : fmin(whole.steps, every * ceil(whole.steps / part / every));
        length.seconds = whole.seconds / part;
        length.samples = ceil(whole.samples / part);
        const dsgd_until *const last = t->n_lengths == 0 ? NULL : &t->lengths[t->n_lengths - 1];
        if (last != NULL && length.steps <= last->steps && length.seconds <= last->seconds &&
            /* Drop the previous length if it is not shorter than this length. */
            length.samples <= last->samples)
            t->n_lengths--;
        t->lengths[t->n_lengths++] = length;
    }
    return DSGD_OK;
}

/* --- the plan --------------------------------------------------------------------------------- */

static dsgd_status check(const dsgd_tune *t, size_t n_over, dsgd_error *error)
{
    const dsgd_experiment *const plain = t->plain;
    const dsgd_planned_run *const first = &plain->runs[0];
    bool is_one = true;
    for (size_t k = 0; k < plain->n_columns; k++)
        is_one = is_one && strcmp(plain->columns[k], "seed") == 0;
    for (size_t i = 0; i < plain->n_runs; i++)
        for (size_t axis = 0; axis < DSGD_AXIS_ALGORITHM; axis++)
            is_one = is_one && plain->runs[i].chosen[axis] == first->chosen[axis];
    if (!is_one)
        return dsgd_refuse(
            error,
            "%s: tune needs one platform, one workload, one number of workers and no "
            "sweep; choose with --set, such as --set workers=%jd",
            plain->path, first->workers);
    if (t->of_throughput && t->on != DSGD_TUNE_FINAL)
        return dsgd_refuse(error,
                           "%s: nothing is learned, so no %s can be reached; add `learn`, or leave "
                           "out --target to tune the throughput",
                           plain->path, t->target.column);
    if (t->of_throughput && n_over == 0)
        return dsgd_refuse(error,
                           "%s: nothing is learned, so there is no learning rate to tune; add "
                           "`learn`, or give an option that changes the throughput, such as --over "
                           "failures.checkpoint.interval=1min:1h:9",
                           plain->path);
    if (t->on != DSGD_TUNE_FINAL && first->learning.evaluate.every == 0)
        return dsgd_refuse(error,
                           "%s: --target needs evaluations during the run; set "
                           "learn.evaluate.every, such as --set learn.evaluate.every=10",
                           plain->path);
    return DSGD_OK;
}

dsgd_status dsgd_tune_plan(dsgd_tune *t, const dsgd_texts *over, dsgd_error *error)
{
    t->of_throughput = t->plain->runs[0].config.learning == NULL;
    DSGD_TRY(check(t, over->n, error));
    DSGD_TRY(sweep_all(t, over, error));
    find_seeds(t);
    return find_lengths(t, error);
}

/* --- candidates ------------------------------------------------------------------------------- */

/** Returns the option in a path algorithms.ENTRY.OPTION. The option is the part after ENTRY. */
static const char *option_of(const char *path)
{
    return strchr(path + strlen("algorithms."), '.') + 1;
}

/** Joins the columns that one option has in several algorithms into a single column. */
static void join_columns(dsgd_tune *t)
{
    dsgd_experiment *const e = &t->grid;
    size_t n = 0;
    dsgd_sweep **const sweeps = dsgd_config_sweeps(e->config, &n);
    size_t *const to = dsgd_keep(n + 1, sizeof *to);
    const char **const columns = dsgd_keep(n + 1, sizeof *columns);
    t->options = dsgd_keep(n + 1, sizeof *t->options);
    for (size_t k = 0; k < n; k++) {
        const char *const option = option_of(sweeps[k]->path);
        const int known = dsgd_find_word(t->options, option);
        to[k] = known < 0 ? t->n_options++ : (size_t)known;
        t->options[to[k]] = option;
        columns[to[k]] = dsgd_xprintf("algorithms.%s", option_of(e->columns[k]));
    }
    for (size_t i = 0; i < e->n_runs; i++) {
        const char **const swept = dsgd_keep(n + 1, sizeof *swept);
        for (size_t k = 0; k < n; k++)
            if (e->runs[i].swept[k] != NULL)
                swept[to[k]] = e->runs[i].swept[k];
        e->runs[i].swept = swept;
    }
    e->columns = columns;
    e->n_columns = t->n_options;
}

/** Returns the length of a run as a text, such as "400 steps". */
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

/**
 * Makes the runs of each candidate. The runs with the first seed have all lengths. The runs with
 * the other seeds have only the full length. The last column contains the length.
 */
static dsgd_status add_runs(dsgd_tune *t, dsgd_error *error)
{
    static const char *const column = "until";
    dsgd_experiment *const e = &t->grid;
    const size_t n_each = t->n_lengths + t->n_seeds - 1;
    const dsgd_planned_run *const candidates = e->runs;
    t->n_candidates = e->n_runs;
    DSGD_TRY(dsgd_study_check_length(e, n_each * t->n_candidates, error));
    e->n_runs = e->n_unchanged = n_each * t->n_candidates;
    e->runs = dsgd_keep(e->n_runs, sizeof *e->runs);
    for (size_t c = 0, i = 0; c < t->n_candidates; c++)
        for (size_t k = 0; k < n_each; k++, i++) {
            e->runs[i] = candidates[c];
            e->runs[i].unchanged = i;
        }
    dsgd_experiment_add_columns(e, &column, 1);
    for (size_t c = 0, i = 0; c < t->n_candidates; c++)
        for (size_t k = 0; k < n_each; k++, i++) {
            dsgd_planned_run *const run = &e->runs[i];
            const size_t length = k < t->n_lengths ? k : t->n_lengths - 1;
            run->config.until = t->lengths[length];
            run->swept[t->n_options] = length_text(t, length);
            run->seed = t->seeds[k - length];
            run->config.seed = (uint64_t)run->seed;
        }
    return DSGD_OK;
}

/**
 * Plans the rungs. Short rungs follow each other until at most three candidates are left. Then one
 * rung of full length has one seed. The last rung has two candidates and all seeds. Both rungs of
 * full length also try the neighbours of the best candidate.
 */
static void begin_rungs(const dsgd_tune *t, dsgd_tuned *a)
{
    for (size_t left = a->n_begun; left > DSGD_TUNE_ETA && a->n_short + 1 < t->n_lengths;
         a->n_short++)
        left = (left + DSGD_TUNE_ETA - 1) / DSGD_TUNE_ETA;
    const bool has_middle = a->n_begun > DSGD_TUNE_FINALISTS && t->n_seeds > 1;
    a->n_rungs = a->n_short + has_middle + 1;
    a->ranked = dsgd_keep(a->n, sizeof *a->ranked);
}

dsgd_status dsgd_tune_find(dsgd_tune *t, dsgd_error *error)
{
    join_columns(t);
    DSGD_TRY(add_runs(t, error));
    t->candidates = dsgd_keep(t->n_candidates, sizeof *t->candidates);
    const int of_rates = dsgd_find_word(t->options, of_rate);
    for (size_t c = 0; c < t->n_candidates; c++) {
        dsgd_tuned *const a = algorithm_of(t, &t->grid.runs[dsgd_tune_run(t, c, 0, 0)]);
        /* The first rung contains only rates from the middle of the default list. */
        double rate = 0;
        if (a->rate > 0)
            dsgd_parse_number(dsgd_tune_value(t, c, (size_t)of_rates), NULL, &rate);
        const bool begins = !(a->rate > 0) || fabs(log2(rate / a->rate)) < AROUND + 0.5;
        t->candidates[c] = (dsgd_candidate){.is_in = begins, .is_tried = begins};
        a->n_begun += begins;
        a->first = a->n == 0 ? c : a->first;
        a->n++;
    }
    for (dsgd_tuned *a = t->algorithms; a < t->algorithms + t->n_algorithms; a++)
        begin_rungs(t, a);
    return DSGD_OK;
}
