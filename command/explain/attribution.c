/**
 * @file attribution.c
 * Counterfactuals: the same runs with the same draws, but for one cause of lost time each.
 */
#include "command/explain/attribution.h"

#include "command/run/source.h"

dsgd_status dsgd_attribution(const dsgd_explain_options *options, dsgd_error *error)
{
    const int numerics = options->numerics < 0 ? DSGD_NUMERICS_OFF : options->numerics;
    const dsgd_source source = {options->source.v[0], &options->sets, numerics, options->run};
    dsgd_experiment experiment;
    const dsgd_status status = dsgd_source_open(&source, &experiment, error);
    if (status != DSGD_OK)
        return status;
    dsgd_experiment_close(&experiment);
    return dsgd_fail(error, DSGD_EUSAGE, "explain: an experiment is not explained yet");
}
