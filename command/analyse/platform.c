/**
 * @file platform.c
 * `dsgd platform check`: simulated times of messages, of the bisection and of allreduces on a
 * platform, beside closed forms.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/child.h"
#include "command/arguments.h"
#include "command/command.h"
#include "command/experiment/config.h"
#include "command/experiment/experiment.h"
#include "sim/algorithm.h"
#include "sim/network/machine.h"
#include "traces/closed_form.h"

extern const dsgd_algorithm dsgd_algorithm_allreduce;

static const double large_bytes = 16 * 0x1p20; /* of a message */
static const double vector_bytes = 100e6; /* of an allreduce */
static const double most_difference = 0.1;

enum { DEFAULT_WORKERS = 64, MOST_WORKERS = 4096, MOST_DISTANCES = 8 };

/** The platform, and how many lines differed. */
typedef struct check {
    const dsgd_platform *platform;
    int workers; /* a power of two */
    int n_differ;
} check;

static void print_quantity(double value, const char *unit)
{
    if (isnan(value))
        printf(" %12s    ", "-");
    else
        printf(" %12.4g %s", value, unit);
}

/**
 * A line: the two values in their unit, simulated / predicted, and a mark where that is far from 1.
 */
static void print_line(check *c, const char *what, double predicted, double simulated,
                       const char *unit)
{
    printf("  %-40s", what);
    print_quantity(predicted, unit);
    print_quantity(simulated, unit);
    const double ratio = simulated / predicted;
    const bool differs = fabs(ratio - 1) > most_difference;
    if (!isnan(ratio))
        printf(" %7.3f%s", ratio, differs ? "  differs" : "");
    putchar('\n');
    c->n_differ += differs;
}

static bool has_numbers(const check *c)
{
    return c->platform->topology != DSGD_TOPOLOGY_XML;
}

static double predicted_s(const check *c, int n_hosts, const int *to, double bytes)
{
    return has_numbers(c) ? dsgd_closed_form_s(c->platform, n_hosts, to, bytes) : NAN;
}

static dsgd_status simulated_s(const check *c, int n_hosts, const int *to, double bytes,
                               double *seconds, dsgd_error *error)
{
    const dsgd_machine machine = {.platform = c->platform, .n_hosts = n_hosts, .scratch = "/tmp"};
    return dsgd_machine_time(&machine, to, bytes, seconds, error);
}

/** One message from host 0 to another on an idle network: half of a ping-pong. */
static dsgd_status check_message(check *c, int to_whom, dsgd_error *error)
{
    const int n_hosts = to_whom + 1;
    int *const to = dsgd_xcalloc((size_t)n_hosts, sizeof *to);
    for (int i = 0; i < n_hosts; i++)
        to[i] = i == 0 ? to_whom : -1;
    double small_s = 0;
    double large_s = 0;
    dsgd_status status = simulated_s(c, n_hosts, to, 1, &small_s, error);
    if (status == DSGD_OK)
        status = simulated_s(c, n_hosts, to, large_bytes, &large_s, error);
    if (status == DSGD_OK) {
        char what[64];
        snprintf(what, sizeof what, "1 B from host 0 to %d", to_whom);
        print_line(c, what, 1e6 * predicted_s(c, n_hosts, to, 1), 1e6 * small_s, "us  ");
        snprintf(what, sizeof what, "16 MiB from host 0 to %d", to_whom);
        print_line(c, what, 1e-9 * large_bytes / predicted_s(c, n_hosts, to, large_bytes),
                   1e-9 * large_bytes / large_s, "GB/s");
    }
    free(to);
    return status;
}

/** Checks the nearest host of each distance that there is, up to the first of another group. */
static dsgd_status check_messages(check *c, dsgd_error *error)
{
    const dsgd_platform *const p = c->platform;
    if (!has_numbers(c)) {
        const dsgd_status status = check_message(c, 1, error);
        return status != DSGD_OK || c->workers == 2 ? status
                                                    : check_message(c, c->workers - 1, error);
    }
    double known_s[MOST_DISTANCES];
    int n = 0;
    const int groups = p->topology == DSGD_TOPOLOGY_GROUPS ? (int)p->group_hosts : 0;
    const int reach = c->workers > groups ? c->workers - 1 : groups;
    dsgd_status status = DSGD_OK;
    for (int to = 1; status == DSGD_OK && to <= reach && n < MOST_DISTANCES; to++) {
        const double latency_s = dsgd_closed_form_latency_s(p, 0, to);
        bool is_new = true;
        for (int i = 0; i < n; i++)
            is_new = is_new && fabs(known_s[i] - latency_s) > 1e-12;
        if (!is_new)
            continue;
        known_s[n++] = latency_s;
        status = check_message(c, to, error);
    }
    return status;
}

/** Each host of the first half exchanges with one of the second, all at once. */
static dsgd_status check_bisection(check *c, dsgd_error *error)
{
    int *const to = dsgd_xcalloc((size_t)c->workers, sizeof *to);
    for (int i = 0; i < c->workers; i++)
        to[i] = (i + c->workers / 2) % c->workers;
    double seconds = 0;
    const dsgd_status status = simulated_s(c, c->workers, to, large_bytes, &seconds, error);
    if (status == DSGD_OK)
        print_line(c, "bisection, each way, per host",
                   1e-9 * large_bytes / predicted_s(c, c->workers, to, large_bytes),
                   1e-9 * large_bytes / seconds, "GB/s");
    free(to);
    return status;
}

static const struct {
    const char *name;
    dsgd_collective collective;
} collectives[] = {
    {"recursive doubling", DSGD_COLLECTIVE_RECURSIVE_DOUBLING},
    {"rabenseifner", DSGD_COLLECTIVE_RABENSEIFNER},
    {"ring", DSGD_COLLECTIVE_RING},
};

/** One phase: each worker sends @p bytes to its partner, and reduces @p reduced_bytes. */
static double phase_s(const check *c, const int *to, double bytes, double reduced_bytes)
{
    return dsgd_closed_form_s(c->platform, c->workers, to, bytes) +
           c->platform->message_overhead_s + reduced_bytes * c->platform->reduction_s_per_byte;
}

static double predicted_butterfly_s(const check *c, bool halving, double bytes)
{
    int *const to = dsgd_xcalloc((size_t)c->workers, sizeof *to);
    double seconds = 0;
    double part = bytes;
    for (int bit = 1; bit < c->workers; bit *= 2) {
        for (int i = 0; i < c->workers; i++)
            to[i] = i ^ bit;
        part = halving ? part / 2 : part;
        seconds += phase_s(c, to, part, part);
        if (halving) /* and the same way back */
            seconds += phase_s(c, to, part, 0);
    }
    free(to);
    return seconds;
}

static double predicted_ring_s(const check *c, double bytes)
{
    int *const to = dsgd_xcalloc((size_t)c->workers, sizeof *to);
    const double part = bytes / c->workers;
    for (int i = 0; i < c->workers; i++)
        to[i] = (i + 1) % c->workers;
    const double seconds =
        (c->workers - 1) * (phase_s(c, to, part, part) + phase_s(c, to, part, 0));
    free(to);
    return seconds;
}

static double predicted_allreduce_s(const check *c, int collective, double bytes)
{
    if (!has_numbers(c))
        return NAN;
    if (collective == DSGD_COLLECTIVE_RING)
        return predicted_ring_s(c, bytes);
    return predicted_butterfly_s(c, collective == DSGD_COLLECTIVE_RABENSEIFNER, bytes);
}

typedef struct allreduce {
    const check *check;
    dsgd_collective collective;
    double bytes;
} allreduce;

/** One step of synchronous SGD that computes for no time. */
static dsgd_status run_allreduce(const void *argument, void *seconds, dsgd_error *error)
{
    const allreduce *const a = argument;
    const dsgd_workload workload = {
        .bytes = a->bytes, .step_s = 1e-15, .samples = 1, .memory = DSGD_MEMORY_HOST};
    const dsgd_run_config config = {.platform = a->check->platform,
                                    .workload = &workload,
                                    .algorithm = &dsgd_algorithm_allreduce,
                                    .workers = a->check->workers,
                                    .seed = 1,
                                    .until = {.steps = 1},
                                    .exchange = {.pieces = 1, .collective = a->collective},
                                    .numerics = DSGD_NUMERICS_OFF,
                                    .scratch = "/tmp"};
    dsgd_run_result result;
    const dsgd_status status = dsgd_simulate(&config, &result, error);
    if (status == DSGD_OK)
        *(double *)seconds = result.virtual_s;
    return status;
}

static dsgd_status check_allreduces(check *c, double bytes, const char *size, const char *unit,
                                    double per_s, dsgd_error *error)
{
    for (size_t i = 0; i < sizeof collectives / sizeof collectives[0]; i++) {
        const allreduce a = {c, collectives[i].collective, bytes};
        double seconds = 0;
        const dsgd_status status =
            dsgd_in_child(run_allreduce, &a, &seconds, sizeof seconds,
                          "an allreduce got no process, or its process died", error);
        if (status != DSGD_OK)
            return status;
        char what[64];
        snprintf(what, sizeof what, "allreduce of %s, %s", size, collectives[i].name);
        print_line(c, what, per_s * predicted_allreduce_s(c, a.collective, bytes), per_s * seconds,
                   unit);
    }
    return DSGD_OK;
}

static dsgd_status check_platform(const char *name, check *c, dsgd_error *error)
{
    const dsgd_machine machine = {
        .platform = c->platform, .n_hosts = c->workers, .scratch = "/tmp"};
    dsgd_status status = dsgd_machine_check(&machine, error);
    if (status != DSGD_OK)
        return status;
    char *const title = dsgd_xprintf("%s, %d workers", name, c->workers);
    printf("%-42s %12s      %12s      %7s\n", title, "predicted", "simulated", "ratio");
    free(title);
    status = check_messages(c, error);
    if (status == DSGD_OK)
        status = check_bisection(c, error);
    if (status == DSGD_OK)
        status = check_allreduces(c, 1, "1 B", "us  ", 1e6, error);
    if (status == DSGD_OK)
        status = check_allreduces(c, vector_bytes, "100 MB", "ms  ", 1e3, error);
    if (status == DSGD_OK && has_numbers(c))
        printf("%d of these differ by more than %g %%\n", c->n_differ, 100 * most_difference);
    return status;
}

typedef struct arguments {
    dsgd_operands words;
    const char *workers;
} arguments;

static const dsgd_argument options[] = {
    DSGD_ARGUMENT(TEXT, workers, "workers", 'w', "N",
                  "how many take part, a power of two (default 64, or what there is)"),
    {.name = NULL},
};

/** The requested number, or as many as the platform has hosts for. */
static dsgd_status count_workers(const arguments *a, const dsgd_platform *platform, int *workers,
                                 dsgd_error *error)
{
    dsgd_machine machine = {.platform = platform, .n_hosts = DEFAULT_WORKERS, .scratch = "/tmp"};
    while (a->workers == NULL && machine.n_hosts > 2 &&
           dsgd_machine_check(&machine, NULL) != DSGD_OK)
        machine.n_hosts /= 2;
    *workers = machine.n_hosts;
    if (a->workers == NULL)
        return DSGD_OK;
    double number = 0;
    if (!dsgd_parse_number(a->workers, NULL, &number) || number < 2 || number > MOST_WORKERS ||
        log2(number) != floor(log2(number)))
        return dsgd_fail(error, DSGD_EUSAGE,
                         "--workers is %s, but has to be a power of two from 2 to %d", a->workers,
                         MOST_WORKERS);
    *workers = (int)number;
    return DSGD_OK;
}

static dsgd_status platform_run(int count, char **words, dsgd_error *error)
{
    static const dsgd_syntax syntax = {
        "check NAME|FILE",
        "Times messages and allreduces on a platform, and says where that is not what the "
        "platform's numbers promise.",
        2,
        2,
        "platform: give `check` and a name or file, such as `dsgd platform check piz-daint`; "
        "`dsgd list platforms` has names",
        options};
    arguments a = {.workers = NULL};
    dsgd_status status = dsgd_parse(count, words, &syntax, &a, error);
    if (status == DSGD_OK && strcmp(a.words.v[0], "check") != 0)
        status = dsgd_fail(error, DSGD_EUSAGE, "%s", syntax.expected);
    if (status != DSGD_OK)
        return status;
    dsgd_config *config = NULL;
    dsgd_platform platform;
    check c = {.platform = &platform};
    status = dsgd_platform_open(a.words.v[1], &config, &platform, error);
    if (status == DSGD_OK)
        status = count_workers(&a, &platform, &c.workers, error);
    if (status == DSGD_OK)
        status = check_platform(a.words.v[1], &c, error);
    dsgd_config_close(config);
    return status;
}

const dsgd_command dsgd_command_platform = {
    .name = "platform",
    .usage = "check NAME|FILE",
    .summary = "times messages and allreduces on a platform, beside what its numbers say",
    .run = platform_run,
};
