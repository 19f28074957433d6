/**
 * @file test_import.c
 * Tests `dsgd import`: logs of nccl-tests with known parameters, in the formats that users have,
 * and files that are rejected. If public logs are next to the project, predictions from one log are
 * also compared with other logs.
 */
#include <gsl/gsl_statistics_double.h>
#include <unistd.h>

#include "base/csv.h"
#include "command/experiment/traces.h"
#include "tests/command/shell.h"
#include "tests/support/suite.h"
#include "traces/nccl_log.h"

/** A log of nodes, whose times are computed with known parameters of NCCL's model. */
typedef struct planted {
    const dsgd_nccl *nccl;
    const char *gpu, *prefix, *between;
    int call, nodes, gpus;
    /* bandwidth of a NIC, and a factor that multiplies all times of the log */
    double nic_bytes_per_s, factor;
} planted;

static const dsgd_nccl a100 = {.generation = DSGD_GPU_AMPERE,
                               .links_bytes_per_s = 240e9,
                               .has_switch = true,
                               .amd_host = true,
                               .bandwidth = 0.8,
                               .latency = 3,
                               .node_bandwidth = 0.9,
                               .node_latency = 1.6};

static double planted_us(const planted *p, double bytes)
{
    const dsgd_nccl_shape shape = {p->nodes, p->gpus, p->gpus, p->nic_bytes_per_s, 0};
    const dsgd_nccl_cost cost = dsgd_nccl_cost_of(p->nccl, &shape, p->call, bytes);
    return 1e6 * dsgd_nccl_s(&cost, bytes) * p->factor;
}

static void write_log(const char *name, const planted *p)
{
    const int n = p->nodes * p->gpus;
    const double ratio = (p->call == DSGD_NCCL_ALLREDUCE ? 2.0 : 1.0) * (n - 1) / n;
    char *text = dsgd_xprintf("%s# nThread 1 nGpus 1 minBytes 8\n", p->prefix);
    for (int i = 0; i < n && p->gpu != NULL; i++)
        dsgd_append(&text, "%s#  Rank %2d Group  0 Pid %d on node-%d device  %d [0x07] %s\n",
                    p->prefix, i, 7000 + i, i / p->gpus, i % p->gpus, p->gpu);
    dsgd_append(&text, "%s#       size         count      type   redop    root     time   algbw\n",
                p->prefix);
    for (double bytes = 1024; bytes <= 0x1p32; bytes *= 2) {
        const double us = planted_us(p, bytes), algbw = bytes / us / 1e3;
        dsgd_append(&text, "%s%12.0f  %12.0f     float  %6s  ", p->prefix, bytes, bytes / 4,
                    p->call == DSGD_NCCL_ALLREDUCE ? "sum" : "none");
        for (int i = 0; i < 2; i++)
            dsgd_append(&text, "%s%s %8.4g %7.2f %7.2f %s", i == 0 ? "    -1" : "",
                        *p->prefix == '[' ? p->prefix : "", us, algbw, algbw * ratio,
                        i == 0 ? "     0" : "  N/A\n");
        dsgd_append(&text, "%s", p->between);
    }
    write_file(name, text);
}

SUITE(import, "import", .seconds = 120, .set_up = make_folder, .tear_down = remove_folder);

static const planted two_nodes = {
    &a100, "NVIDIA A100-SXM4-40GB", "", "", DSGD_NCCL_ALLREDUCE, 2, 8, 25e9, 1};

/** Names of files that contain special characters of YAML. */
static const char *const odd_names[] = {"my: site.yaml", "a #b.yaml", "{c}.yaml", "it's.yaml",
                                        "\"q\".yaml"};

TEST_ROWS(platform_name_is_quoted_for_yaml, odd_names)
{
    write_log("two.log", &two_nodes);
    write_file(odd_names[_i], "name: dgx-a100\n");
    dsgd_ends(0, "import two.log -p %s -o mine.yaml", dsgd_shell_word(odd_names[_i]));
    ck_assert_double_eq(read_platform("mine.yaml").host_bandwidth_bytes_per_s, 25e9);
}

TEST(logs_of_one_and_several_nodes_give_all_factors)
{
    planted one = two_nodes;
    one.nodes = 1;
    write_log("one.log", &one);
    write_log("two.log", &two_nodes);
    const char *const said = dsgd_ends(0, "import one.log two.log -p dgx-a100 -o mine.yaml");
    ck_assert_has(said,
                  "two.log  log of nccl-tests  lines 19-41: all_reduce, NVIDIA A100-SXM4-40GB");
    ck_assert_ptr_null(strstr(said, "warning"));
    const dsgd_platform mine = read_platform("mine.yaml");
    ck_assert_double_eq_tol(mine.nccl.bandwidth, a100.bandwidth, 0.01);
    ck_assert_double_eq_tol(mine.nccl.latency, a100.latency, 0.1);
    ck_assert_double_eq_tol(mine.nccl.node_bandwidth, a100.node_bandwidth, 0.01);
    ck_assert_double_eq_tol(mine.nccl.node_latency, a100.node_latency, 0.1);
    /* the value of the base platform dgx-a100 remains */
    ck_assert_double_eq(mine.host_bandwidth_bytes_per_s, 25e9);
    ck_assert_int_eq(mine.library, DSGD_LIBRARY_NCCL);
    const dsgd_nccl_table *const tables = mine.nccl.tables.v;
    ck_assert_uint_eq(mine.nccl.tables.n, 2);
    ck_assert(tables[0].nodes == 1 && tables[1].nodes == 2 && tables[1].gpus == 8);
    ck_assert_uint_eq(tables[1].bytes.n, 23);
    for (size_t k = 0; k < 23; k++)
        ck_assert_double_eq_tol(tables[1].us.v[k] / planted_us(&two_nodes, tables[1].bytes.v[k]), 1,
                                1e-3);
    const char *const text = read_file("mine.yaml");
    ck_assert_has(text, "# 1 KiB: two.log:19");
    ck_assert_has(text, "# one.log:11-33");
    for (const char *line = text; *line != '\0'; line += strcspn(line, "\n") + 1)
        ck_assert_uint_le(strcspn(line, "\n"), 140);
    ck_assert_has(dsgd_ends(2, "import one.log -p dgx-a100 -o mine.yaml"), "--force replaces it");
    dsgd_ends(0, "import one.log -p dgx-a100 -o mine.yaml --force");
    /* The value of the base platform dgx-a100 must remain. */
    ck_assert_double_eq(read_platform("mine.yaml").nccl.latency, 1.4);
}

/**
 * Variants of the log: lines with the prefixes of mpirun and srun, lines of NCCL between rows, and
 * a log without the lines that name the ranks.
 */
static const struct {
    const char *gpu, *prefix, *between, *options;
} dresses[] = {
    {"NVIDIA A100", "[1,0]<stdout>:", "", ""},
    {"NVIDIA A100", " 0: ", "node-0:25:66 [0] NCCL INFO Channel 02/0 : 1[1] -> 3[3] via P2P\n", ""},
    {NULL, "", "", ""},
    {NULL, "", "", "--nodes 2"},
};

TEST_ROWS(log_is_read_with_any_prefixes, dresses)
{
    planted p = two_nodes;
    p.gpu = dresses[_i].gpu;
    p.prefix = dresses[_i].prefix;
    p.between = dresses[_i].between;
    write_log("a.log", &p);
    dsgd_ends(0, "import a.log -p dgx-a100 -o mine.yaml %s", dresses[_i].options);
    const dsgd_platform mine = read_platform("mine.yaml");
    const dsgd_nccl_table *const table = mine.nccl.tables.v;
    ck_assert(table->nodes == 2 && table->gpus == 8 && table->call == DSGD_NCCL_ALLREDUCE);
    ck_assert_uint_eq(table->bytes.n, 23);
    ck_assert_double_eq_tol(mine.nccl.bandwidth, a100.bandwidth, 0.01);
}

/**
 * A log of rccl-tests, whose earlier version prints no column for the root. The log contains a
 * damaged row and two tables. The second table is an allgather and starts where the size decreases.
 */
TEST(versions_and_collectives_are_recognized_by_bandwidth)
{
    static const char text[] =
        "$ all_gather_perf -b 32M # a script that names what comes later\n"
        "rccl-tests: Version develop:448c4c7\n"
        "#   Rank  0 Pid 195 on a device  0 [0000:05:00.0] AMD Instinct MI300X\n"
        "#   Rank  1 Pid 196 on b device  0 [0000:25:00.0] AMD Instinct MI300X\r\n"
        "    33554432   8388608     float     sum    19902    1.69    1.69  2e-07    19898    1.69 "
        "   1.69  2e-07\n"
        "    67108864  16777216     float     sum    39770    1.69 node1: NCCL INFO Launch mode "
        "Parallel\n"
        "   134217728  33554432     float     sum    79427    1.69    1.69  2e-07\n"
        "    33554432   8388608     float    none      -1    19902    1.69    0.84    N/A    19898 "
        "   1.69    0.84 N/A\n";
    dsgd_nccl_logs logs = {0};
    dsgd_nccl_log_read("a", text, &logs);
    ck_assert_uint_eq(logs.n, 2);
    ck_assert_uint_eq(logs.left_out, 1);
    ck_assert_str_eq(logs.v[0].gpu, "AMD Instinct MI300X");
    ck_assert_uint_eq(logs.v[0].table.bytes.n, 2);
    ck_assert_double_eq(logs.v[0].table.us.v[0], 19900);
    ck_assert_double_eq(logs.v[0].table.us.v[1], 79427);
    ck_assert_double_eq(logs.v[0].lines[1], 7);
    ck_assert_int_eq(logs.v[0].table.call, DSGD_NCCL_ALLREDUCE);
    ck_assert_int_eq(logs.v[1].table.call, DSGD_NCCL_SHARES);
    ck_assert_int_eq(logs.v[1].table.nodes, 2);
}

TEST(logs_of_one_shape_are_pooled)
{
    static const double factors[] = {1, 0.9, 1.2};
    for (int i = 0; i < 3; i++) {
        planted p = two_nodes;
        p.factor = factors[i];
        write_log(dsgd_xprintf("%d.log", i), &p);
    }
    ck_assert_has(dsgd_ends(0, "import 0.log 1.log 2.log -p dgx-a100 -o mine.yaml"),
                  "longest time is 1.33 times the shortest");
    const dsgd_nccl_table *const table = read_platform("mine.yaml").nccl.tables.v;
    ck_assert_double_eq_tol(table->us.v[22] / planted_us(&two_nodes, 0x1p32), 1, 1e-3);
    ck_assert_has(read_file("mine.yaml"), "# 4 GiB: 1.log:41 0.log:41 2.log:41");
}

static const struct {
    const char *gpu;
    double nic_bytes_per_s, factor;
    const char *options;
    int status;
    const char *sentence;
} told[] = {
    {"NVIDIA A100", 50e9, 0.4, "-p dgx-a100", 0, "but dgx-a100 has 25 GB/s (host_bandwidth)"},
    {"NVIDIA A100", 25e9, 9, "-p dgx-a100", 0, "were it sockets"},
    {"NVIDIA H100", 25e9, 1, "", 2, "dgx-h100, gcp-a3-mega and rail-only-h100 have NVIDIA H100"},
    {"AMD Instinct MI300X", 25e9, 1, "", 0, "mi300x is the only shipped platform with this GPU"},
    {"NVIDIA H100", 25e9, 1, "-p dgx-a100", 0,
     "warning: a.log:19: the GPUs of the log are NVIDIA H100, but dgx-a100 has A100"},
    {"Tesla K80", 25e9, 1, "", 2, "no shipped platform has Tesla K80"},
    {NULL, 25e9, 1, "", 2, "no file names the GPU"},
    {"NVIDIA A100", 25e9, 1, "-p idle-switch", 2, "has the library mpi"},
    {"NVIDIA A100", 25e9, 1, "-p alps-slingshot", 2, "of alps-slingshot has 4 (island_hosts)"},
    {NULL, 25e9, 1, "-p dgx-a100 --nodes 3", 2, "16 GPUs on 3 nodes"},
};

TEST_ROWS(import_warns_of_mismatches, told)
{
    planted p = two_nodes;
    p.gpu = told[_i].gpu;
    p.nic_bytes_per_s = told[_i].nic_bytes_per_s;
    p.factor = told[_i].factor;
    write_log("a.log", &p);
    ck_assert_has(dsgd_ends(told[_i].status, "import a.log %s -o mine.yaml", told[_i].options),
                  told[_i].sentence);
}

/**
 * Tests two dangers in names: a line break would end the comment that contains the name, and a
 * terminal would execute escape sequences.
 */
TEST(names_of_files_and_gpus_are_escaped)
{
    planted p = two_nodes;
    p.gpu = "NVIDIA \033[2J A100";
    write_log("a.log", &p);
    char *output = dsgd_ends(0, "import a.log -p dgx-a100 -o mine.yaml");
    ck_assert_ptr_null(strchr(output, '\033'));
    read_platform("mine.yaml");
    shell_ends(0, "cd %s && (printf 'zero \\0 '; cat a.log) >c.log", folder);
    dsgd_ends(0, "import c.log -p dgx-a100 -o zero.yaml");
    ck_assert_uint_eq(((dsgd_nccl_table *)read_platform("zero.yaml").nccl.tables.v)->bytes.n, 23);
    shell_ends(0, "cd %s && cp a.log 'b\ngpu: x.log'", folder);
    output = dsgd_ends(2, "import 'b\ngpu: x.log' -p dgx-a100 -o other.yaml");
    ck_assert_has(output, "the name of a file must not contain a line break");
}

/**
 * Tests that `import` reads all files in a folder and in its subfolders, and that the file that it
 * writes is an experiment.
 */
TEST(import_reads_folder)
{
    write_log("a.log", &two_nodes);
    shell_ends(0,
               "cd %s && mkdir -p job/logs && gzip <a.log >job/logs/a.log.gz && echo 1 >job/b.txt",
               folder);
    char *output = dsgd_ends(0, "import job -p dgx-a100 -o mine.yaml");
    ck_assert_has(output, "job/b.txt          not recognised");
    ck_assert_has(output, "job/logs/a.log.gz  log of nccl-tests");
    ck_assert_has(read_file("mine.yaml"), "workers: 16 # job/logs/a.log.gz:19\n");
    ck_assert_has(read_file("mine.yaml"), "links: 2.4e+11 # dgx-a100\n");
    ck_assert_has(read_file("mine.yaml"), "workload: resnet50-a100 # assumed");
    dsgd_ends(0, "run mine.yaml -o r --set until.steps=2");
    write_file("e.yaml", "platform: mine.yaml\nworkload: mine.yaml\nworkers: 16\n"
                         "algorithms: allreduce\nuntil: {steps: 2}\n");
    dsgd_ends(0, "run e.yaml -o s");
    ck_assert_has(dsgd_ends(2, "import job/b.txt -o other.yaml"),
                  "this kind of file cannot be imported; kinds that can be imported:\n  - ");
    shell_ends(0, "rm -r %s/job/logs", folder);
    ck_assert_has(dsgd_ends(2, "import job -o other.yaml"), "no file in it can be imported");
}

/**
 * Tests that `import` skips tables of another machine and tables with an unknown number of GPUs,
 * but skips no other tables.
 */
TEST(unusable_tables_are_skipped)
{
    planted other = two_nodes;
    other.gpu = "NVIDIA H100";
    write_log("a.log", &two_nodes);
    write_log("h.log", &other);
    write_file("u.log", " 1024 256 float sum -1 20.0 0.05 0.09 0 20.0 0.05 0.09 0\n"
                        " 2048 512 float sum -1 20.0 0.10 0.18 0 20.0 0.10 0.18 0\n");
    const char *const said = dsgd_ends(5, "import a.log h.log u.log -p dgx-a100 -o mine.yaml");
    ck_assert_has(said, "skipped: h.log:19: its GPUs, NVIDIA H100, are of another machine");
    ck_assert_has(said, "skipped: u.log:1: the log does not contain the number of GPUs");
    ck_assert_uint_eq(read_platform("mine.yaml").nccl.tables.n, 1);
    ck_assert_ptr_null(strstr(said, "medians"));
}

/**
 * Tests that a rejected file in a folder is reported with its line and a message, and is skipped.
 * If all files of the folder are rejected, the import fails.
 */
TEST(rejected_file_in_folder_is_skipped)
{
    write_log("good.log", &two_nodes);
    write_log("bad.log", &two_nodes);
    shell_ends(0, "cd %s && sed -i '/Rank 15/d' bad.log && mkdir job && mv *.log job", folder);
    write_file("job/a.conf", "SwitchName=s0 Nodes=n[2-1]\n");
    const char *const said = dsgd_ends(5, "import job -p dgx-a100 -o mine.yaml");
    ck_assert_has(said,
                  "2 files or tables were skipped (see above); mine.yaml is made from the others");
    ck_assert_has(said, "job/bad.log   left out");
    ck_assert_has(said, "job/bad.log:18: busbw");
    ck_assert_has(said, "job/a.conf:1: \"n[2-1]\" is not a list");
    ck_assert_has(said, "a model as in workload resnet50-a100 (--workload), algorithms: allreduce");
    ck_assert_has(said, "platform check mine.yaml --workers 16`");
    ck_assert_uint_eq(read_platform("mine.yaml").nccl.tables.n, 1);
    ck_assert_int_ne(read_platform("mine.yaml").topology, DSGD_TOPOLOGY_GROUPS);
    shell_ends(0, "rm %s/job/good.log", folder);
    ck_assert_has(dsgd_ends(2, "import job -p dgx-a100 -o other.yaml"), "is not a list of hosts");
}

/**
 * The first table has semicolons as separators, decimal commas, a byte order mark and CRLF. In the
 * second table, commas are both separators and decimal commas.
 */
TEST(import_reads_decimal_commas)
{
    char *text = dsgd_xstrdup("\xef\xbb\xbf\"worker\";\"step\";\"step_time_ms\"\r\n");
    char *commas = dsgd_xstrdup("worker,step,step_time_ms\n"), *plain = dsgd_xstrdup(commas);
    for (int i = 0; i < 80; i++) {
        const int ms = 100 + i / 8 * 7 % 10, rest = i * 37 % 100;
        dsgd_append(&text, "%d;%d;%d,%02d\r\n", i % 8, i / 8, ms, rest);
        dsgd_append(&commas, "%d,%d,%d,%02d\n", i % 8, i / 8, ms, rest);
        dsgd_append(&plain, "%d,%d,%d.%02d\n", i % 8, i / 8, ms, rest);
    }
    write_file("t.csv", text);
    ck_assert_has(dsgd_ends(0, "import t.csv -p dgx-a100 -o t.yaml"), "80 values of step_time_ms");
    const char *const read = read_file("t.yaml");
    ck_assert_has(read, "common: true");
    write_file("t.csv", plain);
    dsgd_ends(0, "import t.csv -p dgx-a100 -o t.yaml --force");
    ck_assert_str_eq(read_file("t.yaml"), read);
    write_file("t.csv", dsgd_xprintf("# by a tool\n\n%s", plain));
    dsgd_ends(0, "import t.csv -p dgx-a100 -o t.yaml --force");
    ck_assert_str_eq(read_file("t.yaml"), read);
    write_file("t.csv", commas);
    ck_assert_has(dsgd_ends(3, "import t.csv -p dgx-a100 -o u.yaml"),
                  "with decimal commas, fields must be separated by `;`");
    shell_ends(0, "sed -i '2,$ s/,/;/g' %s/t.csv", folder);
    ck_assert_has(dsgd_ends(3, "import t.csv -p dgx-a100 -o u.yaml"),
                  "t.csv:2: 1 field, but the header has 3: the row uses another separator");
}

/**
 * Scripts that start the program once per size write logs in which the header is repeated before
 * each row.
 */
TEST(one_run_per_size_gives_one_table)
{
    planted p = two_nodes;
    p.gpu = "NVIDIA A100";
    write_log("a.log", &p);
    shell_ends(0, "awk '/ float /{print head $0; next} /^#/{head = head $0 \"\\n\"}' a.log >b.log");
    const char *const said = dsgd_ends(0, "import b.log -p dgx-a100 -o mine.yaml");
    ck_assert_has(said, "all_reduce, NVIDIA A100, 23 sizes from 1 KiB to 4 GiB");
    ck_assert_ptr_null(strstr(said, "medians"));
    const dsgd_platform mine = read_platform("mine.yaml");
    ck_assert_uint_eq(((const dsgd_nccl_table *)mine.nccl.tables.v)->bytes.n, 23);
}

static const char of_one_gpu[] = "printf '#  Rank  0 Pid 7 on n device  0 [0x07] NVIDIA A100\\n"
                                 " 8 2 float sum -1 5.0 0.00 0.00 0 5.1 0.00 0.00 0\\n"
                                 " 16 4 float sum -1 5.0 0.00 0.00 0 5.1 0.00 0.00 0\\n'";

/** Shell commands that make a changed log b.log from a.log, a log of two nodes. */
static const struct {
    const char *make, *import;
    int status;
    const char *sentence;
} changed[] = {
    {"head -26 a.log", "b.log", 0,
     "the largest size is 128 KiB. Larger messages are assumed to have its rate"},
    {"sed 's/NVIDIA .*//' a.log", "b.log", 0, "unnamed GPUs"},
    {"sed '/ float /q' a.log", "b.log", 2, "one size, but"},
    {"sed '/ float /q' a.log", "b.log m.conf", 5, "one size, but"},
    {of_one_gpu, "b.log", 2, "a single GPU sends nothing"},
    {of_one_gpu, "b.log m.conf", 5, "skipped: b.log:2: a single GPU sends nothing"},
    {"sed '/Rank 15/d' a.log", "b.log", 3, "b.log:18: busbw (up to"},
    {"echo 8 2 float", "b.log", 2, "b.log: this kind of file cannot be imported"},
    {"true", "absent", 3, "absent: the file cannot be read"},
};

TEST_ROWS(changed_log_is_reported_or_rejected, changed)
{
    write_log("a.log", &two_nodes);
    write_file("m.conf",
               "SwitchName=a Nodes=n[0-3]\nSwitchName=b Nodes=n[4-7]\nSwitchName=t Switches=a,b\n");
    shell_ends(0, "%s >b.log", changed[_i].make);
    ck_assert_has(
        dsgd_ends(changed[_i].status, "import %s -p dgx-a100 -o mine.yaml", changed[_i].import),
        changed[_i].sentence);
    const bool is_written = changed[_i].status == 0 || changed[_i].status == 5;
    ck_assert_int_eq(access(dsgd_xprintf("%s/mine.yaml", folder), F_OK) == 0, is_written);
    if (changed[_i].status == 5)
        ck_assert_has(read_file("mine.yaml"), "m.conf");
}

TEST(import_requires_output_file)
{
    ck_assert_has(dsgd_ends(2, "import a.log"), "give the output file with -o FILE");
}

/* --- public logs ------------------------------------------------------------------------------ */

/**
 * A public log, and the platform with the data sheet of the log's machine. The field `varies` is
 * true if runs on the machine differ much in time, as with Slingshot or sockets.
 */
static const struct {
    const char *log, *platform;
    int gpus, nics;
    bool varies;
} public[] = {
    {"dgxh100_n1", "dgx-h100", 8, 8, false},
    {"p5_n1_batch", "aws-p5", 8, 8, false},
    {"alps_gh200_n1", "alps-slingshot", 4, 4, false},
    {"snellius_h100_n1", "alps-slingshot", 4, 4, false},
    {"mi300x_n1", "mi300x", 8, 8, false},
    {"dgxa100_n2", "dgx-a100", 8, 8, false},
    {"dgxa100_n4", "dgx-a100", 8, 8, false},
    {"sophia_n2", "dgx-a100", 8, 8, false},
    {"ndv4_a100_n2", "dgx-a100", 8, 8, false},
    {"snellius_h100_n2", "alps-slingshot", 4, 4, false},
    {"p5_n2", "aws-p5", 8, 8, false},
    {"p5_n2_2203", "aws-p5", 8, 8, false},
    {"p5_n2_2223", "aws-p5", 8, 8, false},
    {"a3mega_n2", "gcp-a3-mega", 8, 8, false},
    {"mi300x_n2", "mi300x", 8, 8, false},
    {"cluster01_h100_n10_g1_allreduce", "dgx-h100", 1, 1, false},
    {"cluster01_h100_n10_g8_allreduce", "dgx-h100", 8, 8, false},
    {"sophia_n2_allgather", "dgx-a100", 8, 8, false},
    {"snellius_h100_n2_allgather", "alps-slingshot", 4, 4, false},
    {"a3mega_n2_allgather", "gcp-a3-mega", 8, 8, false},
    {"cscs_gh200_n2", "alps-slingshot", 4, 4, true},
    {"alps_gh200_pooled_n2", "alps-slingshot", 4, 4, true},
    {"alps_gh200_pooled_n8", "alps-slingshot", 4, 4, true},
    {"polaris_n2", "dgx-a100", 4, 2, true},
    {"polaris_n8", "dgx-a100", 4, 2, true},
    {"polaris_n8_allgather", "dgx-a100", 4, 2, true},
};

enum { PUBLIC = sizeof public / sizeof public[0], MOST_SIZES = 64 };

static dsgd_nccl_measured measured[PUBLIC];
/* parameters from data sheets and from NCCL, without fitted factors */
static dsgd_nccl sheets[PUBLIC];
/* The largest and the smallest time for each size, over several runs of a log. */
static double most_us[PUBLIC][MOST_SIZES], least_us[PUBLIC][MOST_SIZES];

static double field(const dsgd_csv *csv, size_t row, const char *name)
{
    const size_t column = dsgd_csv_column(csv, name);
    return column < csv->n_columns ? strtod(dsgd_csv_field(csv, row, column), NULL) : 0;
}

/** Reads all public logs. Returns false if a log is missing. */
static bool read_public(void)
{
    for (int i = 0; i < PUBLIC; i++) {
        dsgd_csv csv;
        dsgd_config *config = NULL;
        dsgd_platform platform;
        const char *const path = measurement(dsgd_xprintf("nccl/%s.csv", public[i].log));
        if (path == NULL)
            return false;
        ck_assert_int_eq(dsgd_csv_read(&csv, NULL, "%s", path), DSGD_OK);
        ck_assert_int_eq(dsgd_platform_open(public[i].platform, &config, &platform, NULL), DSGD_OK);
        sheets[i] = platform.nccl;
        sheets[i].bandwidth = sheets[i].latency = 1;
        sheets[i].node_bandwidth = sheets[i].node_latency = 1;
        sheets[i].tables = (dsgd_structs){0, NULL};
        if (public[i].gpus == 4 && strncmp(public[i].log, "snellius", 8) == 0)
            sheets[i].amd_host = true;
        dsgd_nccl_measured *const of = &measured[i];
        of->shape = (dsgd_nccl_shape){(int)field(&csv, 0, "nodes"), public[i].gpus, public[i].nics,
                                      platform.host_bandwidth_bytes_per_s, 0};
        of->table.call = strstr(path, "allgather") != NULL ? DSGD_NCCL_SHARES : DSGD_NCCL_ALLREDUCE;
        of->table.nodes = of->shape.n_nodes;
        of->table.gpus = public[i].gpus;
        of->table.bytes.v = dsgd_keep(MOST_SIZES, sizeof(double));
        of->table.us.v = dsgd_keep(MOST_SIZES, sizeof(double));
        size_t n = 0;
        for (size_t row = 0; row < csv.n_rows; row++) {
            const double out = field(&csv, row, "time_us_out_of_place");
            const double in = field(&csv, row, "time_us_in_place");
            const double bytes = field(&csv, row, "size_bytes");
            if (bytes < 1 || out <= 0)
                continue;
            of->table.bytes.v[n] = bytes;
            least_us[i][n] = field(&csv, row, "lowest_us");
            most_us[i][n] = field(&csv, row, "highest_us");
            of->table.us.v[n++] = in > 0 ? (in + out) / 2 : out;
        }
        of->table.bytes.n = of->table.us.n = n;
    }
    return true;
}

/**
 * Returns the median error in % of predicted times. If @p every is 2, the median covers every
 * second size. If @p every is 1, it covers all sizes.
 */
static double median_error(const dsgd_nccl *nccl, int i, double least_bytes, size_t every)
{
    double errors[MOST_SIZES];
    size_t n = 0;
    for (size_t k = every - 1; k < measured[i].table.bytes.n; k += every) {
        const double bytes = measured[i].table.bytes.v[k];
        const dsgd_nccl_cost cost =
            dsgd_nccl_cost_of(nccl, &measured[i].shape, measured[i].table.call, bytes);
        if (bytes >= least_bytes)
            errors[n++] =
                100 * fabs(1e6 * dsgd_nccl_s(&cost, bytes) / measured[i].table.us.v[k] - 1);
    }
    return gsl_stats_median(errors, 1, n);
}

static int index_of(const char *log)
{
    for (int i = 0; i < PUBLIC; i++)
        if (strcmp(public[i].log, log) == 0)
            return i;
    ck_abort_msg("%s", log);
}

static const double mib = 0x1p20;

/**
 * Prints the error of a prediction for the tables in the documents, if the environment variable
 * DSGD_TABLE is set.
 */
static void tell(const char *log, const char *other, double error)
{
    if (getenv("DSGD_TABLE") != NULL)
        fprintf(stderr, "%-34s %-34s %5.1f %%\n", log, other, error);
}

/**
 * Compares predicted times with every second size of each log. One prediction is fitted to the
 * other half of the sizes, and one uses only the data sheet.
 */
TEST(predictions_from_logs_and_data_sheets)
{
    double tables[PUBLIC], alone[PUBLIC];
    size_t n = 0;
    for (int i = 0; read_public() && i < PUBLIC; i++) {
        dsgd_nccl_table half = measured[i].table;
        half.bytes = (dsgd_numbers){0, dsgd_keep(MOST_SIZES, sizeof(double))};
        half.us = (dsgd_numbers){0, dsgd_keep(MOST_SIZES, sizeof(double))};
        for (size_t k = 0; k < measured[i].table.bytes.n; k += 2) {
            half.bytes.v[half.bytes.n++] = measured[i].table.bytes.v[k];
            half.us.v[half.us.n++] = measured[i].table.us.v[k];
        }
        dsgd_nccl logged = sheets[i];
        logged.tables = (dsgd_structs){1, &half};
        const double by_table = median_error(&logged, i, mib, 2);
        const double by_sheet = median_error(&sheets[i], i, 8 * mib, 1);
        tell(public[i].log, "as table, from 1 MiB", by_table);
        tell(public[i].log, "data sheet, from 8 MiB", by_sheet);
        if (public[i].varies)
            continue;
        tables[n] = by_table;
        alone[n++] = by_sheet;
    }
    ck_assert(n == 0 || gsl_stats_median(tables, 1, n) <= 5);
    ck_assert(n == 0 || gsl_stats_median(alone, 1, n) <= 15);
}

/**
 * Pairs of logs. The factors that are fitted to the first log predict the times of the second log.
 * The second log is from another machine of the same kind, or it has another number of nodes or
 * another collective.
 */
static const struct {
    const char *fitted, *other;
    size_t n; /* number of logs that are used for the fit, counted from `fitted` */
} crossings[] = {
    {"dgxa100_n2", "dgxa100_n4", 1},
    {"dgxa100_n2", "sophia_n2", 1},
    {"dgxa100_n2", "ndv4_a100_n2", 1},
    {"dgxa100_n2", "sophia_n2_allgather", 1},
    {"sophia_n2", "dgxa100_n2", 1},
    {"sophia_n2", "dgxa100_n4", 1},
    {"dgxa100_n4", "dgxa100_n2", 1},
    {"dgxa100_n4", "sophia_n2", 1},
    {"ndv4_a100_n2", "dgxa100_n4", 1},
    {"p5_n2", "p5_n2_2203", 1},
    {"p5_n2_2203", "p5_n2_2223", 1},
    {"dgxh100_n1", "p5_n1_batch", 1},
    {"p5_n1_batch", "dgxh100_n1", 1},
    {"snellius_h100_n2", "snellius_h100_n2_allgather", 1},
    {"snellius_h100_n1", "alps_gh200_n1", 1},
    {"cscs_gh200_n2", "alps_gh200_pooled_n2", 1},
    {"alps_gh200_pooled_n2", "alps_gh200_pooled_n8", 1},
    {"cluster01_h100_n10_g1_allreduce", "cluster01_h100_n10_g1_allreduce", 2},
    {"cluster01_h100_n10_g1_allreduce", "cluster01_h100_n10_g8_allreduce", 2},
};

TEST(fit_to_one_log_predicts_another)
{
    enum { N = sizeof crossings / sizeof crossings[0] };
    double errors[N];
    size_t n = 0;
    for (int c = 0; read_public() && c < N; c++) {
        const int from = index_of(crossings[c].fitted);
        dsgd_nccl fitted = sheets[from];
        dsgd_nccl_fit(&fitted, &measured[from], crossings[c].n);
        errors[n++] = median_error(&fitted, index_of(crossings[c].other), 8 * mib, 1);
        tell(crossings[c].fitted, crossings[c].other, errors[n - 1]);
        ck_assert_msg(errors[n - 1] <= 12, "%s to %s: %g", crossings[c].fitted, crossings[c].other,
                      errors[n - 1]);
    }
    ck_assert(n == 0 || gsl_stats_median(errors, 1, n) <= 10);
}

/**
 * Uses a fit to two nodes to predict the times of eight nodes, for sizes of at least 64 MiB. The
 * prediction must lie between the fastest run, less 5 %, and the slowest run. No run has used more
 * than 23.3 of the 25 GB/s of a NIC.
 */
TEST(slingshot_prediction_is_within_spread_of_runs)
{
    if (!read_public())
        return;
    const int two = index_of("alps_gh200_pooled_n2"), eight = two + 1;
    dsgd_nccl fitted = sheets[two];
    dsgd_nccl_fit(&fitted, &measured[two], 1);
    for (size_t k = 0; k < measured[eight].table.bytes.n; k++) {
        const double bytes = measured[eight].table.bytes.v[k];
        const dsgd_nccl_cost cost =
            dsgd_nccl_cost_of(&fitted, &measured[eight].shape, DSGD_NCCL_ALLREDUCE, bytes);
        const double us = 1e6 * dsgd_nccl_s(&cost, bytes);
        if (bytes >= 64 * mib)
            ck_assert_msg(us >= 0.95 * least_us[eight][k] && us <= most_us[eight][k],
                          "%g MiB: %g us, measured %g to %g", bytes / mib, us, least_us[eight][k],
                          most_us[eight][k]);
    }
}
