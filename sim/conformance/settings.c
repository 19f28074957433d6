/**
 * @file settings.c Makes settings of an algorithm's options: the defaults, the options of a law,
 * and settings in which one option differs from its default.
 */
#include "models/encodings/params.h"
#include "sim/conformance/checks.h"

/* --- options as text -------------------------------------------------------------------------- */

dsgd_setting dsgd_setting_default(const dsgd_tester *t)
{
    return (dsgd_setting){.params = dsgd_spec_default(&t->algorithm->about).params};
}

static size_t count_words(const dsgd_option *o)
{
    size_t n = 0;
    while (o->words != NULL && o->words[n] != NULL)
        n++;
    return n;
}

/** Returns true if the option's table allows the number @p value. */
static bool allows(const dsgd_option *o, double value)
{
    const double n_words = (double)count_words(o);
    const bool is_whole = value == trunc(value);
    const bool is_word = is_whole && value < 0 && -value <= n_words;
    const bool is_within = value >= o->min && value <= o->max;
    switch (o->kind) {
    case DSGD_BOOL:
        return value == 0 || value == 1;
    case DSGD_CHOICE:
        return is_whole && value >= 0 && value < n_words;
    case DSGD_LONG:
        return is_word || (is_whole && is_within);
    case DSGD_DOUBLE:
        return is_word || is_within;
    default:
        return false;
    }
}

/** Appends "NAME=VALUE" to the text of a setting. */
static void append_text(dsgd_setting *s, const char *name, const char *value)
{
    const size_t n = strlen(s->text);
    snprintf(s->text + n, sizeof s->text - n, "%s%s=%s", n == 0 ? "" : ", ", name, value);
}

/**
 * Sets an option of kind SPEC to the entry @p about of its registry, with default parameters.
 * Returns the parameters.
 */
static void *pick(const dsgd_option *o, void *params, const dsgd_entry *about)
{
    dsgd_spec *const field = (dsgd_spec *)(void *)((char *)params + o->offset);
    *field = dsgd_spec_default(about);
    return field->params;
}

/* --- options of a law ------------------------------------------------------------------------- */

static dsgd_status put_law_option(dsgd_tester *t, const dsgd_law_option *with, dsgd_setting *s)
{
    char *name = dsgd_xstrdup(with->option);
    /* strsep() changes `name` to the name of an entry of a registry, or to NULL */
    char *const option = strsep(&name, "=");
    const dsgd_option *const o = dsgd_option_find(t->algorithm->about.options, option);
    if (o == NULL)
        return dsgd_refuse(
            &t->why, "the law is declared with the option `%s`, which the algorithm does not have",
            option);
    if (name != NULL) {
        const dsgd_entry *const picked =
            o->kind == DSGD_SPEC ? dsgd_entry_find(o->registry, name) : NULL;
        append_text(s, o->name, name);
        if (picked == NULL)
            return dsgd_refuse(&t->why,
                               "the law is declared with %s=%s, but there is no entry of that name",
                               o->name, name);
        pick(o, s->params, picked);
        return DSGD_OK;
    }
    if (!allows(o, with->value))
        return dsgd_refuse(
            &t->why, "the law is declared with %s=%.10g, which the table of options does not allow",
            o->name, with->value);
    append_text(s, o->name, dsgd_option_text(o, with->value));
    dsgd_option_put(o, s->params, with->value);
    return DSGD_OK;
}

dsgd_status dsgd_setting_of_law(dsgd_tester *t, const dsgd_law *law, dsgd_setting *setting)
{
    *setting = dsgd_setting_default(t);
    for (const dsgd_law_option *with = law->with; with != NULL && with->option != NULL; with++)
        DSGD_TRY(put_law_option(t, with, setting));
    return DSGD_OK;
}

/* --- functions that vary the options of a setting --------------------------------------------- */

enum { MOST_NUMBERS = 16 };

static size_t add(const dsgd_option *o, double values[MOST_NUMBERS], size_t n, double value)
{
    bool known = value == o->init || n == MOST_NUMBERS || !allows(o, value);
    for (size_t i = 0; i < n; i++)
        known = known || values[i] == value;
    if (!known)
        values[n++] = value;
    return n;
}

/**
 * Stores values of an option that differ from its default: its words, its lower limit, and a few
 * other numbers. Returns the number of these values.
 */
static size_t numbers_of(const dsgd_option *o, bool brief, double values[MOST_NUMBERS])
{
    size_t n = 0;
    for (size_t i = 0; i < count_words(o); i++)
        n = add(o, values, n, o->kind == DSGD_CHOICE ? (double)i : -(double)i - 1);
    const double bools[] = {0, 1}, longs[] = {3, o->min, 2, 4, o->init + 1};
    const double doubles[] = {0.4, o->min, 2 * o->init, 1};
    for (size_t i = 0; o->kind == DSGD_BOOL && i < 2; i++)
        n = add(o, values, n, bools[i]);
    for (size_t i = 0; o->kind == DSGD_LONG && i < (brief ? 2 : sizeof longs / sizeof *longs); i++)
        n = add(o, values, n, longs[i]);
    for (size_t i = 0; o->kind == DSGD_DOUBLE && i < (brief ? 1 : sizeof doubles / sizeof *doubles);
         i++)
        n = add(o, values, n, doubles[i]);
    return n;
}

static bool has_defaults(const dsgd_entry *about)
{
    for (const dsgd_option *o = about->options; o != NULL && o->name != NULL; o++)
        if (o->required)
            return false;
    return true;
}

typedef void visitor(dsgd_tester *t, const dsgd_setting *s);

/**
 * Visits settings in which one option has a value other than its default. If @p of is not NULL, the
 * option belongs to entry @p about of the SPEC option @p of; else it belongs to the algorithm.
 */
static void vary_number(dsgd_tester *t, const dsgd_option *o, const dsgd_option *of,
                        const dsgd_entry *about, visitor *visit)
{
    double values[MOST_NUMBERS];
    const size_t n = numbers_of(o, of != NULL || t->how->brief, values);
    for (size_t k = 0; k < n; k++) {
        const char *const value = dsgd_option_text(o, values[k]);
        dsgd_setting s = dsgd_setting_default(t);
        void *params = s.params;
        s.choice = o->kind == DSGD_CHOICE || o->kind == DSGD_BOOL;
        if (of == NULL) {
            append_text(&s, o->name, value);
        } else {
            params = pick(of, s.params, about);
            s.encoding = of->registry == dsgd_encoding_kinds;
            snprintf(s.text, sizeof s.text, "%s={%s: %s, %s: %s}", of->name, of->key, about->name,
                     o->name, value);
        }
        dsgd_option_put(o, params, values[k]);
        visit(t, &s);
    }
}

/**
 * Visits settings in which a SPEC option has another entry of its registry, and settings in which
 * one option of an entry is varied. Brief checks visit only the first kind of settings.
 */
static void vary_pick(dsgd_tester *t, const dsgd_option *o, visitor *visit)
{
    for (size_t i = 0; o->registry[i] != NULL; i++) {
        const dsgd_entry *const about = o->registry[i];
        if (!has_defaults(about))
            continue;
        if (o->init_text == NULL || strcmp(about->name, o->init_text) != 0) {
            dsgd_setting s = dsgd_setting_default(t);
            s.choice = true;
            s.encoding = o->registry == dsgd_encoding_kinds;
            append_text(&s, o->name, about->name);
            pick(o, s.params, about);
            visit(t, &s);
        }
        const dsgd_option *inner = t->how->brief ? NULL : about->options;
        for (; inner != NULL && inner->name != NULL; inner++)
            vary_number(t, inner, o, about, visit);
    }
}

void dsgd_setting_variations(dsgd_tester *t, visitor *visit)
{
    const dsgd_option *o = t->algorithm->about.options;
    for (; o != NULL && o->name != NULL; o++)
        if (o->kind == DSGD_SPEC)
            vary_pick(t, o, visit);
        else
            vary_number(t, o, NULL, NULL, visit);
}
