/**
 * @file command.h
 * A sub-command of dsgd. It parses its words, prints its output and returns a status;
 * command/main.c prints the error.
 */
#pragma once

#include "base/status.h"

typedef struct dsgd_command {
    const char *name;
    const char *usage; /* operands, for --help */
    const char *summary; /* for --help */
    dsgd_status (*run)(int count, char **words, dsgd_error *error); /* words[0] is the name */
} dsgd_command;
