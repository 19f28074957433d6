/**
 * @file split.h
 * Divides training samples among workers, so that the data of workers differ. Each sample belongs
 * to one worker. All workers have equal numbers of samples, so that the mean of their losses
 * remains the loss of all samples. The split depends only on the data, the seed and the number of
 * workers. All algorithms therefore get the same split.
 */
#pragma once

#include "models/data/data.h"

enum { DSGD_MOST_CLASSES = 256, DSGD_PARTS = 10 };

struct dsgd_split {
    uint32_t n_workers, n_classes;
    uint32_t *begin; /* position of each worker's first sample in samples; n_workers + 1 entries */
    uint32_t *samples; /* samples of all workers: worker w has samples[begin[w]] to [begin[w + 1] -
                        * 1], ascending */
    uint32_t *class_of; /* class of each sample, as dsgd_split_new() defines it; n entries */
    /*
     * If true, each mini-batch of a worker contains the same samples in every epoch, and samples
     * that do not fill a mini-batch are left out. If false, every epoch is a new permutation.
     */
    bool own_batches;
};

/** The classes of the training samples and the members of each class. */
typedef struct dsgd_classes {
    uint32_t n_samples, n;
    uint32_t begin[DSGD_MOST_CLASSES + 2];
    uint32_t *members; /* samples, class by class, ascending within a class; n_samples entries */
} dsgd_classes;

/** A way of splitting samples that a user can name: "iid", "dirichlet" or "labels". */
typedef struct dsgd_split_kind {
    dsgd_entry about;
    /**
     * Sets owner[n_samples]. Returns an error if the numbers are not valid for this kind. The
     * pointer is NULL if this kind does not divide the samples.
     */
    dsgd_status (*deal)(const void *params, const dsgd_classes *classes, uint64_t seed,
                        uint32_t n_workers, uint32_t *owner, dsgd_error *error);
} dsgd_split_kind;

extern const dsgd_entry *const dsgd_split_kinds[]; /* table of all kinds of splits; NULL ends the
                                                    * table */

/**
 * Splits the training samples. If @p kind is "iid" or has no entry, stores NULL in *split, or equal
 * random parts if @p own_batches is true. The class of an image or sequence is its label. For
 * regression, the class is the tenth of the sorted targets that contains the sample. For tokens,
 * the class is the tenth of the text. *split is one allocation; release it with free(). Returns an
 * error for data without samples, for more workers than samples, and for numbers that are invalid
 * for the kind.
 */
dsgd_status dsgd_split_new(const dsgd_spec *kind, const dsgd_data *data, uint64_t seed,
                           uint32_t n_workers, bool own_batches, dsgd_split **split,
                           dsgd_error *error);

/** Stores in counts[n_classes] the number of samples of worker @p w in each class. */
void dsgd_split_count(const dsgd_split *split, uint32_t w, uint32_t *counts);

/** Measures of the difference between the data of workers. */
typedef struct dsgd_split_summary {
    uint32_t least, most; /* smallest and largest number of samples that a worker has */
    double classes; /* number of classes of a worker, averaged over the workers */
    /*
     * Total-variation distance between the class shares of a worker and the class shares of all
     * samples, averaged over the workers. This distance is half the sum over classes of the
     * absolute differences of shares. It is 0 if all workers have equal shares.
     */
    double distance;
} dsgd_split_summary;

dsgd_split_summary dsgd_split_summarise(const dsgd_split *split);
