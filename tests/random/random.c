/**
 * @file random.c
 * The program dsgd_random checks laws with random experiments.
 *
 * dsgd_random SEED checks one random experiment, and makes it smaller if it breaks a law.
 * dsgd_random FIRST COUNT checks COUNT experiments from seed FIRST on, prints those that break a
 * law, and counts them. dsgd_random FIRST COUNT FOLDER only writes the experiments to the folder.
 * Two in three of the rejected experiments are repaired before the check.
 */
#include "base/status.h"
#include "tests/random/draw.h"
#include "tests/random/laws.h"

static void write_to(const char *folder, uint64_t seed)
{
    char *const path = dsgd_xprintf("%s/%llu.yaml", folder, (unsigned long long)seed);
    FILE *const stream = fopen(path, "we");
    DSGD_ASSERT(stream != NULL, "%s: %m", path);
    const part experiment = random_experiment(seed);
    part_write(&experiment, stream);
    DSGD_ASSERT(fclose(stream) == 0, "%s: %m", path);
}

int main(int count, char **words)
{
    const uint64_t first = count > 1 ? strtoull(words[1], NULL, 10) : 1;
    const uint64_t n = count > 2 ? strtoull(words[2], NULL, 10) : 1;
    if (count > 3) {
        for (uint64_t seed = first; seed < first + n; seed++)
            write_to(words[3], seed);
        return EXIT_SUCCESS;
    }
    size_t n_of[BROKEN + 1] = {0};
    char folder[] = "/tmp/dsgd-random-XXXXXX";
    DSGD_ASSERT(mkdtemp(folder) != NULL, "%s: %m", folder);
    for (uint64_t seed = first; seed < first + n; seed++) {
        part experiment = random_experiment(seed);
        char *why = NULL;
        if (seed % 3 != 0)
            laws_mend(folder, &experiment);
        const verdict v = laws_check(folder, &experiment, &why);
        n_of[v]++;
        if (v == REFUSED)
            printf("%llu refused: %s", (unsigned long long)seed, why);
        if (v == BROKEN) {
            if (count < 3)
                laws_shrink(folder, &experiment, &why);
            printf("%llu broken: %s\n", (unsigned long long)seed, why);
            part_write(&experiment, stdout);
        }
        fflush(stdout);
    }
    laws_tell(stdout);
    printf("%zu hold, %zu refused, %zu broken\n", n_of[HOLDS], n_of[REFUSED], n_of[BROKEN]);
    char *const command = dsgd_xprintf("rm -rf %s", folder);
    const int removed = system(command);
    return n_of[BROKEN] == 0 && removed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
