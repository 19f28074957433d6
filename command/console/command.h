/**
 * @file command.h
 * A sub-command of dsgd: parses its own words, prints its output, and returns a status;
 * command/main.c prints errors.
 */
#pragma once

#include "base/status.h"

typedef struct dsgd_command {
    const char *name;
    const char *usage; /* its operands */
    const char *summary; /* one line */
    dsgd_status (*run)(int count, char **words, dsgd_error *error); /* words[0] is the name */
} dsgd_command;
