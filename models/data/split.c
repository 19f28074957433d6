/**
 * @file split.c
 * Divides training samples among workers by the classes of the samples, and computes a summary of
 * the split.
 */
#include "models/data/split.h"

#include <gsl/gsl_cdf.h>

#include "base/draw.h"

/**
 * The coordinates of a worker's random numbers are the worker, a class or CHOICES, and an index.
 */
enum { CHOICES = DSGD_MOST_CLASSES };

#define ALL UINT32_MAX /* worker coordinate of random numbers that do not belong to one worker */
#define LAST UINT32_MAX /* index coordinate of the last uniform number of a gamma variate */

/**
 * Numbers of the random permutations, whose worker coordinate is ALL. Class c has the permutation
 * OF_MEMBERS + c, and part i has the permutation OF_SHARDS + i.
 */
enum { OF_WORKERS, OF_CLASSES, OF_MEMBERS, OF_SHARDS = OF_MEMBERS + 256 };

static dsgd_draw draw_at(uint64_t seed, uint32_t worker, uint32_t step, uint32_t index)
{
    return (dsgd_draw){seed, DSGD_DRAW_PARTITION, worker, step, index};
}

static uint32_t permuted(uint64_t seed, uint32_t what, uint32_t n, uint32_t i)
{
    return dsgd_draw_permuted(draw_at(seed, ALL, what, 0), n, i);
}

/**
 * Returns the index of the first item of part @p i, if @p n items are divided into @p parts equal
 * parts.
 */
static uint32_t part_begin(uint32_t n, uint64_t parts, uint64_t i)
{
    return (uint32_t)(n * i / parts);
}

typedef struct ranked {
    float target;
    uint32_t sample;
} ranked;

static int compare_targets(const void *a, const void *b)
{
    const ranked *const x = a, *const y = b;
    const int order = (x->target > y->target) - (x->target < y->target);
    return order != 0 ? order : (x->sample > y->sample) - (x->sample < y->sample);
}

/**
 * Makes classes from regression targets: each tenth of the samples, ordered by their targets, is
 * one class.
 */
static void class_targets(const dsgd_samples *train, uint32_t *class_of)
{
    ranked *const order = dsgd_xcalloc(train->n, sizeof *order);
    for (uint32_t i = 0; i < train->n; i++)
        order[i] = (ranked){train->targets[i], i};
    qsort(order, train->n, sizeof *order, compare_targets);
    for (uint32_t i = 0; i < train->n; i++)
        class_of[order[i].sample] = (uint32_t)((uint64_t)i * DSGD_PARTS / train->n);
    free(order);
}

/**
 * Fills members[n] with the numbers 0 to n - 1, ordered by their group, and begin[] with the
 * position of each group's first member. begin[n_groups + 2] must contain zeros.
 */
static void list_groups(uint32_t n, uint32_t n_groups, const uint32_t *group_of, uint32_t *begin,
                        uint32_t *members)
{
    /*
     * next[i] is the next free place of group i; after the last loop, it is the end of the group.
     */
    uint32_t *const next = begin + 1;
    for (uint32_t i = 0; i < n; i++)
        next[group_of[i] + 1]++;
    for (uint32_t g = 0; g < n_groups; g++)
        next[g + 1] += next[g];
    for (uint32_t i = 0; i < n; i++)
        members[next[group_of[i]]++] = i;
}

/** Stores the class of each training sample in class_of, and returns the number of classes. */
static uint32_t find_classes(const dsgd_data *data, uint32_t *class_of)
{
    const dsgd_samples *const train = &data->train;
    const bool labelled = train->targets == NULL && data->n_labels == 1;
    if (train->targets != NULL)
        class_targets(train, class_of);
    for (uint32_t i = 0; train->targets == NULL && i < train->n; i++)
        class_of[i] = labelled ? train->labels[i] : (uint32_t)((uint64_t)i * DSGD_PARTS / train->n);
    return labelled ? data->n_classes : DSGD_PARTS;
}

static uint32_t size_of(const dsgd_classes *classes, uint32_t c)
{
    return classes->begin[c + 1] - classes->begin[c];
}

/** Returns sample i of class @p c, in a random order of the class's samples. */
static uint32_t member(const dsgd_classes *classes, uint64_t seed, uint32_t c, uint32_t i)
{
    const uint32_t place = permuted(seed, OF_MEMBERS + c, size_of(classes, c), i);
    return classes->members[classes->begin[c] + place];
}

/* --- functions that split by a Dirichlet distribution ----------------------------------------- */

typedef struct dirichlet_params {
    double alpha;
} dirichlet_params;

/**
 * Returns the logarithm of a random gamma variate of shape @p alpha. Computes a variate of shape
 * alpha + 1, by Marsaglia and Tsang (2000), times U^(1/alpha). Without the logarithm, the power
 * would underflow for small alpha.
 */
static double log_gamma_drawn(double alpha, uint64_t seed, uint32_t worker, uint32_t c)
{
    const double d = alpha + 1 - 1. / 3;
    for (uint32_t i = 0;; i += 2) {
        const double x = gsl_cdf_ugaussian_Pinv(dsgd_draw_uniform(draw_at(seed, worker, c, i)));
        const double u = dsgd_draw_uniform(draw_at(seed, worker, c, i + 1));
        const double root = 1 + x / sqrt(9 * d);
        const double v = root * root * root;
        if (v > 0 && log(u) < x * x / 2 + d - d * v + d * log(v))
            return log(d * v) + log(dsgd_draw_uniform(draw_at(seed, worker, c, LAST))) / alpha;
    }
}

/**
 * Computes weights[n] <- exp(logs), scaled such that the largest weight is 1. A class without
 * remaining samples gets weight 0.
 */
static void weigh(uint32_t n, const double *logs, const uint32_t *left, double *weights)
{
    double most = -INFINITY;
    for (uint32_t c = 0; c < n; c++)
        if (left[c] > 0 && logs[c] > most)
            most = logs[c];
    for (uint32_t c = 0; c < n; c++)
        weights[c] = left[c] == 0 ? 0 : exp(logs[c] - most);
}

/**
 * Returns a random class. Its probability is proportional to its weight times its number of
 * remaining samples.
 */
static uint32_t choose(uint32_t n, const double *weights, const uint32_t *left, double u)
{
    double total = 0;
    for (uint32_t c = 0; c < n; c++)
        total += weights[c] * left[c];
    double below = 0;
    uint32_t chosen = 0;
    for (uint32_t c = 0; c < n; c++) {
        if (left[c] == 0 || weights[c] == 0)
            continue;
        chosen = c; /* if rounding leaves u above all sums, the function returns the last class */
        below += weights[c] * left[c];
        if (u * total < below)
            break;
    }
    return chosen;
}

/**
 * Gives each worker its samples, one worker after another in random order. The class shares of a
 * worker are drawn from Dirichlet(alpha, ..., alpha). The worker takes its samples from the samples
 * that earlier workers have left. With a large alpha, the division is therefore random.
 */
static dsgd_status dirichlet_deal(const void *params, const dsgd_classes *classes, uint64_t seed,
                                  uint32_t n_workers, uint32_t *owner, dsgd_error *error)
{
    (void)error;
    const double alpha = ((const dirichlet_params *)params)->alpha;
    uint32_t left[DSGD_MOST_CLASSES] = {0};
    for (uint32_t c = 0; c < classes->n; c++)
        left[c] = size_of(classes, c);
    double logs[DSGD_MOST_CLASSES] = {0};
    double weights[DSGD_MOST_CLASSES];
    for (uint32_t i = 0; i < n_workers; i++) {
        const uint32_t w = permuted(seed, OF_WORKERS, n_workers, i);
        const uint32_t size = part_begin(classes->n_samples, n_workers, i + 1ull) -
                              part_begin(classes->n_samples, n_workers, i);
        for (uint32_t c = 0; c < classes->n; c++)
            logs[c] = log_gamma_drawn(alpha, seed, w, c);
        weigh(classes->n, logs, left, weights);
        for (uint32_t j = 0; j < size; j++) {
            const double u = dsgd_draw_uniform(draw_at(seed, w, CHOICES, j));
            const uint32_t c = choose(classes->n, weights, left, u);
            owner[member(classes, seed, c, --left[c])] = w;
            if (left[c] == 0)
                weigh(classes->n, logs, left, weights);
        }
    }
    return DSGD_OK;
}

static const dsgd_option dirichlet_options[] = {
    DSGD_OPTION_DOUBLE(
        dirichlet_params, alpha, 0.1, 1e-6, 1e6, NULL,
        "concentration of the Dirichlet distribution per class. Near 0: about one class per "
        "worker; large: all workers have similar data. Hsu et al.'s alpha is this value times "
        "the number of classes"),
    DSGD_OPTION_END,
};

/* --- split by labels -------------------------------------------------------------------------- */

typedef struct labels_params {
    int64_t per_worker;
} labels_params;

/**
 * Sorts the samples by class and cuts them into P * per_worker equal shards. The shards are grouped
 * into per_worker consecutive parts. Every worker gets one shard of each part, so that its shards
 * have different classes.
 */
static dsgd_status labels_deal(const void *params, const dsgd_classes *classes, uint64_t seed,
                               uint32_t n_workers, uint32_t *owner, dsgd_error *error)
{
    const uint64_t per_worker = (uint64_t)((const labels_params *)params)->per_worker;
    const uint32_t n = classes->n;
    /* With fewer shards than `least`, some class would have no owner. */
    const uint32_t least = (n + n_workers - 1) / n_workers;
    const uint32_t room = classes->n_samples / n_workers, most = room < n ? room : n;
    if (per_worker < least || per_worker > most)
        return dsgd_refuse(error,
                           "split: per_worker must be from %u to %u with %u workers, %u classes "
                           "and %u training samples, got %llu",
                           least, most, n_workers, n, classes->n_samples,
                           (unsigned long long)per_worker);
    const uint64_t n_shards = per_worker * n_workers;
    uint32_t at = 0;
    uint64_t shard = 0;
    for (uint32_t k = 0; k < classes->n; k++) {
        const uint32_t c = permuted(seed, OF_CLASSES, classes->n, k);
        for (uint32_t i = 0; i < size_of(classes, c); i++, at++) {
            while (at >= part_begin(classes->n_samples, n_shards, shard + 1))
                shard++;
            owner[member(classes, seed, c, i)] =
                permuted(seed, OF_SHARDS + (uint32_t)(shard / n_workers), n_workers,
                         (uint32_t)(shard % n_workers));
        }
    }
    return DSGD_OK;
}

static const dsgd_option labels_options[] = {
    DSGD_OPTION_LONG(labels_params, per_worker, 2, 1, DSGD_MOST_CLASSES, NULL,
                     "shards per worker. A shard contains one class, or two at their border"),
    DSGD_OPTION_END,
};

/* --- equal random split ----------------------------------------------------------------------- */

/**
 * Divides all samples into equal random parts. Used for the split "iid" if workers have their own
 * mini-batches.
 */
static dsgd_status even_deal(const void *params, const dsgd_classes *classes, uint64_t seed,
                             uint32_t n_workers, uint32_t *owner, dsgd_error *error)
{
    (void)params, (void)error;
    const uint32_t n = classes->n_samples;
    for (uint32_t w = 0, i = 0; w < n_workers; w++)
        for (; i < part_begin(n, n_workers, w + 1ull); i++)
            owner[permuted(seed, OF_MEMBERS, n, i)] = w;
    return DSGD_OK;
}

static const dsgd_split_kind iid = {
    .about = {.name = "iid",
              .summary =
                  "all workers share all samples in one random order, a new one in every epoch"}};

static const dsgd_split_kind dirichlet = {
    .about =
        {.name = "dirichlet",
         .summary =
             "class shares of each worker from a Dirichlet distribution; equal numbers of samples",
         .reference = "Yurochkin et al., ICML 2019; T. Lin et al., NeurIPS 2020; Hsu, Qi, "
                      "Brown, 2019, arXiv 1909.06335, have alpha over the number of classes",
         DSGD_PARAMS(dirichlet_params, dirichlet_options)},
    .deal = dirichlet_deal};

static const dsgd_split_kind labels = {
    .about = {.name = "labels",
              .summary =
                  "samples sorted by class and cut into equal shards, a fixed number per worker",
              .reference = "McMahan et al., AISTATS 2017, section 3",
              DSGD_PARAMS(labels_params, labels_options)},
    .deal = labels_deal};

const dsgd_entry *const dsgd_split_kinds[] = {&iid.about, &dirichlet.about, &labels.about, NULL};

dsgd_status dsgd_split_new(const dsgd_spec *pick, const dsgd_data *data, uint64_t seed,
                           uint32_t n_workers, bool own_batches, dsgd_split **split,
                           dsgd_error *error)
{
    const dsgd_split_kind *const kind = (const dsgd_split_kind *)pick->about;
    const bool divides = kind != NULL && kind->deal != NULL;
    *split = NULL;
    if (!divides && !own_batches)
        return DSGD_OK;
    const uint32_t n = data->train.n;
    if (data->kind == DSGD_DATA_STEPS)
        return dsgd_refuse(error,
                           "split: `%s` needs stored samples, but this data is generated again "
                           "in every step. %s",
                           divides ? kind->about.name : "own mini-batches",
                           divides ? "Use split: iid" : "Use data with samples");
    if (n_workers > n)
        return dsgd_refuse(error,
                           "split: %u workers need at least one training sample each, but there "
                           "are %u samples. Use at most %u workers%s",
                           n_workers, n, n, own_batches ? "" : ", or split: iid");
    dsgd_split *const made =
        dsgd_xcalloc(1, sizeof *made + (n_workers + 2 + 2 * (size_t)n) * sizeof *made->begin);
    uint32_t *const begin = (uint32_t *)(made + 1);
    uint32_t *const samples = begin + n_workers + 2;
    uint32_t *const class_of = samples + n;
    *made = (dsgd_split){n_workers,  find_classes(data, class_of), begin, samples, class_of,
                         own_batches};
    dsgd_classes classes = {.n_samples = n,
                            .n = made->n_classes,
                            .members = dsgd_xcalloc(n, 2 * sizeof *classes.members)};
    uint32_t *const owner = classes.members + n;
    list_groups(n, classes.n, class_of, classes.begin, classes.members);
    const dsgd_status status =
        (divides ? kind->deal : even_deal)(pick->params, &classes, seed, n_workers, owner, error);
    if (status == DSGD_OK) {
        list_groups(n, n_workers, owner, begin, samples);
        *split = made;
    } else {
        free(made);
    }
    free(classes.members);
    return status;
}

void dsgd_split_count(const dsgd_split *split, uint32_t w, uint32_t *counts)
{
    memset(counts, 0, split->n_classes * sizeof *counts);
    for (uint32_t i = split->begin[w]; i < split->begin[w + 1]; i++)
        counts[split->class_of[split->samples[i]]]++;
}

dsgd_split_summary dsgd_split_summarise(const dsgd_split *split)
{
    const uint32_t n = split->begin[split->n_workers];
    const double p = split->n_workers;
    double all[DSGD_MOST_CLASSES] = {0};
    for (uint32_t i = 0; i < n; i++)
        all[split->class_of[i]]++;
    dsgd_split_summary summary = {.least = UINT32_MAX};
    for (uint32_t w = 0; w < split->n_workers; w++) {
        uint32_t counts[DSGD_MOST_CLASSES];
        dsgd_split_count(split, w, counts);
        const uint32_t own = split->begin[w + 1] - split->begin[w];
        summary.least = own < summary.least ? own : summary.least;
        summary.most = own > summary.most ? own : summary.most;
        for (uint32_t c = 0; c < split->n_classes; c++) {
            summary.classes += (counts[c] > 0) / p;
            summary.distance += fabs(counts[c] / (double)own - all[c] / n) / 2 / p;
        }
    }
    return summary;
}
