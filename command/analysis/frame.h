/**
 * @file frame.h
 * The runs of a table like runs.csv by four coordinates, and the one rule of what counts, what is
 * averaged and what is compared.
 *
 * *Series*: who is compared, by default the algorithm with its own swept options. *Place*: all else
 * that is the same for those who are compared: workers, platform, workload, swept values. *Seed*.
 * *Variation*: parameter and factor of --sensitivity; 0: none. Runs that differ in the seed alone
 * are a point.
 *
 * Runs with the same seed have the same draws (common random numbers), so differences and ratios
 * are taken seed by seed: the variance between seeds cancels. The baseline is allreduce, or else
 * the algorithm of the first row, at the same place and variation; of its own swept options it has
 * the first values.
 */
#pragma once

#include <jansson.h>

#include "base/csv.h"
#include "command/console/table.h"

/** Ratios closer to 1 are a tie: nobody would choose by them. */
#define DSGD_TIE 0.02

/** Two results of the same arithmetic differ by less than this share of them. */
#define DSGD_ROUNDING 1e-9

/** Most seeds that are advised. */
enum { DSGD_MOST_SEEDS = 1000 };

/* --- statistics over seeds -------------------------------------------------------------------- */

/**
 * Mean of @p n seeds, and half width of its 95 % interval (Student's t). NAN: ci for n < 2, mean
 * for n = 0.
 *
 * What figures draw is that interval from three seeds on. Of two it is 12.7 times as long as from
 * the mean to either of them, because one degree of freedom says next to nothing of how far seeds
 * scatter: then it is their range, which figures say, and of one seed nothing.
 */
typedef struct dsgd_interval {
    double mean, ci;
    size_t n;
    double drawn; /* half width */
} dsgd_interval;

dsgd_interval dsgd_mean(const double *x, size_t n);

/** A ratio over seeds, on a logarithmic scale: twice as fast and half as fast are as far from 1. */
typedef struct dsgd_ratio {
    size_t n; /* seeds; 0: there is no ratio */
    double ratio; /* geometric mean; NAN: none */
    double low, high; /* 95 % interval; NAN for n < 2 */
    double drawn; /* half width in figures, as dsgd_interval's */
    /*
     * Seeds after which the interval would leave out 1, were mean and deviation to stay; 0: it
     * does now, or it is not known (n < 2); more than DSGD_MOST_SEEDS: too many.
     */
    size_t n_settling;
} dsgd_ratio;

/** Of the logarithms of the ratios of @p n seeds. */
dsgd_ratio dsgd_ratio_of(const double *logs, size_t n);

/** "1.41 (1.38 to 1.45)", or less where there is less. */
const char *dsgd_ratio_text(const dsgd_ratio *ratio);

/* --- names ------------------------------------------------------------------------------------ */

/** Different texts, numbered in the order in which they came. Starts as {.n = 0}. */
typedef struct dsgd_names {
    const char **v; /* [n], and a NULL behind them; NULL: there is none */
    size_t n;
    json_t *numbers; /* by text */
} dsgd_names;

/** The number of @p text, which is added where it is new, and has to stay. */
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
    size_t *rows, n_rows; /* in the order of the table */
    const struct dsgd_frame_point *baseline; /* NULL: there is none at its place */
} dsgd_frame_point;

typedef struct dsgd_frame {
    const dsgd_csv *csv;
    size_t status; /* column */
    size_t first_swept; /* column; further swept ones follow up to csv->n_columns */
    size_t *keys, n_keys; /* columns that name a point: the algorithm first, swept ones last */
    size_t *n_values; /* [n_keys]: different ones in all points */
    size_t by; /* the key by which baseline and others differ: 0 is the algorithm */
    const char *baseline; /* its value; NULL: there is no point */
    dsgd_frame_point *points; /* [n_points], in the order of their first rows */
    size_t n_points, n_left_out; /* rows without results are in no point */
    size_t n[DSGD_N_COORDINATES]; /* different series, places, variations: the first is "none" */
    size_t *point_of; /* [n_rows of the table]; SIZE_MAX: in none */
    size_t *seed_of; /* [n_rows]: rows with the same have the same seed */
} dsgd_frame;

/** How runs are framed; all 0: the rule above. */
typedef struct dsgd_framing {
    const char *by; /* a column in place of the algorithm */
    const char *baseline; /* one of its values, perhaps in other units (8GB/s) */
    bool planned; /* rows without results are in points too: runs of a study, before they ran */
} dsgd_framing;

/** DSGD_EUSAGE: there is no such column or baseline; DSGD_EIO: a column is missing. */
dsgd_status dsgd_frame_open(const dsgd_csv *csv, const dsgd_framing *framing, dsgd_frame *frame,
                            dsgd_error *error);

/** The name of key @p k, its value at a point, and which coordinate it is a part of. */
const char *dsgd_frame_key(const dsgd_frame *frame, size_t k);
const char *dsgd_frame_value(const dsgd_frame *frame, const dsgd_frame_point *point, size_t k);
dsgd_coordinate dsgd_frame_part(const dsgd_frame *frame, size_t k);

/** "group 4" for readers; "" where the point has no value. */
const char *dsgd_frame_text(const dsgd_frame *frame, const dsgd_frame_point *point, size_t k);

/**
 * What distinguishes the point beside its algorithm and key @p without: "group 4, workers 8"; of
 * the coordinates whose bits (1 << DSGD_PLACE) are in @p parts.
 */
char *dsgd_frame_settings(const dsgd_frame *frame, const dsgd_frame_point *point, int parts,
                          size_t without, const char *separator);

/** The algorithm and what distinguishes the point: "wagma; group 4" (gnuplot ends a text at a
 * comma). */
char *dsgd_frame_label(const dsgd_frame *frame, const dsgd_frame_point *point);

/** "16 workers, seconds 320ms": what the point's place is called. */
const char *dsgd_frame_place(const dsgd_frame *frame, const dsgd_frame_point *point);

/** Begins a row of a table with the algorithm of a point and its values of keys that differ. */
void dsgd_frame_take_keys(const dsgd_frame *frame, const dsgd_frame_point *point, dsgd_columns *t);

/** Writes the fields of all keys of a point (NULL: their names), with a comma after each. */
void dsgd_frame_put_keys(FILE *stream, const dsgd_frame *frame, const dsgd_frame_point *point);

/** The point's first row with the seed of @p row (of any point); SIZE_MAX: none. */
size_t dsgd_frame_seed(const dsgd_frame *frame, const dsgd_frame_point *point, size_t row);

/** How many runs of a point have a status. */
size_t dsgd_frame_count(const dsgd_frame *frame, const dsgd_frame_point *point, const char *status);

/** The currency of costs, one in an experiment; "": no run has a cost. */
const char *dsgd_frame_currency(const dsgd_frame *frame);

/* --- numbers ---------------------------------------------------------------------------------- */

/**
 * Whether a column's value of a row counts, in whatever table it stands: of runs that are ok, and
 * of those that diverged what their timing gave, but not what they learned.
 */
bool dsgd_frame_counts(const dsgd_frame *frame, size_t row, const char *column);

/** The number of a column in a row. NAN: the field has no number, or the number does not count. */
double dsgd_frame_number(const dsgd_frame *frame, size_t row, const char *column);

/** The same for all rows. */
double *dsgd_frame_numbers(const dsgd_frame *frame, const char *column);

/** Copies the numbers of a point's seeds that have one into known[n_rows]; returns how many. */
size_t dsgd_frame_known(const dsgd_frame_point *point, const double *x, double *known);

/** The mean of a point, over the seeds that have a number; @p x as of dsgd_frame_numbers(). */
dsgd_interval dsgd_frame_mean(const dsgd_frame_point *point, const double *x);

/**
 * The pairs of numbers of a point and another, of each seed that has both, into own[n] and
 * others[n], which have room for point->n_rows. Gives n.
 */
size_t dsgd_frame_pairs(const dsgd_frame *frame, const dsgd_frame_point *point,
                        const dsgd_frame_point *other, const double *x, double *own,
                        double *others);

/** How many times the other's a point's numbers are, over these pairs; n = 0 for NULL. */
dsgd_ratio dsgd_frame_ratio(const dsgd_frame *frame, const dsgd_frame_point *point,
                            const dsgd_frame_point *other, const double *x);
