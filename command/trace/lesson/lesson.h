/**
 * @file lesson.h
 * Shows step by step the models, messages and waits of the workers of an algorithm. A lesson is a
 * run of plots/lesson/lesson.yaml, a problem with two parameters, with a record of all times and
 * values.
 */
#pragma once

#include "command/trace/explain.h"
#include "command/trace/timeline/view.h"
#include "sim/algorithm.h"
#include "sim/ledger.h"

/**
 * Simulates @p algorithm on the small problem, and prints a lesson or writes its figure. All
 * plug-ins must be loaded before.
 */
dsgd_status dsgd_lesson(const dsgd_entry *algorithm, const dsgd_explain_options *options,
                        dsgd_error *error);

/** The loss F(a, b), a quadratic: the mean over all points (u, v) of (a u + b - v)^2 / 2. */
typedef struct dsgd_quadratic {
    uint32_t n_points;
    double uu, u, uv, v, vv; /* means over all points of u^2, u, u v, v and v^2 */
    double minimum[2], least; /* position of the minimum, and loss at the minimum */
} dsgd_quadratic;

/** The application of a gradient by a worker's local step or by a server. */
typedef struct dsgd_application {
    size_t entry; /* index of the ledger entry of the application: UPDATED at a worker, MODEL at a
                   * server */
    size_t gradient; /* index of the gradient among the values of the ledger */
    size_t to; /* index of the model to which the gradient is applied */
    double weight; /* weight of the gradient in the applied sum */
    int64_t age; /* number of updates of the model between computing and applying the gradient; 0 if
                  * the gradient is not stale */
} dsgd_application;

typedef struct dsgd_lesson_run {
    dsgd_view view;
    dsgd_ledger ledger;
    dsgd_quadratic quadratic;
    int n_workers, n_hosts; /* number of workers, and number of workers and servers */
    size_t *before; /* array of one index per ledger entry: the host's model before the entry; 0 if
                     * it has none */
    size_t *models; /* array [n_hosts] of the hosts' models at the end */
    size_t n_applications;
    dsgd_application *applications; /* array of n_applications applications, in the order of the
                                     * ledger entries */
} dsgd_lesson_run;

/** Fits the quadratic loss to a data set with one feature. */
dsgd_quadratic dsgd_quadratic_of(const dsgd_samples *points);

/** Returns the loss F at a point. */
double dsgd_quadratic_at(const dsgd_quadratic *quadratic, const double *x);

/**
 * Computes a point of the contour with loss @p F. @p angle is the direction from the minimum, in
 * radians.
 */
void dsgd_quadratic_contour(const dsgd_quadratic *quadratic, double F, double angle, double *x);

/**
 * Finds the models and the applications of gradients in a run. The timeline and the ledger of the
 * run must be complete.
 */
void dsgd_lesson_apply(dsgd_lesson_run *run);

/**
 * Expands a value into a linear combination of gradients and other values that are not
 * combinations. Stores the coefficients in weights[n_values]. If @p through is true, expands
 * updates too, except values whose where[value] is true.
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

/** An action of a host, with its time and description. */
typedef struct dsgd_lesson_event {
    double at_s;
    int phase; /* order of actions with the same time: gradients, then ledger entries, then waits */
    size_t order;
    int host;
    char *text;
} dsgd_lesson_event;

/** Returns an array of all *n events, in the order of time. */
dsgd_lesson_event *dsgd_lesson_events(const dsgd_lesson_run *run, size_t *n);

/**
 * Returns the ranks in a set of bits ("3", "0-2", "1 3"), or (second function) the names of the
 * hosts ("workers 0-2", "server 0").
 */
char *dsgd_lesson_ranks(uint32_t ranks);
char *dsgd_lesson_hosts(const dsgd_lesson_run *run, uint32_t hosts);

/** Returns two parameters as a text, such as "(0.731, -0.764)". */
char *dsgd_lesson_x_text(const double *x);

/**
 * Writes a lesson as a text of at most 80 columns, or (second function) as the table of the figure
 * `lesson`.
 */
void dsgd_lesson_print(const dsgd_lesson_run *run, FILE *stream);
void dsgd_lesson_write_csv(const dsgd_lesson_run *run, FILE *stream);
