/**
 * @file phase.h
 * Finds the fastest algorithm at each point of a grid of two swept numbers. Only some grid points
 * are simulated; the others are interpolated.
 */
#pragma once

#include "command/experiment/experiment.h"
#include "command/runs/results.h"

/** A grid point: a pair of swept values with the known results. */
typedef struct dsgd_phase_place {
    size_t at[2]; /* indices of the grid point's two swept values */
    size_t *runs; /* array [n_algorithms][n_seeds] of run numbers from 1; 0 if no such run exists */
    size_t *wanted; /* array [n_algorithms]: number of seeds to simulate for each algorithm */
    double *logs; /* array [n_algorithms]: logarithm of each algorithm's throughput, simulated or
                   * interpolated */
    bool is_wanted; /* true if any run at this grid point is to be simulated */
    bool is_known; /* true if the winner is simulated here; false if the winner is interpolated */
    bool is_uncertain; /* true if the two fastest algorithms tie, or if their difference is within
                        * the noise */
    bool is_settled; /* true if more seeds would not change the result */
    size_t winner, second; /* indices of the two fastest algorithms; an index is valid only if
                            * logs[index] is not NAN */
    double ratio, low, high; /* throughput of the winner divided by the throughput of the second,
                              * and its 95 % interval; NAN if unknown */
} dsgd_phase_place;

/** A rectangle of grid points. Points inside it are interpolated between its corners. */
typedef struct dsgd_phase_block {
    size_t from[2], to[2];
} dsgd_phase_block;

/** The state of a phase diagram. The experiment owns the texts to which the state points. */
typedef struct dsgd_phase {
    const dsgd_experiment *experiment;
    const dsgd_results *results;
    const char **out; /* array [n_runs]: reason why the run cannot win (dsgd_study_outcomes()); NULL
                       * if the run can win */
    size_t columns[2]; /* columns of the experiment along the x and y axes */
    size_t n[2]; /* numbers of swept values along the x and y axes */
    double *values[2]; /* swept values along the x and y axes, in rising order */
    size_t n_algorithms, n_seeds;
    const char **labels; /* array [n_algorithms] of labels */
    /* standard deviation over seeds of the logarithm of a ratio, at the four corners of the grid */
    double noise[4];
    size_t n_places;
    dsgd_phase_place *places; /* array [n[1]][n[0]] of grid points */
    dsgd_phase_block *blocks; /* array of n_blocks blocks, which cover the whole grid */
    size_t n_blocks;
} dsgd_phase;

/**
 * Opens the grid of an experiment with two or more algorithms and two swept numbers. Returns
 * DSGD_EUSAGE if the runs differ in anything else except seeds.
 */
dsgd_status dsgd_phase_open(const dsgd_experiment *experiment, const dsgd_results *results,
                            dsgd_phase *phase, dsgd_error *error);

/**
 * Divides the grid into one block per coarse step. Marks one seed at the corners of blocks, and all
 * seeds at the corners of the grid, because the spread of these seeds is the noise.
 */
void dsgd_phase_begin(dsgd_phase *phase);

/**
 * Reads the results of all wanted runs, and marks the runs of the next round. If a difference is
 * within the noise and not a tie, more seeds are marked. If no more seeds are needed, each block
 * without a common winner (or tie) at its known grid points is divided into four. At the corners of
 * the new blocks, the algorithms that can win there are marked. An algorithm can win if its
 * interpolated throughput is near the best one, given the changes of throughputs across the block.
 * Returns false if no run is marked.
 */
bool dsgd_phase_refine(dsgd_phase *phase);

/** Sets chosen[i] for each wanted run i. */
void dsgd_phase_choose(const dsgd_phase *phase, bool *chosen);

/**
 * Interpolates unknown grid points, and writes DIR/phase.csv. Uses all runs if dsgd_phase_begin()
 * was not called.
 */
dsgd_status dsgd_phase_write(dsgd_phase *phase, dsgd_error *error);
