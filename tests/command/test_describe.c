/**
 * @file test_describe.c
 * Tests that `dsgd describe` describes every entry that `dsgd list` prints.
 */
#include "base/file.h"
#include "tests/command/shell.h"
#include "tests/support/suite.h"

SUITE(describe, "describe", .seconds = 60, .set_up = make_folder, .tear_down = remove_folder);

TEST(an_algorithm_is_described_on_one_screen)
{
    enum { LINES = 58, COLUMNS = 80 };
    char *list = dsgd_ends(0, "list algorithms");
    for (char *line = strsep(&list, "\n"); line != NULL && *line != '\0';
         line = strsep(&list, "\n")) {
        if (*line == ' ') /* the further lines of a summary start with a blank */
            continue;
        const char *const words =
            dsgd_xprintf("describe algorithm %.*s", (int)strcspn(line, " "), line);
        char *text = dsgd_ends(0, "%s", words);
        static const char *const parts[] = {"\nidea ", "\nupdate ", "\nmessages ", "\nwaiting "};
        ck_assert_has(text, "by default, 64 workers");
        for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
            ck_assert_msg(strstr(text, parts[i]) != NULL, "%s: no %s", words, parts[i]);
        int lines = 0;
        for (char *row = strsep(&text, "\n"); row != NULL; row = strsep(&text, "\n"), lines++)
            ck_assert_msg(strlen(row) <= COLUMNS, "%s: %s", words, row);
        ck_assert_msg(lines <= LINES, "%s: %d lines", words, lines);
    }
}

static const struct {
    const char *algorithm, *says;
} departures[] = {
    {"eager_solo", "applies R twice if there is no newer one"},
    {"eager_majority", "the paper's \"periodically\""},
    {"eager_solo", "32 in the released code; the paper has no limiter"},
    {"wagma", "rounded up to a power of two (8 in the released code)"},
    {"wagma", "the released code's limiter of 10 means 11"},
    {"ad_psgd", "paper, which leaves the graph open"},
    {"eamsgd", "optimizer's own momentum would be added to delta"},
    {"drop_compute", "The M micro-batches of a step take equal times"},
    {"streaming_diloco", "in the long run all are as fast as the slowest"},
    {"gradient_tracking", "for the model, then for the tracker (two latencies)"},
    {"gradient_tracking",
     "rejected if W does not change and its smallest eigenvalue is below -1/3"},
    {"choco", "Twice this value may diverge"},
    {"async_local_sgd", "rounded up as in HALoS"},
    {"cluster_based", "register writes in the own cluster, whose copies are at their readers"},
};

TEST_ROWS(description_states_differences_from_the_paper, departures)
{
    const char *const text = dsgd_ends(0, "describe algorithm %s", departures[_i].algorithm);
    ck_assert_has(unwrapped(text), departures[_i].says);
}

static const struct {
    const char *algorithm, *says;
} pages[] = {
    {"ad_psgd", "which is this simulator's choice"},
    {"ad_psgd", "shared_copy loses no update"},
    {"ad_psgd", "may fetch some chunks of a step before the other chunks"},
    {"slowmo", "the base algorithm of SlowMo is local SGD"},
    {"slowmo", "momentum buffers are kept at an average"},
    {"backup_workers",
     "A fast worker may take two tokens of one step. Then it contributes two gradients"},
    {"backup_workers", "one slow worker of 8 with b = 1 makes a step last 1.5 times as long"},
    {"a_psgd", "the server may answer a chunk before it has added the push"},
    {"ssp", "The program has only one server"},
    {"ssp", "In the paper, a worker reads a cache that may be s steps old"},
    {"hierarchical", "The paper also has local steps between two averages of a cluster"},
    {"ok_topk", "the paper sends P − 1 messages, one to each region"},
    {"top_k", "the residual is a sum of gradients"},
    {"power_sgd", "The paper has one matrix for each tensor, in its own shape"},
    {"dsgd_aau", "treats an edge as new if it connects two parts of the epoch's graph"},
    {"dsgd_aau", "A server stands for the paper's broadcasts"},
    {"rennala", "after it has received a notice. This request is the simulator's choice"},
    {"ringmaster", "its computation has been cancelled. This request is the simulator's choice"},
    {"async_local_sgd", "Learning-rate schedules by data shard are not modelled"},
    {"dedloc", "Messages that meet on a link share it equally, so the least maximum is a bound"},
};

TEST_ROWS(reference_page_states_differences_from_the_paper, pages)
{
    char *text = NULL;
    size_t n = 0;
    dsgd_error error;
    ck_assert_int_eq(dsgd_file_read(dsgd_xprintf(DSGD_SOURCE_DIR "/docs/reference/algorithms/%s.md",
                                                 pages[_i].algorithm),
                                    &text, &n, &error),
                     DSGD_OK);
    ck_assert_has(unwrapped(text), pages[_i].says);
}

TEST_RANGE(everything_that_is_listed_can_be_described, 0, 9)
{
    static const char *const kinds[] = {"algorithms", "models",    "data",
                                        "splits",     "imbalance", "workloads",
                                        "platforms",  "graphs",    "encodings"};
    char *words = dsgd_xprintf("list %s", kinds[_i]), *output = dsgd_ends(0, "%s", words);
    int n = 0;
    char *rest = output;
    for (char *line = strsep(&rest, "\n"); line != NULL; line = strsep(&rest, "\n")) {
        /* Headings, empty lines and indented lines name no entry. */
        if (*line == '\0' || *line == ' ' || line[strlen(line) - 1] == ':')
            continue;
        n++;
        char *described = NULL;
        words = dsgd_xprintf("describe %s %.*s", kinds[_i], (int)strcspn(line, " "), line);
        ck_assert_msg(dsgd(words, &described) == 0, "%s: %s", words, described);
        ck_assert_uint_gt(strlen(described), 20);
        /*
         * 80 characters may need 83 bytes, and an imbalance from a file is printed as the name of
         * the file
         */
        for (char *row = strsep(&described, "\n"); row != NULL; row = strsep(&described, "\n"))
            ck_assert_msg(strlen(row) <= 80 + 3 || strcmp(kinds[_i], "imbalance") == 0, "%s: %s",
                          words, row);
    }
    ck_assert_int_ge(n, 2);
}

TEST(every_kind_is_named_by_every_help)
{
    char *refusal = dsgd_ends(2, "list nothing 2>&1"), *help = dsgd_ends(0, "list --help");
    char *all = dsgd_ends(0, "--help"), *expected = dsgd_ends(2, "list 2>&1");
    char *kinds = strstr(refusal, "valid kinds: ");
    ck_assert_msg(kinds != NULL, "%s", refusal);
    kinds += strlen("valid kinds: ");
    int lines = 0;
    for (const char *c = all; *c != '\0'; c++)
        lines += *c == '\n';
    ck_assert_int_le(lines, 40); /* the list fits on one screen */
    int n = 0;
    for (char *kind = strsep(&kinds, ", \n"); kind != NULL; kind = strsep(&kinds, ", \n")) {
        if (*kind == '\0')
            continue;
        n++;
        ck_assert_has(help, kind);
        ck_assert_has(all, kind);
        ck_assert_has(expected, kind);
        dsgd_ends(0, "list %s", kind);
    }
    ck_assert_int_gt(n, 9);
}

TEST(imbalance_description_shows_step_statistics)
{
    char *output = dsgd_ends(0, "describe imbalance delay-wagma");
    static const char *const parts[] = {
        "WAGMA-SGD (TPDS 2021)", "- {kind: delay, workers: 2, seconds: 320ms}",
        /*
         * 2 of 16 workers are 0.32 s late, so the mean is 1.04 s and the slowest worker takes 1.32
         * s
         */
        "\n     16      1.04          0.106        1     1.32     1.27   0.962    0.962\n"};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        ck_assert_has(output, parts[i]);
    output = dsgd_ends(0, "describe workload llm-dp-bytedance");
    ck_assert_has(output, "with imbalance      23.5");
    ck_assert_has(unwrapped(output), " in 1 tensor, exchanged in 268 buckets, merged to 48 if that "
                                     "hardly changes times ");
    output = dsgd_ends(0, "describe workload resnet50-a100");
    ck_assert_has(output, " 102.2 MB in 161 tensors, exchanged in 4 buckets by default\n");
    ck_assert_has(output, "  imbalance           none\n");
    output = dsgd_ends(0, "list imbalance");
    const char *const sets = strstr(output, "data sets");
    ck_assert_ptr_nonnull(sets);
    ck_assert_has(sets, "\nbytedance-se ");
    ck_assert_ptr_null(strstr(sets, "\nquantiles "));
}

TEST(platform_without_summary_has_a_plain_heading)
{
    write_file("p.yaml", "topology: switch\n");
    char *output = dsgd_ends(0, "describe platform p.yaml");
    ck_assert_msg(strncmp(output, "p.yaml\n\n  shape ", 16) == 0, "%s", output);
    write_file("r.yaml", "topology: groups\ngroup_hosts: 8\ngroup_flow_bandwidth: 1GB/s\n"
                         "regions: [{name: a}, {name: b, hosts: 4}]\n");
    ck_assert_has(dsgd_ends(0, "describe platform r.yaml"),
                  "  region of 8         a\n  region of 4         b\n");
    ck_assert_has(dsgd_ends(2, "describe platform nccl"),
                  "`dsgd describe platform.nccl` describes it");
}
