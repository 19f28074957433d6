/**
 * @file frame.h
 * Groups the runs of a table like runs.csv by four coordinates, and defines the numbers that count,
 * are averaged and are compared.
 *
 * The first coordinate is the *series*: the compared candidate, by default the algorithm with the
 * swept options that only it has. The second is the *place* or setting: the values that the
 * compared candidates share, that is workers, platform, workload and swept values. The third is the
 * *seed*. The fourth is the *variation*: parameter and factor of --sensitivity, or 0 for none. A
 * *point* is the set of runs that differ only in the seed.
 *
 * Runs with the same seed use the same random numbers (common random numbers). Differences and
 * ratios are computed seed by seed, so the variance between seeds cancels. The baseline is
 * allreduce, or else the algorithm of the first row, at the same place and variation. If options of
 * the baseline are swept, it has their first values.
 */
#pragma once

#include <jansson.h>

#include "base/csv.h"
#include "command/console/table.h"

/** A ratio that differs from 1 by less than this is a tie, because no reader would choose by it. */
#define DSGD_TIE 0.02

/** If the relative difference of two results is below this, they are equal except for rounding. */
#define DSGD_ROUNDING 1e-9

/** Largest number of seeds that the program recommends. */
enum { DSGD_MOST_SEEDS = 1000 };

/* --- statistics over seeds -------------------------------------------------------------------- */

/**
 * The mean over @p n seeds and half of the width of its 95 % interval (Student's t). The interval
 * is NAN if n < 2, and the mean is NAN if n = 0.
 *
 * Figures draw this interval if there are at least three seeds. For two seeds, the interval would
 * be 12.7 times as long as the distance from the mean to either value. The reason is that one
 * degree of freedom hardly estimates the deviation between seeds. For two seeds, figures therefore
 * draw the range of the two values, with a note. For one seed, figures draw no interval.
 */
typedef struct dsgd_interval {
    double mean, ci;
    size_t n;
    double drawn; /* half of the width of the interval in figures */
} dsgd_interval;

/** Returns the mean of @p n numbers, with its 95 % interval and its interval in figures. */
dsgd_interval dsgd_mean(const double *x, size_t n);

/**
 * A mean ratio over seeds. It is computed from logarithms, so that 2 and 1/2 are equally far from
 * 1.
 */
typedef struct dsgd_ratio {
    size_t n; /* number of seeds; 0 if the ratio is unknown */
    double ratio; /* geometric mean of the ratios; NAN if the ratio is unknown */
    double low, high; /* 95 % interval of the ratio; NAN if n < 2 */
    double drawn; /* half of the width of the interval in figures, as in dsgd_interval */
    /*
     * Number of seeds for which the interval would exclude 1, if mean and deviation stayed the
     * same. The number is 0 if the interval already excludes 1, or if the number is unknown (n <
     * 2). A number above DSGD_MOST_SEEDS means that too many seeds would be needed.
     */
    size_t n_settling;
} dsgd_ratio;

/** Returns the mean ratio over @p n seeds. logs[n] contains the logarithm of each seed's ratio. */
dsgd_ratio dsgd_ratio_of(const double *logs, size_t n);

/**
 * Returns a ratio with its interval, such as "1.41 (1.38 to 1.45)". Returns "" if the ratio is
 * unknown.
 */
const char *dsgd_ratio_text(const dsgd_ratio *ratio);

/* --- names ------------------------------------------------------------------------------------ */

/**
 * A list of distinct texts. The texts are numbered in the order in which they are added. An empty
 * list is {.n = 0}.
 */
typedef struct dsgd_names {
    const char **v; /* array of n texts, and a NULL at the end; NULL if n is 0 */
    size_t n;
    json_t *numbers; /* JSON object with the number of each text */
} dsgd_names;

/**
 * Returns the number of @p text in the list. If the list lacks the text, adds it. The text must
 * stay valid.
 */
size_t dsgd_names_add(dsgd_names *list, const char *text);

/* --- the frame -------------------------------------------------------------------------------- */

typedef enum dsgd_coordinate {
    DSGD_SERIES,
    DSGD_PLACE,
    DSGD_VARIATION,
    DSGD_N_COORDINATES
} dsgd_coordinate;

enum { DSGD_ALL_COORDINATES = (1 << DSGD_N_COORDINATES) - 1 };

/** A point: the runs of one series, place and variation. */
typedef struct dsgd_frame_point {
    size_t at[DSGD_N_COORDINATES]; /* indices of the point's series, place and variation */
    size_t *rows, n_rows; /* rows of the point's runs, in the order of the table */
    const struct dsgd_frame_point *baseline; /* baseline of the point; NULL if there is no baseline
                                              * at the point's place */
} dsgd_frame_point;

typedef struct dsgd_frame {
    const dsgd_csv *csv;
    size_t status; /* index of the column `status` */
    size_t first_swept; /* index of the first swept column; all later columns are swept too */
    /* columns that identify a point: the algorithm first, swept columns last */
    size_t *keys, n_keys;
    size_t *n_values; /* array [n_keys] of the number of distinct values over all points */
    size_t by; /* index of the key in which candidates and baseline differ; 0 is the algorithm */
    /* value of the key `by` at the baseline; NULL if the frame has no points */
    const char *baseline;
    dsgd_frame_point *points; /* array of n_points points, in the order of their first rows */
    size_t n_points, n_left_out; /* n_points: number of points; n_left_out: number of rows without
                                  * results, which belong to no point */
    size_t n[DSGD_N_COORDINATES]; /* number of series, number of places and number of variations;
                                   * the first variation is "none" */
    size_t *point_of; /* array [n_rows of the table]: index of each row's point; SIZE_MAX if the row
                       * has no point */
    /* array [n_rows of the table]: a number that identifies the seed of each row */
    size_t *seed_of;
} dsgd_frame;

/**
 * Options of a frame. If all members are 0, the frame follows the rules at the top of this file.
 */
typedef struct dsgd_framing {
    const char *by; /* name of the column whose values are compared; NULL selects the algorithm */
    const char *baseline; /* value of this column at the baseline; it may have other units, such as
                           * 8GB/s; NULL selects the default */
    /* true to include rows without results, such as runs of a study before they start */
    bool planned;
} dsgd_framing;

/**
 * Groups the rows of @p csv into points. Returns DSGD_EUSAGE if a column or baseline is unknown.
 * Returns DSGD_EIO if a column is missing.
 */
dsgd_status dsgd_frame_open(const dsgd_csv *csv, const dsgd_framing *framing, dsgd_frame *frame,
                            dsgd_error *error);

/**
 * Returns the name of key @p k. The second function returns the value of the key at a point. The
 * third function returns the coordinate to which the key belongs.
 */
const char *dsgd_frame_key(const dsgd_frame *frame, size_t k);
const char *dsgd_frame_value(const dsgd_frame *frame, const dsgd_frame_point *point, size_t k);
dsgd_coordinate dsgd_frame_part(const dsgd_frame *frame, size_t k);

/**
 * Returns a key with its value as a text for readers, such as "group 4". Returns "" if the point
 * has no value of the key.
 */
const char *dsgd_frame_text(const dsgd_frame *frame, const dsgd_frame_point *point, size_t k);

/**
 * Returns the keys that distinguish the point from other points, with their values, such as "group
 * 4, workers 8". Omits the algorithm and key @p without. Also omits coordinates whose bit (such as
 * 1 << DSGD_PLACE) is not set in @p parts.
 */
char *dsgd_frame_settings(const dsgd_frame *frame, const dsgd_frame_point *point, int parts,
                          size_t without, const char *separator);

/**
 * Returns the algorithm and the keys that distinguish the point from other points, such as "wagma;
 * group 4". The separator is not a comma, because gnuplot ends a text at a comma.
 */
char *dsgd_frame_label(const dsgd_frame *frame, const dsgd_frame_point *point);

/** Returns the name of a point's setting (place), such as "16 workers, seconds 320ms". */
const char *dsgd_frame_place(const dsgd_frame *frame, const dsgd_frame_point *point);

/**
 * Begins a row of a table with the algorithm of a point, and with the point's values of the keys
 * that differ between points.
 */
void dsgd_frame_take_keys(const dsgd_frame *frame, const dsgd_frame_point *point, dsgd_columns *t);

/**
 * Writes the values of all keys of a point, each followed by a comma. If @p point is NULL, writes
 * the names of the keys.
 */
void dsgd_frame_put_keys(FILE *stream, const dsgd_frame *frame, const dsgd_frame_point *point);

/**
 * Returns the point's first row with the same seed as row @p row. Returns SIZE_MAX if there is no
 * such row. @p row may belong to any point.
 */
size_t dsgd_frame_seed(const dsgd_frame *frame, const dsgd_frame_point *point, size_t row);

/** Returns the number of the point's runs with status @p status. */
size_t dsgd_frame_count(const dsgd_frame *frame, const dsgd_frame_point *point, const char *status);

/** Returns the currency of the experiment, or "" if no run has a cost. */
const char *dsgd_frame_currency(const dsgd_frame *frame);

/* --- numbers ---------------------------------------------------------------------------------- */

/**
 * Returns true if the value in a column of a row counts. All values of ok runs count. In diverged
 * runs, times count, but results of training do not count. The column can belong to any table.
 */
bool dsgd_frame_counts(const dsgd_frame *frame, size_t row, const char *column);

/**
 * Returns the number in a column of a row. Returns NAN if the field has no number or if the number
 * does not count.
 */
double dsgd_frame_number(const dsgd_frame *frame, size_t row, const char *column);

/**
 * Returns an array with the number that each row has in a column. An element is NAN if the number
 * does not count.
 */
double *dsgd_frame_numbers(const dsgd_frame *frame, const char *column);

/**
 * Copies the known numbers of a point (numbers that are not NAN) into known[n_rows]. Returns the
 * number of known numbers.
 */
size_t dsgd_frame_known(const dsgd_frame_point *point, const double *x, double *known);

/**
 * Returns the mean of a point over the seeds that have a number. @p x is an array from
 * dsgd_frame_numbers().
 */
dsgd_interval dsgd_frame_mean(const dsgd_frame_point *point, const double *x);

/**
 * Finds the seeds for which both @p point and @p other have a number. Stores the numbers in own[n]
 * and others[n], which need space for point->n_rows numbers. Returns n.
 */
size_t dsgd_frame_pairs(const dsgd_frame *frame, const dsgd_frame_point *point,
                        const dsgd_frame_point *other, const double *x, double *own,
                        double *others);

/**
 * Returns the mean ratio of the numbers of @p point to the numbers of @p other, over the pairs of
 * dsgd_frame_pairs(). If @p other is NULL, the member n of the ratio is 0.
 */
dsgd_ratio dsgd_frame_ratio(const dsgd_frame *frame, const dsgd_frame_point *point,
                            const dsgd_frame_point *other, const double *x);
