/**
 * @file platform_xml.c
 * Writes SimGrid XML for all topologies except XML, for which the user has a file.
 */
#include "traces/shapes/crossbars.h"

/**
 * Writes a cluster whose links SimGrid creates. SimGrid 4.0 crashes if a cluster is the outermost
 * zone, so another zone encloses the cluster.
 */
static void write_cluster(FILE *xml, const dsgd_platform *platform, const char *topology)
{
    fprintf(xml,
            "<zone id=\"world\" routing=\"Full\">\n<cluster id=\"all\" prefix=\"n\" suffix=\"\" "
            "radical=\"0-%d\" speed=\"%.17gf\" "
            "bw=\"%.17gBps\" sharing_policy=\"SPLITDUPLEX\"\n         %s/>\n</zone>\n",
            dsgd_platform_most_hosts(platform) - 1, dsgd_platform_nominal_flops,
            platform->host_bandwidth_bytes_per_s, topology);
}

/** Writes all links, one link per direction, and the routes between all pairs of hosts. */
static void write_routes(FILE *xml, const dsgd_platform *platform, int n_hosts)
{
    const dsgd_shape *const shape = dsgd_shape_of(platform);
    dsgd_shape_route route = {NULL};
    fputs("<zone id=\"all\" routing=\"Full\">\n", xml);
    for (int host = 0; host < n_hosts; host++)
        fprintf(xml, "  <host id=\"n%d\" speed=\"%.17gf\"/>\n", host, dsgd_platform_nominal_flops);
    const size_t n_links = shape->n_links(platform, n_hosts);
    for (size_t i = 0; i < n_links; i++) {
        const dsgd_shape_link l = shape->link(platform, i);
        if (l.bytes_per_s > 0) /* If the spine is missing, the bandwidth of its links is 0. */
            dsgd_xml_link(xml, "link", (int)i, l.bytes_per_s, l.latency_s, "SHARED");
    }
    for (int from = 0; from < n_hosts; from++)
        for (int to = 0; to < n_hosts; to++) {
            if (from == to)
                continue;
            dsgd_shape_find_route(platform, from, to, &route);
            fprintf(xml, "  <route src=\"n%d\" dst=\"n%d\" symmetrical=\"NO\">", from, to);
            for (size_t k = 0; k < route.n; k++)
                fprintf(xml, "<link_ctn id=\"link%zu\"/>", route.link[k]);
            fputs("</route>\n", xml);
        }
    free(route.link);
    fputs("</zone>\n", xml);
}

enum { MOST_ROUTED = 256 }; /* largest number of hosts for which this file writes all routes */

int dsgd_platform_most_told(const dsgd_platform *platform)
{
    const dsgd_shape *const shape = dsgd_shape_of(platform);
    return shape->route != NULL && shape->write == NULL && shape->cluster == NULL
               ? MOST_ROUTED
               : DSGD_PLATFORM_ANY;
}

dsgd_status dsgd_platform_write(const dsgd_platform *platform, int n_hosts, const char *path,
                                dsgd_error *error)
{
    const dsgd_shape *const shape = dsgd_shape_of(platform);
    if (!shape->has_numbers)
        return DSGD_OK;
    FILE *const xml = fopen(path, "w");
    if (xml == NULL)
        return dsgd_fail(error, DSGD_EIO, "%s: the platform could not be written: %m", path);
    fputs("<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM "
          "\"https://simgrid.org/simgrid.dtd\">\n<platform version=\"4.1\">\n",
          xml);
    if (shape->write != NULL)
        shape->write(xml, platform, n_hosts);
    else if (shape->cluster != NULL)
        write_cluster(xml, platform, shape->cluster(platform));
    else
        write_routes(xml, platform, n_hosts);
    fputs("</platform>\n", xml);
    const bool failed = ferror(xml) != 0;
    if (fclose(xml) != 0 || failed)
        return dsgd_fail(error, DSGD_EIO, "%s: the platform could not be written: %m", path);
    return DSGD_OK;
}
