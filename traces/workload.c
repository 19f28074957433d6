/**
 * @file workload.c
 * The option table of a workload, and how one gradient splits into pieces.
 */
#include "traces/workload.h"

#include "base/round.h"
#include "traces/imbalance.h"

enum { BYTES_PER_ELEMENT = 4 };

static const dsgd_option tensor_options[] = {
    {.name = "elements",
     .kind = DSGD_LONG,
     .offset = offsetof(dsgd_tensors, elements),
     .min = 1,
     .max = 1e12,
     .required = true,
     .help = "float32 numbers of the tensor"},
    {.name = "count",
     .kind = DSGD_LONG,
     .offset = offsetof(dsgd_tensors, count),
     .init = 1,
     .min = 1,
     .max = 4096,
     .help = "how many such follow each other"},
    {.name = NULL},
};

const dsgd_option dsgd_workload_options[] = {
    {.name = "summary",
     .kind = DSGD_STRING,
     .offset = offsetof(dsgd_workload, summary),
     .help = "what it is"},
    {.name = "origin",
     .kind = DSGD_STRING,
     .offset = offsetof(dsgd_workload, origin),
     .help = "where the figures come from"},
    {.name = "bytes",
     .kind = DSGD_DOUBLE,
     .offset = offsetof(dsgd_workload, bytes),
     .max = 1e15,
     .unit = "bytes",
     .help = "of one gradient; or give tensors"},
    {.name = "tensors",
     .kind = DSGD_RECORDS,
     .offset = offsetof(dsgd_workload, tensors),
     .fields = tensor_options,
     .record_size = sizeof(dsgd_tensors),
     .help = "of one gradient, in backward order; or give bytes"},
    {.name = "step",
     .kind = DSGD_DOUBLE,
     .offset = offsetof(dsgd_workload, step_s),
     .max = 1e9,
     .required = true,
     .unit = "s",
     .help = "time of one step on one GPU, without what imbalance adds"},
    {.name = "samples",
     .kind = DSGD_DOUBLE,
     .offset = offsetof(dsgd_workload, samples),
     .min = 1e-9,
     .max = 1e12,
     .required = true,
     .help = "per worker and step"},
    {.name = "unit",
     .kind = DSGD_STRING,
     .offset = offsetof(dsgd_workload, sample_unit),
     .init_text = "samples",
     .help = "what a sample is: images, tokens"},
    {.name = "backward_share",
     .kind = DSGD_DOUBLE,
     .offset = offsetof(dsgd_workload, backward_share),
     .init = 2.0 / 3,
     .max = 1,
     .help = "share of step, at its end, in which gradients become ready"},
    {.name = "inherent",
     .kind = DSGD_PICKS,
     .offset = offsetof(dsgd_workload, inherent),
     .registry = dsgd_imbalance_kinds,
     .key = "kind",
     .shipped = "imbalance",
     .help = "imbalance that belongs to the workload"},
    {.name = NULL},
};

dsgd_status dsgd_workload_check(const dsgd_workload *workload, dsgd_error *error)
{
    if ((workload->bytes > 0) == (workload->tensors.n > 0))
        return dsgd_fail(error, DSGD_EUSAGE, "workload: give either bytes or tensors, not %s",
                         workload->bytes > 0 ? "both" : "neither");
    return DSGD_OK;
}

double dsgd_workload_bytes(const dsgd_workload *workload)
{
    double bytes = workload->bytes;
    const dsgd_tensors *const tensors = workload->tensors.v;
    for (size_t i = 0; i < workload->tensors.n; i++)
        bytes += (double)BYTES_PER_ELEMENT * (double)tensors[i].elements * (double)tensors[i].count;
    return bytes;
}

static size_t every_tensor(const dsgd_workload *workload, double **bytes)
{
    const dsgd_tensors *const tensors = workload->tensors.v;
    size_t n = 0;
    for (size_t i = 0; i < workload->tensors.n; i++)
        n += (size_t)tensors[i].count;
    *bytes = dsgd_xcalloc(n, sizeof **bytes);
    for (size_t i = 0, k = 0; i < workload->tensors.n; i++)
        for (long j = 0; j < tensors[i].count; j++)
            (*bytes)[k++] = (double)BYTES_PER_ELEMENT * (double)tensors[i].elements;
    return n;
}

/**
 * Whole tensors, until a bucket has reached its size; equal ones where the tensors are not known.
 */
static size_t buckets(const dsgd_workload *workload, double bucket_bytes, double **bytes)
{
    const size_t n = every_tensor(workload, bytes);
    double *const b = *bytes;
    size_t last = 0;
    for (size_t i = 1; i < n; i++) {
        if (b[last] < bucket_bytes)
            b[last] += b[i];
        else
            b[++last] = b[i];
    }
    return last + 1;
}

size_t dsgd_workload_pieces(const dsgd_workload *workload, size_t n_pieces, double bucket_bytes,
                            double **bytes)
{
    const bool tensors = workload->tensors.n > 0;
    const double all = dsgd_workload_bytes(workload);
    if (tensors && bucket_bytes > 0)
        return buckets(workload, bucket_bytes, bytes);
    if (tensors && n_pieces == 0)
        return every_tensor(workload, bytes);
    size_t n = n_pieces == 0 ? 1 : n_pieces;
    if (bucket_bytes > 0)
        n = all > bucket_bytes ? (size_t)dsgd_ceil(all / bucket_bytes) : 1;
    *bytes = dsgd_xcalloc(n, sizeof **bytes);
    for (size_t k = 0; k < n; k++)
        (*bytes)[k] = all / (double)n;
    return n;
}
