/**
 * @file platform.c
 * Contains the option table of a platform and checks its options.
 */
#include "traces/shapes/shape.h"

/* smallest valid speed in operations per second; a smaller number probably lacks its unit */
static const double least_reference_flops = 1e6;

static const char *const libraries[] = {"mpi", "nccl", "rccl", NULL};
static const char *const none_words[] = {"none", NULL};
static const char *const memory_words[] = {"memory", NULL};
static const char *const unknown_words[] = {"unknown", NULL};

static const dsgd_option entry_options[] = {
    DSGD_OPTION_LONG(dsgd_platform_entry, first, -1, 0, DSGD_PLATFORM_ANY, NULL,
                     "index of the first of `count` hosts, in natural order; hosts that a run does "
                     "not use are ignored",
                     .words = none_words),
    DSGD_OPTION_LONG(dsgd_platform_entry, count, 1, 1, DSGD_PLATFORM_ANY, NULL,
                     "number of hosts, starting with `first`"),
    DSGD_OPTION_NUMBERS(dsgd_platform_entry, list, 0, DSGD_PLATFORM_ANY,
                        "indices of hosts, in addition to or instead of first and count"),
    DSGD_OPTION_DOUBLE(dsgd_platform_entry, speed, 1, 1e-6, 1e6, NULL,
                       "compute speed, as a multiple of the other hosts' speed"),
    DSGD_OPTION_DOUBLE(
        dsgd_platform_entry, bandwidth, 1, 1e-6, 1e6, NULL,
        "bandwidth of the NIC, as a multiple of the others; in a fat tree, dragonfly or torus, of "
        "the host's links. A shared NIC uses the smallest value"),
    DSGD_OPTION_DOUBLE_AS("latency", dsgd_platform_entry, latency_s, 0, 0, 10, "s",
                          "latency added when the host sends and when it receives, except within "
                          "its node. A shared NIC uses the largest value"),
    DSGD_OPTION_END,
};

static const dsgd_option region_options[] = {
    DSGD_OPTION_STRING(dsgd_region, name, "name of the region", .required = true),
    DSGD_OPTION_LONG(dsgd_region, hosts, 0, 0, 1e6, NULL,
                     "number of hosts in the region, at most group_hosts, unless `placement` lists "
                     "others; 0: group_hosts"),
    DSGD_OPTION_DOUBLE(
        dsgd_region, price, 0, 0, 1e9, "1/GB",
        "price of a gigabyte that leaves the region, in the currency of the platform's `price`"),
    DSGD_OPTION_END,
};

static const dsgd_option route_options[] = {
    DSGD_OPTION_STRING(dsgd_region_route, from, "region in which the route starts",
                       .required = true),
    DSGD_OPTION_STRING(dsgd_region_route, to,
                       "region in which the route ends. The opposite direction is the same unless "
                       "it has its own route",
                       .required = true),
    DSGD_OPTION_DOUBLE_AS("latency", dsgd_region_route, latency_s, 0, 0, 100, "s",
                          "one-way latency, added to host_latency"),
    DSGD_OPTION_DOUBLE_AS("round_trip", dsgd_region_route, round_trip_s, 0, 0, 100, "s",
                          "round-trip latency (instead of latency)"),
    DSGD_OPTION_DOUBLE_AS("flow_bandwidth", dsgd_region_route, flow_bytes_per_s, 0, 0, 1e15,
                          "bytes/s", "bandwidth limit of one flow; 0: no limit"),
    DSGD_OPTION_DOUBLE_AS("bandwidth", dsgd_region_route, bytes_per_s, 0, 0, 1e18, "bytes/s",
                          "bandwidth limit of all flows in this direction together; 0: no limit"),
    DSGD_OPTION_END,
};

const dsgd_option dsgd_platform_options[] = {
    DSGD_OPTION_STRING(dsgd_platform, summary, "one-line description"),
    DSGD_OPTION_STRING(dsgd_platform, origin, "sources of the numbers"),
    DSGD_OPTION_STRING(dsgd_platform, gpu,
                       "GPU of each host: a part of the name that the driver reports. `dsgd "
                       "import` finds the platform by it"),
    DSGD_OPTION_CHOICE(dsgd_platform, topology, dsgd_topologies,
                       "network topology. switch: one crossbar; groups: crossbars with a bandwidth "
                       "limit between them, like an adaptively routed dragonfly; fat_tree, "
                       "dragonfly (one gateway for each pair of groups), torus: as in SimGrid; "
                       "hamming_mesh: boards of a mesh with switched rows and columns; rails: GPU "
                       "r of each node on switch r, with or without a spine; xml: a SimGrid file"),
    DSGD_OPTION_STRING(dsgd_platform, file, "SimGrid XML file (topology xml)", .unit = "path"),
    DSGD_OPTION_DOUBLE_AS("host_bandwidth", dsgd_platform, host_bandwidth_bytes_per_s, 10e9, 1,
                          1e15, "bytes/s",
                          "bandwidth of a host's NIC, per direction. In a fat tree, dragonfly, "
                          "torus or hamming_mesh: of every link"),
    DSGD_OPTION_DOUBLE_AS("host_latency", dsgd_platform, host_latency_s, 1e-6, 0, 10, "s",
                          "latency between the two nearest hosts: on the same switch, group or "
                          "router, or neighbours in a torus"),
    DSGD_OPTION_NUMBERS(
        dsgd_platform, size, 1, DSGD_PLATFORM_ANY,
        "extents of the topology. fat_tree: hosts per switch, then switches per switch of each "
        "higher level; dragonfly: groups, chassis per group, routers per chassis, hosts per "
        "router; torus: size of each dimension; hamming_mesh: hosts per row and per column of a "
        "board, boards per row and per column; switch, groups, rails: total number of hosts "
        "(default: as many as a run needs; not with regions)"),
    DSGD_OPTION_NUMBERS(dsgd_platform, up, 1, DSGD_PLATFORM_ANY,
                        "fat_tree: switches above each host (1), then above each switch of each "
                        "level. [1, 16] with size [32, 32] tapers 2:1"),
    DSGD_OPTION_NUMBERS(
        dsgd_platform, cables, 1, DSGD_PLATFORM_ANY,
        "parallel links (default: 1 each). fat_tree: to each of the switches in `up`; a flow uses "
        "one link. dragonfly: between two groups, chassis and routers; a flow can fill all links"),
    DSGD_OPTION_LONG(dsgd_platform, group_hosts, 0, 0, 1e6, NULL, "number of hosts per group"),
    DSGD_OPTION_DOUBLE_AS("group_flow_bandwidth", dsgd_platform, group_flow_bytes_per_s, 0, 0, 1e15,
                          "bytes/s", "bandwidth limit of one flow between groups"),
    DSGD_OPTION_DOUBLE_AS(
        "group_bandwidth", dsgd_platform, group_bytes_per_s, 0, 0, 1e18, "bytes/s",
        "bandwidth between a group and all others, per direction. rails: between a rail's switch "
        "and the spine; 0: no spine, so that messages to another rail first cross the node"),
    DSGD_OPTION_DOUBLE_AS("group_latency", dsgd_platform, group_latency_s, 0, 0, 10, "s",
                          "latency added between groups. rails: by the spine; hamming_mesh: by the "
                          "switches of a row or column"),
    DSGD_OPTION_STRUCTS(dsgd_platform, regions, dsgd_region, region_options,
                        "names of the groups, in order, for `routes`; all groups must be listed"),
    DSGD_OPTION_STRUCTS(
        dsgd_platform, routes, dsgd_region_route, route_options,
        "links between two regions, instead of group_latency and group_flow_bandwidth"),
    DSGD_OPTION_DOUBLE(dsgd_platform, route_bandwidth, 1, 1e-9, 1e9, NULL,
                       "factor by which the bandwidth of every route is multiplied"),
    DSGD_OPTION_DOUBLE(dsgd_platform, route_latency, 1, 0, 1e9, NULL,
                       "factor by which the latency of every route is multiplied"),
    DSGD_OPTION_LONG(
        dsgd_platform, island_hosts, 0, 0, 4096, NULL,
        "number of consecutive hosts that form a node (NVLink domain): they share a fast network "
        "(NVLink, PCIe). 0: no nodes (topologies switch, groups and rails)"),
    DSGD_OPTION_LONG(dsgd_platform, island_nics, 1, 1, 4096, NULL,
                     "NICs per node, shared evenly by its hosts. As many as island_hosts: one NIC "
                     "per host (rails)"),
    DSGD_OPTION_DOUBLE_AS("island_bandwidth", dsgd_platform, island_bytes_per_s, 0, 0, 1e15,
                          "bytes/s",
                          "bandwidth between a host and the network of its node, per direction"),
    DSGD_OPTION_DOUBLE_AS("island_latency", dsgd_platform, island_latency_s, 0, 0, 10, "s",
                          "latency between two hosts of a node"),
    DSGD_OPTION_CHOICE(dsgd_platform, library, libraries,
                       "communication library of collectives, which `collective: auto` follows; "
                       "nccl and rccl need `nccl`"),
    DSGD_OPTION_STRUCT(dsgd_platform, nccl, dsgd_nccl_options,
                       "parameters of NCCL's cost model. The number of NICs is island_nics"),
    DSGD_OPTION_DOUBLE(
        dsgd_platform, collective_share, 0, 0, 0.99, "share",
        "fraction of a GPU's compute speed (processors, memory) that a collective of nccl or rccl "
        "takes while it runs. A straggler also loses it from the start of the collective"),
    DSGD_OPTION_DOUBLE_AS("collective_launch", dsgd_platform, collective_launch_s, 0, 0, 10, "s",
                          "GPU time to launch a collective of nccl or rccl"),
    DSGD_OPTION_DOUBLE_AS(
        "collective_copy", dsgd_platform, collective_copy_s_per_byte, 0, 0, 1, "s/B",
        "GPU time per byte to copy gradients into a bucket, divide them and copy them back"),
    DSGD_OPTION_STRUCTS(dsgd_platform, hosts, dsgd_platform_entry, entry_options,
                        "hosts whose speed or network differs from the others (not for xml)"),
    DSGD_OPTION_DOUBLE_AS("message_overhead", dsgd_platform, message_overhead_s, 0, 0, 10, "s",
                          "CPU time per message, added to its transfer time"),
    DSGD_OPTION_DOUBLE_AS(
        "rendezvous", dsgd_platform, rendezvous_s, 0, 0, 10, "s",
        "time added to a message above eager_limit: MPI's handshake and memory registration"),
    DSGD_OPTION_DOUBLE_AS("eager_limit", dsgd_platform, eager_bytes, 8192, 0, 1e15, "bytes",
                          "size of the largest eager message, which is sent without a handshake"),
    DSGD_OPTION_DOUBLE_AS("doubling_limit", dsgd_platform, doubling_bytes, 65536, 0, 1e15, "bytes",
                          "size below which MPI's allreduces use recursive doubling instead of "
                          "Rabenseifner's halving and doubling (with `collective: auto`)"),
    DSGD_OPTION_DOUBLE_AS("partial_turn", dsgd_platform, partial_turn_s, 0, 0, 10, "s",
                          "time of one iteration of the progress loop in a library of partial "
                          "collectives. Each message takes one iteration instead of `rendezvous`, "
                          "and each call half an iteration per chunk"),
    DSGD_OPTION_DOUBLE_AS(
        "reduction", dsgd_platform, reduction_s_per_byte, 0, 0, 1, "s/B",
        "time per byte to sum or average received data, added to the transfer time"),
    DSGD_OPTION_DOUBLE_AS(
        "encoding", dsgd_platform, encoding_s_per_byte, -1, 0, 1, "s/B",
        "time per byte of a vector for gradient compression or decompression. memory: 10 ps, which "
        "is eight passes through a GPU memory of 800 GB/s, as in a top-k selection",
        .words = memory_words),
    DSGD_OPTION_DOUBLE_AS("staging", dsgd_platform, staging_s_per_byte, 0, 0, 1, "s/B",
                          "time per byte to copy exchanged data from device to host memory, and "
                          "back. Copies overlap with computation and exchanges, one copy at a time "
                          "per direction. 0: the network accesses device memory"),
    DSGD_OPTION_DOUBLE_AS("operation", dsgd_platform, operation_s_per_byte, 0, 0, 1, "s/B",
                          "time per byte of a framework operation on staged data in host memory, "
                          "added to the exchange: copies of a tensor to the library's buffer and "
                          "to a new tensor. Fused allreduces have none"),
    DSGD_OPTION_DOUBLE_AS("reference_speed", dsgd_platform, reference_flops, 0, 0, 1e20, "flop/s",
                          "host speed to which the workload's times refer. 0: 1 Gf, the speed of "
                          "hosts; for xml, the speed of worker 0's host"),
    DSGD_OPTION_DOUBLE_AS(
        "busy_power", dsgd_platform, busy_power_w, -1, 0, 1e6, "W",
        "power of a GPU that computes, for the energy in the results; affects no time",
        .words = unknown_words),
    DSGD_OPTION_DOUBLE_AS("idle_power", dsgd_platform, idle_power_w, -1, 0, 1e6, "W",
                          "power of a GPU that waits or communicates", .words = unknown_words),
    DSGD_OPTION_STRING(dsgd_platform, price,
                       "price of a GPU per hour, in any currency, such as 2.5 USD/h"),
    DSGD_OPTION_END,
};

/* --- checks of a platform --------------------------------------------------------------------- */

static dsgd_status check_whole(const char *name, const dsgd_numbers *numbers, dsgd_error *error)
{
    for (size_t i = 0; i < numbers->n; i++)
        if (numbers->v[i] != floor(numbers->v[i]))
            return dsgd_refuse(error, "platform: %s must contain only whole numbers, got %g", name,
                               numbers->v[i]);
    return DSGD_OK;
}

static dsgd_status check_extents(const dsgd_platform *platform, dsgd_error *error)
{
    const dsgd_shape *const shape = dsgd_shape_of(platform);
    const char *const name = dsgd_topologies[platform->topology];
    if (shape->n_size > 0 && platform->size.n == 0)
        return dsgd_refuse(error, "platform: size is missing; topology: %s needs it", name);
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
            return dsgd_refuse(error, "platform: topology: %s needs %zu numbers in %s, got %zu",
                               name, n, all[i].name, all[i].numbers->n);
    }
    for (int i = 0; i < 3; i++)
        DSGD_TRY(check_whole(all[i].name, all[i].numbers, error));
    DSGD_TRY(shape->check == NULL ? DSGD_OK : shape->check(platform, error));
    const double hosts = dsgd_product(&platform->size);
    if (hosts > DSGD_PLATFORM_ANY)
        return dsgd_refuse(error, "platform: size gives %g hosts, but the maximum is %d", hosts,
                           DSGD_PLATFORM_ANY);
    return DSGD_OK;
}

static dsgd_status check_islands(const dsgd_platform *platform, dsgd_error *error)
{
    const int64_t hosts = platform->island_hosts;
    if (hosts == 0)
        return DSGD_OK;
    if (!dsgd_shape_of(platform)->has_islands)
        return dsgd_refuse(error,
                           "platform: island_hosts needs topology: switch, groups or rails, got %s",
                           dsgd_topologies[platform->topology]);
    if (platform->island_bytes_per_s <= 0)
        return dsgd_refuse(error,
                           "platform: island_bandwidth must be above 0 if island_hosts is set");
    if (hosts % platform->island_nics != 0)
        return dsgd_refuse(error, "platform: island_nics must divide island_hosts (%jd), got %jd",
                           hosts, platform->island_nics);
    return DSGD_OK;
}

static dsgd_status check_entries(const dsgd_platform *platform, dsgd_error *error)
{
    const dsgd_platform_entry *const entries = platform->hosts.v;
    if (!dsgd_platform_has_numbers(platform) && platform->hosts.n > 0)
        return dsgd_refuse(
            error, "platform: hosts must be absent for topology: xml. Describe the hosts in the "
                   "XML file");
    for (size_t i = 0; i < platform->hosts.n; i++) {
        const dsgd_platform_entry *const e = &entries[i];
        if (e->first < 0 && e->list.n == 0)
            return dsgd_refuse(error, "platform: hosts: first or list is missing in an entry");
        DSGD_TRY(check_whole("hosts: list", &e->list, error));
        double last = e->first < 0 ? 0 : (double)(e->first + e->count - 1);
        for (size_t j = 0; j < e->list.n; j++)
            last = fmax(last, e->list.v[j]);
        if (last >= dsgd_platform_most_hosts(platform))
            return dsgd_refuse(error, "platform: hosts: unknown host %.0f. Valid hosts: 0 to %d",
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
