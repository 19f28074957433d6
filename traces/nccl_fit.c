/**
 * @file nccl_fit.c
 * Fits the factors of a machine to its logs. Searches for the smallest mean error on a grid around
 * the factor of the largest sizes. Then searches on finer grids around the best point.
 */
#include "traces/nccl.h"

enum { STEPS = 20, ZOOMS = 4 };

/** Returns ln(time of the model / time in the log) for message size number @p i. */
static double error_of(const dsgd_nccl *nccl, const dsgd_nccl_measured *of, size_t i)
{
    const double bytes = of->table.bytes.v[i];
    const dsgd_nccl_cost cost = dsgd_nccl_cost_of(nccl, &of->shape, of->table.call, bytes);
    return log(1e6 * dsgd_nccl_s(&cost, bytes) / of->table.us.v[i]);
}

double dsgd_nccl_error(const dsgd_nccl *nccl, const dsgd_nccl_measured *of)
{
    /*
     * Large messages determine the time of training steps. Below 64 KiB, measured times have jumps
     * that the model lacks. An error above `most` counts as `most`.
     */
    static const double large_bytes = 8 * 0x1p20, least_bytes = 64 * 0x1p10, most = 0.3;
    double sum = 0, weights = 0;
    for (size_t i = 0; i < of->table.bytes.n; i++) {
        const double bytes = of->table.bytes.v[i];
        const double weight = bytes >= large_bytes ? 1 : bytes >= least_bytes ? 0.25 : 1e-3;
        sum += weight * fmin(fabs(error_of(nccl, of, i)), most);
        weights += weight;
    }
    return sum / weights;
}

/** The two factors, on bandwidth and latency, for collectives within nodes or between nodes. */
typedef struct pair {
    double *bandwidth, *latency;
} pair;

static pair pair_of(dsgd_nccl *nccl, bool within)
{
    return within ? (pair){&nccl->node_bandwidth, &nccl->node_latency}
                  : (pair){&nccl->bandwidth, &nccl->latency};
}

/**
 * Returns the mean error over the logs of one node (if @p within is true) or of several nodes. A
 * small penalty prefers factors near 1.
 */
static double error_of_all(dsgd_nccl *nccl, const dsgd_nccl_measured *logs, size_t n, bool within)
{
    static const double per_bandwidth = 0.02, per_latency = 0.003;
    double sum = 0, n_logs = 0;
    for (size_t i = 0; i < n; i++)
        if ((logs[i].shape.n_nodes == 1) == within) {
            sum += dsgd_nccl_error(nccl, &logs[i]);
            n_logs++;
        }
    return sum / n_logs + per_bandwidth * fabs(log(*pair_of(nccl, within).bandwidth)) +
           per_latency * fabs(log(*pair_of(nccl, within).latency));
}

static void fit(dsgd_nccl *nccl, const dsgd_nccl_measured *logs, size_t n, bool within)
{
    dsgd_nccl tried = *nccl;
    const pair at = pair_of(&tried, within), result = pair_of(nccl, within);
    double x = 0, y = log(2), width_x = log(4), width_y = log(30), best = INFINITY, n_logs = 0;
    tried.tables = (dsgd_structs){0, NULL};
    *at.bandwidth = *at.latency = 1;
    for (size_t i = 0; i < n; i++)
        if ((logs[i].shape.n_nodes == 1) == within)
            x += (error_of(&tried, &logs[i], logs[i].table.bytes.n - 1) - x) / ++n_logs;
    for (int zoom = 0; zoom < ZOOMS && n_logs > 0; zoom++, width_x /= 8, width_y /= 8) {
        const double middle_x = x, middle_y = y;
        for (int i = -STEPS; i <= STEPS; i++)
            for (int k = -STEPS; k <= STEPS; k++) {
                const double new_x = middle_x + width_x * i / STEPS;
                const double new_y = middle_y + width_y * k / STEPS;
                *at.bandwidth = fmin(fmax(exp(new_x), 0.01), 100);
                *at.latency = fmin(fmax(exp(new_y), 0.01), 100);
                const double error = error_of_all(&tried, logs, n, within);
                if (error >= best)
                    continue;
                best = error;
                x = new_x;
                y = new_y;
                *result.bandwidth = *at.bandwidth;
                *result.latency = *at.latency;
            }
    }
}

void dsgd_nccl_fit(dsgd_nccl *nccl, const dsgd_nccl_measured *logs, size_t n)
{
    fit(nccl, logs, n, true);
    fit(nccl, logs, n, false);
}
