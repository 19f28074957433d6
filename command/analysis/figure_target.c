/**
 * @file figure_target.c
 * Times, energy, cost and bytes to a target, run by run.
 */
#include "command/analysis/figure_target.h"

#include <stdlib.h>

#include "command/analysis/comparison.h"

static const size_t measures[DSGD_N_TO_TARGET] = {DSGD_TO_TARGET, DSGD_ENERGY_TO_TARGET,
                                                  DSGD_COST_TO_TARGET, DSGD_SENT_TO_TARGET};

const char *dsgd_figure_target_name(size_t k)
{
    return dsgd_measures[measures[k]].name;
}

double *dsgd_figure_to_target(const dsgd_frame *runs, const char *folder, const char *text)
{
    dsgd_target target;
    dsgd_run_table curves;
    double *x = NULL;
    if (text == NULL || dsgd_target_parse(text, &target, NULL) != DSGD_OK)
        return NULL;
    dsgd_run_table_open(&curves, runs->csv, folder, "curves.csv", NULL);
    if (dsgd_target_check(&target, &curves.csv, NULL) == DSGD_OK) {
        dsgd_reached *const reached = dsgd_frame_reached(runs, &target, &curves, NULL);
        x = dsgd_xcalloc(runs->csv->n_rows * DSGD_N_TO_TARGET + 1, sizeof *x);
        for (size_t k = 0; k < DSGD_N_TO_TARGET; k++) {
            double *const numbers = dsgd_measure_numbers(runs, measures[k], reached);
            for (size_t row = 0; row < runs->csv->n_rows; row++)
                x[row * DSGD_N_TO_TARGET + k] = numbers[row];
            free(numbers);
        }
        free(reached);
    }
    dsgd_run_table_close(&curves);
    return x;
}
