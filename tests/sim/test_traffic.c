/**
 * @file test_traffic.c
 * What verbs and algorithms declare to send, as numbers: laws and closed forms. That it is what is
 * sent is for conformance and communicators.
 */
#include "models/encodings/encoding.h"
#include "sim/exchange/plan.h"
#include "tests/support/suite.h"
#include "tests/support/support.h"

static dsgd_spec encoding; /* set before the formulas are asked */

static dsgd_traffic encoded_allreduce(const dsgd_scale *scale)
{
    return dsgd_encoded_allreduce_traffic(scale, &encoding);
}

static dsgd_traffic encoded_vectors(const dsgd_scale *scale)
{
    return dsgd_encoded_vector_traffic(scale, &encoding, 1.5);
}

static dsgd_traffic factors(const dsgd_scale *scale)
{
    return dsgd_factor_traffic(scale, 2, false);
}

static dsgd_traffic vectors(const dsgd_scale *scale)
{
    return dsgd_vector_traffic(scale, 1.5);
}

static dsgd_traffic versions(const dsgd_scale *scale)
{
    return dsgd_partial_traffic(scale, dsgd_log2(scale->n_workers));
}

typedef dsgd_traffic formula(const dsgd_scale *scale);

static formula *const formulas[] = {dsgd_allreduce_traffic,
                                    dsgd_reduce_traffic,
                                    dsgd_broadcast_traffic,
                                    dsgd_shares_traffic,
                                    encoded_allreduce,
                                    encoded_vectors,
                                    factors,
                                    vectors,
                                    versions};
enum { FORMULAS = sizeof formulas / sizeof formulas[0] };

#define FLOATS .doubling_bytes = 65536, .value_bytes = 4
static const double piece_bytes[] = {4e6, 400, 80e3}; /* long and short ones */

static void pick_encoding(int i)
{
    const dsgd_entry *const about = dsgd_encoding_kinds[i];
    encoding = (dsgd_spec){about, support_alloc(1, about->params_size + 1)};
    dsgd_options_default(about->options, encoding.params);
}

SUITE(traffic, "traffic", .seconds = 60);

/** A vector in three pieces sends what three vectors of one piece send, and one alone nothing. */
TEST_RANGE(traffic_is_the_sum_over_pieces, 0, FORMULAS)
{
    for (int e = 0; dsgd_encoding_kinds[e] != NULL; e++)
        for (int p = 1; p <= 16; p += 1 + p / 5) {
            pick_encoding(e);
            dsgd_traffic sum = {0, 0};
            for (int k = 0; k < 3; k++)
                sum = dsgd_traffic_sum(
                    sum, formulas[_i](&(dsgd_scale){FLOATS, .n_workers = p, .n_pieces = 1,
                                                    .piece_bytes = piece_bytes + k}));
            const dsgd_traffic all = formulas[_i](
                &(dsgd_scale){.n_workers = p, .n_pieces = 3, .piece_bytes = piece_bytes, FLOATS});
            const bool alone = p == 1 && formulas[_i] != vectors && formulas[_i] != encoded_vectors;
            ck_assert_double_eq_tol(all.messages, sum.messages, 1e-12 * (1 + sum.messages));
            ck_assert_double_eq_tol(all.bytes, sum.bytes, 1e-12 * (1 + sum.bytes));
            ck_assert((all.messages > 0) == !alone && (all.bytes > 0) == !alone);
        }
}

TEST(vectors_are_messages_and_bytes)
{
    const dsgd_scale scale = {.n_workers = 5, .n_pieces = 3, .piece_bytes = piece_bytes, FLOATS};
    const dsgd_traffic plain = vectors(&scale);
    ck_assert_double_eq(plain.messages, 4.5);
    ck_assert_double_eq_tol(plain.bytes, 1.5 * 4080400, 1e-6);
    for (int e = 0; dsgd_encoding_kinds[e] != NULL; e++) {
        pick_encoding(e);
        const dsgd_traffic t = encoded_vectors(&scale);
        ck_assert_double_eq(t.messages, 4.5);
        double bytes = 0;
        for (int k = 0; k < 3; k++)
            bytes += 1.5 * dsgd_encoding_bytes(&encoding, piece_bytes[k], 4);
        ck_assert_double_eq_tol(t.bytes, bytes, 1e-6);
    }
}

/** What cannot be added where it is goes from everybody to everybody: P - 1 encoded vectors. */
TEST(encoded_pieces_are_gathered_while_they_are_small)
{
    int n_gathered = 0;
    for (int e = 0; dsgd_encoding_kinds[e] != NULL; e++)
        for (int p = 2; p <= 8; p++) {
            pick_encoding(e);
            const dsgd_scale scale = {
                .n_workers = p, .n_pieces = 1, .piece_bytes = piece_bytes, FLOATS};
            const double bytes = dsgd_encoding_bytes(&encoding, piece_bytes[0], 4);
            if (dsgd_encoding_sum_of(&encoding) != DSGD_SUM_GATHERED)
                continue;
            const bool gathers = p * bytes < 2 * piece_bytes[0];
            const double want =
                gathers ? (p - 1) * bytes : 2 * (p - 1) * piece_bytes[0] / p; /* or their sum */
            ck_assert_double_eq_tol(encoded_allreduce(&scale).bytes, want, 1e-9 * want);
            n_gathered += gathers;
        }
    ck_assert_int_gt(n_gathered, 0);
}

/** Of 16 in groups of 4: two rounds of whole pieces of 400 bytes, and 15 activations for all. */
TEST(a_version_is_a_small_allreduce_and_its_activations)
{
    const dsgd_scale scale = {
        .n_workers = 16, .n_pieces = 1, .piece_bytes = piece_bytes + 1, FLOATS};
    const dsgd_traffic t = dsgd_partial_traffic(&scale, 2);
    ck_assert_double_eq_tol(t.messages, 2 + 15 / 16., 1e-12);
    ck_assert_double_eq_tol(t.bytes, 2 * 400 + 15 / 16. * DSGD_ACTIVATION_BYTES, 1e-9);
}

/**
 * Short vectors go up or down a binomial tree of 8; of a long one, shares of an eighth do so too.
 */
TEST(a_tree_has_an_edge_less_than_members)
{
    for (int k = 0; k < 2; k++) {
        const dsgd_scale scale = {
            .n_workers = 8, .n_pieces = 1, .piece_bytes = piece_bytes + 1, FLOATS};
        const dsgd_traffic t = formulas[1 + k](&scale);
        ck_assert_double_eq_tol(t.messages, 7 / 8., 1e-12);
        ck_assert_double_eq_tol(t.bytes, 7 / 8. * 400, 1e-9);
        const dsgd_traffic of_long = formulas[1 + k](
            &(dsgd_scale){.n_workers = 8, .n_pieces = 1, .piece_bytes = piece_bytes, FLOATS});
        /* halving or doubling: 3 messages and 7/8 of the vector each; 4 + 2 * 2 + 4 * 1 eighths */
        ck_assert_double_eq_tol(of_long.messages, 3 + 7 / 8., 1e-12);
        ck_assert_double_eq_tol(of_long.bytes, (7 / 8. + 12 / 64.) * 4e6, 1e-3);
    }
}

static dsgd_traffic traffic_of(const char *name, const char *option, double value)
{
    const dsgd_scale scale = {
        .n_workers = 4, .n_servers = 1, .n_pieces = 3, .piece_bytes = piece_bytes, FLOATS};
    support_case *c = support_new(name, 4);
    support_option(c, option, value);
    return c->config.algorithm->traffic(c->config.params, &scale);
}

/** A server that refuses gradients by their age sends as time wants; one that refuses none as
 * rounds do. */
TEST(ringmaster_s_traffic_is_known_without_a_bound_of_age)
{
    const dsgd_traffic t = traffic_of("ringmaster", "delay", -2);
    ck_assert_double_eq_tol(t.messages, 6, 1e-12);
    ck_assert_double_eq_tol(t.bytes, 2 * 4080400, 1e-6);
    ck_assert(isnan(traffic_of("ringmaster", "delay", -1).bytes));
    ck_assert(isnan(traffic_of("ringmaster", "delay", 3).messages));
}
