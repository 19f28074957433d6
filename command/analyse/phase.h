/**
 * @file phase.h
 * Who is fastest over two swept numbers: a grid of cells, of which some have been simulated.
 */
#ifndef DSGD_COMMAND_ANALYSE_PHASE_H
#define DSGD_COMMAND_ANALYSE_PHASE_H

#include "command/experiment/experiment.h"

/** What is known of an algorithm, or of all of them, at two swept values. */
typedef struct dsgd_phase_cell {
    bool is_wanted; /* to be simulated */
    bool is_known; /* all algorithms have been simulated there; else interpolated */
    bool is_uncertain; /* the 95 % interval of winner / second includes 1 */
    size_t winner, second; /* algorithms */
    double ratio, low, high; /* throughput of the winner over the second's; NAN: not known */
} dsgd_phase_cell;

/** A rectangle of cells, corners included, whose inside is interpolated. */
typedef struct dsgd_phase_block {
    size_t from[2], to[2];
} dsgd_phase_block;

typedef struct dsgd_phase {
    const dsgd_experiment *experiment;
    const char *folder; /* of results */
    size_t columns[2]; /* of the experiment: along x and y */
    size_t n[2]; /* swept values */
    double *values[2]; /* rising */
    size_t n_algorithms, n_seeds;
    const char **labels; /* [n_algorithms] */
    size_t *runs; /* [n[1]][n[0]][n_algorithms][n_seeds]: numbers from 1; 0: there is none */
    double *logs; /* [n[1]][n[0]][n_algorithms]: mean logarithms of throughputs */
    dsgd_phase_cell *cells; /* [n[1]][n[0]] */
    dsgd_phase_block *blocks; /* [n_blocks]: together all cells */
    size_t n_blocks;
} dsgd_phase;

/**
 * The grid of an experiment with two or more algorithms, of which two numbers are swept and nothing
 * else but seeds; DSGD_EUSAGE: it is another. Close it in any case.
 */
dsgd_status dsgd_phase_open(const dsgd_experiment *experiment, const char *folder,
                            dsgd_phase *phase, dsgd_error *error);
void dsgd_phase_close(dsgd_phase *phase);

/** Begins with a block of all cells in coarse steps: marks the cells at their corners as wanted. */
void dsgd_phase_begin(dsgd_phase *phase);

/**
 * Reads the results of all wanted cells, and cuts in four each block in which the winner changes
 * or is uncertain. The corners of the new ones are wanted; false: nothing new is.
 */
bool dsgd_phase_refine(dsgd_phase *phase);

/** All cells are wanted. */
void dsgd_phase_want_all(dsgd_phase *phase);

/** Marks the runs of wanted cells: chosen[n_runs]. */
void dsgd_phase_choose(const dsgd_phase *phase, bool *chosen);

/** Interpolates the other cells, and writes DIR/phase.csv. */
dsgd_status dsgd_phase_write(dsgd_phase *phase, dsgd_error *error);

#endif
