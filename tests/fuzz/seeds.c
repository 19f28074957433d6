/**
 * @file seeds.c
 * Implements `fuzz_seeds FOLDER`, which writes the files of each target to FOLDER/TARGET/... The
 * files are from this tree, or are shipped with the program. The program also writes
 * FOLDER/dictionary.
 */
#include "base/csv.h"
#include "base/file.h"
#include "tests/fuzz/targets.h"

static void write_file(const char *path, const void *bytes, size_t n)
{
    FILE *const stream = fopen(path, "wb");
    DSGD_ASSERT(stream != NULL && fwrite(bytes, 1, n, stream) == n && fclose(stream) == 0,
                "%s cannot be written", path);
}

static void copy(const fuzz_target *target, const char *from, void *folder)
{
    static size_t number;
    char *text = NULL;
    size_t n = 0;
    dsgd_error error;
    DSGD_ASSERT(dsgd_file_read(from, &text, &n, &error) == DSGD_OK, "%s", error.text);
    char *const to = dsgd_xprintf("%s/%s/%zu", (const char *)folder, target->name, number++);
    write_file(to, text, n);
}

int main(int count, char **arguments)
{
    if (count != 2) {
        fputs("usage: fuzz_seeds FOLDER\n", stderr);
        return EXIT_FAILURE;
    }
    dsgd_error error;
    for (const fuzz_target *t = fuzz_targets; t->name != NULL; t++) {
        DSGD_ASSERT(dsgd_make_folder(&error, "%s/%s", arguments[1], t->name) == DSGD_OK, "%s",
                    error.text);
        fuzz_each_file(t, copy, arguments[1]);
    }
    char *const path = dsgd_xprintf("%s/dictionary", arguments[1]);
    FILE *const stream = fopen(path, "w");
    DSGD_ASSERT(stream != NULL, "%s cannot be written", path);
    fuzz_print_dictionary(stream);
    fclose(stream);
    return EXIT_SUCCESS;
}
