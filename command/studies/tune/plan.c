/**
 * @file plan.c
 * From an experiment to the assignments that make a grid of it.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "command/experiment/config.h"
#include "command/studies/tune/tune.h"

static const char of_rate[] = "optimizer.lr";

static void add_set(dsgd_tune *t, char *set)
{
    t->sets = dsgd_xrealloc(t->sets, t->n_sets + 1, sizeof *t->sets);
    t->sets[t->n_sets++] = set;
}

/* --- options ---------------------------------------------------------------------------------- */

/** Of --over PATH=VALUES. */
typedef struct over {
    size_t contestant; /* n_contestants: all */
    const char *rest; /* of the path, below the entry */
    const char *values;
} over;

/** FROM:TO:N by equal factors, or what may stand behind `sweep:`. */
static const char *values_of(dsgd_config *config, const char *text)
{
    const char *const first = strchr(text, ':');
    const char *const second = first == NULL ? NULL : strchr(first + 1, ':');
    if (second == NULL || strpbrk(text, "[{ ") != NULL)
        return dsgd_config_keep(config, "%s", text);
    return dsgd_config_keep(config, "{from: %.*s, to: %.*s, n: %s, log: true}", (int)(first - text),
                            text, (int)(second - first - 1), first + 1, second + 1);
}

/** Whose option a path names: of all algorithms, or of one by its index or label. */
static dsgd_status read_over(const dsgd_tune *t, dsgd_config *config, const char *text, over *o,
                             dsgd_error *error)
{
    const char *const equals = strchr(text, '=');
    if (equals == NULL || equals == text || equals[1] == '\0')
        return dsgd_fail(error, DSGD_EUSAGE,
                         "--over %s: expected PATH=FROM:TO:N or PATH=[VALUE, ...], such as "
                         "learn.optimizer.lr=0.01:1:7",
                         text);
    const char *const path = dsgd_config_keep(config, "%.*s", (int)(equals - text), text);
    *o = (over){t->n_contestants, NULL, values_of(config, equals + 1)};
    if (strncmp(path, "learn.optimizer.", 16) == 0)
        o->rest = path + 6;
    else if (strncmp(path, "exchange.", 9) == 0)
        o->rest = path;
    for (size_t a = 0; a < t->n_contestants && o->rest == NULL; a++) {
        const char *const names[] = {dsgd_config_keep(config, "algorithms.%zu.", a),
                                     dsgd_config_keep(config, "%s.", t->contestants[a].label)};
        for (size_t k = 0; k < 2; k++)
            if (strncmp(path, names[k], strlen(names[k])) == 0)
                *o = (over){a, path + strlen(names[k]), o->values};
    }
    if (o->rest != NULL && *o->rest != '\0')
        return DSGD_OK;
    return dsgd_fail(error, DSGD_EUSAGE,
                     "--over %s: `%s` is nothing that an algorithm has for itself; there is "
                     "learn.optimizer.KEY, exchange.KEY, and LABEL.KEY of one algorithm, such as "
                     "%s.optimizer.lr",
                     text, path, t->contestants[0].label);
}

static dsgd_status add_option(dsgd_tune *t, dsgd_config *config, size_t a, const char *rest,
                              dsgd_tune_option option, dsgd_error *error)
{
    dsgd_tune_contestant *const c = &t->contestants[a];
    option.path = dsgd_config_keep(config, "algorithms.%zu.%s", a, rest);
    for (size_t k = 0; k < c->n_options; k++)
        if (strcmp(c->options[k].path, option.path) == 0) { /* as with --set the last counts */
            c->options[k] = option;
            return DSGD_OK;
        }
    if (c->n_options == DSGD_TUNE_MOST_OPTIONS)
        return dsgd_fail(error, DSGD_EUSAGE, "--over: %d options of %s are the most that fit",
                         DSGD_TUNE_MOST_OPTIONS, c->label);
    c->options[c->n_options++] = option;
    return DSGD_OK;
}

/** Powers of two around the file's own rate: the middle nine at first. */
static dsgd_status add_rate(dsgd_tune *t, dsgd_config *config, const dsgd_planned_run *run,
                            size_t a, dsgd_error *error)
{
    enum { AROUND = 4, BEYOND = 4 };
    const double rate = run->learning.optimizer.lr;
    if (!(rate > 0))
        return dsgd_fail(error, DSGD_EUSAGE,
                         "the learning rate of %s is 0, so there is nothing to look around; give "
                         "--over learn.optimizer.lr=FROM:TO:N",
                         run->label);
    char *list = dsgd_xstrdup("[");
    for (int power = -AROUND - BEYOND; power <= AROUND + BEYOND; power++)
        dsgd_append(&list, "%s%.9g", list[1] == '\0' ? "" : ", ", ldexp(rate, power));
    const dsgd_tune_option option = {.values = dsgd_config_keep(config, "%s]", list),
                                     .n_beyond = BEYOND};
    free(list);
    return add_option(t, config, a, of_rate, option, error);
}

static dsgd_status find_options(dsgd_tune *t, const dsgd_experiment *plain, const dsgd_texts *texts,
                                dsgd_error *error)
{
    dsgd_config *const config = plain->config;
    dsgd_status status = DSGD_OK;
    for (size_t i = 0; i < texts->n && status == DSGD_OK; i++) {
        over o = {0, NULL, NULL};
        status = read_over(t, config, texts->v[i], &o, error);
        for (size_t a = 0; a < t->n_contestants && status == DSGD_OK; a++)
            if (o.contestant == a || o.contestant == t->n_contestants)
                status =
                    add_option(t, config, a, o.rest, (dsgd_tune_option){.values = o.values}, error);
    }
    for (size_t i = 0; i < plain->n_runs && status == DSGD_OK; i++) {
        const size_t a = plain->runs[i].chosen[DSGD_AXIS_ALGORITHM];
        bool has_rate = false;
        for (size_t k = 0; k < t->contestants[a].n_options; k++)
            has_rate = has_rate || strstr(t->contestants[a].options[k].path, of_rate) != NULL;
        if (!has_rate)
            status = add_rate(t, config, &plain->runs[i], a, error);
    }
    return status;
}

/** Every entry a mapping, so that its options can be set; then the options. */
static void set_options(dsgd_tune *t, const dsgd_experiment *plain)
{
    dsgd_entry *const list = dsgd_entry_find(dsgd_config_root(plain->config), "algorithms");
    char *set = dsgd_xstrdup("algorithms=[");
    for (size_t a = 0; a < dsgd_entry_count(list); a++) {
        dsgd_entry *const entry = dsgd_entry_at(list, a);
        char *const text = dsgd_entry_yaml(entry);
        const bool is_name = dsgd_entry_text(entry) != NULL;
        dsgd_append(&set, "%s%s%s%s", a == 0 ? "" : ", ", is_name ? "{name: " : "", text,
                    is_name ? "}" : "");
        free(text);
    }
    dsgd_append(&set, "]");
    add_set(t, set);
    for (size_t a = 0; a < t->n_contestants; a++)
        for (size_t k = 0; k < t->contestants[a].n_options; k++)
            add_set(t, dsgd_xprintf("%s={sweep: %s}", t->contestants[a].options[k].path,
                                    t->contestants[a].options[k].values));
}

/* --- seeds and lengths ------------------------------------------------------------------------ */

/** The smallest seeds from 1 on that the experiment does not have. */
static void set_seeds(dsgd_tune *t, const dsgd_experiment *plain)
{
    t->seeds = dsgd_xcalloc(t->n_seeds, sizeof *t->seeds);
    char *set = dsgd_xstrdup("seed=[");
    size_t n = 0;
    for (long seed = 1; n < t->n_seeds; seed++) {
        bool is_used = false;
        for (size_t i = 0; i < plain->n_runs; i++)
            is_used = is_used || plain->runs[i].seed == seed;
        if (is_used)
            continue;
        dsgd_append(&set, "%s%ld", n == 0 ? "" : ", ", seed);
        t->seeds[n++] = seed;
    }
    dsgd_append(&set, "]");
    add_set(t, set);
}

/** `steps: 400, accuracy: 0.8`. */
static char *bounds_text(const dsgd_until *until)
{
    char *text = dsgd_xstrdup("");
    for (const dsgd_option *o = dsgd_until_options; o->name != NULL; o++) {
        const double value = *(const double *)((const char *)until + o->offset);
        char *const number = dsgd_csv_number_text(value);
        if (value > 0)
            dsgd_append(&text, "%s%s: %s", *text == '\0' ? "" : ", ", o->name, number);
        free(number);
    }
    return text;
}

/** The lengths as a sweep: of a number, where there is one bound beside an accuracy. */
static void set_bounds(dsgd_tune *t)
{
    const dsgd_until *const last = &t->lengths[t->n_lengths - 1];
    const size_t n_bounds = (last->steps > 0) + (last->seconds > 0) + (last->samples > 0);
    char *set = dsgd_xprintf("until%s={sweep: [", n_bounds > 1        ? ""
                                                  : last->steps > 0   ? ".steps"
                                                  : last->seconds > 0 ? ".seconds"
                                                                      : ".samples");
    for (size_t k = 0; k < t->n_lengths; k++) {
        char *const bounds = bounds_text(&t->lengths[k]);
        const double one =
            fmax(t->lengths[k].steps, fmax(t->lengths[k].seconds, t->lengths[k].samples));
        char *const number = dsgd_csv_number_text(one);
        dsgd_append(&set, "%s%s%s%s", k == 0 ? "" : ", ", n_bounds > 1 ? "{" : "",
                    n_bounds > 1 ? bounds : number, n_bounds > 1 ? "}" : "");
        free(number);
        free(bounds);
    }
    dsgd_append(&set, "]}");
    if (n_bounds == 1 && last->accuracy > 0)
        add_set(t, dsgd_xprintf("until.accuracy=%.17g", last->accuracy));
    add_set(t, set);
}

/** The parts of the steps, seconds and samples that short rungs have. */
static dsgd_status set_lengths(dsgd_tune *t, const dsgd_planned_run *run, dsgd_error *error)
{
    dsgd_until whole = run->config.until;
    const double every = fmax(run->learning.evaluate.every, 1);
    if (whole.steps == 0 && whole.seconds == 0 && whole.samples == 0)
        return dsgd_fail(error, DSGD_EUSAGE,
                         "until: there are neither steps nor seconds nor samples, of which early "
                         "rungs take a part");
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

static dsgd_status check(const dsgd_tune *t, const dsgd_experiment *plain, dsgd_error *error)
{
    const dsgd_planned_run *const first = &plain->runs[0];
    bool is_one = true;
    for (size_t k = 0; k < plain->n_columns; k++)
        is_one = is_one && strcmp(plain->columns[k], "seed") == 0;
    for (size_t i = 0; i < plain->n_runs; i++)
        for (size_t axis = 0; axis < DSGD_N_AXES; axis++)
            is_one = is_one && (axis == DSGD_AXIS_ALGORITHM || axis == DSGD_AXIS_SEED ||
                                plain->runs[i].chosen[axis] == first->chosen[axis]);
    if (!is_one)
        return dsgd_fail(error, DSGD_EUSAGE,
                         "%s: values are tuned for one platform, workload and number of workers, "
                         "and nothing swept; choose with --set, such as --set workers=%ld",
                         plain->path, first->workers);
    if (first->config.learning == NULL)
        return dsgd_fail(error, DSGD_EUSAGE,
                         "%s: nothing is learned, so there is nothing to tune; `learn` says what",
                         plain->path);
    if (t->on != DSGD_TUNE_FINAL && first->learning.evaluate.every == 0)
        return dsgd_fail(error, DSGD_EUSAGE,
                         "%s: --target needs evaluations on the way; set learn.evaluate.every, "
                         "such as --set learn.evaluate.every=10",
                         plain->path);
    return DSGD_OK;
}

dsgd_status dsgd_tune_plan(dsgd_tune *t, const dsgd_experiment *plain, const dsgd_texts *texts,
                           dsgd_error *error)
{
    dsgd_status status = check(t, plain, error);
    if (status != DSGD_OK)
        return status;
    for (size_t i = 0; i < plain->n_runs; i++) {
        const size_t a = plain->runs[i].chosen[DSGD_AXIS_ALGORITHM];
        if (a >= t->n_contestants) {
            t->contestants = dsgd_xrealloc(t->contestants, a + 1, sizeof *t->contestants);
            memset(t->contestants + t->n_contestants, 0,
                   (a + 1 - t->n_contestants) * sizeof *t->contestants);
            t->n_contestants = a + 1;
        }
        t->contestants[a].label = plain->runs[i].label;
    }
    status = find_options(t, plain, texts, error);
    if (status != DSGD_OK)
        return status;
    set_options(t, plain);
    set_seeds(t, plain);
    return set_lengths(t, &plain->runs[0], error);
}
