/**
 * @file phase.h
 * Finds the fastest algorithm at each point of a grid of two swept numbers. Only some grid points
 * are simulated; the results at other points are interpolated.
 */
#pragma once

#include "command/experiment/experiment.h"
#include "command/runs/results.h"

/** A grid point: a pair of swept values, with the results that are known there. */
typedef struct dsgd_phase_place {
    size_t at[2]; /* indices of the two swept values at the grid point */
    /* array [n_algorithms][n_seeds] of run numbers from 1; 0 if there is no such run */
    size_t *runs;
    size_t *wanted; /* array [n_algorithms]: number of seeds with which each algorithm must be
                     * simulated */
    double *logs; /* array [n_algorithms]: logarithm of each algorithm's throughput, which is
                   * simulated or interpolated */
    bool is_wanted; /* true if at least one run at this grid point must be simulated */
    bool is_known; /* true if the winner at this grid point is simulated; false if it is
                    * interpolated */
    bool is_uncertain; /* true if the two fastest algorithms tie or if their difference is within
                        * the noise */
    bool is_settled; /* true if more seeds would not change the winner */
    size_t winner, second; /* index of the fastest algorithm and of the second; an index is valid
                            * only if logs[index] is not NAN */
    double ratio, low, high; /* throughput of the winner divided by the throughput of the second
                              * algorithm, and the 95 % interval of this ratio; NAN if unknown */
} dsgd_phase_place;

/**
 * A rectangle of grid points. Results at points inside the rectangle are interpolated between its
 * corners.
 */
typedef struct dsgd_phase_block {
    size_t from[2], to[2];
} dsgd_phase_block;

/** State of a phase diagram. The experiment owns the texts to which the state points. */
typedef struct dsgd_phase {
    const dsgd_experiment *experiment;
    const dsgd_results *results;
    const char **out; /* array [n_runs]: why each run cannot win (dsgd_study_outcomes()); NULL if
                       * the run can win */
    size_t columns[2]; /* the columns of the experiment along the x axis and the y axis */
    size_t n[2]; /* number of swept values along the x axis and the y axis */
    double *values[2]; /* swept values along the x axis and the y axis, in ascending order */
    size_t n_algorithms, n_seeds;
    const char **labels; /* array [n_algorithms] of the labels of algorithms */
    /*
     * standard deviation over seeds of the logarithm of a ratio of algorithms, at the four corners
     * of the grid
     */
    double noise[4];
    size_t n_places;
    dsgd_phase_place *places; /* array [n[1]][n[0]] of grid points */
    dsgd_phase_block *blocks; /* array of n_blocks blocks, which cover the whole grid */
    size_t n_blocks;
} dsgd_phase;

/**
 * Opens the grid of an experiment with two or more algorithms and two swept numbers. Returns
 * DSGD_EUSAGE if the runs differ in anything else, except in their seeds.
 */
dsgd_status dsgd_phase_open(const dsgd_experiment *experiment, const dsgd_results *results,
                            dsgd_phase *phase, dsgd_error *error);

/**
 * Divides the grid into one block per coarse step. At the corners of blocks, marks one seed. At the
 * corners of the grid, marks all seeds, because the spread of these seeds is the noise.
 */
void dsgd_phase_begin(dsgd_phase *phase);

/**
 * Reads the results of all wanted runs and marks the runs of the next round. If a difference is
 * within the noise and is not a tie, marks more seeds. If no more seeds are needed, divides blocks
 * into four. A block is divided if no algorithm wins (or ties) at all of its known grid points. At
 * the corners of the new blocks, marks the algorithms that can win there. An algorithm can win if
 * its interpolated throughput is near the best throughput, given the changes of throughputs across
 * the block. Returns false if no run is marked.
 */
bool dsgd_phase_refine(dsgd_phase *phase);

/** Sets chosen[i] to true for each wanted run i. */
void dsgd_phase_choose(const dsgd_phase *phase, bool *chosen);

/**
 * Interpolates the results at unknown grid points and writes DIR/phase.csv. If dsgd_phase_begin()
 * was not called, uses all runs.
 */
dsgd_status dsgd_phase_write(dsgd_phase *phase, dsgd_error *error);
