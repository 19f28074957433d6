/**
 * @file conformance.h
 * Checks of one algorithm, built in or of a plug-in: the laws that it declares, and
 * what every algorithm promises: it ends, repeats itself, learns, and does not deadlock. Each
 * simulation is a process of its own, so that a crash or an endless loop is a failure of the check.
 */
#pragma once

#include "models/values/values.h"
#include "sim/algorithm.h"

typedef enum dsgd_verdict {
    DSGD_CHECK_PASSED,
    DSGD_CHECK_FAILED,
    DSGD_CHECK_LEFT_OUT, /* it could not be made; the sentence says why */
    DSGD_N_VERDICTS
} dsgd_verdict;

/** One check that has ended: a subject under some options, at some numbers of workers. */
typedef struct dsgd_check {
    dsgd_verdict verdict;
    const char *subject; /* "ends", "law KEEPS_MEAN", ... */
    const char *options; /* that differ from their defaults: "period=4, order=cta"; or "" */
    const char *workers; /* where it passed: "2, 3, 4"; else "" */
    const char *why; /* of one that did not pass, a sentence with algorithm, options, P and step */
} dsgd_check;

typedef struct dsgd_conformance {
    dsgd_numerics numerics; /* CPU or CUDA */
    int network; /* dsgd_network_kind (sim/network/cluster.h) */
    bool in_double; /* else in float, with a tolerance of 1e-5 instead of 1e-12 */
    bool brief; /* fewer cases, for builds that are slow */
    double limit_s; /* processor time of one simulation; who takes longer hangs */
    /** Called when a check has ended. */
    void (*report)(const dsgd_check *check, void *argument);
    void *argument;
} dsgd_conformance;

/** Makes all checks; n[v] <- how many had verdict v. After one that hangs no others are made. */
void dsgd_conformance_check(const dsgd_algorithm *algorithm, const dsgd_conformance *how,
                            size_t n[DSGD_N_VERDICTS]);
