/**
 * @file hosts.c
 * Computes properties of the hosts of a platform: their number, their differences and their
 * positions.
 */
#include "traces/platform.h"

const double dsgd_platform_nominal_flops = 1e9;

double dsgd_product(const dsgd_numbers *numbers)
{
    double all = 1;
    for (size_t i = 0; i < numbers->n; i++)
        all *= numbers->v[i];
    return all;
}

int dsgd_platform_most_hosts(const dsgd_platform *platform)
{
    if (platform->regions.n > 0)
        return (int)fmin((double)platform->regions.n * (double)platform->group_hosts,
                         DSGD_PLATFORM_ANY - 1);
    return platform->size.n > 0 ? (int)dsgd_product(&platform->size) : DSGD_PLATFORM_ANY;
}

static bool names(const dsgd_platform_entry *e, int host)
{
    bool is = e->first >= 0 && host >= e->first && host < e->first + e->count;
    for (size_t i = 0; i < e->list.n; i++)
        is = is || e->list.v[i] == host;
    return is;
}

dsgd_host_quality dsgd_platform_host(const dsgd_platform *platform, int host)
{
    const dsgd_platform_entry *const entries = platform->hosts.v;
    dsgd_host_quality q = {1, 1, 0};
    for (size_t i = 0; i < platform->hosts.n; i++) {
        if (!names(&entries[i], host))
            continue;
        q.speed *= entries[i].speed;
        q.bandwidth *= entries[i].bandwidth;
        q.latency_s += entries[i].latency_s;
    }
    return q;
}

double dsgd_platform_encoding_s_per_byte(const dsgd_platform *platform)
{
    static const double memory_s_per_byte = 8 / 800e9;
    return platform->encoding_s_per_byte < 0 ? memory_s_per_byte : platform->encoding_s_per_byte;
}

int dsgd_platform_nic_hosts(const dsgd_platform *platform)
{
    return platform->island_hosts == 0 ? 1 : (int)(platform->island_hosts / platform->island_nics);
}

/** Reduces the quality of a link if another host that shares the link has a lower quality. */
static void share(dsgd_host_quality *q, dsgd_host_quality other)
{
    q->bandwidth = fmin(q->bandwidth, other.bandwidth);
    q->latency_s = fmax(q->latency_s, other.latency_s);
}

dsgd_host_quality dsgd_platform_nic(const dsgd_platform *platform, int nic)
{
    const int per_nic = dsgd_platform_nic_hosts(platform);
    dsgd_host_quality q = dsgd_platform_host(platform, nic * per_nic);
    for (int i = 1; i < per_nic; i++)
        share(&q, dsgd_platform_host(platform, nic * per_nic + i));
    return q;
}

bool dsgd_platform_same_island(const dsgd_platform *platform, int host, int other)
{
    const int island = (int)platform->island_hosts;
    return island > 0 && host / island == other / island;
}

bool dsgd_platform_in_one(const dsgd_platform_use *use, int size)
{
    for (int i = 1; i < use->n_hosts; i++)
        if (use->places[i] / size != use->places[0] / size)
            return false;
    return true;
}
