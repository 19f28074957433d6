/**
 * @file test_both_networks.c
 * Tests that every run takes the same time with `network: flows` and with `network: simgrid`, on
 * every shipped platform and on every topology.
 */
#include "tests/command/shell.h"
#include "tests/support/suite.h"

SUITE(both_networks, "network: flows beside network: simgrid", .seconds = 240,
      .set_up = make_folder, .tear_down = remove_folder);

/*
 * A HammingMesh of 2 x 2 boards replaces the shipped HammingMesh, which is too large for SimGrid:
 * SimGrid stores every route.
 */
static const char topologies[] =
    "{name: hx2mesh, size: [2, 2, 2, 2]}, "
    "{topology: fat_tree, size: [2, 2, 2], up: [1, 2, 1], host_bandwidth: 1GB/s}, "
    "{topology: torus, size: [2, 2, 2], host_bandwidth: 1GB/s}, "
    "{topology: dragonfly, size: [2, 2, 2, 1], host_bandwidth: 1GB/s}";

#define FIVE "allreduce, eager_majority, dasgd, local_sgd, d_psgd"
#define VARIES "imbalance: [{kind: normal, mean: 10ms, deviation: 4ms}]\n"

/*
 * Tested algorithms on shipped platforms and on small topologies. AD-PSGD is tested only without
 * imbalance, and WAGMA is tested only on shipped platforms, because both depend on the order of
 * messages. If messages arrive at the same instant, rounding decides their order. The order selects
 * the peers of AD-PSGD. On a symmetric topology, it also selects the worker that starts an average
 * of WAGMA.
 */
static const struct {
    bool is_shipped;
    const char *algorithms, *imbalance;
} rows[] = {{true, FIVE ", {name: wagma, group: 4}", VARIES},
            {true, "ad_psgd", ""},
            {false, FIVE, VARIES},
            {false, "ad_psgd", ""}};

/* Returns the names of all shipped platforms except hx2mesh, with a comma after each name. */
static char *platforms(void)
{
    char *names = dsgd_xstrdup("");
    /* The second line of each entry starts with a blank and contains no name. */
    for (char *line = dsgd_ends(0, "list platforms"); *line != '\0'; line = strchr(line, '\n') + 1)
        if (*line != ' ' && strncmp(line, "hx2mesh ", 8) != 0)
            dsgd_append(&names, "%.*s, ", (int)strcspn(line, " "), line);
    return names;
}

TEST_ROWS(runs_take_same_time_on_both_networks, rows)
{
    write_file("e.yaml",
               dsgd_xprintf("workers: 8\nuntil: {steps: 5}\nworkload: resnet50-v100-32\n"
                            "platform: {sweep: [%s]}\nexchange: {pieces: {sweep: [1, buckets]}}\n"
                            "algorithms: [%s]\n%s",
                            rows[_i].is_shipped ? platforms() : topologies, rows[_i].algorithms,
                            rows[_i].imbalance));
    dsgd_ends(0, "run e.yaml -o flows");
    dsgd_ends(0, "run e.yaml -o simgrid --set network=simgrid");
    int n_runs = -1; /* the heading line does not count as a run */
    for (const char *c = read_file("flows/runs.csv"); *c != '\0'; c++)
        n_runs += *c == '\n';
    ck_assert_int_gt(n_runs, 0);
    for (int run = 1; run <= n_runs; run++) {
        const char *const number = dsgd_xprintf("%d,", run);
        const double flows_s = cell_number("flows/runs.csv", number, "virtual_s");
        const double simgrid_s = cell_number("simgrid/runs.csv", number, "virtual_s");
        ck_assert_double_gt(flows_s, 0);
        ck_assert_msg(fabs(flows_s / simgrid_s - 1) < 1e-9,
                      "run %d: %.17g s by flows, %.17g s by SimGrid", run, flows_s, simgrid_s);
    }
}
