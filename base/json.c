/**
 * @file json.c
 * From option tables to JSON and back.
 */
#include "base/json.h"

#include "base/file.h"

json_t *dsgd_json_text(const char *text)
{
    if (text == NULL)
        return json_null();
    json_t *const as_it_is = json_string(text);
    if (as_it_is != NULL)
        return as_it_is;
    char *const escaped = dsgd_keep(4 * strlen(text) + 1, 1);
    for (size_t n = 0; *text != '\0';) {
        const size_t length = dsgd_utf8_length(text, strnlen(text, 4));
        if (length > 0)
            memcpy(escaped + n, text, length);
        else
            snprintf(escaped + n, 5, "\\x%02x", (unsigned char)*text);
        n += length > 0 ? length : 4;
        text += length > 0 ? length : 1;
    }
    return json_string(escaped);
}

char *dsgd_yaml_word(const char *text)
{
    static const char plain[] =
        "_./-0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    const size_t n_figures = strspn(text, "-.0123456789");
    return n_figures == 0 && *text != '\0' && text[strspn(text, plain)] == '\0'
               ? dsgd_xstrdup(text)
               : json_dumps(dsgd_json_text(text), JSON_ENCODE_ANY);
}

json_t *dsgd_json_spec(const dsgd_spec *pick)
{
    if (pick->about == NULL)
        return json_null();
    json_t *const object = dsgd_json_options(pick->about->options, pick->params);
    json_object_set_new(object, "name", dsgd_json_text(pick->about->name));
    return object;
}

/** Element @p i of an option that is a list. */
static json_t *element_json(const dsgd_option *o, const void *field, size_t i)
{
    switch (o->kind) {
    case DSGD_NUMBERS:
        return json_real(((const dsgd_numbers *)field)->v[i]);
    case DSGD_PAIRS: {
        const int64_t *const pair = ((const dsgd_pairs *)field)->v[i];
        return json_pack("[I, I]", (json_int_t)pair[0], (json_int_t)pair[1]);
    }
    case DSGD_LINES:
        return dsgd_json_text(((const dsgd_lines *)field)->v[i]);
    case DSGD_TABLE:
        return json_pack("[f, f]", ((const dsgd_table *)field)->x[i],
                         ((const dsgd_table *)field)->y[i]);
    case DSGD_STRUCTS: {
        const char *const records = ((const dsgd_structs *)field)->v;
        return dsgd_json_options(o->fields, records + i * o->struct_size);
    }
    default:
        return dsgd_json_spec(&((const dsgd_specs *)field)->v[i]);
    }
}

static json_t *option_json(const dsgd_option *o, const void *field)
{
    double number = 0;
    switch (o->kind) {
    case DSGD_BOOL:
        return json_boolean(*(const bool *)field);
    case DSGD_LONG:
    case DSGD_DOUBLE:
        number = o->kind == DSGD_LONG ? (double)*(const int64_t *)field : *(const double *)field;
        if (number < 0 && o->words != NULL)
            return dsgd_json_text(o->words[(size_t)-number - 1]); /* word i is -(i + 1) */
        return o->kind == DSGD_LONG ? json_integer(*(const int64_t *)field) : json_real(number);
    case DSGD_CHOICE:
        return dsgd_json_text(o->words[*(const int *)field]);
    case DSGD_STRING:
        return dsgd_json_text(*(const char *const *)field);
    case DSGD_STRUCT:
        return dsgd_json_options(o->fields, field);
    case DSGD_SPEC:
        return dsgd_json_spec(field);
    default: {
        json_t *const list = json_array();
        for (size_t i = 0; i < *(const size_t *)field; i++) /* n, the first member of all lists */
            json_array_append_new(list, element_json(o, field, i));
        return list;
    }
    }
}

json_t *dsgd_json_options(const dsgd_option *options, const void *params)
{
    json_t *const object = json_object();
    for (const dsgd_option *o = options; o != NULL && o->name != NULL; o++)
        json_object_set_new(object, o->name, option_json(o, (const char *)params + o->offset));
    return object;
}

static dsgd_status wrong(const char *name, const json_t *value, const char *wanted,
                         dsgd_error *error)
{
    const char *const text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
    return dsgd_fail(error, DSGD_EIO, "%s is %.60s, but has to be %s", name,
                     text == NULL ? "nothing" : text, wanted);
}

static dsgd_status read_number(const json_t *value, const dsgd_option *o, double *number,
                               dsgd_error *error)
{
    const int word = dsgd_find_word(o->words, json_string_value(value));
    *number = word >= 0 ? -(word + 1) : json_number_value(value);
    if (word >= 0)
        return DSGD_OK;
    if (!json_is_number(value))
        return wrong(o->name, value, "a number", error);
    if (!(*number >= o->min && *number <= o->max))
        return dsgd_fail(error, DSGD_EIO, "%s is %.10g, but has to be between %.10g and %.10g",
                         o->name, *number, o->min, o->max);
    if (o->kind == DSGD_LONG && *number != floor(*number))
        return wrong(o->name, value, "a whole number", error);
    return DSGD_OK;
}

static dsgd_status read_pick(const json_t *value, const dsgd_option *o, dsgd_spec *pick,
                             dsgd_error *error)
{
    const char *const name = json_string_value(json_object_get(value, "name"));
    if (name == NULL)
        return wrong(o->name, value, "something with a name", error);
    pick->about = dsgd_entry_find(o->registry, name);
    if (pick->about == NULL)
        return dsgd_fail(error, DSGD_EIO, "%s: this program knows no `%.60s`", o->name, name);
    pick->params = dsgd_keep(1, pick->about->params_size);
    json_t *const options = json_copy((json_t *)value); /* shallow: texts stay where they are */
    json_object_del(options, "name");
    dsgd_error why = {""};
    const dsgd_status status = dsgd_json_read(options, pick->about->options, pick->params, &why);
    return status == DSGD_OK ? DSGD_OK
                             : dsgd_fail(error, status, "%s: %s: %s", o->name, name, why.text);
}

static dsgd_status read_option(const json_t *value, const dsgd_option *o, void *field,
                               dsgd_error *error)
{
    double number = 0;
    dsgd_numbers *const numbers = field;
    switch (o->kind) {
    case DSGD_BOOL:
        *(bool *)field = json_is_true(value);
        return json_is_boolean(value) ? DSGD_OK : wrong(o->name, value, "true or false", error);
    case DSGD_LONG:
        DSGD_TRY(read_number(value, o, &number, error));
        *(int64_t *)field = (int64_t)number;
        return DSGD_OK;
    case DSGD_DOUBLE:
        return read_number(value, o, field, error);
    case DSGD_CHOICE:
        *(int *)field = dsgd_find_word(o->words, json_string_value(value));
        return *(int *)field >= 0 ? DSGD_OK : wrong(o->name, value, "one of the choices", error);
    case DSGD_STRING:
        *(const char **)field = json_string_value(value);
        return json_is_string(value) || json_is_null(value) ? DSGD_OK
                                                            : wrong(o->name, value, "text", error);
    case DSGD_NUMBERS:
        if (!json_is_array(value))
            return wrong(o->name, value, "a list of numbers", error);
        numbers->n = json_array_size(value);
        numbers->v = dsgd_keep(numbers->n, sizeof *numbers->v);
        for (size_t i = 0; i < numbers->n; i++)
            DSGD_TRY(read_number(json_array_get(value, i), o, &numbers->v[i], error));
        return DSGD_OK;
    case DSGD_STRUCT:
        return dsgd_json_read(value, o->fields, field, error);
    case DSGD_SPEC:
        return read_pick(value, o, field, error);
    default:
        DSGD_ASSERT(false, "option %s is not read from JSON", o->name);
    }
    return DSGD_OK;
}

dsgd_status dsgd_json_read(const json_t *object, const dsgd_option *options, void *params,
                           dsgd_error *error)
{
    if (!json_is_object(object))
        return dsgd_fail(error, DSGD_EIO, "options are missing");
    dsgd_options_default(options, params);
    size_t n_read = 0;
    for (const dsgd_option *o = options; o != NULL && o->name != NULL; o++) {
        const json_t *const value = json_object_get(object, o->name);
        if (value == NULL && o->required)
            return dsgd_fail(error, DSGD_EIO, "%s is missing", o->name);
        if (value == NULL)
            continue;
        n_read++;
        DSGD_TRY(read_option(value, o, (char *)params + o->offset, error));
    }
    const char *name = NULL;
    json_t *value = NULL;
    if (n_read < json_object_size(object))
        json_object_foreach((json_t *)object, name, value)
        {
            if (dsgd_option_find(options, name) == NULL)
                return dsgd_fail(error, DSGD_EIO, "option `%.60s` is unknown", name);
        }
    return DSGD_OK;
}

json_t *dsgd_json_file(const char *path)
{
    char *text = NULL;
    size_t n = 0;
    if (dsgd_file_read(path, &text, &n, NULL) != DSGD_OK)
        return NULL;
    return json_loadb(text, n, 0, NULL);
}

/** Whether a part of a run is folded too: its keys are those of any run, unlike an algorithm's. */
static bool is_part(const char *member, const json_t *before, const json_t *value)
{
    return json_is_object(before) && json_is_object(value) && strcmp(member, "algorithm") != 0;
}

json_t *dsgd_runs_differ(const json_t *before, const json_t *run)
{
    json_t *const less = json_object(), *value = NULL;
    const char *member = NULL, *key = NULL;
    json_object_foreach((json_t *)run, member, value)
    {
        json_t *const old = json_object_get(before, member), *of_part = NULL;
        if (json_equal(old, value) == 1)
            continue;
        if (!is_part(member, old, value)) {
            json_object_set(less, member, value);
            continue;
        }
        json_t *const part = json_object();
        json_object_foreach(value, key, of_part)
        {
            if (json_equal(json_object_get(old, key), of_part) != 1)
                json_object_set(part, key, of_part);
        }
        json_object_set_new(less, member, part);
    }
    return less;
}

void dsgd_runs_take(json_t *before, json_t *less)
{
    const char *member = NULL;
    json_t *value = NULL;
    json_object_foreach(less, member, value)
    {
        json_t *const old = json_object_get(before, member);
        if (is_part(member, old, value))
            json_object_update(old, value);
        else
            json_object_set_new(before, member, json_copy(value));
    }
}

void dsgd_runs_unfold(json_t *runs)
{
    for (size_t i = 1; i < json_array_size(runs); i++) {
        json_t *const run = json_array_get(runs, i), *before = json_array_get(runs, i - 1),
                      *value = NULL;
        const char *member = NULL;
        json_object_foreach(run, member, value)
        {
            json_t *const old = json_object_get(before, member);
            if (is_part(member, old, value))
                json_object_update_missing(value, old);
        }
        json_object_update_missing(run, before);
    }
}
