/**
 * @file test_fuzz.c
 * Passes each file of a target to the target. The target gets the whole file, and copies that are
 * shortened or have changed bytes. Inputs that once crashed the program must not crash it again.
 * The suite does not need libFuzzer.
 */
#include "base/file.h"
#include "tests/fuzz/targets.h"
#include "tests/support/suite.h"

/** Largest number of damaged copies of a file. Large files have fewer copies. */
enum { MOST_COPIES = 8, MOST_BYTES = 20000 };

/**
 * Changes one byte. In every second copy, also removes all bytes after the changed byte. Returns
 * the new length.
 */
static size_t damage(uint8_t *bytes, size_t n, uint64_t seed)
{
    const uint64_t drawn = (seed + 1) * 0x9e3779b97f4a7c15u;
    const size_t place = (drawn >> 16) % n;
    bytes[place] = (uint8_t)(drawn >> 8);
    return seed % 2 == 0 ? n : place + 1;
}

static void feed_file(const fuzz_target *target, const char *path, void *n_files)
{
    char *text = NULL;
    size_t n = 0;
    dsgd_error error = {""};
    ck_assert_msg(dsgd_file_read(path, &text, &n, &error) == DSGD_OK, "%s", error.text);
    mark_point();
    target->feed((const uint8_t *)text, n);
    for (uint64_t k = 0; n > 0 && k * n < MOST_BYTES && k < MOST_COPIES; k++) {
        uint8_t *const copy = dsgd_xcalloc(n, 1);
        memcpy(copy, text, n);
        target->feed(copy, damage(copy, n, k));
        free(copy);
    }
    ++*(size_t *)n_files;
}

static int n_targets(void)
{
    int n = 0;
    while (fuzz_targets[n].name != NULL)
        n++;
    return n;
}

SUITE(fuzz, "files", .seconds = 120);

TEST_RANGE(every_file_and_its_damaged_copies_are_handled, 0, n_targets())
{
    size_t n_files = 0;
    fuzz_targets[_i].feed((const uint8_t *)"", 0);
    fuzz_each_file(&fuzz_targets[_i], feed_file, &n_files);
    ck_assert_msg(n_files > 0, "%s has no files", fuzz_targets[_i].name);
}

TEST(dictionary_contains_keys_names_and_suffixes)
{
    char *text = NULL;
    size_t n = 0;
    FILE *const stream = open_memstream(&text, &n);
    fuzz_print_dictionary(stream);
    fclose(stream);
    ck_assert_has(text, "\"host_bandwidth: \"\n");
    ck_assert_has(text, "\"wagma\"\n");
    ck_assert_has(text, "\"GB/s\"\n");
    /* `µs` is escaped, because libFuzzer reads only ASCII. */
    ck_assert_has(text, "\"\\xC2\\xB5s\"\n");
    free(text);
}
