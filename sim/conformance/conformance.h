/**
 * @file conformance.h Checks of one algorithm, built in or from a plug-in: the laws that it
 * declares, and the properties that every algorithm must have. It ends, gives the same results when
 * repeated, learns, and does not deadlock. Each simulation is a process of its own, so a crash or
 * an endless loop is a failed check.
 */
#pragma once

#include "models/values/values.h"
#include "sim/algorithm.h"

typedef enum dsgd_verdict {
    DSGD_CHECK_PASSED,
    DSGD_CHECK_FAILED,
    DSGD_CHECK_LEFT_OUT, /* the check could not be made; the sentence says why */
    DSGD_N_VERDICTS
} dsgd_verdict;

/** The result of one check: a subject with some options, at some numbers of workers. */
typedef struct dsgd_check {
    dsgd_verdict verdict;
    const char *subject; /* "ends", "law KEEPS_MEAN", ... */
    const char *options; /* options that differ from their defaults: "period=4, order=cta"; or "" */
    const char *workers; /* numbers of workers at which it passed: "2, 3, 4"; else "" */
    const char *why; /* why it did not pass: a sentence with algorithm, options, P and step */
} dsgd_check;

typedef struct dsgd_conformance {
    dsgd_numerics numerics; /* CPU or CUDA */
    int network; /* dsgd_network_kind (sim/network/cluster.h) */
    /* true: double, with a tolerance of 1e-12; false: float, with a tolerance of 1e-5 */
    bool in_double;
    bool brief; /* true for fewer cases, for slow builds */
    double limit_s; /* processor time of one simulation, after which it counts as hanging */
    /** Called when a check has ended. */
    void (*report)(const dsgd_check *check, void *argument);
    void *argument;
} dsgd_conformance;

/**
 * Makes all checks; n[v] <- number of checks with verdict v. After a check that hangs no other is
 * made.
 */
void dsgd_conformance_check(const dsgd_algorithm *algorithm, const dsgd_conformance *how,
                            size_t n[DSGD_N_VERDICTS]);
