/**
 * @file test_input.c
 * Tests that each kind of invalid input ends a command with one message and the right exit status,
 * and that it changes no file.
 */
#include <ctype.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/command/shell.h"
#include "tests/support/suite.h"

/** A `check` command for an experiment with four workers, whose graph has the given edges. */
#define EDGES(edges)                                                                               \
    "check e.yaml --set workers=4 --set algorithms='{name: d_psgd, graph: {kind: edges, "          \
    "edges: " edges "}}'"

/** The lines of a valid experiment, to which tests append further lines. */
#define GOOD                                                                                       \
    "platform: idle-switch\nworkload: resnet50-p100\nworkers: 4\nalgorithms: allreduce\n"          \
    "until: {steps: 1}\n"

static const struct {
    const char *experiment; /* text of the experiment, or NULL for a valid experiment */
    const char *arguments;
    int status;
    const char *sentence;
} bad[] = {
    {NULL, "run missing.yaml", 3, "missing.yaml"},
    {"%YAML 9.9\n---\na: 1\n", "check e.yaml", 3, "e.yaml: invalid YAML"},
    {"platform: piz-daint\nworkload: resnet50-p100\nworkers: []\n", "check e.yaml", 2,
     "e.yaml:3:1: workers is an empty list"},
    {NULL, "run e.yaml --set wrokers=4", 2, "did you mean `workers`"},
    {NULL, "run e.yaml --set workers=four", 2, "--set workers=four"},
    {NULL, "check e.yaml --set workers=1048576", 0, "3 runs"},
    {NULL, "check e.yaml --set workers=1048577", 2, "must be between 1 and 1048576, got `1048577`"},
    {NULL, "run e.yaml --set workers=0", 2, "between 1 and"},
    {NULL, "run e.yaml --set workers=2.5", 2, "whole number"},
    {NULL, "run e.yaml --set workers.count=2", 2, "--set workers.count=2: unknown key"},
    {NULL, "run e.yaml --set platform.host_bandwith=1e9", 2, "did you mean `host_bandwidth`"},
    {NULL, "run e.yaml --set workload.step=-1", 2, "step"},
    {NULL, "run e.yaml --set 'platform={name: piz-daint, reference_speed: 3}'", 2,
     "reference_speed must be at least 1e+06 flop/s, got 3"},
    {NULL, "run e.yaml --set algorithms=wagam", 2, "did you mean `wagma`"},
    {NULL, "run e.yaml --set algorithms=wagma --set workers=12", 2, "8 or 16"},
    {NULL, "run e.yaml --set platform=piz-dait", 2, "piz-daint"},
    {NULL, "run e.yaml --set platform=nowhere.xml", 3, "nowhere.xml"},
    {NULL, "run e.yaml --set until.steps=-1", 2, "between 0"},
    {NULL, "run e.yaml --set until.accuracy=0.5 --set until.steps=0", 2, "accuracy"},
    {NULL, "run e.yaml --set nonsense", 2, "KEY.KEY=VALUE"},
    {NULL, "run e.yaml --set until..steps=1", 2,
     "--set until..steps=1: a key before or after a dot"},
    {NULL, "run e.yaml --set .steps=1", 2, "--set .steps=1: a key before or after a dot"},
    {NULL, "run e.yaml --set until.=1", 2, "--set until.=1: a key before or after a dot"},
    {NULL, "check e.yaml --set 'seed=*y'", 2,
     "--set seed=*y: the value must be YAML without aliases"},
    {NULL, "check e.yaml --set \"$(printf 'name=\\223')\"", 2, "not valid UTF-8"},
    {NULL, "run e.yaml --set a.b.c.d=1", 2, "--set a.b.c.d=1: unknown key `a`"},
    {NULL, "run e.yaml --set until.b.c.d=1", 2, "--set until.b.c.d=1: unknown key `b`"},
    {NULL, "run e.yaml --set stpes=1", 2, "--set stpes=1: unknown key `stpes`"},
    {NULL, "check e.yaml --set platform={}", 2, "--set platform={}: platform is empty"},
    {NULL, "check e.yaml --set 'platform={sweep: [idle-switch, {}]}'", 2, "platform is empty"},
    {NULL, "check e.yaml --set workload={}", 2, "--set workload={}: step is missing"},
    {NULL, "check e.yaml --set 'exchange.collective={sweep: [{sweep: [ring]}]}'", 2,
     "collective must be auto, recursive-doubling,"},
    {NULL, "run e.yaml --numerics gpu", 2, "auto, cpu, cuda or off"},
    {NULL, "run e.yaml --numerics gpu", 2, "Try `dsgd run --help'"},
    {NULL, "compare --bogus", 2, "dsgd compare: unrecognized option '--bogus'"},
    {NULL, "run --help", 0, "Usage: dsgd run [OPTION...] EXPERIMENT.yaml"},
    {NULL, "run e.yaml -j 0", 2, "--jobs must be a whole number"},
    {NULL, "run e.yaml --only 7", 2, "6 runs"},
    {NULL, "run e.yaml --sensitivity=0", 2,
     "--sensitivity must be above 0 and below 100 (per cent) or `choices`, got `0`"},
    {NULL, "run e.yaml --sensitivity=100", 2, "below 100"},
    {NULL, "check e.yaml --sensitivity=much", 2,
     "must be above 0 and below 100 (per cent) or `choices`, got `much`"},
    {NULL, "run e.yaml --sensitivity --only 500", 2, "the experiment has 78 runs"},
    {NULL, "runn e.yaml", 2, "did you mean `run`"},
    {NULL, "list algoritms", 2, "did you mean `algorithms`"},
    {NULL, "describe imbalance bytedance-sf", 2, "did you mean `bytedance-se`"},
    {NULL, "describe imbalance lognornal", 2, "did you mean `lognormal`"},
    {NULL, "check e.yaml --set imbalance=bytedance-sf", 2, "did you mean `bytedance-se`"},
    {NULL, "check e.yaml --set workload.like=resnet50-q", 2, "resnet50-q"},
    {NULL, "describe algorithm wagam", 2, "did you mean `wagma`"},
    {NULL, "plot nowhere", 3, "runs.csv"},
    {NULL, "platform", 2, "expected `check` and a platform"},
    {NULL, "platform chekc piz-daint", 2, "expected `check` and a platform"},
    {NULL, "platform check piz-dait", 2, "did you mean `piz-daint`"},
    {NULL, "platform check nowhere.yaml", 3, "nowhere.yaml"},
    {NULL, "platform check nowhere.xml", 3, "nowhere.xml"},
    {"colour: red\n", "platform check e.yaml", 2, "unknown key `colour`"},
    {NULL, "platform check piz-daint --workers 6.5", 2, "--workers must be a whole number"},
    {"workers: [1\n", "run e.yaml", 3, "e.yaml:"},
    {"", "run e.yaml", 3, "empty"},
    {"- 1\n- 2\n", "run e.yaml", 2, "mapping"},
    {"workers: 4\nworkers: 8\n", "run e.yaml", 3, "e.yaml:2"},
    {"platform: idle-switch\nworkload: resnet50-p100\nworkers: 4\nalgorithms: allreduce\n",
     "run e.yaml", 2, "until is missing"},
    {"platform: idle-switch\nworkload: resnet50-p100\nworkers: 4\nalgorithms: allreduce\nuntil: "
     "{steps: ten}\n",
     "run e.yaml", 2, "e.yaml:5:16: steps must be a number, got `ten`"},
    {"platform: idle-switch\nworkload: resnet50-p100\nworkers: 4\nalgorithms: allreduce\nuntil: "
     "{stesp: 10}\n",
     "run e.yaml", 2,
     "e.yaml:5:9: unknown key `stesp` (did you mean `steps`?); valid keys: steps,"},
    {"platform: {name: piz-daint, partial_call: 250us}\nworkload: resnet50-p100\nworkers: 4\n"
     "algorithms: allreduce\nuntil: {steps: 2}\n",
     "check e.yaml", 2, "key `partial_call` is now half of `partial_turn`"},
    {"platform: idle-switch\nworkload: resnet50-p100\nworkers: 4\nalgorithms: [{name: dasgd, d: "
     "9}]\nuntil: {steps: 1}\n",
     "check e.yaml", 2, "at most tau"},
    {"platform: idle-switch\nworkload: resnet50-p100\nworkers: 4\nalgorithms: [{group: 2}]\nuntil: "
     "{steps: 1}\n",
     "check e.yaml", 2, "name is missing"},
    {"platform: idle-switch\nworkload: resnet50-p100\nworkers: 4\nalgorithms: allreduce\nuntil: "
     "{steps: 1}\nimbalance: {kind: delay, workers: 5, seconds: 1s}\n",
     "check e.yaml", 2, "at most the number of workers"},
    {NULL,
     "check e.yaml --set platform='{name: dgx1-v100-400g, island_hosts: 1}' "
     "--set workload=llm-dp-bytedance",
     2, "island_nics must divide island_hosts (1), got 4"},
    {NULL, "check e.yaml --set algorithms='{name: d_psgd, topology: ring}'", 2,
     "key `topology` is now called `graph`"},
    {NULL, "check e.yaml --set collective=ring", 2,
     "key `collective` has moved: exchange: {collective: ...}"},
    {NULL, "check e.yaml --set imbalance='{kind: delay, seconds: 1s, chosen: apart}'", 2,
     "chosen `apart` is now called `independent`"},
    {NULL, "check e.yaml --set algorithms='{name: d_psgd, graph: rign}'", 2, "did you mean `ring`"},
    {NULL, "check e.yaml --set algorithms='{name: d_psgd, graph: {kind: torus, rows: 3}}'", 2,
     "a multiple of 3"},
    {NULL, "check e.yaml --set algorithms='{name: d_psgd, graph: edges}'", 2, "edges is missing"},
    {NULL, EDGES("[[0, 1], [1, 2], [2, 9]]"), 2, "ranks are 0 to 3"},
    {NULL, EDGES("[[0, 1], [2, 3]]"), 2, "no path leads from worker 0 to 2"},
    {NULL, EDGES("[[0, 1.5]]"), 2, "whole number"},
    {NULL, EDGES("[[0, 1, 2]]"), 2, "must be a pair of numbers such as [0, 1]"},
    {NULL, EDGES("[0, 1]"), 2, "must be a pair of numbers such as [0, 1]"},
    {NULL, EDGES("nowhere.txt"), 3, "nowhere.txt"},
    {NULL, EDGES("/tmp"), 3, "directory"},
    {NULL, "check e.yaml --set 'failures={policy: none, events: [{worker: 4, at: 1s}]}'", 2,
     "worker must be between 0 and 3, got 4"},
    {NULL,
     "check e.yaml --set 'failures={policy: none, events: [{worker: 0, at: 1s}]}' --set "
     "exchange.barrier=true",
     2, "a failed worker never reaches exchange: barrier"},
    {NULL, "check e.yaml --set exchange.bucket=0", 2, "between 1"},
    {NULL, "check e.yaml --set 'exchange={bucket: 1, pieces: 2}'", 2, "either"},
    {NULL, "check e.yaml --set 'exchange={first_bucket: 1, pieces: 2}'", 2, "either"},
    {NULL, "check e.yaml --set 'exchange={bucket: 1}'", 2,
     "pieces must be at most 4096, got 1000000"},
    {NULL, "check e.yaml --set algorithms='{name: drop_compute, threshold: never}'", 2,
     "none or auto"},
    {NULL, "check e.yaml --set algorithms='{name: ad_psgd, neighbours: exponential}'", 2,
     "`neighbours` is now `graph`: leave it out for random, {kind: exponential, schedule: "
     "bipartite} for exponential"},
    {NULL, "check e.yaml --set algorithms='{name: ad_psgd, graph: exponential}'", 2,
     "every edge must connect an even and an odd rank, but exponential connects workers 0 and 2"},
    {NULL, "check e.yaml --set algorithms='{name: ad_psgd, graph: matching}'", 2,
     "{kind: exponential, schedule: bipartite}"},
    {NULL, "check e.yaml --set algorithms='{name: ad_psgd, variant: shared_copy, graph: torus}'", 2,
     "torus connects workers 0 and 2"},
    {NULL, "check e.yaml --set algorithms='{name: ad_psgd, graph: ring}' --set workers=5", 2,
     "ring connects workers 0 and 4"},
    {NULL,
     "check e.yaml --set algorithms='{name: ad_psgd, variant: gossip_process}' --set workers=5", 2,
     "needs an even number of workers, such as 6, got 5"},
    {NULL, "check e.yaml --set algorithms='{name: ad_psgd, averagings: endless}'", 2,
     "averagings must be a number with variant: paper, got endless"},
    {NULL, "check e.yaml --set algorithms='{name: ad_psgd, variant: pull, averagings: 2}'", 2,
     "averagings must be 1 with variant: pull, got 2"},
    {NULL,
     "check e.yaml --set algorithms='{name: ad_psgd, variant: gossip_process, averagings: 2}'", 2,
     "averagings must be endless with variant: gossip_process"},
    {NULL, "check e.yaml --set algorithms='{name: ad_psgd, variant: gossip_process, graph: ring}'",
     2, "graph must be left out with variant: gossip_process"},
    {NULL, "check e.yaml --set algorithms='{name: wagma, label: 3, lable: 4}'", 2,
     "did you mean `label`"},
    {NULL, "check e.yaml --set algorithms='{name: wagma, label: \"a,b\"}'", 2, "without commas"},
    {NULL, "check e.yaml --set algorithms='{name: wagma, optimizer: {rate: 1}}'", 2,
     "unknown key `rate`"},
    /* Each of these files has a defect. Lines after the defect must not be ignored silently. */
    {GOOD "# M\xfcller\nseed: [1, 2]\n", "check e.yaml", 3,
     "e.yaml:6:4: byte 0xfc is not valid UTF-8"},
    {GOOD "# \xed\xa0\x80\nseed: [1, 2]\n", "check e.yaml", 3,
     "e.yaml:6:3: byte 0xed is not valid UTF-8"},
    {GOOD "# \xc0\x80\nseed: [1, 2]\n", "check e.yaml", 3,
     "e.yaml:6:3: byte 0xc0 is not valid UTF-8"},
    {GOOD "# \xf0\x9f\x98", "check e.yaml", 3, "e.yaml:6:3: byte 0xf0 is not valid UTF-8"},
    {GOOD "---\nseed: [1, 2]\n", "run e.yaml", 3, "e.yaml:6: a second document begins here"},
    {GOOD "...\n---\nseed: [1, 2]\n", "run e.yaml", 3, "e.yaml:7: a second document begins here"},
    {"# nothing\n\n", "run e.yaml", 3, "e.yaml: the file is empty"},
    {NULL, "run .", 3, ".: the file cannot be read: Is a directory"},
    {NULL, "check /dev/zero", 3, "/dev/zero: the file cannot be read: File too large"},
    {NULL, "check e.yaml --set placement=/dev/zero", 3, "File too large"},
    {NULL, EDGES("/dev/zero"), 3, "File too large"},
    {NULL, "check e.yaml --set 'imbalance={kind: replay, file: /dev/zero}'", 3, "File too large"},
    {"a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\n"
     "c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\n"
     "e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\n"
     "g: &g [*f,*f,*f,*f,*f,*f,*f,*f,*f]\nh: [*g,*g,*g,*g,*g,*g,*g,*g,*g]\n",
     "check e.yaml", 3, "at most 1000000 values"},
    {"a: &a [*a, *a]\n", "check e.yaml", 3, "e.yaml"},
    {GOOD "seed: {sweep: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]}\nimbalance: [&d {kind: delay, seconds: "
          "{sweep: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]}}, *d, *d, *d, *d]\n",
     "check e.yaml", 2, "e.yaml: the experiment has 1000000 runs, but at most 100000 are possible"},
    {"name: ../other\n" GOOD, "run e.yaml", 2,
     "e.yaml:1:7: name must be usable as the name of a folder"},
    {"name: a/b\n" GOOD, "run e.yaml", 2, "got `a/b`"},
    {"name: ''\n" GOOD, "run e.yaml", 2, "got ``"},
    {"name: ..\n" GOOD, "run e.yaml", 2, "got `..`"},
    {"name: \"a\\nb\"\n" GOOD, "run e.yaml", 2, "got `a"},
    {NULL, "run e.yaml --resume", 2, "--resume: run the same command again to continue"},
};

SUITE(input, "input", .seconds = 120, .set_up = make_folder, .tear_down = remove_folder);

TEST_ROWS(bad_input_gives_one_error_and_exit_status, bad)
{
    write_experiment("");
    if (bad[_i].experiment != NULL)
        write_file("e.yaml", bad[_i].experiment);
    char *output = dsgd_ends(bad[_i].status, "%s", bad[_i].arguments);
    ck_assert_msg(strstr(output, bad[_i].sentence) != NULL, "%s: %s", bad[_i].arguments, output);
    ck_assert_msg(strstr(output, "[ERR]") == NULL, "%s: libfyaml printed %s", bad[_i].arguments,
                  output);
    char *const results = dsgd_xprintf("%s/results", folder);
    /* the rejected command must not create a folder for results */
    ck_assert_int_ne(access(results, F_OK), 0);
}

/* The loop variable _i is the index of the file with the null byte. */
TEST_RANGE(text_after_null_byte_is_not_ignored, 0, 4)
{
    static const char *const files[][2] = {
        {"e.yaml", "e.yaml:9:4"},
        {"platform.yaml --set platform=./platform.yaml", "platform.yaml:1:4"},
        {"workload.yaml --set workload=./workload.yaml", "workload.yaml:1:4"},
        {"imbalance.yaml --set imbalance=./imbalance.yaml", "imbalance.yaml:1:4"},
    };
    write_experiment("# a remark\n\n");
    const int length = (int)strcspn(files[_i][0], " ");
    shell_ends(0, "printf '# a\\0b\\nbogus: 1\\n' >> %.*s", length, files[_i][0]);
    char *output = dsgd_ends(3, "check e.yaml%s", files[_i][0] + length);
    ck_assert_has(output, files[_i][1]);
    ck_assert_has(output, ": byte 0x00 is not valid UTF-8");
}

TEST_RANGE(lost_output_is_an_error, 0, 4)
{
    static const char *const commands[] = {"list algorithms", "check e.yaml", "--version",
                                           "run e.yaml -o r --only 1"};
    write_experiment("");
    char *output = shell_ends(3, "exec 2>&1 && DSGD_DATA=%s %s %s > /dev/full", DSGD_SOURCE_DIR,
                              DSGD_BINARY, commands[_i]);
    ck_assert_has(output, "dsgd: standard output could not be written: No space");
}

TEST(empty_data_folder_counts_as_missing)
{
    ck_assert_has(shell_ends(0, "DSGD_DATA= " DSGD_BINARY " list platforms"), "piz-daint");
}

/*
 * The sanitizers reserve terabytes of address space, so a limit would end programs that are built
 * with a sanitizer.
 */
#if !defined(DSGD_ADDRESS_SANITIZER) && !defined(DSGD_THREAD_SANITIZER)

/** Runs the program under a limit. @p limit is an option of bash's ulimit, such as -v. */
static int dsgd_within(const char *limit, long value, const char *arguments, char **output)
{
    return shell(dsgd_xprintf("cd %s && export DSGD_DATA=%s && exec 2>&1; ulimit -c 0; ulimit %s "
                              "%ld; timeout -k 1 20 %s %s; exit $?",
                              folder, DSGD_SOURCE_DIR, limit, value, DSGD_BINARY, arguments),
                 output);
}

/** An array with one command line for each command of the program. */
static const char *const all_commands[] = {
    "run e.yaml -o r --force",
    "check e.yaml",
    "merge q1 q2 -o m --force",
    "tune e.yaml -o t --set algorithms=ad_psgd --over 'learn.optimizer.lr=[0.1, 0.2]' --seeds 1",
    "timeline e.yaml --format text",
    "explain e.yaml --set algorithms=ad_psgd",
    "plot q throughput",
    "compare q",
    "report q -o q.html",
    "reproduce ddp-resnet50 -o f",
    "list algorithms",
    "describe algorithm allreduce",
    "test algorithm allreduce",
    "platform check idle-switch --workers 2",
    "imbalance fit s.csv",
    "import s.csv --platform idle-switch -o i.yaml --force",
    "task " DSGD_SOURCE_DIR "/docs/course/solutions/1-barrier.yaml",
};
enum { N_COMMANDS = sizeof all_commands / sizeof *all_commands };

/** Writes the input files that the command lines in all_commands need. */
static void write_for_all_commands(void)
{
    write_experiment(learn);
    shell_ends(0, "sed -i 's/^workers:.*/workers: 4/; s/{name: wagma, period: 4}, //' e.yaml; "
                  "(echo worker,step,seconds; for s in $(seq 40); do echo 0,$s,0.1$((s * 13 %% 11"
                  ")); done) > s.csv");
    dsgd_ends(0, "run e.yaml -o q");
    for (int k = 1; k <= 2; k++)
        dsgd_ends(0, "run e.yaml -o q%d --shard %d/2", k, k);
    const char *const help = dsgd_ends(0, "--help");
    for (const char *c = help; (c = strstr(c, "\n  ")) != NULL; c++) {
        size_t k = 0, n = strcspn(c + 3, " ") + 1;
        while (k < N_COMMANDS && strncmp(all_commands[k], c + 3, n) != 0)
            k++;
        ck_assert_msg(k < N_COMMANDS || !islower((unsigned char)c[3]), "none of %.20s", c + 3);
    }
}

enum { BLOCKS = 3, LOCKED = 5 };

/**
 * Options of ulimit: address space and data in KB, open files, blocks of a file, and stack and
 * locked memory in KB.
 */
static const struct {
    const char *option;
    /* first limit to test, and step to the next limit; a step of 0 means a single limit */
    long first, step;
} limits[] = {{"-v", 20000, 6000}, {"-d", 4000, 4000}, {"-n", 3, 1},
              {"-f", 0, 32},       {"-s", 128, 0},     {"-l", 0, 0}};

/**
 * Runs all commands under low limits. The lowest tested limit is the first at which `--version`
 * works, which depends on the system: below it, libraries cannot be loaded. The limit on locked
 * memory must change nothing.
 */
TEST_ROWS(low_limits_give_error_and_no_hang, limits)
{
    char *output = NULL;
    long least = limits[_i].first;
    write_for_all_commands();
    while (dsgd_within(limits[_i].option, least, "--version", &output) != 0)
        ck_assert_msg(limits[_i].step > 0 && (least += limits[_i].step) < 400000, "%s", output);
    for (size_t i = 0; i < N_COMMANDS; i++)
        for (long value = least, k = limits[_i].step == 0; k < 2;
             value += 6 * limits[_i].step, k++) {
            const int status = dsgd_within(limits[_i].option, value, all_commands[i], &output);
            ck_assert_msg(status == 0 ||
                              (_i != LOCKED && (status == 3 || status == 5) &&
                               strstr(output, _i == BLOCKS ? "File too large" : "dsgd: ")),
                          "%s, ulimit %s %ld: %d %s", all_commands[i], limits[_i].option, value,
                          status, output);
        }
}

/**
 * Tests a low limit on processes. The limit counts all processes of a user and does not apply to
 * root. The commands therefore run as a user without other processes.
 */
TEST(few_processes_give_error_and_no_hang)
{
    enum { MOST = 2 };
    static const char user[] = "setpriv --reuid 54321 --regid 54321 --clear-groups";
    char *output = NULL;
    if (geteuid() != 0 ||
        shell(dsgd_xprintf("%s prlimit --nproc=1000 %s --version 2>&1", user, DSGD_BINARY),
              &output) != 0)
        return; /* only root can change the user, and that user must be able to read the program */
    write_for_all_commands();
    shell_ends(0, "chmod -R a+rwX %s", folder);
    for (size_t i = 0; i < N_COMMANDS; i++)
        for (int n = 1; n <= MOST; n++) {
            const int status =
                shell(dsgd_xprintf("cd %s && export DSGD_DATA=%s && exec 2>&1; ulimit -c 0; exec "
                                   "timeout -k 1 20 %s "
                                   "prlimit --nproc=%d %s %s",
                                   folder, DSGD_SOURCE_DIR, user, n, DSGD_BINARY, all_commands[i]),
                      &output);
            ck_assert_msg(status == 0 || ((status == 3 || status == 5) && strstr(output, "dsgd: ")),
                          "%s, ulimit -u %d: %d %s", all_commands[i], n, status, output);
        }
}

TEST(low_cpu_limit_gives_error)
{
    static const char *const all[] = {"run e.yaml -o r", "timeline e.yaml --steps 99990:99991"};
    char *output = NULL;
    write_experiment("network: simgrid\n");
    for (size_t i = 0; i < 2; i++) {
        const char *const more = " --set workers=256 --set algorithms=d_psgd --set until.steps=1e5";
        ck_assert_int_eq(dsgd_within("-t", 2, dsgd_xprintf("%s%s", all[i], more), &output), 5);
        ck_assert_has(output, "the limit of CPU time is reached (ulimit -t)");
    }
}
#endif

TEST(results_folder_is_not_a_command)
{
    write_experiment("");
    dsgd_ends(0, "run e.yaml -o '|touch pwned;'");
    dsgd_ends(0, "plot '|touch pwned;'");
    ck_assert_int_ne(access(dsgd_xprintf("%s/pwned", folder), F_OK), 0);
    const char *const figure = dsgd_xprintf("%s/|touch pwned;/figures/time.svg", folder);
    ck_assert_int_eq(access(figure, F_OK), 0);
}

static const struct {
    const char *bandwidth, *latency, *speed, *sentence;
} bad_xml[] = {
    {"1GBps", "1us", "1Gf", NULL},
    {"1GBps", "0s", "1Gf", NULL},
    {"0Bps", "1us", "1Gf",
     "p.xml: the bandwidth of link wire must be greater than 0 and finite, got 0 B/s"},
    {"-1GBps", "1us", "1Gf", "finite, got -1e+09 B/s"},
    {"nanBps", "1us", "1Gf", "finite, got nan B/s"},
    {"infBps", "1us", "1Gf", "finite, got inf B/s"},
    {"1GBps", "nans", "1Gf",
     "p.xml: the latency of link wire must be at least 0 and finite, got nan s"},
    {"1GBps", "-1us", "1Gf", "finite, got -1e-06 s"},
    {"1GBps", "infs", "1Gf", "finite, got inf s"},
    {"1GBps", "1us", "0f",
     "p.xml: the speed of host b must be greater than 0 and finite, got 0 flop/s"},
    {"1GBps", "1us", "nanf", "finite, got nan flop/s"},
};

/**
 * Tests values in a platform file that SimGrid accepts, but that would end the run or let messages
 * take no time.
 */
TEST_ROWS(values_of_an_xml_platform_are_checked, bad_xml)
{
    write_file("e.yaml", "platform: p.xml\nworkload: {bytes: 1M, step: 1s, samples: 1}\n"
                         "workers: 2\nalgorithms: allreduce\nuntil: {steps: 1}\n");
    write_file(
        "p.xml",
        dsgd_xprintf("<?xml version='1.0'?><!DOCTYPE platform SYSTEM "
                     "\"https://simgrid.org/simgrid.dtd\">\n<platform version=\"4.1\"><zone "
                     "id=\"z\" routing=\"Full\"><host id=\"a\" speed=\"1Gf\"/><host id=\"b\" "
                     "speed=\"%s\"/><link id=\"wire\" bandwidth=\"%s\" latency=\"%s\"/><route "
                     "src=\"a\" dst=\"b\"><link_ctn id=\"wire\"/></route></zone></platform>\n",
                     bad_xml[_i].speed, bad_xml[_i].bandwidth, bad_xml[_i].latency));
    static const char *const commands[] = {"check e.yaml", "run e.yaml -o r",
                                           "platform check p.xml"};
    for (size_t i = 0; i < 3; i++) {
        char *output = NULL;
        const int status = dsgd(commands[i], &output);
        const char *const sentence = bad_xml[_i].sentence;
        ck_assert_msg(status == (sentence == NULL ? 0 : 2), "%s: %d, %s", commands[i], status,
                      output);
        ck_assert_msg(sentence == NULL || strstr(output, sentence) != NULL, "%s", output);
    }
}

/**
 * Tests the numbers that `platform check` prints for a shipped platform, for a YAML file whose
 * islands contain two hosts, and for a SimGrid file.
 */
TEST(platform_check_compares_numbers)
{
    write_file("p.yaml",
               "{topology: switch, host_bandwidth: 10GB/s, host_latency: 1us, island_hosts: 2, "
               "island_bandwidth: 100GB/s, island_latency: 200ns, message_overhead: 1us, "
               "reduction: 1e-10}\n");
    char *output = dsgd_ends(0, "platform check piz-daint --workers 48");
    ck_assert_has(output, "allreduce of 1 B, bruck");
    ck_assert_has(output, "\n0 of the simulated values differ");
    output = dsgd_ends(0, "platform check p.yaml --workers 8");
    static const char *const lines[] = {
        "p.yaml, 8 workers",
        "1 B from host 0 to 1                         0.2 us        0.2 us    1.00",
        "16 MiB from host 0 to 2                    9.994 GB/s    9.994 GB/s  1.000",
        "bisection, each direction, per host        4.999 GB/s    4.999 GB/s  1.000",
        /*
         * the time consists of three overheads of 1 us, and of latencies of 0.2 us, 1 us and 1 us
         */
        "allreduce of 1 B, recursive doubling           -         5.201 us\n",
        /*
         * the allreduce has one round of 11 ms within an island, and two rounds of 30 ms between
         * islands
         */
        "allreduce of 100 MB, recursive doubling        -         71.01 ms\n",
        "\n0 of the simulated values differ from the closed form by more than 10 %.",
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        ck_assert_has(output, lines[i]);
    write_file("p.xml",
               "<?xml version='1.0'?><!DOCTYPE platform SYSTEM "
               "\"https://simgrid.org/simgrid.dtd\">\n<platform version=\"4.1\"><cluster "
               "id=\"c\" prefix=\"n\" suffix=\"\" radical=\"0-10\" speed=\"1Gf\" bw=\"1GBps\" "
               "lat=\"1us\" sharing_policy=\"SPLITDUPLEX\"/></platform>\n");
    output = dsgd_ends(0, "platform check p.xml");
    ck_assert_has(output, "1 B from host 0 to 7                           -         2.001 us\n");
    ck_assert_ptr_null(strstr(output, "differ"));
    /*
     * The check uses only hosts that exist. Region a has two of four host numbers, so the third
     * host is the first host of region b, which has the number 4.
     */
    write_file("r.yaml", "topology: groups\ngroup_hosts: 4\nregions: [{name: a, hosts: 2}, {name: "
                         "b, hosts: 1}]\nroutes: [{from: a, to: b, latency: 1ms}]\n");
    output = dsgd_ends(0, "platform check r.yaml --workers 2");
    ck_assert_has(output, "1 B from host 0 to 4                        1001 us       1001 us ");
    ck_assert_has(output, "\n0 of the simulated values differ");
    write_file("r.yaml", "topology: groups\ngroup_hosts: 8\nregions: [{name: a, hosts: 2}, {name: "
                         "b, hosts: 2}]\nroutes: [{from: a, to: b, latency: 1ms}]\n");
    output = dsgd_ends(0, "platform check r.yaml");
    ck_assert_has(output, "r.yaml, 4 workers");
    ck_assert_has(output, "allreduce of 1 B, recursive doubling           -          1002 us\n");
    ck_assert_has(output, "\n0 of the simulated values differ");
    /*
     * In this fat tree, routes from four switches to the three switches above them collide. The
     * prediction of the bisection bandwidth includes these collisions.
     */
    write_file("f.yaml", "{topology: fat_tree, size: [4, 4, 4], up: [1, 3, 2], host_bandwidth: "
                         "10GB/s, host_latency: 2us}\n");
    output = dsgd_ends(0, "platform check f.yaml");
    ck_assert_has(output,
                  "bisection, each direction, per host        3.329 GB/s    3.329 GB/s  1.000");
    ck_assert_has(output, "\n0 of the simulated values differ");
}

TEST(damaged_data_is_rejected_with_reason)
{
    write_experiment("learn: {model: logreg, data: {name: idx, train_images: cut, train_labels: "
                     "cut, test_images: cut, test_labels: cut}, optimizer: {lr: 0.1}}\n");
    write_file("cut", "abc");
    char *output = dsgd_ends(3, "run e.yaml");
    ck_assert_int_ne(access(dsgd_xprintf("%s/results", folder), F_OK), 0);
    ck_assert_has(output, "the file ends within its header");
}

/** Text of a file of edges, the exit status, and the message. */
static const struct {
    const char *file;
    int status;
    const char *sentence;
} edge_files[] = {
    {"0 1\n1 2 # a remark\n\n# another\n2,3\r\n3 0", 0, "1 run"},
    {"0 1\n1 x\n", 2, "graph:2: expected two whole numbers, got `1 x`"},
    {"0 1\n1 2 3\n", 2, "graph:2: expected two whole numbers, got `1 2 3`"},
    {"0 1\n1\n", 2, "graph:2: expected two whole numbers, got `1`"},
    {"0 1\n1 nan\n", 2, "graph:2:"},
    {"0 1\n1 -2\n", 2, "graph:2:"},
    {"0 1\n1 0x2\n2 3\n", 2, "graph:2: expected two whole numbers, got `1 0x2`"},
    {"0 1\n1 0X2\n2 3\n", 2, "graph:2: expected two whole numbers, got `1 0X2`"},
    {"0 1\n1 2e0\n2 3\n", 0, "1 run"},
    {"0 1\n1 1e300\n", 2, "graph:2:"},
    {"# nothing\n", 2, "no path leads from worker 0 to 1"},
    {"0 0\n", 2, "connects a worker to itself"},
};

TEST_ROWS(edges_are_read_from_file, edge_files)
{
    write_experiment("");
    write_file("graph", edge_files[_i].file);
    ck_assert_has(dsgd_ends(edge_files[_i].status, "%s", EDGES("graph")), edge_files[_i].sentence);
}

TEST(labels_and_optimizers_belong_to_one_algorithm)
{
    write_experiment(learn);
    dsgd_ends(0, "run e.yaml -o r --set workers=4 --set algorithms='[allreduce, {name: "
                 "allreduce, label: hot, optimizer: {lr: 0.05}}]'");
    ck_assert_has(read_file("r/runs.csv"), "\n2,hot,4,1,");
    const char *const manifest = read_file("r/manifest.json");
    ck_assert_has(manifest, "\"lr\": 0.02");
    ck_assert_has(manifest, "\"lr\": 0.05");
    ck_assert_has(manifest, "\"label\": \"hot\"");
}

TEST(options_that_need_values_are_rejected_without_them)
{
    static const char *const refused[][2] = {
        {"--numerics off --set until.accuracy=0.5", "accuracy needs numerics"},
        {"--numerics cuda --set learn.precision=double", "Use precision: float or --numerics cpu"},
    };
    write_experiment(learn);
    dsgd_ends(0, "check e.yaml --set until.accuracy=0.5");
    for (int i = 0; i < 4; i++) {
        ck_assert_has(dsgd_ends(2, "%s e.yaml %s", i % 2 == 0 ? "check" : "run", refused[i / 2][0]),
                      refused[i / 2][1]);
    }
    ck_assert_int_ne(access(dsgd_xprintf("%s/results", folder), F_OK), 0);
}

TEST(cuda_without_a_device_exits_with_4)
{
    if (access("/dev/nvidiactl", F_OK) == 0)
        return; /* a machine with a GPU does not give this error */
    write_experiment(learn);
    ck_assert_has(dsgd_ends(4, "run e.yaml --numerics cuda"), "CUDA");
    ck_assert_int_ne(access(dsgd_xprintf("%s/results", folder), F_OK), 0);
}

TEST(unwritable_folder_is_rejected)
{
    write_experiment("");
    write_file("occupied", "mine");
    ck_assert_has(dsgd_ends(3, "run e.yaml -o occupied"), "occupied");
    ck_assert_str_eq(read_file("occupied"), "mine");
}
