/**
 * @file check.c
 * Refuses what cannot run, with a sentence, before anything runs.
 */
#include "sim/run.h"

#include "base/round.h"
#include "models/encodings/encoding.h"
#include "sim/engine/engine.h"

/** What the algorithm's option of that name has, if it is an integer; else 1. */
static int64_t integer_of(const dsgd_run_config *config, const char *name)
{
    const dsgd_option *const option = dsgd_option_find(config->algorithm->about.options, name);
    return option == NULL || option->kind != DSGD_LONG
               ? 1
               : *(const int64_t *)(const void *)((const char *)config->params + option->offset);
}

int dsgd_n_servers(const dsgd_run_config *config)
{
    const dsgd_algorithm *const algorithm = config->algorithm;
    if (algorithm->n_servers != NULL)
        return algorithm->n_servers(config->params, config->workers);
    return algorithm->serve == NULL ? 0 : (int)integer_of(config, "servers");
}

/** What an algorithm's option `graph` picks; NULL: it has no such option, or picks none. */
static const dsgd_spec *graph_of(const dsgd_algorithm *algorithm, const void *params)
{
    const dsgd_option *const graph = dsgd_option_find(algorithm->about.options, "graph");
    if (graph == NULL || graph->kind != DSGD_SPEC || graph->registry != dsgd_graph_kinds)
        return NULL;
    const dsgd_spec *const pick = (const void *)((const char *)params + graph->offset);
    return pick->about == NULL ? NULL : pick;
}

int64_t dsgd_period(const dsgd_run_config *config)
{
    const dsgd_algorithm *const algorithm = config->algorithm;
    const dsgd_spec *const graph = graph_of(algorithm, config->params);
    int64_t period = integer_of(config, "period");
    if (algorithm->period != NULL)
        period = algorithm->period(config->params, config->workers);
    else if (graph != NULL && dsgd_option_find(algorithm->about.options, "period") == NULL)
        period = dsgd_graph_period(graph, config->workers);
    return period < 1 ? 1 : period;
}

bool dsgd_run_encodes(const dsgd_run_config *config)
{
    const dsgd_option *const own = dsgd_option_find(config->algorithm->about.options, "encoding");
    const dsgd_spec *const picks[] = {
        &config->exchange.encoding,
        own == NULL ? NULL : (const void *)((const char *)config->params + own->offset)};
    for (size_t k = 0; k < 2; k++)
        if (picks[k] != NULL && picks[k]->about != NULL && !dsgd_encoding_is_none(picks[k]))
            return true;
    return config->algorithm->traits & DSGD_ENCODES;
}

dsgd_status dsgd_algorithm_check(const dsgd_algorithm *algorithm, const void *params, int n_workers,
                                 dsgd_error *error)
{
    if (algorithm->check != NULL)
        return algorithm->check(params, n_workers, error);
    const dsgd_spec *const graph = graph_of(algorithm, params);
    return graph == NULL ? DSGD_OK
                         : dsgd_graph_check(graph, n_workers, false, algorithm->about.name, error);
}

int dsgd_server_parts(const dsgd_run_config *config)
{
    const int n_servers = dsgd_n_servers(config);
    return (config->algorithm->traits & DSGD_WHOLE_SERVERS) || n_servers < 1 ? 1 : n_servers;
}

/**
 * Bytes that the busiest host sends in a step, at most: two vectors, as an allreduce does, or as a
 * server does for each of its workers; three where the algorithm declares it; a vector per round of
 * recursive doubling.
 */
static double bytes_of_step(const dsgd_run_config *config, double bytes)
{
    const int n_servers = dsgd_n_servers(config);
    const bool doubles = config->exchange.collective == DSGD_COLLECTIVE_RECURSIVE_DOUBLING;
    const double vectors = config->algorithm->traits & DSGD_SENDS_THREE_VECTORS ? 3 : 2;
    return bytes * dsgd_greater(vectors, doubles ? dsgd_log2(config->workers) : 0) *
           (n_servers > 0 ? dsgd_greater((double)config->workers / n_servers, 1) : 1);
}

/** Of the slowest way of a byte: by the NIC of whatever host, which others share, or between
 * groups. */
static double carrying_s_per_byte(const dsgd_platform *p, int workers)
{
    const int hosts = dsgd_platform_nic_hosts(p);
    double slowest_s = 0;
    for (int nic = 0; nic < (workers + hosts - 1) / hosts; nic++)
        slowest_s = fmax(slowest_s, hosts / dsgd_platform_nic_bytes_per_s(p, nic));
    const bool has_groups = dsgd_platform_group_hosts(p) > 0;
    if (has_groups && p->group_flow_bytes_per_s > 0)
        slowest_s = fmax(slowest_s, 1 / p->group_flow_bytes_per_s);
    if (has_groups && p->group_bytes_per_s > 0)
        slowest_s = fmax(slowest_s, (double)p->group_hosts / p->group_bytes_per_s);
    return slowest_s;
}

double dsgd_merging_error(const dsgd_run_config *config)
{
    const dsgd_platform *const p = config->platform;
    const dsgd_workload *const w = config->workload;
    const double many = DSGD_MANY_BUCKETS, bytes = dsgd_workload_bytes(w);
    const double n = dsgd_ceil(bytes / DSGD_DEFAULT_BUCKET_BYTES);
    const int64_t least = config->algorithm->least_pieces == NULL
                              ? 1
                              : config->algorithm->least_pieces(config->params, config->workers);
    const unsigned traits = config->algorithm->traits;
    const bool addresses_workers = (traits & DSGD_REJOINS) && config->algorithm->serve == NULL;
    if (graph_of(config->algorithm, config->params) != NULL || !config->exchange.blocking ||
        (traits & DSGD_CANCELS) || addresses_workers || least > DSGD_MANY_BUCKETS || n <= many ||
        !dsgd_platform_is_crossbar(p) || p->regions.n > 0)
        return INFINITY;
    /* Who gathers encoded vectors decodes what each worker has sent. */
    const double encoded =
        dsgd_run_encodes(config) ? config->workers * dsgd_platform_encoding_s_per_byte(p) : 0;
    const double s_per_byte = carrying_s_per_byte(p, config->workers) + p->reduction_s_per_byte +
                              p->staging_s_per_byte + p->operation_s_per_byte + encoded;
    const double carried_s = bytes_of_step(config, bytes) * s_per_byte;
    const double round_s =
        p->host_latency_s + p->group_latency_s + p->message_overhead_s + p->rendezvous_s;
    const bool in_rings =
        p->library != DSGD_LIBRARY_MPI || config->exchange.collective == DSGD_COLLECTIVE_RING ||
        config->exchange.partial_collective == DSGD_PARTIAL_COLLECTIVE + DSGD_COLLECTIVE_RING;
    const double latency_s =
        p->collective_launch_s +
        2 * round_s * (in_rings ? config->workers : dsgd_log2(config->workers) + 2);
    const bool hides =
        config->exchange.overlap && carried_s + n * latency_s <= w->backward_share * w->step_s;
    const double saved_s =
        hides ? p->collective_launch_s + p->collective_share * latency_s : latency_s;
    return (carried_s * (1 / many - 1 / n) + saved_s * (n - many)) / w->step_s;
}

double dsgd_bucket_bytes(const dsgd_run_config *config)
{
    static const double most_error = 0.01;
    if (config->exchange.bucket_bytes > 0)
        return config->exchange.bucket_bytes;
    return dsgd_merging_error(config) <= most_error
               ? dsgd_workload_bytes(config->workload) / DSGD_MANY_BUCKETS
               : DSGD_DEFAULT_BUCKET_BYTES;
}

/** Of a worker of several hosts: cut where another stage's begin, then evenly among the hosts of a
 * stage. */
static size_t divide_among_hosts(const dsgd_run_config *config, size_t n, double **bytes)
{
    dsgd_replica *replica = NULL;
    dsgd_error why; /* is told by another check */
    if (dsgd_replica_open(config->workload, &replica, &why) != DSGD_OK || replica == NULL)
        return n;
    n = dsgd_replica_cut(replica, n, bytes);
    const size_t beside = (size_t)replica->n_beside;
    double *const divided = dsgd_xcalloc(n * beside, sizeof *divided);
    for (size_t k = 0; k < n * beside; k++)
        divided[k] = (*bytes)[k / beside] / (double)beside;
    free(*bytes);
    *bytes = divided;
    dsgd_replica_close(replica);
    return n * beside;
}

size_t dsgd_pieces_of(const dsgd_run_config *config, double **bytes)
{
    const dsgd_exchange_config *const exchange = &config->exchange;
    const bool fused = exchange->fusion_bytes > 0 && config->workload->tensors.n > 0;
    const bool in_buckets = exchange->pieces == DSGD_PIECES_BUCKETS && !fused;
    const dsgd_buckets buckets = {in_buckets ? dsgd_bucket_bytes(config) : 0,
                                  exchange->first_bucket_bytes};
    const size_t n = dsgd_workload_pieces(
        config->workload, exchange->pieces > 0 ? (size_t)exchange->pieces : 0, buckets, bytes);
    return divide_among_hosts(config, n, bytes);
}

dsgd_machine dsgd_machine_of(const dsgd_run_config *config)
{
    return (dsgd_machine){.platform = config->platform,
                          .network = config->network,
                          .n_hosts = config->workers * dsgd_workload_hosts(config->workload) +
                                     dsgd_n_servers(config),
                          .n_workers = config->workers,
                          .hosts_each = dsgd_workload_hosts(config->workload),
                          .links_change = config->failures.links.n > 0,
                          .placement = config->placement,
                          .seed = config->seed};
}

dsgd_status dsgd_imbalance_for(const dsgd_run_config *config, dsgd_imbalance **imbalance,
                               dsgd_error *error)
{
    dsgd_specs lists[2];
    size_t n = 0;
    if (config->inherent)
        lists[n++] = config->workload->inherent;
    lists[n++] = config->imbalance;
    DSGD_TRY(dsgd_imbalance_open(lists, n, config->workers * dsgd_workload_hosts(config->workload),
                                 imbalance, error));
    const bool learning = config->learning != NULL && config->learning->model.about != NULL;
    if (learning || !dsgd_imbalance_reads_samples(*imbalance))
        return DSGD_OK;
    dsgd_imbalance_close(*imbalance);
    *imbalance = NULL;
    return dsgd_refuse(error, "imbalance: data takes its time from the samples, but there is "
                              "no learn: that says which");
}

/** A worker of several hosts. */
static dsgd_status check_inner(const dsgd_run_config *config, dsgd_error *error)
{
    const int hosts = dsgd_workload_hosts(config->workload);
    dsgd_replica *replica = NULL;
    if (hosts == 1)
        return DSGD_OK;
    if ((double)hosts * config->workers > 1 << DSGD_MAX_BITS)
        return dsgd_refuse(error,
                           "workload: inner: %d workers of %d hosts, but at most %d hosts "
                           "are possible",
                           config->workers, hosts, 1 << DSGD_MAX_BITS);
    DSGD_TRY(dsgd_replica_open(config->workload, &replica, error));
    dsgd_replica_close(replica);
    if (!dsgd_platform_has_numbers(config->platform) || config->network == DSGD_NETWORK_SIMGRID)
        return dsgd_refuse(error,
                           "workload: inner: a worker of several hosts is not for SimGrid to time: "
                           "give %s",
                           config->network == DSGD_NETWORK_SIMGRID
                               ? "network: flows"
                               : "a platform by its numbers, not XML");
    if (config->exchange.fusion_bytes > 0)
        return dsgd_refuse(error, "workload: inner: each host of a worker exchanges its own part: "
                                  "leave out exchange: fusion");
    return DSGD_OK;
}

static dsgd_status check_until(const dsgd_run_config *config, dsgd_error *error)
{
    const dsgd_until *const until = &config->until;
    if (config->steps_each > 0)
        return DSGD_OK;
    if (!(until->steps > 0 || until->seconds > 0 || until->samples > 0 || until->accuracy > 0))
        return dsgd_refuse(
            error, "until: nothing would end the run; give steps, seconds, samples or accuracy");
    if (until->accuracy > 0 && !dsgd_learns(config))
        return dsgd_refuse(error, "until: accuracy needs numerics, but %s",
                           config->numerics == DSGD_NUMERICS_OFF
                               ? "they are off (--numerics off)"
                               : "nothing is learned in this run");
    if (until->accuracy > 0 && config->learning->evaluate.every <= 0)
        return dsgd_refuse(error,
                           "until: accuracy needs learn: evaluate: every, which says when to look");
    return DSGD_OK;
}

static dsgd_status check_learning(const dsgd_run_config *config, dsgd_error *error)
{
    const dsgd_learning *const learning = config->learning;
    if (config->numerics == DSGD_NUMERICS_CUDA && dsgd_learns(config) &&
        learning->precision == DSGD_PRECISION_DOUBLE)
        return dsgd_refuse(
            error,
            "learn: precision: the CUDA device computes in float; use --numerics cpu for double");
    return DSGD_OK;
}

static dsgd_status check_algorithm(const dsgd_run_config *config, dsgd_error *error)
{
    DSGD_TRY(dsgd_workload_check(config->workload, error));
    if (dsgd_workload_gpus(config->workload) > dsgd_workload_hosts(config->workload) &&
        dsgd_platform_shares_routes(config->platform))
        return dsgd_refuse(error, "platform: routes: bandwidth is of all flows together, but one "
                                  "of a worker's gpus is simulated; leave out one of both");
    DSGD_TRY(dsgd_algorithm_check(config->algorithm, config->params, config->workers, error));
    const int n_servers = dsgd_n_servers(config);
    if (n_servers < 0)
        return dsgd_refuse(
            error, "algorithm `%s`: n_servers() gives %d with %d workers, but has to be 0 or more",
            config->algorithm->about.name, n_servers, config->workers);
    return DSGD_OK;
}

enum { MOST_PIECES = 4096 };

static dsgd_status check_fusion(const dsgd_run_config *config, dsgd_error *error)
{
    if (config->exchange.fusion_bytes <= 0)
        return DSGD_OK;
    if (!dsgd_has_traits(config, DSGD_SENDS_ALLREDUCES))
        return dsgd_refuse(error,
                           "exchange: fusion: it is of all workers' allreduces of what is not "
                           "encoded, but %s exchanges otherwise; give fusion to those algorithms "
                           "that it is for: {name: allreduce, exchange: {fusion: 64Mi}}",
                           config->algorithm->about.name);
    if (!config->exchange.blocking)
        return dsgd_refuse(
            error,
            "exchange: fusion: fused allreduces follow one another; leave out blocking: false");
    return DSGD_OK;
}

static dsgd_status check_encoding(const dsgd_run_config *config, dsgd_error *error)
{
    const dsgd_spec *const encoding = &config->exchange.encoding;
    const dsgd_algorithm *const algorithm = config->algorithm;
    if (encoding->about == NULL || dsgd_encoding_is_none(encoding))
        return DSGD_OK;
    if (config->exchange.fusion_bytes > 0)
        return dsgd_refuse(error,
                           "exchange: encoding: pieces are encoded one by one; leave out fusion");
    if ((algorithm->traits & DSGD_AVERAGES_MODELS) &&
        dsgd_encoding_kind_of(encoding)->of_differences)
        return dsgd_refuse(error,
                           "exchange: encoding: %s leaves out most of what it is given, but %s "
                           "sums models, which must not lose it; uniform or qsgd would do",
                           encoding->about->name, algorithm->about.name);
    const bool at_servers = (algorithm->traits & DSGD_OUTPUT_SERVERS) && dsgd_n_servers(config) > 0;
    if (dsgd_encoding_feeds_back(encoding) && !dsgd_has_traits(config, DSGD_SENDS_ALLREDUCES) &&
        !at_servers)
        return dsgd_refuse(error,
                           "exchange: encoding: feedback: %s exchanges otherwise than by "
                           "allreduces of all workers and servers, so that what is not sent is "
                           "lost or kept by itself; leave out feedback",
                           algorithm->about.name);
    if (dsgd_encoding_feeds_back(encoding) && dsgd_encoding_expands(encoding))
        return dsgd_refuse(error,
                           "exchange: encoding: feedback: with these options %s errs by more than "
                           "what it is given, and what is kept grows for ever; unbiased: false (of "
                           "qsgd damped: true, or more levels) would do",
                           encoding->about->name);
    return DSGD_OK;
}

/** NCCL's collectives on a platform that says what decides them. */
static dsgd_status check_library(const dsgd_run_config *config, dsgd_error *error)
{
    const bool asks = dsgd_way_of(config, false).how == DSGD_COLLECTIVE_NCCL ||
                      dsgd_way_of(config, true).how == DSGD_COLLECTIVE_NCCL;
    return !asks || config->platform->library != DSGD_LIBRARY_MPI
               ? DSGD_OK
               : dsgd_refuse(error,
                             "exchange: collective nccl: the platform's library is mpi; one of "
                             "library nccl says what its GPUs' links carry");
}

static dsgd_status check_exchange(const dsgd_run_config *config, dsgd_error *error)
{
    const dsgd_exchange_config *const exchange = &config->exchange;
    const bool in_buckets = exchange->pieces == DSGD_PIECES_BUCKETS;
    if (!in_buckets && (exchange->bucket_bytes > 0 || exchange->first_bucket_bytes > 0))
        return dsgd_refuse(
            error,
            "exchange: give either pieces or bucket, not both; pieces: buckets goes with a bucket");
    if (exchange->pieces == DSGD_PIECES_TENSORS && config->workload->tensors.n == 0)
        return dsgd_refuse(error, "exchange: pieces: tensors, but the workload lists none "
                                  "(workload: tensors); give a number of pieces, or buckets");
    const double buckets =
        in_buckets ? dsgd_ceil(dsgd_workload_bytes(config->workload) / dsgd_bucket_bytes(config))
                   : 0;
    double *bytes = NULL;
    double pieces = fmax(buckets, (double)exchange->pieces);
    if (dsgd_workload_hosts(config->workload) > 1 && pieces <= MOST_PIECES)
        pieces = (double)dsgd_pieces_of(config, &bytes);
    free(bytes);
    pieces *= dsgd_server_parts(config);
    if (pieces > MOST_PIECES)
        return dsgd_refuse(error,
                           "exchange: %.0f pieces%s, but at most %d are possible: give fewer "
                           "pieces, or a larger bucket (DDP's are of 25 MiB)",
                           pieces,
                           dsgd_server_parts(config) > 1 ? " (one of each for every server)" : "",
                           MOST_PIECES);
    return DSGD_OK;
}

/** "streaming_diloco needs 4 pieces" */
static dsgd_status check_pieces(const dsgd_run_config *config, dsgd_error *error)
{
    const dsgd_algorithm *const algorithm = config->algorithm;
    if (algorithm->least_pieces == NULL)
        return DSGD_OK;
    double *bytes = NULL;
    const int64_t parts = dsgd_server_parts(config);
    const int64_t n = (int64_t)dsgd_pieces_of(config, &bytes) * parts;
    const int64_t least = algorithm->least_pieces(config->params, config->workers);
    free(bytes);
    if (n >= least)
        return DSGD_OK;
    return dsgd_refuse(error,
                       "exchange: pieces: %jd, but %s needs %jd or more with these options; give "
                       "exchange: {pieces: %jd}",
                       n / parts, algorithm->about.name, least, (least + parts - 1) / parts);
}

/** Of `links`: whether they are there, and whether what times messages can slow them. */
static dsgd_status check_links(const dsgd_run_config *config, dsgd_error *error)
{
    const dsgd_platform *const p = config->platform;
    const dsgd_link_event *const events = config->failures.links.v;
    const int n_hosts = dsgd_machine_of(config).n_hosts;
    if (config->failures.links.n == 0)
        return DSGD_OK;
    if (!dsgd_platform_is_crossbar(p) || config->network == DSGD_NETWORK_SIMGRID)
        return dsgd_refuse(error,
                           "failures: links: only links of a topology switch or groups change, "
                           "with network: flows; XML has profiles instead");
    if (p->library != DSGD_LIBRARY_MPI)
        return dsgd_refuse(error,
                           "failures: links: collectives by NCCL or RCCL are formulas, which "
                           "no link slows; give platform: library: mpi");
    for (size_t i = 0; i < config->failures.links.n; i++) {
        const dsgd_link_event *const e = &events[i];
        const int64_t size = e->per == DSGD_PER_GROUP ? p->group_hosts : p->island_hosts;
        const int64_t n = e->per == DSGD_PER_WORKER ? config->workers
                          : size < 1                ? 0
                          : e->per == DSGD_PER_GROUP && p->regions.n > 0
                              ? (int64_t)p->regions.n
                              : (n_hosts + size - 1) / size;
        if (e->which >= n || e->to >= n || e->to == e->which)
            return dsgd_refuse(
                error,
                "failures: links: entry %zu: per %s, which %jd, to %jd, but there are "
                "%jd of these, from 0, and to is another one",
                i + 1, dsgd_failures_pers[e->per], e->which, e->to, n);
        if (e->to >= 0 && e->per != DSGD_PER_GROUP)
            return dsgd_refuse(error, "failures: links: to: is of per: group; leave it out");
    }
    return DSGD_OK;
}

static dsgd_status check_failures(const dsgd_run_config *config, dsgd_error *error)
{
    const dsgd_failures_config *const f = &config->failures;
    const dsgd_checkpoint *const c = &f->checkpoint;
    const dsgd_failure_event *const events = f->events.v;
    DSGD_TRY(check_links(config, error));
    for (size_t i = 0; i < f->events.n; i++)
        if (events[i].worker >= config->workers)
            return dsgd_refuse(
                error, "failures: events: worker: %jd, but with %d workers they are 0 to %d",
                events[i].worker, config->workers, config->workers - 1);
    for (size_t i = 0; i < f->events.n; i++)
        if (events[i].host >= dsgd_workload_hosts(config->workload))
            return dsgd_refuse(error,
                               "failures: events: host: %jd, but those of a worker are 0 to %d",
                               events[i].host, dsgd_workload_hosts(config->workload) - 1);
    const bool stays = f->policy == DSGD_POLICY_NONE || dsgd_goes_on(config);
    if (dsgd_failures_any(f) && stays && config->exchange.barrier)
        return dsgd_refuse(error, "failures: who has failed never comes to exchange: barrier; give "
                                  "policy: restart, or leave one of them out");
    const bool by_quorum = f->policy == DSGD_POLICY_QUORUM;
    if (dsgd_failures_any(f) && by_quorum && !(config->algorithm->traits & DSGD_QUORUM))
        return dsgd_refuse(error,
                           "failures: policy: quorum: no published answer of %s is known; "
                           "give policy: own, or restart",
                           config->algorithm->about.name);
    if (dsgd_failures_any(f) && by_quorum && config->exchange.fusion_bytes > 0)
        return dsgd_refuse(error,
                           "failures: policy: quorum: exchange: fusion is of all workers; leave "
                           "one of them out");
    const dsgd_platform *const p = config->platform;
    if ((f->per == DSGD_PER_ISLAND && p->island_hosts < 1) ||
        (f->per == DSGD_PER_GROUP && p->group_hosts < 1))
        return dsgd_refuse(error, "failures: per: the platform has no %s_hosts; give per: worker",
                           f->per == DSGD_PER_ISLAND ? "island" : "group");
    if (c->interval_s > 0 && c->every != DSGD_EVERY_DALY)
        return dsgd_refuse(error, "failures: checkpoint: give either every or interval, not both");
    const bool by_rule = c->interval_s <= 0 && c->every < 0 && c->every != DSGD_EVERY_NEVER;
    if (dsgd_failures_any(f) && !stays && by_rule && f->mtbf_s <= 0 && c->blocking &&
        dsgd_checkpoint_cost_s(c, dsgd_workload_bytes(config->workload)) > 0)
        return dsgd_refuse(error, "failures: checkpoint: every: daly and young need an mtbf, which "
                                  "events and traces do not say; give a number of steps, or an "
                                  "interval");
    dsgd_failures *failures = NULL;
    const dsgd_failure_units units = {config->workers, 1,
                                      dsgd_xcalloc((size_t)config->workers, sizeof *units.of)};
    const dsgd_status status = dsgd_failures_open(f, config->seed, units, &failures, error);
    dsgd_failures_close(failures);
    return status;
}

/** Before what divides by its numbers. */
static dsgd_status check_platform(const dsgd_run_config *config, dsgd_error *error)
{
    return config->machine_checked ? DSGD_OK : dsgd_platform_check(config->platform, error);
}

static dsgd_status check_machine(const dsgd_run_config *config, dsgd_error *error)
{
    const dsgd_machine machine = dsgd_machine_of(config);
    return config->machine_checked ? DSGD_OK : dsgd_machine_check(&machine, error);
}

static dsgd_status check_imbalance(const dsgd_run_config *config, dsgd_error *error)
{
    dsgd_imbalance *imbalance = NULL;
    const dsgd_status status = dsgd_imbalance_for(config, &imbalance, error);
    dsgd_imbalance_close(imbalance);
    return status;
}

dsgd_status dsgd_run_check(const dsgd_run_config *config, dsgd_error *error)
{
    static dsgd_status (*const checks[])(const dsgd_run_config *, dsgd_error *) = {
        check_until,    check_learning, check_algorithm, check_inner,  check_platform,
        check_library,  check_exchange, check_pieces,    check_fusion, check_encoding,
        check_failures, check_machine,  check_imbalance};
    if (config->workers < 1 || config->workers > 1 << DSGD_MAX_BITS)
        return dsgd_refuse(error, "workers: %d, but 1 to %d are possible", config->workers,
                           1 << DSGD_MAX_BITS);
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
        DSGD_TRY(checks[i](config, error));
    return DSGD_OK;
}
