/**
 * @file evaluation.c
 * Evaluations: of the mean model during the run, of each worker's own model at its end.
 */
#include "sim/engine/evaluation.h"

#include <math.h>
#include <stdlib.h>

#include "base/round.h"
#include "models/record/record.h"
#include "sim/engine/learning.h"
#include "sim/engine/memory.h"
#include "sim/result.h"

struct dsgd_evaluations {
    long planned; /* that of time 0 left out */
    double next; /* steps of all workers at which the next is due */
    size_t *tickets; /* [n_points] of values */
    size_t *local_tickets; /* [n_workers], or NULL */
};

static void plan_next(dsgd_engine *engine)
{
    struct dsgd_evaluations *const evaluations = engine->evaluations;
    const dsgd_learning *const learning = engine->config->learning;
    const double every = learning == NULL ? 0 : learning->evaluate.every;
    evaluations->planned++;
    evaluations->next =
        every > 0 ? dsgd_ceil((double)evaluations->planned * every * engine->n_workers) : INFINITY;
}

void dsgd_evaluation_open(dsgd_engine *engine)
{
    engine->evaluations = dsgd_run_alloc(engine, sizeof *engine->evaluations);
    plan_next(engine);
}

void dsgd_evaluation_close(dsgd_engine *engine)
{
    free(engine->evaluations->tickets);
    free(engine->evaluations->local_tickets);
}

double dsgd_evaluate_now(dsgd_engine *engine)
{
    dsgd_run_result *const result = engine->result;
    const size_t n = engine->n_pieces;
    const size_t p = (size_t)engine->n_workers;
    dsgd_value *models = dsgd_xcalloc(n * p, sizeof *models);
    dsgd_value *states = dsgd_xcalloc(p, sizeof *states);
    for (size_t w = 0; w < p; w++) {
        for (size_t k = 0; k < n; k++)
            models[w * n + k] = engine->workers[w].model->piece[k].value;
        states[w] = engine->workers[w].model_state;
    }
    const size_t i = result->n_points++;
    engine->evaluations->tickets = dsgd_xrealloc(engine->evaluations->tickets, result->n_points,
                                                 sizeof *engine->evaluations->tickets);
    result->points = dsgd_xrealloc(result->points, result->n_points, sizeof *result->points);
    engine->evaluations->tickets[i] = dsgd_values_evaluate(engine->values, p, models, states);
    result->points[i] =
        (dsgd_point){.virtual_s = dsgd_now_s(), .steps = (double)engine->steps_total / (double)p};
    dsgd_recorder_point(engine->recorder, result->points[i].virtual_s, result->points[i].steps);
    free(models);
    free(states);
    if (engine->config->until.accuracy <= 0)
        return NAN;
    return dsgd_values_result(engine->values, engine->evaluations->tickets[i]).accuracy;
}

bool dsgd_evaluate_if_due(dsgd_engine *engine, double *accuracy)
{
    if (engine->values == NULL || (double)engine->steps_total < engine->evaluations->next)
        return false;
    plan_next(engine);
    *accuracy = dsgd_evaluate_now(engine);
    return true;
}

/** Each worker's own model. */
static void evaluate_local(dsgd_engine *engine)
{
    const size_t n = engine->n_pieces;
    dsgd_value *const model = dsgd_xcalloc(n, sizeof *model);
    engine->evaluations->local_tickets =
        dsgd_xcalloc((size_t)engine->n_workers, sizeof *engine->evaluations->local_tickets);
    for (int w = 0; w < engine->n_workers; w++) {
        for (size_t k = 0; k < n; k++)
            model[k] = engine->workers[w].model->piece[k].value;
        engine->evaluations->local_tickets[w] =
            dsgd_values_evaluate(engine->values, 1, model, &engine->workers[w].model_state);
    }
    free(model);
}

void dsgd_evaluate_last(dsgd_engine *engine)
{
    const dsgd_run_result *const result = engine->result;
    const bool evaluated =
        result->n_points > 0 && result->points[result->n_points - 1].virtual_s == result->virtual_s;
    if (!evaluated)
        dsgd_evaluate_now(engine);
    if (engine->config->learning->evaluate.local)
        evaluate_local(engine);
}

/* --- results ---------------------------------------------------------------------------------- */

static void sum_up_local(dsgd_engine *engine)
{
    dsgd_run_result *const result = engine->result;
    if (engine->evaluations->local_tickets == NULL)
        return;
    const double p = engine->n_workers;
    result->local_loss = result->local_accuracy = 0;
    result->local_accuracy_min = INFINITY;
    for (int w = 0; w < engine->n_workers; w++) {
        const dsgd_evaluation e =
            dsgd_values_result(engine->values, engine->evaluations->local_tickets[w]);
        result->local_loss += e.loss / p;
        result->local_accuracy += e.accuracy / p;
        if (!(e.accuracy >= result->local_accuracy_min))
            result->local_accuracy_min = e.accuracy;
    }
}

void dsgd_sum_up_learning(dsgd_engine *engine)
{
    dsgd_run_result *const result = engine->result;
    dsgd_values_record(engine->values, NULL);
    if (!dsgd_learns(engine->config)) {
        result->n_points = 0;
        return;
    }
    for (size_t i = 0; i < result->n_points; i++)
        result->points[i].at = dsgd_values_result(engine->values, engine->evaluations->tickets[i]);
    sum_up_local(engine);
    const dsgd_divergence divergence = dsgd_values_divergence(engine->values);
    if (divergence.happened && result->outcome == DSGD_RUN_OK) {
        result->outcome = DSGD_RUN_DIVERGED;
        dsgd_fail(&result->why, DSGD_OK, "a number was no longer finite at step %llu of worker %u",
                  (unsigned long long)divergence.where.step, divergence.where.worker);
    }
    result->numerics = dsgd_values_stats_get(engine->values);
}
