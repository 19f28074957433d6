/**
 * @file step_log.h
 * Reader of step times in the output of training programs: Megatron-LM, torchtitan (from its
 * clock), nanoGPT, timm, PyTorch's ImageNet example, and Lightning (from its progress bars).
 */
#pragma once

#include "base/status.h"

typedef struct dsgd_step_log {
    const char *tool; /* name of the program; NULL if no line is from a known program */
    size_t n;
    double *seconds, *lines; /* seconds per step and number of its line; n entries each */
    double batch; /* samples per step of all workers together; 0 if unknown */
    double steps_per_line; /* number of steps over which each time is averaged */
    size_t left_out; /* number of lines of the program without a time */
} dsgd_step_log;

/**
 * Returns the step times of the first known program in a text. A step that several ranks print
 * counts once.
 */
dsgd_step_log dsgd_step_log_read(const char *text);
