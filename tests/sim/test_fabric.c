/**
 * @file test_fabric.c
 * Tests routes, bisection bandwidth and collectives of HammingMesh and rails against formulas. The
 * formulas are derived by hand from boards, rows, columns and nodes.
 *
 * A HammingMesh has boards of a x b hosts, x boards in a row, y boards in a column, and ports of B
 * bytes/s. A cut between the halves of all rows meets b y rows of hosts. In each of these rows, x /
 * 2 boards have two ports to the switch of the row. The cut therefore carries x b y B in each
 * direction. Half of the a b x y hosts send through the cut. Each host gets 2 B / a, which is 1 /
 * (2 a) of the 4 B that its four ports inject.
 *
 * A ring runs along a row: it leaves each host by one port, and enters it by another port. Rings by
 * dimension therefore sum with bandwidth B. An allreduce of n bytes takes 2 n / B, less the time of
 * the last share, and 2 (a x - 1 + b y - 1) messages.
 */
#include "sim/exchange/plan.h"
#include "sim/network/machine.h"
#include "tests/support/suite.h"
#include "tests/support/support.h"
#include "traces/closed_form.h"
#include "traces/shapes/shape.h"

static const double port = 10e9, near_s = 1e-6, switch_s = 0.5e-6, island_s = 2e-6, island = 100e9;

static dsgd_platform mesh(double *size)
{
    return (dsgd_platform){.topology = DSGD_TOPOLOGY_HAMMING_MESH,
                           .host_bandwidth_bytes_per_s = port,
                           .host_latency_s = near_s,
                           .group_latency_s = switch_s,
                           .size = {4, size},
                           .island_nics = 1};
}

/*
 * Makes nodes of eight GPUs, each with its own NIC. The nodes are connected by one crossbar, which
 * equals a full fat tree, or by rails.
 */
static dsgd_platform nodes(dsgd_platform_topology topology)
{
    return (dsgd_platform){.topology = topology,
                           .host_bandwidth_bytes_per_s = port,
                           .host_latency_s = near_s,
                           .group_latency_s = switch_s,
                           .island_hosts = 8,
                           .island_nics = 8,
                           .island_bytes_per_s = island,
                           .island_latency_s = island_s};
}

static double volley_s(const dsgd_platform *platform, int n_hosts, const int *to, double bytes)
{
    const dsgd_machine machine = {.platform = platform, .n_hosts = n_hosts};
    return support_volley_s(&machine, to, bytes);
}

/*
 * Returns the time of a round in which each host sends to another host, @p by places further in its
 * row or column of the mesh.
 */
static double shift_s(double *size, bool in_rows, int by, double bytes)
{
    const dsgd_platform p = mesh(size);
    const int n = dsgd_platform_most_hosts(&p), row = (int)(size[0] * size[2]), column = n / row;
    int *const to = dsgd_xcalloc((size_t)n, sizeof *to);
    for (int i = 0; i < n; i++)
        to[i] = in_rows ? i / row * row + (i % row + by) % row
                        : (i / row + by) % column * row + i % row;
    const double seconds = volley_s(&p, n, to, bytes);
    free(to);
    return seconds;
}

SUITE(fabrics, "HammingMesh and rails", .seconds = 120);

/* --- HammingMesh ------------------------------------------------------------------------------ */

static int least(int a, int b)
{
    return a < b ? a : b;
}

/*
 * Returns the number of links on the shortest way between two places of a row or column. @p board
 * is the number of places on a board.
 */
static int hops(int from, int to, int board)
{
    if (from / board == to / board)
        return abs(from - to);
    return 2 + least(from % board, board - 1 - from % board) +
           least(to % board, board - 1 - to % board);
}

TEST(a_message_takes_the_nearest_edges_along_its_row_and_then_its_column)
{
    static double sizes[][4] = {
        {2, 2, 4, 3}, {4, 4, 2, 2}, {3, 1, 3, 2}, {1, 1, 4, 4}, {5, 2, 1, 2}};
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        const dsgd_platform p = mesh(sizes[k]);
        const int a = (int)sizes[k][0], b = (int)sizes[k][1], row = a * (int)sizes[k][2],
                  n = dsgd_platform_most_hosts(&p);
        const size_t n_links = dsgd_shape_of(&p)->n_links(&p, n);
        dsgd_shape_route route = {NULL};
        double ways[4] = {0}; /* number of routes that leave hosts by each of the four ports */
        for (int from = 0; from < n; from++)
            for (int to = 0; to < n; to++) {
                if (from == to)
                    continue;
                dsgd_shape_find_route(&p, from, to, &route);
                const size_t got = route.n, *const link = route.link;
                const int in_row = hops(from % row, to % row, a),
                          in_column = hops(from / row, to / row, b);
                ck_assert_uint_eq(got, (size_t)(in_row + in_column));
                for (size_t i = 0; i < got; i++) {
                    ck_assert_uint_lt(link[i], n_links);
                    for (size_t j = 0; j < i; j++)
                        ck_assert_uint_ne(link[i], link[j]);
                    ways[link[i] % 4]++;
                }
                ck_assert_uint_eq(link[0] / 4, (size_t)from);
            }
        free(route.link);
        /* Opposite ports of a dimension carry the same all-to-all traffic. */
        ck_assert_double_eq(ways[0], ways[1]);
        ck_assert_double_eq(ways[2], ways[3]);
    }
}

static struct {
    double size[4];
    int cables; /* number of cables in a cut between halves, x b y */
} meshes[] = {
    {{2, 2, 16, 16}, 512}, {{4, 4, 8, 8}, 256}, {{2, 2, 64, 64}, 8192}, {{4, 4, 32, 32}, 4096}};

enum { N_MESHES = SUPPORT_SLOW ? 2 : 4 };

TEST_RANGE(halves_of_a_hamming_mesh_send_as_much_as_its_cables_carry, 0, N_MESHES)
{
    double *const size = meshes[_i].size;
    const double n = size[0] * size[1] * size[2] * size[3], bytes = 1e8;
    ck_assert_double_eq(n, _i < 2 ? 1024 : 16384);
    for (int in_rows = 0; in_rows < 2; in_rows++) {
        const double seconds = shift_s(size, in_rows, (int)(size[0] * size[2] / 2), bytes);
        ck_assert_double_eq_tol(n / 2 * bytes / seconds, meshes[_i].cables * port,
                                1e-3 * meshes[_i].cables * port);
        /* ratio of a host's bandwidth through the cut to its injection bandwidth */
        ck_assert_double_eq_tol(bytes / seconds / (4 * port), 1 / (2 * size[0]), 1e-3);
    }
}

/*
 * In each round of a ring, each link carries one message. A message between boards passes a switch.
 */
TEST_RANGE(a_ring_along_a_dimension_has_a_port_for_itself, 0, N_MESHES)
{
    for (int in_rows = 0; in_rows < 2; in_rows++)
        ck_assert_double_eq_tol(shift_s(meshes[_i].size, in_rows, 1, 1e6),
                                near_s + switch_s + 1e6 / port, 1e-12);
}

/* --- collectives ------------------------------------------------------------------------------ */

static bool broadcasts; /* if true, the collective broadcasts; if false, it gathers shares */

static void collective_work(dsgd_node *self)
{
    dsgd_vector *const x = dsgd_model(self);
    while (dsgd_next_step(self)) {
        dsgd_gradient(self, x, x);
        if (broadcasts)
            dsgd_collective_run(self, DSGD_BROADCAST, x, 0, DSGD_WORLD);
        else
            dsgd_collective_run(self, DSGD_ALLGATHER, x, 0, DSGD_WORLD);
    }
}

TEST_ALGORITHM(other, .work = collective_work);

/*
 * Size of the vector of a collective in bytes (4 MiB). Every share of the vector is a whole number
 * of bytes.
 */
static const double vector = 1024 * 4096;

static double collective_s(const dsgd_platform *platform, int workers,
                           const dsgd_algorithm *algorithm, dsgd_collective how)
{
    support_case *const c = support_no_learning(support_of(algorithm, workers));
    c->platform = *platform;
    c->config.exchange.collective = how;
    c->config.until.steps = 1;
    c->workload.bytes = vector;
    return support_ok(c)->result.virtual_s - 1;
}

static void expect_rings(const dsgd_platform *platform, int n, int rounds, double round_s)
{
    const double seconds = collective_s(platform, n, &support_averaging, DSGD_COLLECTIVE_RINGS);
    ck_assert_double_eq_tol(seconds, rounds * round_s + 2 * (n - 1.0) / n * vector / port, 1e-9);
}

TEST(rings_by_dimension_take_their_closed_form)
{
    for (int i = 0; i < (SUPPORT_SLOW ? 0 : 2); i++) {
        const dsgd_platform p = mesh(meshes[i].size);
        expect_rings(&p, 1024, 2 * (31 + 31), near_s + switch_s);
    }
    static double small[] = {2, 2, 4, 2}, flat[] = {4, 8}, deep[] = {2, 4, 4};
    dsgd_platform p = mesh(small);
    expect_rings(&p, 32, 2 * (7 + 3), near_s + switch_s);
    p.topology = DSGD_TOPOLOGY_TORUS;
    p.size = (dsgd_numbers){2, flat};
    expect_rings(&p, 32, 2 * (3 + 7), near_s);
    p.size = (dsgd_numbers){3, deep};
    expect_rings(&p, 32, 2 * (1 + 3 + 3), near_s);
}

/* --- rails ------------------------------------------------------------------------------------ */

enum { GPUS = 32, RAILS = 8 };

/*
 * On rails, some collectives send no message from one rail to another rail. These collectives are
 * rings that first run within nodes, recursive halving, and a tree over powers of two.
 */
TEST(rails_equal_a_full_tree_for_collectives_that_stay_on_them)
{
    static const struct {
        const dsgd_algorithm *algorithm;
        dsgd_collective how;
    } all[] = {{&support_averaging, DSGD_COLLECTIVE_RINGS},
               {&support_averaging, DSGD_COLLECTIVE_RABENSEIFNER},
               {&other, DSGD_COLLECTIVE_RINGS},
               {&other, DSGD_COLLECTIVE_RABENSEIFNER},
               {&other, DSGD_COLLECTIVE_RECURSIVE_DOUBLING}};
    const dsgd_platform tree = nodes(DSGD_TOPOLOGY_SWITCH), rails = nodes(DSGD_TOPOLOGY_RAILS);
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        broadcasts = i == 4;
        ck_assert_double_eq_tol(collective_s(&rails, GPUS, all[i].algorithm, all[i].how),
                                collective_s(&tree, GPUS, all[i].algorithm, all[i].how), 1e-10);
    }
    /*
     * The rings make seven rounds within a node and three along a rail, once to scatter and once to
     * gather.
     */
    ck_assert_double_eq_tol(
        collective_s(&rails, GPUS, &support_averaging, DSGD_COLLECTIVE_RINGS),
        2 * (7 * (island_s + vector / 8 / island) + 3 * (near_s + vector / GPUS / port)), 1e-9);
}

/*
 * In every round of a flat ring, the last GPU of a node sends to the first GPU of the next node.
 * That GPU is on another rail, so the message also passes a link within the node.
 */
TEST(a_flat_ring_on_rails_also_takes_the_links_of_its_nodes)
{
    const dsgd_platform tree = nodes(DSGD_TOPOLOGY_SWITCH), rails = nodes(DSGD_TOPOLOGY_RAILS);
    const double on_tree_s = collective_s(&tree, GPUS, &support_averaging, DSGD_COLLECTIVE_RING);
    ck_assert_double_eq_tol(on_tree_s, 2 * (GPUS - 1) * (near_s + vector / GPUS / port), 1e-9);
    ck_assert_double_eq_tol(collective_s(&rails, GPUS, &support_averaging, DSGD_COLLECTIVE_RING),
                            on_tree_s + 2 * (GPUS - 1) * island_s, 1e-9);
}

/*
 * Returns the seconds of one round of an all-to-all. In this round, each GPU sends to the GPU @p by
 * places further.
 */
static double round_s(const dsgd_platform *platform, int by, double bytes)
{
    int to[GPUS];
    for (int i = 0; i < GPUS; i++)
        to[i] = (i + by) % GPUS;
    const double seconds = volley_s(platform, GPUS, to, bytes);
    ck_assert_double_eq_tol(seconds, dsgd_closed_form_s(platform, GPUS, to, bytes), 1e-9 * seconds);
    return seconds;
}

TEST(an_all_to_all_without_a_spine_goes_through_the_nodes)
{
    dsgd_platform tree = nodes(DSGD_TOPOLOGY_SWITCH), rails = nodes(DSGD_TOPOLOGY_RAILS),
                  spine = rails;
    /* in a rail-optimised network, the spine has as much bandwidth as the NICs of a rail */
    spine.group_bytes_per_s = GPUS / RAILS * port;
    const double bytes = 1e6, way_s = near_s + bytes / port;
    for (int by = 1; by < GPUS; by++) {
        const bool crosses = by % RAILS != 0;
        ck_assert_double_eq_tol(round_s(&tree, by, bytes), way_s, 1e-12);
        ck_assert_double_eq_tol(round_s(&rails, by, bytes), way_s + crosses * island_s, 1e-12);
        ck_assert_double_eq_tol(round_s(&spine, by, bytes), way_s + crosses * switch_s, 1e-12);
    }
    /*
     * The links within a node (NVLink or PCIe) now have half the bandwidth of a NIC, and the spine
     * has half the bandwidth of a rail.
     */
    rails.island_bytes_per_s = port / 2;
    spine.group_bytes_per_s /= 2;
    for (int by = RAILS; by < GPUS; by++) {
        const bool crosses = by % RAILS != 0;
        ck_assert_double_eq_tol(round_s(&rails, by, bytes),
                                way_s + crosses * (island_s + bytes / port), 1e-12);
        ck_assert_double_eq_tol(round_s(&spine, by, bytes),
                                way_s + crosses * (switch_s + bytes / port), 1e-9);
    }
}

TEST(numbers_that_make_no_fabric_are_rejected)
{
    static double three[] = {2, 2, 4}, large[] = {65, 1, 2, 2};
    dsgd_error error = {""};
    dsgd_platform p = mesh(large);
    ck_assert_int_eq(dsgd_platform_check(&p, &error), DSGD_EUSAGE);
    ck_assert_has(error.text, "a board must have at most 64 by 64 hosts, got 65 by 1");
    p.size = (dsgd_numbers){3, three};
    ck_assert_int_eq(dsgd_platform_check(&p, &error), DSGD_EUSAGE);
    ck_assert_has(error.text, "hamming_mesh needs 4 numbers in size, got 3");
    p = nodes(DSGD_TOPOLOGY_RAILS);
    p.island_nics = 4;
    ck_assert_int_eq(dsgd_platform_check(&p, &error), DSGD_EUSAGE);
    ck_assert_has(error.text, "got 8 and 4");
    p.island_nics = 8;
    const dsgd_machine machine = {.platform = &p, .network = DSGD_NETWORK_SIMGRID, .n_hosts = 257};
    ck_assert_int_eq(dsgd_machine_check(&machine, &error), DSGD_EUSAGE);
    ck_assert_has(error.text, "at most 256 hosts with this topology, but there are 257");
}
