/**
 * @file rig.h
 * Test rigs for gradients. A rig is a small network with small data on a device. A rig computes
 * without the value store.
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
    /* number of rows and columns of a sample, and width of an image */
    uint32_t n_rows, n_columns, width;
    uint32_t n_classes; /* number of classes, or 0 for a regression */
    uint32_t n_samples;
    const char *list; /* name of an option that holds a list, whose values are in `numbers` */
    size_t n_list;
    double numbers[RIG_MOST_WIDTHS];
    struct {
        const char *name;
        double value;
    } with[4]; /* other options that are set; all remaining options have their defaults */
    bool stored; /* true if tests/reference/ contains PyTorch's results for this name */
} rig_spec;

/**
 * The specs of all rigs. test_zoo.c checks that every model of the registry has one or more specs.
 */
extern const rig_spec rig_specs[];
extern const int rig_n_specs;

/** Returns the spec with the given name, or fails the test if there is none. */
const rig_spec *rig_spec_named(const char *name);

/**
 * A problem with all the objects that it points to. The training samples are also the test samples.
 * The evaluation therefore returns the loss whose derivative is the gradient over all samples,
 * unless a layer of the model works differently in training and evaluation.
 */
typedef struct rig {
    const rig_spec *spec;
    dsgd_data data;
    dsgd_network network;
    size_t piece_begin[RIG_MOST_PIECES + 1];
    dsgd_problem problem;
    const dsgd_device *device;
    void *context;
    double *x; /* parameters of the model, an array of n_params values */
    double *state; /* initial model state, an array of n_state values */
    uint32_t all[RIG_MOST_SAMPLES];
    struct rig *next; /* next rig in the list of rigs of this process */
} rig;

/**
 * Makes a rig whose optimizer has momentum 0.9 and weight decay 0.01. The rig is closed and freed
 * when the test's process ends.
 */
rig *rig_new(const rig_spec *spec, const dsgd_device *device, size_t n_pieces);

/**
 * Returns a pseudo-random number in [0, 1), which is number i of the series @p salt.
 * tests/reference/gradients.py uses the same formula. The formula is
 *
 *     (7919 i + 104729 salt + (i * i mod 613)) mod 1009 / 1009.
 */
double rig_number(uint64_t salt, uint64_t i);

/**
 * Returns parameters for the model of a spec. The spec sets some options, and all other options
 * have their defaults. The memory is kept until the process ends.
 */
void *rig_params(const rig_spec *spec);

/** A vector of parameters on the device, one buffer per piece. */
typedef struct vector {
    dsgd_buffer pieces[RIG_MOST_PIECES];
} vector;

/**
 * Makes a vector on the device with the values @p x. If @p x is NULL, the values of the vector are
 * undefined.
 */
vector vector_new(const rig *s, const double *x);
/** Copies the vector to @p x, unless @p x is NULL, and then releases the vector. */
void vector_end(const rig *s, const vector *v, double *x);

/**
 * Computes the gradient over some samples, and the model state after these samples. If state_new is
 * NULL, the new state is not stored. Returns true if all values are finite.
 */
bool rig_gradient(const rig *s, const double *x, const double *state, const uint32_t *samples,
                  uint32_t n, double *g, double *state_new);
dsgd_evaluate_op rig_evaluation(const rig *s, const double *x, const double *state);
