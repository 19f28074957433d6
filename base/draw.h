/**
 * @file draw.h
 * Common random numbers: every draw is a pure function of (seed, purpose, worker, step, index).
 *
 * Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC'11) with the seed
 * as key and the other four as counter. There is no state: a new draw changes no other, and all
 * algorithms have the same stragglers and the same mini-batches.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/** What a draw is for. Numbers are part of the results: append, never renumber. */
typedef enum dsgd_purpose {
    DSGD_DRAW_SAMPLES = 1, /* the order of the samples of an epoch */
    DSGD_DRAW_INIT = 2, /* initial weights */
    DSGD_DRAW_DATA = 3, /* generated data sets */
    DSGD_DRAW_IMBALANCE = 4, /* step times; purpose of entry i of the list: this + 256 i */
    DSGD_DRAW_ALGORITHM = 5, /* choices of an algorithm */
    DSGD_DRAW_SHARED = 6, /* the same choice at all workers, such as the initiator of a version */
    DSGD_DRAW_PLACEMENT = 7, /* workers on hosts */
    DSGD_DRAW_PARTITION = 8, /* samples to workers, where the data is skewed */
    DSGD_DRAW_GRAPH = 9, /* random gossip graphs */
    DSGD_DRAW_POLICY = 10, /* actions, and transitions of an environment */
    DSGD_DRAW_EPISODE = 11, /* initial states of episodes; worker -1: test episodes */
    DSGD_DRAW_ENCODING = 12, /* of encodings; purpose of encoding i of a step: this + 256 i */
    DSGD_DRAW_TEST_PARTS = 13, /* the test set in parts, for models of their own */
    DSGD_DRAW_FAILURES =
        14 /* up-times and repairs; worker: what fails together, step: number of its failure */
} dsgd_purpose;

/** The coordinates of a draw. */
typedef struct dsgd_draw {
    uint64_t seed;
    uint32_t purpose;
    uint32_t worker;
    uint32_t step;
    uint32_t index;
} dsgd_draw;

/** A number in the open interval (0, 1) with 53 random bits, for inverse distribution functions. */
double dsgd_draw_uniform(dsgd_draw at);

/**
 * u[n] <- dsgd_draw_uniform() at n indices from that of @p at on, in less than half of the time.
 */
void dsgd_draw_uniforms(dsgd_draw at, size_t n, double *u);

/**
 * floor(n u / 2^64) of 64 random bits u: a whole number in [0, n), n >= 1, with a bias below n /
 * 2^64.
 */
uint64_t dsgd_draw_below(dsgd_draw at, uint64_t n);

/**
 * The image of @p i under a random permutation of [0, n), which @p at selects (its index is not
 * used). A Feistel network with Philox as its round function, iterated until the image is in range:
 * O(1), no table.
 */
uint32_t dsgd_draw_permuted(dsgd_draw at, uint32_t n, uint32_t i);

/** The inverse: the i whose image is @p image. */
uint32_t dsgd_draw_place(dsgd_draw at, uint32_t n, uint32_t image);

/**
 * Many images under the same permutations as dsgd_draw_permuted(), by a few look-ups each in rounds
 * that it keeps. Not for two threads at once.
 */
typedef struct dsgd_permuter dsgd_permuter;

/** For permutations of [0, n) at @p at, but at any step. The caller frees it with free(). */
dsgd_permuter *dsgd_permuter_new(dsgd_draw at, uint32_t n);
/** images[n] <- the images of first, first + 1, ... at @p step. */
void dsgd_permuter_images(dsgd_permuter *permuter, uint32_t step, uint32_t first, uint32_t n,
                          uint32_t *images);
