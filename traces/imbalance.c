/**
 * @file imbalance.c
 * Checks, loads and evaluates a list of imbalance entries.
 */
#include "traces/imbalance.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>

extern const dsgd_imbalance_kind dsgd_imbalance_constant, dsgd_imbalance_slow, dsgd_imbalance_delay,
    dsgd_imbalance_ramp, dsgd_imbalance_normal, dsgd_imbalance_lognormal, dsgd_imbalance_gamma,
    dsgd_imbalance_quantiles, dsgd_imbalance_mixture, dsgd_imbalance_persistent,
    dsgd_imbalance_fail_slow, dsgd_imbalance_noise, dsgd_imbalance_data, dsgd_imbalance_replay;

const dsgd_entry *const dsgd_imbalance_kinds[] = {&dsgd_imbalance_constant.about,
                                                  &dsgd_imbalance_slow.about,
                                                  &dsgd_imbalance_delay.about,
                                                  &dsgd_imbalance_ramp.about,
                                                  &dsgd_imbalance_normal.about,
                                                  &dsgd_imbalance_lognormal.about,
                                                  &dsgd_imbalance_gamma.about,
                                                  &dsgd_imbalance_quantiles.about,
                                                  &dsgd_imbalance_mixture.about,
                                                  &dsgd_imbalance_persistent.about,
                                                  &dsgd_imbalance_fail_slow.about,
                                                  &dsgd_imbalance_noise.about,
                                                  &dsgd_imbalance_data.about,
                                                  &dsgd_imbalance_replay.about,
                                                  NULL};

typedef struct entry {
    const dsgd_imbalance_kind *kind;
    const void *params;
    void *state;
    uint32_t purpose;
} entry;

struct dsgd_imbalance {
    size_t n;
    entry entries[];
};

dsgd_status dsgd_imbalance_open(const dsgd_specs *entries, size_t n_lists, int n_workers,
                                dsgd_imbalance **imbalance, dsgd_error *error)
{
    size_t n = 0;
    for (size_t i = 0; i < n_lists; i++)
        n += entries[i].n;
    dsgd_imbalance *list = dsgd_xcalloc(1, sizeof *list + n * sizeof list->entries[0]);
    dsgd_status status = DSGD_OK;
    for (size_t i = 0; i < n_lists; i++)
        for (size_t j = 0; status == DSGD_OK && j < entries[i].n; j++) {
            const dsgd_spec *const pick = &entries[i].v[j];
            const dsgd_imbalance_kind *const kind = (const dsgd_imbalance_kind *)pick->about;
            entry *const e = &list->entries[list->n];
            *e = (entry){kind, pick->params, NULL, DSGD_DRAW_IMBALANCE + 256 * (uint32_t)list->n++};
            if (kind->check != NULL)
                status = kind->check(e->params, n_workers, error);
            if (status == DSGD_OK && kind->load != NULL)
                status = kind->load(e->params, &e->state, error);
        }
    if (status != DSGD_OK)
        dsgd_imbalance_close(list);
    *imbalance = status == DSGD_OK ? list : NULL;
    return status;
}

void dsgd_imbalance_close(dsgd_imbalance *imbalance)
{
    if (imbalance == NULL)
        return;
    for (size_t i = 0; i < imbalance->n; i++)
        free(imbalance->entries[i].state);
    free(imbalance);
}

bool dsgd_imbalance_reads_samples(const dsgd_imbalance *imbalance)
{
    for (size_t i = 0; i < imbalance->n; i++)
        if (imbalance->entries[i].kind->reads_samples)
            return true;
    return false;
}

double dsgd_imbalance_seconds(const dsgd_imbalance *imbalance, double base_s, dsgd_step_at at)
{
    double seconds = base_s;
    for (size_t i = 0; i < imbalance->n; i++) {
        const entry *const e = &imbalance->entries[i];
        at.purpose = e->purpose;
        at.state = e->state;
        seconds = e->kind->seconds(e->params, at, seconds);
    }
    return seconds > 0 ? seconds : 0;
}

dsgd_step_statistics dsgd_imbalance_statistics(const dsgd_imbalance *imbalance, double base_s,
                                               int n_workers, int64_t n_steps)
{
    dsgd_step_statistics all = {.min_s = INFINITY, .max_s = -INFINITY};
    const size_t n = (size_t)n_workers;
    double *const s = dsgd_xcalloc(n, sizeof *s);
    double square = 0; /* sum of the squared distances of all values from base_s, which is near the
                        * mean */
    for (int64_t t = 0; t < n_steps; t++) {
        for (int w = 0; w < n_workers; w++) {
            const dsgd_step_at at = {.seed = 1, .n_workers = n_workers, .worker = w, .step = t};
            s[w] = dsgd_imbalance_seconds(imbalance, base_s, at);
            square += (s[w] - base_s) * (s[w] - base_s);
        }
        gsl_sort(s, 1, n);
        all.mean_s += gsl_stats_mean(s, 1, n) / (double)n_steps;
        all.median_s += gsl_stats_median_from_sorted_data(s, 1, n) / (double)n_steps;
        all.fastest_s += s[0] / (double)n_steps;
        all.slowest_s += s[n - 1] / (double)n_steps;
        all.min_s = fmin(all.min_s, s[0]);
        all.max_s = fmax(all.max_s, s[n - 1]);
    }
    const double offset = all.mean_s - base_s;
    all.deviation_s = sqrt(fmax(0, square / (double)n / (double)n_steps - offset * offset));
    free(s);
    return all;
}
