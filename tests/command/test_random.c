/**
 * @file test_random.c
 * Tests random experiments. An experiment that the program accepts must fulfil all laws in
 * tests/random/laws.h. Each version of the program tests other experiments. The command
 * `dsgd_random FIRST COUNT` tests more experiments, and minimises those that break a law.
 */
#include <check.h>

#include "base/status.h"
#include "tests/command/shell.h"
#include "tests/random/draw.h"
#include "tests/random/laws.h"
#include "tests/support/suite.h"

enum { EXPERIMENTS = SUPPORT_SLOW ? 4 : 20 };

/** Returns the number of the first experiment, which depends on the version: 10203000 for 1.2.3. */
static uint64_t first(void)
{
    uint64_t seed = 0;
    for (const char *c = DSGD_VERSION; *c != '\0'; c += strcspn(c, "."), c += *c == '.')
        seed = 100 * seed + strtoull(c, NULL, 10);
    return 1000 * seed;
}

SUITE(random, "experiments", .set_up = make_folder, .tear_down = remove_folder, .seconds = 300);

TEST_RANGE(random_experiment_is_rejected_or_obeys_laws, 0, EXPERIMENTS)
{
    char *why = NULL;
    uint64_t seed = first() + 50 * (uint64_t)_i;
    verdict v = REFUSED;
    part experiment = part_empty(NULL, MAPPING);
    /* if the experiment is rejected, the loop tries the next number */
    for (; v == REFUSED; seed++) {
        experiment = random_experiment(seed);
        v = laws_check(folder, &experiment, &why);
    }
    if (v == BROKEN) {
        laws_shrink(folder, &experiment, &why);
        part_write(&experiment, stderr);
    }
    ck_assert_msg(v == HOLDS, "seed %llu: %.1000s", (unsigned long long)seed - 1, why);
}

TEST(seed_determines_experiment)
{
    char *texts[3];
    for (uint64_t i = 0; i < 3; i++) {
        size_t n = 0;
        FILE *const stream = open_memstream(&texts[i], &n);
        part experiment = random_experiment(7 + i / 2);
        part_write(&experiment, stream);
        fclose(stream);
        dsgd_keep_for(free, texts[i]);
    }
    ck_assert_str_eq(texts[0], texts[1]);
    ck_assert_str_ne(texts[1], texts[2]);
}

TEST(rejected_experiment_has_reason)
{
    part experiment = part_empty(NULL, MAPPING);
    part_set(&experiment, "workers", "4");
    char *why = NULL;
    ck_assert_int_eq(laws_check(folder, &experiment, &why), REFUSED);
    ck_assert_has(why, "platform is missing");
}

/**
 * A script that imitates a faulty program. With three threads and the key `imbalance`, it adds a
 * line to curves.csv.
 */
static const char faulty[] = "#!/bin/sh\n"
                             "" DSGD_BINARY " \"$@\" || exit\n"
                             "case \"$*\" in *'--threads 3'*) grep -q ^imbalance a.yaml && "
                             "echo 1 >> b/curves.csv;; esac\n"
                             "exit 0\n";

TEST(counterexample_is_minimized)
{
    static const char *const keys[] = {"platform", "workload", "workers", "algorithms", "until"};
    char *why = NULL;
    write_file("faulty", faulty);
    shell_ends(0, "chmod +x %s/faulty", folder);
    setenv("DSGD_PROGRAM", dsgd_xprintf("%s/faulty", folder), 1);
    part experiment = part_empty(NULL, MAPPING);
    uint64_t seed = first();
    do {
        experiment = random_experiment(seed++);
    } while (laws_check(folder, &experiment, &why) != BROKEN);
    ck_assert_msg(strncmp(why, "threads: ", 9) == 0, "%s", why);
    laws_shrink(folder, &experiment, &why);
    ck_assert_msg(strncmp(why, "threads: ", 9) == 0, "%s", why);
    for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++)
        ck_assert_msg(part_find(&experiment, keys[k]) != NULL, "no %s", keys[k]);
    ck_assert_ptr_nonnull(part_find(&experiment, "imbalance"));
    /* after minimising, only the keys that cause the failure remain, and perhaps `learn` */
    ck_assert_uint_le(experiment.n, 7);
}
