/**
 * @file command.h
 * Defines a sub-command of dsgd. A sub-command parses its words, prints its output and returns a
 * status; command/main.c prints the error.
 */
#pragma once

#include "base/status.h"

typedef struct dsgd_command {
    const char *name;
    const char *usage; /* operands of the command, as `--help` prints them */
    const char *summary; /* summary of the command, as `--help` prints it */
    /* function that runs the command; words[0] is the command's name */
    dsgd_status (*run)(int count, char **words, dsgd_error *error);
} dsgd_command;
