/**
 * @file test_expenses.c
 * Tests the bytes, energy and cost of whole runs and of runs up to a target, against closed forms.
 * Also tests that invalid powers and prices are rejected.
 */
#include <sys/stat.h>

#include "tests/command/shell.h"
#include "tests/support/suite.h"

/*
 * An experiment in which each step computes for 3 s and then exchanges 10 GB. With P workers, a
 * ring sends 2 (P - 1) / P of the bytes over 10 GB/s. The ring needs 2 (P - 1) messages with a
 * latency of 1 us.
 */
static const char experiment[] =
    "platform: {name: idle-switch, busy_power: 0.3kW, idle_power: 50W, price: %s}\n"
    "workload: {bytes: 10G, step: 3s, backward_share: 0, samples: 8}\n"
    "workers: [1, 2, 4, 5]\n"
    "algorithms: allreduce\n"
    "exchange: {pieces: 1, collective: ring}\n"
    "until: {steps: 4}\n";

static void run_experiment(const char *price, const char *options)
{
    write_file("e.yaml", dsgd_xprintf(experiment, price));
    dsgd_ends(0, "run e.yaml -o r %s", options);
}

static double number_of(const char *row, const char *column)
{
    const char *const text = cell_of("r/runs.csv", row, column);
    ck_assert_msg(*text != '\0', "%s of %s is empty", column, row);
    return strtod(text, NULL);
}

static void expect(const char *row, const char *column, double number)
{
    ck_assert_double_le(fabs(number_of(row, column) - number), 1e-4 * number);
}

static const double workers[] = {1, 2, 4, 5};

SUITE(expenses, "expenses", .seconds = 60, .set_up = make_folder, .tear_down = remove_folder);

TEST(energy_and_cost_equal_closed_form)
{
    run_experiment("2.5 USD/h", "");
    for (int i = 0; i < 4; i++) {
        const double p = workers[i], exchange_s = 2 * (p - 1) / p;
        char row[16];
        snprintf(row, sizeof row, "%d,", i + 1);
        expect(row, "virtual_s", 4 * (3 + exchange_s));
        expect(row, "energy_j", 4 * p * (3 * 300 + exchange_s * 50));
        expect(row, "cost", 4 * p * (3 + exchange_s) * 2.5 / 3600);
        expect(row, "sent_mean_bytes", 4 * 10e9 * 2 * (p - 1) / p);
        expect(row, "sent_max_bytes", 4 * 10e9 * 2 * (p - 1) / p);
        ck_assert_str_eq(cell_of("r/runs.csv", row, "currency"), "USD");
    }
    ck_assert_has(read_file("r/manifest.json"), "\"busy_power\": 300");
    ck_assert_has(dsgd_ends(0, "describe platform dgx-h100"),
                  "power of a GPU      700 W, idle 70 W\n");
}

TEST(unknown_energy_and_cost_are_empty)
{
    write_experiment("");
    dsgd_ends(0, "run e.yaml -o r --only 1");
    static const char *const empty[] = {"energy_j", "cost", "currency"};
    for (size_t k = 0; k < 3; k++)
        ck_assert_str_eq(cell_of("r/runs.csv", "1,", empty[k]), "");
    ck_assert_double_gt(number_of("1,", "sent_mean_bytes"), 0);
    dsgd_ends(0, "compare r");
    const char *const csv = read_file("r/compare.csv");
    ck_assert_ptr_null(strstr(csv, "energy"));
    ck_assert_ptr_null(strstr(csv, "cost"));
    ck_assert_has(csv, "sent_mean_bytes_mean");
}

/**
 * Tests the cost of bytes that leave a region, with and without a price of GPUs. There are two
 * regions of two hosts. In each of four steps, every host sends 10 GB within its region and 10 GB
 * to the other region. The price of the sending region applies.
 */
TEST(transfer_cost_is_bytes_times_price)
{
    write_file("p.yaml", "topology: groups\ngroup_hosts: 2\n"
                         "regions: [{name: a, price: 0.02}, {name: b, price: 0.05}]\n"
                         "routes: [{from: a, to: b, round_trip: 100ms, bandwidth: 1GB/s}]\n");
    write_file("e.yaml", "platform: {name: p.yaml, price: {sweep: [0 USD/h, 36 USD/h]}}\n"
                         "workload: {bytes: 10G, step: 3s, backward_share: 0, samples: 8}\n"
                         "workers: 4\nalgorithms: allreduce\nuntil: {steps: 4}\n"
                         "exchange: {pieces: 1, collective: recursive-doubling}\n");
    static const double left = 4 * (2 * 10 * 0.02 + 2 * 10 * 0.05);
    dsgd_ends(0, "run e.yaml -o r");
    expect("1,", "cost", left);
    expect("2,", "cost", left + 4 * number_of("2,", "virtual_s") * 0.01);
    expect("1,", "virtual_s", 4 * (3 + 1 + 0.05 + 20)); /* two flows share a route of 1 GB/s */
}

/**
 * Tests that the cost of transfers is the same if the GPUs of a worker send parts of the model. If
 * the route has a bandwidth that flows share, the run is rejected, because only one GPU is
 * simulated.
 */
TEST(transfer_cost_does_not_depend_on_gpus_per_host)
{
    static const char text[] =
        "platform: {topology: groups, group_hosts: 2, price: 0 USD/h, regions: [{name: a, price: "
        "0.02}, {name: b, price: 0.05}], routes: [{from: a, to: b, flow_bandwidth: 1GB/s}]}\n"
        "workload: {value_bytes: 2, transformer: {parameters: 1e9, layers: 8, sequence: 1000, "
        "batch: 4, gpu_speed: 3Tf, gpus: {sweep: [1, 4]}}}\n"
        "workers: 4\nuntil: {steps: 4}\nalgorithms: allreduce\n"
        "exchange: {pieces: 1, collective: recursive-doubling}\n";
    static const double left = 4 * (2 * 2 * 0.02 + 2 * 2 * 0.05);
    write_file("e.yaml", text);
    dsgd_ends(0, "run e.yaml -o r");
    for (int i = 1; i <= 2; i++) {
        char row[16];
        snprintf(row, sizeof row, "%d,", i);
        expect(row, "cost", left);
        expect(row, "samples_per_cost", 4 * 4 * 4000 / left);
        expect(row, "sent_mean_bytes", 4 * 2 * 2e9 / (i == 1 ? 1 : 4));
    }
    ck_assert_has(dsgd_ends(2, "run e.yaml -o s --set platform.routes.0.bandwidth=1GB/s"),
                  "only one of a worker's gpus is simulated");
}

/**
 * Each worker has eight GPUs, so a step takes 6e9 x 4,000 / (8 x 3 Tf) = 1 s. Each GPU sends an
 * eighth of the model, with 16 bits per value.
 */
TEST(energy_and_cost_cover_all_gpus_of_worker)
{
    write_file(
        "e.yaml",
        "platform: {name: idle-switch, busy_power: 300W, idle_power: 0W, price: 3.6 USD/h}\n"
        "workload: {value_bytes: 2, transformer: {parameters: 1e9, layers: 8, sequence: 1000, "
        "batch: 4, gpu_speed: 3Tf, utilisation: 1, gpus: 8}}\n"
        "workers: 2\nuntil: {steps: 4}\n"
        "algorithms:\n"
        "  - {name: diloco, period: 4}\n"
        "  - {name: diloco, period: 4, label: four bits, exchange: {encoding: {kind: uniform, "
        "bits: 4, block: 0}}}\n");
    dsgd_ends(0, "run e.yaml -o r --set exchange.pieces=1");
    const double seconds = number_of("1,", "virtual_s"), cost = 16 * seconds * 3.6 / 3600;
    ck_assert_double_le(4, seconds);
    expect("1,", "energy_j", 16 * 4 * 300);
    expect("1,", "cost", cost);
    expect("1,", "samples_per_cost", 2 * 4 * 4000 / cost);
    expect("1,", "throughput_samples_per_s", 2 * 4 * 4000 / seconds);
    expect("1,", "sent_max_bytes", 1e9 / 8 * 2);
    expect("2,", "sent_max_bytes", 1e9 / 8 / 2);
}

TEST(powers_and_prices_do_not_change_times)
{
    write_file("e.yaml", dsgd_xprintf(experiment, "{sweep: [2 EUR/h, 0.5 EUR/h]}"));
    dsgd_ends(0, "run e.yaml -o s --set platform.busy_power='{sweep: [100W, 0.2kW]}'");
    const char *const csv = read_file("s/runs.csv");
    ck_assert_has(csv, "wall_s,platform.price,platform.busy_power_w\n");
    ck_assert_has(csv, ",2 EUR/h,200\n");
    /*
     * The first rows have one worker. Runs 1 and 2 differ only in the busy power. Runs 1 and 3
     * differ only in the price.
     */
    const double low_j = strtod(cell_of("s/runs.csv", "1,", "energy_j"), NULL);
    const double high_j = strtod(cell_of("s/runs.csv", "2,", "energy_j"), NULL);
    const double high = strtod(cell_of("s/runs.csv", "1,", "cost"), NULL);
    const double low = strtod(cell_of("s/runs.csv", "3,", "cost"), NULL);
    ck_assert_double_eq_tol(high_j - low_j, 12 * 100., 1e-6);
    ck_assert_double_eq_tol(high, 4 * low, 1e-9);
    ck_assert_str_eq(cell_of("s/runs.csv", "1,", "virtual_s"),
                     cell_of("s/runs.csv", "2,", "virtual_s"));
}

static const struct {
    const char *platform, *sentence;
} refused[] = {
    {"busy_power: -1", "e.yaml:1:"},
    {"busy_power: nan", "e.yaml:1:"},
    {"busy_power: 2MW", "unknown"},
    {"busy_power: 1e7", "busy_power must be between 0 and 1000000, got `1e7`"},
    {"busy_power: 300", "busy_power and idle_power must be given together"},
    {"idle_power: 30W", "busy_power and idle_power must be given together"},
    {"busy_power: 30, idle_power: 40",
     "platform: idle_power must be at most busy_power, 30 W, got 40 W"},
    {"price: 2.5", "price must be a number and a currency per hour, such as 2.5 USD/h, got `2.5`"},
    {"price: 2.5 USD", "got `2.5 USD`"},
    {"price: USD/h", "got `USD/h`"},
    {"price: -1 USD/h", "got `-1 USD/h`"},
    {"price: nan USD/h", "got `nan USD/h`"},
    {"price: 0x10 USD/h", "got `0x10 USD/h`"},
    {"price: 1..2 USD/h", "got `1..2 USD/h`"},
    {"price: '2 U,S/h'", "must be a number and a currency per hour"},
    {"price: 2 ABCDEFGHIJKLMNOP/h", "must be a number and a currency per hour"},
    {"price: {sweep: [1 USD/h, 1 EUR/h]}", "prices are in USD and EUR; give the prices"},
};

TEST_ROWS(meaningless_prices_are_rejected_with_reason, refused)
{
    write_file("e.yaml", dsgd_xprintf("platform: {name: idle-switch, %s}\n"
                                      "workload: {bytes: 1M, step: 1s, samples: 1}\nworkers: 2\n"
                                      "algorithms: allreduce\nuntil: {steps: 1}\n",
                                      refused[_i].platform));
    char *output = dsgd_ends(2, "run e.yaml -o r");
    ck_assert_msg(strstr(output, refused[_i].sentence) != NULL, "%s: %s", refused[_i].platform,
                  output);
    struct stat facts;
    ck_assert_int_ne(stat(dsgd_xprintf("%s/r", folder), &facts), 0);
}

/* --- Tests of bytes, energy and cost up to a target ------------------------------------------- */

/** A row of runs.csv: a run of 100 s and 50 steps that sends 10 MB, uses 2 kJ and costs 4 USD. */
#define RUN(run, algorithm, seed)                                                                  \
    run "," algorithm ",4," seed ",p,w,ok,50,100,1,0.5,0,0,1.5,0.9,1e7,2000,4,USD,9\n"

static const char runs[] =
    "run,algorithm,workers,seed,platform,workload,status,steps,virtual_s,throughput_samples_per_s,"
    "step_mean_s,staleness_mean,staleness_max,final_loss,final_accuracy,sent_mean_bytes,energy_j,"
    "cost,currency,wall_s\n" RUN("1", "allreduce", "1") RUN("2", "allreduce", "2")
        RUN("3", "wagma", "1") RUN("4", "wagma", "2");

/*
 * Learning curves of four runs. In this order, a run reaches an accuracy of 0.8 half-way between
 * two evaluations, at its second evaluation, at its first evaluation, and never.
 */
static const char curves[] = "run,algorithm,workers,seed,virtual_s,steps,loss,accuracy,consensus\n"
                             "1,allreduce,4,1,20,10,1,0.7,0\n1,allreduce,4,1,40,30,1,0.9,0\n"
                             "2,allreduce,4,2,10,5,1,0.7,0\n2,allreduce,4,2,60,30,1,0.8,0\n"
                             "3,wagma,4,1,50,20,1,0.8,0\n4,wagma,4,2,50,20,1,0.7,0\n";

static void expect_mean(const char *row, const char *column, double number)
{
    const char *const text = cell_of("r/compare.csv", row, column);
    ck_assert_msg(fabs(strtod(text, NULL) - number) <= 1e-9 * number, "%s of %s is `%s`, not %g",
                  column, row, text, number);
}

TEST(cost_to_target_follows_time_to_target)
{
    mkdir(dsgd_xprintf("%s/r", folder), 0777);
    write_file("r/runs.csv", runs);
    write_file("r/curves.csv", curves);
    write_file("r/manifest.json", "{\"runs\": []}");
    char *output = dsgd_ends(0, "compare r --target accuracy=0.8");
    expect_mean("allreduce,", "time_to_target_s_mean", (30 + 60) / 2.);
    expect_mean("allreduce,", "energy_to_target_j_mean", 2000 * (0.3 + 0.6) / 2);
    expect_mean("allreduce,", "cost_to_target_mean", 4 * (0.3 + 0.6) / 2);
    expect_mean("allreduce,", "sent_to_target_bytes_mean", 1e7 * (20 / 50. + 30 / 50.) / 2);
    expect_mean("wagma,", "energy_to_target_j_n", 1);
    expect_mean("wagma,", "energy_to_target_j_seeds", 2);
    static const char *const censored[] = {"sent_to_target_bytes_mean", "energy_to_target_j_mean",
                                           "cost_to_target_mean", "cost_to_target_diff",
                                           "cost_to_target_median"};
    for (size_t k = 0; k < sizeof censored / sizeof censored[0]; k++)
        ck_assert_str_eq(cell_of("r/compare.csv", "wagma,", censored[k]), "");
    ck_assert_has(output, "Time, traffic, energy and cost until accuracy=0.8:\nruns");
    ck_assert_has(output, "cost (USD)\n");
    ck_assert_has(output, "1 of 2 seeds");
    output = dsgd_ends(0, "report r --target accuracy=0.8");
    const char *const page = read_file("r/report.html");
    ck_assert_has(page, "Time, traffic, energy and cost until accuracy=0.8");
    ck_assert_has(page, "<td class=\"n\">1 of 2 seeds</td>");
    ck_assert_has(page, "cost (USD)");
    ck_assert_has(dsgd_ends(2, "report r --target 0.8"),
                  "--target must be accuracy=NUMBER or loss=NUMBER");
}

/**
 * Tests the energy and the cost up to a target. Cost is proportional to time. Energy is
 * proportional to time only without failures, so a run with a failure has no energy up to a target.
 */
TEST(energy_grows_evenly_without_failures)
{
    mkdir(dsgd_xprintf("%s/r", folder), 0777);
    write_file("r/runs.csv",
               "run,algorithm,workers,seed,platform,workload,status,steps,virtual_s,"
               "throughput_samples_per_s,step_mean_s,staleness_mean,final_loss,final_accuracy,"
               "energy_j,cost,currency,failures,wall_s\n"
               "1,allreduce,4,1,p,w,ok,50,100,1,0.5,0,1.5,0.9,2000,4,USD,0,9\n"
               "2,wagma,4,1,p,w,ok,50,100,1,0.5,0,1.5,0.9,2000,4,USD,1,9\n");
    write_file("r/curves.csv", "run,algorithm,workers,seed,virtual_s,steps,loss,accuracy\n"
                               "1,allreduce,4,1,0,0,1,0.7\n1,allreduce,4,1,40,30,1,0.9\n"
                               "2,wagma,4,1,0,0,1,0.7\n2,wagma,4,1,40,30,1,0.9\n");
    write_file("r/manifest.json", "{\"runs\": []}");
    dsgd_ends(0, "compare r --target accuracy=0.8");
    expect_mean("allreduce,", "energy_to_target_j_mean", 2000 * 0.2);
    expect_mean("wagma,", "cost_to_target_mean", 4 * 0.2);
    ck_assert_str_eq(cell_of("r/compare.csv", "wagma,", "energy_to_target_j_mean"), "");
}
