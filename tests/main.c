/**
 * @file main.c
 * Runs the suites that are named on the command line, or all suites. Fails if no test ran, because
 * Check would call that a success. Returns 77 ("skipped") if the tests must run on a CUDA device
 * and there is none.
 */
#include "base/program.h"
#include "tests/suites.h"
#include "tests/support/support.h"

enum { SKIPPED = 77 };

#ifdef DSGD_ADDRESS_SANITIZER
/* Suppresses reports of leaks within SimGrid. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libsimgrid\n";
}
#endif

static const struct {
    const char *name;
    Suite *(*suite)(void);
} suites[] = {
#define X(name) {#name, name##_suite},
    DSGD_SUITES(X)
#undef X
};

static bool wanted(const char *name, int count, char **arguments)
{
    for (int i = 1; i < count; i++)
        if (strcmp(arguments[i], name) == 0)
            return true;
    return count == 1;
}

int main(int count, char **arguments)
{
    dsgd_program_begin();
    dsgd_error error = {""};
    if (support_numerics() == DSGD_NUMERICS_CUDA && dsgd_device_cuda_try(NULL, &error) != DSGD_OK) {
        fprintf(stderr, "skipped: %s\n", error.text);
        return SKIPPED;
    }
    if (!support_keep_data())
        return EXIT_FAILURE;
    SRunner *runner = srunner_create(NULL);
    for (size_t i = 0; i < sizeof suites / sizeof suites[0]; i++)
        if (wanted(suites[i].name, count, arguments))
            srunner_add_suite(runner, suites[i].suite());
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    const int run = srunner_ntests_run(runner);
    srunner_free(runner);
    if (run == 0)
        fputs("no test ran: is the name of the suite right?\n", stderr);
    return failed == 0 && run > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
