/**
 * @file test_exchanges.c
 * Tests the default settings of the section `exchange`, and the notes that commands print about
 * them.
 */
#include "tests/command/shell.h"
#include "tests/support/suite.h"

/* --- default exchange ------------------------------------------------------------------------- */

/**
 * Runs e.yaml, and stores the throughput of WAGMA in rates[0] and the throughput of local SGD in
 * rates[1]. If @p exchange is NULL, the experiment uses its default exchange.
 */
static void throughputs(const char *exchange, double rates[2])
{
    char *const sets =
        exchange == NULL ? dsgd_xstrdup("") : dsgd_xprintf("--set 'exchange=%s'", exchange);
    dsgd_ends(0, "run e.yaml -j 1 -o r --force %s", sets);
    rates[0] = atof(cell_of("r/runs.csv", "1,wagma,", "throughput_samples_per_s"));
    rates[1] = atof(cell_of("r/runs.csv", "2,local_sgd,", "throughput_samples_per_s"));
}

SUITE(exchanges, "exchanges", .set_up = make_folder, .tear_down = remove_folder, .seconds = 240);

/**
 * Tests that the default exchange makes WAGMA as fast as a better exchange does. An earlier
 * default, one chunk per model and recursive doubling, made WAGMA 22 % slower, and slower than
 * local SGD.
 */
TEST(default_exchange_does_not_decide_ranking)
{
    write_file("e.yaml", "platform: piz-daint\nworkload: resnet50-p100\nworkers: 64\n"
                         "imbalance: {kind: delay, workers: 2, seconds: 320ms}\n"
                         "algorithms: [wagma, local_sgd]\nuntil: {steps: 10}\n");
    double by_default[2];
    double other[2];
    throughputs(NULL, by_default);
    ck_assert_double_gt(by_default[0], by_default[1]);
    throughputs("{pieces: 16}", other);
    ck_assert_double_gt(other[0], other[1]);
    ck_assert_double_le(fabs(by_default[0] / other[0] - 1), 0.01);
    throughputs("{pieces: 1, partial_collective: recursive-doubling}", other);
    ck_assert_double_lt(other[0], other[1]);
    if (SUPPORT_SLOW)
        return;
    /* the exchange with one chunk per tensor hides copies best, by 1.5 % */
    throughputs("{pieces: tensors}", other);
    ck_assert_double_gt(other[0], other[1]);
    ck_assert_double_le(fabs(by_default[0] / other[0] - 1), 0.02);
}

/* --- notes about exchanges -------------------------------------------------------------------- */

static const char mixed[] = "platform: idle-switch\nworkload: resnet50-p100\nworkers: 4\n"
                            "algorithms: [allreduce, wagma, ad_psgd]\nuntil: {steps: 3}\n";

static void expect_cell(const char *row, const char *column, const char *want)
{
    const char *const got = cell_of("r/runs.csv", row, column);
    ck_assert_msg(strcmp(got, want) == 0, "%s of %s is %s, not %s", column, row, got, want);
}

TEST(check_warns_of_many_chunks)
{
    static const char said[] = "vectors are sent in 268 chunks";
    write_file("m.yaml", "platform: dgx-h100\nworkload: llm-dp-bytedance\nworkers: 256\n"
                         "algorithms: [d_psgd]\nuntil: {steps: 2000}\n");
    char *output = dsgd_ends(0, "check m.yaml 2>&1 | tr -s ' \\n' ' '");
    ck_assert_has(output, said);
    ck_assert_has(output, "may take 2 minutes");
    output = dsgd_ends(0, "check m.yaml --set exchange.pieces=16 2>&1 | tr -s ' \\n' ' '");
    ck_assert_ptr_null(strstr(output, "may take"));
    output = dsgd_ends(0, "check m.yaml --set until.steps=20 2>&1 | tr -s ' \\n' ' '");
    ck_assert_ptr_null(strstr(output, "may take"));
}

/*
 * Tests that merging buckets changes times by less than the bound that `dsgd` prints. Gossip, slow
 * networks and users who ask for all buckets prevent the merge.
 */
TEST(many_buckets_are_merged_within_bound)
{
    static const char *const platforms[] = {"dgx-h100", "piz-daint", "dgx1-v100-100g"};
    for (size_t i = 0; i < sizeof platforms / sizeof platforms[0]; i++) {
        double step_s[2];
        char *output = NULL;
        write_file("m.yaml", dsgd_xprintf("platform: %s\nworkload: llm-dp-bytedance\nworkers: 16\n"
                                          "algorithms: [allreduce, wagma, ad_psgd, d_psgd]\n"
                                          "until: {steps: 6}\n",
                                          platforms[i]));
        dsgd_ends(0, "run m.yaml -o all --force --set exchange.bucket=25Mi");
        output = dsgd_ends(0, "run m.yaml -o r --force 2>&1 | tr -s ' \\n' ' '");
        const char *const bound = strstr(output, "no step by more than ");
        ck_assert_ptr_nonnull(bound);
        const double most = strtod(bound + strlen("no step by more than "), NULL) / 100;
        ck_assert_double_le(most, 0.01);
        static const char *const rows[] = {"1,allreduce,", "2,wagma,", "3,ad_psgd,", "4,d_psgd,"};
        for (size_t k = 0; k < 4; k++) {
            ck_assert_str_eq(cell_of("all/runs.csv", rows[k], "pieces"), "268");
            ck_assert_str_eq(cell_of("r/runs.csv", rows[k], "pieces"), k < 3 ? "48" : "268");
            step_s[0] = strtod(cell_of("all/runs.csv", rows[k], "virtual_s"), NULL);
            step_s[1] = strtod(cell_of("r/runs.csv", rows[k], "virtual_s"), NULL);
            ck_assert_double_le(fabs(step_s[1] / step_s[0] - 1), k < 3 ? most : 0);
        }
    }
    char *output = dsgd_ends(0, "check m.yaml --set platform=ethernet-10g 2>&1");
    ck_assert_ptr_null(strstr(output, "no step by more"));
}

TEST(results_describe_exchanges)
{
    write_file("e.yaml", mixed);
    char *output = dsgd_ends(0, "run e.yaml -o r");
    static const char *const rows[] = {"1,allreduce,", "2,wagma,", "3,ad_psgd,"};
    for (size_t i = 0; i < 3; i++) {
        expect_cell(rows[i], "pieces", "4");
        expect_cell(rows[i], "piece_bytes", "30248868");
        expect_cell(rows[i], "exchange_mode", "overlap blocking");
    }
    expect_cell(rows[0], "collective", "rabenseifner");
    expect_cell(rows[0], "partial_collective", "");
    expect_cell(rows[1], "collective", "");
    expect_cell(rows[1], "partial_collective", "rabenseifner");
    expect_cell(rows[2], "collective", "");
    ck_assert_has(output, "\nexchange: 4x30.25MB, collective rabenseifner, partial "
                          "rabenseifner\n");
    ck_assert_ptr_null(strstr(output, "note:"));
    output = dsgd_ends(0, "compare r");
    ck_assert_ptr_null(strstr(output, "uses the collective"));
    ck_assert_ptr_null(strstr(output, "no effect"));
}

TEST(table_has_columns_for_differing_exchanges)
{
    write_file("e.yaml", mixed);
    char *output =
        dsgd_ends(0, "run e.yaml -o r --set algorithms='[allreduce, {name: local_sgd, period: "
                     "1, exchange: {pieces: 2000, blocking: false, overlap: false}}]'");
    ck_assert_has(output, "  exchange      collective");
    ck_assert_has(output, "  4x30.25MB     rabenseifner\n");
    ck_assert_has(output, "  2000x51.12kB  recursive-doubling");
    expect_cell("2,local_sgd,", "exchange_mode", "late at-once");
}

TEST(table_marks_fused_allreduces)
{
    write_file("e.yaml", mixed);
    char *output =
        dsgd_ends(0, "run e.yaml -o r --set algorithms=allreduce --set exchange.fusion=64Mi");
    ck_assert_has(output, "\nexchange: 161x9.437MB, collective fused rabenseifner\n");
    output = dsgd_ends(0, "run e.yaml -o s --set algorithms='[allreduce, {name: allreduce, label: "
                          "fused, exchange: {fusion: 64Mi}}]'");
    ck_assert_has(output, "  4x30.25MB    rabenseifner\n");
    ck_assert_has(output, "  161x9.437MB  fused rabenseifner\n");
}

TEST(comparison_of_collectives_is_announced)
{
    static const char sentence[] =
        "note: allreduce uses the collective rabenseifner, but wagma uses "
        "recursive-doubling, so";
    write_file("e.yaml", mixed);
    char *output =
        dsgd_ends(0, "run e.yaml -o r --set exchange.partial_collective=recursive-doubling");
    ck_assert_has(unwrapped(output), sentence);
    ck_assert_has(unwrapped(dsgd_ends(0, "compare r")), sentence);
    /* If the experiment sweeps the collective, the program prints no note about the collective. */
    output = dsgd_ends(0, "run e.yaml -o s --set exchange.collective='{sweep: [ring, "
                          "rabenseifner]}'");
    ck_assert_ptr_null(strstr(output, "note:"));
    output = dsgd_ends(0, "run e.yaml -o t --set algorithms='[{name: allreduce, exchange: "
                          "{collective: {sweep: [ring, rabenseifner]}}}]'");
    ck_assert_msg(strstr(output, "note:") == NULL, "%s", output);
}

static const char *const varied[] = {("platform='{name: piz-daint, host_bandwidth: {sweep: [1GB/s, "
                                      "9GB/s]}}'"),
                                     "platform='[idle-switch, piz-daint]'",
                                     "platform='{name: piz-daint, staging: {sweep: [0, 1e-9]}}'",
                                     "workload='{bytes: {sweep: [1M, 1G]}, step: 1s, samples: 1}'"};

TEST_ROWS(sweep_of_network_without_exchange_gives_note, varied)
{
    static const char sentence[] =
        "note: exchange is left out: vectors are sent in buckets of 25 MiB";
    write_file("e.yaml", mixed);
    char *output = dsgd_ends(0, "check e.yaml --set %s", varied[_i]);
    ck_assert_has(output, sentence);
    output = dsgd_ends(0, "check e.yaml --set %s --set exchange.pieces=buckets", varied[_i]);
    ck_assert_ptr_null(strstr(output, "note:"));
    output = dsgd_ends(0, "check e.yaml --set seed='[1, 2]'");
    ck_assert_ptr_null(strstr(output, "note:"));
    /*
     * One algorithm sets its own exchange. The program prints the note only if another algorithm
     * uses the common exchange.
     */
    static const char own[] = "{name: allreduce, exchange: {pieces: 1}}";
    output = dsgd_ends(0, "check e.yaml --set %s --set algorithms='[%s]'", varied[_i], own);
    ck_assert_ptr_null(strstr(output, "note:"));
    ck_assert_has(
        dsgd_ends(0, "check e.yaml --set %s --set algorithms='[%s, wagma]'", varied[_i], own),
        sentence);
}

/**
 * The default of transformer.utilisation already includes the cost of inner parallelism. The note
 * warns that this cost counts twice if a worker has several inner hosts. The program does not print
 * the note if the experiment sets the utilisation.
 */
TEST(doubly_counted_bubbles_give_note)
{
    static const char sentence[] = "note: transformer.utilisation is left at 41 %";
    static const struct {
        const char *workload;
        bool told;
    } cases[] = {
        {"{like: llm-7b, inner: {tensor: 2}}", true},
        {"{like: llm-7b, inner: {pipeline: {stages: 2, micro_batches: 2}}}", true},
        {"{like: llm-7b, inner: {tensor: 1}}", false},
        {"llm-7b", false},
        {"{like: llm-7b, transformer: {utilisation: 0.6}, inner: {tensor: 2}}", false},
        {"{like: llm-7b, step: 2s, inner: {tensor: 2}}", false},
        {"{bytes: 1M, step: 1s, samples: 1, inner: {pipeline: {stages: 2}, activations: 1k}}",
         false},
    };
    write_file("e.yaml", mixed);
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        const char *const output = dsgd_ends(
            0, "check e.yaml --set algorithms=allreduce --set workload='%s'", cases[k].workload);
        ck_assert_msg((strstr(output, sentence) != NULL) == cases[k].told, "%s: %s",
                      cases[k].workload, output);
    }
    ck_assert_has(dsgd_ends(0,
                            "run e.yaml --set algorithms=allreduce --set until.steps=1 --set "
                            "workload='%s'",
                            cases[0].workload),
                  sentence);
}

/**
 * Settings of algorithms and exchange, and the note that `run` prints, or NULL if it prints no
 * note.
 */
static const struct {
    const char *settings, *sentence;
} unused[] = {
    {"algorithms='[allreduce, d_psgd]' exchange='{partial_collective: ring}'",
     "note: exchange: partial_collective had no effect"},
    {"algorithms='[allreduce, wagma]' exchange='{partial_collective: rabenseifner}'", NULL},
    {"algorithms=d_psgd exchange='{collective: ring}'",
     "note: exchange: collective had no effect: no run"},
    {"algorithms=wagma exchange='{collective: ring}'", NULL},
};

TEST_ROWS(collective_without_effect_gives_note, unused)
{
    write_file("e.yaml", mixed);
    char *const settings = dsgd_xstrdup(unused[_i].settings);
    char *const exchange = strstr(settings, " exchange=");
    *exchange = '\0';
    char *const output = dsgd_ends(0, "run -o r e.yaml --set %s --set %s", settings, exchange + 1);
    if (unused[_i].sentence != NULL)
        ck_assert_has(output, unused[_i].sentence);
    else
        ck_assert_msg(strstr(output, "no effect") == NULL, "%s", output);
}

TEST(unlisted_tensors_are_rejected)
{
    write_file("e.yaml", mixed);
    dsgd_ends(0, "check e.yaml --set exchange.pieces=tensors");
    ck_assert_has(
        dsgd_ends(2, "check e.yaml --set exchange.pieces=tensors --set workload='{bytes: 1G, "
                     "step: 1s, samples: 1}'"),
        "exchange: pieces: tensors needs a list of tensors");
}

TEST(describe_prints_options_of_exchange)
{
    char *output = dsgd_ends(0, "describe exchange");
    ck_assert_has(output, "  pieces             buckets, from 1 to 4096, or tensors, buckets\n");
    ck_assert_has(output, "  bucket             auto (bytes)");
    ck_assert_has(output, "  collective         auto; one of auto, recursive-");
    ck_assert_has(output, "  partial_collective as-collective; one of ");
    for (const char *line = output; *line != '\0'; line += strcspn(line, "\n") + 1)
        ck_assert_msg(strcspn(line, "\n") <= 100, "%.*s", (int)strcspn(line, "\n"), line);
    ck_assert_has(dsgd_ends(2, "describe algorithm"), "unknown keys `algorithm`");
}
