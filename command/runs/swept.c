/**
 * @file swept.c
 * Paths, units and values of swept columns.
 */
#include "command/runs/swept.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/option.h"
#include "base/status.h"

const char *dsgd_last_key(const char *column)
{
    const char *const dot = strrchr(column, '.');
    return dot == NULL ? column : dot + 1;
}

/** Ends of columns that are numbers in a unit, and how these are read out and in. */
static const struct {
    const char *end; /* of a column; behind a `_` it goes with the name */
    const char *unit, *of_options;
    bool is_time;
} units[] = {
    {"_bytes_per_s", "B/s", "bytes/s", false},
    {"_bytes", "B", "bytes", false},
    {"bytes", "B", "bytes", false},
    {"_flop_per_s", "f", "flop/s", false},
    {"_s", "s", "s", true},
    {"seconds", "s", "s", true},
    {"_w", "W", "W", false},
};

static size_t unit_of(const char *column)
{
    size_t k = 0;
    for (; k < sizeof units / sizeof units[0]; k++) {
        const size_t n = strlen(column);
        const size_t length = strlen(units[k].end);
        if (n >= length && strcmp(column + n - length, units[k].end) == 0)
            break;
    }
    return k;
}

char *dsgd_swept_name(const char *column)
{
    const char *const key = dsgd_last_key(column);
    const size_t k = unit_of(key);
    const bool cut = k < sizeof units / sizeof units[0] && units[k].end[0] == '_';
    return dsgd_xprintf("%.*s", (int)(strlen(key) - (cut ? strlen(units[k].end) : 0)), key);
}

char *dsgd_swept_title(const char *column)
{
    char *const text = dsgd_swept_name(column);
    for (char *c = text; *c != '\0'; c++)
        *c = *c == '_' ? ' ' : *c;
    return text;
}

char *dsgd_swept_value(const char *column, const char *value)
{
    static const char *const large[] = {"", "k", "M", "G", "T"};
    static const char *const small[] = {"", "m", "u", "n"};
    const size_t k = unit_of(dsgd_last_key(column));
    double x = 0;
    if (!dsgd_parse_number(value, NULL, &x))
        return dsgd_xstrdup(value);
    if (k == sizeof units / sizeof units[0])
        return x == floor(x) ? dsgd_xstrdup(value) : dsgd_xprintf("%.4g", x);
    size_t power = 0;
    for (; !units[k].is_time && fabs(x) >= 1000 && power < 4; power++)
        x /= 1000;
    for (; units[k].is_time && x != 0 && fabs(x) < 1 && power < 3; power++)
        x *= 1000;
    return dsgd_xprintf("%.4g%s%s", x, (units[k].is_time ? small : large)[power], units[k].unit);
}

bool dsgd_swept_is(const char *column, const char *value, const char *text)
{
    const size_t k = unit_of(dsgd_last_key(column));
    const char *const unit = k < sizeof units / sizeof units[0] ? units[k].of_options : NULL;
    double x = NAN, y = NAN;
    return strcmp(value, text) == 0 ||
           (dsgd_parse_number(value, NULL, &x) && dsgd_parse_number(text, unit, &y) && x == y);
}

bool dsgd_is_of_algorithms(const char *column)
{
    return strncmp(column, "algorithms", 10) == 0 && strchr(".=", column[10]) != NULL;
}
