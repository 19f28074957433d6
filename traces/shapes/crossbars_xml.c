/**
 * @file crossbars_xml.c
 * Writes SimGrid XML for one crossbar, or for groups of crossbars.
 */
#include "traces/shapes/crossbars.h"

static const char *const duplex = "SPLITDUPLEX";

void dsgd_xml_link(FILE *xml, const char *name, int i, double bytes_per_s, double latency_s,
                   const char *sharing)
{
    fprintf(xml,
            "  <link id=\"%s%d\" bandwidth=\"%.17gBps\" latency=\"%.17gs\" "
            "sharing_policy=\"%s\"/>\n",
            name, i, bytes_per_s, latency_s, sharing);
}

/**
 * Writes the paths within a node. A path contains the links of two hosts, and each link has half of
 * the latency.
 */
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
 * Writes the paths out of a group and into the group. A path contains the NIC of the host. A path
 * out of the group also contains the limit of a flow. Each host has its own link for this limit,
 * because SimGrid recomputes the shares of all flows of a link whenever a flow starts or ends.
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

/**
 * Writes hosts first to last of a crossbar. Every path contains two NICs, and each NIC has half of
 * the latency.
 */
static void write_crossbar(FILE *xml, const dsgd_platform *platform, bool grouped, int group,
                           int first, int last)
{
    const int per_nic = dsgd_platform_nic_hosts(platform);
    const int island = (int)platform->island_hosts;
    fprintf(xml, "<zone id=\"g%d\" routing=\"Cluster\">\n", group);
    for (int host = first; host <= last; host++) {
        fprintf(xml, "  <host id=\"n%d\" speed=\"%.17gf\"/>\n", host, dsgd_platform_nominal_flops);
        if (island > 0)
            dsgd_xml_link(xml, "island", host, platform->island_bytes_per_s,
                          platform->island_latency_s / 2, duplex);
        if (host % per_nic == 0) {
            const dsgd_host_quality q = dsgd_platform_nic(platform, host / per_nic);
            dsgd_xml_link(xml, "nic", host / per_nic,
                          q.bandwidth * platform->host_bandwidth_bytes_per_s,
                          platform->host_latency_s / 2 + q.latency_s, duplex);
        }
        fprintf(xml, "  <host_link id=\"n%d\" up=\"nic%d_UP\" down=\"nic%d_DOWN\"/>\n", host,
                host / per_nic, host / per_nic);
        if (grouped) /* If the platform has routes, limits and latencies are written with the
                      * routes. */
            dsgd_xml_link(xml, "flow", host,
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

/**
 * Writes the routes between regions. A route has the limit and latency of one flow, and the
 * bandwidth that all flows share. The function writes all links before the routes.
 */
static void write_routes(FILE *xml, const dsgd_platform *platform, int n_groups)
{
    const int n = (int)platform->regions.n;
    for (int k = 0; k < n_groups * n; k++) {
        const dsgd_between way = dsgd_platform_between(platform, k / n, k % n);
        dsgd_xml_link(xml, "one", k, fmin(way.flow_bytes_per_s, 1e18), way.latency_s, "FATPIPE");
        dsgd_xml_link(xml, "all", k, fmin(way.bytes_per_s, 1e18), 0, "SHARED");
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

/**
 * Writes groups of crossbars. Between the routers of two groups, a message passes the uplinks of
 * both groups.
 */
void dsgd_groups_write(FILE *xml, const dsgd_platform *platform, int n_hosts)
{
    const int size = (int)platform->group_hosts;
    const int n_groups = (n_hosts + size - 1) / size;
    fputs("<zone id=\"all\" routing=\"Full\">\n", xml);
    for (int g = 0; g < n_groups; g++) {
        const int last = (g + 1) * size - 1;
        write_crossbar(xml, platform, true, g, g * size, last < n_hosts ? last : n_hosts - 1);
        dsgd_xml_link(xml, "out", g, platform->group_bytes_per_s, 0, duplex);
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

void dsgd_switch_write(FILE *xml, const dsgd_platform *platform, int n_hosts)
{
    write_crossbar(xml, platform, false, 0, 0, n_hosts - 1);
}
