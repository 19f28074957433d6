/**
 * @file test_hybrid.c
 * Tests workers that are groups of hosts. The tests compare the times of their steps with closed
 * forms, and check when each part of a vector uses which NIC. They also check that algorithms
 * behave as with workers of one host.
 */
#include "sim/hybrid/replica.h"
#include "tests/support/suite.h"
#include "tests/support/support.h"

/* bandwidth and latency of the platform that support_new() makes */
static const double bandwidth = 10e9, latency_s = 1e-6;
static const double rounding = 1e-9;

/**
 * Makes a run whose workers are pipelines. A step of one GPU takes 16 s; the forward pass takes
 * half of this time.
 */
static support_case *pipelines(const char *algorithm, int workers, int64_t stages,
                               int64_t micro_batches)
{
    support_case *c = support_new(algorithm, workers);
    SET(c, workload.step_s = 16, workload.inner.pipeline.stages = stages,
        workload.inner.pipeline.micro_batches = micro_batches);
    c->workload.inner.pipeline.schedule = 1; /* schedule 1f1b */
    c->config.until.steps = 4;
    return support_no_learning(c);
}

static int schedule_of(const char *word)
{
    return dsgd_find_word(dsgd_pipeline_words, word);
}

static void make_transformer(support_case *c, int64_t layers)
{
    c->workload.transformer =
        (dsgd_transformer){.parameters = 1e9, .layers = layers, .gpu_flops = 1, .gpus = 1};
}

static double step_s(const support_case *c)
{
    const support_outcome *const got = support_ok(c);
    ck_assert_int_eq(got->result.outcome, DSGD_RUN_OK);
    return got->result.virtual_s / got->result.steps;
}

/* --- time of a step --------------------------------------------------------------------------- */

SUITE(hybrid, "step", .seconds = 120);

TEST(schedule_words_match_schedule_kinds)
{
    for (int i = 0; i < DSGD_PIPELINE_KINDS; i++)
        ck_assert_int_eq(schedule_of(dsgd_pipeline_words[i]), i);
    ck_assert_ptr_null(dsgd_pipeline_words[DSGD_PIPELINE_KINDS]);
}

static const struct {
    int64_t stages, micro_batches;
} shapes[] = {{2, 1}, {2, 2}, {4, 4}, {4, 16}, {8, 32}, {16, 16}};

/**
 * With D stages and N micro-batches, a step has N + D - 1 forward and backward passes. Each pass
 * takes 1/(D N) of a GPU's step. With J jobs, a step has J N + D - 1 passes, or J (N + D - 1)
 * passes if each job is flushed.
 */
TEST_ROWS(a_step_of_a_pipeline_has_its_bubbles, shapes)
{
    const double d = (double)shapes[_i].stages, n = (double)shapes[_i].micro_batches;
    for (int i = 0; i < 4; i++) {
        const double jobs = i < 2 ? 1 : 8,
                     passes = i % 2 == 0 ? jobs * (n + d - 1) : jobs * n + d - 1;
        support_case *c = pipelines("local_sgd", 1, shapes[_i].stages, shapes[_i].micro_batches);
        SET(c, workload.inner.pipeline.schedule = schedule_of(i % 2 == 0 ? "gpipe" : "1f1b"),
            workload.inner.pipeline.jobs = (int64_t)jobs);
        const support_outcome *const got = support_ok(c);
        ck_assert_double_eq_tol(got->result.step_mean_s, 16 * passes / (jobs * n * d),
                                16 * rounding);
        ck_assert_double_eq_tol(got->result.bubble_share, 1 - jobs * n / passes, rounding);
    }
}

/**
 * A pipeline with two directions (chimera) has the bubble share (D - 2) / (2 N + D - 2). This
 * formula requires that N is a multiple of D, and that the backward pass takes twice as long as the
 * forward pass.
 */
TEST(chimera_has_about_half_the_bubbles)
{
    support_case *c = pipelines("local_sgd", 1, 8, 8);
    c->workload.inner.pipeline.schedule = schedule_of("chimera");
    const double chimera = support_ok(c)->result.bubble_share;
    c->workload.inner.pipeline.schedule = schedule_of("1f1b");
    const double one_way = support_ok(c)->result.bubble_share;
    ck_assert_double_lt(chimera, 0.6 * one_way);
}

/**
 * Stage s of D stages takes f = 1.5 times as long as the other stages. A step takes N f passes of
 * the slow stage, s passes of the earlier stages, and half of the D - 1 - s passes of the later
 * stages. During the other half, the slow stage already works on other micro-batches.
 */
TEST(a_slow_stage_delays_its_pipeline_as_scheduled)
{
    const double n = 32, d = 8, pass = 16 / n / d;
    for (int stage = 0; stage < (int)d; stage++) {
        support_case *c = pipelines("local_sgd", 1, (int64_t)d, (int64_t)n);
        support_imbalance_number(c, "slow", "worker", stage);
        support_set(c->imbalance[0].about, c->imbalance[0].params, "factor", 1.5);
        ck_assert_double_eq_tol(step_s(c), pass * (1.5 * n + stage + 0.5 * (d - 1 - stage)),
                                16 * rounding);
    }
}

static support_case *swarm_of(const char *algorithm, int workers, int64_t stages, int64_t peers,
                              int64_t micro_batches)
{
    support_case *c = pipelines(algorithm, workers, stages, micro_batches);
    SET(c, workload.inner.pipeline.schedule = schedule_of("swarm"),
        workload.inner.pipeline.peers = peers);
    return c;
}

/**
 * One of sixteen hosts is slow. Four equal peers of a stage would take 64 / 4 micro-batches each.
 */
TEST(a_slow_peer_slows_a_swarm_by_its_share)
{
    /* The time of a micro-batch in a stage, forward and backward, is `pass`. */
    const double d = 4, k = 4, slow = 3, pass = 16 / 64.0 / d;
    support_case *c = swarm_of("local_sgd", 1, (int64_t)d, (int64_t)k, 64);
    /* unlimited links make the sums of gradients free */
    c->platform.host_bandwidth_bytes_per_s = 1e30;
    c->platform.host_latency_s = 0;
    ck_assert_double_eq_tol(step_s(c), pass * (64 / k + d - 1), 16 * rounding);
    ck_assert_double_eq_tol(support_ok(c)->result.bubble_share, 3 / (16 + 3.0), rounding);
    /* the slow host is a peer of stage 1 */
    IMBALANCE(c, "slow", {"worker", 4 + 2}, {"factor", slow});
    const double swarm_s = step_s(c), least_s = pass * 64 / (k - 1 + 1 / slow);
    ck_assert_double_ge(swarm_s, least_s);
    ck_assert_double_le(swarm_s, least_s + (d + slow) * pass);
}

/**
 * Tests the slowness that `dsgd explain` reports. If a stage has several peers, its slowness
 * follows from the sum of their speeds.
 */
TEST(a_stage_is_as_slow_as_its_peers_together)
{
    dsgd_replica *replica = NULL;
    const support_case *const c = swarm_of("local_sgd", 1, 2, 2, 2);
    ck_assert_int_eq(dsgd_replica_open(&c->workload, &replica, NULL), DSGD_OK);
    dsgd_replica_state *const state = dsgd_replica_state_new(replica);
    dsgd_replica_step(replica, state, (double[]){1, 1, 1, 3});
    ck_assert_double_eq_tol(dsgd_replica_slowness(replica, state, 0), 1, rounding);
    ck_assert_double_eq_tol(dsgd_replica_slowness(replica, state, 1), 2 / (1 + 1 / 3.0), rounding);
    dsgd_replica_state_free(state);
    dsgd_replica_close(replica);
}

/**
 * A single stage with two peers computes half of the samples on each host, and then sums the
 * gradients over both hosts. With two jobs, the hosts sum the gradients after each job.
 */
TEST(peers_sum_the_gradients_of_their_stage)
{
    support_case *c = swarm_of("local_sgd", 1, 1, 2, 2);
    SET(c, config.exchange.collective = DSGD_COLLECTIVE_RING, workload.bytes = 40e9);
    ck_assert_double_eq_tol(step_s(c), 8 + 2 * (latency_s + 20e9 / bandwidth), 1e-6);
    ck_assert_double_eq_tol(support_ok(c)->result.inner_bytes, 4 * 2 * 40e9, 100);
    c->workload.inner.pipeline.jobs = 2;
    ck_assert_double_eq_tol(step_s(c), 8 + 2 * (latency_s + 10e9 / bandwidth), 1e-6);
    /* each peer takes half of the micro-batches, in whole numbers */
    c = swarm_of("local_sgd", 1, 2, 2, 2);
    const double bytes = 5e9;
    SET(c, workload.bytes = 8, workload.inner.activation_bytes = bytes);
    ck_assert_double_eq_tol(step_s(c), 8 + 2 * (bytes / 2 / bandwidth + latency_s), 1e-4);
    ck_assert_double_eq_tol(support_ok(c)->result.inner_bytes, 4 * 2 * bytes, 1e3);
}

/**
 * With D stages, a micro-batch is sent D - 1 times forward and D - 1 times back. Stages wait for
 * nothing else.
 */
TEST(messages_between_stages_take_time)
{
    support_case *c = pipelines("local_sgd", 1, 4, 1);
    const double bytes = 5e9, each_s = bytes / bandwidth + 2 * latency_s / 2;
    c->workload.inner.activation_bytes = bytes;
    ck_assert_double_eq_tol(step_s(c), 16 + 6 * each_s, 1e-6);
    ck_assert_double_eq_tol(support_ok(c)->result.inner_bytes, 4 * 6 * bytes, 1);
    c->workload.inner.shards = 2; /* each shard sends half of the vector over its own NIC */
    make_transformer(c, 4);
    c->workload.bytes = 8;
    ck_assert_double_eq_tol(step_s(c), 8 + 6 * (each_s - bytes / 2 / bandwidth), 1e-4);
}

/**
 * Each layer has two sums forward and two sums backward. With T hosts, a ring takes 2 (T - 1) (L +
 * n / (T B)) per sum of n bytes, with latency L and bandwidth B.
 */
TEST(a_layer_of_a_tensor_group_includes_its_sums)
{
    const double n = 800e6, layers = 5;
    for (int t = 2; t <= 8; t *= 2) {
        support_case *c = pipelines("local_sgd", 1, 1, 1);
        make_transformer(c, (int64_t)layers);
        SET(c, config.exchange.collective = DSGD_COLLECTIVE_RING, workload.inner.tensor = t,
            workload.inner.activation_bytes = n);
        const double sum_s = 2 * (t - 1) * (latency_s + n / t / bandwidth);
        ck_assert_double_eq_tol(step_s(c), 16.0 / t + 4 * layers * sum_s, 1e-7);
        ck_assert_double_eq_tol(support_ok(c)->result.inner_bytes, 4 * 4 * layers * 2 * (t - 1) * n,
                                1e3);
        /* each shard has half of the samples, and a gather takes only its latency */
        c->workload.inner.shards = 2;
        c->workload.bytes = 8;
        const double half_s = sum_s - 2 * (t - 1) * n / 2 / t / bandwidth;
        ck_assert_double_eq_tol(step_s(c), 8.0 / t + 4 * layers * half_s, 1e-4);
    }
}

/** While a layer computes, the weights of the next layer are gathered. */
TEST(shards_gather_layers_during_computation)
{
    const double layers = 4, bytes[] = {1e9, 400e9};
    for (int k = 0; k < 2; k++) {
        support_case *c = pipelines("local_sgd", 1, 1, 1);
        make_transformer(c, (int64_t)layers);
        SET(c, config.exchange.collective = DSGD_COLLECTIVE_RING, workload.bytes = bytes[k],
            workload.inner.shards = 2);
        /* time in seconds of a layer for half of the samples, in one pass */
        const double pass_s = 16 / 2 / layers / 2;
        /* time in seconds to gather a layer */
        const double g = latency_s + bytes[k] / layers / 2 / bandwidth;
        const double forward_s = g + pass_s + (layers - 1) * fmax(g, pass_s);
        const double backward_s = g + pass_s + (layers - 1) * fmax(2 * g, pass_s) + g;
        ck_assert_double_eq_tol(step_s(c), forward_s + backward_s, 1e-6);
    }
}

/** Each host draws its own random delays. A stage is as slow as its slowest host. */
TEST(imbalance_applies_to_each_host)
{
    support_case *c = pipelines("allreduce", 2, 2, 1);
    make_transformer(c, 2);
    SET(c, workload.inner.tensor = 2, platform.host_bandwidth_bytes_per_s = 1e30,
        platform.host_latency_s = 0);
    /* the slow host is one of the two hosts of stage 1 of worker 1 */
    support_imbalance_number(c, "slow", "worker", 4 + 2);
    ck_assert_double_eq_tol(step_s(c), 8 / 2 + 2 * 8.0 / 2, 1e-6);
    /* The other host of stage 1 is now slow, too, which changes nothing. */
    support_imbalance_number(c, "slow", "worker", 4 + 2 + 1);
    ck_assert_double_eq_tol(step_s(c), 8 / 2 + 2 * 8.0 / 2, 1e-6);
    dsgd_platform_entry slow = {.first = 0, .count = 1, .speed = 0.25, .bandwidth = 1};
    c->config.imbalance.n = 0;
    c->platform.hosts = (dsgd_structs){1, &slow}; /* stage 0 of worker 0 */
    ck_assert_double_eq_tol(step_s(c), 4 * 8.0 / 2 + 8 / 2, 1e-6);
}

/**
 * Some steps are computed pass by pass, are cut short, or are lost. The bubbles and the inner bytes
 * of a step are proportional to the part of the step that is computed.
 */
TEST(inner_bytes_are_those_of_computed_micro_batches)
{
    const char *const algorithms[] = {"allreduce", "zero", "drop_compute", "rennala"};
    double bytes[4];
    for (int k = 0; k < 4; k++) {
        support_case *c = pipelines(algorithms[k], 4, 4, 8);
        SET(c, workload.inner.activation_bytes = 1e6, platform.host_latency_s = 0);
        dsgd_platform_entry slow = {
            .first = 0, .count = 4, .speed = 0.4, .bandwidth = 1}; /* hosts of worker 0 */
        c->platform.hosts = (dsgd_structs){1, &slow};
        if (k == 2) {
            OPTIONS(c, {"micro_batches", 4}, {"threshold", 7}, {"spare", 0});
        }
        const dsgd_run_result *const r = &support_ok(c)->result;
        ck_assert((k == 3) == (r->shares.lost > 0));
        ck_assert_double_eq_tol(r->bubble_share, 3. / 11, 1e-3);
        bytes[k] = r->inner_bytes / (double)r->steps;
    }
    ck_assert_double_eq_tol(bytes[1], bytes[0], 1e-6);
    ck_assert_double_eq_tol(bytes[2], bytes[0] * (3 + 0.5) / 4, 1e-6);
}

/* --- exchanges between workers ---------------------------------------------------------------- */

CASE("exchange", .seconds = 300);

/**
 * If messages take almost no time, groups of hosts make the same steps as single hosts with the
 * same step time.
 */
TEST_RANGE(every_algorithm_runs_over_groups_of_hosts, 0, support_n_algorithms())
{
    double seconds[2];
    for (int inner = 0; inner < 2; inner++) {
        support_case *c = pipelines(dsgd_algorithms[_i]->name, 4, inner ? 4 : 1, inner ? 8 : 1);
        SET(c, platform.host_bandwidth_bytes_per_s = 1e15, platform.host_latency_s = 1e-9);
        c->workload.step_s = inner ? 32 : 11; /* 11 s = 32 / 4 (8 + 4 - 1) / 8 */
        c->config.exchange.overlap = false;
        seconds[inner] = step_s(c);
    }
    ck_assert_double_eq_tol(seconds[1], seconds[0], 1e-4);
}

static support_case *late_pair(int64_t stages, double bytes)
{
    support_case *c = pipelines("allreduce", 2, stages, 1);
    SET(c, config.exchange.collective = DSGD_COLLECTIVE_RING, config.exchange.overlap = false,
        workload.bytes = bytes);
    return c;
}

/**
 * Four NICs carry a quarter of the vector each, at the same time. Tests computed and simulated
 * messages.
 */
TEST(each_stage_exchanges_its_part_by_its_own_nic)
{
    support_case *c = late_pair(4, 40e9);
    const double exposed_s = 2 * (latency_s + 5e9 / bandwidth);
    ck_assert_double_eq_tol(support_ok(c)->result.exposed_mean_s, exposed_s, 1e-6);
    /* each host also copies its part between device and host memory */
    c->platform.staging_s_per_byte = 1 / bandwidth;
    ck_assert_double_eq_tol(support_ok(c)->result.exposed_mean_s, exposed_s + 2, 1e-6);
    c->platform.staging_s_per_byte = 0;
    dsgd_platform_entry slow = {.first = 1, .count = 1, .speed = 1, .bandwidth = 0.5};
    c->platform.hosts = (dsgd_structs){1, &slow}; /* stage 1 of worker 0 */
    ck_assert_double_eq_tol(support_ok(c)->result.exposed_mean_s, 2 * exposed_s, 1e-5);
    c->platform.hosts.n = 0;
    /* the run has no inner messages that could compete with the exchange */
    c->workload.inner.contention = true;
    c->config.exchange.pieces = 8;
    c->config.exchange.blocking = false;
    ck_assert_double_eq_tol(support_ok(c)->result.exposed_mean_s, exposed_s, 1e-5);
}

TEST(other_algorithms_also_use_all_nics_of_a_worker)
{
    const char *const others[] = {"d_psgd",  "sgp",   "gradient_tracking", "a_psgd", "ssp",
                                  "ad_psgd", "dedloc"};
    for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
        /* bytes that all workers send in a minute; a server has one NIC in both cases */
        double bytes[2];
        for (int inner = 0; inner < 2; inner++) {
            support_case *c = pipelines(others[k], 2, inner ? 4 : 1, 1);
            SET(c, workload.step_s = 0.001, workload.bytes = 40e9,
                config.until = (dsgd_until){.seconds = 60});
            bytes[inner] = support_ok(c)->result.bytes;
        }
        printf("%s: %g\n", others[k], bytes[1] / bytes[0]);
        ck_assert_double_gt(bytes[1], (k < 3 || k > 4 ? 3 : 0.9) * bytes[0]);
    }
}

/**
 * The gradient of the last stage is ready one backward pass before the gradient of the first stage.
 */
TEST(pieces_are_ready_when_their_stage_is)
{
    /* each half of the vector takes two rounds of one second */
    support_case *c = late_pair(2, 40e9);
    c->config.exchange.overlap = true;
    ck_assert_double_eq_tol(support_ok(c)->result.exposed_mean_s, 2, 1e-5);
    dsgd_platform_entry slow = {.first = 1, .count = 1, .speed = 1, .bandwidth = 0.25};
    /* stage 1 needs eight seconds for its exchange, from second 12 of 16 on */
    c->platform.hosts = (dsgd_structs){1, &slow};
    ck_assert_double_eq_tol(support_ok(c)->result.exposed_mean_s, 4, 1e-4);
    c->platform.hosts.n = 0;
    /* With one host, the whole exchange of four seconds starts after the only chunk is ready. */
    c->workload.inner.pipeline.stages = 1;
    ck_assert_double_eq_tol(support_ok(c)->result.exposed_mean_s, 4, 1e-5);
    /* the chunks of a stage become ready one after another, as on one host */
    c->config.exchange.pieces = 8;
    const double one = support_ok(c)->result.exposed_mean_s;
    c->workload.inner.tensor = 2;
    make_transformer(c, 4);
    c->platform.host_latency_s = 1e-12;
    /* with two hosts, the step and the exchange each take half of the time */
    c->workload.step_s = 32;
    ck_assert_double_eq_tol(support_ok(c)->result.exposed_mean_s, one / 2, 1e-5);
}

/**
 * In a step of 12 s, two jobs have passes of two seconds. The two halves of the first job's
 * gradient are ready at 6 s and 8 s. The exchange of each half takes two seconds. The exchanges of
 * the second job take as long.
 */
TEST(a_job_exchanges_its_part_while_the_next_computes)
{
    support_case *c = late_pair(2, 80e9);
    SET(c, config.exchange.overlap = true, workload.inner.pipeline.micro_batches = 2);
    ck_assert_double_eq_tol(support_ok(c)->result.exposed_mean_s, 4, 1e-5);
    SET(c, workload.inner.pipeline.micro_batches = 1, workload.inner.pipeline.jobs = 2);
    ck_assert_double_eq_tol(support_ok(c)->result.exposed_mean_s, 2, 1e-5);
    ck_assert_double_eq_tol(support_ok(c)->result.step_mean_s, 12 + 2, 1e-4);
    /* the transformer has stages of 2 layers and 1 layer, and each job has all layers */
    make_transformer(c, 3);
    c->platform.host_bandwidth_bytes_per_s = 1e30;
    ck_assert_double_eq_tol(step_s(c), 2 * 8 * 2 / 3.0 + 2 * 8 / 3.0 / 2, 1e-4);
}

/* --- Tests of peers that fail, rejoin and move ------------------------------------------------ */

/**
 * Makes a run with two stages of @p peers peers each, on unlimited links. A micro-batch takes one
 * second per stage for the forward and the backward pass together.
 */
static support_case *two_stages(const char *algorithm, int workers, int64_t peers,
                                int64_t micro_batches)
{
    support_case *c = swarm_of(algorithm, workers, 2, peers, micro_batches);
    SET(c, workload.step_s = 2 * (double)micro_batches, platform.host_bandwidth_bytes_per_s = 1e30,
        platform.host_latency_s = 0);
    dsgd_options_default(dsgd_failures_options, &c->config.failures);
    return c;
}

/**
 * A peer of the last stage is away from the start of one step to the start of another step. The
 * steps take 24 / 3 + 1 s before the absence and 24 / 2 + 1 s during the absence. The result
 * reports this absence and no other failure. If the peer needs two seconds to start and two seconds
 * to copy its state, it returns four seconds later.
 */
TEST(a_stage_continues_without_a_peer)
{
    static dsgd_failure_event events[] = {
        {0, 9, 26, 5}}; /* the failed host 5 is one of the peers 3 to 5 of the last stage */
    support_case *c = two_stages("local_sgd", 1, 3, 24);
    c->config.failures.events = (dsgd_structs){1, events};
    c->config.failures.detect_s = 0;
    const dsgd_run_result *r = &support_ok(c)->result;
    ck_assert_double_eq_tol(r->virtual_s, 9 + 13 + 13 + 9, 44 * rounding);
    ck_assert_double_eq_tol(r->failures.repair_s, 26 / 6.0, 1e-6);
    ck_assert_double_eq_tol(r->failures.goodput, 1 - 26 / 6.0 / 44, 1e-9);
    ck_assert_double_eq(r->failures.outlived + r->failures.moves, 1);
    ck_assert_int_eq(r->failures.n, 1);
    c->config.failures.restart_s = 2;
    c->config.failures.checkpoint.bytes = 8e30; /* state of both stages, in bytes */
    ck_assert_double_eq_tol(support_ok(c)->result.failures.restart_s, 6 / 6.0, 1e-6);
    /* in this event, the whole worker fails, and all workers restart */
    events[0] = (dsgd_failure_event){0, 9.5, 26, -1};
    c->config.failures.checkpoint = (dsgd_checkpoint){.every = 1};
    r = &support_ok(c)->result;
    ck_assert_double_eq_tol(r->virtual_s, 4 * 9 + 0.5 + 26 + 2, 70 * rounding);
    ck_assert_double_eq(r->failures.n, 1);
    ck_assert(isnan(r->failures.outlived));
}

/**
 * A stage has two peers, and one peer fails during a step. The work of the failed peer is lost, and
 * the other peer repeats this work. The next steps are normal.
 */
TEST(a_peer_that_fails_during_a_step_loses_its_work)
{
    static dsgd_failure_event events[] = {{0, 3, 20, 1}};
    support_case *c = two_stages("local_sgd", 1, 2, 8);
    c->workload.inner.pipeline.stages = 1;
    c->config.failures.events = (dsgd_structs){1, events};
    c->config.failures.detect_s = 1;
    /* the step has 16 s of work in total */
    const dsgd_run_result *const r = &support_ok(c)->result;
    ck_assert_double_eq_tol(r->virtual_s, 16 + 16 + 8 + 8, 48 * rounding);
    ck_assert_double_eq_tol(r->failures.lost_s, 3 / 2.0, 1e-9);
}

/**
 * If the last running peer of a stage fails, its worker fails and all workers restart. After the
 * restart, no peer is away.
 */
TEST(the_last_peer_of_a_stage_fails_its_worker)
{
    static dsgd_failure_event events[] = {{0, 5, 1000, 3}, {0, 14 + 2, 4, 2}};
    support_case *c = two_stages("local_sgd", 1, 2, 8); /* 8 / 2 + 1 s, then 8 + 1 s per step */
    c->config.failures.events = (dsgd_structs){2, events};
    SET(c, config.failures.detect_s = 0, config.failures.checkpoint.every = 1);
    /* The failure at 16 s loses two seconds of work, and its repair takes four seconds. */
    const dsgd_run_result *const r = &support_ok(c)->result;
    ck_assert_double_eq_tol(r->virtual_s, 5 + 3 * 9 + 4 + 2, 40 * rounding);
    ck_assert_double_eq(r->failures.outlived, 1);
    ck_assert_int_eq(r->failures.n, 2);
}

/** The losses at each step must be the same whichever peer fails, rejoins or moves. */
TEST(peers_change_times_but_not_values)
{
    support_case *c = support_new("allreduce", 4);
    SET(c, workload.inner.pipeline.stages = c->workload.inner.pipeline.peers = 2,
        workload.inner.pipeline.micro_batches = 8,
        workload.inner.pipeline.schedule = schedule_of("swarm"));
    const support_outcome *const still = support_ok(c);
    dsgd_options_default(dsgd_failures_options, &c->config.failures);
    SET(c, config.failures.mtbf_s = 4 * still->result.step_mean_s,
        config.failures.repair_s = still->result.step_mean_s, config.failures.per = DSGD_PER_HOST,
        config.failures.detect_s = 0, config.failures.checkpoint.every = 1,
        workload.inner.pipeline.speeds = 1,
        workload.inner.pipeline.migrate_s = still->result.step_mean_s);
    const support_outcome *const moved = support_ok(c);
    ck_assert_double_gt(moved->result.failures.outlived, 10);
    ck_assert_double_gt(moved->result.virtual_s, still->result.virtual_s);
    ck_assert_uint_eq(moved->result.n_points, still->result.n_points);
    for (size_t i = 0; i < still->result.n_points; i++)
        ck_assert_double_eq(moved->points[i].at.loss, still->points[i].at.loss);
    for (size_t i = 0; i < 4 * still->n_params; i++)
        ck_assert_double_eq(moved->x[i], still->x[i]);
}

/**
 * The second stage has two of three layers. With three peers per stage, a step takes 2 N / 3 + 1
 * passes of one layer. With two and four peers, both stages take N / 2 passes, and the step takes
 * up to two more passes of the slow stage. The peer that moves first copies two thirds of the
 * state.
 */
TEST(peers_move_to_the_stage_that_needs_them)
{
    const double n = 240;
    support_case *c = two_stages("local_sgd", 1, 3, (int64_t)n);
    make_transformer(c, 3);
    c->workload.step_s = 3 * n; /* a micro-batch takes one second per layer */
    const double all_s = support_ok(c)->result.virtual_s;
    ck_assert_double_eq_tol(all_s, 4 * (2 * n / 3 + 1), all_s * rounding);
    SET(c, workload.inner.pipeline.migrate_s = 10, config.until.steps = 20);
    const support_outcome *got = support_ok(c);
    ck_assert_double_eq(got->result.failures.moves, 1);
    const double rest_s = (got->result.virtual_s - all_s / 4) / 19;
    ck_assert_double_ge(rest_s, n / 2);
    ck_assert_double_le(rest_s, n / 2 + 2 * 2);
    SET(c, workload.bytes = 3e9, config.until.steps = 2);
    const double moved_bytes = support_ok(c)->result.inner_bytes;
    c->workload.inner.pipeline.migrate_s = 0;
    ck_assert_double_eq_tol(moved_bytes - support_ok(c)->result.inner_bytes, 2e9, 10);
}

/** Peers sum their gradients at the end of the step, so all pieces are ready at once. */
TEST(pieces_of_peers_are_ready_at_once)
{
    support_case *c = late_pair(1, 40e9);
    SET(c, workload.inner.pipeline.schedule = schedule_of("swarm"),
        workload.inner.pipeline.peers = c->workload.inner.pipeline.micro_batches = 2,
        config.exchange.overlap = true);
    const double one_s = support_ok(c)->result.exposed_mean_s;
    c->config.exchange.pieces = 8;
    ck_assert_double_eq_tol(support_ok(c)->result.exposed_mean_s, one_s, 1e-4);
}

/**
 * The run has so many hosts that only few channels are left for the chunks of each host. Different
 * communicators must still use different channels.
 */
TEST(many_hosts_have_fewer_channels)
{
    support_case *c = pipelines("hierarchical", 4, 512, 1);
    static dsgd_tensors tensors[] = {{100, 100, 1}, {100000000, 1, 1}};
    c->workload.bytes = 0;
    c->workload.tensors = (dsgd_structs){2, tensors};
    SET(c, config.exchange.pieces = DSGD_PIECES_TENSORS, config.exchange.blocking = false);
    ck_assert_int_eq(support_ok(c)->result.outcome, DSGD_RUN_OK);
}

/**
 * Values do not depend on the number of hosts. With the same number of chunks, the models are
 * equal.
 */
TEST(pipelines_learn_the_same_model)
{
    support_case *c = support_new("allreduce", 4);
    c->config.exchange.pieces = 4;
    const support_outcome *const one = support_ok(c);
    SET(c, workload.inner.pipeline.stages = 4, config.exchange.pieces = 1);
    const support_outcome *const four = support_ok(c);
    ck_assert_int_eq((int)four->result.n_pieces, 4);
    for (size_t i = 0; i < 4 * one->n_params; i++)
        ck_assert_double_eq(one->x[i], four->x[i]);
}

/* --- places and contention -------------------------------------------------------------------- */

CASE("places", .seconds = 60);

static support_case *in_islands(void)
{
    support_case *c = pipelines("local_sgd", 4, 4, 1);
    SET(c, platform.island_hosts = 4, platform.island_nics = 4, platform.island_bytes_per_s = 100e9,
        workload.inner.activation_bytes = 10e9);
    return c;
}

/**
 * A step has six messages. The messages stay within an island. If the placement `outer` puts the
 * hosts of a stage next to each other, the messages cross islands.
 */
TEST(placement_determines_the_waits_of_a_stage)
{
    support_case *c = in_islands();
    const char *const outer = DSGD_PLACEMENT_OUTER;
    const double inner_s = step_s(c);
    ck_assert_double_eq_tol(inner_s, 16 + 6 * 0.1, 1e-5);
    c->config.placement = (dsgd_lines){1, (const char **)&outer};
    ck_assert_double_eq_tol(step_s(c), 16 + 6 * 1.0, 1e-4);
    const char *const listed[] = {"0", "4", "8",  "12", "1", "5", "9",  "13",
                                  "2", "6", "10", "14", "3", "7", "11", "15"};
    c->config.placement = (dsgd_lines){16, (const char **)listed};
    ck_assert_double_eq_tol(step_s(c), 16 + 6 * 1.0, 1e-4);
}

/**
 * An exchange that lasts a step competes with the messages between the stages of a worker for NICs,
 * unless the stages share an island. If _i is 0, a worker has two stages. If _i is 1, a worker has
 * two pairs of stages.
 */
TEST_RANGE(inner_messages_compete_with_other_messages, 0, 2)
{
    double seconds[2];
    for (int meets = 0; meets < 2; meets++) {
        support_case *c = pipelines("dasgd", 2, _i == 0 ? 2 : 4, 1);
        if (_i == 1) {
            SET(c, platform.island_hosts = c->platform.island_nics = 2,
                platform.island_bytes_per_s = 100e9);
        }
        SET(c, config.exchange.collective = DSGD_COLLECTIVE_RING, workload.step_s = 1);
        c->workload.bytes = _i == 0 ? 80e9 : 160e9; /* an exchange takes four seconds on each NIC */
        /* The messages between stages take one second of a step of three seconds. */
        c->workload.inner.activation_bytes = 10e9;
        SET(c, workload.inner.contention = meets, config.until.steps = 40);
        OPTIONS(c, {"tau", 1}, {"d", 1});
        seconds[meets] = step_s(c);
        ck_assert_int_eq(support_ok(c)->result.timed_by & DSGD_TIMED_BY_ARITHMETIC,
                         meets ? 0 : DSGD_TIMED_BY_ARITHMETIC);
    }
    ck_assert_double_eq_tol(seconds[0], 4, 0.1);
    ck_assert_double_eq_tol(seconds[1], 5, 0.1);
    double within[2];
    for (int meets = 0; meets < 2; meets++) {
        support_case *c = in_islands();
        c->workload.inner.contention = meets;
        within[meets] = step_s(c);
    }
    ck_assert_double_eq(within[0], within[1]);
}

/**
 * A worker stops if any of its islands fails with its hosts. A worker on four islands therefore
 * stops four times as often as a worker on one.
 */
TEST(a_worker_fails_with_each_of_its_islands)
{
    double failures[2];
    for (int k = 0; k < 2; k++) {
        support_case *c = pipelines("allreduce", 2, k ? 8 : 2, 2);
        dsgd_options_default(dsgd_failures_options, &c->config.failures);
        SET(c, platform.island_hosts = c->platform.island_nics = 2,
            platform.island_bytes_per_s = 100e9, config.failures.mtbf_s = 1000,
            config.failures.repair_s = 1, config.failures.policy = DSGD_POLICY_RESTART,
            config.failures.per = DSGD_PER_ISLAND, config.until = (dsgd_until){.seconds = 100e3});
        failures[k] = (double)support_ok(c)->result.failures.n;
    }
    ck_assert_double_eq_tol(failures[0], 200, 45); /* three standard deviations */
    ck_assert_double_eq_tol(failures[1], 800, 90);
}

/**
 * Makes a run of one worker with eight hosts on two nodes of four hosts, with NCCL and a model of
 * one layer.
 */
static support_case *on_nodes(int64_t tensor, int64_t shards)
{
    support_case *c = pipelines("local_sgd", 1, 1, 1);
    make_transformer(c, 1);
    c->platform.library = DSGD_LIBRARY_NCCL;
    c->platform.nccl = (dsgd_nccl){.generation = DSGD_GPU_HOPPER,
                                   .links_bytes_per_s = 370.8e9,
                                   .has_switch = true,
                                   .latency = 1,
                                   .bandwidth = 1,
                                   .node_latency = 1,
                                   .node_bandwidth = 1};
    c->platform.island_hosts = c->platform.island_nics = 4;
    c->platform.island_bytes_per_s = 370.8e9;
    c->workload.bytes = 8e9;
    c->workload.inner.activation_bytes = tensor > 1 ? 16e9 : 0;
    c->workload.inner.tensor = tensor;
    c->workload.inner.shards = shards;
    c->config.loads = true;
    return c;
}

/**
 * Bytes of a step over each NIC (nic), and in total (all). The total of a group of n hosts is n
 * times the bytes of one host. A node divides the bytes of a group over all its NICs for this
 * group.
 */
static const struct {
    int64_t tensor, shards;
    double nic, all;
} rings[] = {
    {1, 8, 3 * 7.0 / 8 * 8e9 / 4, 8 * 3 * 7.0 / 8 * 8e9},
    {8, 1, 4 * 2 * 7.0 / 8 * 16e9 / 4, 8 * 4 * 2 * 7.0 / 8 * 16e9},
    {2, 4, 3 * 3.0 / 4 * 4e9 / 2,
     8 * (3 * 3.0 / 4 * 4e9 + 4 * 4e9)}, /* the sums are computed inside a node */
    {4, 2, 3 * 1.0 / 2 * 2e9, 8 * (3 * 1.0 / 2 * 2e9 + 4 * 2 * 3.0 / 4 * 8e9)},
};
TEST_ROWS(rings_of_nccl_leave_a_node_by_all_its_nics, rings)
{
    support_case *c = on_nodes(rings[_i].tensor, rings[_i].shards);
    const support_outcome *const got = support_ok(c);
    ck_assert_double_eq_tol(got->result.inner_bytes, 4 * rings[_i].all, 100);
    int n_nics = 0;
    for (size_t k = 0; k < got->result.n_loads; k++) {
        if (strncmp(got->loads[k].name, "nic", 3) != 0)
            continue;
        ck_assert_double_eq_tol(got->loads[k].bytes, 4 * rings[_i].nic, 100);
        n_nics++;
    }
    ck_assert_int_eq(n_nics, 2 * 8);
}

/**
 * Layers are gathered in the forward and in the backward pass, and scattered. Two groups share the
 * only NIC of each node, so each group gets half of its bandwidth.
 */
TEST(groups_share_the_nics_of_their_nodes)
{
    support_case *c = on_nodes(2, 4);
    SET(c, platform.island_nics = 1, workload.inner.activation_bytes = 0);
    const dsgd_nccl_shape shape = {
        .n_nodes = 2, .gpus = 2, .nics = 1, .nic_bytes_per_s = bandwidth / 2};
    const dsgd_nccl_cost cost = dsgd_nccl_cost_of(&c->platform.nccl, &shape, DSGD_NCCL_SHARES, 4e9);
    ck_assert_double_eq_tol(step_s(c), 16.0 / 8 + 3 * dsgd_nccl_s(&cost, 4e9), 1e-6);
}

/* --- rejected pipelines ----------------------------------------------------------------------- */

CASE("refused");

TEST(a_pipeline_that_does_not_fit_is_rejected)
{
    const char *const sentences[] = {
        "(chimera: an even number) and at least 2 micro-batches, got 3 and 4",
        "tensor and shards need a transformer",
        "transformer: gpus must be 1 or absent, got 8",
        "5 stages, but the transformer has only 4 layers",
        "inner: activations is missing",
        "exchange: fusion is not supported for workers of several hosts",
        "SimGrid cannot simulate workers of several hosts. Use network: flows",
        "10 hosts, but 16 are needed by workers of several (inner)",
        "step must be above 0 s, got 0 s",
        "but there are 4 workers of 2147483647 hosts each",
        "4 stages of 3 chunks, but the transformer has only 11 layers. Each chunk needs",
        "micro_batches must be at most the transformer's batch, 3, got 4",
        "micro_batches of all jobs together must be at most the transformer's batch, 7, got 8",
        "peers needs schedule: swarm. Remove peers",
        "tensor and shards must be 1 with schedule: swarm",
        "chunks (4) needs schedule: interleaved. Remove chunks"};
    for (size_t i = 0; i < sizeof sentences / sizeof *sentences; i++) {
        support_case *c = pipelines("allreduce", 4, 4, 4);
        dsgd_inner *const inner = &c->workload.inner;
        SET(inner, pipeline.schedule = i == 0 ? schedule_of("chimera") : 1,
            pipeline.stages = i == 0   ? 3
                              : i == 3 ? 5
                                       : 4,
            pipeline.jobs = i == 12 ? 2 : 1, pipeline.peers = i == 13 ? 2 : 1,
            tensor = i == 1 || i == 14 ? 2
                     : i == 9          ? 4096
                                       : 1,
            shards = i == 9 ? 1 << 18 : 1);
        if (i == 14)
            inner->pipeline.schedule = schedule_of("swarm");
        if (i == 2 || i == 3 || i == 9 || i == 14)
            make_transformer(c, 4);
        if (i == 15)
            inner->pipeline.chunks = 4;
        if (i == 10) {
            make_transformer(c, 11);
            SET(inner, pipeline.schedule = schedule_of("interleaved"), pipeline.chunks = 3);
        }
        SET(c,
            workload.transformer.batch = i == 11   ? 3
                                         : i == 12 ? 7
                                                   : 0,
            workload.transformer.gpus = i == 2 ? 8 : 1,
            config.exchange.fusion_bytes = i == 5 ? 1e6 : 0,
            config.network = i == 6 ? DSGD_NETWORK_SIMGRID : DSGD_NETWORK_FLOWS);
        inner->activation_bytes = i == 4 ? -1 : 0;
        c->platform.size = i == 7 ? (dsgd_numbers){1, (double[]){10}} : (dsgd_numbers){0, NULL};
        c->workload.step_s = i == 8 ? 0 : 16;
        const support_outcome *const got = support_simulate(c);
        ck_assert_int_eq(got->status, DSGD_EUSAGE);
        ck_assert_has(got->error.text, sentences[i]);
    }
}
