/**
 * @file lesson.h
 * Shows step by step the models, messages and waits of the workers of an algorithm. A lesson is a
 * run of plots/lesson/lesson.yaml, a problem with two parameters. All times and values of this run
 * are recorded.
 */
#pragma once

#include "command/trace/explain.h"
#include "command/trace/timeline/view.h"
#include "sim/algorithm.h"
#include "sim/ledger.h"

/**
 * Simulates @p algorithm on the small problem. Prints a lesson, or writes the figure of the lesson.
 * All plug-ins must be loaded before.
 */
dsgd_status dsgd_lesson(const dsgd_entry *algorithm, const dsgd_explain_options *options,
                        dsgd_error *error);

/** A quadratic loss F(a, b): the mean of (a u + b - v)^2 / 2 over all points (u, v). */
typedef struct dsgd_quadratic {
    uint32_t n_points;
    double uu, u, uv, v, vv; /* means of u^2, u, u v, v and v^2 over all points (u, v) */
    double minimum[2], least; /* position of the loss's minimum, and value of the loss at the
                               * minimum */
} dsgd_quadratic;

/** Application of a gradient, by a worker's local step or by a server. */
typedef struct dsgd_application {
    size_t entry; /* index of the ledger entry for the application: UPDATED at a worker, MODEL at a
                   * server */
    size_t gradient; /* index of the applied gradient among the values of the ledger */
    size_t to; /* index of the model to which the gradient is applied, among the values of the
                * ledger */
    double weight; /* weight of the gradient in the applied sum */
    int64_t age; /* number of times that the model was updated after the gradient was computed and
                  * before it was applied; 0 if the gradient is not stale */
} dsgd_application;

typedef struct dsgd_lesson_run {
    dsgd_view view;
    dsgd_ledger ledger;
    dsgd_quadratic quadratic;
    int n_workers, n_hosts; /* number of workers, and number of workers and servers together */
    size_t *before; /* array with one index per ledger entry: the model of the host before the
                     * entry; 0 if the host has no model */
    size_t *models; /* array [n_hosts]: index of each host's model at the end */
    size_t n_applications;
    dsgd_application *applications; /* array of n_applications applications of gradients, in the
                                     * order of the ledger entries */
} dsgd_lesson_run;

/** Computes the quadratic loss for a data set with one feature. */
dsgd_quadratic dsgd_quadratic_of(const dsgd_samples *points);

/** Returns the loss F at a point. */
double dsgd_quadratic_at(const dsgd_quadratic *quadratic, const double *x);

/**
 * Computes a point at which the loss is @p F. @p angle is the direction from the minimum to this
 * point, in radians.
 */
void dsgd_quadratic_contour(const dsgd_quadratic *quadratic, double F, double angle, double *x);

/**
 * Finds the models and the applications of gradients in a run. The timeline and the ledger of the
 * run must already be complete.
 */
void dsgd_lesson_apply(dsgd_lesson_run *run);

/**
 * Expands a value into a linear combination of gradients and of other values that are not
 * combinations. Stores the coefficients in weights[n_values]. If @p through is true, also expands
 * updates, except values whose where[value] is true.
 */
void dsgd_lesson_expand(const dsgd_ledger *ledger, size_t value, bool through, const bool *where,
                        double *weights);

/** Returns true if a host is a server. */
static inline bool dsgd_lesson_is_server(const dsgd_lesson_run *run, int host)
{
    return host >= run->n_workers;
}

/** Returns the two parameters of value number @p value of the ledger. */
static inline const double *dsgd_lesson_x(const dsgd_lesson_run *run, size_t value)
{
    return run->ledger.values[value].elements;
}

/** An action of a host in a lesson, with its time and its description. */
typedef struct dsgd_lesson_event {
    double at_s;
    int phase; /* order of actions that have the same time: gradients first, then ledger entries,
                * then waits */
    size_t order;
    int host;
    char *text;
} dsgd_lesson_event;

/** Returns an array of all events in the order of time. Stores their number in *n. */
dsgd_lesson_event *dsgd_lesson_events(const dsgd_lesson_run *run, size_t *n);

/**
 * Returns the ranks in a set of bits as a text ("3", "0-2", "1 3"). The second function returns the
 * names of the hosts ("workers 0-2", "server 0").
 */
char *dsgd_lesson_ranks(uint32_t ranks);
char *dsgd_lesson_hosts(const dsgd_lesson_run *run, uint32_t hosts);

/** Returns the two parameters of a model as a text, such as "(0.731, -0.764)". */
char *dsgd_lesson_x_text(const double *x);

/**
 * Writes a lesson as a text with at most 80 columns. The second function writes it as the table of
 * the figure `lesson`.
 */
void dsgd_lesson_print(const dsgd_lesson_run *run, FILE *stream);
void dsgd_lesson_write_csv(const dsgd_lesson_run *run, FILE *stream);
