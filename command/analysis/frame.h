/**
 * @file frame.h
 * Arranges the runs of a table like runs.csv by four coordinates, and defines which numbers count,
 * are averaged and are compared.
 *
 * *Series*: the candidates that are compared, by default the algorithm with the swept options that
 * only it has. *Place*: everything that compared candidates have in common: workers, platform,
 * workload and swept values. *Seed*. *Variation*: parameter and factor of --sensitivity, or 0 for
 * none. Runs that differ only in the seed are a point.
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

/** Ratios closer to 1 than this are ties, because no reader would choose by them. */
#define DSGD_TIE 0.02

/** Two results of the same arithmetic differ by less than this share of them. */
#define DSGD_ROUNDING 1e-9

/** The largest number of seeds that is advised. */
enum { DSGD_MOST_SEEDS = 1000 };

/* --- statistics over seeds -------------------------------------------------------------------- */

/**
 * The mean of @p n seeds and the half width of its 95 % interval (Student's t). The interval is NAN
 * for n < 2, and the mean is NAN for n = 0.
 *
 * Figures draw this interval if there are at least three seeds. For two seeds it would be 12.7
 * times as long as the distance from the mean to either value, because one degree of freedom hardly
 * estimates how far seeds scatter. Figures then draw the range of the two and say so; for one seed
 * they draw none.
 */
typedef struct dsgd_interval {
    double mean, ci;
    size_t n;
    double drawn; /* half width in figures */
} dsgd_interval;

/** Returns the mean of @p n numbers with its intervals. */
dsgd_interval dsgd_mean(const double *x, size_t n);

/** A ratio over seeds, on a logarithmic scale: twice and half as fast are equally far from 1. */
typedef struct dsgd_ratio {
    size_t n; /* number of seeds; 0 if there is no ratio */
    double ratio; /* geometric mean; NAN if none exists */
    double low, high; /* 95 % interval; NAN for n < 2 */
    double drawn; /* half width in figures, as in dsgd_interval */
    /*
     * Number of seeds with which the interval would exclude 1 if mean and deviation stayed the
     * same. 0 if it does already, or if this is unknown (n < 2). Above DSGD_MOST_SEEDS: too many.
     */
    size_t n_settling;
} dsgd_ratio;

/** Returns the ratio over @p n seeds from the logarithms of their ratios. */
dsgd_ratio dsgd_ratio_of(const double *logs, size_t n);

/** Returns a ratio with its interval, such as "1.41 (1.38 to 1.45)", or "" if none exists. */
const char *dsgd_ratio_text(const dsgd_ratio *ratio);

/* --- names ------------------------------------------------------------------------------------ */

/** A list of different texts, numbered in the order in which they were added. It starts as {.n =
 * 0}. */
typedef struct dsgd_names {
    const char **v; /* [n] and a NULL after the last; NULL if n is 0 */
    size_t n;
    json_t *numbers; /* number of each text */
} dsgd_names;

/** Returns the number of @p text, and adds it if it is new. The text must stay valid. */
size_t dsgd_names_add(dsgd_names *list, const char *text);

/* --- the frame -------------------------------------------------------------------------------- */

typedef enum dsgd_coordinate {
    DSGD_SERIES,
    DSGD_PLACE,
    DSGD_VARIATION,
    DSGD_N_COORDINATES
} dsgd_coordinate;

enum { DSGD_ALL_COORDINATES = (1 << DSGD_N_COORDINATES) - 1 };

/** Runs of one series, place and variation. */
typedef struct dsgd_frame_point {
    size_t at[DSGD_N_COORDINATES]; /* index of its series, its place and its variation */
    size_t *rows, n_rows; /* rows in the order of the table */
    const struct dsgd_frame_point *baseline; /* NULL if none exists at its place */
} dsgd_frame_point;

typedef struct dsgd_frame {
    const dsgd_csv *csv;
    size_t status; /* column */
    size_t first_swept; /* first swept column; the others follow up to csv->n_columns */
    size_t *keys, n_keys; /* columns that identify a point: the algorithm first, swept ones last */
    size_t *n_values; /* [n_keys]: number of different values in all points */
    size_t by; /* the key in which the baseline and the others differ; 0 is the algorithm */
    const char *baseline; /* value of that key at the baseline; NULL if there is no point */
    dsgd_frame_point *points; /* [n_points], in the order of their first rows */
    size_t n_points, n_left_out; /* rows without results, which belong to no point */
    size_t n[DSGD_N_COORDINATES]; /* number of series, places, variations (the first is "none") */
    size_t *point_of; /* [n_rows of the table]: index of the point; SIZE_MAX if none exists */
    size_t *seed_of; /* [n_rows]: a number that is the same for rows with the same seed */
} dsgd_frame;

/** How runs are arranged. All 0 is the rule above. */
typedef struct dsgd_framing {
    const char *by; /* a column to compare instead of the algorithm */
    const char *baseline; /* one of its values, also in other units (8GB/s) */
    bool planned; /* include rows without results, such as runs of a study before they start */
} dsgd_framing;

/** Arranges the rows of @p csv. Returns DSGD_EUSAGE for an unknown column or baseline, DSGD_EIO if
 * a column is missing. */
dsgd_status dsgd_frame_open(const dsgd_csv *csv, const dsgd_framing *framing, dsgd_frame *frame,
                            dsgd_error *error);

/** Return the name of key @p k, its value at a point, and the coordinate to which it belongs. */
const char *dsgd_frame_key(const dsgd_frame *frame, size_t k);
const char *dsgd_frame_value(const dsgd_frame *frame, const dsgd_frame_point *point, size_t k);
dsgd_coordinate dsgd_frame_part(const dsgd_frame *frame, size_t k);

/** Returns a key with its value for readers, such as "group 4"; "" if the point has no value. */
const char *dsgd_frame_text(const dsgd_frame *frame, const dsgd_frame_point *point, size_t k);

/**
 * Returns the keys that distinguish the point, except its algorithm and key @p without, such as
 * "group 4, workers 8". Only coordinates whose bits (1 << DSGD_PLACE) are in @p parts count.
 */
char *dsgd_frame_settings(const dsgd_frame *frame, const dsgd_frame_point *point, int parts,
                          size_t without, const char *separator);

/** Returns the algorithm and the keys that distinguish the point: "wagma; group 4" (gnuplot ends a
 * text at a comma). */
char *dsgd_frame_label(const dsgd_frame *frame, const dsgd_frame_point *point);

/** Returns the name of a point's place, such as "16 workers, seconds 320ms". */
const char *dsgd_frame_place(const dsgd_frame *frame, const dsgd_frame_point *point);

/** Begins a row of a table with the algorithm of a point and its values of keys that differ. */
void dsgd_frame_take_keys(const dsgd_frame *frame, const dsgd_frame_point *point, dsgd_columns *t);

/** Writes the values of all keys of a point (their names if it is NULL), with a comma after each.
 */
void dsgd_frame_put_keys(FILE *stream, const dsgd_frame *frame, const dsgd_frame_point *point);

/** Returns the point's first row with the seed of @p row (of any point), or SIZE_MAX. */
size_t dsgd_frame_seed(const dsgd_frame *frame, const dsgd_frame_point *point, size_t row);

/** Returns the number of runs of a point with a status. */
size_t dsgd_frame_count(const dsgd_frame *frame, const dsgd_frame_point *point, const char *status);

/** Returns the currency of the experiment, or "" if no run has a cost. */
const char *dsgd_frame_currency(const dsgd_frame *frame);

/* --- numbers ---------------------------------------------------------------------------------- */

/**
 * Returns true if the value of a column in a row counts. All values of ok runs count. For runs that
 * diverged, times count, but not the results of training. The column can be of any table.
 */
bool dsgd_frame_counts(const dsgd_frame *frame, size_t row, const char *column);

/** Returns the number of a column in a row, NAN if none exists or it does not count. */
double dsgd_frame_number(const dsgd_frame *frame, size_t row, const char *column);

/** Returns the numbers of a column in all rows. */
double *dsgd_frame_numbers(const dsgd_frame *frame, const char *column);

/** Copies the numbers of a point that are not NAN into known[n_rows], and returns their count. */
size_t dsgd_frame_known(const dsgd_frame_point *point, const double *x, double *known);

/** Returns the mean of a point over the seeds with a number; @p x is a result of
 * dsgd_frame_numbers(). */
dsgd_interval dsgd_frame_mean(const dsgd_frame_point *point, const double *x);

/**
 * Stores the numbers of a point and of another one, for each seed that has both, in own[n] and
 * others[n], which have room for point->n_rows. Returns n.
 */
size_t dsgd_frame_pairs(const dsgd_frame *frame, const dsgd_frame_point *point,
                        const dsgd_frame_point *other, const double *x, double *own,
                        double *others);

/** Returns the ratio of a point's numbers to those of another one over these pairs; n = 0 if it is
 * NULL. */
dsgd_ratio dsgd_frame_ratio(const dsgd_frame *frame, const dsgd_frame_point *point,
                            const dsgd_frame_point *other, const double *x);
