/**
 * @file split.h
 * Training samples divided among workers, so that the data of workers differ: each sample belongs
 * to one worker, and all workers have as many, so that the mean of their losses stays the loss of
 * all samples. A function of data, seed and number of workers: all algorithms have the same.
 */
#pragma once

#include "models/data/data.h"

enum { DSGD_MOST_CLASSES = 256, DSGD_PARTS = 10 };

struct dsgd_split {
    uint32_t n_workers, n_classes;
    uint32_t *begin; /* [n_workers + 1] */
    uint32_t *samples; /* [n]; worker w's are samples[begin[w]] to [begin[w + 1] - 1], ascending */
    uint32_t *class_of; /* [n]; see dsgd_split_new() */
    /* A worker's mini-batches are the same samples in every epoch, what does not fill one left out;
     * else drawn anew. */
    bool own_batches;
};

/** Classes and their members, for the dealing of samples. */
typedef struct dsgd_classes {
    uint32_t n_samples, n;
    uint32_t begin[DSGD_MOST_CLASSES + 2];
    uint32_t *members; /* [n_samples], by class, ascending */
} dsgd_classes;

/** A way of splitting that a user can name: "iid", "dirichlet", "labels". */
typedef struct dsgd_split_kind {
    dsgd_entry about;
    /** Sets owner[n_samples]; refuses numbers that cannot be. NULL: nothing is divided. */
    dsgd_status (*deal)(const void *params, const dsgd_classes *classes, uint64_t seed,
                        uint32_t n_workers, uint32_t *owner, dsgd_error *error);
} dsgd_split_kind;

extern const dsgd_entry *const dsgd_split_kinds[]; /* NULL-terminated */

/**
 * Splits the training samples. *split is NULL for "iid", or where @p kind names none; with
 * @p own_batches these are equal parts at random. By class: the
 * label of images and sequences; of regression, which tenth of the targets; of tokens, which tenth
 * of the text. One allocation, for free(). Errors, as a sentence: data without samples, more
 * workers than samples, and what the kind refuses.
 */
dsgd_status dsgd_split_new(const dsgd_spec *kind, const dsgd_data *data, uint64_t seed,
                           uint32_t n_workers, bool own_batches, dsgd_split **split,
                           dsgd_error *error);

/** counts[n_classes] <- worker @p w's samples of each class. */
void dsgd_split_count(const dsgd_split *split, uint32_t w, uint32_t *counts);

/** How much the data of workers differ. */
typedef struct dsgd_split_summary {
    uint32_t least, most; /* samples of a worker */
    double classes; /* of a worker, on average */
    /* Mean over workers of the total-variation distance of their classes from all: half the sum
     * over classes of the differences of the shares. 0: none differs. */
    double distance;
} dsgd_split_summary;

dsgd_split_summary dsgd_split_summarise(const dsgd_split *split);
