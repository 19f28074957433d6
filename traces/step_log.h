/**
 * @file step_log.h
 * Step times in what training programs print: Megatron-LM, torchtitan (by its clock), nanoGPT,
 * timm, PyTorch's ImageNet example, and Lightning (by its bars).
 */
#pragma once

#include "base/status.h"

typedef struct dsgd_step_log {
    const char *tool; /* NULL: no line is of one */
    size_t n;
    double *seconds, *lines; /* [n] */
    double batch; /* samples of all workers together; 0: not said */
    double steps_per_line; /* whose mean each time is */
    size_t left_out; /* lines of the tool without a time */
} dsgd_step_log;

/** The times of the first tool that is found, each step once, as all ranks may print it. */
dsgd_step_log dsgd_step_log_read(const char *text);
