/**
 * @file slow_links.c Handles links that are slower, or carry nothing, for a while. The functions
 * compute the times of changes and the combined factor of each link. Messages that are under way
 * continue with the bandwidth that remains.
 */
#include "sim/engine/engine.h"
#include "sim/failures/failures.h"
#include "sim/network/network.h"

/** The state of one entry of the key `links`. */
typedef struct slowing {
    /* time at which the entry changes next; INFINITY if it does not change any more */
    double next_s;
    uint32_t n; /* number of slow periods of the entry that have ended */
    bool is_slow;
} slowing;

static int group_of(const dsgd_engine *engine, int host)
{
    return dsgd_platform_group(engine->config->platform, dsgd_cluster_places()[host]);
}

/** Returns true if one of the worker's hosts uses NIC @p nic. */
static bool is_behind(const dsgd_engine *engine, int64_t worker, int nic)
{
    const int per_nic = dsgd_platform_nic_hosts(engine->config->platform);
    int lane = 0;
    while (lane < engine->layout.n_lanes &&
           dsgd_cluster_places()[dsgd_cluster_host((int)worker, lane)] / per_nic != nic)
        lane++;
    return lane < engine->layout.n_lanes;
}

/**
 * Returns true if entry @p e concerns the link. @p from and @p to are as for
 * dsgd_network_ops.slow().
 */
static bool is_about(const dsgd_engine *engine, const dsgd_link_event *e, int from, int to)
{
    const dsgd_platform *const platform = engine->config->platform;
    if (to < 0 && e->per == DSGD_PER_WORKER)
        return is_behind(engine, e->which, from / dsgd_platform_nic_hosts(platform));
    if (to < 0)
        return e->per == DSGD_PER_ISLAND && from / platform->island_hosts == e->which;
    if (e->per != DSGD_PER_GROUP)
        return false;
    if (e->to < 0)
        return e->which == from || (from != to && e->which == to);
    return (e->which == from && e->to == to) || (e->which == to && e->to == from);
}

/**
 * Sets the bandwidth factor of a link to the product of the factors of all active entries that
 * concern the link.
 */
static void slow(dsgd_engine *engine, const slowing *s, int from, int to)
{
    const dsgd_structs *const links = &engine->config->failures.links;
    const dsgd_link_event *const events = links->v;
    double factor = 1;
    for (size_t i = 0; i < links->n; i++)
        if (s[i].is_slow && is_about(engine, &events[i], from, to))
            factor *= events[i].factor;
    dsgd_network_used->slow(from, to, factor);
}

/** Sets the bandwidth factors of all links that entry @p e concerns. */
static void change(dsgd_engine *engine, const slowing *s, const dsgd_link_event *e)
{
    const int n_hosts = dsgd_n_hosts(engine);
    int n_groups = 0;
    for (int i = 0; i < n_hosts; i++) {
        n_groups = group_of(engine, i) < n_groups ? n_groups : group_of(engine, i) + 1;
        if (is_about(engine, e, dsgd_cluster_places()[i], -1))
            slow(engine, s, dsgd_cluster_places()[i], -1);
    }
    for (int i = 0; i < n_groups * n_groups; i++)
        if (is_about(engine, e, i / n_groups, i % n_groups))
            slow(engine, s, i / n_groups, i % n_groups);
}

static void slowing_main(void *argument)
{
    dsgd_engine *const engine = argument;
    const dsgd_failures_config *const config = &engine->config->failures;
    const dsgd_link_event *const events = config->links.v;
    const uint64_t seed = engine->config->seed;
    slowing *const s = dsgd_run_alloc(engine, config->links.n * sizeof *s);
    for (size_t i = 0; i < config->links.n; i++)
        s[i].next_s = dsgd_link_event_s(config, seed, i, 0, 0);
    for (;;) {
        size_t first = 0;
        for (size_t i = 1; i < config->links.n; i++)
            first = s[i].next_s < s[first].next_s ? i : first;
        slowing *const next = &s[first];
        if (next->next_s == INFINITY)
            return;
        dsgd_sleep(next->next_s - dsgd_now_s());
        next->is_slow = !next->is_slow;
        change(engine, s, &events[first]);
        if (!next->is_slow)
            next->next_s = dsgd_link_event_s(config, seed, first, ++next->n, next->next_s);
        else
            next->next_s = events[first].for_s < 0 ? INFINITY : next->next_s + events[first].for_s;
    }
}

void dsgd_slow_links_open(dsgd_engine *engine)
{
    if (engine->config->failures.links.n > 0)
        dsgd_actor_start(0, slowing_main, engine);
}
