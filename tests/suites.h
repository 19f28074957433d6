/**
 * @file suites.h
 * All suites. tests/main.c runs them. ctest has one entry per suite, and runs the long suites only
 * in the release preset. tests/README.md describes the tests of each suite.
 */
#pragma once

#include <check.h>

#define DSGD_SUITES(X)                                                                             \
    X(draw)                                                                                        \
    X(option)                                                                                      \
    X(round)                                                                                       \
    X(status)                                                                                      \
    X(course)                                                                                      \
    X(docs)                                                                                        \
    X(traces)                                                                                      \
    X(failures)                                                                                    \
    X(platforms)                                                                                   \
    X(imbalance)                                                                                   \
    X(data)                                                                                        \
    X(images)                                                                                      \
    X(stream)                                                                                      \
    X(split)                                                                                       \
    X(matmul)                                                                                      \
    X(devices)                                                                                     \
    X(zoo)                                                                                         \
    X(networks)                                                                                    \
    X(states)                                                                                      \
    X(trainings)                                                                                   \
    X(values)                                                                                      \
    X(encodings)                                                                                   \
    X(graph)                                                                                       \
    X(schedules)                                                                                   \
    X(shapes)                                                                                      \
    X(fabrics)                                                                                     \
    X(gossip)                                                                                      \
    X(collectives)                                                                                 \
    X(maxmin)                                                                                      \
    X(nccl)                                                                                        \
    X(analytic)                                                                                    \
    X(communicators)                                                                               \
    X(splits)                                                                                      \
    X(exchange)                                                                                    \
    X(outer)                                                                                       \
    X(fragments)                                                                                   \
    X(pair)                                                                                        \
    X(failures_in_runs)                                                                            \
    X(slow_links)                                                                                  \
    X(hang)                                                                                        \
    X(partial)                                                                                     \
    X(staging)                                                                                     \
    X(cancel)                                                                                      \
    X(messages)                                                                                    \
    X(server)                                                                                      \
    X(accounting)                                                                                  \
    X(spans)                                                                                       \
    X(runtime)                                                                                     \
    X(hybrid)                                                                                      \
    X(smpi)                                                                                        \
    X(microbenchmark)                                                                              \
    X(algorithms)                                                                                  \
    X(conformance)                                                                                 \
    X(laws)                                                                                        \
    X(endurance)                                                                                   \
    X(encoded)                                                                                     \
    X(scale)                                                                                       \
    X(open)                                                                                        \
    X(servers)                                                                                     \
    X(staleness)                                                                                   \
    X(memory)                                                                                      \
    X(drop_compute)                                                                                \
    X(zero)                                                                                        \
    X(dadm)                                                                                        \
    X(differing_data)                                                                              \
    X(against_oracle)                                                                              \
    X(against_arrivals)                                                                            \
    X(emulation)                                                                                   \
    X(fuzz)                                                                                        \
    X(describe)                                                                                    \
    X(schema)                                                                                      \
    X(report)                                                                                      \
    X(input)                                                                                       \
    X(run)                                                                                         \
    X(exchanges)                                                                                   \
    X(expenses)                                                                                    \
    X(shards)                                                                                      \
    X(sweep)                                                                                       \
    X(both_networks)                                                                               \
    X(phase)                                                                                       \
    X(verdict)                                                                                     \
    X(tune)                                                                                        \
    X(tables)                                                                                      \
    X(reproduce)                                                                                   \
    X(imbalance_fit)                                                                               \
    X(import)                                                                                      \
    X(cluster)                                                                                     \
    X(import_kineto)                                                                               \
    X(compare)                                                                                     \
    X(sensitivity)                                                                                 \
    X(plot)                                                                                        \
    X(timeline)                                                                                    \
    X(explain)                                                                                     \
    X(lesson)                                                                                      \
    X(plugin)                                                                                      \
    X(random)                                                                                      \
    X(faults)                                                                                      \
    X(gpu)                                                                                         \
    X(gpu_scale_long)                                                                              \
    X(models_long)                                                                                 \
    X(endurance_long)                                                                              \
    X(laws_long)                                                                                   \
    X(scale_long)                                                                                  \
    X(smpi_long)                                                                                   \
    X(drawings_long)                                                                               \
    X(figures_long)

#define X(name) Suite *name##_suite(void);
DSGD_SUITES(X)
#undef X
