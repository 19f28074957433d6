/**
 * @file rig.h
 * Test rigs for gradients: small networks of every model, on small data, on a device, without the
 * lazy graph.
 */
#pragma once

#include "models/devices/device.h"
#include "models/zoo/model.h"
#include "tests/support/distance.h"

enum { RIG_MOST_SAMPLES = 64, RIG_MOST_PIECES = 161, RIG_MOST_WIDTHS = 3 };

/** A model with its options, and the shape of its data. */
typedef struct rig_spec {
    const char *name;
    const char *model;
    dsgd_data_kind kind;
    uint32_t n_rows, n_columns, width; /* shape of a sample */
    uint32_t n_classes; /* number of classes; if 0, a regression */
    uint32_t n_samples;
    const char *list; /* option that holds a list, and its values */
    size_t n_list;
    double numbers[RIG_MOST_WIDTHS];
    struct {
        const char *name;
        double value;
    } with[4]; /* other options; all remaining options have their defaults */
    bool stored; /* true if tests/reference/ has PyTorch's results under this name */
} rig_spec;

/** One or more specs for every model of the registry; test_zoo.c checks this. */
extern const rig_spec rig_specs[];
extern const int rig_n_specs;

/** Returns the spec with this name. */
const rig_spec *rig_spec_named(const char *name);

/**
 * A problem with all the objects that it points to. The training samples and the test samples are
 * the same. For a model without layers that treat the two differently, the evaluation therefore
 * returns the loss whose derivative is the gradient over all samples.
 */
typedef struct rig {
    const rig_spec *spec;
    dsgd_data data;
    dsgd_network network;
    size_t piece_begin[RIG_MOST_PIECES + 1];
    dsgd_problem problem;
    const dsgd_device *device;
    void *context;
    double *x; /* [n_params] */
    double *state; /* [n_state]: initial model state */
    uint32_t all[RIG_MOST_SAMPLES];
    struct rig *next; /* next rig of the process */
} rig;

/**
 * Makes a rig with momentum 0.9 and weight decay 0.01. The end of the test's process closes and
 * frees it.
 */
rig *rig_new(const rig_spec *spec, const dsgd_device *device, size_t n_pieces);

/**
 * Returns a number in [0, 1): number i of the series @p salt. tests/reference/gradients.py has the
 * same formula:
 *
 *     (7919 i + 104729 salt + (i * i mod 613)) mod 1009 / 1009
 */
double rig_number(uint64_t salt, uint64_t i);

/**
 * Returns the parameters of the model with the options of the spec and defaults. The memory is kept
 * until the process ends.
 */
void *rig_params(const rig_spec *spec);

/** A vector on the device. */
typedef struct vector {
    dsgd_buffer pieces[RIG_MOST_PIECES];
} vector;

/** Makes a vector on the device. If @p x is NULL, its values are not set. */
vector vector_new(const rig *s, const double *x);
/** Copies the vector to @p x, unless @p x is NULL, and releases the vector. */
void vector_end(const rig *s, const vector *v, double *x);

/**
 * Computes the gradient over some samples, and the model state after them. state_new may be NULL.
 * Returns true if all values are finite.
 */
bool rig_gradient(const rig *s, const double *x, const double *state, const uint32_t *samples,
                  uint32_t n, double *g, double *state_new);
dsgd_evaluate_op rig_evaluation(const rig *s, const double *x, const double *state);
