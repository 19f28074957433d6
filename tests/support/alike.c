/**
 * @file alike.c
 * Compares a run whose results are computed directly with the same run simulated message by
 * message.
 */
#include "tests/support/alike.h"

#include <check.h>

static const double same = 1e-9;

static void expect_same(double computed, double simulated, double tolerance, const char *what,
                        const char *where)
{
    ck_assert_msg((isnan(computed) && isnan(simulated)) || fabs(computed - simulated) <= tolerance,
                  "%s: %s is %.17g, message by message %.17g", where, what, computed, simulated);
}

void support_expect_alike(const support_case *c, const support_outcome *a, const support_outcome *b,
                          double slack_s, const char *where)
{
    const dsgd_run_result *const x = &a->result, *const y = &b->result;
    ck_assert_int_eq(a->status, b->status);
    ck_assert_int_eq(x->outcome, y->outcome);
    ck_assert_str_eq(x->why.text, y->why.text);
    ck_assert_msg(x->messages == y->messages, "%s: %lu messages, message by message %lu", where,
                  x->messages, y->messages);
    ck_assert_double_eq(x->steps, y->steps);
    ck_assert_int_eq(x->collective, y->collective);
    ck_assert_int_eq(x->partial_collective, y->partial_collective);
    const struct {
        const char *name;
        double computed, simulated, scale;
    } figures[] = {
        {"virtual_s", x->virtual_s, y->virtual_s, y->virtual_s},
        {"bytes", x->bytes, y->bytes, y->bytes},
        {"step_mean_s", x->step_mean_s, y->step_mean_s, y->step_mean_s},
        {"exposed_mean_s", x->exposed_mean_s, y->exposed_mean_s, y->step_mean_s},
        {"compute", x->shares.compute, y->shares.compute, 1},
        {"wait", x->shares.wait, y->shares.wait, 1},
        {"communicate", x->shares.communicate, y->shares.communicate, 1},
        {"link_s", x->link_s, y->link_s, y->link_s},
        {"ideal_s", x->ideal_s, y->ideal_s, y->ideal_s},
        {"staleness", x->staleness_mean, y->staleness_mean, 1},
        {"lag", x->lag_mean, y->lag_mean, 1},
        {"gradient staleness", x->gradient_staleness_mean, y->gradient_staleness_mean, 1},
        {"skipped", x->partial_skipped, y->partial_skipped, 1},
        {"duplicates", x->partial_duplicates, y->partial_duplicates, 1},
        {"active", x->partial_active_mean, y->partial_active_mean, 1},
    };
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++)
        expect_same(figures[i].computed, figures[i].simulated, same * figures[i].scale + slack_s,
                    figures[i].name, where);
    ck_assert_uint_eq(a->n_params, b->n_params);
    ck_assert_mem_eq(a->x, b->x, (size_t)c->config.workers * a->n_params * sizeof a->x[0]);
}
