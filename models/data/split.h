/**
 * @file split.h
 * Divides training samples among workers, so that the data of workers differ. Each sample belongs
 * to one worker. All workers have equal numbers of samples, so that the mean of their losses
 * remains the loss of all samples. The split depends on the data, the seed and the number of
 * workers only, and is the same for all algorithms.
 */
#pragma once

#include "models/data/data.h"

enum { DSGD_MOST_CLASSES = 256, DSGD_PARTS = 10 };

struct dsgd_split {
    uint32_t n_workers, n_classes;
    uint32_t *begin; /* [n_workers + 1] */
    uint32_t *samples; /* [n]; worker w has samples[begin[w]] to [begin[w + 1] - 1], ascending */
    uint32_t *class_of; /* [n]; see dsgd_split_new() */
    /* true: the mini-batches of a worker contain the same samples in every epoch, and samples that
     * do not fill one are left out; false: every epoch is a new permutation */
    bool own_batches;
};

/** Classes and their members, from which samples are divided. */
typedef struct dsgd_classes {
    uint32_t n_samples, n;
    uint32_t begin[DSGD_MOST_CLASSES + 2];
    uint32_t *members; /* [n_samples], class by class, ascending within a class */
} dsgd_classes;

/** A way of splitting that a user can name: "iid", "dirichlet", "labels". */
typedef struct dsgd_split_kind {
    dsgd_entry about;
    /** Sets owner[n_samples], or rejects invalid numbers. NULL: samples are not divided. */
    dsgd_status (*deal)(const void *params, const dsgd_classes *classes, uint64_t seed,
                        uint32_t n_workers, uint32_t *owner, dsgd_error *error);
} dsgd_split_kind;

extern const dsgd_entry *const dsgd_split_kinds[]; /* NULL-terminated */

/**
 * Splits the training samples. *split is NULL for "iid" and without a kind; with @p own_batches,
 * these give equal random parts instead. The class of a sample is its label for images and
 * sequences, the tenth of the targets for regression, and the tenth of the text for tokens. *split
 * is one allocation, for free(). Rejects data without samples, more workers than samples, and
 * numbers that are invalid for the kind.
 */
dsgd_status dsgd_split_new(const dsgd_spec *kind, const dsgd_data *data, uint64_t seed,
                           uint32_t n_workers, bool own_batches, dsgd_split **split,
                           dsgd_error *error);

/** counts[n_classes] <- numbers of worker @p w's samples in each class. */
void dsgd_split_count(const dsgd_split *split, uint32_t w, uint32_t *counts);

/** Measures of how much the data of workers differ. */
typedef struct dsgd_split_summary {
    uint32_t least, most; /* smallest and largest number of samples of a worker */
    double classes; /* mean number of classes of a worker */
    /* Mean over workers of the total-variation distance between their classes and those of all
     * samples: half the sum over classes of the differences of the shares. 0: all are equal. */
    double distance;
} dsgd_split_summary;

dsgd_split_summary dsgd_split_summarise(const dsgd_split *split);
