/**
 * @file lesson.h
 * What the workers of an algorithm hold, send, wait for and get, step by step.
 */
#ifndef DSGD_COMMAND_EXPLAIN_LESSON_H
#define DSGD_COMMAND_EXPLAIN_LESSON_H

#include "command/explain/explain.h"
#include "sim/algorithm.h"

/** Simulates @p algorithm on a small problem and shows it. Plug-ins are loaded. */
dsgd_status dsgd_lesson(const dsgd_about *algorithm, const dsgd_explain_options *options,
                        dsgd_error *error);

#endif
