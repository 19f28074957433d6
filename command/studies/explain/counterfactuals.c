/**
 * @file counterfactuals.c
 * What is different in the platform of a counterfactual, or in the computation of its workers.
 */
#include <string.h>

#include "command/experiment/config.h"
#include "command/studies/explain/attribution.h"

const char *const dsgd_counterfactual_names[] = {
    "without stragglers",       "without the slowest worker", "with an idle network",
    "with twice the bandwidth", "with half the latency",      "without reduction cost",
    "without staging",          "as it is, by steps"};

/* --- platforms -------------------------------------------------------------------------------- */

/** Multiplies what links add to a message's time. */
static void scale_latency(dsgd_platform *p, dsgd_config *config, double factor)
{
    p->host_latency_s *= factor;
    p->group_latency_s *= factor;
    p->island_latency_s *= factor;
    p->file_links.latency *= factor;
    if (p->hosts.n == 0)
        return;
    dsgd_platform_entry *const entries =
        dsgd_config_alloc(config, p->hosts.n * sizeof *entries); /* others share the old ones */
    memcpy(entries, p->hosts.v, p->hosts.n * sizeof *entries);
    for (size_t i = 0; i < p->hosts.n; i++)
        entries[i].latency_s *= factor;
    p->hosts.v = entries;
}

static void scale_bandwidth(dsgd_platform *p, double factor)
{
    p->host_bandwidth_bytes_per_s *= factor;
    p->group_flow_bytes_per_s *= factor;
    p->group_bytes_per_s *= factor;
    p->island_bytes_per_s *= factor;
    p->file_links.bandwidth *= factor;
}

/** A gigabyte takes less than a nanosecond on links of more than 1 GB/s. */
static const double idle_factor = 1e9;

static void change_platform(dsgd_platform *p, dsgd_config *config, dsgd_counterfactual which)
{
    p->file_links.scaled = p->topology == DSGD_TOPOLOGY_XML;
    p->file_links.bandwidth = p->file_links.latency = 1;
    switch (which) {
    case DSGD_IDLE_NETWORK:
        scale_bandwidth(p, idle_factor);
        scale_latency(p, config, 0);
        p->message_overhead_s = 0;
        p->partial_call_s = 0;
        break;
    case DSGD_TWICE_BANDWIDTH:
        scale_bandwidth(p, 2);
        break;
    case DSGD_HALF_LATENCY:
        scale_latency(p, config, 0.5);
        break;
    case DSGD_FREE_REDUCTION:
        p->reduction_s_per_byte = 0;
        p->cached_reduction_s_per_byte = 0;
        p->cache_bytes = 0; /* they go together */
        break;
    case DSGD_FREE_STAGING:
        p->staging_s_per_byte = 0;
        break;
    default:
        break;
    }
}

/** Whether a cost is there to be left out. */
static bool has_cost(const dsgd_planned_run *run, dsgd_counterfactual which)
{
    const dsgd_platform *const p = &run->platform;
    const dsgd_platform_entry *const entries = p->hosts.v;
    double latency_s = p->host_latency_s + p->group_latency_s + p->island_latency_s;
    for (size_t i = 0; i < p->hosts.n; i++)
        latency_s += entries[i].latency_s;
    if (which == DSGD_HALF_LATENCY)
        return latency_s > 0 || p->topology == DSGD_TOPOLOGY_XML;
    if (which == DSGD_FREE_REDUCTION)
        return p->reduction_s_per_byte > 0 || p->cached_reduction_s_per_byte > 0;
    return which != DSGD_FREE_STAGING ||
           (p->staging_s_per_byte > 0 && run->workload.memory == DSGD_MEMORY_DEVICE);
}

/* --- the list of runs ------------------------------------------------------------------------- */

size_t dsgd_counterfactual_run(const dsgd_experiment *experiment, size_t i,
                               dsgd_counterfactual which)
{
    return experiment->n_unchanged + i * DSGD_N_COUNTERFACTUALS + which;
}

dsgd_status dsgd_counterfactuals_add(dsgd_experiment *experiment, dsgd_numerics numerics,
                                     dsgd_error *error)
{
    const size_t n = experiment->n_unchanged;
    if (n > DSGD_MOST_RUNS / (1 + DSGD_N_COUNTERFACTUALS))
        return dsgd_fail(error, DSGD_EUSAGE,
                         "%s: with %d others for each, the %zu runs are more than %d; shorten a "
                         "list or a sweep",
                         experiment->path, DSGD_N_COUNTERFACTUALS, n, DSGD_MOST_RUNS);
    experiment->n_runs = n * (1 + DSGD_N_COUNTERFACTUALS);
    experiment->runs =
        dsgd_xrealloc(experiment->runs, experiment->n_runs, sizeof *experiment->runs);
    for (size_t i = 0; i < n; i++)
        for (int which = 0; which < DSGD_N_COUNTERFACTUALS; which++) {
            dsgd_planned_run *const run =
                &experiment->runs[dsgd_counterfactual_run(experiment, i, which)];
            *run = experiment->runs[i];
            run->unchanged = i;
            run->parameter = dsgd_counterfactual_names[which];
            change_platform(&run->platform, experiment->config, which);
        }
    static const char *const column = "what_if";
    dsgd_experiment_add_columns(experiment, &column, 1);
    for (size_t i = n; i < experiment->n_runs; i++)
        experiment->runs[i].swept[experiment->n_columns - 1] = experiment->runs[i].parameter;
    return dsgd_experiment_settle(experiment, numerics, error);
}

bool dsgd_counterfactual_settle(dsgd_experiment *experiment, size_t i, dsgd_counterfactual which,
                                const dsgd_facts *facts)
{
    static const double alike = 1e-9; /* step times, but for rounding */
    dsgd_planned_run *const run = &experiment->runs[dsgd_counterfactual_run(experiment, i, which)];
    const bool ends_by_work = !(run->config.until.seconds > 0 || run->config.until.accuracy > 0);
    if (!ends_by_work)
        run->config.until = (dsgd_until){.steps = facts->steps};
    if (which == DSGD_SAME_STEPS)
        return !ends_by_work;
    if (which == DSGD_WITHOUT_STRAGGLERS) {
        run->config.what_if = (dsgd_what_if){.step_s = facts->gradient_s};
        return facts->longest_s > facts->shortest_s * (1 + alike);
    }
    if (which == DSGD_WITHOUT_SLOWEST) {
        run->config.what_if = (dsgd_what_if){.worker = facts->slowest, .as = facts->median};
        return facts->workers[facts->slowest].compute_s >
               facts->workers[facts->median].compute_s * (1 + alike);
    }
    return has_cost(&experiment->runs[i], which);
}
