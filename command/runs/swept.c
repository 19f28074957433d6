/**
 * @file swept.c
 * Formats the names, units and values of swept columns.
 */
#include "command/runs/swept.h"

#include "base/option.h"
#include "base/status.h"
#include "base/unit.h"

const char *dsgd_last_key(const char *column)
{
    const char *const dot = strrchr(column, '.');
    return dot == NULL ? column : dot + 1;
}

char *dsgd_swept_name(const char *column)
{
    const char *const key = dsgd_last_key(column);
    size_t stem = 0;
    dsgd_unit_of_column(key, &stem);
    return dsgd_xprintf("%.*s", (int)stem, key);
}

char *dsgd_swept_title(const char *column)
{
    /*
     * If the column is an element of a list, the name contains the list, because the key is
     * ambiguous without it. An example is imbalance.0.deviation.
     */
    const char *const key = dsgd_last_key(column);
    const bool is_share = strncmp(column, "platform.hosts.", 15) == 0 &&
                          (strcmp(key, "bandwidth") == 0 || strcmp(key, "speed") == 0);
    char *const text = dsgd_xprintf("%s%s",
                                    is_share                                 ? "hosts' share of "
                                    : strncmp(column, "imbalance.", 10) == 0 ? "imbalance "
                                                                             : "",
                                    dsgd_swept_name(column));
    for (char *c = text; *c != '\0'; c++)
        *c = *c == '_' ? ' ' : *c;
    return text;
}

char *dsgd_swept_value(const char *column, const char *value)
{
    static const char *const large[] = {"", "k", "M", "G", "T"};
    static const char *const small[] = {"", "m", "u", "n"};
    static const char *const binary[] = {"", "Ki", "Mi", "Gi", "Ti"};
    size_t stem = 0;
    const dsgd_unit *const unit = dsgd_unit_of_column(dsgd_last_key(column), &stem);
    double x = 0;
    if (!dsgd_parse_number(value, NULL, &x))
        return dsgd_xstrdup(value);
    if (unit == NULL)
        return x == floor(x) ? dsgd_xstrdup(value) : dsgd_xprintf("%.4g", x);
    const bool is_time = strcmp(unit->name, "s") == 0;
    const bool is_binary = strcmp(unit->name, "bytes") == 0 && x >= 1024 && fmod(x, 1024) == 0;
    const double thousand = is_binary ? 1024 : 1000;
    size_t power = 0;
    /* largest unit that is not above the time; used for times of 1,000 s or more */
    const dsgd_suffix *longest = NULL;
    for (const dsgd_suffix *u = unit->suffixes; is_time && fabs(x) >= 1000 && u->text != NULL; u++)
        longest = u->factor > 1 && fabs(x) >= u->factor ? u : longest;
    if (longest != NULL)
        return dsgd_xprintf("%.4g%s", x / longest->factor, longest->text);
    for (; !is_time && fabs(x) >= thousand && power < 4; power++)
        x /= thousand;
    for (; is_time && x != 0 && fabs(x) < 1 && power < 3; power++)
        x *= 1000;
    return dsgd_xprintf("%.4g%s%s", x,
                        (is_time     ? small
                         : is_binary ? binary
                                     : large)[power],
                        unit->symbol);
}

bool dsgd_swept_is(const char *column, const char *value, const char *text)
{
    size_t stem = 0;
    const dsgd_unit *const unit = dsgd_unit_of_column(dsgd_last_key(column), &stem);
    double x = NAN, y = NAN;
    return strcmp(value, text) == 0 ||
           (dsgd_parse_number(value, NULL, &x) &&
            dsgd_parse_number(text, unit == NULL ? NULL : unit->name, &y) && x == y);
}

bool dsgd_is_of_algorithms(const char *column)
{
    return strncmp(column, "algorithms", 10) == 0 && strchr(".=", column[10]) != NULL;
}
