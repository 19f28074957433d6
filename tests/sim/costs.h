/**
 * @file costs.h
 * Runs whose messages have every kind of cost: 1 MB per exchange on an idle switch.
 */
#pragma once

#include "tests/support/support.h"

enum { WORKERS = 16, BITS = 4 /* log2(WORKERS) */ };

static const double bytes = 1e6;
static const double bandwidth = 10e9;
static const double latency_s = 1e-6;
static const double overhead_s = 5e-6;
static const double reduction_s_per_byte = 0.3e-9;

static const double wire_s = 1e-6 + 1e6 / 10e9; /* latency, plus the time of the bytes */
static const double treated_s = 5e-6 + 0.3e-9 * 1e6; /* overhead, plus the time of the reduction */

/**
 * Returns the seconds of one communication when all workers arrive together. A step takes 1 s plus
 * this time.
 */
double communication_s(const dsgd_algorithm *algorithm, dsgd_collective collective, int workers);

/**
 * Checks a measured time against a closed form (sim/exchange/schedules.c). The tolerance allows for
 * activations, which cost a little.
 */
void expect_close(double measured_s, double expected_s);

/** Makes a run of ten steps without learning, whose messages have every kind of cost. */
support_case *costly(const char *algorithm, int workers);
