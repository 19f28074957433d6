/**
 * @file platform_xml.c
 * The SimGrid XML of all shapes but the user's own.
 */
#include "traces/fabric.h"

static const char *const duplex = "SPLITDUPLEX";

static void write_link(FILE *xml, const char *name, int i, double bytes_per_s, double latency_s,
                       const char *sharing)
{
    fprintf(xml,
            "  <link id=\"%s%d\" bandwidth=\"%.17gBps\" latency=\"%.17gs\" "
            "sharing_policy=\"%s\"/>\n",
            name, i, bytes_per_s, latency_s, sharing);
}

/** Paths within an island: the links of two hosts, which share the latency. */
static void write_island(FILE *xml, int first, int last)
{
    for (int a = first; a <= last; a++)
        for (int b = first; b <= last; b++)
            if (a != b)
                fprintf(xml,
                        "  <bypassRoute src=\"n%d\" dst=\"n%d\"><link_ctn id=\"island%d\" "
                        "direction=\"UP\"/><link_ctn id=\"island%d\" direction=\"DOWN\"/>"
                        "</bypassRoute>\n",
                        a, b, a, b);
}

/**
 * Paths out of a group and into it: the host's NIC, and on the way out the limit of a message. That
 * is a link of each host, because SimGrid shares anew what all flows of a link have whenever one
 * begins or ends.
 */
static void write_gateway(FILE *xml, const dsgd_platform *platform, int group, int first, int last)
{
    const int per_nic = dsgd_platform_nic_hosts(platform);
    for (int host = first; host <= last; host++)
        fprintf(xml,
                "  <bypassRoute src=\"n%d\" dst=\"r%d\"><link_ctn id=\"nic%d\" direction=\"UP\"/>"
                "<link_ctn id=\"flow%d\"/></bypassRoute>\n"
                "  <bypassRoute src=\"r%d\" dst=\"n%d\"><link_ctn id=\"nic%d\" "
                "direction=\"DOWN\"/></bypassRoute>\n",
                host, group, host / per_nic, host, group, host, host / per_nic);
}

/** Hosts first .. last of a crossbar. Every path has two NICs, which share the latency. */
static void write_crossbar(FILE *xml, const dsgd_platform *platform, int group, int first, int last)
{
    const int per_nic = dsgd_platform_nic_hosts(platform);
    const int island = (int)platform->island_hosts;
    const bool grouped = platform->topology == DSGD_TOPOLOGY_GROUPS;
    fprintf(xml, "<zone id=\"g%d\" routing=\"Cluster\">\n", group);
    for (int host = first; host <= last; host++) {
        fprintf(xml, "  <host id=\"n%d\" speed=\"%.17gf\"/>\n", host, dsgd_platform_nominal_flops);
        if (island > 0)
            write_link(xml, "island", host, platform->island_bytes_per_s,
                       platform->island_latency_s / 2, duplex);
        if (host % per_nic == 0) {
            const dsgd_host_quality q = dsgd_platform_nic(platform, host / per_nic);
            write_link(xml, "nic", host / per_nic,
                       q.bandwidth * platform->host_bandwidth_bytes_per_s,
                       platform->host_latency_s / 2 + q.latency_s, duplex);
        }
        fprintf(xml, "  <host_link id=\"n%d\" up=\"nic%d_UP\" down=\"nic%d_DOWN\"/>\n", host,
                host / per_nic, host / per_nic);
        if (grouped) /* where there are routes these say it */
            write_link(xml, "flow", host,
                       platform->route_of == NULL ? platform->group_flow_bytes_per_s : 1e18,
                       platform->route_of == NULL ? platform->group_latency_s : 0, "FATPIPE");
    }
    if (grouped)
        fprintf(xml, "  <router id=\"r%d\"/>\n", group);
    for (int host = first; island > 0 && host <= last; host += island)
        write_island(xml, host, host + island - 1 < last ? host + island - 1 : last);
    if (grouped)
        write_gateway(xml, platform, group, first, last);
    fputs("</zone>\n", xml);
}

/** From region to region: the limit and latency of a flow, and what all flows share; links before
 * routes. */
static void write_routes(FILE *xml, const dsgd_platform *platform, int n_groups)
{
    const int n = (int)platform->regions.n;
    for (int k = 0; k < n_groups * n; k++) {
        const dsgd_between way = dsgd_platform_between(platform, k / n, k % n);
        write_link(xml, "one", k, fmin(way.flow_bytes_per_s, 1e18), way.latency_s, "FATPIPE");
        write_link(xml, "all", k, fmin(way.bytes_per_s, 1e18), 0, "SHARED");
    }
    for (int a = 0; a < n_groups; a++)
        for (int b = 0; b < n_groups; b++)
            if (a != b)
                fprintf(xml,
                        "  <zoneRoute src=\"g%d\" dst=\"g%d\" gw_src=\"r%d\" gw_dst=\"r%d\" "
                        "symmetrical=\"NO\"><link_ctn id=\"out%d\" direction=\"UP\"/>"
                        "<link_ctn id=\"one%d\"/><link_ctn id=\"all%d\"/>"
                        "<link_ctn id=\"out%d\" direction=\"DOWN\"/></zoneRoute>\n",
                        a, b, a, b, a, a * n + b, a * n + b, b);
}

/** From router to router a message passes the way out of one group and the way into the other. */
static void write_groups(FILE *xml, const dsgd_platform *platform, int n_hosts)
{
    const int size = (int)platform->group_hosts;
    const int n_groups = (n_hosts + size - 1) / size;
    fputs("<zone id=\"all\" routing=\"Full\">\n", xml);
    for (int g = 0; g < n_groups; g++) {
        const int last = (g + 1) * size - 1;
        write_crossbar(xml, platform, g, g * size, last < n_hosts ? last : n_hosts - 1);
        write_link(xml, "out", g, platform->group_bytes_per_s, 0, duplex);
    }
    if (platform->route_of != NULL)
        write_routes(xml, platform, n_groups);
    for (int a = 0; platform->route_of == NULL && a < n_groups; a++)
        for (int b = a + 1; b < n_groups; b++)
            fprintf(xml,
                    "  <zoneRoute src=\"g%d\" dst=\"g%d\" gw_src=\"r%d\" gw_dst=\"r%d\">"
                    "<link_ctn id=\"out%d\" direction=\"UP\"/>"
                    "<link_ctn id=\"out%d\" direction=\"DOWN\"/></zoneRoute>\n",
                    a, b, a, b, a, b);
    fputs("</zone>\n", xml);
}

/** "2,3,4", or @p n 1s where there are none. */
static const char *numbers_text(const dsgd_numbers *numbers, size_t n)
{
    char *text = dsgd_xstrdup("");
    for (size_t i = 0; i < n; i++)
        dsgd_append(&text, "%s%.0f", i == 0 ? "" : ",", dsgd_extent(numbers, i));
    return text;
}

static void write_topology(FILE *xml, const dsgd_platform *p)
{
    const size_t n = p->size.n;
    const double *const size = p->size.v;
    if (p->topology == DSGD_TOPOLOGY_TORUS)
        fprintf(xml, "topology=\"TORUS\" topo_parameters=\"%s\"", numbers_text(&p->size, n));
    else if (p->topology == DSGD_TOPOLOGY_FAT_TREE)
        fprintf(xml, "topology=\"FAT_TREE\" topo_parameters=\"%zu;%s;%s;%s\"", n,
                numbers_text(&p->size, n), numbers_text(&p->up, n), numbers_text(&p->cables, n));
    else
        fprintf(xml,
                "topology=\"DRAGONFLY\" topo_parameters=\"%.0f,%.0f;%.0f,%.0f;%.0f,%.0f;%.0f\"",
                size[0], dsgd_extent(&p->cables, 0), size[1], dsgd_extent(&p->cables, 1), size[2],
                dsgd_extent(&p->cables, 2), size[3]);
}

/**
 * Two hosts of one switch or router are connected by two links, neighbours in a torus by one. The
 * zone around them is for SimGrid 4.0, which crashes where such a cluster is the outermost.
 */
static void write_cluster(FILE *xml, const dsgd_platform *platform)
{
    const double links = platform->topology == DSGD_TOPOLOGY_TORUS ? 1 : 2;
    fprintf(xml,
            "<zone id=\"world\" routing=\"Full\">\n<cluster id=\"all\" prefix=\"n\" suffix=\"\" "
            "radical=\"0-%d\" speed=\"%.17gf\" "
            "bw=\"%.17gBps\" lat=\"%.17gs\" sharing_policy=\"SPLITDUPLEX\"\n         ",
            dsgd_platform_most_hosts(platform) - 1, dsgd_platform_nominal_flops,
            platform->host_bandwidth_bytes_per_s, platform->host_latency_s / links);
    write_topology(xml, platform);
    fputs("/>\n</zone>\n", xml);
}

/** A link of each direction, and the route between any two. */
static void write_fabric(FILE *xml, const dsgd_platform *platform, int n_hosts)
{
    fputs("<zone id=\"all\" routing=\"Full\">\n", xml);
    for (int host = 0; host < n_hosts; host++)
        fprintf(xml, "  <host id=\"n%d\" speed=\"%.17gf\"/>\n", host, dsgd_platform_nominal_flops);
    const size_t n_links = dsgd_fabric_n_links(platform, n_hosts);
    for (size_t i = 0; i < n_links; i++) {
        const dsgd_fabric_link l = dsgd_fabric_link_at(platform, i);
        if (l.bytes_per_s > 0) /* there is a spine */
            write_link(xml, "link", (int)i, l.bytes_per_s, l.latency_s, "SHARED");
    }
    for (int from = 0; from < n_hosts; from++)
        for (int to = 0; to < n_hosts; to++) {
            size_t link[DSGD_FABRIC_MOST_LINKS];
            const size_t n = from == to ? 0 : dsgd_fabric_route(platform, from, to, link);
            if (n == 0)
                continue;
            fprintf(xml, "  <route src=\"n%d\" dst=\"n%d\" symmetrical=\"NO\">", from, to);
            for (size_t k = 0; k < n; k++)
                fprintf(xml, "<link_ctn id=\"link%zu\"/>", link[k]);
            fputs("</route>\n", xml);
        }
    fputs("</zone>\n", xml);
}

dsgd_status dsgd_platform_write(const dsgd_platform *platform, int n_hosts, const char *path,
                                dsgd_error *error)
{
    if (platform->topology == DSGD_TOPOLOGY_XML)
        return DSGD_OK;
    FILE *const xml = fopen(path, "w");
    if (xml == NULL)
        return dsgd_fail(error, DSGD_EIO, "%s: the platform cannot be written: %m", path);
    fputs("<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM "
          "\"https://simgrid.org/simgrid.dtd\">\n<platform version=\"4.1\">\n",
          xml);
    if (dsgd_platform_is_fabric(platform))
        write_fabric(xml, platform, n_hosts);
    else if (dsgd_platform_is_made_by_simgrid(platform))
        write_cluster(xml, platform);
    else if (platform->topology == DSGD_TOPOLOGY_SWITCH)
        write_crossbar(xml, platform, 0, 0, n_hosts - 1);
    else
        write_groups(xml, platform, n_hosts);
    fputs("</platform>\n", xml);
    const bool failed = ferror(xml) != 0;
    if (fclose(xml) != 0 || failed)
        return dsgd_fail(error, DSGD_EIO, "%s: the platform cannot be written: %m", path);
    return DSGD_OK;
}
