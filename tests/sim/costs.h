/**
 * @file costs.h
 * Test runs whose messages have every kind of cost. Each exchange has 1 MB and uses an idle switch.
 */
#pragma once

#include "tests/support/support.h"

enum { WORKERS = 16, BITS = 4 /* log2(WORKERS) */ };

static const double bytes = 1e6;
static const double bandwidth = 10e9;
static const double latency_s = 1e-6;
static const double overhead_s = 5e-6;
static const double reduction_s_per_byte = 0.3e-9;

/* time of a message on the wire in seconds: the latency, plus the time of its bytes */
static const double wire_s = 1e-6 + 1e6 / 10e9;
/* time of a message at its receiver in seconds: the overhead, plus the time of the reduction */
static const double treated_s = 5e-6 + 0.3e-9 * 1e6;

/**
 * Returns the duration in seconds of one communication that all workers start together. A step of
 * the run takes 1 s plus this time.
 */
double communication_s(const dsgd_algorithm *algorithm, dsgd_collective collective, int workers);

/**
 * Fails the test unless a measured time is close to a closed form (sim/exchange/schedules.c). The
 * tolerance covers the small cost of activations.
 */
void expect_close(double measured_s, double expected_s);

/**
 * Makes a run of ten steps without learning. Its messages have latency, overhead, and time per byte
 * on the wire and for the reduction.
 */
support_case *costly(const char *algorithm, int workers);
