/**
 * @file draw.h Common random numbers. Every draw is a pure function of (seed, purpose, worker,
 * step, index).
 *
 * The generator is Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
 * SC'11). The seed is its key, and the other four numbers are its counter. The generator has no
 * state. Therefore a new draw changes no other draw, and all algorithms have the same stragglers
 * and the same mini-batches.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/**
 * The purpose of a draw. The numbers of the purposes determine the results of runs. Append new
 * purposes, and never renumber them.
 */
typedef enum dsgd_purpose {
    DSGD_DRAW_SAMPLES = 1, /* draws for the order of the samples in an epoch */
    DSGD_DRAW_INIT = 2, /* draws for the initial weights of a model */
    DSGD_DRAW_DATA = 3, /* draws for the elements of generated data sets */
    /*
     * draws for step times; entry i of the list of imbalances uses this number + 256 i as its
     * purpose
     */
    DSGD_DRAW_IMBALANCE = 4,
    DSGD_DRAW_ALGORITHM = 5, /* draws for random choices of an algorithm */
    /* draws that are equal at all workers, for example for the initiator of a partial collective */
    DSGD_DRAW_SHARED = 6,
    DSGD_DRAW_PLACEMENT = 7, /* draws for the placement of workers on hosts */
    DSGD_DRAW_PARTITION = 8, /* draws for the assignment of samples to workers, if the data is
                              * skewed */
    DSGD_DRAW_GRAPH = 9, /* draws for the edges of random gossip graphs */
    DSGD_DRAW_POLICY = 10, /* draws for actions and transitions of an environment */
    DSGD_DRAW_EPISODE = 11, /* draws for the initial states of episodes; the worker is -1 for test
                             * episodes */
    /*
     * draws for gradient compression; compression i of a step uses this number + 256 i as its
     * purpose
     */
    DSGD_DRAW_ENCODING = 12,
    DSGD_DRAW_TEST_PARTS = 13, /* draws that assign workers' own models to parts of the test set */
    /*
     * draws for times to failures and repairs; coordinate `worker` is the failure domain, and
     * coordinate `step` counts the failures of the domain
     */
    DSGD_DRAW_FAILURES = 14
} dsgd_purpose;

/** The arguments that determine a draw. */
typedef struct dsgd_draw {
    uint64_t seed;
    uint32_t purpose;
    uint32_t worker;
    uint32_t step;
    uint32_t index;
} dsgd_draw;

/**
 * Returns a number in the open interval (0, 1) with 53 random bits. The result is never 0 or 1, so
 * inverse distribution functions accept it.
 */
double dsgd_draw_uniform(dsgd_draw at);

/**
 * Stores the results of dsgd_draw_uniform() for n successive indices, starting with at.index, in
 * u[n]. This takes less than half of the time of n calls.
 */
void dsgd_draw_uniforms(dsgd_draw at, size_t n, double *u);

/**
 * Returns a random integer in [0, n), for n >= 1. It is floor(n u / 2^64) for 64 random bits u, so
 * the bias is below n / 2^64.
 */
uint64_t dsgd_draw_below(dsgd_draw at, uint64_t n);

/**
 * Returns the image of @p i under a random permutation of [0, n). @p at selects the permutation;
 * at.index is not used. The function iterates a Feistel network, with Philox as its round function,
 * until the image is below n. It takes O(1) time and needs no table.
 */
uint32_t dsgd_draw_permuted(dsgd_draw at, uint32_t n, uint32_t i);

/** Returns the number i whose image under dsgd_draw_permuted() is @p image. */
uint32_t dsgd_draw_place(dsgd_draw at, uint32_t n, uint32_t image);

/**
 * Computes many images under the permutations of dsgd_draw_permuted(). A permuter stores tables of
 * the rounds, so an image takes only a few look-ups. It is not thread-safe.
 */
typedef struct dsgd_permuter dsgd_permuter;

/**
 * Makes a permuter for the permutations of [0, n) that @p at selects, with any step instead of
 * at.step. The caller frees it with free().
 */
dsgd_permuter *dsgd_permuter_new(dsgd_draw at, uint32_t n);
/**
 * Stores in images[n] the images of the numbers first, first + 1, ... under the permutation of step
 * @p step.
 */
void dsgd_permuter_images(dsgd_permuter *permuter, uint32_t step, uint32_t first, uint32_t n,
                          uint32_t *images);
