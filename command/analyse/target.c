/**
 * @file target.c
 * Targets of the command line.
 */
#include "command/analyse/target.h"

#include <math.h>
#include <string.h>

#include "base/option.h"

dsgd_status dsgd_target_parse(const char *text, dsgd_target *target, dsgd_error *error)
{
    static const char *const columns[] = {"accuracy", "loss"};
    for (size_t i = 0; text != NULL && i < 2; i++) {
        const size_t n = strlen(columns[i]);
        *target = (dsgd_target){.text = text, .column = columns[i], .below = i == 1};
        if (strncmp(text, columns[i], n) == 0 && text[n] == '=' &&
            dsgd_parse_number(text + n + 1, NULL, &target->value))
            return DSGD_OK;
    }
    *target = (dsgd_target){.text = NULL};
    return text == NULL
               ? DSGD_OK
               : dsgd_fail(error, DSGD_EUSAGE,
                           "--target %s: accuracy=NUMBER or loss=NUMBER is expected", text);
}

double dsgd_target_place(const dsgd_target *target, dsgd_curve_point before, dsgd_curve_point now)
{
    const bool reached = target->below ? now.value <= target->value : now.value >= target->value;
    if (!reached)
        return NAN;
    if (isnan(before.value))
        return now.at;
    return before.at +
           (now.at - before.at) * (target->value - before.value) / (now.value - before.value);
}
