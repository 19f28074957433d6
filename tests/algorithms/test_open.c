/**
 * @file test_open.c
 * Tests DeDLOC and the cluster-based model. The tests compare runs with emulations that process
 * messages in the order of arrival, and with closed forms of a round. They compare the shares of
 * peers with brute force. Other tests check which workers continue after failures.
 */
#include <unistd.h>

#include "tests/support/replay.h"
#include "tests/support/suite.h"
#include "tests/support/support.h"

/*
 * The test includes the source file of DeDLOC to call its static functions. This name avoids a
 * second definition of the algorithm.
 */
#define dsgd_algorithm_dedloc algorithm_of_test_open
// NOLINTNEXTLINE(bugprone-suspicious-include): the test calls static functions of this file
#include "algorithms/dedloc.c"

enum { N = REPLAY_N, MOST = REPLAY_MOST_WORKERS };

SUITE(open, "shares", .seconds = 120);

/**
 * Returns the time of the busiest direction of a link: the bytes of its chunks, divided by its
 * bandwidth.
 */
static double busiest(const reducer *r, const int64_t *pieces, int n)
{
    double most = 0;
    for (int i = 0; i < n; i++) {
        int64_t up = 0, down = 0;
        for (int j = 0; j < n; j++) {
            if (i == j)
                continue;
            up += (r[i].contributes ? pieces[j] : 0) + pieces[i]; /* parts and means */
            down += (r[j].contributes ? pieces[i] : 0) + pieces[j];
        }
        const int64_t busier = up > down ? up : down;
        most = fmax(most, (double)busier / r[i].bandwidth);
    }
    return most;
}

/**
 * Returns the lowest possible time of the busiest link, over all ways to distribute the remaining
 * chunks.
 */
static double least(const reducer *r, int64_t *pieces, int n, int i, int64_t left)
{
    double best = INFINITY;
    if (i == n - 1) {
        pieces[i] = left;
        return busiest(r, pieces, n);
    }
    for (pieces[i] = 0; pieces[i] <= left; pieces[i]++) {
        const int64_t here = pieces[i];
        best = fmin(best, least(r, pieces, n, i + 1, left - here));
        pieces[i] = here;
    }
    return best;
}

TEST_RANGE(shares_by_bandwidth_are_optimal, 0, 300)
{
    reducer r[4];
    int64_t pieces[4], given = 0;
    uint64_t random = 88172645463325252ULL + (uint64_t)_i * 2654435761U;
    const int n = 2 + _i % 3, n_pieces = 1 + _i / 3 % 12;
    for (int i = 0; i < n; i++) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        r[i] = (reducer){(double)(1 + random % 9), i == 0 || random >> 40 & 3, 0};
    }
    share_out(r, n, n_pieces);
    int64_t got[4];
    for (int i = 0; i < n; i++)
        given += got[i] = r[i].pieces;
    ck_assert_int_eq(given, n_pieces);
    ck_assert_double_eq_tol(busiest(r, got, n), least(r, pieces, n, 0, n_pieces), 1e-12);
}

/**
 * Tests that the shares equal the result of hivemind's linear program if its optimum is unique.
 * Otherwise, shares must be proportional to bandwidth.
 */
TEST(shares_are_those_of_the_released_code)
{
    reducer r[] = {{0.55, true, 0}, {0.44, true, 0}, {0.40, true, 0}};
    share_out(r, 3, 60);
    ck_assert_int_eq(r[0].pieces, 35);
    ck_assert_int_eq(r[1].pieces, 16);
    ck_assert_int_eq(r[2].pieces, 9);
    reducer slow[] = {{0.3, true, 0}, {0.5, true, 0}, {0.9, true, 0}};
    share_out(slow, 3, 1024);
    ck_assert_int_eq(slow[0].pieces, 0);
    reducer two[] = {{1, true, 0}, {3, true, 0}};
    share_out(two, 2, 12);
    ck_assert_int_eq(two[0].pieces, 3);
}

CASE("DeDLOC", .seconds = 120);

/**
 * Makes a case with @p n peers at an idle switch. The array @p links contains factors for the
 * bandwidths of the links.
 */
static support_case *peers(int n, dsgd_platform_entry *links, size_t n_links, double bytes)
{
    support_case *c = support_no_learning(support_new("dedloc", n));
    SET(c, platform.host_bandwidth_bytes_per_s = 1e9, platform.host_latency_s = 1e-6);
    c->platform.hosts = (dsgd_structs){n_links, links};
    SET(c, workload.bytes = bytes, workload.samples = 128);
    /*
     * A batch is one gradient of each peer. A peer that reports before the batch is full continues.
     */
    support_option(c, "batch", 1);
    c->config.until = (dsgd_until){.steps = 10};
    return c;
}

/**
 * Each peer averages one chunk. In a round, the peer sends its parts of the other chunks, and then
 * sends the mean of its own chunk to all peers.
 */
TEST_RANGE(dedloc_round_takes_twice_its_parts, 2, 7)
{
    support_case *c = peers(_i, NULL, 0, 1e9);
    SET(c, config.exchange.pieces = _i, config.exchange.overlap = false);
    const double round_s = 1 + 2.0 * (_i - 1) / _i;
    c->config.exchange.overlap = true;
    ck_assert_double_eq_tol(support_ok(c)->result.virtual_s, 10 * round_s, 10 * 3e-5);
}

/**
 * In a round, a peer with share f_i sends (1 + (n - 2) f_i) N bytes, and all peers together send (2
 * n - 2) N bytes. Each chunk contains some additional numbers. Reports and lists of shares also
 * count.
 */
TEST_RANGE(dedloc_round_sends_the_bytes_of_its_shares, 2, 6)
{
    support_case *c = peers(_i, NULL, 0, 1e8);
    c->config.exchange.pieces = 12;
    const double n = _i, numbers = (4 + 3) * 12 * (n - 1) + 4 * n + n * (2 + n + 12);
    const double bytes = (2 * n - 2) * 1e8 + 8 * numbers;
    ck_assert_double_eq_tol(support_ok(c)->result.bytes / 10, bytes, 1);
}

/**
 * Tests the time of a round. If shares are proportional to bandwidth, the time exceeds the lower
 * bound by at most one chunk. With equal shares, the slow links determine the time.
 */
TEST(shares_by_bandwidth_are_faster_where_links_differ)
{
    static dsgd_platform_entry slow[] = {{0, 4, {0, NULL}, 1, 0.25, 0}};
    double seconds[2];
    for (int equal = 0; equal < 2; equal++) {
        support_case *c = peers(8, slow, 1, 1e9);
        c->config.exchange.pieces = 48;
        support_option(c, "shares", equal);
        seconds[equal] = support_ok(c)->result.virtual_s / 10 - 1;
    }
    reducer r[8];
    for (int i = 0; i < 8; i++)
        r[i] = (reducer){i < 4 ? 0.25 : 1, true, 0};
    share_out(r, 8, 48);
    double most = 0;
    for (int i = 0; i < 8; i++)
        most = fmax(most, (1 + 6 * (double)r[i].pieces / 48) / r[i].bandwidth);
    ck_assert_double_ge(seconds[0], most - 1e-9);
    ck_assert_double_le(seconds[0], most * (1 + 6.0 / 48));
    ck_assert_double_eq_tol(seconds[1], (1 + 6 / 8.0) / 0.25, 1e-3);
}

/**
 * Tests an auxiliary peer with ten times the bandwidth of other peers, which averages all chunks.
 */
TEST(an_auxiliary_peer_speeds_up_a_round_by_an_unequal_share)
{
    static dsgd_platform_entry fast = {8, 1, {0, NULL}, 1, 10, 0};
    double seconds[3];
    /* the three runs have no auxiliary peer, equal shares, and shares by bandwidth */
    for (int i = 0; i < 3; i++) {
        support_case *c = peers(8 + (i > 0), &fast, 1, 1e9);
        SET(c, config.exchange.pieces = 48, config.until = (dsgd_until){.samples = 80 * 128});
        OPTIONS(c, {"auxiliary", i > 0}, {"shares", i < 2});
        seconds[i] = support_ok(c)->result.virtual_s / 10 - 1;
    }
    ck_assert_double_eq_tol(seconds[0], 1 + 6 / 8.0, 0.02);
    ck_assert_double_gt(seconds[1], seconds[0]);
    ck_assert_double_eq_tol(seconds[2], 1,
                            0.05); /* a peer sends its gradient in 0.05 s, and receives a mean */
}

/**
 * A worker of an emulation: the sum of its gradients at one model, and the end of its next
 * gradient.
 */
typedef struct emulated {
    double x[N], v[N], g[N], sum[N], ends_s;
    long finished, gradients; /* numbers of finished gradients and of gradients in the sum */
    bool waits;
    long round;
} emulated;

static void begin(const emulation_problem *p, emulated *w, int worker, double now_s)
{
    p->gradient(p->argument, worker, w->finished, w->x, w->g);
    w->ends_s = now_s + p->seconds[w->finished % p->rows * p->workers + worker];
    w->waits = false;
}

/** Returns the worker that finishes next, or -1 if no worker finishes before the end of the run. */
static int next_done(const emulation_problem *p, emulated *w)
{
    int next = -1;
    for (int i = 0; i < p->workers; i++)
        if (!w[i].waits && w[i].ends_s <= p->until_s && (next < 0 || w[i].ends_s < w[next].ends_s))
            next = i;
    if (next >= 0)
        w[next].finished++;
    return next;
}

static void descend(const emulation_problem *p, const double *g, emulated *w)
{
    for (size_t i = 0; i < N; i++) {
        w->v[i] = p->momentum * w->v[i] + g[i] + p->weight_decay * w->x[i];
        w->x[i] -= p->lr * w->v[i];
    }
}

static emulated *emulated_new(const emulation_problem *p)
{
    emulated *const w = support_alloc((size_t)p->workers, sizeof *w);
    for (int i = 0; i < p->workers; i++) {
        memcpy(w[i].x, p->initial, sizeof w[i].x);
        begin(p, &w[i], i, 0);
    }
    return w;
}

/**
 * Emulates DeDLOC. When the batch is full and no worker computes, all workers make a step with the
 * mean of all gradients. The last @p auxiliary workers add no gradient.
 */
static emulated *dedloc_emulated(const emulation_problem *p, long batch, int auxiliary)
{
    emulated *const w = emulated_new(p);
    long gathered = 0, waiting = auxiliary;
    for (int i = p->workers - auxiliary; i < p->workers; i++)
        w[i].ends_s = INFINITY;
    for (int i; (i = next_done(p, w)) >= 0;) {
        const double now_s = w[i].ends_s;
        for (size_t k = 0; k < N; k++)
            w[i].sum[k] = (w[i].gradients > 0 ? w[i].sum[k] : 0) + w[i].g[k];
        w[i].gradients++;
        if (++gathered < batch) {
            begin(p, &w[i], i, now_s);
            continue;
        }
        w[i].waits = true;
        if (++waiting < p->workers)
            continue;
        double mean[N] = {0};
        for (int j = 0; j < p->workers; j++)
            for (size_t k = 0; k < N; k++)
                mean[k] += w[j].sum[k] / (double)gathered;
        for (int j = 0; j < p->workers; j++) {
            descend(p, mean, &w[j]);
            w[j].gradients = 0;
            if (j < p->workers - auxiliary)
                begin(p, &w[j], j, now_s);
        }
        gathered = 0;
        waiting = auxiliary;
    }
    return w;
}

static support_pair *pair_until(const char *algorithm, int workers, double until_s)
{
    support_pair *const t = support_pair_new(algorithm, workers, 1);
    support_pair_lr(t, 0.02);
    t->c->config.until = (dsgd_until){.seconds = until_s};
    t->problem.until_s = until_s;
    return t;
}

static void expect_models(support_pair *t, const emulated *want)
{
    const support_outcome *const got = support_ok(t->c);
    unlink(t->file);
    for (int w = 0; w < t->problem.workers; w++) {
        const double distance = support_distance(got->x + (size_t)w * N, want[w].x, N);
        ck_assert_msg(distance <= 1e-12, "worker %d is off by %g", w, distance);
    }
    ck_assert_double_gt(support_distance(got->x, t->initial, N), 0.01);
}

/**
 * Tests that no gradient is lost and none counts twice. The weight of each gradient is its number
 * of samples. Auxiliary peers add no gradients. The loop variable _i selects the number of workers,
 * the batch, and the number of auxiliary peers.
 */
TEST_RANGE(every_sample_counts_once, 0, 16)
{
    static const long batches[] = {1, 3, 7, 20};
    static const int workers[] = {1, 5, 12, 5};
    support_pair *const t = pair_until("dedloc", workers[_i % 4], 61.3);
    const long batch = batches[_i / 4];
    const int auxiliary = _i % 4 == 3 ? 2 : 0;
    OPTIONS(t->c, {"batch", (double)batch * t->c->workload.samples}, {"auxiliary", auxiliary});
    emulated *const want = dedloc_emulated(&t->problem, batch, auxiliary);
    expect_models(t, want);
}

/**
 * The tracker's link takes 0.2 s per START message, and the auxiliary peer gets the last of these
 * messages. Before this message arrives, the auxiliary peer receives the means of the other two
 * peers. It must use these means as the other peers do. No peer may wait for the auxiliary peer
 * longer than for its message.
 */
TEST(dedloc_accepts_a_mean_before_the_round_begins)
{
    static dsgd_platform_entry slow[] = {
        {3, 1, {0, NULL}, 1, 1e-6, 0}}; /* the tracker, the last host, has a bandwidth of 1 kB/s */
    support_case *const c = support_new("dedloc", 3);
    SET(c, platform = peers(3, slow, 1, 1e6)->platform, config.exchange.pieces = 20,
        config.steps_each = 10);
    OPTIONS(c, {"batch", 1}, {"auxiliary", 1});
    const support_outcome *const got = support_ok(c);
    const size_t n = got->n_params;
    ck_assert_double_le(got->result.virtual_s, 10 * (1 + 3 * 8e-3 * (2 + 3 + 20) + 0.1));
    ck_assert_double_eq(support_distance(got->x, got->x + 2 * n, n), 0);
}

/**
 * One of four peers needs 7.3 s per gradient. Only the first round waits for the slow peer, for 2
 * s. Gradients of the slow peer are dropped. The slow peer gets a model at the end of a round, so
 * it continues every 8 s.
 */
TEST(dedloc_drops_gradients_of_a_late_peer)
{
    support_case *c = peers(4, NULL, 0, 8);
    support_imbalance_number(c, "slow", "factor", 7.3);
    support_option(c, "matchmaking", 2);
    c->config.until = (dsgd_until){.seconds = 62.5};
    const dsgd_run_result got = support_ok(c)->result;
    ck_assert_double_eq(got.steps * 4, 3 * (1 + 59) + 7);
    ck_assert_uint_eq(got.dropped, 7);
}

/**
 * Three of four peers continue their rounds while one peer has failed. They wait for the failed
 * peer only once. After its repair, the peer gets the model when a round ends, and the next round
 * waits for this peer.
 */
TEST(failed_peer_costs_dedloc_one_wait)
{
    static dsgd_failure_event event = {1, 10.5, 20};
    support_case *c = peers(4, NULL, 0, 8);
    support_option(c, "matchmaking", 3);
    c->config.until = (dsgd_until){.seconds = 60.5};
    dsgd_options_default(dsgd_failures_options, &c->config.failures);
    c->config.failures.events = (dsgd_structs){1, &event};
    const dsgd_run_result got = support_ok(c)->result;
    ck_assert_double_eq(got.steps * 4, 3 * (11 + 46) + 10 + 29);
    ck_assert_uint_eq(got.dropped, 0);
}

CASE("clusters", .seconds = 120);

/** The last value that a process has sent, and the value before the last. */
typedef struct values {
    double x[2][N];
    /* rounds of both values, and the highest round of any process at the time of the last value */
    long round[2], latest;
} values;

static bool hears_enough(const emulation_problem *p, const values *told, int i, long round,
                         int cluster, int quorum)
{
    int n = 0;
    for (int j = 0; j < p->workers; j += cluster) {
        bool heard = false;
        const int end = j + cluster < p->workers ? j + cluster : p->workers;
        for (int k = j; k < end; k++)
            heard |= k == i || told[k].round[0] >= round;
        n += heard ? end - j : 0;
    }
    return n >= quorum;
}

static void take_mean(const emulation_problem *p, const values *told, int i, long round, double *x)
{
    long latest = 0;
    for (int j = 0; j < p->workers; j++)
        latest = told[j].latest > latest ? told[j].latest : latest;
    memset(x, 0, N * sizeof *x);
    int n = 0;
    for (int j = 0; j < p->workers; j++) {
        const int of = j != i && told[j].round[1] >= round;
        if (told[j].round[of] < round && told[j].latest < latest - 1)
            continue;
        for (size_t k = 0; k < N; k++)
            x[k] += told[j].x[of][k];
        n++;
    }
    for (size_t k = 0; k < N; k++)
        x[k] /= n;
}

/**
 * Emulates the cluster-based model. A process that has finished a step sends its value at once.
 * Each process that then has enough values continues with their mean.
 */
static emulated *cluster_based_emulated(const emulation_problem *p, int cluster, int quorum)
{
    emulated *const w = emulated_new(p);
    values *const told = support_alloc((size_t)p->workers, sizeof *told);
    for (int i = 0; i < p->workers; i++)
        told[i].round[0] = told[i].round[1] = told[i].latest = -10;
    for (int i; (i = next_done(p, w)) >= 0;) {
        const double now_s = w[i].ends_s;
        bool goes_on[MOST];
        descend(p, w[i].g, &w[i]);
        told[i].latest = w[i].round;
        for (int j = 0; j < p->workers; j++)
            told[i].latest = told[j].latest > told[i].latest ? told[j].latest : told[i].latest;
        memcpy(told[i].x[1], told[i].x[0], sizeof w[i].x);
        memcpy(told[i].x[0], w[i].x, sizeof w[i].x);
        told[i].round[1] = told[i].round[0];
        told[i].round[0] = w[i].round;
        w[i].waits = true;
        for (int j = 0; j < p->workers; j++) {
            goes_on[j] = w[j].waits && hears_enough(p, told, j, w[j].round, cluster, quorum);
            if (goes_on[j])
                take_mean(p, told, j, w[j].round, w[j].x);
        }
        for (int j = 0; j < p->workers; j++)
            if (goes_on[j]) {
                w[j].round++;
                begin(p, &w[j], j, now_s);
            }
    }
    return w;
}

/** The loop variable _i selects the number of workers, the size of a cluster and the quorum. */
TEST_RANGE(clusters_agree, 0, 24)
{
    static const int counts[] = {1, 5, 12, 16}, clusters[] = {1, 3};
    support_pair *const t = pair_until("cluster_based", counts[_i % 4], 41.3);
    const int workers = t->problem.workers, cluster = clusters[_i / 4 % 2];
    const int quorums[] = {workers / 2 + 1, 0, workers};
    OPTIONS(t->c, {"cluster", cluster}, {"quorum", _i / 8 == 0 ? -1 : quorums[_i / 8]});
    expect_models(t, cluster_based_emulated(&t->problem, cluster, quorums[_i / 8]));
}

/** Makes a run with three clusters of three processes, and with @p n failures. */
static support_case *crashing(int quorum, size_t n, dsgd_failure_event *events)
{
    support_case *c = support_no_learning(support_new("cluster_based", 9));
    OPTIONS(c, {"cluster", 3}, {"quorum", quorum});
    SET(c, workload.bytes = 8, config.until = (dsgd_until){.seconds = 60.5});
    support_dies(c, n, events);
    return c;
}

TEST(one_running_process_speaks_for_its_cluster)
{
    static dsgd_failure_event events[] = {{0, 10.5, 1}, {1, 10.5, 1}, {3, 10.5, 1},
                                          {4, 10.5, 1}, {6, 10.5, 1}, {7, 10.5, 1}};
    ck_assert_double_eq_tol(support_ok(crashing(-1, 6, events))->result.steps,
                            (6 * 11 + 3 * 60) / 9.0, 1e-9);
}

TEST(workers_wait_without_a_majority_unless_quorum_is_zero)
{
    static dsgd_failure_event events[] = {{0, 10.5, 1}, {1, 10.5, 1}, {2, 10.5, 1},
                                          {3, 10.5, 1}, {4, 10.5, 1}, {5, 10.5, 1}};
    const support_outcome *got = support_simulate(crashing(-1, 6, events));
    ck_assert_int_eq(got->result.outcome, DSGD_RUN_FAILED);
    ck_assert_double_eq(got->result.steps, 11);
    ck_assert_has(got->result.why.text, "worker 6 waits in dsgd_recv since 12 s");
    got = support_ok(crashing(0, 6, events));
    ck_assert_double_eq_tol(got->result.steps, (6 * 11 + 3 * 60) / 9.0, 1e-9);
}
