/**
 * @file step_log.h
 * Reads step times from the output of training programs: Megatron-LM, torchtitan (from its clock),
 * nanoGPT, timm, PyTorch's ImageNet example, and Lightning (from its progress bars).
 */
#pragma once

#include "base/status.h"

typedef struct dsgd_step_log {
    const char *tool; /* name of the training program; NULL if no line comes from a known program */
    size_t n;
    double *seconds, *lines; /* seconds: time per step; lines: number of the line that contains it;
                              * n entries each */
    double batch; /* samples per step of all workers together; 0 if unknown */
    double steps_per_line; /* number of steps over which each time is averaged */
    size_t left_out; /* number of lines of the training program that contain no time */
} dsgd_step_log;

/**
 * Returns the step times of the first known training program in a text. If several ranks print the
 * same step, the step counts once.
 */
dsgd_step_log dsgd_step_log_read(const char *text);
