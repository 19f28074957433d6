/**
 * @file workload.c
 * Contains the option table of a workload, checks its options, and splits a gradient into chunks.
 */
#include "traces/workload.h"

#include <limits.h>

#include "base/round.h"
#include "traces/imbalance.h"

enum { BYTES_PER_FLOAT = 4, ACTIVATION_BYTES = 2 };

static const char *const memories[] = {"device", "host", NULL};

static const char *const derived_words[] = {"derived", NULL};

static const dsgd_option transformer_options[] = {
    DSGD_OPTION_DOUBLE(dsgd_transformer, parameters, 0, 0, 1e15, "parameters",
                       "number of parameters of the model, such as 7B; 0: no transformer"),
    DSGD_OPTION_LONG(
        dsgd_transformer, layers, 0, 0, 4096, NULL,
        "number of equal layers, which are the tensors of a gradient in backward order"),
    DSGD_OPTION_DOUBLE(
        dsgd_transformer, width, 0, 0, 1e9, NULL,
        "model dimension (d_model), for the operations of attention; 0: attention is not counted"),
    DSGD_OPTION_DOUBLE(dsgd_transformer, sequence, 0, 0, 1e12, NULL, "tokens per sequence"),
    DSGD_OPTION_DOUBLE(dsgd_transformer, batch, 0, 0, 1e12, NULL, "sequences per worker and step"),
    DSGD_OPTION_DOUBLE_AS("gpu_speed", dsgd_transformer, gpu_flops, 0, 0, 1e20, "flop/s",
                          "peak speed of a GPU in the precision in use, such as 989Tf (H100, bf16) "
                          "or 312Tf (A100, bf16)"),
    DSGD_OPTION_DOUBLE(
        dsgd_transformer, utilisation, 0.41, 1e-6, 1, "share",
        "model FLOPs utilisation (MFU): fraction of gpu_speed that is reached. Llama 3 405B "
        "reached 0.38 to 0.43, including bubbles and communication between GPUs. With inner, which "
        "simulates these, give the value of the kernels only"),
    DSGD_OPTION_LONG(
        dsgd_transformer, gpus, 1, 1, 1e6, NULL,
        "GPUs per worker (tensor or pipeline parallelism, or sharding). Each holds and exchanges "
        "its part of the model through its own NIC. Energy and cost count all GPUs"),
    DSGD_OPTION_END,
};

const char *const dsgd_pipeline_words[DSGD_PIPELINE_KINDS + 1] = {
    [DSGD_PIPELINE_GPIPE] = "gpipe",
    [DSGD_PIPELINE_1F1B] = "1f1b",
    [DSGD_PIPELINE_INTERLEAVED] = "interleaved",
    [DSGD_PIPELINE_GEMS] = "gems",
    [DSGD_PIPELINE_CHIMERA] = "chimera",
    [DSGD_PIPELINE_ZERO_BUBBLE] = "zero-bubble",
    [DSGD_PIPELINE_SWARM] = "swarm",
};

static const char *const speeds[] = {"known", "measured", NULL};

#define PIPELINE(field, init_, ...)                                                                \
    DSGD_OPTION_AS(#field, LONG, dsgd_inner, pipeline.field, __VA_ARGS__, .init = init_)

enum { N_CHUNKS = 2 }; /* default value of option `chunks` */

static const dsgd_option pipeline_options[] = {
    PIPELINE(stages, 1,
             "pipeline stages: consecutive hosts, each with a part of the layers; 1: no pipeline",
             .min = 1, .max = 4096),
    PIPELINE(micro_batches, 1,
             "micro-batches per step that pass through all stages; with jobs: of each job",
             .min = 1, .max = 65536),
    DSGD_OPTION_AS("schedule", CHOICE, dsgd_inner, pipeline.schedule,
                   "pipeline schedule: order of forward and backward passes on a stage "
                   "(sim/hybrid/README.md lists their bubbles)",
                   .words = dsgd_pipeline_words, .init = DSGD_PIPELINE_1F1B),
    PIPELINE(chunks, N_CHUNKS, "model chunks per host (schedule interleaved)", .min = 1, .max = 64),
    PIPELINE(peers, 1, "hosts per stage, of which a micro-batch uses one (schedule swarm)",
             .min = 1, .max = 4096),
    DSGD_OPTION_AS("speeds", CHOICE, dsgd_inner, pipeline.speeds,
                   "speeds of peers by which swarm distributes micro-batches. known: the true "
                   "speeds; measured: a moving average over passes with weight 0.1 for the newest",
                   .words = speeds),
    DSGD_OPTION_AS("migrate_every", DOUBLE, dsgd_inner, pipeline.migrate_s,
                   "time between migrations of a peer to another stage, if that shortens a step "
                   "(schedule swarm); 0: no migration",
                   .max = 1e12, .unit = "s"),
    PIPELINE(jobs, 1,
             "independent training jobs, such as adapters of one frozen model. Their micro-batches "
             "follow each other through the pipeline without a flush (except gpipe). Each job "
             "exchanges its part of the bytes as soon as its gradient is complete",
             .min = 1, .max = 4096),
    DSGD_OPTION_END,
};

static const dsgd_option inner_options[] = {
    DSGD_OPTION_AS("pipeline", STRUCT, dsgd_inner, pipeline, "pipeline parallelism",
                   .fields = pipeline_options, .refines = true),
    DSGD_OPTION_LONG(dsgd_inner, tensor, 1, 1, 4096, NULL,
                     "tensor parallelism: hosts that share the layers of a stage. Each layer needs "
                     "two allreduces over them forward and two backward (Shoeybi et al., 2019)"),
    DSGD_OPTION_LONG(dsgd_inner, shards, 1, 1, 4096, NULL,
                     "sharding (FSDP, ZeRO-3): hosts, or tensor groups, that share the samples of "
                     "a stage and gather its parameters layer by layer"),
    DSGD_OPTION_BOOL(dsgd_inner, contention, true,
                     "true: messages within a worker contend with other messages for NICs; false: "
                     "they take their own time only and delay no other message"),
    DSGD_OPTION_DOUBLE_AS("activations", dsgd_inner, activation_bytes, -1, 0, 1e15, "bytes",
                          "activations between two layers, per step of a worker. derived: batch x "
                          "sequence x width of the transformer at 16 bits",
                          .words = derived_words),
    DSGD_OPTION_END,
};

static const dsgd_option tensor_options[] = {
    DSGD_OPTION_LONG(dsgd_tensors, elements, 0, 1, 1e12, NULL, "number of elements of the tensor",
                     .required = true),
    DSGD_OPTION_LONG(dsgd_tensors, count, 1, 1, 4096, NULL,
                     "number of consecutive tensors of this size"),
    DSGD_OPTION_DOUBLE(dsgd_tensors, uses, 1, 0, 1e9, NULL,
                       "multiplications per element and sample, which determine the tensor's share "
                       "of the backward pass. In a convolution: the number of output positions"),
    DSGD_OPTION_DOUBLE(
        dsgd_tensors, sparse, 0, 0, 1e15, NULL,
        "elements of the rows in a sparse gradient (TensorFlow's IndexedSlices), one row per use. "
        "`exchange: fusion` gathers them from all workers, as Horovod does. 0: a dense gradient"),
    DSGD_OPTION_END,
};

const dsgd_option dsgd_workload_options[] = {
    DSGD_OPTION_STRING(dsgd_workload, summary, "one-line description"),
    DSGD_OPTION_STRING(dsgd_workload, origin, "sources of the numbers"),
    DSGD_OPTION_STRUCT(dsgd_workload, transformer, transformer_options,
                       "language model, from which tensors, step, samples and unit are derived "
                       "unless they are given",
                       .refines = true),
    DSGD_OPTION_STRUCT(
        dsgd_workload, inner, inner_options,
        "hybrid parallelism: a worker is a group of stages x peers x tensor x shards hosts. They "
        "divide the step of one GPU among them, and each exchanges its part with other workers",
        .refines = true),
    DSGD_OPTION_DOUBLE(dsgd_workload, bytes, 0, 0, 1e15, "bytes",
                       "size of one gradient (or give tensors)"),
    DSGD_OPTION_DOUBLE(dsgd_workload, value_bytes, BYTES_PER_FLOAT, 0.125, 8, "bytes",
                       "size of an element of a gradient or model when it is exchanged without "
                       "gradient compression, such as 2 for 16-bit numbers"),
    DSGD_OPTION_STRUCTS(dsgd_workload, tensors, dsgd_tensors, tensor_options,
                        "tensors of one gradient, in backward order (or give bytes)"),
    DSGD_OPTION_DOUBLE_AS("step", dsgd_workload, step_s, -1, 0, 1e9, "s",
                          "time of one step on one GPU, without imbalance. derived: from "
                          "`transformer`; required without one",
                          .words = derived_words),
    DSGD_OPTION_DOUBLE(
        dsgd_workload, samples, -1, 1e-9, 1e12, NULL,
        "samples per worker and step. derived: from `transformer`; required without one",
        .words = derived_words),
    DSGD_OPTION_AS("unit", STRING, dsgd_workload, sample_unit,
                   "name of a sample, such as images or tokens [default: tokens if `transformer` "
                   "gives their number, else samples]"),
    DSGD_OPTION_DOUBLE(dsgd_workload, backward_share, 2.0 / 3, 0, 1, "share",
                       "share of the backward pass in step. It is at the end of the step, and "
                       "gradients become ready during it"),
    DSGD_OPTION_CHOICE(dsgd_workload, memory, memories,
                       "memory of gradients and models. device: they are copied to the host if the "
                       "platform has `staging`"),
    DSGD_OPTION_SPECS(dsgd_workload, inherent, dsgd_imbalance_kinds, "kind",
                      "imbalance that belongs to the workload", .shipped = "imbalance"),
    DSGD_OPTION_END,
};

int dsgd_workload_hosts(const dsgd_workload *workload)
{
    const dsgd_inner *const inner = &workload->inner;
    const int64_t hosts =
        dsgd_at_least_one(inner->pipeline.stages) * dsgd_at_least_one(inner->tensor) *
        dsgd_at_least_one(inner->pipeline.peers) * dsgd_at_least_one(inner->shards);
    return hosts < INT_MAX ? (int)hosts : INT_MAX;
}

int dsgd_workload_gpus(const dsgd_workload *workload)
{
    const int hosts = dsgd_workload_hosts(workload);
    return hosts == 1 && workload->transformer.parameters > 0 ? (int)workload->transformer.gpus
                                                              : hosts;
}

double dsgd_workload_value_bytes(const dsgd_workload *workload)
{
    return workload->value_bytes > 0 ? workload->value_bytes : BYTES_PER_FLOAT;
}

static double derived_step_s(const dsgd_transformer *t)
{
    const double tokens = t->batch * t->sequence, gpus = (double)t->gpus;
    const double of_token = 6 * t->parameters + 12 * (double)t->layers * t->width * t->sequence;
    return tokens * of_token / (t->gpu_flops * t->utilisation * gpus);
}

bool dsgd_workload_counts_twice(const dsgd_workload *workload)
{
    const dsgd_transformer *const t = &workload->transformer;
    return dsgd_workload_hosts(workload) > 1 && t->parameters > 0 &&
           t->utilisation == dsgd_option_find(transformer_options, "utilisation")->init &&
           workload->step_s == derived_step_s(t);
}

static dsgd_status derive_from(const dsgd_transformer *t, dsgd_workload *workload,
                               dsgd_error *error)
{
    static const double least_flops = 1e6;
    if (t->parameters <= 0 || t->layers < 1 || t->sequence <= 0 || t->batch <= 0 ||
        t->gpu_flops <= 0)
        return dsgd_refuse(error, "transformer: parameters, layers, sequence, batch and gpu_speed "
                                  "must all be above 0");
    if (t->gpu_flops < least_flops)
        return dsgd_refuse(
            error,
            "transformer: gpu_speed must be at least %g flop/s, got %g. Give a unit, "
            "such as 989Tf",
            least_flops, t->gpu_flops);
    if (workload->step_s < 0)
        workload->step_s = derived_step_s(t);
    if (workload->samples < 0)
        workload->samples = t->batch * t->sequence;
    if (workload->bytes > 0 || workload->tensors.n > 0)
        return DSGD_OK;
    const double elements = t->parameters / (double)t->layers / (double)t->gpus;
    dsgd_tensors *const layers = dsgd_keep(1, sizeof *layers);
    *layers = (dsgd_tensors){
        .elements = (int64_t)fmax(1, round(elements)), .count = t->layers, .uses = 1};
    workload->tensors = (dsgd_structs){1, layers};
    return DSGD_OK;
}

dsgd_status dsgd_workload_derive(dsgd_workload *workload, dsgd_error *error)
{
    const dsgd_transformer *const t = &workload->transformer;
    const double any = t->parameters + (double)t->layers + t->width + t->sequence + t->batch;
    if (workload->sample_unit == NULL)
        workload->sample_unit = workload->samples < 0 ? "tokens" : "samples";
    if (any > 0 || t->gpu_flops > 0 || t->gpus > 1)
        DSGD_TRY(derive_from(t, workload, error));
    if (workload->inner.activation_bytes < 0 && t->width > 0)
        workload->inner.activation_bytes = ACTIVATION_BYTES * t->batch * t->sequence * t->width;
    if (workload->step_s < 0 || workload->samples < 0)
        return dsgd_refuse(error, "%s is missing. Set it, or a transformer",
                           workload->step_s < 0 ? "step" : "samples");
    return DSGD_OK;
}

/** Checks the options of a worker that has several hosts. */
static dsgd_status check_inner(const dsgd_workload *workload, dsgd_error *error)
{
    const dsgd_inner *const inner = &workload->inner;
    const dsgd_transformer *const t = &workload->transformer;
    const int64_t stages = inner->pipeline.stages, chunks = inner->pipeline.chunks;
    const int64_t jobs = dsgd_at_least_one(inner->pipeline.jobs);
    const int64_t micro_batches = inner->pipeline.micro_batches * jobs;
    const bool in_layers = inner->tensor > 1 || inner->shards > 1;
    const bool is_swarm = inner->pipeline.schedule == DSGD_PIPELINE_SWARM;
    const bool in_chunks = inner->pipeline.schedule == DSGD_PIPELINE_INTERLEAVED;
    const bool moves = inner->pipeline.migrate_s > 0;
    const struct {
        bool is_wrong;
        const char *why;
    } rules[] = {
        {t->gpus > 1, dsgd_xprintf("transformer: gpus must be 1 or absent, got %jd. inner "
                                   "determines the hosts of a worker",
                                   t->gpus)},
        {workload->step_s <= 0,
         dsgd_xprintf("step must be above 0 s, got %g s. inner divides it among the worker's hosts",
                      workload->step_s)},
        {in_layers && (t->parameters <= 0 || t->layers < 1),
         "inner: tensor and shards need a transformer, whose layers they divide"},
        {is_swarm && in_layers, "inner: tensor and shards must be 1 with schedule: swarm, in which "
                                "a peer is one host"},
        {!is_swarm && inner->pipeline.peers > 1,
         "inner: pipeline: peers needs schedule: swarm. Remove peers, or set that schedule"},
        {(inner->pipeline.speeds > 0 || moves) && inner->pipeline.peers < 2,
         dsgd_xprintf("inner: pipeline: %s needs schedule: swarm and at least 2 peers",
                      inner->pipeline.speeds > 0 ? "speeds" : "migrate_every")},
        {moves && stages < 2, "inner: pipeline: migrate_every needs at least 2 stages"},
        {!in_chunks && chunks > 0 && chunks != N_CHUNKS,
         dsgd_xprintf("inner: pipeline: chunks (%jd) needs schedule: interleaved. Remove chunks, "
                      "or set that schedule",
                      chunks)},
        {t->parameters > 0 && t->layers < stages * (in_chunks ? chunks : 1),
         dsgd_xprintf("inner: pipeline: %jd stages%s, but the transformer has only %jd layers. "
                      "Each %s needs at least one layer",
                      stages, in_chunks ? dsgd_xprintf(" of %jd chunks", chunks) : "", t->layers,
                      in_chunks ? "chunk" : "stage")},
        {t->batch > 0 && (double)micro_batches > t->batch,
         dsgd_xprintf("inner: pipeline: micro_batches%s must be at most the transformer's batch, "
                      "%g, got %jd",
                      jobs > 1 ? " of all jobs together" : "", t->batch, micro_batches)},
        {inner->activation_bytes < 0,
         "inner: activations is missing. Set it, or the width of a transformer"},
    };
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (rules[i].is_wrong)
            return dsgd_refuse(error, "workload: %s", rules[i].why);
    return DSGD_OK;
}

dsgd_status dsgd_workload_check(const dsgd_workload *workload, dsgd_error *error)
{
    if ((workload->bytes > 0) == (workload->tensors.n > 0))
        return dsgd_refuse(error,
                           "workload: exactly one of bytes and tensors must be given, got %s",
                           workload->bytes > 0 ? "both" : "neither");
    return dsgd_workload_hosts(workload) > 1 ? check_inner(workload, error) : DSGD_OK;
}

/** Returns the size of all tensors in a row of the tensor list, in bytes. */
static double bytes_of(const dsgd_workload *workload, const dsgd_tensors *row)
{
    return dsgd_workload_value_bytes(workload) * (double)row->elements * (double)row->count;
}

double dsgd_workload_bytes(const dsgd_workload *workload)
{
    double bytes = workload->bytes;
    const dsgd_tensors *const tensors = workload->tensors.v;
    for (size_t i = 0; i < workload->tensors.n; i++)
        bytes += bytes_of(workload, &tensors[i]);
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
        for (int64_t j = 0; j < tensors[i].count; j++)
            (*bytes)[k++] = dsgd_workload_value_bytes(workload) * (double)tensors[i].elements;
    return n;
}

/**
 * Collects whole tensors in buckets. A bucket is full when it reaches its size. Returns the number
 * of buckets, and stores their sizes in *bytes.
 */
static size_t in_buckets(const dsgd_workload *workload, dsgd_buckets buckets, double **bytes)
{
    const size_t n = every_tensor(workload, bytes);
    double *const b = *bytes;
    size_t last = 0;
    for (size_t i = 1; i < n; i++) {
        if (b[last] < (last == 0 && buckets.first_bytes > 0 ? buckets.first_bytes : buckets.bytes))
            b[last] += b[i];
        else
            b[++last] = b[i];
    }
    return last + 1;
}

size_t dsgd_workload_pieces(const dsgd_workload *workload, size_t n_pieces, dsgd_buckets buckets,
                            double **bytes)
{
    const bool tensors = workload->tensors.n > 0;
    const double all = dsgd_workload_bytes(workload);
    if (tensors && buckets.bytes > 0)
        return in_buckets(workload, buckets, bytes);
    if (tensors && n_pieces == 0)
        return every_tensor(workload, bytes);
    size_t n = n_pieces == 0 ? 1 : n_pieces;
    if (buckets.bytes > 0)
        n = all > buckets.bytes ? (size_t)dsgd_ceil(all / buckets.bytes) : 1;
    *bytes = dsgd_xcalloc(n, sizeof **bytes);
    for (size_t k = 0; k < n; k++)
        (*bytes)[k] = all / (double)n;
    return n;
}

double dsgd_workload_sparse_bytes(const dsgd_workload *workload, size_t k)
{
    const dsgd_tensors *row = workload->tensors.v;
    for (; k >= (size_t)row->count; row++)
        k -= (size_t)row->count;
    return dsgd_workload_value_bytes(workload) * row->sparse;
}

/** Returns the work of the backward pass for the first @p bytes bytes of one gradient. */
static double work_until(const dsgd_workload *workload, double bytes)
{
    const dsgd_tensors *const tensors = workload->tensors.v;
    double work = 0;
    for (size_t i = 0; i < workload->tensors.n && bytes > 0; i++) {
        const double row = bytes_of(workload, &tensors[i]);
        work += (row < bytes ? row : bytes) * tensors[i].uses;
        bytes -= row;
    }
    return work;
}

double *dsgd_workload_work(const dsgd_workload *workload, size_t n_pieces, const double *bytes)
{
    const dsgd_tensors *const tensors = workload->tensors.v;
    bool uses = false; /* true if a tensor's share of the work can differ from its share of the
                        * bytes */
    for (size_t i = 0; i < workload->tensors.n; i++)
        uses |= tensors[i].uses != 1;
    uses = uses && work_until(workload, dsgd_workload_bytes(workload)) > 0;
    double *const work = dsgd_xcalloc(n_pieces, sizeof *work);
    double begin = 0;
    for (size_t k = 0; k < n_pieces; k++) {
        const double end = begin + bytes[k];
        work[k] = uses ? work_until(workload, end) - work_until(workload, begin) : bytes[k];
        begin = end;
    }
    return work;
}
