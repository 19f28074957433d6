/**
 * @file check.c Rejects configurations that cannot run, before the run starts. The error message
 * contains the reason.
 */
#include "sim/run.h"

#include "base/round.h"
#include "models/encodings/encoding.h"
#include "sim/engine/engine.h"

/**
 * Returns the value of the algorithm's option @p name. Returns 1 if there is no such option, or if
 * it is not an integer.
 */
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

/**
 * Returns the graph that the algorithm's option `graph` selects, or NULL if the algorithm has no
 * graph.
 */
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
 * Returns an upper bound on the bytes that the busiest host sends in a step. For a worker, the
 * bound is two vectors, as in an allreduce, or three vectors if the algorithm has the trait
 * DSGD_SENDS_THREE_VECTORS. With recursive doubling, the bound is at least one vector per round. A
 * server sends this number of bytes for each of its workers.
 */
static double bytes_of_step(const dsgd_run_config *config, double bytes)
{
    const int n_servers = dsgd_n_servers(config);
    const bool doubles = config->exchange.collective == DSGD_COLLECTIVE_RECURSIVE_DOUBLING;
    const double vectors = config->algorithm->traits & DSGD_SENDS_THREE_VECTORS ? 3 : 2;
    return bytes * dsgd_greater(vectors, doubles ? dsgd_log2(config->workers) : 0) *
           (n_servers > 0 ? dsgd_greater((double)config->workers / n_servers, 1) : 1);
}

/**
 * Returns the time per byte on the slowest part of a path: a NIC that hosts share, or a link
 * between groups.
 */
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
    /* A worker that gathers compressed vectors decompresses the vectors of all workers. */
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

/**
 * Cuts the chunks for workers that have several hosts. First cuts the chunks at the borders of
 * stages. Then divides each chunk evenly among the hosts of a stage. Returns the new number of
 * chunks.
 */
static size_t divide_among_hosts(const dsgd_run_config *config, size_t n, double **bytes)
{
    dsgd_replica *replica = NULL;
    dsgd_error why; /* the reason is not used, because another check reports this error */
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
    return dsgd_refuse(error,
                       "imbalance: data needs samples to train on, but the experiment has no "
                       "learn:. Add learn:, or remove kind: data");
}

/** A combination of settings with which a run is impossible. */
typedef struct conflict {
    bool applies;
    const char *why; /* beginning of the error message, up to the name of the algorithm */
    /*
     * rest of the message after the name of the algorithm; NULL if the message does not contain the
     * name
     */
    const char *rest;
} conflict;

/**
 * Rejects the configuration if it has a conflict, with the message of the first such conflict. The
 * list of conflicts ends with {0}.
 */
static dsgd_status refuse_first(const conflict *c, const dsgd_run_config *config, dsgd_error *error)
{
    while (c->why != NULL && !c->applies)
        c++;
    const char *const name = c->rest == NULL ? "" : config->algorithm->about.name;
    return c->why == NULL
               ? DSGD_OK
               : dsgd_refuse(error, "%s%s%s", c->why, name, c->rest == NULL ? "" : c->rest);
}

static dsgd_status check_workers(const dsgd_run_config *config, dsgd_error *error)
{
    const int most = 1 << DSGD_MAX_BITS, hosts = dsgd_workload_hosts(config->workload);
    if (config->workers < 1 || config->workers > most)
        return dsgd_refuse(error, "workers must be between 1 and %d, got %d", most,
                           config->workers);
    return (double)hosts * config->workers <= most
               ? DSGD_OK
               : dsgd_refuse(error,
                             "workload: inner: a run can have at most %d hosts, but there are %d "
                             "workers of %d hosts each. Use fewer workers or hosts",
                             most, config->workers, hosts);
}

/** Checks the key `workload: inner` for workers that have several hosts. */
static dsgd_status check_inner(const dsgd_run_config *config, dsgd_error *error)
{
    dsgd_replica *replica = NULL;
    DSGD_TRY(dsgd_replica_open(config->workload, &replica, error));
    dsgd_replica_close(replica);
    const bool inner = replica != NULL;
    const conflict conflicts[] = {
        {inner && config->network == DSGD_NETWORK_SIMGRID,
         "workload: inner: SimGrid cannot simulate workers of several hosts. Use network: flows"},
        {inner && !dsgd_platform_has_numbers(config->platform),
         "workload: inner: workers of several hosts need a platform that is given by its numbers, "
         "not by an XML file"},
        {inner && config->exchange.fusion_bytes > 0,
         "workload: inner: exchange: fusion is not supported for workers of several hosts, because "
         "each host exchanges its own part of the model. Remove fusion"},
        {0}};
    return refuse_first(conflicts, config, error);
}

static dsgd_status check_until(const dsgd_run_config *config, dsgd_error *error)
{
    const dsgd_until *const until = &config->until;
    const bool learns = dsgd_learns(config), accuracy = until->accuracy > 0,
               off = config->numerics == DSGD_NUMERICS_OFF;
    const bool ends = until->steps > 0 || until->seconds > 0 || until->samples > 0 || accuracy;
    const conflict conflicts[] = {
        {!ends, "until: the run would never end. Give steps, seconds, samples or accuracy"},
        {accuracy && !learns && off,
         "until: accuracy needs numerics, but they are off (--numerics off)"},
        {accuracy && !learns,
         "until: accuracy needs numerics, but nothing is learned in this run. Add learn:, or use "
         "until: steps"},
        {accuracy && learns && config->learning->evaluate.every <= 0,
         "until: accuracy needs regular evaluations. Give the steps between two evaluations, for "
         "example learn: {evaluate: {every: 10}}"},
        {0}};
    return config->steps_each > 0 ? DSGD_OK : refuse_first(conflicts, config, error);
}

static dsgd_status check_algorithm(const dsgd_run_config *config, dsgd_error *error)
{
    DSGD_TRY(dsgd_workload_check(config->workload, error));
    const conflict conflicts[] = {
        {config->numerics == DSGD_NUMERICS_CUDA && dsgd_learns(config) &&
             config->learning->precision == DSGD_PRECISION_DOUBLE,
         "learn: precision: double is not supported on the CUDA device. Use precision: float or "
         "--numerics cpu"},
        {dsgd_workload_gpus(config->workload) > dsgd_workload_hosts(config->workload) &&
             dsgd_platform_shares_routes(config->platform),
         "platform: routes: bandwidth limits all flows together, but only one of a worker's gpus "
         "is simulated. Remove routes: bandwidth or workload: gpus"},
        {0}};
    DSGD_TRY(refuse_first(conflicts, config, error));
    DSGD_TRY(dsgd_algorithm_check(config->algorithm, config->params, config->workers, error));
    const int n_servers = dsgd_n_servers(config);
    return n_servers >= 0 ? DSGD_OK
                          : dsgd_refuse(error,
                                        "algorithm `%s`: n_servers() must return 0 or more, but it "
                                        "returns %d for %d workers",
                                        config->algorithm->about.name, n_servers, config->workers);
}

enum { MOST_PIECES = 4096 };

static dsgd_status check_encoding(const dsgd_run_config *config, dsgd_error *error)
{
    const dsgd_spec *const encoding = &config->exchange.encoding;
    const unsigned traits = config->algorithm->traits;
    if (encoding->about == NULL || dsgd_encoding_is_none(encoding))
        return DSGD_OK;
    const bool feeds_back = dsgd_encoding_feeds_back(encoding),
               at_servers = (traits & DSGD_OUTPUT_SERVERS) && dsgd_n_servers(config) > 0;
    const conflict conflicts[] = {
        {config->exchange.fusion_bytes > 0,
         "exchange: encoding: gradient compression encodes each chunk by itself. Remove fusion"},
        {(traits & DSGD_AVERAGES_MODELS) && dsgd_encoding_kind_of(encoding)->of_differences,
         "exchange: encoding: this gradient compression sends only a small part of each vector, "
         "but ",
         " averages models, which must be sent as a whole. Use kind: uniform or qsgd"},
        {feeds_back && !dsgd_has_traits(config, DSGD_SENDS_ALLREDUCES) && !at_servers,
         "exchange: encoding: feedback is not supported by ",
         ", because it exchanges otherwise than by allreduces of all workers and servers. Values "
         "that are not sent would be lost. Remove feedback"},
        {0}};
    DSGD_TRY(refuse_first(conflicts, config, error));
    if (feeds_back && dsgd_encoding_expands(encoding))
        return dsgd_refuse(error,
                           "exchange: encoding: feedback: with these options the error of %s is "
                           "larger than the vector, so the feedback would grow without bound. Use "
                           "unbiased: false (for qsgd: damped: true, or more levels)",
                           encoding->about->name);
    return DSGD_OK;
}

static dsgd_status check_exchange(const dsgd_run_config *config, dsgd_error *error)
{
    const dsgd_exchange_config *const exchange = &config->exchange;
    const bool in_buckets = exchange->pieces == DSGD_PIECES_BUCKETS;
    const bool fused = exchange->fusion_bytes > 0;
    const bool asks_nccl = dsgd_way_of(config, false).how == DSGD_COLLECTIVE_NCCL ||
                           dsgd_way_of(config, true).how == DSGD_COLLECTIVE_NCCL;
    const conflict conflicts[] = {
        {asks_nccl && config->platform->library == DSGD_LIBRARY_MPI,
         "exchange: collective: nccl needs a platform with library: nccl, but this platform has "
         "library: mpi. Choose a platform that describes its GPU links, such as dgx-a100"},
        {!in_buckets && (exchange->bucket_bytes > 0 || exchange->first_bucket_bytes > 0),
         "exchange: give either pieces or bucket, not both; pieces: buckets goes with a bucket"},
        {exchange->pieces == DSGD_PIECES_TENSORS && config->workload->tensors.n == 0,
         "exchange: pieces: tensors needs a list of tensors (workload: tensors), but the workload "
         "lists none. Give a number of pieces, or pieces: buckets"},
        {fused && !dsgd_has_traits(config, DSGD_SENDS_ALLREDUCES),
         "exchange: fusion is only for allreduces of all workers without gradient compression, "
         "but ",
         " exchanges otherwise. Give fusion only to the algorithms that can use it: "
         "{name: allreduce, exchange: {fusion: 64Mi}}"},
        {fused && !exchange->blocking,
         "exchange: fusion exchanges one fused allreduce after another. Remove blocking: false"},
        {0}};
    DSGD_TRY(refuse_first(conflicts, config, error));
    const double buckets =
        in_buckets ? dsgd_ceil(dsgd_workload_bytes(config->workload) / dsgd_bucket_bytes(config))
                   : 0;
    const dsgd_algorithm *const algorithm = config->algorithm;
    const int64_t parts = dsgd_server_parts(config);
    double pieces = fmax(buckets, (double)exchange->pieces);
    double *bytes = NULL;
    const double n = pieces > MOST_PIECES ? pieces : (double)dsgd_pieces_of(config, &bytes);
    free(bytes);
    if (dsgd_workload_hosts(config->workload) > 1)
        pieces = n;
    if (pieces * (double)parts > MOST_PIECES)
        return dsgd_refuse(error,
                           "exchange: pieces must be at most %d, got %.0f%s. Use fewer pieces or a "
                           "larger bucket (PyTorch DDP uses 25 MiB)",
                           MOST_PIECES, pieces * (double)parts,
                           parts > 1 ? " (each is divided among all servers)" : "");
    const int64_t least = algorithm->least_pieces == NULL
                              ? 1
                              : algorithm->least_pieces(config->params, config->workers);
    const int64_t needed = (least + parts - 1) / parts;
    return n >= (double)needed
               ? DSGD_OK
               : dsgd_refuse(error,
                             "exchange: pieces must be at least %jd for %s with these options, got "
                             "%.0f. Use exchange: {pieces: %jd}",
                             needed, algorithm->about.name, n, needed);
}

/**
 * Returns the number of targets (workers, islands or groups) that exist for an entry of `failures:
 * links`.
 */
static int64_t n_link_targets(const dsgd_run_config *config, const dsgd_link_event *e)
{
    const dsgd_platform *const p = config->platform;
    const int64_t size = e->per == DSGD_PER_GROUP ? p->group_hosts : p->island_hosts;
    if (e->per == DSGD_PER_WORKER)
        return config->workers;
    if (size >= 1 && e->per == DSGD_PER_GROUP && p->regions.n > 0)
        return (int64_t)p->regions.n;
    return size < 1 ? 0 : (dsgd_machine_of(config).n_hosts + size - 1) / size;
}

/** Checks that the links of `failures: links` exist, and that the network can make links slower. */
static dsgd_status check_links(const dsgd_run_config *config, dsgd_error *error)
{
    const dsgd_platform *const p = config->platform;
    const dsgd_link_event *const events = config->failures.links.v;
    const size_t n_events = config->failures.links.n;
    const conflict conflicts[] = {
        {n_events > 0 && (!dsgd_platform_is_crossbar(p) || config->network == DSGD_NETWORK_SIMGRID),
         "failures: links needs topology: switch or groups, and network: flows. For an XML "
         "platform use SimGrid's profiles instead"},
        {n_events > 0 && p->library != DSGD_LIBRARY_MPI,
         "failures: links has no effect on the collectives of NCCL and RCCL, whose times are "
         "formulas. Use platform: {library: mpi}"},
        {0}};
    DSGD_TRY(refuse_first(conflicts, config, error));
    for (size_t i = 0; i < n_events; i++) {
        const dsgd_link_event *const e = &events[i];
        const int64_t n = n_link_targets(config, e);
        if (e->which >= n || e->to >= n || e->to == e->which)
            return dsgd_refuse(error,
                               "failures: links: entry %zu: which and to must be two different "
                               "numbers below %jd (the number of targets with per: %s), got %jd "
                               "and %jd",
                               i + 1, n, dsgd_failures_pers[e->per], e->which, e->to);
        if (e->to >= 0 && e->per != DSGD_PER_GROUP)
            return dsgd_refuse(error, "failures: links: entry %zu: to needs per: group. Remove to",
                               i + 1);
    }
    return DSGD_OK;
}

static dsgd_status check_events(const dsgd_run_config *config, dsgd_error *error)
{
    const dsgd_structs *const events = &config->failures.events;
    const int hosts = dsgd_workload_hosts(config->workload);
    for (size_t i = 0; i < events->n; i++) {
        const dsgd_failure_event *const e = &((const dsgd_failure_event *)events->v)[i];
        const bool is_worker = e->worker >= config->workers;
        if (is_worker || e->host >= hosts)
            return dsgd_refuse(error, "failures: events: %s must be between 0 and %d, got %jd",
                               is_worker ? "worker" : "host",
                               (is_worker ? config->workers : hosts) - 1,
                               is_worker ? e->worker : e->host);
    }
    return DSGD_OK;
}

static dsgd_status check_failures(const dsgd_run_config *config, dsgd_error *error)
{
    const dsgd_failures_config *const f = &config->failures;
    const dsgd_checkpoint *const c = &f->checkpoint;
    const dsgd_platform *const p = config->platform;
    DSGD_TRY(check_links(config, error));
    DSGD_TRY(check_events(config, error));
    const bool any = dsgd_failures_any(f), quorum = any && f->policy == DSGD_POLICY_QUORUM,
               stays = f->policy == DSGD_POLICY_NONE || dsgd_goes_on(config),
               by_rule = c->interval_s <= 0 && c->every < 0 && c->every != DSGD_EVERY_NEVER,
               costs = dsgd_checkpoint_cost_s(c, dsgd_workload_bytes(config->workload)) > 0;
    const conflict conflicts[] = {
        {any && stays && config->exchange.barrier,
         "failures: a failed worker never reaches exchange: barrier, so the others would wait for "
         "ever. Use policy: restart, or remove barrier"},
        {quorum && !(config->algorithm->traits & DSGD_QUORUM),
         "failures: policy: quorum is not supported by ",
         " (no published method). Use policy: own or policy: restart"},
        {quorum && config->exchange.fusion_bytes > 0,
         "failures: policy: quorum does not work with exchange: fusion, which needs all workers. "
         "Remove one of them"},
        {f->per == DSGD_PER_ISLAND && p->island_hosts < 1,
         "failures: per: island needs a platform with island_hosts. Use per: worker"},
        {f->per == DSGD_PER_GROUP && p->group_hosts < 1,
         "failures: per: group needs a platform with group_hosts. Use per: worker"},
        {c->interval_s > 0 && c->every != DSGD_EVERY_DALY,
         "failures: checkpoint: give either every or interval, not both"},
        {any && !stays && by_rule && f->mtbf_s <= 0 && c->blocking && costs,
         "failures: checkpoint: every: daly and young need mtbf, which events and traces do not "
         "give. Use every: with a number of steps, or interval"},
        {0}};
    DSGD_TRY(refuse_first(conflicts, config, error));
    dsgd_failures *failures = NULL;
    const dsgd_failure_units units = {config->workers, 1,
                                      dsgd_xcalloc((size_t)config->workers, sizeof *units.of)};
    const dsgd_status status = dsgd_failures_open(f, config->seed, units, &failures, error);
    dsgd_failures_close(failures);
    return status;
}

/** Checks the platform. Must run before the checks that divide by numbers of the platform. */
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
        check_workers,  check_until,    check_algorithm, check_inner,    check_machine,
        check_exchange, check_encoding, check_failures,  check_imbalance};
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
        DSGD_TRY(checks[i](config, error));
    return DSGD_OK;
}
