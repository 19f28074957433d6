/**
 * @file lesson.h
 * Shows step by step what the workers of an algorithm hold, send, wait for and receive. A lesson is
 * a run of plots/lesson/lesson.yaml, a problem with two parameters, of which all times and values
 * are recorded.
 */
#pragma once

#include "command/trace/explain.h"
#include "command/trace/timeline/view.h"
#include "sim/algorithm.h"
#include "sim/ledger.h"

/** Simulates @p algorithm on the small problem and shows the run. Plug-ins must be loaded. */
dsgd_status dsgd_lesson(const dsgd_entry *algorithm, const dsgd_explain_options *options,
                        dsgd_error *error);

/** F(a, b) = mean over points (u, v) of (a u + b - v)^2 / 2: quadratic. */
typedef struct dsgd_quadratic {
    uint32_t n_points;
    double uu, u, uv, v, vv; /* means of products */
    double minimum[2], least; /* position and value of the minimum */
} dsgd_quadratic;

/** A gradient that a worker applies in a local step, or that a server applies. */
typedef struct dsgd_application {
    size_t entry; /* entry of the ledger: UPDATED for a worker, MODEL for a server */
    size_t gradient; /* index among the values of the ledger */
    size_t to; /* index of the model to which it is applied */
    double weight; /* weight of the gradient in the sum that is applied */
    int64_t age; /* updates of the model since the gradient was computed; 0 if it is not stale */
} dsgd_application;

typedef struct dsgd_lesson_run {
    dsgd_view view;
    dsgd_ledger ledger;
    dsgd_quadratic quadratic;
    int n_workers, n_hosts; /* n_hosts includes servers */
    size_t *before; /* [n_entries of the ledger]: the host's model before the entry; 0 if none */
    size_t *models; /* [n_hosts]: models at the end */
    size_t n_applications;
    dsgd_application *applications; /* [n_applications], in the order of entries */
} dsgd_lesson_run;

/** Fits the quadratic to a data set of one feature. */
dsgd_quadratic dsgd_quadratic_of(const dsgd_samples *points);

/** Returns F at a point. */
double dsgd_quadratic_at(const dsgd_quadratic *quadratic, const double *x);

/** Computes the point of the contour of height @p F at an angle in radians. */
void dsgd_quadratic_contour(const dsgd_quadratic *quadratic, double F, double angle, double *x);

/** Finds the models and applications of a run whose timeline and ledger are complete. */
void dsgd_lesson_apply(dsgd_lesson_run *run);

/**
 * Writes a value as a linear combination of gradients and other values that are not combinations
 * themselves: weights[n_values] <- its coefficients. If @p through, updates are expanded too,
 * except values for which where[value] is true.
 */
void dsgd_lesson_expand(const dsgd_ledger *ledger, size_t value, bool through, const bool *where,
                        double *weights);

/** Returns true if a host is a server. */
static inline bool dsgd_lesson_is_server(const dsgd_lesson_run *run, int host)
{
    return host >= run->n_workers;
}

/** Returns the two parameters of a value. */
static inline const double *dsgd_lesson_x(const dsgd_lesson_run *run, size_t value)
{
    return run->ledger.values[value].elements;
}

/** An action of a host at an instant. */
typedef struct dsgd_lesson_event {
    double at_s;
    int phase; /* order within an instant: gradients, then entries of the ledger, then waits */
    size_t order;
    int host;
    char *text;
} dsgd_lesson_event;

/** Returns all events [n] in the order of time. */
dsgd_lesson_event *dsgd_lesson_events(const dsgd_lesson_run *run, size_t *n);

/** Return the ranks of a set of bits ("3", "0-2", "1 3"), or the hosts ("workers 0-2", "server 0").
 */
char *dsgd_lesson_ranks(uint32_t ranks);
char *dsgd_lesson_hosts(const dsgd_lesson_run *run, uint32_t hosts);

/** Returns two parameters as text, such as "(0.731, -0.764)". */
char *dsgd_lesson_x_text(const double *x);

/** Write a lesson as text of at most 80 columns, and as the table of the figure `lesson`. */
void dsgd_lesson_print(const dsgd_lesson_run *run, FILE *stream);
void dsgd_lesson_write_csv(const dsgd_lesson_run *run, FILE *stream);
