/**
 * @file phase.h
 * Finds the fastest algorithm over two swept numbers, on a grid of places of which only some are
 * simulated.
 */
#pragma once

#include "command/experiment/experiment.h"
#include "command/runs/results.h"

/** A pair of swept values, and what is known about the fastest algorithm there. */
typedef struct dsgd_phase_place {
    size_t at[2]; /* indices of the values */
    size_t *runs; /* [n_algorithms][n_seeds] numbers of runs from 1; 0 if there is no run */
    size_t *wanted; /* [n_algorithms] number of seeds to simulate */
    double *logs; /* [n_algorithms]: logarithms of throughputs, simulated or interpolated */
    bool is_wanted; /* whether any run of the place is wanted */
    bool is_known; /* whether the winner was simulated here; else it is interpolated */
    bool is_uncertain; /* a tie, or the difference is within noise */
    bool is_settled; /* more seeds would change nothing */
    size_t winner, second; /* algorithms; valid only if their logarithm is not NAN */
    double ratio, low, high; /* throughput of the winner over that of the second; NAN if unknown */
} dsgd_phase_place;

/** A rectangle of places, corners included, whose inside is interpolated. */
typedef struct dsgd_phase_block {
    size_t from[2], to[2];
} dsgd_phase_block;

/** The state of a phase diagram. The experiment owns what it points to. */
typedef struct dsgd_phase {
    const dsgd_experiment *experiment;
    const dsgd_results *results;
    const char **out; /* [n_runs] why the run cannot win (dsgd_study_outcomes()); NULL if it can */
    size_t columns[2]; /* columns of the experiment along x and y */
    size_t n[2]; /* swept values */
    double *values[2]; /* rising */
    size_t n_algorithms, n_seeds;
    const char **labels; /* [n_algorithms] */
    /* standard deviation over seeds of the logarithm of a ratio, at the corners of the grid */
    double noise[4];
    size_t n_places;
    dsgd_phase_place *places; /* [n[1]][n[0]] */
    dsgd_phase_block *blocks; /* [n_blocks]: together all places */
    size_t n_blocks;
} dsgd_phase;

/**
 * Opens the grid of an experiment with two or more algorithms and two swept numbers, in which
 * nothing else differs except seeds. Returns DSGD_EUSAGE for any other experiment.
 */
dsgd_status dsgd_phase_open(const dsgd_experiment *experiment, const dsgd_results *results,
                            dsgd_phase *phase, dsgd_error *error);

/**
 * Divides the grid into one block per coarse step. One seed is wanted at the corners of blocks, all
 * seeds at the corners of the grid: their spread is the noise.
 */
void dsgd_phase_begin(dsgd_phase *phase);

/**
 * Reads the results of all wanted runs. Where a difference is within the noise, and not a tie, more
 * seeds are wanted. When that is settled, each block whose known places have no winner (or tie) in
 * common is divided into four. At the corners of the new blocks, the algorithms that can win there
 * are wanted: those whose interpolated throughput is near the best, given how much throughputs
 * change across the block. Returns false if nothing new is wanted.
 */
bool dsgd_phase_refine(dsgd_phase *phase);

/** Marks the wanted runs in chosen[n_runs]. */
void dsgd_phase_choose(const dsgd_phase *phase, bool *chosen);

/** Interpolates, and writes DIR/phase.csv. Uses all runs if dsgd_phase_begin() was not called. */
dsgd_status dsgd_phase_write(dsgd_phase *phase, dsgd_error *error);
