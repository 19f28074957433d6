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

double *dsgd_figure_to_target(const dsgd_csv *runs, const dsgd_csv *curves, const char *target)
{
    dsgd_target t;
    dsgd_error why;
    if (target == NULL || curves->n_rows == 0 || dsgd_target_parse(target, &t, &why) != DSGD_OK ||
        dsgd_target_check(&t, curves, &why) != DSGD_OK)
        return NULL;
    const size_t run = dsgd_csv_column(runs, "run");
    double *const x = dsgd_xcalloc(runs->n_rows * DSGD_N_TO_TARGET + 1, sizeof *x);
    for (size_t row = 0; row < runs->n_rows; row++) {
        dsgd_reached reached = {NAN, NAN};
        if (dsgd_target_reach(&t, curves, dsgd_csv_field(runs, row, run), &reached, &why) !=
            DSGD_OK)
            reached = (dsgd_reached){NAN, NAN};
        take(runs, row, reached, &x[row * DSGD_N_TO_TARGET]);
    }
    return x;
}
