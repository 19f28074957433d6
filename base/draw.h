/**
 * @file draw.h
 * Common random numbers: every draw is a pure function of (seed, purpose, worker, step, index).
 *
 * Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC'11) is called with the seed as its key and
 * the four coordinates as its counter. No state, so adding a draw in one place moves no other, and all algorithms meet the same
 * stragglers and the same mini-batches.
 */
#ifndef DSGD_BASE_DRAW_H
#define DSGD_BASE_DRAW_H

#include <stdint.h>

/** What a draw is for. Numbers are part of the results: append, never renumber. */
typedef enum dsgd_purpose {
    DSGD_DRAW_SAMPLES = 1, /* the order of the samples of an epoch */
    DSGD_DRAW_INIT = 2, /* initial weights */
    DSGD_DRAW_DATA = 3, /* generated data sets */
    DSGD_DRAW_IMBALANCE =
        4, /* step times; each entry of the list has its own purpose: this + 256 * entry */
    DSGD_DRAW_ALGORITHM = 5, /* choices of an algorithm */
    DSGD_DRAW_SHARED =
        6, /* choices that all workers make alike, such as the initiator of a version */
    DSGD_DRAW_PLACEMENT = 7, /* workers on hosts */
    DSGD_DRAW_PARTITION = 8, /* samples to workers, where the data is not spread evenly */
    DSGD_DRAW_GRAPH = 9, /* random graphs of gossip */
    DSGD_DRAW_POLICY = 10, /* actions, and what an environment does with them */
    DSGD_DRAW_EPISODE = 11 /* where episodes begin; worker -1: those to test on */
} dsgd_purpose;

/** Where a draw stands. */
typedef struct dsgd_draw {
    uint64_t seed;
    uint32_t purpose;
    uint32_t worker;
    uint32_t step;
    uint32_t index;
} dsgd_draw;

/** 53 random bits as a number in the open interval (0, 1), fit for inverse distribution functions. */
double dsgd_draw_uniform(dsgd_draw at);

/** A whole number in [0, n), n >= 1, without bias that could be seen (64 bits are scaled). */
uint64_t dsgd_draw_below(dsgd_draw at, uint64_t n);

/**
 * The image of @p i under a random permutation of [0, n); @p at says which permutation (its index is not used).
 * A Feistel network with Philox as its round function, walked until the image lies in range: O(1) without a table.
 */
uint32_t dsgd_draw_permuted(dsgd_draw at, uint32_t n, uint32_t i);

/** The inverse: the i whose image is @p image. */
uint32_t dsgd_draw_place(dsgd_draw at, uint32_t n, uint32_t image);

#endif
