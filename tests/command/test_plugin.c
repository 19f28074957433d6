/**
 * @file test_plugin.c
 * Tests plug-ins in the way in which their authors use them. The tests install this build, and
 * build the template with only the installation. The installed program then lists, describes, tests
 * and runs the plug-in. Files that are not plug-ins are rejected.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "base/status.h"
#include "tests/support/suite.h"

/**
 * A folder for all tests of the suite. It contains the installation in usr/ and the author's
 * project in mine/.
 */
static char folder[] = "/tmp/dsgd-plugin-XXXXXX";

/**
 * Runs a shell command in the folder, stores its output in *output, and returns the exit status.
 * The caller frees the output.
 */
static int shell(const char *command, char **output)
{
    char *const there = dsgd_xprintf("exec 2>&1; cd %s && %s", folder, command);
    FILE *const stream = popen(there, "r");
    ck_assert_ptr_nonnull(stream);
    size_t room = 0;
    *output = NULL;
    /* If the output is empty, getdelim() allocates a buffer but writes nothing to it. */
    if (getdelim(output, &room, '\0', stream) < 0)
        **output = '\0';
    const int state = pclose(stream);
    ck_assert_msg(WIFEXITED(state), "%s: %s", command, *output);
    return WEXITSTATUS(state);
}

/**
 * Checks that a command ends with @p status, and that its output contains @p sentence, which may be
 * NULL.
 */
static void expect(const char *command, int status, const char *sentence)
{
    char *output = NULL;
    const int got = shell(command, &output);
    ck_assert_msg(got == status, "%s: exit %d, not %d: %s", command, got, status, output);
    ck_assert_msg(sentence == NULL || strstr(output, sentence) != NULL, "%s: no `%s` in: %s",
                  command, sentence, output);
    free(output);
}

/** A command that builds plug-ins as the manual describes, with the compiler of this build. */
#define BUILD_OF(source, build)                                                                    \
    DSGD_CMAKE " -G Ninja -S " source " -B " build " -D CMAKE_PREFIX_PATH=$PWD/usr"                \
               " -D CMAKE_C_COMPILER=" DSGD_C_COMPILER                                             \
               " -D CMAKE_C_FLAGS='-Wall -Wextra -Wpedantic -Werror' && " DSGD_CMAKE               \
               " --build " build
#define BUILD BUILD_OF("mine", "mine/build") /* the command that builds mine/my_algorithm.c */

static void install_and_build(void)
{
    ck_assert_ptr_nonnull(mkdtemp(folder));
    unsetenv("DSGD_DATA"); /* the program must find its installed files without this variable */
    unsetenv("DESTDIR");
    unsetenv("DSGD_CUDA_MODULE");
    expect(DSGD_CMAKE " --install " DSGD_BINARY_DIR " --prefix usr", 0, NULL);
    expect("test -z \"$DSGD_TEST_BINARY\" || cp \"$DSGD_TEST_BINARY\" usr/bin/dsgd", 0, NULL);
    expect("cp -r usr/share/dsgd/template mine", 0, NULL);
    expect("cp mine/my_algorithm.c template.c && " BUILD, 0, NULL);
    expect("cp mine/build/my_algorithm.so .", 0, NULL);
}

static void remove_folder(void)
{
    char *const command = dsgd_xprintf("rm -rf %s", folder);
    ck_assert_int_eq(system(command), 0);
}

SUITE(plugin, "plugin", .seconds = 120, .set_up = install_and_build, .tear_down = remove_folder,
      .once = true);

TEST(the_template_is_short)
{
    expect("test $(wc -l < template.c) -le 60", 0, NULL);
}

TEST(a_plug_in_is_listed_and_described_like_the_others)
{
    expect("usr/bin/dsgd list algorithms | cut -d ' ' -f 1 | grep . > names &&"
           " echo doubling >> names && usr/bin/dsgd list algorithms --plugin my_algorithm.so |"
           " cut -d ' ' -f 1 | grep . | diff names -",
           0, NULL);
    expect("usr/bin/dsgd describe --plugin ./my_algorithm.so algorithm doubling", 0,
           "period             4 (steps), from 1 to 1000000000");
    expect("usr/bin/dsgd describe algorithm doubling", 2, "unknown algorithm `doubling`");
}

/**
 * An experiment with the plug-in, whose period doubles after each average. Within 10 steps it
 * averages after steps 3 and 9.
 */
static const char experiment[] = "platform: idle-switch\n"
                                 "workload: {bytes: 1M, step: 100ms, samples: 8}\n"
                                 "workers: 4\n"
                                 "algorithms: [allreduce, {name: doubling, period: 3}]\n"
                                 "until: {steps: 10}\n";

TEST(a_plug_in_runs)
{
    char *const command = dsgd_xprintf("printf '%%s' '%s' > e.yaml", experiment);
    expect(command, 0, NULL);
    expect("usr/bin/dsgd check e.yaml", 2, "unknown algorithm `doubling`");
    expect("usr/bin/dsgd check e.yaml --plugin my_algorithm.so", 0, "2 runs");
    expect("usr/bin/dsgd explain doubling --plugin ./my_algorithm.so --steps 2", 0,
           "Worker 3 is slow.");
    expect("usr/bin/dsgd run e.yaml -o r --plugin my_algorithm.so", 0, "2 of 2 runs");
    expect("cat r/runs.csv", 0, "\n2,doubling,4,1,idle-switch,inline,ok,10,");
    expect("cat r/manifest.json", 0, "--plugin my_algorithm.so");
    /* An allreduce after each of ten steps sends five times as many bytes as two averages. */
    expect("awk -F, '/,allreduce,/ {all = $20} /,doubling,/ {two = $20}"
           " END {print all / two}' r/runs.csv",
           0, "5\n");
}

/**
 * Tests a plug-in in which only worker 0 calls the allreduce. The other workers finish all steps,
 * so worker 0 waits for ever.
 */
TEST(plug_in_that_hangs_fails_and_reports_waiting_workers)
{
    expect(
        "sed -e 's/dsgd_allreduce_mean(self, x, DSGD_WORLD);/if (self->rank == 0) &/' template.c >"
        " mine/my_algorithm.c && ! cmp -s template.c mine/my_algorithm.c && " BUILD,
        0, NULL);
    expect("usr/bin/dsgd run e.yaml -o h --plugin mine/build/my_algorithm.so > said 2>&1;"
           " test $? = 5 && ! grep Oops said && tr -s '\\n ' ' ' < said",
           0,
           "run 2 failed: a worker hung at 1.3 s: worker 0 waits in dsgd_allreduce_mean (its 1st "
           "collective) for workers 1, 2 and 3 since 0.3 s");
    expect("cut -d, -f 2-9 h/runs.csv", 0, "\ndoubling,4,1,idle-switch,inline,failed,");
}

/**
 * Tests a plug-in with an endless loop in the ninth step of a worker, which stops virtual time. The
 * program ends this run and completes the other run.
 */
TEST(an_endless_loop_of_a_plug_in_is_ended)
{
    expect("sed -e 's/dsgd_allreduce_mean(self, x, DSGD_WORLD);/for (volatile int i = 0; "
           "self->step == 8;) "
           "i++;/' template.c > mine/my_algorithm.c && ! cmp -s template.c mine/my_algorithm.c "
           "&& " BUILD,
           0, NULL);
    expect("usr/bin/dsgd run e.yaml -o l --stall 500ms --plugin mine/build/my_algorithm.so > said "
           "2>&1; test $? = 5 && tr -s '\\n ' ' ' < said",
           0,
           "run 2 failed: no step, message or computation ended in 0.5 s of CPU time (--stall): an "
           "endless loop; it had reached 0.8 virtual seconds and 7.25 steps, 72 %");
    expect("cut -d, -f 2-9 l/runs.csv", 0, ",inline,ok,10,");
    expect("cut -d, -f 2-9 l/runs.csv", 0, "\ndoubling,4,1,idle-switch,inline,failed,7.25,0.7999");
}

/** A command that tests an algorithm, and prints each paragraph of the output in one line. */
#define TESTED(name, plug_in)                                                                      \
    "usr/bin/dsgd test algorithm " name " --plugin " plug_in                                       \
    " > tested 2>&1; status=$?; tr -s ' \\n' ' ' < tested; exit $status"

TEST(the_template_passes_its_checks)
{
    expect(TESTED("doubling", "my_algorithm.so"), 0,
           "ok law KEEPS_MEAN, period=1, with 2, 3, 4, 6, 7, 8, 16 ");
    expect("tail -n 1 tested", 0, " 0 failed, 0 skipped");
}

/* --- Tests of shipped examples and of rejected plug-ins --------------------------------------- */

TEST(the_examples_are_short_and_pass_their_checks)
{
    expect("wc -l usr/share/dsgd/roles/*.c | awk '$1 > 130 && $2 != \"total\"'"
           " | (! grep .)",
           0, NULL);
    expect(BUILD_OF("usr/share/dsgd/roles", "roles"), 0, NULL);
    expect("$(dirname " DSGD_CMAKE ")/ctest --test-dir roles", 0,
           "100% tests passed, 0 tests failed out of 3");
}

/**
 * Tests the numbers of messages of the shipped examples. The workers make 800 steps, which are 160
 * rounds of 5 steps of one trainer. In federated learning, the server sends a model to half of the
 * trainers per round and gets a model from each of them. The invitations to the last round are
 * additional messages. In e-tree learning, each trainer sends and receives in the same way, and 4
 * aggregators do so in 20 rounds. In gossip learning, each round sends one model and never waits.
 */
TEST(examples_send_the_messages_of_their_roles)
{
    static const char example[] =
        "printf '%s\\n' 'platform: idle-switch' 'workload: {bytes: 1M, step: 100ms, samples: 8}'"
        " 'workers: 8' 'algorithms: [{name: federated, period: 5}, {name: e_tree, period: 5},"
        " {name: gossip_learning, period: 5}]' 'until: {steps: 100}' > x.yaml";
    expect(BUILD_OF("usr/share/dsgd/roles", "roles"), 0, NULL);
    expect(example, 0, NULL);
    expect("usr/bin/dsgd run x.yaml -o x --plugin roles/federated.so --plugin "
           "roles/e_tree.so --plugin roles/gossip_learning.so",
           0, "3 of 3 runs");
    expect(
        "awk -F, 'NR > 1 {printf \"%s %d %d %.2f\\n\", $2, $19, $20 / 1e6, $12 / 640}' x/runs.csv",
        0, "federated 324 324 0.50\ne_tree 400 400 1.00\ngossip_learning 160 160 1.00\n");
}

/** A flag with which faulty_plugin.c is compiled, and the exit status and message of its test. */
static const struct {
    const char *flag;
    int status;
    const char *sentence;
} tested[] = {
    {"", 0, " 0 failed, "},
    {"-D REFUSED_LAW", 5,
     "FAILED law ALLREDUCE: faulty with period=1 at P=2: faulty: period: 1, but 5 or more are "
     "needed; every P that was tried is rejected"},
    {"-D FALSE_LAW", 5,
     "FAILED law ALLREDUCE: faulty with period=7 at P=2: after step 0 worker 0 is off by "},
    {"-D CRASH", 5,
     "FAILED ends and is reproducible: faulty by default at P=1: the simulation died (Aborted)"},
    {"", 0, "ok law REACHES_MEAN, by default, with 3, 8 workers "},
    {"", 0, "ok law KEEPS_MEAN, by default, with 8 workers "},
    {"-D LAW_AT_NO_P", 5, "FAILED law ALLREDUCE: faulty: the law holds at no P that was tried"},
    {"-D STEP=UNENDED", 5,
     "FAILED ends and is reproducible: faulty by default at P=1: worker 0 leaves 20 requests "
     "that no dsgd_request_wait() completes, the first from step 0"},
    {"-D STEP=UNREAD", 5, "messages that no dsgd_recv() receives, the first from step 0"},
    {"-D STEP=EARLY", 5,
     "algorithm faulty: worker 0 sends a message without a vector in step 0 behind an update that "
     "its gradient has yet to make: send it before, or behind dsgd_wait_any() of DSGD_ON_GRADIENT"},
    {"-D STEP=READS_ANOTHERS", 5,
     "at P=2: the simulation died (Aborted): algorithm faulty: worker 1 calls dsgd_combine() in "
     "step 0 with a vector of worker 0"},
    {"-D STEP=NO_VECTOR", 5,
     "algorithm faulty: worker 0 calls dsgd_copy() in step 0 with NULL instead of a vector"},
    {"-D STEP=FORGOTTEN", 5, "the vector of a message that is no longer valid"},
    {"-D STEP=WILD", 5,
     "(Segmentation fault); a pointer is invalid, or memory of the run was freed"},
    {"-D STEP=TO_ITSELF", 5,
     "algorithm faulty: rank 0 sends a message to 0 in step 0, but others are 0 to 0"},
    {"-D STEP=OTHER_VERBS", 5, "calls dsgd_allreduce_sum in step 0"},
    {"-D STEP=MISSPELT", 3, "faulty.so: undefined symbol: dsgd_allreduce_average"},
    {"-D ROWS=NO_END", 2, "`faulty`: DSGD_OPTION_END is missing after row 1 of its options"},
    {"-D ROWS=NO_END -D ABOUT=NO_SIZE", 2,
     "`faulty`: row 1 of its options is at byte 0 of a struct of 0 bytes; "
     "DSGD_PARAMS(struct, table) sets params_size"},
    {"-D ABOUT=NO_SIZE", 2, "`faulty`: row 1 of its options is at byte 0 of a struct of 0"},
    {"-D ROWS=TWICE", 2, "`faulty`: two options are called `period`"},
    {"-D ROWS=OUT_OF_LIMITS", 2,
     "`faulty`: the default of option `period` must be between 1 and 1000, got 1001"},
    {"-D ABOUT=NO_REFERENCE", 2, "algorithm `faulty` has no reference"},
    {"-D ABOUT=NO_SUMMARY", 2, "`faulty`: it has no summary"},
};

TEST(the_template_is_tested_by_ctest)
{
    expect("cp template.c mine/my_algorithm.c && " BUILD, 0, NULL);
    expect("$(dirname " DSGD_CMAKE ")/ctest --test-dir mine/build", 0, "100% tests passed");
}

TEST_ROWS(declarations_of_a_plug_in_are_tested, tested)
{
    char *const build = dsgd_xprintf(
        DSGD_C_COMPILER " -std=c11 -shared -fPIC -I usr/include/dsgd %s"
                        " " DSGD_SOURCE_DIR "/tests/command/faulty_plugin.c -o faulty.so",
        tested[_i].flag);
    expect(build, 0, NULL);
    expect(TESTED("faulty", "faulty.so"), tested[_i].status, tested[_i].sentence);
}

/** Tests the template as C++, which only needs a cast of a void pointer. */
TEST(plug_in_can_be_written_in_cpp)
{
    if (system("command -v c++ > /dev/null") != 0)
        return;
    expect(
        "sed -e 's/= self->params/= (const doubling_params *)self->params/' template.c > t.cpp &&"
        " c++ -std=c++17 -Wall -Werror -shared -fPIC -I usr/include/dsgd t.cpp -o cpp.so",
        0, NULL);
    expect(TESTED("doubling", "cpp.so"), 0, " 0 failed, 0 skipped");
    expect("usr/bin/dsgd describe --plugin ./cpp.so algorithm doubling", 0,
           "period             4 (steps), from 1 to 1000000000");
}

TEST(the_usual_laws_need_no_more_members)
{
    expect("sed -e 's/{.option = \"period\", .value = 1}/{\"period\", 1}/' template.c > w.c &&"
           " ! cmp -s template.c w.c && " DSGD_C_COMPILER
           " -std=c11 -Wall -Wextra -Werror -shared -fPIC -I usr/include/dsgd w.c -o w.so",
           0, NULL);
}

TEST(the_last_words_of_a_plug_in_are_in_the_error)
{
    expect(DSGD_C_COMPILER " -std=c11 -shared -fPIC -I usr/include/dsgd -D CRASH " DSGD_SOURCE_DIR
                           "/tests/command/faulty_plugin.c -o faulty.so",
           0, NULL);
    expect("printf 'platform: piz-daint\\nworkload: resnet50-p100\\nworkers: 2\\n"
           "algorithms: faulty\\nuntil: {steps: 10}\\n' > died.yaml",
           0, NULL);
    expect("usr/bin/dsgd run died.yaml -o died --plugin ./faulty.so --progress off 2>&1 | tr -s "
           "'\\n ' ' '",
           0,
           "run 1 failed: the process of the run was killed by signal 6; its last line was: "
           "faulty: no table ");
}

TEST(test_rejects_an_algorithm_that_it_cannot_test)
{
    expect("usr/bin/dsgd test algorithm doubling", 2, "unknown algorithm `doubling`");
    expect("usr/bin/dsgd test algorithm", 2, "test: expected `algorithm` and a name");
    expect("usr/bin/dsgd test model mlp", 2, "test: cannot test `model`");
}

/** A sed script that makes a plug-in invalid, and the message that rejects the plug-in. */
static const struct {
    const char *change;
    const char *sentence;
} stale[] = {
    {"s/{DSGD_PLUGIN_ABI,/{42,/", "was built for interface 0000002a, but this program has "},
    {"s/{DSGD_PLUGIN_ABI,/{0,/", "was built for interface 00000000, but this program has "},
    {"s/dsgd_plugin_algorithms =/another_symbol =/", "does not export dsgd_plugin_algorithms"},
    {"s/\"doubling\"/\"wagma\"/", "algorithm `wagma` already exists"},
    {"s/\"doubling\"/\"dou,bling\"/", "must have letters, digits and _ only, got dou,bling"},
    {"s/\"doubling\"/NULL/", "digits and _ only, got no name"},
    {"s/= doubling_work/= NULL/; s/static void doubling_work/void doubling_work(dsgd_node *);\\n"
     "void doubling_work/",
     "algorithm `doubling` has no work()"},
    {"s/= doubling_work,/&.traits = DSGD_OUTPUT_SERVERS,/",
     "algorithm `doubling` has DSGD_OUTPUT_SERVERS but no serve()"},
    {"s/\"steps\",/\"steps\", NULL),/; /doubling_params, period, 4/{n;d}",
     "algorithm `doubling`: option `period` has no help"},
    {"s/\\&doubling, NULL/NULL/; s/static const dsgd_algorithm doubling/const dsgd_algorithm "
     "doubling/",
     "has no algorithms"},
};

TEST_ROWS(invalid_plug_in_is_rejected, stale)
{
    char *const change =
        dsgd_xprintf("sed -e '%s' template.c > mine/my_algorithm.c && ! cmp -s template.c "
                     "mine/my_algorithm.c && " BUILD,
                     stale[_i].change);
    expect(change, 0, NULL);
    expect("usr/bin/dsgd list algorithms --plugin mine/build/my_algorithm.so", 2,
           stale[_i].sentence);
}

/** A shell command that computes the hash of the interface for a changed copy of include/dsgd. */
#define HASH                                                                                       \
    DSGD_CMAKE " -D "                                                                              \
               "'HEADERS=base/option.h;base/status.h;models/encodings/params.h;sim/"               \
               "algorithm.h;sim/contract.h;sim/graph.h;sim/verbs/collectives.h;sim/verbs/"         \
               "point_to_point.h;sim/verbs/steps.h'"                                               \
               " -D FILE=sim/abi.h -P " DSGD_SOURCE_DIR "/sim/abi.cmake"

static const struct {
    const char *file, *change;
    bool same; /* true if the change to the headers does not affect the interface */
} headers[] = {
    {"sim/contract.h", "s/int n_workers; /long n_workers; /", false},
    {"sim/graph.h", "s/irregular;/irregular, unused;/", false},
    {"base/option.h", "s/DSGD_LINES,//", false},
    {"base/status.h", "s/DSGD_EUSAGE/DSGD_EUSE/", false},
    {"sim/contract.h", "s/^ \\* The contract/ *  The one/; s/^    /\t/", true},
};

TEST_ROWS(plug_in_of_other_headers_is_rejected, headers)
{
    char *const change =
        dsgd_xprintf("rm -rf other && cp -r usr/include/dsgd other && cd other &&"
                     " cp sim/abi.h abi.h && " HASH " && cmp abi.h sim/abi.h &&"
                     " cp %s before && sed -i -e '%s' %s && ! cmp -s before %s && " HASH
                     " && %s cmp -s abi.h sim/abi.h",
                     headers[_i].file, headers[_i].change, headers[_i].file, headers[_i].file,
                     headers[_i].same ? "" : "!");
    expect(change, 0, NULL);
    /* the plug-in has only the changed hash, because not every changed header compiles */
    expect("cp other/sim/abi.h abi.h && rm -r other && cp -r usr/include/dsgd other &&"
           " cp abi.h other/sim && " DSGD_C_COMPILER
           " -std=c11 -shared -fPIC -I other template.c -o other.so",
           0, NULL);
    expect("usr/bin/dsgd list algorithms --plugin other.so", headers[_i].same ? 0 : 2,
           headers[_i].same ? "doubling" : "other.so was built for interface ");
}

/**
 * Tests that only the option --plugin loads a plug-in. The constructor of the plug-in writes a
 * file, which shows that it was loaded.
 */
TEST(nothing_but_the_command_line_loads_a_plug_in)
{
    static const char *const commands[] = {"check e.yaml",
                                           "run e.yaml -o other",
                                           "compare tp",
                                           "report tp -o tp.html",
                                           "plot tp throughput",
                                           "merge tp -o merged",
                                           "timeline tp --format text",
                                           "explain tp",
                                           "list algorithms",
                                           "describe algorithm touching",
                                           "tune e.yaml -o tuned",
                                           "task e.yaml",
                                           "import tp -o i.yaml",
                                           "platform check touching.so",
                                           "test algorithm touching",
                                           "check e.yaml --set algorithms=./touching.so",
                                           "check e.yaml --set platform=touching.so"};
    expect("sed 's/= \"doubling\"/= \"touching\"/' template.c > mine/my_algorithm.c && printf "
           "'#include "
           "<stdio.h>\n"
           "__attribute__((constructor)) static void touch(void) { fclose(fopen(\"loaded\", "
           "\"w\")); }\n'"
           " >> mine/my_algorithm.c && sed -i 's/-std=[^ ]*//' mine/CMakeLists.txt && " BUILD
           " && cp mine/build/my_algorithm.so touching.so",
           0, NULL);
    expect(dsgd_xprintf("printf '%%s' '%s' | sed 's/doubling/touching/' > e.yaml", experiment), 0,
           NULL);
    expect("usr/bin/dsgd run e.yaml -o tp --plugin ./touching.so && rm loaded", 0, NULL);
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        expect(dsgd_xprintf(
                   "timeout 20 usr/bin/dsgd %s >said 2>&1; test $? -lt 100 && test ! -e loaded",
                   commands[i]),
               0, NULL);
}

TEST(same_plug_in_twice_is_rejected)
{
    expect("usr/bin/dsgd list algorithms --plugin my_algorithm.so --plugin my_algorithm.so", 2,
           "./my_algorithm.so: algorithm `doubling` already exists");
}

TEST(file_that_is_not_a_plug_in_is_rejected)
{
    expect("usr/bin/dsgd list algorithms --plugin template.c", 3, "template.c: ");
    expect("usr/bin/dsgd list algorithms --plugin missing.so", 3,
           "missing.so: the plug-in cannot be read: No such file");
    expect("head -c 9000 my_algorithm.so > cut.so && usr/bin/dsgd list algorithms --plugin cut.so",
           3, "cut.so: ");
    /* libc.so.6 is in the library search path, but is not a plug-in */
    expect("usr/bin/dsgd run e.yaml --plugin libc.so.6", 3,
           "libc.so.6: the plug-in cannot be read");
}

/**
 * Tests that the program exports all functions for plug-ins. A linker could omit those that no
 * built-in algorithm calls.
 */
TEST(plug_in_finds_every_verb)
{
    expect("sed -En '/^static/!s/.*\\b(dsgd_[a-z0-9_]+\\()dsgd_node.*/\\1/p'"
           " usr/include/dsgd/sim/verbs/*.h > verbs &&"
           " test $(wc -l < verbs) -ge 15 && nm -D --defined-only usr/bin/dsgd > symbols &&"
           " for verb in $(cut -d '(' -f 1 verbs) dsgd_check_power_of_two dsgd_parse_number; do"
           " grep \" T $verb$\" symbols || { echo missing: $verb; exit 1; }; done",
           0, NULL);
}

TEST(table_of_blocking_verbs_has_every_verb_once)
{
    expect("sed -En 's/.*\\bdsgd_([a-z0-9_]+)\\((const )?dsgd_node \\*self.*/\\1/p'"
           " usr/include/dsgd/sim/verbs/*.h | sort > verbs && test $(wc -l < verbs) -ge 55 &&"
           " sed -n '/^## What takes virtual time/,/^## Add one/p' " DSGD_SOURCE_DIR
           "/algorithms/README.md | grep '^| ' | grep -o '`[a-z0-9_]*`' | tr -d '`' | sort |"
           " diff verbs -",
           0, NULL);
}

TEST(data_folder_is_environment_then_installation_then_tree)
{
    expect("cd usr/share/dsgd/traces/platforms && cp idle-switch.yaml ours.yaml", 0, NULL);
    expect("usr/bin/dsgd list platforms", 0, "\nours ");
    expect("usr/bin/dsgd list figures", 0, "headline  ");
    expect("DSGD_DATA=/nowhere usr/bin/dsgd list platforms", 3, "/nowhere/traces/platforms: ");
    expect(DSGD_BINARY " list platforms", 0, "piz-daint ");
}

/**
 * Tests that a moved installation finds the CUDA module in its own folder. The module of this test
 * is the emulated one.
 */
TEST(an_installed_program_finds_its_cuda_module_wherever_it_is_moved)
{
    expect("test -e usr/bin/" DSGD_INSTALLED_MODULE "/dsgd_cuda.so", DSGD_HAS_CUDA_MODULE ? 0 : 1,
           NULL);
    expect("cp -r usr moved && mkdir -p moved/bin/" DSGD_INSTALLED_MODULE
           " && rm -f moved/bin/" DSGD_INSTALLED_MODULE "/dsgd_cuda.so"
           " && moved/bin/dsgd list devices",
           0, "this build has no module");
    if (access(DSGD_EMULATED_CUDA, R_OK) != 0)
        return; /* builds with a sanitizer have no emulated CUDA module */
    expect("cp " DSGD_EMULATED_CUDA " moved/bin/" DSGD_INSTALLED_MODULE
           "/dsgd_cuda.so && moved/bin/dsgd list devices",
           0, "an NVIDIA GPU");
}
