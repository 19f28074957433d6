/**
 * @file test_schema.c
 * Tests that the schema of `dsgd describe KEYS --json` accepts the same keys and values as the
 * program does when it reads a file.
 */
#include <dirent.h>
#include <jansson.h>
#include <libfyaml.h>
#include <regex.h>

#include "command/experiment/experiment.h"
#include "sim/registry.h"
#include "tests/command/shell.h"
#include "tests/support/suite.h"
#include "traces/imbalance.h"

/* --- YAML as JSON ----------------------------------------------------------------------------- */

static json_t *scalar_json(struct fy_node *node)
{
    const char *const text = fy_node_get_scalar0(node);
    char *end = NULL;
    if (fy_node_get_style(node) != FYNS_PLAIN)
        return json_string(text);
    if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0)
        return json_boolean(text[0] == 't');
    const double number = strtod(text, &end);
    return *text != '\0' && *end == '\0' ? json_real(number) : json_string(text);
}

static json_t *node_json(struct fy_node *node)
{
    void *iterator = NULL;
    if (fy_node_is_scalar(node))
        return scalar_json(node);
    json_t *const all = fy_node_is_sequence(node) ? json_array() : json_object();
    if (fy_node_is_sequence(node)) {
        for (struct fy_node *e = NULL; (e = fy_node_sequence_iterate(node, &iterator)) != NULL;)
            json_array_append_new(all, node_json(e));
        return all;
    }
    for (struct fy_node_pair *p = NULL; (p = fy_node_mapping_iterate(node, &iterator)) != NULL;)
        json_object_set_new(all, fy_node_get_scalar0(fy_node_pair_key(p)),
                            node_json(fy_node_pair_value(p)));
    return all;
}

static json_t *yaml_json(const char *path)
{
    struct fy_document *const document = fy_document_build_from_file(NULL, path);
    ck_assert_msg(document != NULL && fy_document_resolve(document) == 0, "%s", path);
    json_t *const json = node_json(fy_document_root(document));
    fy_document_destroy(document);
    return json;
}

/* --- Functions that validate values by a JSON schema ------------------------------------------ */

static bool passes(const json_t *root, const json_t *schema, const json_t *value);

static const json_t *resolved(const json_t *root, const json_t *schema)
{
    const char *const name = json_string_value(json_object_get(schema, "$ref"));
    if (name == NULL)
        return schema;
    const json_t *const part =
        json_object_get(json_object_get(root, "$defs"), name + strlen("#/$defs/"));
    ck_assert_msg(part != NULL && json_is_object(part), "%s is no part of the schema", name);
    return part;
}

static bool is_of_type(const char *type, const json_t *value)
{
    const double number = json_number_value(value);
    return (strcmp(type, "object") == 0 && json_is_object(value)) ||
           (strcmp(type, "array") == 0 && json_is_array(value)) ||
           (strcmp(type, "string") == 0 && json_is_string(value)) ||
           (strcmp(type, "boolean") == 0 && json_is_boolean(value)) ||
           (strcmp(type, "number") == 0 && json_is_number(value)) ||
           (strcmp(type, "integer") == 0 && json_is_number(value) &&
            number == (double)(long)number);
}

static bool has_type(const json_t *types, const json_t *value)
{
    if (types == NULL || json_is_string(types))
        return types == NULL || is_of_type(json_string_value(types), value);
    bool any = false;
    for (size_t i = 0; i < json_array_size(types); i++)
        any = any || is_of_type(json_string_value(json_array_get(types, i)), value);
    return any;
}

static bool matches(const json_t *pattern, const json_t *value)
{
    regex_t compiled;
    if (pattern == NULL || !json_is_string(value))
        return true;
    ck_assert_int_eq(regcomp(&compiled, json_string_value(pattern), REG_EXTENDED), 0);
    const bool same = regexec(&compiled, json_string_value(value), 0, NULL, 0) == 0;
    regfree(&compiled);
    return same;
}

static bool is_one_of(const json_t *list, const json_t *value)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        if (json_equal(json_array_get(list, i), value))
            return true;
    return list == NULL;
}

static bool object_passes(const json_t *root, const json_t *schema, json_t *value)
{
    const char *key = NULL;
    json_t *part = NULL;
    const json_t *const required = json_object_get(schema, "required");
    const json_t *const others = json_object_get(schema, "additionalProperties");
    for (size_t i = 0; i < json_array_size(required); i++)
        if (json_object_get(value, json_string_value(json_array_get(required, i))) == NULL)
            return false;
    json_object_foreach(value, key, part)
    {
        const json_t *const of_key = json_object_get(json_object_get(schema, "properties"), key);
        if (of_key != NULL
                ? !passes(root, of_key, part)
                : json_is_false(others) || (json_is_object(others) && !passes(root, others, part)))
            return false;
    }
    return true;
}

static bool passes(const json_t *root, const json_t *schema, const json_t *value)
{
    schema = resolved(root, schema);
    const json_t *const any = json_object_get(schema, "anyOf");
    const json_t *const items = json_object_get(schema, "items");
    const json_t *const only = json_object_get(schema, "const");
    const json_t *const min = json_object_get(schema, "minimum");
    const json_t *const max = json_object_get(schema, "maximum");
    const json_t *const least = json_object_get(schema, "minItems");
    const json_t *const most = json_object_get(schema, "maxItems");
    bool good = any == NULL;
    for (size_t i = 0; i < json_array_size(any) && !good; i++)
        good = passes(root, json_array_get(any, i), value);
    good = good && has_type(json_object_get(schema, "type"), value) &&
           is_one_of(json_object_get(schema, "enum"), value) &&
           (only == NULL || json_equal(only, value)) &&
           matches(json_object_get(schema, "pattern"), value);
    if (good && json_is_number(value))
        good = (min == NULL || json_number_value(value) >= json_number_value(min)) &&
               (max == NULL || json_number_value(value) <= json_number_value(max));
    if (good && json_is_array(value))
        good = (least == NULL || json_array_size(value) >= (size_t)json_integer_value(least)) &&
               (most == NULL || json_array_size(value) <= (size_t)json_integer_value(most));
    for (size_t i = 0; items != NULL && good && i < json_array_size(value); i++)
        good = passes(root, items, json_array_get(value, i));
    return good && (!json_is_object(value) || object_passes(root, schema, (json_t *)value));
}

/* --- tests ------------------------------------------------------------------------------------ */

static json_t *schema_of(const char *keys)
{
    json_error_t why;
    char *text = dsgd_ends(0, "describe %s --json", keys);
    json_t *const schema = json_loads(text, 0, &why);
    ck_assert_msg(schema != NULL, "%s: %s at line %d", keys, why.text, why.line);
    return schema;
}

static const struct {
    const char *keys, *pattern;
    size_t least;
} shipped[] = {
    {"platform", "traces/platforms/*.yaml", 5},
    {"workload", "traces/workloads/*.yaml", 8},
    {"imbalance", "traces/imbalance/*.yaml", 5},
    {"experiment", "plots/*/*.yaml", 10},
};

SUITE(schema, "schema", .seconds = 60, .set_up = make_folder, .tear_down = remove_folder);

TEST_ROWS(every_shipped_file_passes_its_schema, shipped)
{
    json_t *const schema = schema_of(shipped[_i].keys);
    char *list = shell_ends(0, "ls " DSGD_SOURCE_DIR "/%s", shipped[_i].pattern);
    size_t n = 0;
    for (char *path = NULL; (path = strsep(&list, "\n")) != NULL && *path != '\0'; n++) {
        json_t *const file = yaml_json(path);
        ck_assert_msg(passes(schema, schema, file), "%s", path);
        json_object_set_new(file, "no_such_key", json_true());
        ck_assert_msg(!passes(schema, schema, file), "%s with a key that is none", path);
    }
    ck_assert_uint_ge(n, shipped[_i].least);
}

static const char everything[] =
    "platform: {name: piz-daint, hosts: [{first: 1, count: 2, speed: 0.5}]}\n"
    "workload: {like: resnet50-p100, tensors: [{elements: 10}]}\n"
    "workers: [4]\n"
    "algorithms: [allreduce]\n"
    "imbalance: [{kind: delay, workers: 1, seconds: 1ms}]\n"
    "until: {steps: 2}\n"
    "exchange: {pieces: 2}\n"
    "failures: {policy: none, checkpoint: {every: 3}, events: [{worker: 1, at: 1s}]}\n"
    "learn: {model: {name: mlp}, data: {name: hyperplane}, optimizer: {lr: 0.1}, evaluate: {every: "
    "1}}\n";

/**
 * Returns the error for a key that --set assigns after the assignment @p before, or "" if there is
 * no error.
 */
static char *said_of(const char *before, const char *assignment)
{
    static char said[sizeof(dsgd_error)];
    char *const path = dsgd_xprintf("%s/everything.yaml", folder);
    dsgd_experiment experiment;
    dsgd_error error = {""};
    dsgd_experiment_open(path, (const char *[]){before, assignment}, 2, DSGD_NUMERICS_OFF,
                         &experiment, &error);
    return strcpy(said, error.text);
}

/**
 * Checks that @p keys contains all names that the error for an unknown key lists. The last name of
 * a long error may be cut.
 */
static void expect_names_in(const json_t *keys, char *said, const char *where)
{
    char *const list = strstr(said, "valid keys: ");
    const bool is_cut = strlen(said) > 500;
    ck_assert_msg(list != NULL && strstr(said, "unknown key `no_such_key`") != NULL, "%s: %s",
                  where, said);
    for (char *name = list + strlen("valid keys: "), *end = NULL; *name != '\0'; name = end) {
        end = name + strcspn(name, ", ");
        const bool is_last = *end == '\0';
        if (is_last && is_cut)
            break;
        if (*end != '\0')
            *end++ = '\0';
        end += strspn(end, " ");
        ck_assert_msg(json_object_get(keys, name) != NULL, "%s: %s is read, but not in the schema",
                      where, name);
    }
}

/** Checks that a number with any unit is accepted. The end of its description names the unit. */
static void expect_units(const json_t *value, const char *set, const char *before)
{
    const char *const help = json_string_value(json_object_get(value, "description"));
    const char *const at = help == NULL ? NULL : strrchr(help, '(');
    const char *const unit = at == NULL ? "" : dsgd_xprintf("%.*s", (int)strlen(at) - 2, at + 1);
    for (size_t i = 0; dsgd_unit_suffix(unit, i) != NULL; i++)
        for (int blank = 0; blank < 2; blank++) {
            char *const with =
                dsgd_xprintf("%s1%s%s", set, blank ? " " : "", dsgd_unit_suffix(unit, i));
            ck_assert_msg(strstr(said_of(before, with), "must be a number") == NULL, "%s", with);
        }
}

/** Checks that schema and program have the same keys and the same units at @p place. */
static void expect_same_keys(const json_t *schema, const char *place, const char *before)
{
    const json_t *const keys = json_object_get(schema, "properties");
    const char *const dot = *place == '\0' ? "" : ".";
    const char *key = NULL;
    json_t *value = NULL;
    ck_assert_msg(keys != NULL, "%s", place);
    json_object_foreach((json_t *)keys, key, value)
    {
        char *const set = dsgd_xprintf("%s%s%s={no_such_key: 1}", place, dot, key);
        char *const unknown = dsgd_xprintf("unknown key `%s`", key);
        char *const said = said_of(before, set);
        ck_assert_msg(strstr(said, unknown) == NULL, "%s is in the schema, but: %s", set, said);
        expect_units(value, dsgd_xprintf("%s%s%s=", place, dot, key), before);
    }
    char *const set = dsgd_xprintf("%s%sno_such_key=1", place, dot);
    expect_names_in(keys, said_of(before, set), place);
}

/**
 * Returns the mapping among the alternatives of a schema. If @p name is not NULL, returns the
 * mapping of this entry of a registry.
 */
static const json_t *mapping_of(const json_t *root, const json_t *schema, const char *key,
                                const char *name)
{
    schema = resolved(root, schema);
    const json_t *const properties = json_object_get(schema, "properties");
    const json_t *const of_key = json_object_get(properties, key);
    const json_t *const only = json_object_get(of_key, "const");
    if (properties != NULL && json_object_get(properties, "sweep") == NULL &&
        (name == NULL || (only != NULL && strcmp(json_string_value(only), name) == 0)))
        return schema;
    const json_t *found = NULL;
    const json_t *const any = json_object_get(schema, "anyOf");
    for (size_t i = 0; i < json_array_size(any) && found == NULL; i++)
        found = mapping_of(root, json_array_get(any, i), key, name);
    return found == NULL && json_object_get(schema, "items") != NULL
               ? mapping_of(root, json_object_get(schema, "items"), key, name)
               : found;
}

TEST(the_schema_has_the_keys_of_the_reader)
{
    static const char *const places[] = {"platform",
                                         "platform.hosts.0",
                                         "workload",
                                         "exchange",
                                         "until",
                                         "workload.tensors.0",
                                         "failures",
                                         "failures.events.0",
                                         "failures.checkpoint",
                                         "learn",
                                         "learn.optimizer",
                                         "learn.evaluate"};
    json_t *const root = schema_of("experiment");
    write_file("everything.yaml", everything);
    ck_assert_str_eq(said_of("seed=3", "seed=4"), "");
    expect_same_keys(root, "", "seed=1");
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        const json_t *schema = root;
        char *rest = dsgd_xstrdup(places[i]);
        for (const char *word = NULL; (word = strsep(&rest, ".")) != NULL;)
            if (strcmp(word, "0") != 0)
                schema = mapping_of(
                    root, json_object_get(json_object_get(schema, "properties"), word), NULL, NULL);
        expect_same_keys(schema, places[i], "seed=1");
    }
}

static const struct {
    /* part of the schema, place of an entry, key with its name, and assignment for --set */
    const char *name, *place, *key, *set;
    const dsgd_entry *const *registry;
} registries[] = {
    {"algorithms", "algorithms.0", "name", "algorithms=[{name: %s}]", dsgd_algorithms},
    {"imbalance", "imbalance.0", "kind", "imbalance=[{kind: %s}]", dsgd_imbalance_kinds},
    {"model", "learn.model", "name", "learn.model={name: %s}", dsgd_model_kinds},
    {"data", "learn.data", "name", "learn.data={name: %s}", dsgd_data_sources},
    {"split", "learn.split", "kind", "learn.split={kind: %s}", dsgd_split_kinds},
};

/** Returns the part of the schema that describes an entry of a registry. */
static const json_t *part_of(const json_t *root, const char *name, const char *key,
                             const char *entry)
{
    const json_t *const parts = json_object_get(root, "$defs");
    const char *part = NULL;
    json_t *schema = NULL;
    json_object_foreach((json_t *)parts, part, schema)
    {
        const json_t *const found = mapping_of(root, schema, key, entry);
        if (found != NULL && strncmp(part, name, 3) == 0)
            return found;
    }
    return mapping_of(root, json_object_get(parts, "inherent"), key, entry);
}

TEST_ROWS(the_schema_has_the_options_of_every_entry, registries)
{
    json_t *const root = schema_of("experiment");
    write_file("everything.yaml", everything);
    for (const dsgd_entry *const *about = registries[_i].registry; *about != NULL; about++) {
        const char *const name = (*about)->name;
        const json_t *const schema = part_of(root, registries[_i].name, registries[_i].key, name);
        ck_assert_msg(schema != NULL, "%s", name);
        char set[128];
        snprintf(set, sizeof set, registries[_i].set, name);
        expect_same_keys(schema, registries[_i].place, set);
    }
}

static const struct {
    const char *text;
    bool passes;
} values[] = {
    {"workers: {sweep: [4, 8]}", true},
    {"workers: 4.5", false},
    {"seed: [1, 2]", true},
    {"until: {seconds: 10min}", true},
    {"until: {seconds: 10parsecs}", false},
    {"until: {steps: {sweep: [1, 2]}}", true},
    {"until: {steps: {sweep: [1, two]}}", false},
    {"until: {steps: {sweep: {from: 1, to: 9, n: 3, log: false}}}", true},
    {"until: {steps: {sweep: {from: 1, to: 9}}}", false},
    {"exchange: {collective: ring}", true},
    {"exchange: {collective: spokes}", false},
    {"exchange: {pieces: tensors, overlap: off}", true},
    {"exchange: {pieces: 0}", false},
    {"algorithms: {name: wagma, group: 4, optimizer: {lr: 1}}", true},
    {"algorithms: {name: allreduce, group: 4}", false},
    {"platform: {name: piz-daint, host_bandwidth: 100Gb/s}", true},
    {"platform: {name: piz-daint, host_bandwidth: 12GiB/s, reduction: 1e-10s/B}", true},
    {"imbalance: [{kind: noise, rate: 100Hz, mean: 1us, deviation: 1us}]", true},
    {"imbalance: [{kind: noise, rate: 100W, mean: 1us, deviation: 1us}]", false},
    {"workload: {tensors: [{count: 2}]}", false},
};

TEST_ROWS(the_schema_checks_values, values)
{
    json_t *const schema = schema_of("experiment");
    write_file("everything.yaml", everything);
    json_t *const file = yaml_json(dsgd_xprintf("%s/everything.yaml", folder));
    ck_assert(passes(schema, schema, file));
    write_file("value.yaml", values[_i].text);
    json_t *const value = yaml_json(dsgd_xprintf("%s/value.yaml", folder));
    json_object_update(file, value);
    ck_assert_msg(passes(schema, schema, file) == values[_i].passes, "%s", values[_i].text);
}

TEST(keys_are_described_in_80_columns)
{
    static const char *const keys[] = {"experiment", "platform", "workload",
                                       "imbalance",  "exchange", "learn.optimizer"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        char *text = dsgd_ends(0, "describe %s", keys[i]);
        for (char *line = NULL; (line = strsep(&text, "\n")) != NULL;)
            ck_assert_msg(strlen(line) <= 80, "%s: %s", keys[i], line);
    }
    char *text = NULL;
    text = dsgd_ends(2, "describe no_such");
    ck_assert_has(text, "unknown keys `no_such`; valid: experiment");
    text = dsgd_ends(2, "describe exchange foo");
    ck_assert_has(text, "`exchange` is a key; `dsgd describe exchange` describes it");
}
