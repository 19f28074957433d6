/**
 * @file plan.c
 * From an experiment to the assignments that make a grid of it, and from the grid to the candidates
 * of each algorithm and their runs.
 */
#include "base/csv.h"
#include "command/experiment/config.h"
#include "command/studies/tune/tune.h"

static const char of_rate[] = "optimizer.lr";

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

/** FROM:TO:N by equal factors, or what may stand behind `sweep:`. */
static const char *values_of(const char *text)
{
    const char *const first = strchr(text, ':');
    const char *const second = first == NULL ? NULL : strchr(first + 1, ':');
    if (second == NULL || strpbrk(text, "[{ ") != NULL)
        return dsgd_xstrdup(text);
    return dsgd_xprintf("{from: %.*s, to: %.*s, n: %s, log: true}", (int)(first - text), text,
                        (int)(second - first - 1), first + 1, second + 1);
}

/** Of --over PATH=VALUES: whose option it is, by index (n_algorithms: of all), and its rest. */
static dsgd_status read_over(const dsgd_tune *t, const char *text, size_t *of, dsgd_tune_option *o,
                             dsgd_error *error)
{
    const char *const equals = strchr(text, '=');
    if (equals == NULL || equals == text || equals[1] == '\0')
        return dsgd_refuse(error,
                           "--over %s: expected PATH=FROM:TO:N or PATH=[VALUE, ...], such as "
                           "learn.optimizer.lr=0.01:1:7",
                           text);
    const char *const path = dsgd_xprintf("%.*s", (int)(equals - text), text);
    *of = t->n_algorithms;
    *o = (dsgd_tune_option){.values = values_of(equals + 1)};
    if (strncmp(path, "learn.optimizer.", 16) == 0)
        o->rest = path + 6;
    else if (strncmp(path, "exchange.", 9) == 0 || strncmp(path, "failures.", 9) == 0)
        o->rest = path;
    for (size_t i = 0; i < t->n_algorithms && o->rest == NULL; i++) {
        const char *const names[] = {dsgd_xprintf("algorithms.%zu.", i),
                                     dsgd_xprintf("%s.", t->algorithms[i].label)};
        for (size_t k = 0; k < 2; k++)
            if (strncmp(path, names[k], strlen(names[k])) == 0) {
                *of = i;
                o->rest = path + strlen(names[k]);
            }
    }
    if (o->rest != NULL && *o->rest != '\0')
        return DSGD_OK;
    return dsgd_refuse(error,
                       "--over %s: `%s` is nothing that an algorithm has for itself; there is "
                       "learn.optimizer.KEY, exchange.KEY, failures.KEY, and LABEL.KEY of one "
                       "algorithm, such as %s.optimizer.lr",
                       text, path, t->algorithms[0].label);
}

size_t dsgd_tune_option_of(const dsgd_tuned *a, const char *rest)
{
    size_t k = 0;
    while (k < a->n_options && strcmp(a->options[k].rest, rest) != 0)
        k++;
    return k;
}

static dsgd_status add_option(dsgd_tune *t, size_t i, dsgd_tune_option option, dsgd_error *error)
{
    dsgd_tuned *const a = &t->algorithms[i];
    const size_t k = dsgd_tune_option_of(a, option.rest);
    if (k == DSGD_TUNE_MOST_OPTIONS)
        return dsgd_refuse(error, "--over: %d options of %s are the most that fit",
                           DSGD_TUNE_MOST_OPTIONS, a->label);
    option.path = dsgd_xprintf("algorithms.%zu.%s", i, option.rest);
    a->options[k] = option; /* as with --set the last counts */
    a->n_options += k == a->n_options;
    return DSGD_OK;
}

/** Powers of two around the file's own rate: the middle nine at first. */
static dsgd_status add_rate(dsgd_tune *t, const dsgd_planned_run *run, dsgd_error *error)
{
    enum { AROUND = 4, BEYOND = 4 };
    const double rate = run->learning.optimizer.lr;
    if (!(rate > 0))
        return dsgd_refuse(error,
                           "the learning rate of %s is 0, so there is nothing to look around; give "
                           "--over learn.optimizer.lr=FROM:TO:N",
                           run->label);
    char *list = dsgd_xprintf("[%.9g", ldexp(rate, -AROUND - BEYOND));
    for (int power = 1 - AROUND - BEYOND; power <= AROUND + BEYOND; power++)
        dsgd_append(&list, ", %.9g", ldexp(rate, power));
    dsgd_append(&list, "]");
    const dsgd_tune_option option = {.rest = of_rate, .values = list, .n_beyond = BEYOND};
    return add_option(t, run->chosen[DSGD_AXIS_ALGORITHM], option, error);
}

static dsgd_status find_options(dsgd_tune *t, const dsgd_texts *texts, dsgd_error *error)
{
    for (size_t k = 0; k < texts->n; k++) {
        size_t of = 0;
        dsgd_tune_option option;
        DSGD_TRY(read_over(t, texts->v[k], &of, &option, error));
        for (size_t i = 0; i < t->n_algorithms; i++)
            if (of == i || of == t->n_algorithms)
                DSGD_TRY(add_option(t, i, option, error));
    }
    for (size_t i = 0; !t->of_throughput && i < t->plain->n_runs; i++) {
        const dsgd_planned_run *const run = &t->plain->runs[i];
        const dsgd_tuned *const a = algorithm_of(t, run);
        bool has_rate = false;
        for (size_t k = 0; k < a->n_options; k++)
            has_rate = has_rate || strstr(a->options[k].rest, of_rate) != NULL;
        if (!has_rate)
            DSGD_TRY(add_rate(t, run, error));
    }
    return DSGD_OK;
}

/** Every entry a mapping, so that its options can be set; then the options. */
static void set_options(dsgd_tune *t, dsgd_yaml *const *list)
{
    char *set = dsgd_xstrdup("algorithms=[");
    for (size_t i = 0; i < t->n_algorithms; i++) {
        dsgd_append(&set, dsgd_yaml_text(list[i]) == NULL ? "%s%s" : "%s{name: %s}",
                    i == 0 ? "" : ", ", dsgd_yaml_yaml(list[i]));
    }
    dsgd_append(&set, "]");
    dsgd_tune_add(&t->sets, set);
    for (size_t i = 0; i < t->n_algorithms; i++)
        for (size_t k = 0; k < t->algorithms[i].n_options; k++)
            dsgd_tune_add(&t->sets, dsgd_xprintf("%s={sweep: %s}", t->algorithms[i].options[k].path,
                                                 t->algorithms[i].options[k].values));
}

/* --- seeds and lengths ------------------------------------------------------------------------ */

/** The smallest seeds from 1 on that the experiment does not have. */
static void set_seeds(dsgd_tune *t)
{
    char *set = dsgd_xstrdup("seed=[");
    size_t n = 0;
    t->seeds = dsgd_keep(t->n_seeds, sizeof *t->seeds);
    for (int64_t seed = 1; n < t->n_seeds; seed++) {
        bool is_used = false;
        for (size_t i = 0; i < t->plain->n_runs; i++)
            is_used = is_used || t->plain->runs[i].seed == seed;
        if (is_used)
            continue;
        dsgd_append(&set, "%s%jd", n == 0 ? "" : ", ", seed);
        t->seeds[n++] = seed;
    }
    dsgd_append(&set, "]");
    dsgd_tune_add(&t->sets, set);
}

static double bound_of(const dsgd_until *until, const dsgd_option *o)
{
    return *(const double *)(const void *)((const char *)until + o->offset);
}

/** `{steps: 400, accuracy: 0.8}`. */
static char *bounds_text(const dsgd_until *until)
{
    char *text = dsgd_xstrdup("");
    for (const dsgd_option *o = dsgd_until_options; o->name != NULL; o++)
        if (bound_of(until, o) > 0)
            dsgd_append(&text, "%s%s: %s", *text == '\0' ? "" : ", ", o->name,
                        dsgd_csv_number_text(bound_of(until, o)));
    return dsgd_xprintf("{%s}", text);
}

/** The lengths as a sweep: of a number, where there is one bound beside an accuracy. */
static void set_bounds(dsgd_tune *t)
{
    const dsgd_until *const last = &t->lengths[t->n_lengths - 1];
    const dsgd_option *one = NULL;
    size_t n = 0;
    for (const dsgd_option *o = dsgd_until_options; o->name != NULL; o++)
        if (o->offset != offsetof(dsgd_until, accuracy) && bound_of(last, o) > 0) {
            one = o;
            n++;
        }
    char *set =
        n == 1 ? dsgd_xprintf("until.%s={sweep: [", one->name) : dsgd_xstrdup("until={sweep: [");
    for (size_t k = 0; k < t->n_lengths; k++)
        dsgd_append(&set, "%s%s", k == 0 ? "" : ", ",
                    n == 1 ? dsgd_csv_number_text(bound_of(&t->lengths[k], one))
                           : bounds_text(&t->lengths[k]));
    if (n == 1 && last->accuracy > 0)
        dsgd_tune_add(&t->sets, dsgd_xprintf("until.accuracy=%.17g", last->accuracy));
    dsgd_append(&set, "]}");
    dsgd_tune_add(&t->sets, set);
}

/** The parts of the steps, seconds and samples that short rungs have. */
static dsgd_status set_lengths(dsgd_tune *t, dsgd_error *error)
{
    const dsgd_planned_run *const run = &t->plain->runs[0];
    dsgd_until whole = run->config.until;
    const double every = fmax(run->learning.evaluate.every, 1);
    if (whole.steps == 0 && whole.seconds == 0 && whole.samples == 0)
        return dsgd_refuse(error, "until: there are neither steps nor seconds nor samples, of "
                                  "which early rungs take a part");
    if (t->on != DSGD_TUNE_FINAL && !t->target.below)
        whole.accuracy = t->target.value; /* what comes after it is not asked */
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
            length.samples <= last->samples)
            t->n_lengths--; /* a part that is no shorter */
        t->lengths[t->n_lengths++] = length;
    }
    set_bounds(t);
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
        for (size_t axis = 0; axis < DSGD_N_AXES; axis++)
            is_one = is_one && (axis == DSGD_AXIS_ALGORITHM || axis == DSGD_AXIS_SEED ||
                                plain->runs[i].chosen[axis] == first->chosen[axis]);
    if (!is_one)
        return dsgd_refuse(error,
                           "%s: values are tuned for one platform, workload and number of workers, "
                           "and nothing swept; choose with --set, such as --set workers=%jd",
                           plain->path, first->workers);
    if (t->of_throughput && t->on != DSGD_TUNE_FINAL)
        return dsgd_refuse(error,
                           "%s: nothing is learned, so there is no %s to reach; `learn` says what, "
                           "and without --target the throughput is tuned",
                           plain->path, t->target.column);
    if (t->of_throughput && n_over == 0)
        return dsgd_refuse(error,
                           "%s: nothing is learned, so there is no rate to tune; `learn` says "
                           "what, or --over which options the throughput depends on, such as "
                           "failures.checkpoint.interval=1min:1h:9",
                           plain->path);
    if (t->on != DSGD_TUNE_FINAL && first->learning.evaluate.every == 0)
        return dsgd_refuse(error,
                           "%s: --target needs evaluations on the way; set learn.evaluate.every, "
                           "such as --set learn.evaluate.every=10",
                           plain->path);
    return DSGD_OK;
}

dsgd_status dsgd_tune_plan(dsgd_tune *t, const dsgd_texts *over, dsgd_error *error)
{
    const dsgd_experiment *const plain = t->plain;
    t->of_throughput = plain->runs[0].config.learning == NULL;
    DSGD_TRY(check(t, over->n, error));
    dsgd_yaml **const list = dsgd_yaml_elements(
        dsgd_yaml_find(dsgd_config_root(plain->config), "algorithms"), &t->n_algorithms);
    t->algorithms = dsgd_keep(t->n_algorithms, sizeof *t->algorithms);
    for (size_t i = 0; i < plain->n_runs; i++) {
        dsgd_tuned *const a = algorithm_of(t, &plain->runs[i]);
        a->label = plain->runs[i].label;
        a->name = plain->runs[i].algorithm.about->name;
    }
    DSGD_TRY(find_options(t, over, error));
    set_options(t, list);
    set_seeds(t);
    return set_lengths(t, error);
}

/* --- the grid --------------------------------------------------------------------------------- */

/** Index of a text among the values of an option, where a new one is added. */
static size_t text_index(dsgd_tune_option *o, const char *text)
{
    for (size_t v = 0; v < o->n; v++)
        if (strcmp(o->texts[v], text) == 0)
            return v;
    o->texts[o->n] = text;
    return o->n++;
}

/** Which candidate, length and seed a run is of: its place in a->runs. */
static size_t place_of(const dsgd_tune *t, const dsgd_planned_run *run)
{
    dsgd_tuned *const a = algorithm_of(t, run);
    size_t candidate = 0, length = 0, seed = 0;
    for (size_t k = 0; k < a->n_options; k++)
        candidate = candidate * a->options[k].n +
                    text_index(&a->options[k], run->swept[a->options[k].column]);
    while (length + 1 < t->n_lengths && (t->lengths[length].steps != run->config.until.steps ||
                                         t->lengths[length].seconds != run->config.until.seconds ||
                                         t->lengths[length].samples != run->config.until.samples))
        length++;
    while (seed + 1 < t->n_seeds && t->seeds[seed] != run->seed)
        seed++;
    return (candidate * t->n_lengths + length) * t->n_seeds + seed;
}

/** One column for the same option of all algorithms, algorithms.optimizer.lr, in place of one each:
 * which. */
static const size_t *join_columns(dsgd_experiment *e)
{
    const size_t n = e->n_columns, n_prefix = strlen("algorithms.");
    size_t *const to = dsgd_keep(n + 1, sizeof *to);
    const char **const columns = dsgd_keep(n + 1, sizeof *columns);
    e->n_columns = 0;
    for (size_t k = 0; k < n; k++) {
        const char *column = e->columns[k];
        if (strncmp(column, "algorithms.", n_prefix) == 0)
            column = dsgd_xprintf("algorithms.%s", strchr(column + n_prefix, '.') + 1);
        const int known = dsgd_find_word(columns, column);
        to[k] = known < 0 ? e->n_columns++ : (size_t)known;
        columns[to[k]] = column;
    }
    e->columns = columns;
    for (size_t i = 0; i < e->n_runs; i++) {
        const char **const swept = dsgd_keep(n + 1, sizeof *swept);
        for (size_t k = 0; k < n; k++)
            if (e->runs[i].swept[k] != NULL)
                swept[to[k]] = e->runs[i].swept[k];
        e->runs[i].swept = swept;
    }
    return to;
}

/** Values in the order of their lists. */
static void find_values(dsgd_tune *t)
{
    dsgd_experiment *const e = &t->grid;
    const size_t *const to = join_columns(e);
    size_t n = 0, n_rests = 0;
    dsgd_sweep **const sweeps = dsgd_config_sweeps(e->config, &n);
    t->rests = dsgd_keep(t->n_algorithms * DSGD_TUNE_MOST_OPTIONS + 1, sizeof *t->rests);
    for (size_t i = 0; i < t->n_algorithms; i++)
        for (size_t k = 0; k < t->algorithms[i].n_options; k++) {
            dsgd_tune_option *const o = &t->algorithms[i].options[k];
            for (size_t s = 0; s < n; s++)
                if (strcmp(sweeps[s]->path, o->path) == 0)
                    o->column = to[s];
            o->texts = dsgd_keep(e->n_runs, sizeof *o->texts);
            if (dsgd_find_word(t->rests, o->rest) < 0)
                t->rests[n_rests++] = o->rest;
        }
    for (size_t i = 0; i < e->n_runs; i++)
        place_of(t, &e->runs[i]);
}

/**
 * There are as many short rungs as leave three candidates; then one of full length with one seed,
 * and one with all seeds, of two, each with what is beside the best.
 */
static void begin_rungs(const dsgd_tune *t, dsgd_tuned *a)
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
    a->is_in = dsgd_keep(a->n_candidates, sizeof *a->is_in);
    a->trials = dsgd_keep(1, a->n_rungs * a->n_candidates * sizeof *a->trials);
    for (size_t i = 0; i < a->n_candidates; i++) {
        a->is_in[i] = true;
        for (size_t k = 0; k < a->n_options; k++) {
            const size_t v = dsgd_tune_value(a, i, k);
            a->is_in[i] = a->is_in[i] && v >= a->options[k].low && v <= a->options[k].high;
        }
    }
}

dsgd_status dsgd_tune_find(dsgd_tune *t, dsgd_error *error)
{
    dsgd_experiment *const e = &t->grid;
    find_values(t);
    for (size_t i = 0; i < t->n_algorithms; i++) {
        dsgd_tuned *const a = &t->algorithms[i];
        a->n_candidates = a->n_begun = 1;
        for (size_t k = 0; k < a->n_options; k++) {
            dsgd_tune_option *const o = &a->options[k];
            if (o->n == 0)
                return dsgd_refuse(error, "%s: no run of %s is possible", e->path, a->label);
            o->low = o->n_beyond;
            o->high = o->n - 1 - o->n_beyond;
            a->n_candidates *= o->n;
            a->n_begun *= o->high - o->low + 1;
        }
        a->runs = dsgd_keep(1, a->n_candidates * t->n_lengths * t->n_seeds * sizeof *a->runs);
        begin_rungs(t, a);
    }
    bool *const keep = dsgd_keep(e->n_runs, sizeof *keep);
    for (size_t i = 0; i < e->n_runs; i++) {
        const dsgd_tuned *const a = algorithm_of(t, &e->runs[i]);
        const size_t place = place_of(t, &e->runs[i]);
        for (size_t rung = 0; rung < a->n_rungs; rung++)
            keep[i] = keep[i] || (place / t->n_seeds % t->n_lengths == a->rungs[rung].length &&
                                  place % t->n_seeds < a->rungs[rung].n_seeds);
    }
    dsgd_experiment_keep(e, keep);
    for (size_t i = 0; i < e->n_runs; i++)
        algorithm_of(t, &e->runs[i])->runs[place_of(t, &e->runs[i])] = i + 1;
    return DSGD_OK;
}

size_t dsgd_tune_stride(const dsgd_tuned *a, size_t k)
{
    size_t stride = 1;
    for (size_t j = k + 1; j < a->n_options; j++)
        stride *= a->options[j].n;
    return stride;
}

size_t dsgd_tune_value(const dsgd_tuned *a, size_t candidate, size_t k)
{
    return candidate / dsgd_tune_stride(a, k) % a->options[k].n;
}

const char *dsgd_tune_text_of(const dsgd_tuned *a, size_t candidate, size_t k)
{
    return a->options[k].texts[dsgd_tune_value(a, candidate, k)];
}

size_t dsgd_tune_run(const dsgd_tune *t, const dsgd_tuned *a, size_t candidate, size_t length,
                     size_t seed)
{
    return a->runs[(candidate * t->n_lengths + length) * t->n_seeds + seed];
}
