/**
 * @file imbalance_data.c
 * Seconds from the data: a step takes as long as the samples that the common draws choose are. The imbalance is inherent in what is
 * learned, and known with numerics off too.
 */
#include "traces/imbalance.h"

extern const dsgd_imbalance_kind dsgd_imbalance_data;

enum { LENGTH_SUM, LENGTH_LONGEST };

typedef struct data_params {
    double seconds, per_row, factor;
    int length;
} data_params;

static double data_seconds(const void *params, const void *state, uint32_t purpose, dsgd_step_at at,
                           double so_far_s)
{
    (void)state;
    (void)purpose;
    const data_params *p = params;
    const double rows =
        p->length == LENGTH_SUM ? at.batch.rows : at.batch.longest * at.batch.samples;
    return p->factor * so_far_s + p->seconds + p->per_row * rows;
}

static const char *const lengths[] = {"sum", "longest", NULL};

static const dsgd_option data_options[] = {
    DSGD_OPTION_DOUBLE(data_params, seconds, 0, 0, 1e9, "s", "of a step without rows"),
    DSGD_OPTION_DOUBLE(
        data_params, per_row, 0, 0, 1e9, "s",
        "for every row of the mini-batch: a step of a sequence, a character, a pixel",
        .required = true),
    DSGD_OPTION_DOUBLE(data_params, factor, 0, 0, 1e9, NULL,
                       "multiplies what came before; 0: the samples alone decide"),
    DSGD_OPTION_CHOICE(data_params, length, lengths,
                       "rows of all samples, or as many for each as the longest has (padded)"),
    DSGD_OPTION_END,
};

const dsgd_imbalance_kind dsgd_imbalance_data = {
    .about = {.name = "data",
              .summary = "as long as the samples that a worker draws: seconds + per_row * rows",
              .params_size = sizeof(data_params),
              .options = data_options},
    .seconds = data_seconds,
    .reads_samples = true,
};
