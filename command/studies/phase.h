/**
 * @file phase.h
 * Who is fastest over two swept numbers: a grid of places, some of them simulated.
 */
#pragma once

#include "command/experiment/experiment.h"
#include "command/runs/results.h"

/** Two swept values: who is fastest there, as far as that is known. */
typedef struct dsgd_phase_place {
    size_t at[2]; /* indices of the values */
    size_t *runs; /* [n_algorithms][n_seeds]: numbers from 1; 0: there is none */
    size_t *wanted; /* [n_algorithms]: how many seeds are to be simulated */
    double *logs; /* [n_algorithms]: logarithms of throughputs, simulated or interpolated */
    bool is_wanted; /* any of them */
    bool is_known; /* the winner has been simulated there; else interpolated */
    bool is_uncertain; /* a tie, or the difference is within noise */
    bool is_settled; /* more seeds would change nothing */
    size_t winner, second; /* algorithms; where the logarithm is NAN nobody is */
    double ratio, low, high; /* throughput of the winner over the second's; NAN: not known */
} dsgd_phase_place;

/** A rectangle of places, corners included, whose inside is interpolated. */
typedef struct dsgd_phase_block {
    size_t from[2], to[2];
} dsgd_phase_block;

/** What it points to is the experiment's. */
typedef struct dsgd_phase {
    const dsgd_experiment *experiment;
    const dsgd_results *results;
    const char **out; /* [n_runs]: why it cannot win (dsgd_study_outcomes()); NULL: it can */
    size_t columns[2]; /* of the experiment: along x and y */
    size_t n[2]; /* swept values */
    double *values[2]; /* rising */
    size_t n_algorithms, n_seeds;
    const char **labels; /* [n_algorithms] */
    double noise[4]; /* of the logarithm of a ratio, between seeds: at the corners of the grid */
    size_t n_places;
    dsgd_phase_place *places; /* [n[1]][n[0]] */
    dsgd_phase_block *blocks; /* [n_blocks]: together all places */
    size_t n_blocks;
} dsgd_phase;

/**
 * The grid of an experiment with two or more algorithms, in which two numbers are swept and nothing
 * else but seeds; DSGD_EUSAGE: it is another.
 */
dsgd_status dsgd_phase_open(const dsgd_experiment *experiment, const dsgd_results *results,
                            dsgd_phase *phase, dsgd_error *error);

/**
 * Begins with all places in one block for each coarse step. Of the places at their corners one seed
 * is wanted, of those at the corners of the grid all: their spread is the noise.
 */
void dsgd_phase_begin(dsgd_phase *phase);

/**
 * Reads the results of all that is wanted. Where a difference is within noise, and no tie, more
 * seeds are wanted. When that is settled, each block is cut in four whose known places have no
 * winner (or tie) in common; at the corners of the new ones the algorithms are wanted that can win
 * there: whose interpolated throughput is near the best, as far as throughputs change across the
 * block. False: nothing new is wanted.
 */
bool dsgd_phase_refine(dsgd_phase *phase);

/** Marks the runs that are wanted: chosen[n_runs]. */
void dsgd_phase_choose(const dsgd_phase *phase, bool *chosen);

/** Interpolates, and writes DIR/phase.csv: of all runs, if dsgd_phase_begin() was not called. */
dsgd_status dsgd_phase_write(dsgd_phase *phase, dsgd_error *error);
