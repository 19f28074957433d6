/**
 * @file figure_target.c
 * Times, energy, cost and bytes to a target, run by run.
 */
#include "command/analyse/figure_target.h"

#include <math.h>

#include "command/analyse/target.h"

const char *const dsgd_to_target_names[DSGD_N_TO_TARGET] = {
    "time_to_target_s", "energy_to_target_j", "cost_to_target", "sent_to_target_bytes"};

/** As `dsgd compare` has them: in proportion to the run's time, and bytes to its steps. */
static void take(const dsgd_csv *runs, size_t row, dsgd_reached reached, double *x)
{
    static const char *const columns[] = {"virtual_s", "steps", "energy_j", "cost",
                                          "sent_mean_bytes"};
    double of[5];
    for (size_t k = 0; k < 5; k++)
        of[k] = dsgd_csv_value(runs, row, dsgd_csv_column(runs, columns[k]));
    x[0] = reached.virtual_s;
    x[1] = of[2] * (reached.virtual_s / of[0]);
    x[2] = of[3] * (reached.virtual_s / of[0]);
    x[3] = of[4] * (reached.steps / of[1]);
}

static double *to_target(const dsgd_csv *runs, const dsgd_csv *curves, const dsgd_target *target)
{
    const size_t run = dsgd_csv_column(runs, "run");
    dsgd_error why;
    double *const x = dsgd_xcalloc(runs->n_rows * DSGD_N_TO_TARGET + 1, sizeof *x);
    for (size_t row = 0; row < runs->n_rows; row++) {
        dsgd_reached reached = {NAN, NAN};
        if (dsgd_target_reach(target, curves, dsgd_csv_field(runs, row, run), &reached, &why) !=
            DSGD_OK)
            reached = (dsgd_reached){NAN, NAN};
        take(runs, row, reached, &x[row * DSGD_N_TO_TARGET]);
    }
    return x;
}

double *dsgd_figure_to_target(const dsgd_csv *runs, const char *folder, const char *text)
{
    dsgd_target target;
    dsgd_csv curves;
    dsgd_error why;
    double *x = NULL;
    if (text == NULL || dsgd_target_parse(text, &target, &why) != DSGD_OK)
        return NULL;
    if (dsgd_csv_read(&curves, NULL, "%s/curves.csv", folder) == DSGD_OK && curves.n_rows > 0 &&
        dsgd_target_check(&target, &curves, &why) == DSGD_OK)
        x = to_target(runs, &curves, &target);
    dsgd_csv_close(&curves);
    return x;
}
