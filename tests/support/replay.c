/**
 * @file replay.c
 * Makes runs whose step times come from a file.
 */
#include "tests/support/replay.h"

#include <check.h>

#include "base/draw.h"

/** Returns a random step time of 0.5 to 1.5 s. One step in six takes up to 6 s more. */
static double uneven_seconds(int row, int worker)
{
    const dsgd_draw at = {77, DSGD_DRAW_DATA, (uint32_t)worker, (uint32_t)row, 0};
    dsgd_draw late = at;
    late.index = 1;
    dsgd_draw by = at;
    by.index = 2;
    return 0.5 + dsgd_draw_uniform(at) +
           (dsgd_draw_uniform(late) < 1.0 / 6 ? 6 * dsgd_draw_uniform(by) : 0);
}

void support_replay(support_case *c, const double *seconds, int rows, char file[64])
{
    snprintf(file, 64, "/tmp/dsgd_emulation_XXXXXX");
    const int descriptor = mkstemp(file);
    ck_assert_int_ge(descriptor, 0);
    FILE *const written = fdopen(descriptor, "w");
    fprintf(written, "worker,step,seconds\n");
    for (int row = 0; row < rows; row++)
        for (int w = 0; w < c->config.workers; w++)
            fprintf(written, "%d,%d,%.17g\n", w, row, seconds[row * c->config.workers + w]);
    fclose(written);
    char **const name = support_imbalance(c, "replay"); /* the file name is the only parameter of
                                                         * imbalance replay */
    *name = file;
}

support_pair *support_pair_new(const char *algorithm, int workers, long pieces)
{
    support_pair *const t = support_alloc(1, sizeof *t);
    t->c = support_new(algorithm, workers);
    t->c->workload.bytes = 1;
    t->c->learning.optimizer.weight_decay = 0.01;
    t->c->config.until = (dsgd_until){0};
    t->c->config.exchange.pieces = pieces;
    support_problem *const data = support_problem_new(t->c);
    ck_assert_uint_eq(data->network.n_params, REPLAY_N);
    dsgd_network_initial(&data->network, t->c->config.seed, t->initial);
    memcpy(t->center, t->initial, sizeof t->center);
    for (int i = 0; i < REPLAY_ROWS * workers; i++)
        t->seconds[i] = uneven_seconds(i / workers, i % workers);
    support_replay(t->c, t->seconds, REPLAY_ROWS, t->file);
    t->problem = (emulation_problem){.workers = workers,
                                     .n = REPLAY_N,
                                     .pieces = (size_t)pieces,
                                     .lr = t->c->learning.optimizer.lr,
                                     .momentum = t->c->learning.optimizer.momentum,
                                     .weight_decay = t->c->learning.optimizer.weight_decay,
                                     .gradient = support_gradient,
                                     .argument = data,
                                     .initial = t->initial,
                                     .seconds = t->seconds,
                                     .rows = REPLAY_ROWS,
                                     .backward_s = t->c->workload.backward_share};
    t->result = (emulation_result){.x = t->x, .center = t->center};
    t->arrived = (arrivals_result){.x = t->x, .center = t->center};
    return t;
}

void support_pair_lr(support_pair *t, double lr)
{
    t->problem.lr = t->c->learning.optimizer.lr = lr;
}
