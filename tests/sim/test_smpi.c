/**
 * @file test_smpi.c
 * Compares the time of an allreduce with an independent simulator on the same networks. The
 * independent simulator runs the collectives of SimGrid's SMPI, which it replays from a trace
 * without data. On a flat network, the test also checks closed forms.
 *
 * SMPI's usual factors on latency and bandwidth are calibrated for Ethernet and its MPI. The test
 * sets these factors to 1, and sets SMPI's overheads to 0. The network model is CM02 without TCP's
 * window and cross-traffic, as in sim/network/simgrid.c. Rank i is on host n_i in both simulators,
 * because a hostfile in another order would change the times of a fat tree and of a dragonfly. If
 * DSGD_SHOW is set in the environment, the test prints the table of smpi.md.
 */
#include "tests/command/shell.h"
#include "tests/support/suite.h"

enum { FLOATS = 25557032 }; /* number of parameters of ResNet-50 */

static const double link_bytes_per_s = 12.5e9;
static const double link_s = 1e-6;

/**
 * The largest relative difference of times that is allowed. The measured difference is 0.2 %: if P
 * does not divide the vector, SMPI's ring sends the remainder in a separate allreduce.
 */
static const double tolerance = 0.01;

/* --- networks --------------------------------------------------------------------------------- */

typedef enum network { FLAT, FAT_TREE, DRAGONFLY, N_NETWORKS } network;

static const char *const network_names[] = {"flat", "fat tree", "dragonfly"};

/**
 * Makes a flat network, a tree with two levels that is tapered 2:1, or a dragonfly with four or
 * eight groups and four cables between any two groups.
 */
static dsgd_platform platform_of(network which, int workers)
{
    static double of_64[] = {8, 8}, of_1024[] = {32, 32}, up_64[] = {1, 4}, up_1024[] = {1, 16};
    static double groups_64[] = {4, 2, 4, 2}, groups_1024[] = {8, 4, 8, 4}, cables[] = {4, 4, 4};
    dsgd_platform p = {.topology = DSGD_TOPOLOGY_SWITCH,
                       .host_bandwidth_bytes_per_s = link_bytes_per_s,
                       .host_latency_s = 2 * link_s};
    if (which == FAT_TREE) {
        p.topology = DSGD_TOPOLOGY_FAT_TREE;
        p.size = (dsgd_numbers){2, workers == 64 ? of_64 : of_1024};
        p.up = (dsgd_numbers){2, workers == 64 ? up_64 : up_1024};
    } else if (which == DRAGONFLY) {
        p.topology = DSGD_TOPOLOGY_DRAGONFLY;
        p.size = (dsgd_numbers){4, workers == 64 ? groups_64 : groups_1024};
        p.cables = (dsgd_numbers){3, cables};
    }
    return p;
}

/* --- collectives ------------------------------------------------------------------------------ */

static const struct {
    const char *name;
    const char *smpi; /* name of the collective in SMPI's option smpi/allreduce */
    dsgd_collective collective;
} collectives[] = {
    {"recursive doubling", "rdb", DSGD_COLLECTIVE_RECURSIVE_DOUBLING},
    {"halving-doubling", "rab_rdb", DSGD_COLLECTIVE_RABENSEIFNER},
    {"ring", "lr", DSGD_COLLECTIVE_RING},
};

enum { RECURSIVE_DOUBLING, HALVING_DOUBLING, RING, N_COLLECTIVES };

/**
 * Returns the seconds of an allreduce on the flat network by its closed form, without overhead and
 * cost of reduction (sim/exchange/schedules.c).
 */
static double closed_form_s(int how, int workers)
{
    const double wire_s = 4.0 * FLOATS / link_bytes_per_s, share = (workers - 1.0) / workers;
    const int bits = (int)lround(log2(workers));
    if (how == RECURSIVE_DOUBLING)
        return bits * (2 * link_s + wire_s);
    if (how == HALVING_DOUBLING)
        return 2 * bits * 2 * link_s + 2 * share * wire_s;
    return 2 * (workers - 1) * 2 * link_s + 2 * share * wire_s;
}

static double dsgd_s(network which, int how, int workers)
{
    support_case *const c = support_no_learning(support_of(&support_averaging, workers));
    SET(c, platform = platform_of(which, workers), workload.bytes = 4.0 * FLOATS,
        config.exchange.collective = collectives[how].collective, config.until.steps = 1);
    return support_ok(c)->result.virtual_s - 1;
}

/* --- SMPI ------------------------------------------------------------------------------------- */

/**
 * Writes a trace in which every rank makes one allreduce in single precision (data type 5 in SMPI's
 * traces). Each rank is on the host with its number.
 */
static void write_trace(int workers)
{
    char *list = dsgd_xstrdup(""), *hosts = dsgd_xstrdup("");
    for (int rank = 0; rank < workers; rank++) {
        write_file(
            dsgd_xprintf("rank%d", rank),
            dsgd_xprintf("%d init\n%d allreduce %d 0 5\n%d finalize\n", rank, rank, FLOATS, rank));
        dsgd_append(&list, "%s/rank%d\n", folder, rank);
        dsgd_append(&hosts, "n%d\n", rank);
    }
    write_file("traces", list);
    write_file("hosts", hosts);
}

/** Returns the seconds of an allreduce that SMPI computes. */
static double smpi_s(network which, int how, int workers)
{
    const dsgd_platform platform = platform_of(which, workers);
    char *const xml = dsgd_xprintf("%s/platform.xml", folder);
    ck_assert_int_eq(dsgd_platform_write(&platform, workers, xml, NULL), DSGD_OK);
    write_trace(workers);
    const char *const output = shell_ends(
        0,
        "smpirun -np %d -hostfile hosts -platform platform.xml -replay traces "
        "--cfg=smpi/allreduce:%s --cfg=smpi/host-speed:1Gf --cfg=smpi/privatization:no "
        "--cfg=network/model:CM02 --cfg=network/TCP-gamma:0 --cfg=network/crosstraffic:0 "
        "--cfg=smpi/lat-factor:0:1 --cfg=smpi/bw-factor:0:1 --cfg=smpi/os:0:0:0 "
        "--cfg=smpi/or:0:0:0 --cfg=smpi/ois:0:0:0 --log=root.thres:warning "
        "--log=smpi_replay.thres:info 2>&1",
        workers, collectives[how].smpi);
    const char *const said = strstr(output, "Simulation time ");
    ck_assert_msg(said != NULL, "smpirun did not say how long it took: %s", output);
    return atof(said + strlen("Simulation time "));
}

static bool is_installed(void)
{
    const bool is = system("command -v smpirun > /dev/null") == 0;
    if (!is)
        puts("skipped: smpirun is not installed (Debian: libsimgrid-dev)");
    return is;
}

/* --- tests ------------------------------------------------------------------------------------ */

static void expect_within(const char *what, double got_s, double expected_s)
{
    ck_assert_msg(fabs(got_s / expected_s - 1) <= tolerance, "%s: %.3f ms, not %.3f", what,
                  1e3 * got_s, 1e3 * expected_s);
}

static void compare(network which, int how, int workers)
{
    char what[80];
    snprintf(what, sizeof what, "%s, %d workers, %s", collectives[how].name, workers,
             network_names[which]);
    const double ours_s = dsgd_s(which, how, workers);
    if (which == FLAT)
        expect_within(what, ours_s, closed_form_s(how, workers));
    if (!is_installed())
        return;
    const double theirs_s = smpi_s(which, how, workers);
    if (getenv("DSGD_SHOW") != NULL)
        printf("| %s | %d | %s | %.2f | %.2f | %+.1f %% |\n", collectives[how].name, workers,
               network_names[which], 1e3 * ours_s, 1e3 * theirs_s, 100 * (ours_s / theirs_s - 1));
    expect_within(what, ours_s, theirs_s);
}

SUITE(smpi, "smpi", .seconds = 120, .set_up = make_folder, .tear_down = remove_folder);

TEST_RANGE(allreduces_of_64_take_as_long_as_in_smpi, 0, N_NETWORKS *N_COLLECTIVES)
{
    compare((network)(_i / N_COLLECTIVES), _i % N_COLLECTIVES, 64);
}

TEST_RANGE(short_allreduces_of_1024_take_as_long_as_in_smpi, 0, SUPPORT_SLOW ? 0 : N_NETWORKS * 2)
{
    compare((network)(_i / 2), _i % 2, 1024);
}

SUITE(smpi_long, "smpi_long", .seconds = 600, .set_up = make_folder, .tear_down = remove_folder);

/** A ring of 1,024 workers has two million messages. */
TEST_RANGE(rings_of_1024_take_as_long_as_in_smpi, 0, N_NETWORKS)
{
    compare((network)_i, RING, 1024);
}
