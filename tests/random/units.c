/**
 * @file units.c
 * A law that compares an experiment with the same experiment in other units of time and size.
 */
#include "base/status.h"
#include "command/experiment/experiment.h"
#include "tests/random/trial.h"
#include "traces/platform.h"

/**
 * Returns the factor by which a number with a unit grows if all seconds are multiplied by @p time,
 * and all bytes by @p size.
 */
static double growth(const char *unit, double time, double size)
{
    static const char *const units[] = {"s",   "bytes",     "bytes/s", "s/B",
                                        "1/s", "samples/s", "flop/s",  NULL};
    const double by[] = {time, size, size / time, time / size, 1 / time, 1 / time, 1 / time, 1};
    const int i = dsgd_find_word(units, unit == NULL ? "" : unit);
    return by[i < 0 ? sizeof by / sizeof by[0] - 1 : (size_t)i];
}

static void regrow(json_t *value, const dsgd_option *option, double time, double size);

/**
 * Returns true if a random number of an imbalance is a factor of the step time, not a number of
 * seconds.
 */
static bool is_factor(const json_t *mapping)
{
    return json_is_true(json_object_get(mapping, "scale"));
}

/**
 * Converts the values of a mapping of options to other units. In a manifest, tables are lists of
 * pairs. The lists become mappings, as in an experiment file.
 */
static void regrow_fields(json_t *mapping, const dsgd_option *fields, double time, double size)
{
    const double time_of = is_factor(mapping) ? 1 : time;
    for (const dsgd_option *o = fields; o != NULL && o->name != NULL; o++) {
        json_t *const value = json_object_get(mapping, o->name);
        if (o->kind != DSGD_TABLE || value == NULL) {
            regrow(value, o, time_of, size);
            continue;
        }
        json_t *const table = json_object();
        for (size_t i = 0; i < json_array_size(value); i++) {
            double x = 0, y = 0;
            json_unpack(json_array_get(value, i), "[FF]", &x, &y);
            json_object_set_new(table, dsgd_xprintf("%.17g", x),
                                json_real(y * growth(o->unit, time_of, size)));
        }
        json_object_set_new(mapping, o->name, table);
    }
}

static void regrow(json_t *value, const dsgd_option *o, double time, double size)
{
    const double by = growth(o->unit, time, size);
    for (size_t i = 0; i < json_array_size(value); i++)
        regrow(json_array_get(value, i), o, time, size);
    if (json_is_real(value))
        json_real_set(value, json_real_value(value) * by);
    if (json_is_integer(value))
        json_integer_set(value, (json_int_t)((double)json_integer_value(value) * by));
    const char *const name = json_string_value(json_object_get(value, "name"));
    const dsgd_entry *const about =
        o->registry == NULL || name == NULL ? NULL : dsgd_entry_find(o->registry, name);
    regrow_fields(value, about == NULL ? NULL : about->options, time, size);
    regrow_fields(value, o->fields, time, size);
    if (about != NULL && strcmp(o->key, "name") != 0) {
        json_object_set_new(value, o->key, json_string(about->name));
        json_object_del(value, "name");
    }
}

/**
 * Removes nulls and empty lists from a manifest, because an experiment file must not contain them.
 */
static void drop_nothings(json_t *value)
{
    for (size_t i = 0; i < json_array_size(value); i++)
        drop_nothings(json_array_get(value, i));
    for (void *at = json_object_iter(value), *next; at != NULL; at = next) {
        json_t *const of = json_object_iter_value(at);
        const bool nothing = json_is_null(of) || (json_is_array(of) && json_array_size(of) == 0);
        drop_nothings(of);
        next = json_object_iter_next(value, at);
        if (nothing)
            json_object_del(value, json_object_iter_key(at));
    }
}

/**
 * Returns true if the run uses values in seconds that cannot be converted: files, tables of
 * machines, or the reference speed of hosts. Also returns true for groups without host latency. In
 * such groups, messages with and without latency share a NIC, and SimGrid's shares depend on the
 * latency in seconds.
 */
static bool has_own_seconds(const json_t *run)
{
    const json_t *const platform = json_object_get(run, "platform");
    bool has = strcmp(json_string_value(json_object_get(platform, "library")), "mpi") != 0 ||
               strcmp(json_string_value(json_object_get(platform, "topology")), "xml") == 0 ||
               (strcmp(json_string_value(json_object_get(platform, "topology")), "groups") == 0 &&
                json_number_value(json_object_get(platform, "host_latency")) == 0) ||
               json_number_value(json_object_get(platform, "reference_speed")) > 0 ||
               json_is_string(json_object_get(json_object_get(run, "failures"), "trace"));
    const json_t *const imbalance = json_object_get(run, "imbalance");
    for (size_t i = 0; i < json_array_size(imbalance); i++)
        has = has || json_object_get(json_array_get(imbalance, i), "file") != NULL;
    return has;
}

bool has_own_bits(const json_t *run)
{
    static const char *const parts[] = {"exchange", "algorithm"};
    bool has = false;
    for (size_t k = 0; k < 2; k++)
        has = has || json_is_object(json_object_get(json_object_get(run, parts[k]), "encoding"));
    return has;
}

/**
 * Runs the first run of the manifest again, with all values in other units. Returns its virtual
 * time.
 */
static double regrown_s(const trial *t, const char *name, double time, double size, char **why)
{
    static const dsgd_platform by_memory = {.encoding_s_per_byte = -1};
    json_t *const run = json_deep_copy(trial_first(t));
    json_t *const platform = json_object_get(run, "platform");
    dsgd_csv runs = {.n_rows = 0};
    if (json_is_string(json_object_get(platform, "encoding")))
        json_object_set_new(platform, "encoding",
                            json_real(dsgd_platform_encoding_s_per_byte(&by_memory)));
    json_object_set_new(run, "algorithms", json_pack("[O]", json_object_get(run, "algorithm")));
    json_object_set_new(run, "name", json_string("regrown"));
    json_object_del(run, "algorithm");
    json_object_del(run, "label");
    json_object_del(run, "by_chance");
    regrow_fields(run, dsgd_experiment_options, time, size);
    drop_nothings(run);
    const char *const path = dsgd_xprintf("%s/%s.yaml", t->folder, name);
    DSGD_ASSERT(json_dump_file(run, path, JSON_REAL_PRECISION(17)) == 0, "%s: %m", path);
    json_decref(run);
    *why = trial_run_into(t, name, name, "--numerics off");
    if (*why == NULL && dsgd_csv_read(&runs, NULL, "%s/%s/runs.csv", t->folder, name) == DSGD_OK &&
        runs.n_rows > 0)
        return trial_value(&runs, 0, "virtual_s");
    return NAN;
}

/**
 * If all times or all bytes are doubled, the virtual time must change by the corresponding factor.
 * The program has no hidden time or size, with three exceptions: the instant between messages at a
 * server, the bytes of a message's header, and DDP's buckets.
 */
char *no_unit_is_hidden(const trial *t)
{
    static const double server_s = 2e-9;
    static const struct {
        const char *law;
        double time, size, precision;
    } worlds[] = {{"time", 2, 1, 1e-9}, {"bytes", 1, 2, 1e-5}};
    char *why = NULL;
    const json_t *const run = trial_first(t);
    const json_t *const pieces = json_object_get(json_object_get(run, "exchange"), "pieces");
    const double instants_s = server_s * (1 + trial_value(&t->runs, 0, "messages"));
    if (t->diverged || has_own_seconds(run))
        return not_asked;
    const size_t n_worlds = json_is_number(pieces) && !has_own_bits(run) ? 2 : 1;
    for (size_t k = 0; k < n_worlds && why == NULL; k++) {
        const double s = trial_value(&t->runs, 0, "virtual_s") * worlds[k].time;
        const double there_s = regrown_s(t, worlds[k].law, worlds[k].time, worlds[k].size, &why);
        if (why != NULL && strstr(why, "must be between") != NULL)
            return not_asked; /* the changed value is above its allowed maximum */
        if (why == NULL && !(fabs(s - there_s) <= worlds[k].precision * s + instants_s))
            why = dsgd_xprintf("%s: %.17g s became %.17g s", worlds[k].law, s, there_s);
    }
    return why;
}
