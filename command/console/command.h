/**
 * @file command.h
 * Defines the type of a sub-command of dsgd. A sub-command parses its words, prints its output and
 * returns a status. If it fails, command/main.c prints the error.
 */
#pragma once

#include "base/status.h"

typedef struct dsgd_command {
    const char *name;
    const char *usage; /* operands of the sub-command, as `--help` prints them */
    const char *summary; /* summary of the sub-command, as `--help` prints it */
    /* function that runs the sub-command; words[0] is the name of the sub-command */
    dsgd_status (*run)(int count, char **words, dsgd_error *error);
} dsgd_command;
