/**
 * @file test.c
 * Implements `dsgd test`. It runs the checks of sim/conformance/ on algorithms of the program or of
 * plug-ins.
 */
#include "command/console/arguments.h"
#include "command/console/command.h"
#include "command/console/table.h"
#include "command/experiment/plugin.h"
#include "sim/conformance/conformance.h"
#include "sim/network/cluster.h"
#include "sim/registry.h"

typedef struct arguments {
    dsgd_operands words;
    dsgd_texts plugins;
    int network; /* network model, a value of dsgd_network_kind */
} arguments;

static const dsgd_argument test_options[] = {
    DSGD_ARGUMENT_PLUGIN,
    DSGD_ARGUMENT(WORD, network, "network", 0, "NETWORK",
                  "Network model: flows or simgrid [default: flows]", .words = dsgd_network_names),
    {.name = NULL}};

enum { LIMIT_S = 20, INDENT = 10 };

static const char *const verdicts[DSGD_N_VERDICTS] = {"ok", "FAILED", "skipped"};

/** Prints the result of a check as soon as the check has ended. */
static void print_check(const dsgd_check *check, void *argument)
{
    (void)argument;
    char *text = dsgd_xstrdup(check->subject);
    if (check->verdict == DSGD_CHECK_PASSED)
        dsgd_append(&text, ", %s, with %s workers",
                    check->options[0] == '\0' ? "by default" : check->options, check->workers);
    else
        dsgd_append(&text, ": %s", check->why);
    dsgd_print_wrapped(stdout, verdicts[check->verdict], INDENT, DSGD_TEXT_WIDTH, text);
    fflush(stdout);
}

static const dsgd_algorithm *find(const char *name, dsgd_error *error)
{
    const dsgd_entry *const about = dsgd_entry_find(dsgd_algorithms, name);
    if (about == NULL)
        dsgd_refuse(error,
                    "unknown algorithm `%s`%s; see `dsgd list algorithms`, or load a plug-in with "
                    "--plugin FILE",
                    name, dsgd_hint(name, dsgd_entry_names(dsgd_algorithms)));
    return (const dsgd_algorithm *)about;
}

static dsgd_status test(int count, char **words, dsgd_error *error)
{
    static const dsgd_syntax syntax = {
        "algorithm NAME...",
        "Tests algorithms one after another, each with several values of its options: whether they "
        "keep the laws that they declare, end, give the same results twice, learn, and do not "
        "deadlock.",
        2,
        SIZE_MAX,
        "test: expected `algorithm` and a name, such as `dsgd test algorithm wagma`; see `dsgd "
        "list "
        "algorithms`",
        test_options};
    arguments a = {.words = {0, NULL}};
    DSGD_TRY(dsgd_parse(count, words, &syntax, &a, error));
    DSGD_TRY(dsgd_plugins_load(&a.plugins, error));
    if (strcmp(a.words.v[0], "algorithm") != 0 && strcmp(a.words.v[0], "algorithms") != 0)
        return dsgd_refuse(error, "test: cannot test `%s`; use `dsgd test algorithm NAME`",
                           a.words.v[0]);
    for (size_t i = 1; i < a.words.n; i++)
        if (find(a.words.v[i], error) == NULL)
            return DSGD_EUSAGE;
    const dsgd_conformance how = {.numerics = DSGD_NUMERICS_CPU,
                                  .network = a.network,
                                  .in_double = true,
                                  .limit_s = LIMIT_S,
                                  .report = print_check};
    size_t failed = 0;
    for (size_t i = 1; i < a.words.n; i++) {
        size_t n[DSGD_N_VERDICTS];
        printf("%s%s:\n", i == 1 ? "" : "\n", a.words.v[i]);
        dsgd_conformance_check(find(a.words.v[i], NULL), &how, n);
        printf("%zu checks of %s: %zu ok, %zu failed, %zu skipped\n",
               n[DSGD_CHECK_PASSED] + n[DSGD_CHECK_FAILED] + n[DSGD_CHECK_LEFT_OUT], a.words.v[i],
               n[DSGD_CHECK_PASSED], n[DSGD_CHECK_FAILED], n[DSGD_CHECK_LEFT_OUT]);
        failed += n[DSGD_CHECK_FAILED];
    }
    return failed == 0 ? DSGD_OK : dsgd_fail(error, DSGD_ERUNS, "%zu checks failed", failed);
}

const dsgd_command dsgd_command_test = {
    .name = "test",
    .usage = "algorithm NAME...",
    .summary = "tests an algorithm of the program or of a plug-in",
    .run = test,
};
