/**
 * @file config.c The option tables of a run: its bounds, training and exchanges.
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
                       "mean number of gradient steps per worker"),
    DSGD_OPTION_DOUBLE(dsgd_until, seconds, 0, 0, 1e12, "s", "virtual time of the run"),
    DSGD_OPTION_DOUBLE(dsgd_until, samples, 0, 0, 1e18, NULL,
                       "number of samples that all workers process, in units of the workload"),
    DSGD_OPTION_DOUBLE(dsgd_until, accuracy, 0, 0, 1, "share",
                       "accuracy of the algorithm's output on the test set"),
    DSGD_OPTION_END,
};

static const dsgd_option evaluate_options[] = {
    DSGD_OPTION_DOUBLE(dsgd_evaluate_config, every, 0, 0, 1e12, "steps",
                       "steps between two evaluations of the algorithm's output; 0: only at the "
                       "start and the end"),
    DSGD_OPTION_BOOL(dsgd_evaluate_config, local, false,
                     "true: also evaluate each worker's own model at the end"),
    DSGD_OPTION_DOUBLE(
        dsgd_evaluate_config, local_margin, 0.001, 0, 1, NULL,
        "largest half-width of the 95 % confidence interval of the workers' mean accuracy, "
        "which determines on how many test samples each model is evaluated; 0: on all"),
    DSGD_OPTION_END,
};

static const char *const precisions[] = {"float", "double", NULL};

const dsgd_option dsgd_learning_options[] = {
    DSGD_OPTION_SPEC(dsgd_learning, model, dsgd_model_kinds, "name",
                     "reduced model that is trained", .required = true),
    DSGD_OPTION_SPEC(dsgd_learning, data, dsgd_data_sources, "name",
                     "data that the model is trained on", .required = true),
    DSGD_OPTION_SPEC(dsgd_learning, split, dsgd_split_kinds, "kind",
                     "which worker trains on which samples; the same for all algorithms",
                     .init_text = "iid"),
    DSGD_OPTION_LONG(dsgd_learning, batch, 4, 1, 1 << 20, NULL, "samples per worker and gradient"),
    DSGD_OPTION_STRUCT(dsgd_learning, optimizer, dsgd_optimizer_options,
                       "update rule that a local step applies to a gradient", .required = true),
    DSGD_OPTION_STRUCT(dsgd_learning, evaluate, evaluate_options,
                       "when the algorithm's output is evaluated on the test set"),
    DSGD_OPTION_CHOICE(dsgd_learning, precision, precisions,
                       "floating-point type of the model's elements"),
    DSGD_OPTION_END,
};

static const char *const pieces_words[] = {"tensors", "buckets", NULL};
static const char *const bucket_words[] = {"auto", NULL};
static const char *const partial_words[] = {"as-collective", "auto", "recursive-doubling",
                                            "rabenseifner",  "ring", "bruck",
                                            "rings",         "nccl", NULL};

const dsgd_option dsgd_exchange_options[] = {
    DSGD_OPTION_LONG(
        dsgd_exchange_config, pieces, DSGD_PIECES_BUCKETS, 1, 4096, NULL,
        "number of chunks into which every vector is cut, each of which is exchanged by "
        "itself: a number of equal chunks, tensors (one chunk per tensor of the "
        "workload), or buckets",
        .words = pieces_words),
    DSGD_OPTION_AS(
        "bucket", DOUBLE, dsgd_exchange_config, bucket_bytes,
        "bucket size: whole tensors in backward order until this size is reached, as in PyTorch "
        "DDP. Without a list of tensors: equal chunks of at most this size. auto: 25Mi, as in DDP, "
        "or 1/48 of the vector if that is larger and changes no step by more than 1 %",
        .init = DSGD_BUCKET_AUTO, .min = 1, .max = 1e15, .unit = "bytes", .words = bucket_words),
    DSGD_OPTION_AS(
        "first_bucket", DOUBLE, dsgd_exchange_config, first_bucket_bytes,
        "size of the first bucket, which PyTorch DDP sends early (1Mi); 0: as the other buckets",
        .max = 1e15, .unit = "bytes"),
    DSGD_OPTION_BOOL(
        dsgd_exchange_config, overlap, true,
        "true: chunks become ready during the backward pass, so exchanges overlap with "
        "computation. false: all chunks become ready at its end"),
    DSGD_OPTION_BOOL(
        dsgd_exchange_config, blocking, true,
        "true: exchange chunks one after another, in a fixed order. false: exchange them "
        "concurrently"),
    DSGD_OPTION_BOOL(dsgd_exchange_config, barrier, false,
                     "true: no worker starts a step before all workers have finished theirs, as in "
                     "micro-benchmarks"),
    DSGD_OPTION_CHOICE(
        dsgd_exchange_config, collective, dsgd_collective_names,
        "algorithm of an allreduce of all workers. auto: nccl if the platform's library is nccl or "
        "rccl; else by size: recursive-doubling below the platform's `doubling_limit`, "
        "rabenseifner above it, or bruck if the number of workers is not a power of two. rings: "
        "one ring per dimension of the platform, one after another, first the GPUs of a node or "
        "the hosts of a row"),
    DSGD_OPTION_CHOICE(
        dsgd_exchange_config, partial_collective, partial_words,
        "algorithm of partial collectives (eager-SGD, WAGMA-SGD), in groups and of all "
        "workers; the papers' library uses recursive-doubling at every size"),
    DSGD_OPTION_SPEC(
        dsgd_exchange_config, encoding, dsgd_encoding_kinds, "kind",
        "gradient compression: what is sent instead of every vector; absent: all its numbers"),
    DSGD_OPTION_AS(
        "fusion", DOUBLE, dsgd_exchange_config, fusion_bytes,
        "tensor fusion as in Horovod: in each cycle, tensors that are ready at all workers are "
        "fused up to this size (HOROVOD_FUSION_THRESHOLD: 64Mi). 1: each tensor by itself. 0: off",
        .max = 1e15, .unit = "bytes"),
    DSGD_OPTION_AS("cycle", DOUBLE, dsgd_exchange_config, cycle_s,
                   "shortest time between two cycles of fusion (HOROVOD_CYCLE_TIME)", .init = 5e-3,
                   .min = 1e-6, .max = 1e9, .unit = "s"),
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
