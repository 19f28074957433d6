/**
 * @file curve.c
 * Columns and rows of curves.csv.
 */
#include "command/runs/curve.h"

#include <math.h>

#include "base/csv.h"

const char dsgd_curve_columns[] =
    "run,algorithm,workers,seed,virtual_s,steps,loss,accuracy,consensus";

void dsgd_run_key_print(FILE *stream, const dsgd_run_key *key)
{
    fprintf(stream, "%zu,%s,%d,%llu", key->run, key->label, key->workers,
            (unsigned long long)key->seed);
}

void dsgd_curve_print(FILE *stream, const dsgd_run_key *key, size_t n, const dsgd_point *points)
{
    for (size_t i = 0; i < n && !isnan(points[i].at.loss); i++) {
        dsgd_run_key_print(stream, key);
        const double cells[] = {points[i].virtual_s, points[i].steps, points[i].at.loss,
                                points[i].at.accuracy, points[i].at.consensus};
        dsgd_csv_numbers(stream, cells, sizeof cells / sizeof cells[0]);
        fprintf(stream, "%s\n", key->swept);
    }
}
