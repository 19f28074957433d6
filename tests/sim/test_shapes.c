/**
 * @file test_shapes.c
 * Checks that every route of every network shape equals SimGrid's route. Both must have the same
 * links, with the same names, in the same order, with the same bandwidth and latency.
 */
#include "base/draw.h"
#include "sim/network/machine.h"
#include "sim/network/network.h"
#include "sim/network/simgrid.h"
#include "tests/support/suite.h"
#include "tests/support/support.h"
#include "traces/shapes/shape.h"

SUITE(shapes, "routes beside SimGrid's", .seconds = 120);

enum { MOST_LEVELS = 4, N_RANDOM = 60, N_ENTRIES = 3 };

static double draw(int experiment, int what, double least, double most)
{
    const dsgd_draw at = {.seed = 7,
                          .worker = (uint32_t)experiment,
                          .purpose = DSGD_DRAW_SHARED,
                          .step = (uint32_t)what};
    return least + (double)dsgd_draw_below(at, (uint64_t)(most - least) + 1);
}

/* Makes a platform with uneven numbers, so that no two sums of them are equal by chance. */
static dsgd_platform plain(int topology)
{
    return (dsgd_platform){.topology = topology,
                           .host_bandwidth_bytes_per_s = 9.7e9,
                           .host_latency_s = 1.3e-6,
                           .group_hosts = 8,
                           .group_flow_bytes_per_s = 6.3e9,
                           .group_bytes_per_s = 2.1e10,
                           .group_latency_s = 0.7e-6,
                           .island_nics = 1};
}

static void expect_same_links(const dsgd_platform *p, int from, int to, const dsgd_load *theirs,
                              dsgd_shape_route *route)
{
    const dsgd_shape *const shape = dsgd_shape_of(p);
    size_t n = 0;
    double latency_s = 0, mine_s = 0;
    const size_t *const links = dsgd_simgrid_route(from, to, &n, &latency_s);
    ck_assert_msg(n == route->n, "%d to %d: %zu links, not %zu", from, to, route->n, n);
    for (size_t k = 0; k < n; k++) {
        char *const name = shape->link_name != NULL ? shape->link_name(p, route->link[k])
                                                    : dsgd_xprintf("link%zu", route->link[k]);
        ck_assert_str_eq(name, theirs[links[k]].link);
        ck_assert_double_eq(shape->link(p, route->link[k]).bytes_per_s,
                            theirs[links[k]].bytes_per_s);
        mine_s += shape->link(p, route->link[k]).latency_s;
    }
    ck_assert_double_eq(mine_s, latency_s);
}

/*
 * Checks only the speed of a route. For a crossbar, SimGrid has additional links for the limits of
 * a single flow.
 */
static void expect_as_fast(const dsgd_platform *p, int from, int to, const dsgd_shape_route *route)
{
    const dsgd_route theirs = dsgd_network_simgrid.route(from, to);
    double bytes_per_s = route->flow_bytes_per_s, latency_s = route->added_latency_s;
    for (size_t k = 0; k < route->n; k++) {
        const dsgd_shape_link link = dsgd_shape_of(p)->link(p, route->link[k]);
        bytes_per_s = fmin(bytes_per_s, link.bytes_per_s);
        latency_s += link.latency_s;
    }
    ck_assert_double_eq(bytes_per_s, theirs.bytes_per_s);
    ck_assert_double_eq_tol(latency_s, theirs.latency_s, 1e-15);
}

/* Checks the routes from every host to each host whose rank differs by a multiple of @p step. */
static void expect_simgrids(const dsgd_platform *p, int n_hosts, int step)
{
    const dsgd_machine machine = {
        .platform = p, .n_hosts = n_hosts, .network = DSGD_NETWORK_SIMGRID};
    dsgd_error error = {""};
    ck_assert_msg(dsgd_machine_check(&machine, &error) == DSGD_OK, "%s", error.text);
    ck_assert_msg(dsgd_machine_open(&machine, &error) == DSGD_OK, "%s", error.text);
    dsgd_load *theirs = NULL;
    const size_t n_theirs = dsgd_simgrid_links(&theirs);
    /* SimGrid also counts loopback links. */
    if (dsgd_shape_of(p)->link_name != NULL)
        ck_assert_uint_ge(n_theirs, dsgd_shape_of(p)->n_links(p, n_hosts));
    dsgd_shape_route route = {NULL};
    for (int from = 0; from < n_hosts; from++)
        for (int to = from % step; to < n_hosts; to += step) {
            if (from == to)
                continue;
            dsgd_shape_find_route(p, from, to, &route);
            if (!dsgd_platform_is_crossbar(p))
                expect_same_links(p, from, to, theirs, &route);
            expect_as_fast(p, from, to, &route);
        }
    free(route.link);
    free(theirs);
}

/* Gives some hosts other bandwidths and latencies, on half of the platforms. */
static void add_entries(dsgd_platform *p, int experiment, int n_hosts)
{
    static dsgd_platform_entry entries[N_ENTRIES];
    for (int i = 0; i < N_ENTRIES; i++)
        entries[i] =
            (dsgd_platform_entry){.first = (int64_t)draw(experiment, 20 + i, 0, n_hosts - 1),
                                  .count = 1,
                                  .speed = 1,
                                  .bandwidth = draw(experiment, 30 + i, 1, 100) / 50,
                                  .latency_s = draw(experiment, 40 + i, 0, 3) * 1.1e-6};
    if (experiment % 2 == 1)
        p->hosts = (dsgd_structs){N_ENTRIES, entries};
}

static void fill(dsgd_numbers *numbers, double *v, size_t n, int experiment, int what, double least,
                 double most)
{
    *numbers = (dsgd_numbers){n, v};
    for (size_t i = 0; i < n; i++)
        v[i] = draw(experiment, what + (int)i, least, most);
}

TEST_RANGE(links_of_random_trees_are_simgrids, 0, N_RANDOM)
{
    static double size[MOST_LEVELS], up[MOST_LEVELS], cables[MOST_LEVELS];
    const size_t n = (size_t)draw(_i, 0, 1, MOST_LEVELS);
    dsgd_platform p = plain(DSGD_TOPOLOGY_FAT_TREE);
    fill(&p.size, size, n, _i, 1, n == 1 ? 2 : 1, n > 2 ? 3 : 6);
    fill(&p.up, up, n, _i, 5, 1, 3);
    if (draw(_i, 15, 0, 2) > 0)
        fill(&p.cables, cables, n, _i, 9, 1, 3);
    size[0] = fmax(size[0], 2);
    add_entries(&p, _i, dsgd_platform_most_hosts(&p));
    expect_simgrids(&p, dsgd_platform_most_hosts(&p), 1);
}

TEST_RANGE(links_of_random_dragonflies_are_simgrids, 0, N_RANDOM)
{
    static double size[4], cables[3];
    dsgd_platform p = plain(DSGD_TOPOLOGY_DRAGONFLY);
    fill(&p.size, size, 4, _i, 1, 1, 4);
    size[0] = draw(_i, 1, 1, size[2]);
    size[3] = fmax(size[3], size[0] * size[1] * size[2] < 2 ? 2 : 1);
    if (draw(_i, 15, 0, 2) > 0)
        fill(&p.cables, cables, 3, _i, 9, 1, 4);
    add_entries(&p, _i, dsgd_platform_most_hosts(&p));
    expect_simgrids(&p, dsgd_platform_most_hosts(&p), 1);
}

TEST_RANGE(links_of_random_tori_are_simgrids, 0, N_RANDOM)
{
    static double size[MOST_LEVELS];
    const size_t n = (size_t)draw(_i, 0, 1, MOST_LEVELS);
    dsgd_platform p = plain(DSGD_TOPOLOGY_TORUS);
    fill(&p.size, size, n, _i, 1, 2, n > 2 ? 4 : 9);
    add_entries(&p, _i, dsgd_platform_most_hosts(&p));
    expect_simgrids(&p, dsgd_platform_most_hosts(&p), 1);
}

TEST_RANGE(links_in_simgrid_have_the_speed_of_the_platform, 0, 12)
{
    static double boards[] = {3, 2, 2, 3};
    const int all[] = {DSGD_TOPOLOGY_SWITCH, DSGD_TOPOLOGY_GROUPS, DSGD_TOPOLOGY_HAMMING_MESH,
                       DSGD_TOPOLOGY_RAILS};
    dsgd_platform p = plain(all[_i % 4]);
    const int n_hosts = 36;
    if (p.topology == DSGD_TOPOLOGY_HAMMING_MESH)
        p.size = (dsgd_numbers){4, boards};
    else if (p.topology == DSGD_TOPOLOGY_RAILS || _i >= 8)
        p.island_hosts = 4;
    p.island_nics = p.topology == DSGD_TOPOLOGY_RAILS ? 4 : 2;
    p.island_bytes_per_s = 1.1e11;
    p.island_latency_s = 0.3e-6;
    add_entries(&p, _i / 4, n_hosts);
    expect_simgrids(&p, n_hosts, 1);
}

static double tree[] = {16, 8, 4}, up[] = {1, 8, 2}, cables[] = {1, 2, 1}, flies[] = {8, 4, 8, 4},
              grid[] = {8, 16, 8};
static const struct {
    dsgd_platform_topology topology;
    dsgd_numbers size, up, cables;
    int step;
} large[] = {{DSGD_TOPOLOGY_FAT_TREE, {3, tree}, {3, up}, {3, cables}, 7},
             {DSGD_TOPOLOGY_DRAGONFLY, {4, flies}, {0}, {0}, 13},
             {DSGD_TOPOLOGY_TORUS, {3, grid}, {0}, {0}, 31}};

TEST_ROWS(links_of_large_platforms_are_simgrids, large)
{
    dsgd_platform p = plain((int)large[_i].topology);
    p.size = large[_i].size;
    p.up = large[_i].up;
    p.cables = large[_i].cables;
    expect_simgrids(&p, dsgd_platform_most_hosts(&p), large[_i].step);
}
