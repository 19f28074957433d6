/**
 * @file test_slow_links.c
 * Tests links that carry less for a while. The time of a message over such a link follows from the
 * integral of its bandwidth.
 */
#include "sim/result.h"
#include "tests/support/suite.h"
#include "tests/support/support.h"

/**
 * A test algorithm in which rank 0 sends a model to the last worker. The last worker notes the time
 * of its arrival.
 */
static void once_work(dsgd_node *self)
{
    const int last = self->n_workers - 1;
    while (dsgd_next_step(self)) {
        if (self->step > 0)
            continue;
        if (self->rank == 0)
            dsgd_send(self, last, dsgd_model(self), NULL, 0);
        if (self->rank == last && dsgd_recv(self, INFINITY) != NULL)
            support_current->note[0] = dsgd_time_s(self);
    }
}

TEST_ALGORITHM(once, .work = once_work);

/** Makes a run with a message that takes 10 s at 10 GB/s, and with @p n link events. */
static support_case *message(const dsgd_link_event *events, size_t n)
{
    support_case *c = support_no_learning(support_of(&once, 4));
    c->workload.bytes = 100e9;
    c->config.until = (dsgd_until){.steps = 2};
    dsgd_options_default(dsgd_failures_options, &c->config.failures);
    c->config.failures.links = (dsgd_structs){n, (void *)(uintptr_t)events};
    return c;
}

static const double latency_s = 1e-6;
static const double factors[] = {0, 0.25, 1};

SUITE(slow_links, "slow links", .seconds = 60);

/**
 * A link is slow for 4 s. The slow link is at the sender, at the receiver or at both. The message
 * loses (1 - factor) of the 4 s.
 */
TEST_RANGE(a_message_waits_for_a_slow_link, 0, 3 * 3)
{
    const double f = factors[_i % 3];
    dsgd_link_event events[] = {{.which = 0, .to = -1, .at_s = 2, .for_s = 4, .factor = f},
                                {.which = 3, .to = -1, .at_s = 2, .for_s = 4, .factor = f}};
    const int of = _i / 3;
    support_case *c = message(events + (of == 1), of == 2 ? 2 : 1);
    ck_assert_double_eq_tol(support_ok(c)->note[0], 10 + 4 * (1 - f) + latency_s, 1e-9);
}

/**
 * Each of a worker's two hosts sends one half of the message. The link of the second host has half
 * of the bandwidth. The half on this link therefore takes as long as a whole message over one link.
 */
TEST_RANGE(a_worker_link_event_slows_all_its_hosts, 0, 2)
{
    /* if 0, the event slows the worker; if 1, it slows the island of its second host */
    const int of = _i;
    dsgd_link_event event = {
        of == 0 ? DSGD_PER_WORKER : DSGD_PER_ISLAND, of == 0 ? 3 : 7, -1, 6, 0, 3, 0};
    support_case *c = message(&event, 1);
    dsgd_platform_entry slow = {.first = 7, .count = 1, .speed = 1, .bandwidth = 0.5};
    SET(c, workload.step_s = 1e-3, workload.inner.pipeline.stages = 2,
        workload.inner.pipeline.micro_batches = 2);
    c->platform.hosts = (dsgd_structs){1, &slow};
    SET(c, platform.island_hosts = 1, platform.island_nics = 1, platform.island_bytes_per_s = 1);
    ck_assert_double_eq_tol(support_ok(c)->note[0], 10 + 3 + latency_s, 1e-3);
}

/**
 * An event of another worker has no effect. Simultaneous factors multiply: a factor of 1/2 during a
 * factor of 1/5 gives 1/10.
 */
TEST(simultaneous_factors_are_multiplied)
{
    dsgd_link_event events[] = {{.which = 1, .to = -1, .at_s = 0, .for_s = -1, .factor = 0},
                                {.which = 3, .to = -1, .at_s = 1, .for_s = 6, .factor = 0.2},
                                {.which = 3, .to = -1, .at_s = 2, .for_s = 2, .factor = 0.5}};
    const double lost_s = 6 - (2 * 0.1 + 4 * 0.2);
    ck_assert_double_eq_tol(support_ok(message(events, 3))->note[0], 10 + lost_s + latency_s, 1e-9);
}

/**
 * Groups have three hosts. The event slows the pair of groups between which the message is sent (of
 * 0), all links of the receiver's group (1), or another pair of groups (2). The message is limited
 * by the bandwidth of a flow, or by the bandwidth of the groups.
 */
TEST_RANGE(the_limits_of_a_group_have_the_factor, 0, 3 * 3 * 2)
{
    const double f = factors[_i % 3];
    const int of = _i / 3 % 3;
    const bool by_flow = _i < 9;
    dsgd_link_event event = {DSGD_PER_GROUP, of != 0, of == 0 ? 1 : of == 1 ? -1 : 2, 2, 0, 4, f};
    support_case *c = message(&event, 1);
    /* The last worker is in the third group if `of` is 2; otherwise, it is in the second group. */
    c->config.workers = of == 2 ? 7 : 6;
    SET(c, platform.topology = DSGD_TOPOLOGY_GROUPS, platform.group_hosts = 3,
        platform.group_flow_bytes_per_s = by_flow ? 5e9 : 20e9,
        platform.group_bytes_per_s = by_flow ? 100e9 : 5e9);
    /* an event of a pair changes only the limit of a flow, unless it cuts the pair */
    const bool counts = of == 1 || (of == 0 && (by_flow || f == 0));
    ck_assert_double_eq_tol(support_ok(c)->note[0], 20 + (counts ? 4 * (1 - f) : 0) + latency_s,
                            1e-9);
}

/** If a partition never ends, the run fails and reports the workers that wait. */
TEST(an_endless_partition_is_reported)
{
    dsgd_link_event event = {.which = 3, .to = -1, .at_s = 2, .for_s = -1, .factor = 0};
    support_outcome *const got = support_simulate(message(&event, 1));
    ck_assert_int_eq(got->result.outcome, DSGD_RUN_FAILED);
    ck_assert_has(got->result.why.text, "worker 3 waits in dsgd_recv");
}

/**
 * Outages last 5 s. On average, an outage starts 10 s after the end of the previous outage. The
 * outages leave two thirds of the bandwidth. A second run has the same outages.
 */
TEST(random_outages_cost_their_share)
{
    dsgd_link_event event = {.which = 3, .to = -1, .mtbf_s = 10, .for_s = 5, .factor = 0};
    support_case *c = message(&event, 1);
    c->workload.bytes = 1e14;
    const double got_s = support_ok(c)->note[0];
    /* with about 1,000 outages, three standard deviations are 500 s */
    ck_assert_double_eq_tol(got_s, 15000, 500);
    ck_assert_double_eq(support_ok(c)->note[0], got_s);
}

/**
 * Because of an event with factor 1, a run simulates its messages. The messages must take the same
 * time as without the event.
 */
TEST_RANGE(a_factor_of_one_changes_nothing, 0, support_n_algorithms())
{
    dsgd_link_event event = {.which = 3, .to = -1, .at_s = 2.1, .for_s = 3, .factor = 1};
    support_case *c = support_no_learning(support_new(dsgd_algorithms[_i]->name, 8));
    dsgd_options_default(dsgd_failures_options, &c->config.failures);
    const double virtual_s = support_ok(c)->result.virtual_s;
    c->config.failures.links = (dsgd_structs){1, &event};
    ck_assert_double_eq_tol(support_ok(c)->result.virtual_s, virtual_s, 1e-3 * virtual_s);
}

TEST(a_link_that_does_not_exist_is_rejected)
{
    dsgd_link_event event = {.which = 4, .to = -1, .for_s = -1};
    support_case *c = message(&event, 1);
    ck_assert_has(support_simulate(c)->error.text,
                  "numbers below 4 (the number of targets with per: worker), got 4");
    event.which = 1;
    c->config.network = DSGD_NETWORK_SIMGRID;
    ck_assert_has(support_simulate(c)->error.text, "and network: flows. For an XML platform use");
    c->config.network = DSGD_NETWORK_FLOWS;
    event.per = DSGD_PER_GROUP;
    ck_assert_has(support_simulate(c)->error.text,
                  "numbers below 0 (the number of targets with per: group)");
    SET(c, platform.library = DSGD_LIBRARY_NCCL, platform.nccl.links_bytes_per_s = 1e11);
    ck_assert_has(support_simulate(c)->error.text, "no effect on the collectives of NCCL and RCCL");
}
