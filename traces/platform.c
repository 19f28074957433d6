/**
 * @file platform.c
 * The option table of a platform, and the SimGrid XML of the two shapes that need none from the user.
 */
#include "traces/platform.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char *const topologies[] = {"switch", "groups", "xml", NULL};

const dsgd_option dsgd_platform_options[] = {
    {.name = "summary",
     .kind = DSGD_STRING,
     .offset = offsetof(dsgd_platform, summary),
     .help = "what it is"},
    {.name = "origin",
     .kind = DSGD_STRING,
     .offset = offsetof(dsgd_platform, origin),
     .help = "where the figures come from"},
    {.name = "topology",
     .kind = DSGD_CHOICE,
     .offset = offsetof(dsgd_platform, topology),
     .words = topologies,
     .help = "one crossbar, groups with a limit between them, or a SimGrid XML file"},
    {.name = "file",
     .kind = DSGD_STRING,
     .offset = offsetof(dsgd_platform, file),
     .unit = "path",
     .help = "SimGrid XML, for topology xml"},
    {.name = "host_bandwidth",
     .kind = DSGD_DOUBLE,
     .offset = offsetof(dsgd_platform, host_bandwidth_bytes_per_s),
     .init = 10e9,
     .min = 1,
     .max = 1e15,
     .unit = "bytes/s",
     .help = "of a host's link, in each direction"},
    {.name = "host_latency",
     .kind = DSGD_DOUBLE,
     .offset = offsetof(dsgd_platform, host_latency_s),
     .init = 1e-6,
     .max = 10,
     .unit = "s",
     .help = "between two hosts of one switch or group"},
    {.name = "group_hosts",
     .kind = DSGD_LONG,
     .offset = offsetof(dsgd_platform, group_hosts),
     .max = 1e6,
     .help = "hosts per group"},
    {.name = "group_flow_bandwidth",
     .kind = DSGD_DOUBLE,
     .offset = offsetof(dsgd_platform, group_flow_bytes_per_s),
     .max = 1e15,
     .unit = "bytes/s",
     .help = "limit of one flow between groups"},
    {.name = "group_bandwidth",
     .kind = DSGD_DOUBLE,
     .offset = offsetof(dsgd_platform, group_bytes_per_s),
     .max = 1e18,
     .unit = "bytes/s",
     .help = "of a group towards all others, in each direction"},
    {.name = "group_latency",
     .kind = DSGD_DOUBLE,
     .offset = offsetof(dsgd_platform, group_latency_s),
     .max = 10,
     .unit = "s",
     .help = "added between groups"},
    {.name = "message_overhead",
     .kind = DSGD_DOUBLE,
     .offset = offsetof(dsgd_platform, message_overhead_s),
     .max = 10,
     .unit = "s",
     .help = "processor time per message, serial with the wire"},
    {.name = "partial_call",
     .kind = DSGD_DOUBLE,
     .offset = offsetof(dsgd_platform, partial_call_s),
     .max = 10,
     .unit = "s",
     .help =
         "processor time of calling a partial collective, for each piece, whoever activates it"},
    {.name = "reduction",
     .kind = DSGD_DOUBLE,
     .offset = offsetof(dsgd_platform, reduction_s_per_byte),
     .max = 1,
     .help = "seconds per byte of adding or averaging what arrived, serial with the wire"},
    {.name = "reference_speed",
     .kind = DSGD_DOUBLE,
     .offset = offsetof(dsgd_platform, reference_flops),
     .max = 1e20,
     .unit = "flop/s",
     .help = "host speed on which a workload's times hold; 0: that of worker 0's host"},
    {.name = NULL},
};

dsgd_status dsgd_platform_check(const dsgd_platform *platform, dsgd_error *error)
{
    if (platform->topology == DSGD_TOPOLOGY_XML && platform->file == NULL)
        return dsgd_fail(error, DSGD_EUSAGE, "platform: topology xml needs a file");
    if (platform->topology == DSGD_TOPOLOGY_GROUPS &&
        (platform->group_hosts < 1 || platform->group_flow_bytes_per_s <= 0 ||
         platform->group_bytes_per_s <= 0))
        return dsgd_fail(error, DSGD_EUSAGE,
                         "platform: topology groups needs group_hosts, group_flow_bandwidth and "
                         "group_bandwidth, all above 0");
    return DSGD_OK;
}

/** Hosts first .. last of a crossbar. Every path has two host links, which share the latency. */
static void write_cluster(FILE *xml, const dsgd_platform *platform, int group, int first, int last)
{
    fprintf(xml,
            "  <cluster id=\"g%d\" prefix=\"n\" suffix=\"\" radical=\"%d-%d\" speed=\"1Gf\" "
            "bw=\"%.17gBps\" lat=\"%.17gs\"\n"
            "           sharing_policy=\"SPLITDUPLEX\" loopback_bw=\"%.17gBps\" "
            "loopback_lat=\"0s\" router_id=\"r%d\"/>\n",
            group, first, last, platform->host_bandwidth_bytes_per_s, platform->host_latency_s / 2,
            platform->host_bandwidth_bytes_per_s, group);
}

/** A flow between groups passes its group's way out, its own limit (a link that is not shared), and the other group's way in. */
static void write_groups(FILE *xml, const dsgd_platform *platform, int n_hosts)
{
    const int size = (int)platform->group_hosts;
    const int n_groups = (n_hosts + size - 1) / size;
    fputs("<zone id=\"all\" routing=\"Full\">\n", xml);
    for (int g = 0; g < n_groups; g++) {
        const int last = (g + 1) * size - 1;
        write_cluster(xml, platform, g, g * size, last < n_hosts ? last : n_hosts - 1);
    }
    for (int g = 0; g < n_groups; g++)
        fprintf(xml,
                "  <link id=\"out%d\" bandwidth=\"%.17gBps\" latency=\"0s\" "
                "sharing_policy=\"SPLITDUPLEX\"/>\n",
                g, platform->group_bytes_per_s);
    fprintf(xml,
            "  <link id=\"flow\" bandwidth=\"%.17gBps\" latency=\"%.17gs\" "
            "sharing_policy=\"FATPIPE\"/>\n",
            platform->group_flow_bytes_per_s, platform->group_latency_s);
    for (int a = 0; a < n_groups; a++)
        for (int b = 0; b < n_groups; b++)
            if (a != b)
                fprintf(xml,
                        "  <zoneRoute src=\"g%d\" dst=\"g%d\" gw_src=\"r%d\" gw_dst=\"r%d\" "
                        "symmetrical=\"NO\">"
                        "<link_ctn id=\"out%d\" direction=\"UP\"/><link_ctn id=\"flow\"/><link_ctn "
                        "id=\"out%d\" direction=\"DOWN\"/>"
                        "</zoneRoute>\n",
                        a, b, a, b, a, b);
    fputs("</zone>\n", xml);
}

dsgd_status dsgd_platform_write(const dsgd_platform *platform, int n_hosts, const char *path,
                                dsgd_error *error)
{
    if (platform->topology == DSGD_TOPOLOGY_XML)
        return DSGD_OK;
    FILE *const xml = fopen(path, "w");
    if (xml == NULL)
        return dsgd_fail(error, DSGD_EIO, "%s: the platform cannot be written: %s", path,
                         strerror(errno));
    fputs("<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM "
          "\"https://simgrid.org/simgrid.dtd\">\n<platform version=\"4.1\">\n",
          xml);
    if (platform->topology == DSGD_TOPOLOGY_SWITCH)
        write_cluster(xml, platform, 0, 0, n_hosts - 1);
    else
        write_groups(xml, platform, n_hosts);
    fputs("</platform>\n", xml);
    const bool failed = ferror(xml) != 0;
    if (fclose(xml) != 0 || failed)
        return dsgd_fail(error, DSGD_EIO, "%s: the platform cannot be written: %s", path,
                         strerror(errno));
    return DSGD_OK;
}
