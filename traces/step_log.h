/**
 * @file step_log.h
 * Step times in the output of training programs: Megatron-LM, torchtitan (from its clock), nanoGPT,
 * timm, PyTorch's ImageNet example, and Lightning (from its progress bars).
 */
#pragma once

#include "base/status.h"

typedef struct dsgd_step_log {
    const char *tool; /* name of the program; NULL if no line is from a known one */
    size_t n;
    double *seconds, *lines; /* [n] */
    double batch; /* samples of all workers together; 0 if unknown */
    double steps_per_line; /* number of steps whose mean a time is */
    size_t left_out; /* lines of the tool without a time */
} dsgd_step_log;

/** Returns the times of the first program that is found. A step that several ranks print counts
 * once. */
dsgd_step_log dsgd_step_log_read(const char *text);
