/**
 * @file test_alone.c
 * Pairs and servers whose messages are alone on their links, where the times of nics are those of flows:
 * beside the same in SimGrid.
 */
#include <stdio.h>
#include <string.h>

#include "base/draw.h"
#include "tests/support/alike.h"
#include "tests/support/suite.h"
#include "tests/support/support.h"

/** SimGrid does not tell apart events of one nanosecond, message by message. */
static const double early_s = 1e-8;

/* --- experiments ------------------------------------------------------------------------------ */

static const struct {
    const char *algorithm;
    struct {
        const char *name;
        double value;
    } option[2];
} kinds[] = {{"ad_psgd", {{NULL, 0}}},
             {"ad_psgd", {{"averagings", 3}}},
             {"ad_psgd", {{"variant", 1}}},
             {"ad_psgd", {{"variant", 2}, {"averagings", 2}}},
             {"ad_psgd", {{"variant", 3}}},
             {"easgd", {{"period", 2}}},
             {"easgd", {{"period", 1}, {"servers", 3}}},
             {"easgd", {{"period", 2}, {"centre", 1}}},
             {"eamsgd", {{"period", 3}, {"servers", 2}}}};

enum { N_KINDS = sizeof kinds / sizeof kinds[0], MOST_HOSTS = 32 };

static uint64_t draw(int experiment, int what, uint64_t below)
{
    const dsgd_draw at = {.seed = 1,
                          .worker = (uint32_t)experiment,
                          .purpose = DSGD_DRAW_SHARED,
                          .step = (uint32_t)what};
    return dsgd_draw_below(at, below);
}

/** Every host has a NIC of its own kind: of what ends at one instant, an order would be a guess. */
static void make_platform(support_case *c, int experiment)
{
    static dsgd_platform_entry entries[MOST_HOSTS];
    for (int i = 0; i < MOST_HOSTS; i++)
        entries[i] =
            (dsgd_platform_entry){.first = i,
                                  .count = 1,
                                  .speed = 1,
                                  .bandwidth = 0.5 + (double)draw(experiment, 100 + i, 1000) / 2000,
                                  .latency_s = (double)draw(experiment, 200 + i, 1000) * 1e-9};
    c->platform.hosts = (dsgd_records){MOST_HOSTS, entries};
    c->platform.message_overhead_s = (double)draw(experiment, 1, 3) * 7.7e-6;
    c->platform.reduction_s_per_byte = (double)draw(experiment, 2, 2) * 0.3e-9;
    c->platform.staging_s_per_byte = (double)draw(experiment, 3, 2) * 0.25e-9;
    switch (draw(experiment, 4, 3)) {
    case 0:
        break;
    case 1:
        c->platform.topology = DSGD_TOPOLOGY_GROUPS;
        c->platform.group_hosts = 3;
        c->platform.group_flow_bytes_per_s = 6.3e9;
        c->platform.group_bytes_per_s = 3 * 6.3e9;
        c->platform.group_latency_s = 1.53e-6;
        break;
    default:
        c->platform.island_hosts = c->platform.island_nics = 4;
        c->platform.island_bytes_per_s = 150e9;
        c->platform.island_latency_s = 2e-6;
    }
}

static support_case *new_experiment(int experiment, char *where, size_t room)
{
    static const int workers[] = {2, 8, 16};
    static const long pieces[] = {1, 3, 16};
    const int kind = experiment % N_KINDS;
    const int p = workers[draw(experiment, 10, 3)];
    support_case *const c = support_new(kinds[kind].algorithm, p);
    for (int i = 0; i < 2 && kinds[kind].option[i].name != NULL; i++)
        support_option(c, kinds[kind].option[i].name, kinds[kind].option[i].value);
    make_platform(c, experiment);
    void *const params = support_imbalance(c, "lognormal");
    const dsgd_about *const about = dsgd_about_find(dsgd_imbalance_kinds, "lognormal");
    support_set(about, params, "mean", 0.02);
    support_set(about, params, "deviation", 0.03);
    c->workload.bytes = 8e6;
    c->workload.step_s = 0.1;
    c->workload.backward_share = 0.5;
    c->config.seed = (uint64_t)experiment;
    /* No worker sends at that very instant, as at the end of a step. */
    c->config.until = (dsgd_until){.seconds = 0.71};
    c->config.exchange.pieces = pieces[draw(experiment, 11, 3)];
    snprintf(where, room, "experiment %d, %s, %s %g, %d workers, %ld pieces", experiment,
             kinds[kind].algorithm,
             kinds[kind].option[0].name == NULL ? "own" : kinds[kind].option[0].name,
             kinds[kind].option[0].value, p, c->config.exchange.pieces);
    return c;
}

enum { PARTS = 6, N_EXPERIMENTS = SUPPORT_SLOW ? 18 : 72 };

SUITE(alone, "alone", .seconds = 300);

TEST_RANGE(pairs_and_servers_take_what_their_messages_would, 0,
           PARTS) /* _i: which of the experiments */
{
    double messages = 0;
    for (int i = _i; i < N_EXPERIMENTS; i += PARTS) {
        char where[160];
        support_case *const c = new_experiment(i, where, sizeof where);
        const support_outcome *const computed = support_ok(c);
        c->config.exchange.every_message = true;
        support_expect_alike(c, computed, support_ok(c), early_s, where);
        messages += (double)computed->result.messages;
    }
    ck_assert_double_gt(messages, 0);
}

/* --- where it is so --------------------------------------------------------------------------- */

static void to_all_work(dsgd_node *self)
{
    static const double shares[] = {0.25, 0.25, 0.25};
    dsgd_vector *x = dsgd_model(self);
    int others[3];
    for (int i = 0; i < 3; i++)
        others[i] = i + (i >= self->rank);
    const dsgd_neighbours all = {
        .to = others, .n_to = 3, .share = shares, .from = others, .n_from = 3, .keep = 0.25};
    while (dsgd_next_step(self))
        dsgd_gossip(self, x, &all);
}

static const dsgd_algorithm to_all = {
    .about = {.name = "to_all"}, .work = to_all_work, .sends = DSGD_SENDS_ONE_AT_A_TIME};

/** What a file declares and does not keep would make times wrong. */
TEST(who_says_that_it_sends_one_at_a_time_sends_no_two)
{
    support_case *const c = support_new(NULL, 4);
    support_algorithm(c, &to_all);
    c->config.network = DSGD_NETWORK_FLOWS;
    support_expect_abort(c, "two messages at once, but the algorithm says that no worker");
}

/** A user's platform, NICs of several workers, more channels: there every message is simulated. */
TEST_RANGE(messages_that_can_meet_are_simulated, 0, 4)
{
    support_case *const c = support_new(NULL, 4);
    support_algorithm(c, &to_all);
    c->config.until.steps = 2;
    if (_i == 0) {
        c->platform.island_hosts = 2;
        c->platform.island_nics = 1;
        c->platform.island_bytes_per_s = 150e9;
    } else if (_i == 1) {
        static double shape[] = {2, 2};
        c->platform.topology = DSGD_TOPOLOGY_TORUS;
        c->platform.size = (dsgd_numbers){2, shape};
    } else if (_i == 2) {
        c->config.exchange.pieces = 2;
        c->config.exchange.blocking = false;
    } else {
        c->config.exchange.every_message = true;
    }
    support_ok(c);
}

/* --- which code it was ------------------------------------------------------------------------ */

static const struct {
    const char *algorithm;
    int workers;
    dsgd_network_kind network;
    bool every_message;
    const char *word;
} timed[] = {{"allreduce", 4, DSGD_NETWORK_FLOWS, false, "arithmetic"},
             {"allreduce", 4, DSGD_NETWORK_FLOWS, true, "simgrid"},
             {"allreduce", 4, DSGD_NETWORK_NICS, false, "arithmetic"},
             {"allreduce", 4, DSGD_NETWORK_NICS, true, "nics"},
             {"allreduce", 1, DSGD_NETWORK_NICS, true, "none"},
             {"eager_solo", 4, DSGD_NETWORK_FLOWS, false, "arithmetic"},
             {"easgd", 4, DSGD_NETWORK_FLOWS, false, "nics"},
             {"easgd", 4, DSGD_NETWORK_FLOWS, true, "simgrid"},
             {"d_psgd", 4, DSGD_NETWORK_FLOWS, false, "simgrid"},
             {"d_psgd", 4, DSGD_NETWORK_NICS, false, "nics"},
             {"hierarchical", 8, DSGD_NETWORK_FLOWS, false, "nics+arithmetic"}};

TEST_ROWS(a_run_says_which_code_timed_its_messages, timed)
{
    support_case *const c = support_new(timed[_i].algorithm, timed[_i].workers);
    c->config.network = timed[_i].network;
    c->config.exchange.every_message = timed[_i].every_message;
    c->config.until.steps = 16;
    if (strcmp(timed[_i].algorithm, "hierarchical") == 0)
        support_option(c, "between", 1); /* reduces and broadcasts are simulated */
    ck_assert_str_eq(dsgd_timed_by_name(support_ok(c)->result.timed_by), timed[_i].word);
}
