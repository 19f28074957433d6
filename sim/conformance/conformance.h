/**
 * @file conformance.h
 * Checks of one algorithm, which is built in or comes from a plug-in. The checks test the laws that
 * the algorithm declares. They also test the properties that every algorithm must have: it ends,
 * gives the same results when repeated, learns, and does not deadlock. Each simulation runs in its
 * own process, so a crash or an endless loop only fails the check.
 */
#pragma once

#include "models/values/values.h"
#include "sim/algorithm.h"

typedef enum dsgd_verdict {
    DSGD_CHECK_PASSED,
    DSGD_CHECK_FAILED,
    DSGD_CHECK_LEFT_OUT, /* verdict if a check could not be made; `why` contains the reason */
    DSGD_N_VERDICTS
} dsgd_verdict;

/** The result of one check of a subject, with some options, at some numbers of workers. */
typedef struct dsgd_check {
    dsgd_verdict verdict;
    const char *subject; /* subject of the check: "ends", "law KEEPS_MEAN", ... */
    /*
     * options that differ from their defaults, such as "period=4, order=cta"; "" if all have their
     * defaults
     */
    const char *options;
    /* numbers of workers with which the check passed, such as "2, 3, 4"; "" if it did not pass */
    const char *workers;
    /*
     * reason why the check did not pass: a sentence that contains the algorithm, options, P and
     * step
     */
    const char *why;
} dsgd_check;

typedef struct dsgd_conformance {
    dsgd_numerics numerics; /* device that computes values: CPU or CUDA */
    int network; /* network, of type dsgd_network_kind (sim/network/cluster.h) */
    /*
     * true for double precision with a tolerance of 1e-12; false for float with a tolerance of 1e-5
     */
    bool in_double;
    bool brief; /* true for fewer cases, for builds that run slowly */
    double limit_s; /* processor time in seconds, after which a simulation counts as hanging */
    /** function that is called after each check */
    void (*report)(const dsgd_check *check, void *argument);
    void *argument;
} dsgd_conformance;

/**
 * Makes all checks and stores in n[v] the number of checks with verdict v. If a simulation hangs,
 * no further check is made.
 */
void dsgd_conformance_check(const dsgd_algorithm *algorithm, const dsgd_conformance *how,
                            size_t n[DSGD_N_VERDICTS]);
