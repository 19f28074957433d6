/**
 * @file test_accounting.c
 * Tests the accounts of a step's time: shares of computation, waiting and communication, and
 * exposed time. Also tests that sums of ages are equal bit by bit.
 */
#include "base/draw.h"
#include "sim/exchange/reductions.h"
#include "sim/observe/observe.h"
#include "sim/result.h"
#include "tests/support/suite.h"
#include "tests/support/support.h"

SUITE(accounting, "accounting", .seconds = 60);

TEST(shares_of_time_count_computation_waits_and_communication)
{
    support_case *c = support_no_learning(support_of(&support_averaging, 4));
    c->workload.bytes = 1e9; /* an allreduce takes 2 phases of 0.1 s */
    c->config.exchange.collective = DSGD_COLLECTIVE_RECURSIVE_DOUBLING;
    support_imbalance_number(c, "ramp", "seconds",
                             0.1); /* worker i computes for 1 + 0.1 i seconds in a step of 1.5 s */
    const dsgd_time_shares shares = support_ok(c)->result.shares;
    ck_assert_double_eq_tol(shares.compute, 1.15 / 1.5, 1e-3);
    ck_assert_double_eq_tol(shares.wait, 0.15 / 1.5, 1e-3);
    ck_assert_double_eq_tol(shares.communicate, 0.2 / 1.5, 1e-3);
}

/**
 * In each step, worker 0 computes for 1 s, waits 0.2 s for the other worker, and receives its
 * vector in 0.1 s.
 */
TEST(communication_starts_when_both_sides_are_ready)
{
    support_case *c = support_no_learning(support_new("d_psgd", 2));
    c->workload.bytes = 1e9;
    support_imbalance_number(c, "ramp", "seconds", 0.2);
    const dsgd_time_shares shares = support_ok(c)->result.shares;
    ck_assert_double_eq_tol(shares.compute, 1.1 / 1.3, 1e-3);
    ck_assert_double_eq_tol(shares.wait, 0.1 / 1.3, 1e-3);
    ck_assert_double_eq_tol(shares.communicate, 0.1 / 1.3, 1e-3);
}

/**
 * Two chunks of 0.5 s each are exchanged one after another. The first exchange starts 0.25 s before
 * the gradient ends. These 0.25 s overlap with the computation in every step.
 */
TEST(an_overlapped_exchange_counts_as_computation)
{
    support_case *c = support_no_learning(support_of(&support_averaging, 2));
    SET(c, workload.bytes = 10e9, config.exchange.collective = DSGD_COLLECTIVE_RECURSIVE_DOUBLING,
        config.exchange.pieces = 2, config.exchange.blocking = true, config.until.steps = 4);
    const support_outcome *const run = support_ok(c);
    ck_assert_double_eq_tol(run->result.virtual_s, 4 * 1.75, 1e-3);
    ck_assert_double_eq_tol(run->result.shares.compute, 1 / 1.75, 1e-3);
    ck_assert_double_eq_tol(run->result.shares.communicate, 0.75 / 1.75, 1e-3);
    ck_assert_double_eq_tol(run->result.shares.wait, 0, 1e-3);
}

/**
 * A test algorithm that counts three seconds of communication only later. The first of these
 * seconds is counted before another half second, which ends during the second of these seconds.
 */
static void putting_off_work(dsgd_node *self)
{
    dsgd_worker *const w = dsgd_worker_of(self);
    dsgd_vector *const g = dsgd_vector_new(self);
    dsgd_next_step(self);
    w->accounts.n_uncounted = 1;
    for (int i = 0; i < 3; i++) {
        dsgd_sleep(1);
        dsgd_count_communication(w, i);
    }
    dsgd_count_communication_by(w, 0.5, 1.5);
    support_current->note[0] = w->accounts.communicated_s;
    dsgd_count_later_end(w);
    support_current->note[1] = w->accounts.communicated_s;
    dsgd_gradient(self, g, dsgd_model(self));
    while (dsgd_next_step(self))
        continue;
}

TEST_ALGORITHM(putting_off, .work = putting_off_work);

TEST(deferred_time_is_counted_once_and_in_order)
{
    support_case *c = support_no_learning(support_of(&putting_off, 1));
    c->config.until.steps = 1;
    const support_outcome *const got = support_ok(c);
    ck_assert_double_eq_tol(got->note[0], 1.5, 1e-12);
    ck_assert_double_eq_tol(got->note[1], 3, 1e-12);
}

/**
 * Worker i of 4 is i ms late. With allreduce, a worker waits for all others, for 1.5 ms on average.
 * With local SGD, workers wait only at the barrier, and this time is not exposed.
 */
TEST_RANGE(exposed_time_excludes_the_barrier, 0, 2)
{
    support_case *c = support_no_learning(support_new(_i == 0 ? "allreduce" : "local_sgd", 4));
    SET(c, workload.bytes = 1, config.until.steps = 10, config.exchange.barrier = true);
    support_imbalance_number(c, "ramp", "seconds", 1e-3);
    if (_i == 1)
        support_option(c, "period", 1000);
    const support_outcome *const run = support_ok(c);
    ck_assert_double_eq_tol(run->result.exposed_mean_s, _i == 0 ? 1.5e-3 : 0, 1e-5);
    ck_assert_double_eq_tol(run->result.virtual_s, 10 * 1.003, 1e-4);
}

TEST(a_run_ends_after_the_requested_samples)
{
    support_case *c = support_no_learning(support_new("allreduce", 4));
    SET(c, workload.samples = 8, config.until = (dsgd_until){.samples = 4 * 8 * 5});
    const support_outcome *const got = support_ok(c);
    ck_assert_double_eq(got->result.samples, 4 * 8 * 5);
    ck_assert_double_eq(got->result.steps, 5);
}

static void counting_work(dsgd_node *self)
{
    dsgd_vector *const x = dsgd_model(self), *const g = dsgd_vector_new(self);
    while (dsgd_next_step(self)) {
        support_current->note[self->rank]++;
        dsgd_gradient(self, g, x);
        dsgd_local_step(self, x, g);
        dsgd_allreduce_mean(self, x, DSGD_WORLD);
    }
}

TEST_ALGORITHM(counting, .work = counting_work);

/**
 * After the end of the run, workers continue only until all waits are over. The workers make one
 * more step, not thousands of steps.
 */
TEST(a_continued_run_ends_when_all_waits_are_over)
{
    support_case *c = support_of(&counting, 4);
    support_imbalance_number(c, "ramp", "seconds", 0.3);
    /* at the end of the run, three of four workers wait or compute */
    c->config.until = (dsgd_until){.seconds = 10 * 1.9 + 1.5};
    const support_outcome *const got = support_ok(c);
    for (int i = 0; i < 4; i++) {
        ck_assert_double_ge(got->note[i], 10);
        ck_assert_double_le(got->note[i], 13);
    }
}

/* --- Tests of step times and sent bytes ------------------------------------------------------- */

/**
 * Worker i of 4 takes 1 + i seconds for a step. With a barrier, all workers take the time of the
 * slowest worker.
 */
TEST_RANGE(step_times_last_from_start_to_start, 0, 2)
{
    support_case *c = support_no_learning(support_new("local_sgd", 4));
    support_option(c, "period", 1000);
    SET(c, workload.bytes = 1, config.until.steps = 0, config.until.seconds = 120.5,
        config.exchange.barrier = _i == 1);
    support_imbalance_number(c, "ramp", "seconds", 1);
    const dsgd_run_result *const r = &support_ok(c)->result;
    const dsgd_step_times *const times = &r->step_times;
    const double steps_per_s = _i == 1 ? 1 : 1 + 1 / 2. + 1 / 3. + 1 / 4.;
    ck_assert_double_eq_tol(r->samples_per_s, c->workload.samples * steps_per_s, 1e-9);
    ck_assert_double_eq_tol(r->step_mean_s, 4 / steps_per_s, 1e-9);
    if (_i == 1) {
        ck_assert_int_eq((int)times->n, 1);
        ck_assert_double_eq_tol(times->bin[0].step_s, 4, 1e-9);
        ck_assert_double_eq(times->bin[0].share, 1);
        return;
    }
    static const double shares[] = {120 / 250., 60 / 250., 40 / 250., 30 / 250.};
    ck_assert_int_eq((int)times->n, 4);
    for (int k = 0; k < 4; k++) {
        ck_assert_double_eq_tol(times->bin[k].step_s, 1 + k, 1e-9);
        ck_assert_double_eq_tol(times->bin[k].share, shares[k], 1e-12);
    }
}

/**
 * Tests that unfinished steps at the end of a run count. If they did not count, a worker's number
 * of steps would be too low by (1 - c) / 2. The number c is the squared coefficient of variation of
 * the step times. For 5 steps, the error would be 10 % for constant steps, and 7.5 % for gamma
 * distributed steps with c = 1/4. (An exponential distribution has c = 1.)
 */
TEST_RANGE(throughput_is_unbiased_if_time_cuts_steps, 0, 4)
{
    static const double deviations[] = {0, 0.5, 1, 1.2};
    enum { WORKERS = 1024 };
    const double deviation = deviations[_i], until_s = 5.37;
    support_case *c = support_new("local_sgd", WORKERS);
    support_no_learning(c);
    support_option(c, "period", 1000);
    c->workload.bytes = 1;
    c->workload.step_s = 1e-9; /* the random delay is almost the whole step time */
    c->config.until = (dsgd_until){.seconds = until_s};
    const char *const kind = deviation > 0 ? "gamma" : "constant";
    const dsgd_entry *const about = dsgd_entry_find(dsgd_imbalance_kinds, kind);
    void *const drawn = support_imbalance(c, kind);
    support_set(about, drawn, deviation > 0 ? "mean" : "seconds", 1);
    if (deviation > 0)
        support_set(about, drawn, "deviation", deviation);
    const dsgd_run_result *const r = &support_ok(c)->result;
    const double rate = r->samples_per_s / WORKERS / c->workload.samples;
    const double error = deviation / sqrt(until_s * WORKERS); /* standard error of the rate */
    ck_assert_double_eq_tol(rate, 1, 1e-6 + 3 * error + 0.01 * deviation);
}

/**
 * A histogram of step times has a bounded number of bins: 20,000 different step times give some
 * hundred bins. The shares of the bins add up to 1.
 */
TEST(a_histogram_of_step_times_is_bounded)
{
    support_case *c = support_no_learning(support_new("local_sgd", 4));
    support_option(c, "period", 1000000);
    c->config.until.steps = 5000;
    support_imbalance_number(c, "normal", "deviation", 0.1);
    const dsgd_run_result *const r = &support_ok(c)->result;
    double sum = 0, mean_s = 0;
    for (size_t k = 0; k < r->step_times.n; k++) {
        sum += r->step_times.bin[k].share;
        mean_s += r->step_times.bin[k].share * r->step_times.bin[k].step_s;
        if (k > 0) {
            const double step = r->step_times.bin[k].step_s / r->step_times.bin[k - 1].step_s;
            ck_assert_double_gt(step, 1);
        }
    }
    ck_assert_int_lt((int)r->step_times.n, 500);
    ck_assert_double_eq_tol(sum, 1, 1e-9);
    /* the tolerance covers the last step */
    ck_assert_double_eq_tol(mean_s, r->step_mean_s, 1e-3 * r->step_mean_s);
}

/** Each worker of a ring of P workers sends 2 (P - 1) / P of the vector. */
TEST_RANGE(ring_sends_the_bytes_of_its_closed_form, 0, 3)
{
    static const int workers[] = {2, 5, 16};
    const double p = workers[_i];
    support_case *c = support_no_learning(support_new("allreduce", workers[_i]));
    SET(c, workload.bytes = 80e6, config.exchange.collective = DSGD_COLLECTIVE_RING,
        config.until.steps = 3);
    const dsgd_run_result *const r = &support_ok(c)->result;
    ck_assert_double_eq_tol(r->sent_mean_bytes, 3 * 2 * (p - 1) / p * 80e6, 1);
    ck_assert_double_eq_tol(r->sent_max_bytes, r->sent_mean_bytes, 1);
    ck_assert_double_eq_tol(r->bytes, p * r->sent_mean_bytes, 1);
}

/**
 * Tests the choice of the collective for short vectors, for long vectors, and for another value of
 * doubling_bytes. The number of workers is a power of two or another number.
 */
TEST_RANGE(the_collective_is_chosen_by_bytes_and_workers, 0, 6)
{
    static const struct {
        int workers;
        double bytes;
        dsgd_collective how;
    } cases[] = {{8, 65535, DSGD_COLLECTIVE_RECURSIVE_DOUBLING},
                 {8, 65536, DSGD_COLLECTIVE_RABENSEIFNER},
                 {6, 65535, DSGD_COLLECTIVE_RECURSIVE_DOUBLING},
                 {6, 65536, DSGD_COLLECTIVE_BRUCK},
                 {8, 999999, DSGD_COLLECTIVE_RECURSIVE_DOUBLING},
                 {8, 1000000, DSGD_COLLECTIVE_RABENSEIFNER}};
    support_case *c = support_no_learning(support_new("allreduce", cases[_i].workers));
    c->workload.bytes = cases[_i].bytes;
    if (_i >= 4)
        c->platform.doubling_bytes = 1e6;
    c->config.until.steps = 1;
    ck_assert_int_eq(support_ok(c)->result.collective, cases[_i].how);
}

/**
 * Tests that the server's NIC is the busiest NIC, whether the server is on the platform's last host
 * or on its first host.
 */
TEST(the_busiest_link_can_belong_to_any_host)
{
    static const char *first[] = {"1", "2", "3", "4", "0"};
    double link_s[2] = {0, 0};
    for (int k = 0; k < 2; k++) {
        support_case *c = support_no_learning(support_new("a_psgd", 4));
        SET(c, workload.bytes = 80e6, config.until.steps = 5);
        if (k == 1)
            c->config.placement = (dsgd_lines){5, first};
        link_s[k] = support_ok(c)->result.link_s;
    }
    ck_assert_double_gt(link_s[0], 0);
    ck_assert_double_eq_tol(link_s[1], link_s[0], 1e-9 * link_s[0]);
}

static void expect_load(const support_load *load, const char *name, double load_bytes, double speed)
{
    ck_assert_str_eq(load->name, name);
    ck_assert_double_eq_tol(load->bytes, load_bytes, 1);
    ck_assert_double_eq(load->bytes_per_s, speed);
}

/**
 * Each island has two hosts. In a ring, even hosts send inside their island, and odd hosts send
 * over the switch.
 */
TEST(loads_are_counted_per_nic_and_island_link)
{
    support_case *c = support_no_learning(support_new("allreduce", 4));
    c->platform.island_hosts = c->platform.island_nics = 2;
    c->platform.island_bytes_per_s = 5e9;
    c->platform.island_latency_s = 2e-6;
    c->workload.bytes = 80e6;
    c->config.exchange.collective = DSGD_COLLECTIVE_RING;
    c->config.until.steps = 3;
    c->config.loads = true;
    const support_outcome *const run = support_ok(c);
    /* number of bytes that each host sends, and that it receives */
    const double all = 3 * 1.5 * 80e6;
    ck_assert_uint_eq(run->result.n_loads, 16);
    /* the busiest link is an island link */
    ck_assert_double_eq_tol(run->result.link_s, all / 5e9, 1e-9);
    for (int i = 0; i < 8; i++) {
        const int worker = i / 2;
        const bool up = i % 2 == 0, to_island = up == (worker % 2 == 0);
        char name[32];
        snprintf(name, sizeof name, "nic%d_%s", worker, up ? "UP" : "DOWN");
        expect_load(&run->loads[i], name, to_island ? 0 : all, 10e9);
        snprintf(name, sizeof name, "island%d_%s", worker, up ? "UP" : "DOWN");
        expect_load(&run->loads[8 + i], name, to_island ? all : 0, 5e9);
    }
    c->config.loads = false;
    ck_assert_uint_eq(support_ok(c)->result.n_loads, 0);
}

/**
 * Tests on a switch and on a torus that each link is listed once. The links of the torus are sorted
 * by name, so the first of several equal links is the same in every run.
 */
TEST_RANGE(loads_are_listed_once_and_in_a_fixed_order, 0, 2)
{
    static const double extents[] = {2, 2};
    support_case *c = support_no_learning(support_new("allreduce", 4));
    if (_i == 1) {
        c->platform.topology = DSGD_TOPOLOGY_TORUS;
        c->platform.size = (dsgd_numbers){2, (double *)extents};
    }
    SET(c, workload.bytes = 80e6, config.exchange.collective = DSGD_COLLECTIVE_RING,
        config.until.steps = 3, config.loads = true);
    const support_outcome *const run = support_ok(c);
    double sum = 0;
    ck_assert_uint_gt(run->result.n_loads, 0);
    for (size_t i = 0; i < run->result.n_loads; i++) {
        const support_load *const load = &run->loads[i];
        for (size_t k = 0; k < i; k++)
            ck_assert_str_ne(run->loads[k].name, load->name);
        ck_assert(_i == 0 || i == 0 || strverscmp(run->loads[i - 1].name, load->name) < 0);
        ck_assert(_i == 0 || strncmp(load->name, "nic", 3) != 0);
        sum += load->bytes;
    }
    /* each message is counted at two NICs */
    if (_i == 0)
        ck_assert_double_eq_tol(sum, 2 * run->result.bytes, 1);
}

/**
 * A worker pushes its vector to the server and fetches another vector. The server therefore sends
 * half of all bytes.
 */
TEST(bytes_of_servers_are_not_counted_for_workers)
{
    support_case *c = support_no_learning(support_new("a_psgd", 4));
    SET(c, workload.bytes = 1e6, config.until.steps = 8);
    const dsgd_run_result *const r = &support_ok(c)->result;
    ck_assert_double_lt(4 * r->sent_mean_bytes, 0.6 * r->bytes);
    ck_assert_double_gt(4 * r->sent_mean_bytes, 0.4 * r->bytes);
}

/* --- ages of values --------------------------------------------------------------------------- */

enum { OWNERS = 16, USES = 20000, PIECE = 1, PIECES = 2 };

/**
 * The ages that one of two methods counted. One method counts contributions one after another, and
 * the other method counts all contributions of equal age at once.
 */
typedef struct counts {
    struct dsgd_sum staleness;
    dsgd_run_result result;
} counts;

/** An engine without a simulation. The test itself makes the steps of the workers. */
typedef struct rig {
    dsgd_engine engine;
    dsgd_worker workers[OWNERS];
    long steps[OWNERS][PIECES];
    uint64_t n_stepped[PIECES];
    int stepped[PIECES * OWNERS];
    double bytes[PIECES];
    counts alone, together;
} rig;

static rig *new_rig(double bytes)
{
    rig *const r = support_alloc(1, sizeof *r);
    *r = (rig){.engine = {.n_workers = OWNERS,
                          .layout.n_pieces = PIECES,
                          .workers = r->workers,
                          .computations.n_stepped = r->n_stepped,
                          .computations.stepped = r->stepped,
                          .layout.piece_bytes = r->bytes,
                          .layout.bytes = bytes},
               .bytes = {bytes - 1, 1}};
    for (int i = 0; i < OWNERS; i++) {
        r->workers[i].node.rank = i;
        r->workers[i].engine = &r->engine;
        r->workers[i].learner.local_steps = r->steps[i];
    }
    return r;
}

static void step(rig *r, int rank)
{
    r->stepped[PIECE * OWNERS + r->n_stepped[PIECE]++ % OWNERS] = rank;
    r->steps[rank][PIECE]++;
}

static uint32_t below(uint32_t n)
{
    static uint32_t index;
    return (uint32_t)dsgd_draw_below((dsgd_draw){.seed = 7, .index = index++}, n);
}

/**
 * Makes a sum over a group of workers. The ranks of the group differ only in the bits of @p group.
 * Some contributions are null, and some contributions are older than others.
 */
static dsgd_reduction *sum_of(rig *r, uint64_t number, dsgd_group group, int leader)
{
    dsgd_reduction *reduction = NULL;
    for (int rank = 0; rank < OWNERS; rank++) {
        if ((rank & (int)~group) != leader)
            continue;
        const long steps = r->steps[rank][PIECE];
        const long stamp = below(8) == 0 ? -1 : steps - (long)below((uint32_t)(steps < 3 ? 1 : 4));
        reduction =
            dsgd_reduction_join_group(&r->engine, number, group, leader, (dsgd_call){.divisor = 1});
        dsgd_reduction_sample(&r->engine.workers[rank], reduction,
                              (dsgd_piece){DSGD_ZERO_VALUE, stamp, 1});
    }
    dsgd_reduction_combine(&r->engine, reduction, (dsgd_origin){0}, PIECE);
    return reduction;
}

/** Counts the age of one contribution after another, in the order of ranks. */
static void count_alone(rig *r, dsgd_worker *user, const dsgd_reduction *of)
{
    const double weight = dsgd_piece_share(&r->engine, PIECE) / of->n_members;
    r->together.staleness = r->engine.accounts.staleness;
    r->engine.accounts.staleness = r->alone.staleness;
    r->engine.result = &r->alone.result;
    for (int i = 0; i < of->n_members; i++)
        dsgd_count_age(user, dsgd_members_rank(&of->members, i), PIECE, of->contribution[i].stamp,
                       weight);
    r->alone.staleness = r->engine.accounts.staleness;
    r->engine.accounts.staleness = r->together.staleness;
    r->engine.result = &r->together.result;
}

/**
 * sizes of a vector in bytes; some of the weights are powers of two, and some are fractions whose
 * sums are rounded
 */
static const double some_bytes[] = {2, 3, 10, 1.7};

TEST_RANGE(ages_counted_together_equal_ages_counted_singly, 0, 4)
{
    rig *const r = new_rig(some_bytes[_i]);
    dsgd_reduction *reduction = NULL;
    for (uint64_t use = 0; use < USES; use++) {
        const dsgd_group group = below(2) == 0 ? 0xf : 0xa;
        if (use % 20 == 0) /* each sum is used 20 times while workers make steps */
            reduction = sum_of(r, use, group, (int)below(OWNERS) & (int)~group);
        dsgd_worker *const user = &r->workers[below(OWNERS)];
        count_alone(r, user, reduction);
        dsgd_reduction_count_use(user, reduction, PIECE, 0);
        for (uint32_t n = below(use % 3 == 0 ? 3 * OWNERS : 3); n > 0; n--)
            step(r, (int)below(OWNERS));
        ck_assert(r->engine.accounts.staleness.sum == r->alone.staleness.sum);
        ck_assert(r->engine.accounts.staleness.weight == r->alone.staleness.weight);
    }
    const dsgd_run_result *const alone = &r->alone.result, *const together = &r->together.result;
    ck_assert_double_gt(alone->staleness_max, 4);
    ck_assert_double_eq(together->staleness_max, alone->staleness_max);
    ck_assert_uint_eq(together->ages.n, alone->ages.n);
    ck_assert_mem_eq(together->ages.share, alone->ages.share,
                     alone->ages.n * sizeof *alone->ages.share);
}

/**
 * The last bin of the histogram counts all ages that are larger than the other bins allow. The
 * maximum age is nevertheless exact.
 */
TEST(the_last_bin_counts_all_older_ages)
{
    rig *const r = new_rig(2);
    dsgd_run_result *const result = &r->alone.result;
    static const double ages[] = {DSGD_MOST_AGES - 2, DSGD_MOST_AGES - 1, DSGD_MOST_AGES,
                                  10.0 * DSGD_MOST_AGES, 0.5};
    r->engine.result = result;
    for (int i = 0; i < 5; i++)
        dsgd_count_gradient(&r->engine, (dsgd_lag){ages[i], ages[i]}, 0.125);
    ck_assert_uint_eq(result->gradient_ages.n, DSGD_MOST_AGES);
    ck_assert_double_eq(result->gradient_ages.share[0], 0.125);
    ck_assert_double_eq(result->gradient_ages.share[DSGD_MOST_AGES - 3], 0);
    ck_assert_double_eq(result->gradient_ages.share[DSGD_MOST_AGES - 2], 0.125);
    ck_assert_double_eq(result->gradient_ages.share[DSGD_MOST_AGES - 1], 0.375);
    ck_assert_double_eq(result->gradient_staleness_max, 10.0 * DSGD_MOST_AGES);
}

/**
 * Contributions of equal age are counted together, so the time does not depend on their number.
 * Only one use in thousands counts the contributions one by one.
 */
TEST_RANGE(ages_are_rarely_counted_singly, 0, 4)
{
    rig *const r = new_rig(some_bytes[_i]);
    r->engine.result = &r->together.result;
    const dsgd_alike alike[] = {{0, 5, 1000}, {3, 4, 24}, {2, 2, 7}};
    const double weight = dsgd_piece_share(&r->engine, PIECE) / 1031;
    int n_alone = 0;
    r->steps[0][PIECE] = 5;
    for (int use = 0; use < USES; use++)
        if (!dsgd_count_ages(&r->workers[0], PIECE, alike, 3, weight)) {
            n_alone++;
            r->engine.accounts.staleness.sum += weight * (1000 * 5 + 24);
        }
    /* contributions are counted singly in only one use per power of two */
    ck_assert_int_le(n_alone, 20);
}
