/**
 * @file drop_compute.c
 * DropCompute: synchronous SGD in which a worker stops computing at a threshold and drops its
 * remaining micro-batches.
 *
 * N. Giladi et al., "DropCompute: simple and more robust distributed synchronous training via
 * compute variance reduction", NeurIPS 2023, Algorithms 1 and 2, and the released code. If the
 * threshold is automatic, all workers exchange their compute times once. This exchange has 8 P
 * bytes per calibration step.
 */
#include "sim/algorithm.h"

typedef struct drop_compute_params {
    double threshold; /* threshold in seconds, NONE (no threshold) or AUTO (automatic threshold) */
    int64_t micro_batches; /* M, the number of micro-batches per step */
    int64_t calibration, spare;
} drop_compute_params;

enum { NONE = -1, AUTO = -2, CANDIDATES = 200, EARLIEST_MICRO_BATCH = 6, PAPERS_M = 12 };

/** Times that were measured in the calibration steps. */
typedef struct measured {
    const double *compute_s; /* compute time of each worker in each calibration step;
                              * [P][calibration] */
    double overhead_s; /* T^c: mean over the steps of the step's time minus its longest computation,
                        * in seconds */
} measured;

static double longest_computation(const dsgd_node *self, const measured *m, int64_t step)
{
    const drop_compute_params *p = self->params;
    double longest_s = 0;
    for (int i = 0; i < self->n_workers; i++)
        longest_s = fmax(longest_s, m->compute_s[i * p->calibration + step]);
    return longest_s;
}

/**
 * Returns the effective speed-up of threshold @p limit_s. The speed-up is the mean over the steps
 * of (share of the work that is done) / (share of the time that is needed).
 */
static double effective_speed_up(dsgd_node *self, const measured *m, double limit_s)
{
    const drop_compute_params *p = self->params;
    const double n = (double)p->micro_batches;
    double sum = 0;
    for (int64_t t = 0; t < p->calibration; t++) {
        double cut_s = 0;
        double done = 0;
        for (int i = 0; i < self->n_workers; i++) {
            const double all_s = m->compute_s[i * p->calibration + t];
            const dsgd_cut cut = dsgd_cut_step(self, all_s, (int)p->micro_batches, limit_s);
            cut_s = fmax(cut_s, cut.compute_s);
            done += cut.done / n / self->n_workers;
        }
        const double raw_s = longest_computation(self, m, t) + m->overhead_s;
        const double left_s = cut_s + m->overhead_s;
        if (left_s > 0)
            sum += done / (left_s / raw_s) / (double)p->calibration;
    }
    return sum;
}

/**
 * Returns the candidate threshold with the largest speed-up, or INFINITY if no speed-up is above 1.
 * The largest candidate is the longest measured computation. The smallest candidate is the shortest
 * computation times 6 / max(12, M). The released code starts at the end of the 6th of 12
 * micro-batches.
 */
static double best_threshold(dsgd_node *self, const measured *m)
{
    const drop_compute_params *p = self->params;
    double shortest_s = INFINITY;
    double longest_s = 0;
    for (int64_t i = 0; i < p->calibration * self->n_workers; i++) {
        shortest_s = fmin(shortest_s, m->compute_s[i]);
        longest_s = fmax(longest_s, m->compute_s[i]);
    }
    const double from_s =
        shortest_s * EARLIEST_MICRO_BATCH / fmax(PAPERS_M, (double)p->micro_batches);
    double best_s = INFINITY;
    double best = 1;
    for (int c = 0; c < CANDIDATES; c++) {
        const double limit_s = from_s + (longest_s - from_s) * c / (CANDIDATES - 1);
        const double gain = effective_speed_up(self, m, limit_s);
        if (gain > best + 1e-9) { /* replaces the best gain only if this gain is larger by more than
                                   * a rounding error */
            best = gain;
            best_s = limit_s;
        }
    }
    return best_s;
}

/**
 * Returns one threshold for all workers. Gathers the compute times of all workers. Rank 0 computes
 * the threshold from these times and from its own elapsed time.
 */
static double calibrate(dsgd_node *self, const double *mine_s, double wall_s)
{
    const drop_compute_params *p = self->params;
    const size_t n = (size_t)p->calibration;
    measured m = {dsgd_allgather(self, mine_s, n, DSGD_WORLD), wall_s / (double)n};
    for (int64_t t = 0; self->rank == 0 && t < p->calibration; t++)
        m.overhead_s -= longest_computation(self, &m, t) / (double)n;
    const double found = self->rank == 0 ? best_threshold(self, &m) : 0;
    return dsgd_allgather(self, &found, 1, DSGD_WORLD)[0];
}

static void drop_compute_work(dsgd_node *self)
{
    const drop_compute_params *p = self->params;
    const bool automatic = p->threshold == AUTO;
    double limit_s = p->threshold >= 0 ? p->threshold : INFINITY;
    double *mine_s = dsgd_memory_new(self, (size_t)p->calibration, sizeof(double));
    double began_s = 0; /* start time of the calibration */
    dsgd_vector *x = dsgd_model(self);
    dsgd_vector *g = dsgd_vector_new(self);

    while (dsgd_next_step(self)) {
        /* number of this step within the calibration; negative before the calibration starts */
        const int64_t t = self->step - p->spare;
        if (t == 0)
            began_s = dsgd_time_s(self);
        dsgd_gradient_until(self, g, x, (int)p->micro_batches, t < 0 ? INFINITY : limit_s);
        /* The mean includes dropped micro-batches as zeros. */
        dsgd_allreduce_mean(self, g, DSGD_WORLD);
        dsgd_local_step(self, x, g);
        if (automatic && t >= 0 && t < p->calibration)
            mine_s[t] = dsgd_compute_time_s(self);
        if (automatic && t == p->calibration - 1)
            limit_s = calibrate(self, mine_s, dsgd_time_s(self) - began_s);
    }
}

static const char *const threshold_words[] = {"none", "auto", NULL};

static const dsgd_option drop_compute_options[] = {
    DSGD_OPTION_DOUBLE(
        drop_compute_params, threshold, AUTO, 0, 1e9, "s",
        "compute time after which no micro-batch starts its forward or backward pass. none: no "
        "limit. auto: the best of 200 candidates, from the end of the 6th micro-batch on, by work "
        "kept over time left, communication included",
        .words = threshold_words),
    DSGD_OPTION_LONG(drop_compute_params, micro_batches, 12, 1, 4096, NULL,
                     "M: number of micro-batches that are accumulated per step; the mini-batch of "
                     "the reduced model is divided alike"),
    DSGD_OPTION_LONG(drop_compute_params, calibration, 44, 1, 1e6, "steps",
                     "number of steps, after the spared ones, whose times determine auto (44 in "
                     "the released code); nothing is dropped in them"),
    DSGD_OPTION_LONG(drop_compute_params, spare, 5, 0, 1e9, "steps",
                     "number of first steps in which nothing is dropped, whatever the threshold"),
    DSGD_OPTION_END,
};

const dsgd_algorithm dsgd_algorithm_drop_compute = {
    .about = {.name = "drop_compute",
              .summary = "synchronous SGD in which a worker that computes too long drops its "
                         "remaining micro-batches",
              .reference = "Giladi et al., NeurIPS 2023, Algorithms 1 and 2",
              DSGD_PARAMS(drop_compute_params, drop_compute_options)},
    .doc =
        {.idea =
             "A step takes as long as its slowest worker: let the slowest worker contribute less.",
         .rule = "g = (1/M) sum of the micro-batches whose backward pass starts before the "
                 "threshold;  x <- x + U((1/P) sum of all g, x, t).  The M micro-batches of a step "
                 "take equal times",
         .sends = "One allreduce of the gradient: about 2 N bytes.",
         .waits = "All workers wait for the slowest, but for no computation longer than the "
                  "threshold and a micro-batch."},
    .work = drop_compute_work,
    .traits = DSGD_SENDS_ALLREDUCES,
    .laws = DSGD_LAWS({DSGD_LAW_PLAIN_SGD, DSGD_WITH({"threshold", NONE})},
                      {DSGD_LAW_PLAIN_SGD, DSGD_WITH({"threshold", 1e6}, {"micro_batches", 3})},
                      {DSGD_LAW_ALLREDUCE, DSGD_WITH({"threshold", NONE})}, {DSGD_LAW_KEEPS_MEAN}),
};
