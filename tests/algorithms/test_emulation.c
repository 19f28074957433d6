/**
 * @file test_emulation.c
 * Compares whole runs with emulations of the algorithms (tests/support/emulation.h). Workers are
 * late: the step times come from a file, and one step in six takes up to 6 s more.
 */
#include <unistd.h>

#include "base/draw.h"
#include "tests/support/emulation.h"
#include "tests/support/replay.h"
#include "tests/support/suite.h"
#include "tests/support/support.h"

enum { WORKERS = 8, ROWS = REPLAY_ROWS, N = REPLAY_N, SEED = 1 };

static support_pair *pair_of_steps(const char *algorithm, int workers, long pieces, long steps)
{
    support_pair *const t = support_pair_new(algorithm, workers, pieces);
    t->c->config.steps_each = steps;
    t->problem.steps = steps;
    return t;
}

/**
 * Compares the final models of a run with the models of its emulation. The difference may only be
 * rounding. Also compares the end times, which may differ by the time of the messages.
 */
static const support_outcome *expect_same(support_pair *t)
{
    const support_outcome *const got = support_ok(t->c);
    unlink(t->file);
    const size_t n = (size_t)t->c->config.workers * N;
    const double distance = support_distance(got->x, t->x, n);
    ck_assert_msg(distance <= 1e-12, "off by %g; ends at %.9f s, not %.9f s", distance,
                  got->result.virtual_s, t->result.end_s);
    if (t->problem.steps > 0)
        ck_assert_double_eq_tol(got->result.virtual_s, t->result.end_s,
                                20e-6 * (double)(t->problem.pieces * (size_t)t->problem.steps));
    return got;
}

/**
 * Compares a run of a partial collective with its emulation. The models, the number of workers in
 * time, the number of sums that no worker used, and the lags must be equal.
 */
static void expect_same_versions(support_pair *t)
{
    const support_outcome *const got = expect_same(t);
    ck_assert_double_eq_tol(got->result.partial_active_mean, t->result.fresh / t->result.versions,
                            1e-12);
    const double pieces = (double)t->problem.pieces;
    ck_assert_double_eq_tol(got->result.partial_skipped, t->result.missed / pieces, 1e-9);
    ck_assert_double_eq_tol(got->result.partial_duplicates, t->result.repeated / pieces, 1e-9);
    const emulation_lag *const lag = &t->result.use_versions;
    const bool models = strcmp(t->c->config.algorithm->about.name, "wagma") == 0;
    ck_assert_double_eq_tol(models ? got->result.lag_mean : got->result.gradient_staleness_mean,
                            lag->n > 0 ? lag->sum / lag->n : 0, 1e-9);
    if (models)
        ck_assert_double_eq(got->result.lag_max, t->result.contribution_versions.max);
}

/** numbers of steps in each run, after which the final models are compared */
static const long lengths[] = {5, 18, 60};
enum { N_LENGTHS = sizeof lengths / sizeof lengths[0] };

SUITE(emulation, "late", .seconds = 120);

/** The loop variable _i selects the number of steps, the order and the number of chunks. */
TEST_RANGE(local_sgd, 0, 4 * N_LENGTHS)
{
    const bool cta = _i / N_LENGTHS % 2 == 1;
    support_pair *const t = pair_of_steps("local_sgd", _i < 2 * N_LENGTHS ? 8 : 7,
                                          _i < 2 * N_LENGTHS ? 1 : 3, lengths[_i % N_LENGTHS]);
    OPTIONS(t->c, {"period", 4}, {"order", cta});
    emulation_local_sgd(&t->problem, 4, cta, &t->result);
    expect_same(t);
}

/**
 * Returns the weight that worker i gives to the model of worker j on a ring. The weight is 1/3 for
 * the worker itself and for each of its two neighbours, or 1/2 if there are only two workers.
 */
static double ring_weight(const emulation_problem *p, int i, int j, long step)
{
    const int distance = (i - j + p->workers) % p->workers;
    const bool near = distance <= 1 || distance == p->workers - 1;
    return near ? 1.0 / (p->workers < 3 ? p->workers : 3) : 0;
}

/** The loop variable _i selects the number of steps, the order, and the numbers of chunks and
 * workers. */
TEST_RANGE(d_psgd_on_a_ring, 0, 16 * N_LENGTHS)
{
    static const int workers[] = {8, 7, 2, 1};
    const bool atc = _i / N_LENGTHS % 2 == 1;
    support_pair *const t =
        pair_of_steps("d_psgd", workers[_i / (4 * N_LENGTHS)],
                      _i / (2 * N_LENGTHS) % 2 == 0 ? 1 : 3, lengths[_i % N_LENGTHS]);
    support_option(t->c, "order", atc ? 2 : 0);
    emulation_gossip(&t->problem, ring_weight, atc, &t->result);
    expect_same(t);
}

static const struct {
    int workers;
    emulation_wagma_options options;
    bool by_default; /* true if the test uses the default size of a group */
} wagmas[] = {
    {8, {.group = 2, .period = 5, .late_check = true, .rotates = true}},
    {8, {.group = 4, .period = 10, .late_check = true, .rotates = true}, .by_default = true},
    {8, {.group = 8, .period = 1000, .late_check = true, .rotates = true}},
    {8, {.group = 4, .period = 7, .late_check = false, .rotates = true}},
    {8, {.group = 4, .period = 7, .late_check = true, .rotates = false}},
    {2, {.group = 2, .period = 3, .late_check = true, .rotates = true}},
    {16, {.group = 4, .period = 9, .late_check = true, .rotates = true}},
    {1, {.group = 1, .period = 3, .late_check = true, .rotates = true}},
};
enum { N_WAGMAS = sizeof wagmas / sizeof wagmas[0] };

static void wagma_case(int i, bool cta)
{
    const int row = i / N_LENGTHS % N_WAGMAS;
    emulation_wagma_options o = wagmas[row].options;
    o.cta = cta;
    support_pair *const t = pair_of_steps("wagma", wagmas[row].workers,
                                          i < N_LENGTHS * N_WAGMAS ? 1 : 3, lengths[i % N_LENGTHS]);
    if (!wagmas[row].by_default)
        support_option(t->c, "group", o.group);
    OPTIONS(t->c, {"period", (double)o.period}, {"order", cta}, {"late_check", o.late_check},
            {"rotate", o.rotates});
    emulation_wagma(&t->problem, o, &t->result);
    expect_same_versions(t);
    ck_assert_double_lt(t->result.contribution_versions.max, (double)o.period);
}

/** The loop variable _i selects the number of steps, the options and the number of chunks. */
TEST_RANGE(wagma_after_the_local_step, 0, 2 * N_LENGTHS * N_WAGMAS)
{
    wagma_case(_i, false);
}

TEST_RANGE(wagma_before_the_local_step, 0, 2 * N_LENGTHS * N_WAGMAS)
{
    wagma_case(_i, true);
}

static int drawn_initiator(const emulation_problem *p, long version)
{
    const dsgd_draw at = {SEED, DSGD_DRAW_SHARED, 0, (uint32_t)version, 0};
    return (int)dsgd_draw_below(at, (uint64_t)p->workers);
}

static const emulation_eager_options eagers[] = {
    {0},
    {.discards = true},
    {.limiter = 6},
    {.period = 5},
    {.initiator = drawn_initiator},
    {.initiator = drawn_initiator, .discards = true},
    {.initiator = drawn_initiator, .limiter = 3, .period = 8},
};
enum { N_EAGERS = sizeof eagers / sizeof eagers[0] };

/** The loop variable _i selects the number of steps, the options and the number of chunks. */
TEST_RANGE(eager, 0, 2 * N_LENGTHS * N_EAGERS)
{
    const emulation_eager_options o = eagers[_i / N_LENGTHS % N_EAGERS];
    support_pair *const t = pair_of_steps(
        o.initiator == NULL ? "eager_solo" : "eager_majority", _i < N_LENGTHS * N_EAGERS ? 8 : 16,
        _i < N_LENGTHS * N_EAGERS ? 1 : 3, lengths[_i % N_LENGTHS]);
    support_option(t->c, "late", o.discards);
    if (o.limiter > 0)
        support_option(t->c, "limiter", (double)o.limiter);
    if (o.period > 0)
        support_option(t->c, "period", (double)o.period);
    emulation_eager(&t->problem, o, &t->result);
    expect_same_versions(t);
}

/** The loop variable _i selects the number of steps, the delay and the number of chunks. */
TEST_RANGE(dasgd, 0, 8 * N_LENGTHS)
{
    static const long tau[] = {4, 4, 3, 5}, d[] = {1, 4, 0, 2};
    const int row = _i / N_LENGTHS % 4;
    support_pair *const t = pair_of_steps("dasgd", _i < 4 * N_LENGTHS ? 8 : 3,
                                          _i < 4 * N_LENGTHS ? 1 : 3, lengths[_i % N_LENGTHS]);
    OPTIONS(t->c, {"tau", (double)tau[row]}, {"d", (double)d[row]});
    emulation_dasgd(&t->problem, tau[row], d[row], 0.25, &t->result);
    expect_same(t);
}

/** The loop variable _i selects the number of steps and the period. */
TEST_RANGE(easgd, 0, 2 * N_LENGTHS)
{
    const long period = 1 + 3 * (_i / N_LENGTHS);
    support_pair *const t = pair_of_steps("easgd", WORKERS, 1, lengths[_i % N_LENGTHS]);
    OPTIONS(t->c, {"period", (double)period}, {"beta", 0.8});
    emulation_easgd(&t->problem, 0.1, period, &t->result);
    const support_outcome *const got = expect_same(t);
    const double loss = support_loss(t->problem.argument, t->center); /* the emulation's centre */
    ck_assert_double_eq_tol(got->points[got->result.n_points - 1].at.loss / loss, 1, 4e-14);
}

/**
 * Tests that the centre is evaluated. If beta is 0, the elastic force is 0, and the centre keeps
 * its start value. The centre must also keep this value if all workers have a copy of the centre.
 * The loop variable _i selects the algorithm.
 */
TEST_RANGE(a_synchronous_centre_is_evaluated, 0, 2)
{
    support_case *const c = support_new(_i == 0 ? "easgd" : "eamsgd", 4);
    OPTIONS(c, {"beta", 0}, {"period", 1}, {"centre", 1});
    const support_outcome *const got = support_ok(c);
    ck_assert_uint_ge(got->result.n_points, 2);
    ck_assert_double_eq_tol(got->points[got->result.n_points - 1].at.loss, got->points[0].at.loss,
                            1e-12);
}

static void expect_ages(const support_outcome *got, const emulation_lag *lag)
{
    ck_assert_double_eq_tol(got->result.gradient_staleness_mean, lag->sum / lag->n, 1e-9);
    ck_assert_double_eq(got->result.gradient_staleness_max, lag->max);
}

/** The loop variable _i selects the number of steps, the period and the number of chunks. */
TEST_RANGE(downpour, 0, 4 * N_LENGTHS)
{
    const long period = 1 + 2 * (_i / N_LENGTHS % 2);
    support_pair *const t = pair_of_steps("a_psgd", _i < 2 * N_LENGTHS ? 8 : 7,
                                          _i < 2 * N_LENGTHS ? 1 : 3, lengths[_i % N_LENGTHS]);
    support_option(t->c, "period", (double)period);
    support_option(t->c, "servers", (double)t->problem.pieces); /* each server stores one chunk */
    emulation_downpour(&t->problem, period, &t->result);
    expect_ages(expect_same(t), &t->result.push_versions);
}

/**
 * The link is full-duplex and the server is idle, so a message takes 0.1 s in each direction. An
 * answer contains the worker's push, so the answer for the last chunk cannot start before the push
 * of this chunk has arrived. All other answers overlap with later pushes. (The server of the
 * published code may answer without the push, and would take only 0.1 s.) The loop variable _i
 * selects the period and the number of chunks.
 */
TEST_RANGE(a_push_and_a_fetch_travel_together, 0, 6)
{
    enum { STEPS = 12 };
    static const long pieces[] = {1, 4, 20};
    const long period = 1 + 2 * (_i % 2), n_pieces = pieces[_i / 2];
    support_pair *const t = pair_of_steps("a_psgd", 1, n_pieces, STEPS);
    support_no_learning(t->c);
    support_option(t->c, "period", (double)period);
    SET(t->c, workload.bytes = 1e9, config.exchange.overlap = false);
    double computed_s = 0;
    for (int row = 0; row < STEPS; row++)
        computed_s += t->seconds[row];
    const double exchanges = STEPS / (double)period, got_s = support_ok(t->c)->result.virtual_s;
    unlink(t->file);
    ck_assert_double_eq_tol((got_s - computed_s) / exchanges, 0.1 + 0.1 / (double)n_pieces, 3e-5);
}

/* --- AD-PSGD ---------------------------------------------------------------------------------- */

/* kind of schedule that the exponential graph gives */
enum { BIPARTITE = 3 };

static uint64_t drawn_below(int worker, long nth, int n)
{
    const dsgd_draw at = {SEED, DSGD_DRAW_ALGORITHM, (uint32_t)worker, (uint32_t)nth, 0};
    return dsgd_draw_below(at, (uint64_t)n);
}

static int any_passive(const emulation_problem *p, int worker, long nth)
{
    return 2 * (int)drawn_below(worker, nth, (p->workers + 1) / 2);
}

static int beside_on_the_ring(const emulation_problem *p, int worker, long nth)
{
    const int behind = worker - 1, ahead = (worker + 1) % p->workers;
    const int first = behind < ahead ? behind : ahead;
    return p->workers == 2 || drawn_below(worker, nth, 2) == 0 ? first : behind + ahead - first;
}

/**
 * Returns a peer from the list of the registry's exponential graph. In this graph, the peers of
 * even ranks start with the next rank, so the peers of odd ranks start with the previous rank. The
 * published code has the same list on a ring with the opposite direction.
 */
static int exponential_peer(const emulation_problem *p, int worker, long nth)
{
    return emulation_exponential_peer(p, worker, nth ^ 1);
}

static void expect_same_pairs(support_pair *t, int (*peer)(const emulation_problem *, int, long))
{
    emulation_ad_psgd(&t->problem, (emulation_pair_options){EMULATION_PAPER, peer, 0, 1},
                      &t->result);
    expect_ages(expect_same(t), &t->result.gradient_averagings);
}

/** The loop variable _i selects the number of steps, workers and chunks. */
TEST_RANGE(ad_psgd_of_random_pairs, 0, 6 * N_LENGTHS)
{
    static const int workers[] = {2, 7, 8};
    support_pair *const t = pair_of_steps("ad_psgd", workers[_i / N_LENGTHS % 3],
                                          _i < 3 * N_LENGTHS ? 1 : 3, lengths[_i % N_LENGTHS]);
    expect_same_pairs(t, any_passive);
}

/**
 * A model travels for 5 ms. In this time, the passive worker may make a local step. (If a model
 * travelled for 20 ms, two models would share a link.) The loop variable _i selects the number of
 * steps and the number of averages.
 */
TEST_RANGE(ad_psgd_with_messages_on_their_way, 0, 4 * N_LENGTHS)
{
    support_pair *const t = pair_of_steps("ad_psgd", WORKERS, 1, lengths[_i % N_LENGTHS]);
    const long averagings = _i / N_LENGTHS;
    support_option(t->c, "averagings", (double)averagings);
    support_set(dsgd_entry_find(dsgd_graph_kinds, "exponential"),
                support_spec(t->c, "graph", "exponential"), "schedule", BIPARTITE);
    t->c->workload.bytes = 50e6;
    emulation_ad_psgd(
        &t->problem,
        (emulation_pair_options){EMULATION_PAPER, exponential_peer, 50e6 / 10e9 + 1e-6, averagings},
        &t->result);
    expect_same(t);
}

/** The loop variable _i selects the number of steps and the number of workers. */
TEST_RANGE(ad_psgd_on_a_ring, 0, 2 * N_LENGTHS)
{
    support_pair *const t =
        pair_of_steps("ad_psgd", 2 + 3 * (_i / N_LENGTHS) * 2, 1, lengths[_i % N_LENGTHS]);
    support_spec(t->c, "graph", "ring");
    expect_same_pairs(t, beside_on_the_ring);
}

/** The loop variable _i selects the number of steps and the number of workers. */
TEST_RANGE(ad_psgd_of_the_exponential_list, 0, 5 * N_LENGTHS)
{
    static const int workers[] = {2, 4, 6, 8, 12};
    support_pair *const t =
        pair_of_steps("ad_psgd", workers[_i / N_LENGTHS], 1, lengths[_i % N_LENGTHS]);
    support_set(dsgd_entry_find(dsgd_graph_kinds, "exponential"),
                support_spec(t->c, "graph", "exponential"), "schedule", BIPARTITE);
    expect_same_pairs(t, exponential_peer);
}

enum { GOSSIP_PROCESS = 1, SHARED_COPY };
static const emulation_pairing pairings[] = {
    [GOSSIP_PROCESS] = EMULATION_GOSSIP_PROCESS, [SHARED_COPY] = EMULATION_SHARED_COPY};

/**
 * Makes a run and an emulation of AD-PSGD in a variant with a communication loop. A message takes
 * 0.1 s, so an active worker averages five times per second.
 */
static support_pair *looping_pair(int variant, int workers, double until_s)
{
    static const double message_s = 1e9 / 10e9 + 1e-6;
    support_pair *const t = support_pair_new("ad_psgd", workers, 1);
    SET(t->c, workload.bytes = 1e9, config.until = (dsgd_until){.seconds = until_s});
    t->problem.until_s = until_s;
    support_option(t->c, "variant", variant);
    emulation_ad_psgd(&t->problem,
                      (emulation_pair_options){pairings[variant], exponential_peer, message_s, 0},
                      &t->result);
    return t;
}

/** The loop variable _i selects the variant, the end of the run and the number of workers. */
TEST_RANGE(released_loops_average_during_the_computation, 0, 18)
{
    static const double ends_s[] = {2.03, 9.57, 31.41};
    static const int workers[] = {2, 4, 8};
    support_pair *const t = looping_pair(1 + _i % 2, workers[_i / 6], ends_s[_i / 2 % 3]);
    expect_same(t);
}

/** The loop variable _i is the variant. */
TEST_RANGE(released_loops_never_pause, GOSSIP_PROCESS, SHARED_COPY + 1)
{
    support_pair *const t = looping_pair(_i, WORKERS, 20.05);
    const support_outcome *const got = support_ok(t->c);
    unlink(t->file);
    /*
     * Each of four active workers has made a hundred exchanges. One message of a further exchange
     * may be in flight.
     */
    ck_assert_double_eq(t->result.averagings, 4 * 100);
    ck_assert_double_eq_tol((double)got->result.messages, 4 * 2 * 100.5, 4);
}

/**
 * The link of worker 1 is four times slower than other links. In the variant gossip_process, a
 * passive worker waits for the peer of its schedule, so all workers have the pace of the slow
 * worker, 0.8 s per averaging. In the variant shared_copy, a passive worker answers requests in
 * their order of arrival. The other workers are then faster, but sometimes wait until the slow
 * worker has been answered. The loop variable _i is the variant.
 */
TEST_RANGE(gossip_process_waits_for_its_scheduled_peer, GOSSIP_PROCESS, SHARED_COPY + 1)
{
    static const double least[] = {[GOSSIP_PROCESS] = 4 * 45, [SHARED_COPY] = 4 * 75};
    static const double most[] = {[GOSSIP_PROCESS] = 4 * 55, [SHARED_COPY] = 3 * 200 + 50};
    static dsgd_platform_entry slow = {.first = 1, .count = 1, .speed = 1, .bandwidth = 0.25};
    support_pair *const t = looping_pair(_i, WORKERS, 40);
    t->c->platform.hosts = (dsgd_structs){1, &slow};
    const support_outcome *const got = support_ok(t->c);
    unlink(t->file);
    ck_assert_double_ge((double)got->result.messages / 2, least[_i]);
    ck_assert_double_le((double)got->result.messages / 2, most[_i]);
}

/* --- DropCompute ------------------------------------------------------------------------------ */

enum { CALIBRATION = 20, NO_THRESHOLD = -1, AUTO_THRESHOLD = -2 };

static support_pair *drop_pair(int workers, int micro_batches, double bytes, double threshold)
{
    support_pair *const t = pair_of_steps("drop_compute", workers, 1, ROWS);
    support_no_learning(t->c);
    t->c->workload.bytes = bytes;
    OPTIONS(t->c, {"micro_batches", micro_batches}, {"calibration", CALIBRATION}, {"spare", 0},
            {"threshold", threshold});
    return t;
}

/** Samples and time of the part of a run after the calibration, in which the threshold applies. */
typedef struct portions {
    double samples, virtual_s;
} portions;

static portions keep(const support_pair *t, const emulation_calibration *c, double threshold_s)
{
    portions k = {0, 0};
    for (int row = 0; row < ROWS; row++) {
        double slowest_s = 0;
        for (int w = 0; w < c->workers; w++) {
            const double limit_s = row < CALIBRATION ? INFINITY : threshold_s;
            const emulation_cut cut = emulation_cut_step(
                t->seconds[row * c->workers + w], c->micro_batches, c->backward_share, limit_s);
            k.samples += t->c->workload.samples * cut.done / c->micro_batches;
            slowest_s = fmax(slowest_s, cut.compute_s);
        }
        k.virtual_s += slowest_s + c->overhead_s;
    }
    return k;
}

static const double drop_bytes[] = {1, 4e9, 20e9, 100e9};
static const int drop_workers[] = {1, 5, 8};
static const int drop_micro_batches[] = {12, 16};

/**
 * The overhead is measured without a threshold. With a threshold, dropping may cost more than it
 * saves. The loop variable _i selects the bytes of a message, the number of workers and the number
 * of micro-batches.
 */
TEST_RANGE(an_automatic_threshold_counts_the_overhead, 0, 24)
{
    const double bytes = drop_bytes[_i % 4];
    const int workers = drop_workers[_i / 4 % 3], m = drop_micro_batches[_i / 12];
    support_pair *const none = drop_pair(workers, m, bytes, NO_THRESHOLD);
    support_pair *const t = drop_pair(workers, m, bytes, AUTO_THRESHOLD);
    emulation_calibration c = {.seconds = t->seconds,
                               .steps = CALIBRATION,
                               .workers = workers,
                               .micro_batches = m,
                               .backward_share = t->c->workload.backward_share,
                               .first = 6};
    const portions whole = keep(t, &c, INFINITY);
    c.overhead_s = (support_ok(none->c)->result.virtual_s - whole.virtual_s) / ROWS;
    const double threshold_s = emulation_threshold(&c);
    const portions want = keep(t, &c, threshold_s);
    const support_outcome *const got = support_ok(t->c);
    unlink(none->file);
    unlink(t->file);
    printf("DropCompute, %d workers, %d micro-batches, overhead %.3f s: threshold %.4f s keeps "
           "%.4f, takes %.4f s; simulated %.4f, %.4f s\n",
           workers, m, c.overhead_s, threshold_s, want.samples / whole.samples, want.virtual_s,
           got->result.samples / whole.samples, got->result.virtual_s);
    ck_assert_double_eq_tol(got->result.samples, want.samples, 1e-6);
    /*
     * In an allreduce of five workers, the fifth worker sends its vector to one of the other four.
     * These additional phases may overlap with a late worker's computation, unless the threshold
     * cuts this computation.
     */
    const double folded_s = workers == 5 ? ROWS * c.overhead_s : 0;
    ck_assert_double_ge(got->result.virtual_s, want.virtual_s - 1e-3);
    ck_assert_double_le(got->result.virtual_s, want.virtual_s + folded_s + 1e-3);
    ck_assert(workers > 1 || want.samples == whole.samples);
    ck_assert(workers == 1 || bytes > 1 || want.samples < whole.samples);
}
