/**
 * @file option.c Finds names, checks option tables, sets defaults, and reads numbers with units.
 */
#include "base/option.h"

#include <ctype.h>

#include "base/unit.h"

const dsgd_entry *dsgd_entry_find(const dsgd_entry *const *registry, const char *name)
{
    for (; *registry != NULL; registry++)
        if (strcmp((*registry)->name, name) == 0)
            return *registry;
    return NULL;
}

const char *const *dsgd_entry_names(const dsgd_entry *const *registry)
{
    size_t n = 0;
    while (registry[n] != NULL)
        n++;
    const char **const names = dsgd_keep(n + 1, sizeof *names);
    while (n-- > 0)
        names[n] = registry[n]->name;
    return names;
}

const dsgd_option *dsgd_option_find(const dsgd_option *options, const char *name)
{
    for (; options != NULL && options->name != NULL; options++)
        if (strcmp(options->name, name) == 0)
            return options;
    return NULL;
}

/* --- functions that check option tables ------------------------------------------------------- */

/*
 * Size of the field of each kind of option, in the order of dsgd_option_kind. The size is 0 for
 * STRUCT, whose fields are checked one by one.
 */
static const size_t field_bytes[DSGD_END] = {sizeof(bool),         sizeof(int64_t),
                                             sizeof(double),       sizeof(int),
                                             sizeof(char *),       sizeof(dsgd_numbers),
                                             sizeof(dsgd_pairs),   sizeof(dsgd_lines),
                                             sizeof(dsgd_table),   0,
                                             sizeof(dsgd_structs), sizeof(dsgd_spec),
                                             sizeof(dsgd_specs)};

static dsgd_status check_default(const dsgd_option *o, dsgd_error *error)
{
    double n_words = 0;
    while (o->words != NULL && o->words[(size_t)n_words] != NULL)
        n_words++;
    const bool is_number = o->kind == DSGD_LONG || o->kind == DSGD_DOUBLE;
    const bool is_word = o->init < 0 && -o->init <= n_words;
    if (is_number && !o->required && !is_word && !(o->init >= o->min && o->init <= o->max))
        return dsgd_refuse(error,
                           "the default of option `%s` must be between %.10g and %.10g, got %.10g",
                           o->name, o->min, o->max, o->init);
    if (o->kind == DSGD_CHOICE && !(o->init >= 0 && o->init < n_words))
        return dsgd_refuse(
            error, "the default of option `%s` must be the index of one of its %g words, got %g",
            o->name, n_words, o->init);
    const bool picks = o->kind == DSGD_SPEC || o->kind == DSGD_SPECS;
    if (picks && (o->registry == NULL ||
                  (o->init_text != NULL && dsgd_entry_find(o->registry, o->init_text) == NULL)))
        return dsgd_refuse(error,
                           "the default of option `%s` must be a name in its registry, got `%s`",
                           o->name, o->init_text);
    return DSGD_OK;
}

/**
 * Checks an option table of @p n rows (0 if unknown) that fills a struct of @p bytes bytes. Does
 * not read beyond row n.
 */
static dsgd_status check_rows(const dsgd_option *rows, size_t n, size_t bytes, dsgd_error *error)
{
    for (size_t i = 0; rows != NULL; i++) {
        const dsgd_option *const o = &rows[i];
        const bool is_within = n == 0 || i < n;
        if (is_within && o->name == NULL && o->kind == DSGD_END)
            break;
        if (!is_within || o->name == NULL || (unsigned)o->kind >= DSGD_END)
            return dsgd_refuse(error, "DSGD_OPTION_END is missing after row %zu of its options", i);
        if (o->offset > bytes || bytes - o->offset < field_bytes[o->kind])
            return dsgd_refuse(error,
                               "row %zu of its options is at byte %zu of a struct of %zu bytes; "
                               "DSGD_PARAMS(struct, table) sets params_size, and DSGD_OPTION_END "
                               "ends a table",
                               i + 1, o->offset, bytes);
        if (o->help == NULL)
            return dsgd_refuse(error, "option `%s` has no help", o->name);
        if (dsgd_option_find(rows, o->name) != o)
            return dsgd_refuse(error, "two options are called `%s`", o->name);
        DSGD_TRY(check_default(o, error));
        if (o->kind == DSGD_STRUCT)
            DSGD_TRY(check_rows(o->fields, 0, bytes - o->offset, error));
        if (o->kind == DSGD_STRUCTS)
            DSGD_TRY(check_rows(o->fields, 0, o->struct_size, error));
    }
    return DSGD_OK;
}

dsgd_status dsgd_entry_check(const dsgd_entry *about, dsgd_error *error)
{
    if (about->summary == NULL)
        return dsgd_refuse(error, "it has no summary");
    return check_rows(about->options, about->n_options, about->params_size, error);
}

/* --- names of options ------------------------------------------------------------------------- */

int dsgd_find_word(const char *const *words, const char *text)
{
    for (int i = 0; words != NULL && text != NULL && words[i] != NULL; i++)
        if (strcmp(words[i], text) == 0)
            return i;
    return -1;
}

/**
 * Returns the edit distance of two texts: the smallest number of insertions, deletions and
 * replacements that turn a into b.
 */
static size_t edit_distance(const char *a, const char *b)
{
    const size_t n = strlen(b);
    size_t *row = dsgd_keep(n + 1, sizeof *row);
    for (size_t j = 0; j <= n; j++)
        row[j] = j;
    for (size_t i = 0; a[i] != '\0'; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < n; j++) {
            const size_t above = row[j + 1];
            const size_t gap = 1 + (above < row[j] ? above : row[j]);
            const size_t replaced =
                diagonal + (tolower((unsigned char)a[i]) != tolower((unsigned char)b[j]));
            row[j + 1] = gap < replaced ? gap : replaced;
            diagonal = above;
        }
    }
    return row[n];
}

/**
 * Returns the only one of @p names that contains @p name as a part: for example, piz-daint if @p
 * name is daint. Returns NULL if no name or several names contain it.
 */
static const char *containing(const char *name, const char *const *names)
{
    enum { LEAST = 3 };
    const char *found = NULL;
    for (; strlen(name) >= LEAST && *names != NULL; names++) {
        if (strstr(*names, name) == NULL)
            continue;
        if (found != NULL)
            return NULL;
        found = *names;
    }
    return found;
}

const char *dsgd_nearest(const char *name, const char *const *names)
{
    const char *nearest = NULL;
    const char *const whole = containing(name, names);
    size_t least = 1 + strlen(name) / 3; /* smallest edit distance that is too large for a hint */
    for (; *names != NULL; names++) {
        const size_t distance = edit_distance(name, *names);
        if (distance <= least && (nearest == NULL || distance < least)) {
            least = distance;
            nearest = *names;
        }
    }
    return nearest != NULL ? nearest : whole;
}

const char *dsgd_hint(const char *name, const char *const *names)
{
    const char *const nearest = dsgd_nearest(name, names);
    return nearest == NULL ? "" : dsgd_xprintf(" (did you mean `%s`?)", nearest);
}

char *dsgd_listed(const char *const *names, const char *last)
{
    char *text = dsgd_xstrdup("");
    for (size_t i = 0; names != NULL && names[i] != NULL; i++) {
        const char *const separator = i == 0 ? "" : names[i + 1] == NULL ? last : ", ";
        dsgd_append(&text, "%s%s", separator, names[i]);
    }
    return text;
}

dsgd_spec dsgd_spec_default(const dsgd_entry *about)
{
    void *const params = dsgd_keep(1, about->params_size);
    dsgd_options_default(about->options, params);
    return (dsgd_spec){about, params};
}

static dsgd_spec default_pick(const dsgd_option *option)
{
    if (option->init_text == NULL)
        return (dsgd_spec){NULL, NULL};
    const dsgd_entry *const about = dsgd_entry_find(option->registry, option->init_text);
    DSGD_ASSERT(about != NULL, "the default of %s is unknown", option->name);
    return dsgd_spec_default(about);
}

void dsgd_option_put(const dsgd_option *o, void *params, double value)
{
    void *const field = (char *)params + o->offset;
    if (o->kind == DSGD_BOOL)
        *(bool *)field = value != 0;
    else if (o->kind == DSGD_CHOICE)
        *(int *)field = (int)value;
    else if (o->kind == DSGD_LONG)
        *(int64_t *)field = (int64_t)value;
    else
        *(double *)field = value;
}

const char *dsgd_option_text(const dsgd_option *o, double value)
{
    if (o->kind == DSGD_BOOL)
        return value != 0 ? "true" : "false";
    if (o->kind == DSGD_CHOICE)
        return o->words[(int)value];
    return o->words != NULL && value < 0 ? o->words[-(int64_t)value - 1]
                                         : dsgd_xprintf("%.10g", value);
}

void dsgd_options_default(const dsgd_option *options, void *params)
{
    for (const dsgd_option *o = options; o != NULL && o->name != NULL; o++) {
        void *const field = (char *)params + o->offset;
        switch (o->kind) {
        case DSGD_BOOL:
        case DSGD_LONG:
        case DSGD_DOUBLE:
        case DSGD_CHOICE:
            dsgd_option_put(o, params, o->init);
            break;
        case DSGD_STRING:
            *(const char **)field = o->init_text;
            break;
        case DSGD_STRUCT:
            dsgd_options_default(o->fields, field);
            break;
        case DSGD_SPEC:
            *(dsgd_spec *)field = default_pick(o);
            break;
        case DSGD_TABLE:
            *(dsgd_table *)field = (dsgd_table){0, NULL, NULL};
            break;
        case DSGD_NUMBERS:
        case DSGD_PAIRS:
        case DSGD_LINES:
        case DSGD_STRUCTS:
        case DSGD_SPECS:
            /* every list type has the size of dsgd_structs: a number and a pointer */
            memset(field, 0, sizeof(dsgd_structs));
            break;
        case DSGD_END:
            break;
        }
    }
}

const char *dsgd_unit_suffix(const char *unit, size_t i)
{
    const dsgd_unit *const u = dsgd_unit_named(unit);
    for (size_t k = 0; u != NULL && u->suffixes[k].text != NULL; k++)
        if (k == i)
            return u->suffixes[k].text;
    return NULL;
}

bool dsgd_parse_number(const char *text, const char *unit, double *number)
{
    if (*text == '\0' || isspace((unsigned char)*text))
        return false;
    char *end = NULL;
    const double value = strtod(text, &end);
    if (end == text || !isfinite(value) || strpbrk(text, "xX") != NULL)
        return false;
    double factor = *end == '\0' ? 1 : NAN;
    const dsgd_unit *const u = dsgd_unit_named(unit);
    for (size_t k = 0; u != NULL && u->suffixes[k].text != NULL; k++)
        if (strcmp(u->suffixes[k].text, end + (*end == ' ')) == 0)
            factor = u->suffixes[k].factor;
    if (isnan(factor))
        return false;
    *number = value * factor;
    return isfinite(*number);
}
