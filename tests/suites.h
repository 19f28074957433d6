/**
 * @file suites.h
 * All suites. tests/main.c runs them; ctest has one entry per suite, and the long ones run in the
 * release preset only. tests/README.md says what each is about.
 */
#ifndef DSGD_TESTS_SUITES_H
#define DSGD_TESTS_SUITES_H

#include <check.h>

#define DSGD_SUITES(X)                                                                             \
    X(draw)                                                                                        \
    X(option)                                                                                      \
    X(round)                                                                                       \
    X(status)                                                                                      \
    X(course)                                                                                      \
    X(docs)                                                                                        \
    X(traces)                                                                                      \
    X(platforms)                                                                                   \
    X(imbalance)                                                                                   \
    X(data)                                                                                        \
    X(images)                                                                                      \
    X(stream)                                                                                      \
    X(matmul)                                                                                      \
    X(devices)                                                                                     \
    X(zoo)                                                                                         \
    X(networks)                                                                                    \
    X(states)                                                                                      \
    X(trainings)                                                                                   \
    X(values)                                                                                      \
    X(record)                                                                                      \
    X(graph)                                                                                       \
    X(gossip)                                                                                      \
    X(collectives)                                                                                 \
    X(alone)                                                                                       \
    X(closed)                                                                                      \
    X(exchange)                                                                                    \
    X(pair)                                                                                        \
    X(hang)                                                                                        \
    X(partial)                                                                                     \
    X(staging)                                                                                     \
    X(server)                                                                                      \
    X(accounting)                                                                                  \
    X(loggp)                                                                                       \
    X(smpi)                                                                                        \
    X(microbenchmark)                                                                              \
    X(algorithms)                                                                                  \
    X(conformance)                                                                                 \
    X(laws)                                                                                        \
    X(scale)                                                                                       \
    X(staleness)                                                                                   \
    X(drop_compute)                                                                                \
    X(oracle)                                                                                      \
    X(against_oracle)                                                                              \
    X(emulation)                                                                                   \
    X(describe)                                                                                    \
    X(schema)                                                                                      \
    X(report)                                                                                      \
    X(input)                                                                                       \
    X(run)                                                                                         \
    X(exchanges)                                                                                   \
    X(expenses)                                                                                    \
    X(sweep)                                                                                       \
    X(phase)                                                                                       \
    X(tune)                                                                                        \
    X(tables)                                                                                      \
    X(reproduce)                                                                                   \
    X(imbalance_fit)                                                                               \
    X(compare)                                                                                     \
    X(sensitivity)                                                                                 \
    X(plot)                                                                                        \
    X(timeline)                                                                                    \
    X(explain)                                                                                     \
    X(lesson)                                                                                      \
    X(plugin)                                                                                      \
    X(random)                                                                                      \
    X(gpu)                                                                                         \
    X(models_long)                                                                                 \
    X(laws_long)                                                                                   \
    X(scale_long)                                                                                  \
    X(smpi_long)                                                                                   \
    X(figures_long)

#define X(name) Suite *name##_suite(void);
DSGD_SUITES(X)
#undef X

#endif
