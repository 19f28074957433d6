/**
 * @file bounds.c
 * Laws that bound the results of a run by arithmetic.
 */
#include "base/option.h"
#include "base/status.h"
#include "tests/random/trial.h"

static double result(const trial *t, const char *column)
{
    return trial_value(&t->runs, 0, column);
}

static bool differ(double a, double b)
{
    return fabs(a - b) > 1e-9 * fmax(fabs(a), fabs(b)) + 1e-12;
}

/** Returns the mean of a column over the workers of the first run. */
static double mean_of_workers(const trial *t, const char *column)
{
    double sum = 0, n = 0;
    for (size_t i = 0; i < t->workers.n_rows; i++)
        if (trial_value(&t->workers, i, "run") == 1) {
            sum += trial_value(&t->workers, i, column);
            n++;
        }
    return sum / n;
}

/** Returns the mean step time of the first run, from the bins of its histogram. */
static double mean_step_s(const trial *t)
{
    dsgd_csv steps = {.n_rows = 0};
    double sum = 0;
    if (dsgd_csv_read(&steps, NULL, "%s/a/steps.csv", t->folder) != DSGD_OK)
        return NAN;
    for (size_t i = 0; i < steps.n_rows; i++)
        if (trial_value(&steps, i, "run") == 1)
            sum += trial_value(&steps, i, "step_s") * trial_value(&steps, i, "share");
    return sum;
}

/**
 * Checks result columns that follow from other columns. NAN in a column means that it is empty, and
 * is never an error.
 */
char *columns_agree(const trial *t)
{
    const json_t *const run = trial_first(t), *const platform = json_object_get(run, "platform");
    const json_t *const until = json_object_get(run, "until");
    const double s = result(t, "virtual_s"), busy = result(t, "compute_share");
    const double workers = number_in(run, "workers"),
                 of_gpu = number_in(
                     json_object_get(json_object_get(run, "workload"), "transformer"), "gpus");
    const double gpus =
        workers * (hosts_of(run) > 1 ? hosts_of(run)
                   : number_in(json_object_get(json_object_get(run, "workload"), "transformer"),
                               "parameters") > 0
                       ? of_gpu
                       : 1);
    const double stops_s = result(t, "lost_s") + result(t, "detect_s") + result(t, "repair_s") +
                           result(t, "restart_s") + result(t, "checkpoint_s");
    const bool cut = fails(t) || number_in(until, "seconds") > 0;
    const char *const price = json_string_value(json_object_get(platform, "price"));
    const struct {
        const char *column;
        double is, should;
    } rows[] = {
        {"compute_share", busy, mean_of_workers(t, "compute_share")},
        {"wait_share", result(t, "wait_share"), mean_of_workers(t, "wait_share")},
        {"comm_share", result(t, "comm_share"), mean_of_workers(t, "comm_share")},
        {"steps", result(t, "steps"), mean_of_workers(t, "steps")},
        {"throughput", result(t, "throughput_samples_per_s") * s, cut ? NAN : result(t, "samples")},
        {"step_mean_s", result(t, "step_mean_s") * result(t, "steps"), cut ? NAN : s},
        {"energy_j", result(t, "energy_j"),
         s * gpus *
             (number_in(platform, "busy_power") * busy +
              number_in(platform, "idle_power") * (1 - busy))},
        {"cost", result(t, "cost"),
         price == NULL || json_array_size(json_object_get(platform, "regions")) > 0
             ? NAN
             : strtod(price, NULL) * s / 3600 * gpus},
        {"samples_per_cost", result(t, "samples_per_cost") * result(t, "cost"),
         result(t, "samples")},
        {"goodput", result(t, "goodput"), 1 - stops_s / s},
        {"exposed_mean_s", fmin(result(t, "exposed_mean_s") * result(t, "steps"), (1 - busy) * s),
         cut ? NAN : result(t, "exposed_mean_s") * result(t, "steps")},
        {"step_s", fmin(mean_step_s(t) * (result(t, "steps") - 1), s),
         cut ? NAN : mean_step_s(t) * (result(t, "steps") - 1)},
        {"sent_mean_bytes", result(t, "sent_mean_bytes") * workers,
         is_synchronous(t->experiment) ? result(t, "bytes") : NAN},
        {"sent_max_bytes", fmax(result(t, "sent_max_bytes"), result(t, "sent_mean_bytes")),
         result(t, "sent_max_bytes")},
        {"staleness_max", fmax(result(t, "staleness_max"), result(t, "staleness_mean")),
         result(t, "staleness_max")},
        {"lag_max", fmax(result(t, "lag_max"), result(t, "lag_mean")), result(t, "lag_max")},
    };
    for (size_t k = 0; !t->diverged && k < sizeof rows / sizeof rows[0]; k++)
        if (differ(rows[k].is, rows[k].should))
            return dsgd_xprintf("%s: %.17g is not %.17g", rows[k].column, rows[k].is,
                                rows[k].should);
    return t->diverged ? not_asked : NULL;
}

/** Returns true if only the workload determines the computation time of a step. */
static bool is_even(const trial *t)
{
    const json_t *const run = trial_first(t), *const platform = json_object_get(run, "platform");
    static const char *const beside[] = {"reference_speed", "collective_share", "collective_launch",
                                         "collective_copy"};
    bool even =
        !t->diverged && !fails(t) && json_array_size(json_object_get(run, "imbalance")) == 0 &&
        json_array_size(json_object_get(json_object_get(run, "workload"), "inherent")) == 0 &&
        json_array_size(json_object_get(platform, "hosts")) == 0 &&
        strcmp(json_string_value(json_object_get(platform, "topology")), "xml") != 0 &&
        json_is_number(json_object_get(json_object_get(run, "workload"), "step"));
    for (size_t k = 0; k < sizeof beside / sizeof beside[0]; k++)
        even = even && !(number_in(platform, beside[k]) > 0);
    return even;
}

/**
 * Returns true if GPUs also compute for exchanges: for gradient compression, or for sums among the
 * hosts of a stage.
 */
static bool computes_beside(const trial *t)
{
    static const char *const encoding[] = {"ef21", "choco", "top_k", "ok_topk", "power_sgd", NULL};
    const json_t *const run = trial_first(t);
    const json_t *const inner = json_object_get(json_object_get(run, "workload"), "inner");
    return dsgd_find_word(encoding, algorithm_of(t->experiment)) >= 0 || has_own_bits(run) ||
           number_in(inner, "tensor") > 1 || number_in(inner, "shards") > 1;
}

/**
 * If no host is slow, hosts compute exactly the work that the workload prescribes for all steps. At
 * the end, they may have computed a part of another step.
 */
char *work_is_conserved(const trial *t)
{
    const json_t *const run = trial_first(t);
    if (!is_even(t) || computes_beside(t) || drops_samples(t->experiment) ||
        part_find(t->experiment, "until")->n > 1)
        return not_asked;
    const bool exact =
        ends_together(t->experiment) && is_plain_switch(json_object_get(run, "platform"));
    const double bubbles = hosts_of(run) > 1 ? result(t, "bubble_share") : 0;
    const double is_s =
        result(t, "compute_share") * result(t, "virtual_s") * (1 - bubbles) * hosts_of(run);
    const double step_s = number_in(json_object_get(run, "workload"), "step"),
                 should_s = result(t, "steps") * step_s;
    const double rounding_s = 1e-14 * result(t, "virtual_s"); /* rounding error of the share */
    const double most_s = should_s + (exact ? 0 : step_s) + rounding_s;
    return differ(is_s, fmin(fmax(is_s, should_s - rounding_s), most_s))
               ? dsgd_xprintf("computes %.17g s instead of %.17g s", is_s, should_s)
               : NULL;
}

/**
 * Checks that the bubble shares of pipelines are at least the published shares for messages without
 * cost.
 */
char *pipelines_have_their_bubbles(const trial *t)
{
    const json_t *const inner =
        json_object_get(json_object_get(trial_first(t), "workload"), "inner");
    const json_t *const pipeline = json_object_get(inner, "pipeline");
    const double stages = number_in(pipeline, "stages"),
                 each = number_in(pipeline, "micro_batches");
    const char *const schedule = json_string_value(json_object_get(pipeline, "schedule"));
    const bool in_chunks = strcmp(schedule, "interleaved") == 0,
               flushes = strcmp(schedule, "gpipe") == 0;
    const double layers = number_in(
        json_object_get(json_object_get(trial_first(t), "workload"), "transformer"), "layers");
    const double chunks = in_chunks ? number_in(pipeline, "chunks") : 1;
    const double passes = chunks * each * (flushes ? 1 : number_in(pipeline, "jobs"));
    if (!is_even(t) || stages < 2 || hosts_of(trial_first(t)) > stages ||
        fmod(layers, stages * chunks) != 0 ||
        !(in_chunks || flushes || strcmp(schedule, "1f1b") == 0) ||
        (in_chunks && fmod(each, stages) != 0))
        return not_asked;
    const double should = (stages - 1) / (passes + stages - 1);
    if (result(t, "bubble_share") < should * (1 - 1e-9))
        return dsgd_xprintf("bubbles: %.17g, less than %.17g", result(t, "bubble_share"), should);
    return NULL;
}

/**
 * No worker sends faster than its NIC allows. If the NIC is slow, the worker sends no faster than
 * the remaining bandwidth. In gossip, messages to two neighbours leave at the same time. Messages
 * of the last step may be in flight at the end. On a ring of P workers, other workers may be up to
 * P / 2 steps ahead of a worker with a slow link.
 */
char *no_nic_carries_more(const trial *t)
{
    static const char *const topologies[] = {"switch", "groups", "rails", NULL};
    const json_t *const run = trial_first(t), *const platform = json_object_get(run, "platform");
    const char *const topology = json_string_value(json_object_get(platform, "topology"));
    const double bandwidth = 1e6;
    const bool failing = fmod(number_in(run, "seed"), 2) == 1;
    char *why = NULL;
    if (!exchanges(t) || json_array_size(json_object_get(platform, "hosts")) > 0 ||
        dsgd_find_word(topologies, topology) < 0)
        return not_asked;
    part changed = plainly(t, "d_psgd", "auto");
    if (failing)
        part_set(&changed, "failures", "{links: [{per: worker, which: 0, factor: 1e-3}]}");
    part *const there = platform_of(&changed);
    part_set(there, "host_bandwidth", failing ? "1e9" : "1e6");
    if (number_in(platform, "island_hosts") > 0)
        part_set(there, "island_bandwidth", "1e6");
    const dsgd_csv runs = trial_changed(t, "u", &changed, &why);
    if (why != NULL)
        return why;
    /* number of steps by which workers may be ahead */
    const double ahead = failing ? 1 + number_in(run, "workers") / 2 : 1;
    const double share = fmax(0, 1 - ahead / trial_value(&runs, 0, "steps"));
    const double sent = trial_value(&runs, 0, "sent_mean_bytes") / hosts_of(run) * share;
    const double most = bandwidth * trial_value(&runs, 0, "virtual_s");
    return sent > most * (1 + 1e-9) ? dsgd_xprintf("%.17g bytes of at most %.17g", sent, most)
                                    : NULL;
}

/** Returns the size of a gradient in bytes. */
static double gradient_bytes(const json_t *workload)
{
    const json_t *const tensors = json_object_get(workload, "tensors");
    double numbers = 0;
    for (size_t i = 0; i < json_array_size(tensors); i++)
        numbers += number_in(json_array_get(tensors, i), "elements") *
                   number_in(json_array_get(tensors, i), "count");
    return numbers > 0 ? numbers * number_in(workload, "value_bytes")
                       : number_in(workload, "bytes");
}

/**
 * Workers send the bytes of the allreduce's algorithm. All workers together send 2 (P - 1) vectors
 * per step, or P log2(P) vectors with recursive doubling. Workers that are ahead may have started
 * one more allreduce.
 */
char *allreduces_send_their_bytes(const trial *t)
{
    static const char *const hows[] = {"ring", "bruck", "rabenseifner", "recursive_doubling"};
    const json_t *const run = trial_first(t);
    const double p = number_in(run, "workers"),
                 bytes = gradient_bytes(json_object_get(run, "workload"));
    const size_t k = (size_t)number_in(run, "seed") % (fmod(log2(p), 1) == 0 ? 4 : 2);
    char *why = NULL;
    if (!exchanges(t))
        return not_asked;
    const part changed = plainly(t, "allreduce", hows[k]);
    const dsgd_csv runs = trial_changed(t, "t", &changed, &why);
    if (why != NULL)
        return why;
    const double smallest = trial_value(&runs, 0, "piece_bytes") / (k == 0 ? p : 1);
    if (trial_value(&runs, 0, "messages") * smallest < trial_value(&runs, 0, "bytes") * (1 - 1e-6))
        return dsgd_xprintf("%s messages are too few", trial_text(&runs, 0, "messages"));
    const double vectors = k == 3 ? p * log2(p) : 2 * (p - 1);
    const double is = trial_value(&runs, 0, "bytes"),
                 should = vectors * bytes * trial_value(&runs, 0, "steps");
    const double steps = trial_value(&runs, 0, "steps");
    return is < should * (1 - 1e-6) || is > should * (1 + 1e-6 + 1 / steps)
               ? dsgd_xprintf("%s sends %.17g bytes instead of %.17g", hows[k], is, should)
               : NULL;
}

/**
 * Each cost of a message occurs at least once. If one of these costs is ten seconds, a run of
 * allreduces or gossip must take at least ten seconds.
 */
char *each_second_counts(const trial *t)
{
    static const char *const costs[][2] = {{"host_latency", "island_latency"},
                                           {"message_overhead", NULL},
                                           {"rendezvous", NULL},
                                           {"reduction", NULL}};
    const json_t *const run = trial_first(t), *const platform = json_object_get(run, "platform");
    char *why = NULL;
    const bool gossips = number_in(run, "seed") > 500;
    if (!exchanges(t) || json_array_size(json_object_get(platform, "regions")) > 0)
        return not_asked;
    for (size_t k = 0; k < sizeof costs / sizeof costs[0] && why == NULL; k++) {
        part changed = plainly(t, gossips ? "d_psgd" : "allreduce", "auto");
        part *const there = platform_of(&changed);
        part_set(there, "library", "mpi");
        part_set(there, "eager_limit", "0");
        for (size_t i = 0; i < 2 && costs[k][i] != NULL; i++)
            if (i == 0 || number_in(platform, "island_hosts") > 0)
                part_set(there, costs[k][i], k < 3 ? "10" : "1");
        const double s = trial_changed_s(t, "s", &changed, &why);
        if (why == NULL && s < 10)
            why = dsgd_xprintf("%s of 10 s: %.17g s", costs[k][0], s);
    }
    return why;
}
