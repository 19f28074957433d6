/**
 * @file histograms.c
 * Histograms as tables.
 */
#include "command/runs/histograms.h"

#include "base/csv.h"

const char dsgd_staleness_columns[] = "run,algorithm,workers,seed,measure,age,share";
const char dsgd_step_columns[] = "run,algorithm,workers,seed,step_s,share";

static void print_ages(FILE *stream, const dsgd_run_key *key, const char *measure,
                       const dsgd_ages *ages)
{
    for (size_t age = 0; age < ages->n; age++) {
        if (ages->share[age] == 0)
            continue;
        dsgd_run_key_print(stream, key);
        fprintf(stream, ",%s,%zu", measure, age);
        dsgd_csv_numbers(stream, &ages->share[age], 1);
        fprintf(stream, "%s\n", key->swept);
    }
}

void dsgd_staleness_print(FILE *stream, const dsgd_run_key *key, const dsgd_run_result *result)
{
    print_ages(stream, key, "staleness", &result->ages);
    print_ages(stream, key, "gradient_staleness", &result->gradient_ages);
}

void dsgd_step_times_print(FILE *stream, const dsgd_run_key *key, const dsgd_run_result *result)
{
    const dsgd_step_times *const times = &result->step_times;
    for (size_t k = 0; k < times->n; k++) {
        dsgd_run_key_print(stream, key);
        dsgd_csv_numbers(stream, (double[]){times->bin[k].step_s, times->bin[k].share}, 2);
        fprintf(stream, "%s\n", key->swept);
    }
}
