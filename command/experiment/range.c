/**
 * @file range.c
 * Computes the values of a sweep that is given as a range.
 */
#include <libfyaml.h>

#include "command/experiment/config.h"

/**
 * A range of n numbers. The first and the last number have the same spelling as in the file. The
 * other numbers have the unit suffix of `to`, or no suffix.
 */
typedef struct range {
    const char *from, *to;
    int64_t n;
    bool log;
} range;

static const dsgd_option range_options[] = {
    DSGD_OPTION_STRING(range, from, "first value", .required = true),
    DSGD_OPTION_STRING(range, to, "last value", .required = true),
    DSGD_OPTION_LONG(range, n, 0, 2, 100000, NULL, "number of values", .required = true),
    DSGD_OPTION_BOOL(range, log, false,
                     "whether values have equal factors between them; else equal differences"),
    DSGD_OPTION_END,
};

/**
 * Reads the first and the last number of a range. Also finds the unit suffix for the numbers
 * between them, and the factor of this suffix. Returns false if the two units differ.
 */
static bool read_ends(const range *r, double *from, double *to, double *factor, const char **suffix)
{
    static const char *const units[] = {NULL, "s", "bytes/s", "bytes", "flop/s", "W", "s/B", "1/s"};
    *suffix = r->to + strspn(r->to, "0123456789.+-eE");
    for (size_t k = 0; k < sizeof units / sizeof units[0]; k++) {
        if (dsgd_parse_number(r->from, units[k], from) && dsgd_parse_number(r->to, units[k], to) &&
            dsgd_parse_number(dsgd_xprintf("1%s", *suffix), units[k], factor))
            return true;
    }
    return false;
}

static dsgd_status spread(dsgd_config *config, dsgd_sweep *sweep, dsgd_error *error)
{
    dsgd_yaml *const value = dsgd_yaml_find(sweep->entry, "sweep");
    range r;
    double from = 0, to = 0, factor = 1;
    const char *suffix = "";
    DSGD_TRY(dsgd_config_read(config, value, range_options, NULL, &r, error));
    if (!read_ends(&r, &from, &to, &factor, &suffix))
        return dsgd_yaml_fail(
            config, value, error,
            "from and to must be numbers with the same unit, such as 1.25GB/s and "
            "50GB/s, got %s and %s",
            r.from, r.to);
    if (r.log && !(from > 0 && to > 0))
        return dsgd_yaml_fail(config, value, error,
                              "with `log`, from and to must be above 0, got %s and %s", r.from,
                              r.to);
    if (from == to)
        return dsgd_yaml_fail(config, value, error, "from and to must differ, got %s twice",
                              r.from);
    char *list = dsgd_xprintf("[%s", r.from);
    for (int64_t k = 1; k < r.n - 1; k++) {
        const double share = (double)k / (double)(r.n - 1);
        const double x = r.log ? from * pow(to / from, share) : from + (to - from) * share;
        dsgd_append(&list, ", %.9g%s", x / factor, suffix);
    }
    dsgd_append(&list, ", %s]", r.to);
    dsgd_sweep_spread(config, sweep, list);
    return DSGD_OK;
}

dsgd_status dsgd_config_spread(dsgd_config *config, dsgd_error *error)
{
    size_t n = 0;
    dsgd_sweep **const sweeps = dsgd_config_sweeps(config, &n);
    for (size_t i = 0; i < n; i++)
        if (fy_node_is_mapping(dsgd_yaml_find(sweeps[i]->entry, "sweep")))
            DSGD_TRY(spread(config, sweeps[i], error));
    return DSGD_OK;
}
