/**
 * @file facts.h
 * What a run is explained by beside its results: how long each worker computed in each step, who was
 * waited for, and what links carried. Recorded in the process of the run, read by its parent.
 */
#ifndef DSGD_COMMAND_STUDIES_EXPLAIN_FACTS_H
#define DSGD_COMMAND_STUDIES_EXPLAIN_FACTS_H

#include "sim/run.h"

typedef struct dsgd_worker_facts {
    int place; /* of its host among the platform's */
    long n_steps; /* whose computation has ended */
    double compute_s; /* of a step, mean */
    double last; /* share of the steps that all have computed in which it was the last to do so */
    double held_s; /* sum of what others waited for it, in verbs, without what computation hides */
} dsgd_worker_facts;

typedef struct dsgd_facts {
    int n_workers;
    dsgd_worker_facts *workers; /* [n_workers] */
    long n_steps; /* the most of any worker */
    double *compute_s; /* [n_workers][n_steps]; NAN: not computed */
    double gradient_s; /* median over all gradients; 0: there is none */
    double shortest_s, longest_s; /* step */
    int slowest, median; /* workers, by their means; of an even number the faster of the middle */
    size_t n_loads;
    dsgd_load *loads; /* [n_loads] */
    double virtual_s, steps; /* of the run; of all workers / P */
} dsgd_facts;

/** dsgd_simulate(), whose facts go to a file. */
dsgd_status dsgd_facts_record(const dsgd_run_config *config, dsgd_run_result *result,
                              const char *path, dsgd_error *error);

/** DSGD_EIO where there are none. Release by dsgd_facts_free() in any case. */
dsgd_status dsgd_facts_read(const char *path, dsgd_facts *facts, dsgd_error *error);
void dsgd_facts_free(dsgd_facts *facts);

#endif
