/**
 * @file test_cluster.c
 * Tests which descriptions of a cluster and a job `dsgd import` reads. It reads topology files of
 * NCCL, topologies and host lists of Slurm, JSON of nccl-tests, and logs of training. Tables of
 * nccl-tests and profiles have their own tests. The input files are written here, with the same
 * defects as public files. Public files are also tested if they are next to the project.
 */
#include "base/file.h"
#include "tests/command/shell.h"
#include "tests/support/suite.h"
#include "traces/nccl_log.h"
#include "traces/nccl_topology.h"
#include "traces/slurm.h"
#include "traces/step_log.h"

SUITE(cluster, "nodes", .seconds = 120, .set_up = make_folder, .tear_down = remove_folder);

/**
 * Returns the XML of two GPUs and their NICs on one PCIe switch. GPU i has links[i] links to the
 * NVSwitch, or no link if links[i] is 0.
 */
static char *pair(int first, const int links[2], int nics, const char *speed)
{
    char *text = dsgd_xprintf("<cpu host_hash=\"0x1\" numaid=\"%d\" vendor=\"AuthenticAMD\">\n"
                              "<pci busid=\"0:%d0\" class=\"0x060400\" link_speed=\"16.0 GT/s "
                              "PCIe\" link_width=\"16\">\n",
                              first, first);
    for (int i = 0; i < 2; i++) {
        dsgd_append(&text,
                    "<pci busid=\"0:%d%d\" class=\"0x030200\" device=\"0x20b2\" link_speed=\"32.0 "
                    "GT/s PCIe\" link_width=\"16\">\n"
                    "<gpu dev=\"%d\" sm=\"80\" rank=\"%d\" gdr=\"1\">",
                    first, i, first + i, first + i);
        if (links[i] > 0)
            dsgd_append(&text, "<nvlink target=\"0:c1\" count=\"%d\" tclass=\"0x068000\"/>",
                        links[i]);
        dsgd_append(&text, "</gpu></pci>\n");
    }
    for (int i = 0; i < nics; i++)
        dsgd_append(&text,
                    "<pci class=\"0x020700\"><nic><net name=\"mlx5_%d\" dev=\"%d\" speed=\"%s\" "
                    "latency=\"75\"/></nic></pci>\n",
                    first + i, i, speed);
    dsgd_append(&text, "</pci></cpu>\n");
    return text;
}

static const int twelve[2] = {12, 12}, none[2] = {0, 0}, one_down[2] = {12, 11};

/**
 * Tests a matrix in which GPU 0 and GPU 1 are nearest to NIC0, and GPU 2 is nearest to mlx5_2. No
 * GPU is near NIC1, which is attached to the processor.
 */
TEST(a_matrix_of_nvidia_smi_gives_an_island)
{
    char *text =
        dsgd_xstrdup("$ nvidia-smi topo -m\n\t\033[4mGPU0\tGPU1\tGPU2\tNIC0\tNIC1\tmlx5_2\t"
                     "CPU Affinity\033[0m\nGPU0\t X \tNV4\tNV4\tPIX\tNODE\tSYS\t0-31\n"
                     "GPU1\tNV4\t X \tNV4\tPXB\tNODE\tSYS\t0-31\n");
    write_file("b.txt", text);
    ck_assert_has(dsgd_ends(3, "import b.txt -p dgx-a100 -o b.yaml"), "b.txt:5: the row of GPU2");
    dsgd_append(&text, "GPU2\tNV4\tNV4\t X \tSYS\tNODE\tPIX\t0-31\n\nLegend:\n");
    write_file("a.txt", text);
    ck_assert_has(dsgd_ends(0, "import a.txt -p dgx-a100 -o mine.yaml"), "NIC0 mlx5_2 ; up to 4");
    const dsgd_platform p = read_platform("mine.yaml");
    ck_assert(p.island_hosts == 3 && !p.nccl.has_switch);
    write_file("c.txt", dsgd_xprintf("%s%s", text, text));
    ck_assert_has(dsgd_ends(2, "import c.txt -p dgx-a100 -o c.yaml"), "the first of several");
    write_file("d.txt", "\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tPHB\t0-31\nGPU1\tPHB\t X \t0-31\n");
    const char *const said = unwrapped(dsgd_ends(0, "import d.txt -p dgx-a100 -o d.yaml"));
    ck_assert_has(said,
                  "2 GPUs, 0 NICs; no NVLinks, and no speeds of other links; these are taken");
    ck_assert_has(said, "and 8 NICs, as in dgx-a100, do not fit; 2 are assumed");
    ck_assert_has(read_file("d.yaml"), "  island_nics: 2 # assumed\n");
    ck_assert_ptr_null(strstr(said, "nearest"));
}

TEST(a_node_becomes_an_island_with_its_NICs_and_links)
{
    /*
     * eth0, the NIC for storage, is connected only to the processor, so it is not the nearest NIC
     * of any GPU.
     */
    write_file("topo.xml",
               dsgd_xprintf("\xef\xbb\xbf<!-- of a node -->\r\n<system version=\"1\">\r\n%s%s"
                            "<cpu numaid=\"9\"><nic><net name=\"eth0\" speed=\"1000\"/></nic></cpu>"
                            "</system>\nwhat a page goes on with <",
                            pair(0, twelve, 1, "200000"), pair(2, twelve, 1, "200000")));
    const char *const said = unwrapped(dsgd_ends(0, "import topo.xml -p dgx-a100 -o mine.yaml"));
    ck_assert_has(said, "GPU 0 1: mlx5_0; GPU 2 3: mlx5_2");
    ck_assert_ptr_null(strstr(said, "warning"));
    const dsgd_platform p = read_platform("mine.yaml");
    ck_assert(p.island_hosts == 4 && p.island_nics == 2);
    ck_assert_double_eq(p.host_bandwidth_bytes_per_s, 25e9);
    /* NCCL counts 20 GB/s for each NVLink of an A100. */
    ck_assert_double_eq(p.nccl.links_bytes_per_s, 12 * 20e9);
    ck_assert_double_eq(p.island_bytes_per_s, 12 * 20e9);
    ck_assert(p.nccl.has_switch && p.nccl.amd_host && p.nccl.generation == DSGD_GPU_AMPERE);
    ck_assert_double_eq_tol(p.nccl.network_latency_s, 75e-6, 1e-12);
    ck_assert_has(read_file("mine.yaml"), "island_nics: 2 # topo.xml:");
    dsgd_ends(0, "check mine.yaml");
}

TEST(a_node_without_links_has_those_of_PCIe_and_uneven_NICs_stand_as_others_as_wide)
{
    write_file("topo.xml", dsgd_xprintf("<system version=\"1\">%s%s</system>",
                                        pair(0, none, 2, "10000"), pair(2, none, 1, "10000")));
    const char *const said = dsgd_ends(0, "import topo.xml -p dgx-a100 -o mine.yaml");
    ck_assert_has(said, "3 NICs for 4 GPUs are replaced by 2 with the same total bandwidth");
    ck_assert_has(said, "the slowest NIC has 10 Gb/s");
    const dsgd_platform p = read_platform("mine.yaml");
    /* NCCL counts 24 GB/s for a PCIe switch with 16 lanes of 16 GT/s. */
    ck_assert_double_eq(p.nccl.links_bytes_per_s, 24e9);
    ck_assert_double_eq_tol(p.host_bandwidth_bytes_per_s, 1.5 * 1.25e9, 1);
    ck_assert(!p.nccl.has_switch);
    /* NICs in a container have names such as veth19d9 */
    shell_ends(0, "sed -i s/mlx5_1/veth19d9/ topo.xml");
    ck_assert_has(dsgd_ends(0, "import topo.xml -p dgx-a100 -o mine.yaml --force"),
                  "2 NICs of 1.25 GB/s");
}

TEST(import_warns_of_odd_nodes)
{
    write_file("down.xml",
               dsgd_xprintf("<system version=\"1\">%s</system>", pair(0, one_down, 1, "200000")));
    ck_assert_has(dsgd_ends(0, "import down.xml -p dgx-a100 -o mine.yaml"),
                  "GPU 1 has 11 links, but GPU 0 in line");
    write_file("part.xml",
               "<system version=\"1\"><cpu numaid=\"0\"><pci busid=\"0:1\" class=\"0x030200\"><gpu "
               "dev=\"0\" sm=\"90\"><nvlink target=\"0:2\" count=\"18\" tclass=\"0x030200\"/>"
               "</gpu></pci><nic><net name=\"a\" speed=\"100000\"/></nic></cpu></system>");
    ck_assert_has(dsgd_ends(0, "import part.xml -p dgx-a100 -o mine.yaml --force"),
                  "Check whether the job saw all GPUs of the node");
    write_file("static.xml",
               "<system version=\"1\"><cpu numaid=\"0\"><pci busid=\"0:1\" class=\"0x030200\"/>"
               "<pci busid=\"0:2\" class=\"0x020700\"/></cpu></system>");
    ck_assert_has(unwrapped(dsgd_ends(0, "import static.xml -p dgx-a100 -o mine.yaml --force")),
                  "for NCCL_TOPO_FILE, without NVLinks and speeds of NICs");
    /*
     * The topology file contains no speed of links, so the value of the base platform dgx-a100
     * remains.
     */
    ck_assert_double_eq(read_platform("mine.yaml").nccl.links_bytes_per_s, 240e9);
    write_file("far.xml", dsgd_xprintf("<system version=\"1\">%s%s</system>",
                                       pair(0, twelve, 0, ""), pair(2, twelve, 1, "200000")));
    ck_assert_has(unwrapped(dsgd_ends(0, "import far.xml -p dgx-a100 -o mine.yaml --force")),
                  "GPU 0 1: none; GPU 2 3: mlx5_2");
    /*
     * The speed of the NICs in Mb/s is far too large. The number may be 200 Gb/s in units of kb/s.
     */
    write_file("absurd.xml",
               dsgd_xprintf("<system version=\"1\">%s</system>", pair(0, twelve, 2, "200000000")));
    ck_assert_has(dsgd_ends(0, "import absurd.xml -p dgx-a100 -o mine.yaml --force"),
                  "ignored the speed of a NIC, 2e+08 Mb/s");
    /* The value of the base platform dgx-a100 must remain. */
    ck_assert_double_eq(read_platform("mine.yaml").host_bandwidth_bytes_per_s, 25e9);
    write_file("dump.xml",
               dsgd_xprintf("<system version=\"1\">%s</system>", pair(0, twelve, 2, "100000")));
    ck_assert_has(dsgd_ends(2, "import dump.xml down.xml -p dgx-a100 -o mine.yaml --force"),
                  "if they are of two machines");
}

static const struct {
    int status;
    const char *text, *why;
} broken[] = {
    {3, "<system version=\"1\"><cpu numaid=\"0\"><pci busid=\"0:1\"",
     "topo.xml:1: not an XML topology"},
    {3,
     "<!DOCTYPE system [<!ENTITY a \"aaa\"><!ENTITY b "
     "\"&a;&a;\">]>\n<system><cpu>&b;</cpu></system>",
     "topo.xml:2: not an XML topology of a node: undefined entity"},
    {3, "<system version=\"1\">\n<cpu arch=\"\xe9\"/></system>", "topo.xml:2: not an XML topology"},
    {2, "<system version=\"1\"><cpu numaid=\"0\"><pci busid=\"0000:00:16.0\"/></cpu></system>",
     "elements is a GPU"},
    {2,
     "<?xml version=\"1.0\"?>\n<!DOCTYPE topology SYSTEM \"hwloc.dtd\">\n<topology "
     "version=\"2.0\"/>",
     "topo.xml:3: <topology> is from hwloc"},
    {2, "<graphs version=\"1\"></graphs>", "from NCCL_GRAPH_DUMP_FILE"},
};

TEST_ROWS(broken_node_is_rejected_with_line, broken)
{
    write_file("topo.xml", broken[_i].text);
    ck_assert_has(dsgd_ends(broken[_i].status, "import topo.xml -p dgx-a100 -o mine.yaml"),
                  broken[_i].why);
}

TEST(deeply_nested_node_is_rejected)
{
    char *text = dsgd_xstrdup("<system version=\"1\">");
    dsgd_nccl_topology t;
    dsgd_error error = {""};
    for (int i = 0; i < 100000; i++)
        dsgd_append(&text, "<pci busid=\"1\">");
    ck_assert_int_eq(dsgd_nccl_topology_read("topo.xml", text, &t, &error), DSGD_EIO);
    ck_assert_has(error.text, "topo.xml:1: not an XML topology of a node: elements are nested");
}

CASE("Slurm", .seconds = 120, .set_up = make_folder, .tear_down = remove_folder);

static const struct {
    /* a host list, and the names that it stands for, or NULL if the list is rejected */
    const char *list, *names;
} lists[] = {
    {"tux[0-2,07],login", "tux0 tux1 tux2 tux07 login"},
    {"r[1-2]n[08-10]-ib", "r1n08-ib r1n09-ib r1n10-ib r2n08-ib r2n09-ib r2n10-ib"},
    {"[1101-1102]", "1101 1102"},
    {"a,,b,", "a b"},
    {"n[000-000]", "n000"},
    {"n[2-1]", NULL},
    {"n[1-", NULL},
    {"n]1[", NULL},
    {"n[1-[2]]", NULL},
    {"n[a-c]", NULL},
    {"n[]", NULL},
    {"n[0000000000000000000000000001]", NULL},
    {"n[0-131072]", NULL},
    {"n[0-99][0-99][0-99][0-99]", NULL},
    {"n[18446744073709551615-18446744073709551615],n[0-18446744073709551615]", NULL},
    {"n[1][1][1][1][1][1][1][1][1]", NULL},
};

TEST_ROWS(lists_of_hosts_expand_as_by_Slurm_or_are_refused, lists)
{
    dsgd_hostlist hosts = {0, NULL};
    dsgd_error error = {""};
    char *names = dsgd_xstrdup("");
    const dsgd_status status = dsgd_hostlist_expand(lists[_i].list, &hosts, &error);
    ck_assert_int_eq(status, lists[_i].names == NULL ? DSGD_EUSAGE : DSGD_OK);
    if (lists[_i].names == NULL) {
        ck_assert_has(error.text, "is not a list of hosts");
        return;
    }
    for (size_t i = 0; i < hosts.n; i++)
        dsgd_append(&names, "%s%s", i == 0 ? "" : " ", hosts.v[i]);
    ck_assert_str_eq(names, lists[_i].names);
}

/* The same cluster in several formats. It has two leaf switches, with three nodes and two nodes. */
static const char *const topologies[] = {
    "\xef\xbb\xbf# by hand\r\nswitchname=leaf0 NODES=n[0-2] LinkSpeed=100G # three\r\n"
    "SwitchName=leaf1 \\\r\n  Nodes=n[3-4]\r\nSwitchName=root Switches=leaf[0-1]\r\n",
    /*
     * output of the command scontrol, in which an upper switch also lists the nodes of its lower
     * switches
     */
    "SwitchName=root Level=1 LinkSpeed=1 Nodes=n[0-4] Switches=leaf[0-1]\n"
    "SwitchName=leaf0 Level=0 LinkSpeed=1 Nodes=n[0-2]\nSwitchName=leaf1 Level=0 Nodes=n[3-4]\n",
    "BlockName=leaf0 BlockIndex=0 Nodes=n[0-2] BlockSize=3\nBlockName=leaf1 Nodes=n[3-4]\n"
    "AggregatedBlock=leaf[0-1] Nodes=n[0-4]\nBlockSizes=3,6\n",
    "- topology: other\n  block:\n    block_sizes: [5]\n    blocks:\n      - block: all\n"
    "        nodes: n[0-4]\n- topology: tree\n  cluster_default: true\n  tree:\n    switches:\n"
    "      - switch: root\n        children: leaf[0-1]\n      - {switch: leaf0, nodes: 'n[0-2]'}\n"
    "      - switch: leaf1\n        nodes: n[3-4]\n",
    "switches:\n  root:\n    switches: [leaf0, leaf1]\nblocks:\n- switch: leaf0\n  nodes:\n"
    "  - \"n[0-1]\"\n  - n2\n- switch: leaf1\n  nodes: [\"n[3-4]\"]\n",
};

TEST_ROWS(leaves_become_groups_that_contain_the_job, topologies)
{
    write_file("topology", topologies[_i]);
    write_file("job", "n[1,3-4]\n");
    const char *const said =
        dsgd_ends(0, "import topology -p dgx-a100 -o mine.yaml --nodelist job");
    ck_assert_has(said, "leaf0:1 leaf1:2");
    ck_assert_has(said, "no unit");
    const dsgd_platform p = read_platform("mine.yaml");
    ck_assert(p.topology == DSGD_TOPOLOGY_GROUPS && p.group_hosts == 3 * 8);
    ck_assert_double_eq(p.group_bytes_per_s, 24 * p.host_bandwidth_bytes_per_s);
    const char *const text = read_file("mine.yaml");
    ck_assert_has(text, "placement: [0, 1, 2, 3, 4, 5, 6, 7, 24, 25, 26, 27, 28, 29, 30, 31, 32, ");
    ck_assert_has(text, "workers: 24 # n[1,3-4]");
    dsgd_ends(0, "check mine.yaml");
    ck_assert_has(dsgd_ends(2, "import topology -p dgx-a100 -o m2.yaml --nodelist n[4-5]"),
                  "n5 is on no leaf of topology");
}

static const struct {
    int status;
    const char *text, *why;
} bad_topologies[] = {
    {2, "SwitchName=s0 Nodes=n[0-\n", "topology:1: \"n[0-\" is not a list"},
    {2, "SwitchName=s0 Switches=s[1-2]\nNodes=n1\n", "topology:2: Nodes=n1 needs SwitchName="},
    {2, "Include more.conf\nSwitchName=s0 Switches=s1\n", "also give the files that it includes"},
    {2, "- switch: s1\n  nodes: \"\"\n", "no line contains nodes"},
    {3, "- switch: s1\n  nodes: [n1\n", "neither a topology.conf nor YAML"},
    {2, "SwitchName=s Nodes=n[0-99999]\nSwitchName=t Nodes=m[0-99999]\n",
     ":2: with \"m[0-99999]\" the leaves together have more than 131072 nodes"},
};

TEST_ROWS(broken_topology_is_rejected_with_reason, bad_topologies)
{
    write_file("topology", bad_topologies[_i].text);
    ck_assert_has(dsgd_ends(bad_topologies[_i].status, "import topology -p dgx-a100 -o mine.yaml"),
                  bad_topologies[_i].why);
}

CASE("JSON", .seconds = 120, .set_up = make_folder, .tear_down = remove_folder);

static const char tests_json[] =
    "{\"version\":3,\"args\":[\"/opt/"
    "all_reduce_perf\",\"-g\",\"8\"],\"env\":[],\"config\":{\"nthreads\":1,"
    "\"ngpus\":8,\"devices\":[{\"rank\":0,\"hostname\":\"a\",\"device_info\":\"NVIDIA A100\"},"
    "{\"rank\":8,\"hostname\":\"b\",\"device_info\":\"NVIDIA A100\"}]},\"results\":["
    "{\"size\":0,\"out_of_place\":{\"time\":9.0},\"in_place\":{\"time\":9.0}},"
    "{\"size\":8388608,\"out_of_place\":{\"time\":200.0},\"in_place\":{\"time\":202.0},"
    "\"out_of_place_per_iter\":{\"cv_pct\":4.5,\"times_us\":[190,210]}},"
    "{\"size\":16777216,\"out_of_place\":null,\"in_place\":{\"time\":400.5}}]}";

TEST(nccl_tests_say_the_same_in_JSON)
{
    dsgd_nccl_logs logs = {0};
    dsgd_error error = {""};
    ck_assert(dsgd_nccl_json_is(tests_json));
    ck_assert_int_eq(dsgd_nccl_json_read("t.json", tests_json, &logs, &error), DSGD_OK);
    ck_assert_uint_eq(logs.n, 1);
    const dsgd_nccl_log *const log = logs.v;
    ck_assert(log->table.call == DSGD_NCCL_ALLREDUCE && log->table.bytes.n == 2);
    /* Each of two processes has eight GPUs, but the entry of a process contains only one GPU. */
    ck_assert(log->ranks == 16 && log->table.nodes == 2);
    ck_assert_double_eq(log->table.us.v[0], 201);
    ck_assert_double_eq(log->table.us.v[1], 400.5);
    ck_assert_str_eq(log->gpu, "NVIDIA A100");
    ck_assert_has(logs.said, "4.5 %");
    char *const cut = dsgd_xprintf("\n%.300s", tests_json);
    ck_assert_int_eq(dsgd_nccl_json_read("t.json", cut, &logs, &error), DSGD_EIO);
    ck_assert_has(error.text, "t.json:2: invalid or incomplete JSON");
}

CASE("training", .seconds = 120, .set_up = make_folder, .tear_down = remove_folder);

static const struct {
    const char *tool, *text;
    size_t n, left_out;
    double last_s, batch;
} step_logs[] = {
    {"Megatron-LM",
     " [2025-04-13 23:41:20] iteration 10/ 99 | elapsed time per iteration (ms): 820.5 | global "
     "batch size:    16 |\n"
     " [2025-04-13 23:41:28] iteration 20/ 99 | elapsed time per iteration (ms): 821,8 | lm loss: "
     "1\n"
     " [2025-04-13 23:41:37] iteration 30/ 99 | elapsed time per iteration (ms): 849.5 |",
     2, 1, 0.8495, 16},
    {"torchtitan",
     "[rank0]:[titan] 2025-11-25 23:59:58,838 - root - INFO - local batch size 8, global batch "
     "size 64, x\n"
     "[rank0]:[titan] 2025-11-25 23:59:59,000 - root - INFO - \x1b[31mstep:  1  loss:  8.0  tps: "
     "5,756  tflops: 0.41\r\n"
     "[rank1]:[titan] 2025-11-25 23:59:59,001 - root - INFO - step:  1  loss:  8.0  tps: 5,756  "
     "tflops: 0.41\n"
     "[rank0]:[titan] 2025-11-26 00:00:01,250 - root - INFO - step: 10  loss:  8.0  tps: 5,756  "
     "tflops: 0.41\n"
     "[rank0]:[titan] 2025-11-26 00:00:02,250 - root - INFO - step: 20  loss:  8.0  tps: 5,756  "
     "tflops: 0.41\n",
     2, 0, 0.1, 64},
    {"nanoGPT",
     "iter 0: loss 10.9, time 9000.00ms, mfu -100.00%\niter 10: loss 5.1, time 135.25ms, mfu "
     "20.00%\n",
     2, 0, 0.13525, 0},
    {"timm",
     "Train: 0 [  50/1251 (  4%)]  Loss: 6.9 (6.9)  Time: 0.412s,  621.36/s  (0.5s,  512.00/s)  "
     "LR: 1e-06\n",
     1, 0, 0.412, 0},
    {"PyTorch's ImageNet example",
     "Epoch: [0][ 10/625]\tTime  0.085 ( 0.163)\tData  0.000\nEpoch: [1][  0/625]\tTime 12.807 "
     "(12.807)\tData  6.147\n",
     2, 0, 12.807, 0},
    {"Lightning",
     "Epoch 0:   0%|          | 0/8000 [00:00<?, ?it/s]\rEpoch 0: 4%|x  | 350/8000 [00:09<03:23, "
     "40.00it/s, v_num=0]"
     "\rEpoch 0: 5%|x  | 360/8000 [00:09<03:23,  1.25s/it, v_num=0]\n",
     2, 0, 1.25, 0},
};

TEST_ROWS(training_logs_contain_step_times, step_logs)
{
    const dsgd_step_log log = dsgd_step_log_read(step_logs[_i].text);
    ck_assert_str_eq(log.tool, step_logs[_i].tool);
    ck_assert_uint_eq(log.n, step_logs[_i].n);
    ck_assert_uint_eq(log.left_out, step_logs[_i].left_out);
    ck_assert_double_eq_tol(log.seconds[log.n - 1], step_logs[_i].last_s, 1e-9);
    ck_assert_double_eq(log.batch, step_logs[_i].batch);
}

TEST(training_log_gives_step_and_warns_of_exchanges)
{
    char *text = dsgd_xstrdup("");
    for (int i = 1; i <= 20; i++)
        dsgd_append(
            &text,
            " iteration %d/ 99 | elapsed time per iteration (ms): %d.0 | global batch size: 64 |\n",
            10 * i, i == 1 ? 9000 : 800 + i);
    write_file("train.log", text);
    const char *const said = dsgd_ends(0, "import train.log -p dgx-a100 --ranks 16 -o mine.yaml");
    ck_assert_has(said, "lines 2-20: 19 times of Megatron-LM, median 0.811 s");
    ck_assert_has(said, "each a mean of 10 steps");
    ck_assert_has(said, "give a PyTorch profile");
    ck_assert_has(read_file("mine.yaml"),
                  "step: 0.811 # train.log:1-20, whole steps\n  samples: 4 #");
    dsgd_ends(0, "check mine.yaml");
    write_file("short.log", "iter 0: loss 10.9, time 9,5ms, mfu -100.00%\n");
    ck_assert_has(dsgd_ends(2, "import short.log -p dgx-a100 -o m2.yaml"),
                  "0 steps of nanoGPT have a time, and 1 do not");
}

CASE("public files", .seconds = 120, .set_up = make_folder, .tear_down = remove_folder);

static const struct {
    const char *file, *says;
} public[] = {
    {"files/nccl_xml/dgx_a100.xml",
     "8 GPUs (A100), 240 GB/s each (links to a switch), 8 NICs of 25 GB/s"},
    {"files/nccl_xml/rccl_topo_8p6l_4nic.xml",
     "8 GPUs, 144 GB/s each (links to each other), 4 NICs of 25 GB/s"},
    {"files/nccl_xml/aws_p4d-24xl-topo.xml", "8 GPUs (A100), 4 NICs"},
    {"files/slurm/check.topology.conf", "32 nodes on 8 leaves"},
    {"files/slurm/test_133_1_case1.topology.conf", "10000 nodes on 500 leaves"},
    {"files/slurm/topograph_large.yaml", "96 nodes on 12 leaves"},
};

TEST_ROWS(public_files_are_read_if_present, public)
{
    const char *const path = measurement(public[_i].file);
    if (path != NULL)
        ck_assert_has(unwrapped(dsgd_ends(0, "import %s -p dgx-a100 -o mine.yaml", path)),
                      public[_i].says);
}
