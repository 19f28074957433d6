/**
 * @file platform.c
 * `dsgd platform check`: times of messages, of the bisection and of allreduces on a platform, in
 * closed form and simulated.
 */
#include <unistd.h>

#include "base/child.h"
#include "command/console/arguments.h"
#include "command/console/command.h"
#include "command/experiment/config.h"
#include "command/experiment/experiment.h"
#include "command/experiment/traces.h"
#include "sim/exchange/plan.h"
#include "sim/network/machine.h"
#include "sim/network/nodes.h"
#include "traces/closed_form.h"

extern const dsgd_algorithm dsgd_algorithm_allreduce;

static const double large_bytes = 16 * 0x1p20; /* of a message */
static const double vector_bytes = 100e6; /* of an allreduce */
static const double most_difference = 0.1;

enum { DEFAULT_WORKERS = 64, MOST_WORKERS = 4096, MOST_DISTANCES = 8 };

/** The platform, and how many lines differed. */
typedef struct check {
    const dsgd_platform *platform;
    int workers;
    int n_differ;
} check;

/** On a terminal, what is under way, because it can take a minute; NULL: it is over. */
static void announce(const check *c, const char *what)
{
    if (!isatty(STDERR_FILENO))
        return;
    fputs("\r\033[K", stderr);
    if (what != NULL)
        fprintf(stderr, "simulating %s of %d workers ...", what, c->workers);
    fflush(stderr);
}

/** How seconds are shown: in a unit, or as a rate. */
typedef struct measure {
    double scale; /* units per second; of a rate, units times a second */
    bool is_rate;
    const char *unit;
} measure;

static const measure microseconds = {1e6, false, "us  "};
static const measure milliseconds = {1e3, false, "ms  "};
static const measure rate = {1e-9 * 16 * 0x1p20, true, "GB/s"}; /* of large_bytes */

/**
 * A line: the predicted and the simulated time; simulated / predicted, with a mark where that is
 * far from 1.
 */
static void print_line(check *c, const char *what, double predicted_s, double simulated_s,
                       measure m)
{
    enum { PREDICTED, SIMULATED, N };
    double x[N] = {predicted_s, simulated_s};
    announce(c, NULL);
    printf("  %-34s", what);
    for (int k = 0; k < N; k++) {
        x[k] = m.is_rate ? m.scale / x[k] : m.scale * x[k];
        if (isnan(x[k]))
            printf(" %8s     ", "-");
        else
            printf(" %8.4g %s ", x[k], m.unit);
    }
    const double ratio = x[SIMULATED] / x[PREDICTED];
    const bool differs = fabs(ratio - 1) > most_difference;
    if (!isnan(x[PREDICTED]))
        printf("%7.3f%s", ratio, differs ? "  differs" : "");
    putchar('\n');
    fflush(stdout);
    c->n_differ += differs;
}

static bool has_numbers(const check *c)
{
    return dsgd_platform_has_numbers(c->platform);
}

/** A line of messages, all sent at once. */
static dsgd_status check_volley(check *c, const char *what, int n_hosts, const int *to,
                                double bytes, measure m, dsgd_error *error)
{
    double seconds = NAN;
    const dsgd_machine machine = {.platform = c->platform, .n_hosts = n_hosts};
    announce(c, "messages");
    DSGD_TRY(dsgd_machine_time(&machine, to, bytes, &seconds, error));
    print_line(c, what, has_numbers(c) ? dsgd_closed_form_s(c->platform, n_hosts, to, bytes) : NAN,
               seconds, m);
    return DSGD_OK;
}

/** One message from host 0 to another on an idle network: half of a ping-pong. */
static dsgd_status check_message(check *c, int to_whom, dsgd_error *error)
{
    const int n_hosts = to_whom + 1, host = dsgd_platform_there(c->platform, to_whom);
    int *const to = dsgd_keep((size_t)n_hosts, sizeof *to);
    for (int i = 0; i < n_hosts; i++)
        to[i] = i == 0 ? to_whom : -1;
    DSGD_TRY(check_volley(c, dsgd_xprintf("1 B from host 0 to %d", host), n_hosts, to, 1,
                          microseconds, error));
    return check_volley(c, dsgd_xprintf("16 MiB from host 0 to %d", host), n_hosts, to, large_bytes,
                        rate, error);
}

/** Checks the nearest host of each distance that there is, up to the first of another group. */
static dsgd_status check_messages(check *c, dsgd_error *error)
{
    const dsgd_platform *const p = c->platform;
    if (!has_numbers(c)) {
        DSGD_TRY(check_message(c, 1, error));
        return c->workers == 2 ? DSGD_OK : check_message(c, c->workers - 1, error);
    }
    double known_s[MOST_DISTANCES];
    int n = 0;
    const int groups = (int)dsgd_platform_group_hosts(p);
    const int reach = c->workers > groups ? c->workers - 1 : groups;
    for (int to = 1; to <= reach && dsgd_platform_there(p, to) >= 0 && n < MOST_DISTANCES; to++) {
        const double latency_s = dsgd_closed_form_latency_s(p, 0, dsgd_platform_there(p, to));
        bool is_new = true;
        for (int i = 0; i < n; i++)
            is_new = is_new && fabs(known_s[i] - latency_s) > 1e-12;
        if (!is_new)
            continue;
        known_s[n++] = latency_s;
        DSGD_TRY(check_message(c, to, error));
    }
    return DSGD_OK;
}

static const struct {
    const char *name;
    dsgd_collective collective;
} collectives[] = {
    {"rec. doubling", DSGD_COLLECTIVE_RECURSIVE_DOUBLING},
    {"rabenseifner", DSGD_COLLECTIVE_RABENSEIFNER},
    {"ring", DSGD_COLLECTIVE_RING},
    {"bruck", DSGD_COLLECTIVE_BRUCK},
    {"rings", DSGD_COLLECTIVE_RINGS},
};

/** One phase: each worker sends @p bytes to its partner, and reduces @p reduced_bytes. */
static double phase_s(const check *c, const int *to, double bytes, double reduced_bytes)
{
    return dsgd_closed_form_s(c->platform, c->workers, to, bytes) +
           dsgd_platform_message_s(c->platform, bytes) +
           reduced_bytes * c->platform->reduction_s_per_byte;
}

/** Round by round; most rounds of rings are alike. */
static double predicted_allreduce_s(const check *c, dsgd_collective collective, double bytes)
{
    if (!has_numbers(c) || collective == DSGD_COLLECTIVE_BRUCK)
        return NAN;
    int *const to = dsgd_keep((size_t)c->workers, sizeof *to);
    const dsgd_way way = {.how = collective, .along = dsgd_platform_dimensions(c->platform)};
    const dsgd_plan plan = dsgd_plan_of(way, DSGD_ALLREDUCE, c->workers, bytes);
    dsgd_phase last = {.to = -1};
    double seconds = 0, round_s = 0;
    for (int round = 0; round < plan.n_rounds; round++) {
        const dsgd_phase first = dsgd_plan_phase(&plan, round, 0);
        for (int i = 0; i < c->workers; i++)
            to[i] = dsgd_plan_phase(&plan, round, i).to;
        if (first.to != last.to || first.bytes != last.bytes || first.reduced != last.reduced)
            round_s = phase_s(c, to, first.bytes, first.reduced);
        last = first;
        seconds += round_s;
    }
    return seconds;
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
                                    .numerics = DSGD_NUMERICS_OFF};
    dsgd_run_result result;
    DSGD_TRY(dsgd_simulate(&config, &result, error));
    *(double *)seconds = result.virtual_s;
    return DSGD_OK;
}

static dsgd_status check_allreduces(check *c, double bytes, const char *size, measure m,
                                    dsgd_error *error)
{
    for (size_t i = 0; i < sizeof collectives / sizeof collectives[0]; i++) {
        const bool is_of_any = collectives[i].collective == DSGD_COLLECTIVE_RING;
        const bool is_of_others = collectives[i].collective == DSGD_COLLECTIVE_BRUCK;
        const bool in_rings = collectives[i].collective == DSGD_COLLECTIVE_RINGS;
        if (in_rings ? dsgd_platform_dimensions(c->platform).n[0] == 1
                     : !is_of_any && is_of_others == dsgd_is_power_of_two(c->workers))
            continue;
        const allreduce a = {.check = c, .collective = collectives[i].collective, .bytes = bytes};
        double seconds = NAN;
        announce(c, "an allreduce");
        DSGD_TRY(dsgd_in_child(run_allreduce, &a, &seconds, sizeof seconds,
                               "an allreduce got no process, or its process died", error));
        print_line(c, dsgd_xprintf("allreduce of %s, %s", size, collectives[i].name),
                   predicted_allreduce_s(c, a.collective, bytes), seconds, m);
    }
    return DSGD_OK;
}

/** As nccl-tests print it; the GPUs are those of the first nodes. */
static void print_nccl(const check *c)
{
    const int n = c->workers;
    int *const hosts = dsgd_keep((size_t)n, sizeof *hosts);
    for (int i = 0; i < n; i++)
        hosts[i] = i;
    const dsgd_nccl_shape shape = dsgd_nodes_shape(dsgd_nodes_new(c->platform, hosts, n), hosts, n);
    printf(
        "\nall_reduce of %d GPUs on %d nodes, as nccl-tests would time it: what `collective: auto` "
        "takes\nhere, where those above are sent message by message\n",
        n, shape.n_nodes);
    printf("%14s %12s %9s %9s\n%14s %12s %9s %9s\n", "size", "time", "algbw", "busbw", "(B)",
           "(us)", "(GB/s)", "(GB/s)");
    for (int power = 3; power <= 33; power += 3) {
        const double bytes = ldexp(1, power);
        const dsgd_nccl_cost cost =
            dsgd_nccl_cost_of(&c->platform->nccl, &shape, DSGD_NCCL_ALLREDUCE, bytes);
        const double s = dsgd_nccl_s(&cost, bytes), algbw = 1e-9 * bytes / s;
        printf("%14.0f %12.2f %9.2f %9.2f  %s %s\n", bytes, 1e6 * s, algbw, algbw * 2 * (n - 1) / n,
               cost.algorithm, cost.protocol);
    }
}

static dsgd_status check_platform(const char *name, check *c, dsgd_error *error)
{
    const dsgd_machine machine = {.platform = c->platform, .n_hosts = c->workers};
    DSGD_TRY(dsgd_machine_check(&machine, error));
    char *const title = dsgd_xprintf("%s, %d workers", name, c->workers);
    printf("%-36s%9s%15s%12s\n", title, "predicted", "simulated", "ratio");
    DSGD_TRY(check_messages(c, error));
    /* Each host of the first half exchanges with one of the second, all at once. */
    int *const to = dsgd_keep((size_t)c->workers, sizeof *to);
    for (int i = 0; i < c->workers; i++)
        to[i] = (i + c->workers / 2) % c->workers;
    DSGD_TRY(
        check_volley(c, "bisection, each way, per host", c->workers, to, large_bytes, rate, error));
    DSGD_TRY(check_allreduces(c, 1, "1 B", microseconds, error));
    DSGD_TRY(check_allreduces(c, vector_bytes, "100 MB", milliseconds, error));
    if (has_numbers(c))
        printf("%d of these differ by more than %g %%\n", c->n_differ, 100 * most_difference);
    if (c->platform->library != DSGD_LIBRARY_MPI)
        print_nccl(c);
    return DSGD_OK;
}

typedef struct arguments {
    dsgd_operands words;
    const char *workers;
} arguments;

static const dsgd_argument options[] = {
    DSGD_ARGUMENT(TEXT, workers, "workers", 'w', "N",
                  "how many take part, up to 4096 (default 64, or what there is); "
                  "with 1024 in islands an allreduce of flows takes a minute"),
    {.name = NULL},
};

/** The requested number, or as many as the platform has hosts for. */
static dsgd_status count_workers(const arguments *a, const dsgd_platform *platform, int *workers,
                                 dsgd_error *error)
{
    dsgd_machine machine = {.platform = platform, .n_hosts = DEFAULT_WORKERS};
    while (a->workers == NULL && machine.n_hosts > 2 &&
           dsgd_machine_check(&machine, NULL) != DSGD_OK)
        machine.n_hosts /= 2;
    *workers = machine.n_hosts;
    if (a->workers == NULL)
        return DSGD_OK;
    double number = 0;
    if (!dsgd_parse_number(a->workers, NULL, &number) || number < 2 || number > MOST_WORKERS ||
        number != floor(number))
        return dsgd_refuse(error, "--workers is %s, but has to be a whole number from 2 to %d",
                           a->workers, MOST_WORKERS);
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
    DSGD_TRY(dsgd_parse(count, words, &syntax, &a, error));
    if (strcmp(a.words.v[0], "check") != 0)
        return dsgd_refuse(error, "%s", syntax.expected);
    dsgd_config *config = NULL;
    dsgd_platform platform;
    check c = {.platform = &platform};
    DSGD_TRY(dsgd_platform_open(a.words.v[1], &config, &platform, error));
    DSGD_TRY(count_workers(&a, &platform, &c.workers, error));
    return check_platform(a.words.v[1], &c, error);
}

const dsgd_command dsgd_command_platform = {
    .name = "platform",
    .usage = "check NAME|FILE",
    .summary = "times messages and allreduces on a platform, beside what its numbers say",
    .run = platform_run,
};
