/**
 * @file task.h
 * A task: a given experiment, what a learner may change in it, and what the changed one has to reach.
 */
#ifndef DSGD_COMMAND_STUDIES_TASK_H
#define DSGD_COMMAND_STUDIES_TASK_H

#include "base/option.h"

/** The keys of a task's file. */
extern const dsgd_option dsgd_task_options[];

#endif
