/**
 * @file platform.c
 * The option table of a platform, and its checks.
 */
#include "traces/shapes/shape.h"

static const double least_reference_flops = 1e6; /* below is a number whose unit was forgotten */

static const char *const libraries[] = {"mpi", "nccl", "rccl", NULL};
static const char *const none_words[] = {"none", NULL};
static const char *const memory_words[] = {"memory", NULL};
static const char *const unknown_words[] = {"unknown", NULL};

static const dsgd_option entry_options[] = {
    DSGD_OPTION_LONG(dsgd_platform_entry, first, -1, 0, DSGD_PLATFORM_ANY, NULL,
                     "index of the first of `count` hosts, in natural order; those that no run "
                     "uses do not matter",
                     .words = none_words),
    DSGD_OPTION_LONG(dsgd_platform_entry, count, 1, 1, DSGD_PLATFORM_ANY, NULL,
                     "hosts from the first on"),
    DSGD_OPTION_NUMBERS(dsgd_platform_entry, list, 0, DSGD_PLATFORM_ANY,
                        "indices of hosts, beside or instead of first and count"),
    DSGD_OPTION_DOUBLE(dsgd_platform_entry, speed, 1, 1e-6, 1e6, NULL,
                       "of computation, as a multiple of the others'"),
    DSGD_OPTION_DOUBLE(dsgd_platform_entry, bandwidth, 1, 1e-6, 1e6, NULL,
                       "of its NIC (in a fat tree, dragonfly or torus of its links), as a multiple "
                       "of the others'; a shared one takes the least"),
    DSGD_OPTION_DOUBLE_AS(
        "latency", dsgd_platform_entry, latency_s, 0, 0, 10, "s",
        "added where it sends and where it receives, outside its island; a shared NIC "
        "takes the most"),
    DSGD_OPTION_END,
};

static const dsgd_option region_options[] = {
    DSGD_OPTION_STRING(dsgd_region, name, "of the region", .required = true),
    DSGD_OPTION_LONG(dsgd_region, hosts, 0, 0, 1e6, NULL,
                     "that are there, of its group_hosts, unless `placement` lists others; 0: all"),
    DSGD_OPTION_DOUBLE(dsgd_region, price, 0, 0, 1e9, "1/GB",
                       "of a gigabyte that leaves it, in the currency of the platform's `price`"),
    DSGD_OPTION_END,
};

static const dsgd_option route_options[] = {
    DSGD_OPTION_STRING(dsgd_region_route, from, "name of a region", .required = true),
    DSGD_OPTION_STRING(dsgd_region_route, to,
                       "name of another; the way back is alike unless a route says otherwise",
                       .required = true),
    DSGD_OPTION_DOUBLE_AS("latency", dsgd_region_route, latency_s, 0, 0, 100, "s",
                          "one way, added to host_latency"),
    DSGD_OPTION_DOUBLE_AS("round_trip", dsgd_region_route, round_trip_s, 0, 0, 100, "s",
                          "instead: there and back"),
    DSGD_OPTION_DOUBLE_AS("flow_bandwidth", dsgd_region_route, flow_bytes_per_s, 0, 0, 1e15,
                          "bytes/s", "limit of one flow; 0: none"),
    DSGD_OPTION_DOUBLE_AS("bandwidth", dsgd_region_route, bytes_per_s, 0, 0, 1e18, "bytes/s",
                          "of all flows of this direction together; 0: no limit"),
    DSGD_OPTION_END,
};

const dsgd_option dsgd_platform_options[] = {
    DSGD_OPTION_STRING(dsgd_platform, summary, "what it is"),
    DSGD_OPTION_STRING(dsgd_platform, origin, "where the figures come from"),
    DSGD_OPTION_STRING(
        dsgd_platform, gpu,
        "of each host, a part of the name that its driver tells: `dsgd import` knows "
        "it by that"),
    DSGD_OPTION_CHOICE(
        dsgd_platform, topology, dsgd_topologies,
        "one crossbar; groups with a limit between them, as an adaptively routed dragonfly has; "
        "SimGrid's fat tree, dragonfly (one gateway for each pair of groups), torus; hamming_mesh: "
        "boards of a mesh, whose rows and columns are switched; rails: GPU r of each node on "
        "switch "
        "r, with a spine above or none; or XML"),
    DSGD_OPTION_STRING(dsgd_platform, file, "SimGrid XML, for topology xml", .unit = "path"),
    DSGD_OPTION_DOUBLE_AS("host_bandwidth", dsgd_platform, host_bandwidth_bytes_per_s, 10e9, 1,
                          1e15, "bytes/s",
                          "of a host's NIC, in each direction; in a fat tree, dragonfly, torus or "
                          "hamming_mesh of every "
                          "link"),
    DSGD_OPTION_DOUBLE_AS("host_latency", dsgd_platform, host_latency_s, 1e-6, 0, 10, "s",
                          "between the nearest two hosts, of one switch, group or router, or side "
                          "by side in a torus"),
    DSGD_OPTION_NUMBERS(
        dsgd_platform, size, 1, DSGD_PLATFORM_ANY,
        "fat_tree: hosts per switch, switches per switch of each higher level; "
        "dragonfly: groups, chassis per group, routers per chassis, hosts per "
        "router; torus: each dimension; hamming_mesh: hosts of a board's row and column, "
        "boards of a row and column; switch, groups and rails: hosts in all, else as many "
        "as a run needs; not of regions"),
    DSGD_OPTION_NUMBERS(dsgd_platform, up, 1, DSGD_PLATFORM_ANY,
                        "fat_tree: switches above each host (1), then above each switch of each "
                        "level; [1, 16] over size [32, 32] tapers 2:1"),
    DSGD_OPTION_NUMBERS(
        dsgd_platform, cables, 1, DSGD_PLATFORM_ANY,
        "fat_tree: parallel links to each of those switches, a flow takes one; dragonfly: links "
        "between two groups, chassis, routers, a flow can fill all; 1 each where absent"),
    DSGD_OPTION_LONG(dsgd_platform, group_hosts, 0, 0, 1e6, NULL, "hosts per group"),
    DSGD_OPTION_DOUBLE_AS("group_flow_bandwidth", dsgd_platform, group_flow_bytes_per_s, 0, 0, 1e15,
                          "bytes/s", "limit of one flow between groups"),
    DSGD_OPTION_DOUBLE_AS(
        "group_bandwidth", dsgd_platform, group_bytes_per_s, 0, 0, 1e18, "bytes/s",
        "of a group towards all others, in each direction; rails: of a rail's "
        "switch towards the spine, 0: there is none, and messages to another rail "
        "go through the node first"),
    DSGD_OPTION_DOUBLE_AS(
        "group_latency", dsgd_platform, group_latency_s, 0, 0, 10, "s",
        "added between groups; rails: of the spine; hamming_mesh: of the switches "
        "of a row or column"),
    DSGD_OPTION_STRUCTS(dsgd_platform, regions, dsgd_region, region_options,
                        "groups: their names, in order, of which `routes` speak; there are no "
                        "others"),
    DSGD_OPTION_STRUCTS(dsgd_platform, routes, dsgd_region_route, route_options,
                        "groups: between two regions, instead of group_latency and "
                        "group_flow_bandwidth"),
    DSGD_OPTION_DOUBLE(dsgd_platform, route_bandwidth, 1, 1e-9, 1e9, NULL,
                       "of all routes, as a multiple of what they say"),
    DSGD_OPTION_DOUBLE(dsgd_platform, route_latency, 1, 0, 1e9, NULL, "the same of latencies"),
    DSGD_OPTION_LONG(
        dsgd_platform, island_hosts, 0, 0, 4096, NULL,
        "switch, groups and rails: hosts in a row that also share a fast network (NVLink, "
        "PCIe); 0: none do"),
    DSGD_OPTION_LONG(
        dsgd_platform, island_nics, 1, 1, 4096, NULL,
        "NICs that an island's hosts share evenly; as many as hosts: one each (rails)"),
    DSGD_OPTION_DOUBLE_AS("island_bandwidth", dsgd_platform, island_bytes_per_s, 0, 0, 1e15,
                          "bytes/s",
                          "of a host's way into its island's network, in each direction"),
    DSGD_OPTION_DOUBLE_AS("island_latency", dsgd_platform, island_latency_s, 0, 0, 10, "s",
                          "between two hosts of an island"),
    DSGD_OPTION_CHOICE(dsgd_platform, library, libraries,
                       "that carries out collectives: what `collective: auto` means; nccl and rccl "
                       "need `nccl`"),
    DSGD_OPTION_STRUCT(dsgd_platform, nccl, dsgd_nccl_options,
                       "what decides the speed of NCCL's collectives; NICs are the islands'"),
    DSGD_OPTION_DOUBLE(
        dsgd_platform, collective_share, 0, 0, 0.99, "share",
        "of its computation that a GPU loses while a collective of nccl or rccl runs "
        "on it, from when it begins, for those who are late too: processors, memory"),
    DSGD_OPTION_DOUBLE_AS("collective_launch", dsgd_platform, collective_launch_s, 0, 0, 10, "s",
                          "of a GPU's time, to begin one of them"),
    DSGD_OPTION_DOUBLE_AS("collective_copy", dsgd_platform, collective_copy_s_per_byte, 0, 0, 1,
                          "s/B",
                          "seconds per byte of a GPU's time, for copying what they reduce into a "
                          "bucket, dividing it, "
                          "and copying it back"),
    DSGD_OPTION_STRUCTS(
        dsgd_platform, hosts, dsgd_platform_entry, entry_options,
        "hosts that are slower or faster, or have another network, than the others; not for xml"),
    DSGD_OPTION_DOUBLE_AS("message_overhead", dsgd_platform, message_overhead_s, 0, 0, 10, "s",
                          "processor time per message, serial with the wire"),
    DSGD_OPTION_DOUBLE_AS("rendezvous", dsgd_platform, rendezvous_s, 0, 0, 10, "s",
                          "what a message that is not eager takes besides: MPI's sides shake hands "
                          "before it, and register its memory"),
    DSGD_OPTION_DOUBLE_AS("eager_limit", dsgd_platform, eager_bytes, 8192, 0, 1e15, "bytes",
                          "the largest eager message: it is sent without a handshake"),
    DSGD_OPTION_DOUBLE_AS(
        "doubling_limit", dsgd_platform, doubling_bytes, 65536, 0, 1e15, "bytes",
        "of MPI's allreduces: what is smaller is summed by recursive doubling, the rest by "
        "Rabenseifner's halving and doubling, where `collective` is auto"),
    DSGD_OPTION_DOUBLE_AS(
        "partial_turn", dsgd_platform, partial_turn_s, 0, 0, 10, "s",
        "a turn of the loop in which a library of partial collectives tests its requests: each of "
        "its "
        "messages takes one in place of `rendezvous`, and each call, for each piece, half of one"),
    DSGD_OPTION_DOUBLE_AS(
        "reduction", dsgd_platform, reduction_s_per_byte, 0, 0, 1, "s/B",
        "seconds per byte of adding or averaging what arrived, serial with the wire"),
    DSGD_OPTION_DOUBLE_AS(
        "encoding", dsgd_platform, encoding_s_per_byte, -1, 0, 1, "s/B",
        "seconds per byte of a vector of encoding or decoding it; memory: 10 ps, eight passes "
        "through a GPU's memory of 800 GB/s, as a selection takes",
        .words = memory_words),
    DSGD_OPTION_DOUBLE_AS(
        "staging", dsgd_platform, staging_s_per_byte, 0, 0, 1, "s/B",
        "seconds per byte of copying what is exchanged out of a device's memory, and "
        "back; beside computation and exchanges, one copy at a time each way; 0: the "
        "network reads that memory"),
    DSGD_OPTION_DOUBLE_AS("operation", dsgd_platform, operation_s_per_byte, 0, 0, 1, "s/B",
                          "seconds per byte that an operation of a framework takes in host memory "
                          "for what was staged, "
                          "serial with its exchange: passes over a tensor into the library's "
                          "buffer and into a new one; "
                          "fused allreduces have none"),
    DSGD_OPTION_DOUBLE_AS(
        "reference_speed", dsgd_platform, reference_flops, 0, 0, 1e20, "flop/s",
        "host speed on which a workload's times hold; 0: of xml that of worker 0's "
        "host, else 1 Gf, which hosts have"),
    DSGD_OPTION_DOUBLE_AS("busy_power", dsgd_platform, busy_power_w, -1, 0, 1e6, "W",
                          "of a GPU that computes, for the energy in the results; changes no time",
                          .words = unknown_words),
    DSGD_OPTION_DOUBLE_AS("idle_power", dsgd_platform, idle_power_w, -1, 0, 1e6, "W",
                          "of a GPU that waits or communicates", .words = unknown_words),
    DSGD_OPTION_STRING(dsgd_platform, price,
                       "of a GPU for an hour, in any one currency, such as 2.5 USD/h"),
    DSGD_OPTION_END,
};

/* --- checks ----------------------------------------------------------------------------------- */

static dsgd_status check_whole(const char *name, const dsgd_numbers *numbers, dsgd_error *error)
{
    for (size_t i = 0; i < numbers->n; i++)
        if (numbers->v[i] != floor(numbers->v[i]))
            return dsgd_refuse(error, "platform: %s: %g, but whole numbers are needed", name,
                               numbers->v[i]);
    return DSGD_OK;
}

static dsgd_status check_extents(const dsgd_platform *platform, dsgd_error *error)
{
    const dsgd_shape *const shape = dsgd_shape_of(platform);
    const char *const name = dsgd_topologies[platform->topology];
    if (shape->n_size > 0 && platform->size.n == 0)
        return dsgd_refuse(error, "platform: topology %s needs size", name);
    const struct {
        const char *name;
        const dsgd_numbers *numbers;
        size_t n;
    } all[] = {{"size", &platform->size, shape->takes_size ? platform->size.n > 0 : shape->n_size},
               {"up", &platform->up, shape->n_up},
               {"cables", &platform->cables, platform->cables.n == 0 ? 0 : shape->n_cables}};
    for (int i = 0; i < 3; i++) {
        const size_t n = all[i].n == DSGD_ANY_EXTENTS ? platform->size.n : all[i].n;
        if (all[i].numbers->n != n)
            return dsgd_refuse(error, "platform: topology %s takes %zu numbers of %s, not %zu",
                               name, n, all[i].name, all[i].numbers->n);
    }
    for (int i = 0; i < 3; i++)
        DSGD_TRY(check_whole(all[i].name, all[i].numbers, error));
    DSGD_TRY(shape->check == NULL ? DSGD_OK : shape->check(platform, error));
    const double hosts = dsgd_product(&platform->size);
    if (hosts > DSGD_PLATFORM_ANY)
        return dsgd_refuse(error, "platform: size: %g hosts, but at most %d are possible", hosts,
                           DSGD_PLATFORM_ANY);
    return DSGD_OK;
}

static dsgd_status check_islands(const dsgd_platform *platform, dsgd_error *error)
{
    const int64_t hosts = platform->island_hosts;
    if (hosts == 0)
        return DSGD_OK;
    if (!dsgd_shape_of(platform)->has_islands)
        return dsgd_refuse(
            error,
            "platform: island_hosts: topology %s has no islands; switch, groups and rails have",
            dsgd_topologies[platform->topology]);
    if (platform->island_bytes_per_s <= 0)
        return dsgd_refuse(error, "platform: island_hosts needs an island_bandwidth above 0");
    if (hosts % platform->island_nics != 0)
        return dsgd_refuse(error,
                           "platform: island_nics: %jd, but %jd hosts have to share them evenly",
                           platform->island_nics, hosts);
    return DSGD_OK;
}

static dsgd_status check_entries(const dsgd_platform *platform, dsgd_error *error)
{
    const dsgd_platform_entry *const entries = platform->hosts.v;
    if (!dsgd_platform_has_numbers(platform) && platform->hosts.n > 0)
        return dsgd_refuse(error, "platform: hosts: topology xml says itself what its hosts are");
    for (size_t i = 0; i < platform->hosts.n; i++) {
        const dsgd_platform_entry *const e = &entries[i];
        if (e->first < 0 && e->list.n == 0)
            return dsgd_refuse(error,
                               "platform: hosts: an entry names no host; give first, or a list");
        DSGD_TRY(check_whole("hosts: list", &e->list, error));
        double last = e->first < 0 ? 0 : (double)(e->first + e->count - 1);
        for (size_t j = 0; j < e->list.n; j++)
            last = fmax(last, e->list.v[j]);
        if (last >= dsgd_platform_most_hosts(platform))
            return dsgd_refuse(error, "platform: hosts: there is no host %.0f: they are 0 to %d",
                               last, dsgd_platform_most_hosts(platform) - 1);
    }
    return DSGD_OK;
}

dsgd_status dsgd_platform_check(const dsgd_platform *platform, dsgd_error *error)
{
    const bool is_mpi = platform->library == DSGD_LIBRARY_MPI;
    const bool has_regions = platform->regions.n > 0;
    const bool has_numbers = dsgd_platform_has_numbers(platform);
    const bool has_collective_costs = platform->collective_share > 0 ||
                                      platform->collective_launch_s > 0 ||
                                      platform->collective_copy_s_per_byte > 0;
    const struct {
        bool is_wrong;
        const char *why;
    } rules[] = {
        {has_regions && (!dsgd_shape_of(platform)->has_groups || !is_mpi),
         "regions need topology: groups and library: mpi; NCCL's model has no latency between "
         "regions"},
        {has_regions && platform->size.n > 0,
         "size must be absent if there are regions; group_hosts and hosts determine the number of "
         "hosts"},
        {!is_mpi && (platform->nccl.links_bytes_per_s <= 0 || !has_numbers),
         dsgd_xprintf("library: %s needs nccl: {links: BYTES/s} above 0, and any topology except "
                      "xml, whose NICs are unknown",
                      libraries[platform->library])},
        {is_mpi && has_collective_costs,
         "collective_share, collective_launch and collective_copy need library: nccl or rccl. Set "
         "them to 0 for mpi, which has message_overhead, reduction and staging instead"},
        {has_numbers && platform->reference_flops > 0 &&
             platform->reference_flops < least_reference_flops,
         dsgd_xprintf("reference_speed must be at least %g flop/s, got %g; hosts have 1 Gf. Give a "
                      "unit, such as 3Gf",
                      least_reference_flops, platform->reference_flops)},
    };
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (rules[i].is_wrong)
            return dsgd_refuse(error, "platform: %s", rules[i].why);
    DSGD_TRY(dsgd_nccl_check(&platform->nccl, error));
    DSGD_TRY(check_extents(platform, error));
    DSGD_TRY(check_islands(platform, error));
    DSGD_TRY(dsgd_platform_check_expenses(platform, error));
    return check_entries(platform, error);
}
