/**
 * @file figure_target.c
 * Times, energy, cost and bytes to a target, run by run.
 */
#include "command/analysis/figure_target.h"

#include <math.h>

#include "command/analysis/comparison.h"

static const size_t measures[DSGD_N_TO_TARGET] = {DSGD_TO_TARGET, DSGD_ENERGY_TO_TARGET,
                                                  DSGD_COST_TO_TARGET, DSGD_SENT_TO_TARGET};

const char *dsgd_figure_target_name(size_t k)
{
    return dsgd_measures[measures[k]].name;
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
        for (size_t k = 0; k < DSGD_N_TO_TARGET; k++) {
            double *const taken = &x[row * DSGD_N_TO_TARGET + k];
            if (dsgd_measure_to_target(runs, row, measures[k], reached, taken, &why) != DSGD_OK)
                *taken = NAN;
        }
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
