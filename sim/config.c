/**
 * @file config.c
 * The option tables of a run: its bounds, learning and exchanges.
 */
#include "sim/config.h"

#include "models/encodings/encoding.h"

const char *const dsgd_collective_names[] = {
    "auto", "recursive-doubling", "rabenseifner", "ring", "bruck", "rings", "nccl", NULL};
_Static_assert(sizeof dsgd_collective_names / sizeof dsgd_collective_names[0] ==
                   DSGD_COLLECTIVE_NCCL + 2,
               "a name for each");

const dsgd_option dsgd_until_options[] = {
    DSGD_OPTION_DOUBLE(dsgd_until, steps, 0, 0, 1e12, NULL,
                       "gradient steps per worker, on average"),
    DSGD_OPTION_DOUBLE(dsgd_until, seconds, 0, 0, 1e12, "s", "virtual time"),
    DSGD_OPTION_DOUBLE(dsgd_until, samples, 0, 0, 1e18, NULL, "of the workload, of all workers"),
    DSGD_OPTION_DOUBLE(dsgd_until, accuracy, 0, 0, 1, "share",
                       "of the algorithm's output on the test set"),
    DSGD_OPTION_END,
};

static const dsgd_option evaluate_options[] = {
    DSGD_OPTION_DOUBLE(
        dsgd_evaluate_config, every, 0, 0, 1e12, "steps",
        "between evaluations of the algorithm's output; 0: at the start and the end"),
    DSGD_OPTION_BOOL(dsgd_evaluate_config, local, false,
                     "also each worker's own model, at the end"),
    DSGD_OPTION_DOUBLE(dsgd_evaluate_config, local_margin, 0.001, 0, 1, NULL,
                       "half of the 95 % interval of their mean accuracy, at most: says how many "
                       "test samples each is evaluated on; 0: all"),
    DSGD_OPTION_END,
};

static const char *const precisions[] = {"float", "double", NULL};

const dsgd_option dsgd_learning_options[] = {
    DSGD_OPTION_SPEC(dsgd_learning, model, dsgd_model_kinds, "name", "the reduced model",
                     .required = true),
    DSGD_OPTION_SPEC(dsgd_learning, data, dsgd_data_sources, "name", "what it learns from",
                     .required = true),
    DSGD_OPTION_SPEC(dsgd_learning, split, dsgd_split_kinds, "kind",
                     "whose the samples to train on are; the same for all algorithms",
                     .init_text = "iid"),
    DSGD_OPTION_LONG(dsgd_learning, batch, 4, 1, 1 << 20, NULL, "samples per worker and gradient"),
    DSGD_OPTION_STRUCT(dsgd_learning, optimizer, dsgd_optimizer_options,
                       "what a local step does with a gradient", .required = true),
    DSGD_OPTION_STRUCT(dsgd_learning, evaluate, evaluate_options,
                       "when the algorithm's output is evaluated"),
    DSGD_OPTION_CHOICE(dsgd_learning, precision, precisions, "of the elements"),
    DSGD_OPTION_END,
};

static const char *const pieces_words[] = {"tensors", "buckets", NULL};
static const char *const bucket_words[] = {"auto", NULL};
static const char *const partial_words[] = {"as-collective", "auto", "recursive-doubling",
                                            "rabenseifner",  "ring", "bruck",
                                            "rings",         "nccl", NULL};

const dsgd_option dsgd_exchange_options[] = {
    DSGD_OPTION_LONG(dsgd_exchange_config, pieces, DSGD_PIECES_BUCKETS, 1, 4096, NULL,
                     "exchanges per vector: a number of equal ones, one per tensor of the "
                     "workload, or one per bucket",
                     .words = pieces_words),
    DSGD_OPTION_AS(
        "bucket", DOUBLE, dsgd_exchange_config, bucket_bytes,
        "whole tensors in backward order until this size is reached, as in PyTorch DDP; without "
        "tensors, equal pieces of at most this size. Auto: 25Mi, as in DDP, or a 48th of a larger "
        "vector, where by a bound this moves no step by more than 1 %",
        .init = DSGD_BUCKET_AUTO, .min = 1, .max = 1e15, .unit = "bytes", .words = bucket_words),
    DSGD_OPTION_AS(
        "first_bucket", DOUBLE, dsgd_exchange_config, first_bucket_bytes,
        "the same of the first one, which PyTorch DDP begins early: 1Mi; 0: as the others",
        .max = 1e15, .unit = "bytes"),
    DSGD_OPTION_BOOL(dsgd_exchange_config, overlap, true,
                     "pieces become ready during the backward pass, not all at its end"),
    DSGD_OPTION_BOOL(dsgd_exchange_config, blocking, true,
                     "in a fixed order, each when the one before has ended; else all at once"),
    DSGD_OPTION_BOOL(
        dsgd_exchange_config, barrier, false,
        "no worker begins a step before all have ended theirs, as micro-benchmarks have it"),
    DSGD_OPTION_CHOICE(
        dsgd_exchange_config, collective, dsgd_collective_names,
        "how an allreduce of all workers travels; auto: by the platform's library: nccl; or by "
        "size, recursive doubling below its `doubling_limit`, else Rabenseifner's, or Bruck's, "
        "which needs no power of two; rings: one after another along the platform's dimensions, "
        "GPUs "
        "of a node, hosts of a row, first"),
    DSGD_OPTION_CHOICE(dsgd_exchange_config, partial_collective, partial_words,
                       "how algorithms with partial collectives sum (eager-SGD, WAGMA-SGD), groups "
                       "and all workers; the papers' library has recursive-doubling at any size"),
    DSGD_OPTION_SPEC(dsgd_exchange_config, encoding, dsgd_encoding_kinds, "kind",
                     "what is sent in place of every vector; absent: all its numbers"),
    DSGD_OPTION_AS(
        "fusion", DOUBLE, dsgd_exchange_config, fusion_bytes,
        "allreduces as Horovod does them: tensors that are ready at all workers, fused up to this "
        "size in each cycle (HOROVOD_FUSION_THRESHOLD: 64Mi); 1: each by itself, 0: off",
        .max = 1e15, .unit = "bytes"),
    DSGD_OPTION_AS("cycle", DOUBLE, dsgd_exchange_config, cycle_s,
                   "with fusion, the least time between two cycles (HOROVOD_CYCLE_TIME)",
                   .init = 5e-3, .min = 1e-6, .max = 1e9, .unit = "s"),
    DSGD_OPTION_END,
};

dsgd_way dsgd_way_of(const dsgd_run_config *config, bool partial)
{
    const dsgd_platform *const platform = config->platform;
    const dsgd_exchange_config *const exchange = &config->exchange;
    dsgd_collective how = exchange->collective;
    if (partial && exchange->partial_collective != DSGD_PARTIAL_AS_COLLECTIVE)
        how = (dsgd_collective)(exchange->partial_collective - DSGD_PARTIAL_COLLECTIVE);
    if (how == DSGD_COLLECTIVE_AUTO && platform->library != DSGD_LIBRARY_MPI)
        how = DSGD_COLLECTIVE_NCCL;
    return (dsgd_way){how, platform->doubling_bytes, partial ? platform->partial_turn_s : 0,
                      dsgd_platform_dimensions(platform)};
}
