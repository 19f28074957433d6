/**
 * @file test_faults.c
 * A sample of what dsgd_faults tries: calls that fail, kills at random moments; closed terminals
 * and full outputs.
 */
#include "base/draw.h"
#include "tests/command/shell.h"
#include "tests/faults/kills.h"
#include "tests/faults/scenes.h"
#include "tests/support/suite.h"

/** Of each scene these, with others drawn: where bugs were found. */
static const struct {
    const char *call;
    int n; /* how many of them */
} sample[] = {{"open", 2}, {"read", 2}, {"write", 1}, {"fcntl", 1}, {"fork", 1}, {"malloc", 2}};

static void try(stage *s, const inject_fault *fault)
{
    inject_result result;
    char *why = NULL;
    const verdict v = stage_play(s, fault, &result, &why);
    ck_assert_msg(v < LESS, "%s: %s %ld %s, %s: %s: %s", s->scene->name,
                  inject_calls[fault->call].name, fault->n, inject_way_name(fault->way),
                  result.where, verdict_names[v], why);
}

/** The @p k-th fault of a call, the same each time. */
static inject_fault drawn(const stage *s, size_t call, int k)
{
    const dsgd_draw at = {.seed = 20, .worker = (uint32_t)call, .step = (uint32_t)k};
    int n_ways = 0;
    while (n_ways < INJECT_MOST_WAYS && inject_calls[call].ways[n_ways] != 0)
        n_ways++;
    const int way = inject_calls[call].ways[k % n_ways];
    if (way == INJECT_SITES)
        return (inject_fault){call, way, 1, s->sites[dsgd_draw_below(at, s->n_sites)]};
    return (inject_fault){call, way, 1 + (long)dsgd_draw_below(at, (uint64_t)s->counts[call]), 0};
}

SUITE(faults, "faults", .seconds = 120, .set_up = make_folder, .tear_down = remove_folder);

TEST_RANGE(a_call_that_fails_costs_an_error_or_nothing, 0, 6) /* _i: the scene */
{
    stage s;
    const bool open = stage_open(&s, &scenes[_i]);
    ck_assert(open || s.cannot); /* an old kernel, or a container that does not let us watch */
    for (size_t c = 0; open && c < inject_n_calls; c++) {
        int n = c % n_scenes == (size_t)_i; /* each other call in one of the scenes */
        for (size_t k = 0; k < sizeof sample / sizeof sample[0]; k++)
            if (strcmp(sample[k].call, inject_calls[c].name) == 0)
                n = sample[k].n;
        for (int k = 0; k < n && s.counts[c] > 0; k++) {
            const inject_fault fault = drawn(&s, c, k);
            try(&s, &fault);
        }
    }
    stage_close(&s);
}

TEST(a_run_that_was_ended_anywhere_is_taken_up)
{
    if (!kills_have_terminals()) /* a root without /dev/pts */
        return;
    ck_assert_int_eq(kills_try(6, 20), 0);
}

TEST(an_output_that_is_closed_or_full_is_no_success)
{
    static const struct {
        const char *to;
        int status;
    } outputs[] = {{">&-", 3}, {">/dev/full", 3}, {"2>&-", 0}, {"2>/dev/full", 0}, {"<&-", 0}};
    write_experiment("");
    for (size_t k = 0; k < sizeof outputs / sizeof outputs[0]; k++) {
        char *output = NULL;
        const int status =
            shell(dsgd_xprintf("cd %s && DSGD_DATA=%s %s run e.yaml -o r%zu --set workers=4 %s",
                               folder, DSGD_SOURCE_DIR, DSGD_BINARY, k, outputs[k].to),
                  &output);
        ck_assert_msg(status == outputs[k].status, "%s: %d", outputs[k].to, status);
        ck_assert_str_eq(without_wall(read_file(dsgd_xprintf("r%zu/runs.csv", k))),
                         without_wall(read_file("r0/runs.csv")));
    }
}

/** More than a pipe holds, read late: the program waits. */
TEST(a_full_pipe_loses_nothing)
{
    static const char check[] = "DSGD_DATA=%s %s check e.yaml --set seed=[$(seq -s, 2000)]";
    write_experiment("");
    char *const command = dsgd_xprintf(check, DSGD_SOURCE_DIR, DSGD_BINARY);
    char *output = NULL;
    const int status =
        shell(dsgd_xprintf("cd %s && %s >whole && %s | { sleep 0.3; cat; } >piped && "
                           "test $(wc -c <whole) -gt 100000 && cmp whole piped",
                           folder, command, command),
              &output);
    ck_assert_msg(status == 0, "%d: %s", status, output);
}
