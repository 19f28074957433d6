/**
 * @file lesson.c
 * An algorithm, step by step.
 */
#include "command/explain/lesson.h"

dsgd_status dsgd_lesson(const dsgd_about *algorithm, const dsgd_explain_options *options,
                        dsgd_error *error)
{
    (void)options;
    return dsgd_fail(error, DSGD_EUSAGE, "explain %s: there is no lesson yet", algorithm->name);
}
