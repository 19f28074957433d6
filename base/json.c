/**
 * @file json.c Writes options as JSON, and reads JSON files.
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

/** Returns element @p i of an option whose value is a list, as JSON. */
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
            /* if an option has words, the number -(i + 1) stands for word i */
            return dsgd_json_text(o->words[(size_t)-number - 1]);
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
        /* the first member of every list type is the number of elements */
        for (size_t i = 0; i < *(const size_t *)field; i++)
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

json_t *dsgd_json_file(const char *path)
{
    char *text = NULL;
    size_t n = 0;
    if (dsgd_file_read(path, &text, &n, NULL) != DSGD_OK)
        return NULL;
    return json_loadb(text, n, 0, NULL);
}
