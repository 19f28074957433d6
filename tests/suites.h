/**
 * @file suites.h
 * All suites. tests/main.c runs them; ctest has one entry per suite, and the long ones run in the release preset only.
 */
#ifndef DSGD_TESTS_SUITES_H
#define DSGD_TESTS_SUITES_H

#include <check.h>

#define DSGD_SUITES(X)                                                                             \
    X(base)                                                                                        \
    X(docs)                                                                                        \
    X(traces)                                                                                      \
    X(platforms)                                                                                   \
    X(imbalance)                                                                                   \
    X(models)                                                                                      \
    X(data)                                                                                        \
    X(matmul)                                                                                      \
    X(networks)                                                                                    \
    X(states)                                                                                      \
    X(trainings)                                                                                   \
    X(values)                                                                                      \
    X(collectives)                                                                                 \
    X(smpi)                                                                                        \
    X(laws)                                                                                        \
    X(algorithms)                                                                                  \
    X(oracle)                                                                                      \
    X(against_oracle)                                                                              \
    X(conformance)                                                                                 \
    X(gossip)                                                                                      \
    X(microbenchmark)                                                                              \
    X(command)                                                                                     \
    X(plugin)                                                                                      \
    X(record)                                                                                      \
    X(models_long)                                                                                 \
    X(laws_long)                                                                                   \
    X(smpi_long)                                                                                   \
    X(figures_long)

#define X(name) Suite *name##_suite(void);
DSGD_SUITES(X)
#undef X

#endif
