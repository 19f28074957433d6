/**
 * @file ratio.h
 * Ratios over seeds, on a logarithmic scale: twice as fast and half as fast are as far from 1.
 */
#ifndef DSGD_COMMAND_ANALYSIS_RATIO_H
#define DSGD_COMMAND_ANALYSIS_RATIO_H

#include <stdbool.h>
#include <stddef.h>

/** Most seeds that are advised. */
enum { DSGD_MOST_SEEDS = 1000 };

typedef struct dsgd_ratio {
    size_t n; /* seeds; 0: there is no ratio */
    double ratio; /* geometric mean; NAN: none */
    double low, high; /* 95 % interval; NAN for n < 2 */
    /*
     * Seeds after which the interval would leave out 1, were mean and deviation to stay; 0: it
     * does now, or it is not known (n < 2); more than DSGD_MOST_SEEDS: too many.
     */
    size_t n_settling;
} dsgd_ratio;

/** Of the logarithms of the ratios of @p n seeds. */
dsgd_ratio dsgd_ratio_of(const double *logs, size_t n);

/** Logarithms of ratios along a swept value. */
typedef struct dsgd_ladder {
    size_t n_places, n_seeds;
    const double *x; /* [n_places], rising */
    const double *logs; /* [n_places][n_seeds]; NAN: not known */
} dsgd_ladder;

/** Where the mean over seeds passes a level. */
typedef struct dsgd_crossing {
    bool rises;
    size_t n; /* seeds that pass there by themselves */
    double at; /* mean of theirs where all seeds pass, else that of the mean */
    double low, high; /* 95 % interval; NAN where not all pass, or for one seed */
} dsgd_crossing;

/**
 * The crossings of log(level), of which @p crossings takes n_places - 1; gives their number. Between
 * places the ratios are straight lines: over log x where x spans a factor of ten.
 */
size_t dsgd_crossings_of(const dsgd_ladder *ladder, double level, dsgd_crossing *crossings);

#endif
