/**
 * @file target.c
 * Finds the positions at which learning curves reach a target value.
 */
#include "command/analysis/target.h"

#include "base/option.h"

dsgd_status dsgd_target_parse(const char *text, dsgd_target *t, dsgd_error *error)
{
    static const struct {
        const char *column, *allowed;
        double least, most;
        bool below;
    } quantities[] = {{"accuracy", "between 0 and 1", 0, 1, false},
                      /*
                       * The loss of a policy (reinforcement learning) can be negative, so any
                       * number is valid.
                       */
                      {"loss", "a number", -INFINITY, INFINITY, true}};
    *t = (dsgd_target){.text = text};
    if (text == NULL)
        return DSGD_OK;
    for (size_t i = 0; i < sizeof quantities / sizeof quantities[0]; i++) {
        const char *const column = quantities[i].column;
        const size_t n = strlen(column);
        *t = (dsgd_target){.text = text, .column = column, .below = quantities[i].below};
        if (strncmp(text, column, n) != 0 || text[n] != '=' ||
            !dsgd_parse_number(text + n + 1, NULL, &t->value))
            continue;
        if (t->value >= quantities[i].least && t->value <= quantities[i].most)
            return DSGD_OK;
        return dsgd_refuse(error, "--target %s: %s must be %s", text, column,
                           quantities[i].allowed);
    }
    return dsgd_refuse(error, "--target must be accuracy=NUMBER or loss=NUMBER, got `%s`", text);
}

dsgd_status dsgd_target_check(const dsgd_target *target, const dsgd_csv *curves, dsgd_error *error)
{
    const char *const needed[] = {"run", "virtual_s", target->column};
    size_t column = 0;
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++)
        DSGD_TRY(dsgd_csv_need(curves, needed[i], &column, error));
    if (curves->n_rows == 0)
        return dsgd_refuse(error,
                           "%s: no run was evaluated; a target needs an experiment with `learn`",
                           curves->path);
    if (dsgd_csv_first(curves, column) == NULL)
        return dsgd_refuse(
            error, "%s: %s is empty, for example for a regression; use --target loss=NUMBER",
            curves->path, target->column);
    return DSGD_OK;
}

/** An evaluation of a model: its position on an axis, such as virtual time, and its value. */
typedef struct evaluation {
    double at, value;
} evaluation;

/**
 * Returns the position between two evaluations at which a curve reaches the target. Returns NAN if
 * the curve does not reach the target. If there is no earlier evaluation, the members of @p before
 * are NAN.
 */
static double place_of(const dsgd_target *target, evaluation before, evaluation now)
{
    const bool reached = target->below ? now.value <= target->value : now.value >= target->value;
    if (!reached)
        return NAN;
    if (isnan(before.value))
        return now.at;
    return before.at +
           (now.at - before.at) * (target->value - before.value) / (now.value - before.value);
}

dsgd_status dsgd_target_reach(const dsgd_target *target, const dsgd_run_table *curves, size_t row,
                              const char *along, dsgd_passage *passage, dsgd_error *error)
{
    const size_t value = dsgd_csv_column(&curves->csv, target->column);
    const size_t axis = dsgd_csv_column(&curves->csv, along);
    evaluation before = {NAN, NAN}, now = {NAN, NAN};
    *passage = (dsgd_passage){NAN, NAN};
    for (size_t k = curves->first[row]; isnan(passage->place) && k != SIZE_MAX;
         k = curves->next[k]) {
        DSGD_TRY(dsgd_csv_read_number(&curves->csv, k, value, &now.value, error));
        DSGD_TRY(dsgd_csv_read_number(&curves->csv, k, axis, &now.at, error));
        *passage = (dsgd_passage){place_of(target, before, now), now.at - before.at};
        before = now;
    }
    return DSGD_OK;
}
