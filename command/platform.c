/**
 * @file platform.c
 * Implements `dsgd platform check`. It simulates messages, the bisection and allreduces on a
 * platform. It compares message times with their closed forms.
 */
#include "base/child.h"
#include "command/console/arguments.h"
#include "command/console/command.h"
#include "command/experiment/config.h"
#include "command/experiment/experiment.h"
#include "command/experiment/traces.h"
#include "sim/network/machine.h"
#include "sim/network/nodes.h"
#include "traces/closed_form.h"

extern const dsgd_algorithm dsgd_algorithm_allreduce;

static const double large_bytes = 16 * 0x1p20; /* size of a large message in bytes */
static const double vector_bytes = 100e6; /* size of the vector in a large allreduce, in bytes */
static const double most_difference = 0.1; /* largest accepted relative difference between closed
                                            * form and simulation */

enum { DEFAULT_WORKERS = 64, MOST_WORKERS = 4096, MOST_DISTANCES = 8, NAME_WIDTH = 39 };

typedef struct check {
    const dsgd_platform *platform;
    int workers;
    int n_differ; /* number of printed lines in which simulation and closed form differ by more than
                   * most_difference */
} check;

/** Prints the closed form, the simulated value and their ratio. The closed form may be NAN. */
static void print_line(check *c, const char *name, double closed_form, double simulated,
                       const char *unit)
{
    const double ratio = simulated / closed_form;
    const bool differs = fabs(ratio - 1) > most_difference;
    printf("  %-*s", NAME_WIDTH, name);
    if (isnan(closed_form))
        printf("%9s     %9.4g %s\n", "-", simulated, unit);
    else
        printf("%9.4g %-4s%9.4g %-4s%7.3f%s\n", closed_form, unit, simulated, unit, ratio,
               differs ? " *" : "");
    fflush(stdout);
    c->n_differ += differs;
}

static bool has_numbers(const check *c)
{
    return dsgd_platform_has_numbers(c->platform);
}

/**
 * Sends a message from each host i to host to[i], all at the same time. Prints the times of small
 * messages in us and the bandwidths of large messages in GB/s.
 */
static dsgd_status check_messages_to(check *c, const char *name, int n_hosts, const int *to,
                                     double bytes, dsgd_error *error)
{
    double simulated_s = NAN;
    const dsgd_machine machine = {.platform = c->platform, .n_hosts = n_hosts};
    DSGD_TRY(dsgd_machine_time(&machine, to, bytes, &simulated_s, error));
    const double closed_form_s =
        has_numbers(c) ? dsgd_closed_form_s(c->platform, n_hosts, to, bytes) : NAN;
    if (bytes < large_bytes)
        print_line(c, name, 1e6 * closed_form_s, 1e6 * simulated_s, "us");
    else
        print_line(c, name, 1e-9 * bytes / closed_form_s, 1e-9 * bytes / simulated_s, "GB/s");
    return DSGD_OK;
}

/**
 * Sends one message from host 0 to another host on an idle network. This is half of a ping-pong.
 */
static dsgd_status check_message(check *c, int destination, dsgd_error *error)
{
    const int n_hosts = destination + 1;
    const int host = dsgd_platform_there(c->platform, destination);
    int *const to = dsgd_keep((size_t)n_hosts, sizeof *to);
    for (int i = 0; i < n_hosts; i++)
        to[i] = i == 0 ? destination : -1;
    DSGD_TRY(
        check_messages_to(c, dsgd_xprintf("1 B from host 0 to %d", host), n_hosts, to, 1, error));
    return check_messages_to(c, dsgd_xprintf("16 MiB from host 0 to %d", host), n_hosts, to,
                             large_bytes, error);
}

/**
 * Checks messages to the nearest host at each different latency, up to the first host of another
 * group.
 */
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

typedef struct allreduce {
    const check *check;
    dsgd_collective collective;
    double bytes;
} allreduce;

/** Simulates one step of synchronous SGD in which the computation takes no time. */
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

static dsgd_status check_allreduces(check *c, double bytes, const char *size, dsgd_error *error)
{
    const bool is_small = bytes < large_bytes, is_power = dsgd_is_power_of_two(c->workers);
    const struct {
        const char *name;
        dsgd_collective collective;
        bool applies;
    } collectives[] = {
        {"recursive doubling", DSGD_COLLECTIVE_RECURSIVE_DOUBLING, is_power},
        {"rabenseifner", DSGD_COLLECTIVE_RABENSEIFNER, is_power},
        {"ring", DSGD_COLLECTIVE_RING, true},
        {"bruck", DSGD_COLLECTIVE_BRUCK, !is_power},
        {"rings", DSGD_COLLECTIVE_RINGS, dsgd_platform_dimensions(c->platform).n[0] > 1},
    };
    for (size_t i = 0; i < sizeof collectives / sizeof collectives[0]; i++) {
        const allreduce a = {.check = c, .collective = collectives[i].collective, .bytes = bytes};
        double seconds = NAN;
        if (!collectives[i].applies)
            continue;
        DSGD_TRY(dsgd_in_child(run_allreduce, &a, &seconds, sizeof seconds,
                               "an allreduce got no process, or its process died", error));
        print_line(c, dsgd_xprintf("allreduce of %s, %s", size, collectives[i].name), NAN,
                   (is_small ? 1e6 : 1e3) * seconds, is_small ? "us" : "ms");
    }
    return DSGD_OK;
}

/** Prints times of allreduces on the GPUs of the first nodes, in the format of nccl-tests. */
static void print_nccl(const check *c)
{
    const int n = c->workers;
    int *const hosts = dsgd_keep((size_t)n, sizeof *hosts);
    for (int i = 0; i < n; i++)
        hosts[i] = i;
    const dsgd_nccl_shape shape = dsgd_nodes_shape(dsgd_nodes_new(c->platform, hosts, n), hosts, n);
    printf("\nall_reduce of %d GPUs on %d nodes, in the format of nccl-tests. `collective: auto` "
           "uses\nthese times on this platform; the allreduces above are simulated message by "
           "message.\n%14s %12s %9s %9s\n%14s %12s %9s %9s\n",
           n, shape.n_nodes, "size", "time", "algbw", "busbw", "(B)", "(us)", "(GB/s)", "(GB/s)");
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
    printf("%-*s%13s%13s%9s\n", NAME_WIDTH + 2, dsgd_xprintf("%s, %d workers", name, c->workers),
           "closed form", "simulated", "ratio");
    DSGD_TRY(check_messages(c, error));
    /*
     * Each host of the first half exchanges messages with one host of the second half, all at the
     * same time.
     */
    int *const to = dsgd_keep((size_t)c->workers, sizeof *to);
    for (int i = 0; i < c->workers; i++)
        to[i] = (i + c->workers / 2) % c->workers;
    DSGD_TRY(check_messages_to(c, "bisection, each direction, per host", c->workers, to,
                               large_bytes, error));
    DSGD_TRY(check_allreduces(c, 1, "1 B", error));
    DSGD_TRY(check_allreduces(c, vector_bytes, "100 MB", error));
    if (has_numbers(c))
        printf("%d of the simulated values differ from the closed form by more than %g %%%s.\n"
               "Closed form: the value that follows from the platform's numbers without a "
               "simulation.\nRatio: simulated / closed form.\n",
               c->n_differ, 100 * most_difference, c->n_differ > 0 ? " (*)" : "");
    if (c->platform->library != DSGD_LIBRARY_MPI)
        print_nccl(c);
    return DSGD_OK;
}

typedef struct arguments {
    dsgd_operands words;
    int64_t workers; /* number of workers; 0 if the user does not give option --workers */
} arguments;

static const dsgd_argument options[] = {
    DSGD_ARGUMENT(COUNT, workers, "workers", 'w', "N",
                  "Number of workers, up to 4096 [default: 64, or fewer if the platform has fewer "
                  "hosts]. With 1024 workers an allreduce can take a minute of wall time"),
    {.name = NULL},
};

/**
 * Returns the number of workers from option --workers. Without this option, starts with
 * DEFAULT_WORKERS and halves this number until the platform has enough hosts.
 */
static int count_workers(int64_t given, const dsgd_platform *platform)
{
    dsgd_machine machine = {.platform = platform, .n_hosts = DEFAULT_WORKERS};
    while (given == 0 && machine.n_hosts > 2 && dsgd_machine_check(&machine, NULL) != DSGD_OK)
        machine.n_hosts /= 2;
    return given == 0 ? machine.n_hosts : (int)given;
}

static dsgd_status platform_run(int count, char **words, dsgd_error *error)
{
    static const dsgd_syntax syntax = {
        "check NAME|FILE",
        "Simulates messages and allreduces on a platform, and marks message times that differ from "
        "the times that the platform's bandwidths and latencies imply.",
        2,
        2,
        "platform: expected `check` and a platform, such as `dsgd platform check piz-daint`; see "
        "`dsgd list platforms`, or give the path of a file",
        options};
    arguments a = {.workers = 0};
    DSGD_TRY(dsgd_parse(count, words, &syntax, &a, error));
    if (strcmp(a.words.v[0], "check") != 0)
        return dsgd_refuse(error, "%s", syntax.expected);
    if (a.workers == 1 || a.workers > MOST_WORKERS)
        return dsgd_refuse(error, "--workers must be between 2 and %d, got %jd", MOST_WORKERS,
                           a.workers);
    dsgd_config *config = NULL;
    dsgd_platform platform;
    check c = {.platform = &platform};
    DSGD_TRY(dsgd_platform_open(a.words.v[1], &config, &platform, error));
    c.workers = count_workers(a.workers, &platform);
    return check_platform(a.words.v[1], &c, error);
}

const dsgd_command dsgd_command_platform = {
    .name = "platform",
    .usage = "check NAME|FILE",
    .summary = "simulates messages and allreduces on a platform, to check its numbers",
    .run = platform_run,
};
