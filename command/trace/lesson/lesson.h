/**
 * @file lesson.h
 * What the workers of an algorithm hold, send, wait for and get, step by step: on a problem of two
 * parameters, by a run of plots/lesson/lesson.yaml whose times and values are all recorded.
 */
#pragma once

#include "command/trace/explain.h"
#include "command/trace/timeline/view.h"
#include "sim/algorithm.h"
#include "sim/ledger.h"

/** Simulates @p algorithm on a small problem and shows it. Plug-ins are loaded. */
dsgd_status dsgd_lesson(const dsgd_entry *algorithm, const dsgd_explain_options *options,
                        dsgd_error *error);

/** F(a, b) = mean over points (u, v) of (a u + b - v)^2 / 2: quadratic. */
typedef struct dsgd_quadratic {
    uint32_t n_points;
    double uu, u, uv, v, vv; /* means of products */
    double minimum[2], least; /* where it is least, and how much that is */
} dsgd_quadratic;

/** A gradient in what a worker's local step takes, or a server adds. */
typedef struct dsgd_application {
    size_t entry; /* of the ledger: UPDATED of a worker, MODEL of a server */
    size_t gradient; /* of the ledger's values */
    size_t to; /* likewise: the model that it is applied to */
    double weight; /* of the gradient in the sum that is applied */
    int64_t age; /* updates of that model since; 0: it is not stale */
} dsgd_application;

typedef struct dsgd_lesson_run {
    dsgd_view view;
    dsgd_ledger ledger;
    dsgd_quadratic quadratic;
    int n_workers, n_hosts; /* these with servers */
    size_t *before; /* [n_entries] of the ledger: the host's model until then; 0: none */
    size_t *models; /* [n_hosts] at the end */
    size_t n_applications;
    dsgd_application *applications; /* [n_applications], in the order of entries */
} dsgd_lesson_run;

/** Fits the quadratic to a data set of one feature. */
dsgd_quadratic dsgd_quadratic_of(const dsgd_samples *points);
double dsgd_quadratic_at(const dsgd_quadratic *quadratic, const double *x);

/** A point of the contour of height @p F, at an angle in radians. */
void dsgd_quadratic_contour(const dsgd_quadratic *quadratic, double F, double angle, double *x);

/** Fills the models and applications of a run whose timeline and ledger are complete. */
void dsgd_lesson_apply(dsgd_lesson_run *run);

/**
 * weights[n_values] <- what a value is a linear combination of: gradients and other values that
 * combinations are not made of; @p through updates too, but not through where[value].
 */
void dsgd_lesson_expand(const dsgd_ledger *ledger, size_t value, bool through, const bool *where,
                        double *weights);

/** Whether a host is a server. */
static inline bool dsgd_lesson_is_server(const dsgd_lesson_run *run, int host)
{
    return host >= run->n_workers;
}

/** The elements of a value: its two parameters. */
static inline const double *dsgd_lesson_x(const dsgd_lesson_run *run, size_t value)
{
    return run->ledger.values[value].elements;
}

/** What a host does at an instant. */
typedef struct dsgd_lesson_event {
    double at_s;
    int phase; /* of an instant: a gradient is there; entries, in their order; waits */
    size_t order;
    int host;
    char *text;
} dsgd_lesson_event;

/** All events [n], in the order of time. */
dsgd_lesson_event *dsgd_lesson_tell(const dsgd_lesson_run *run, size_t *n);

/** "3", "0-2", "1 3"; "worker 3", "workers 0-2", "server 0": of bits. */
char *dsgd_lesson_ranks(uint32_t ranks);
char *dsgd_lesson_hosts(const dsgd_lesson_run *run, uint32_t hosts);

/** "(0.731, -0.764)": two parameters. */
char *dsgd_lesson_x_text(const double *x);

/** Text of at most 80 columns, and the table of the figure `lesson`. */
void dsgd_lesson_print(const dsgd_lesson_run *run, FILE *stream);
void dsgd_lesson_write_csv(const dsgd_lesson_run *run, FILE *stream);
