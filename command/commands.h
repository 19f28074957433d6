/**
 * @file commands.h
 * Declares the list of the sub-commands of dsgd.
 */
#pragma once

#include "command/console/command.h"

extern const dsgd_command dsgd_command_run, dsgd_command_check, dsgd_command_merge,
    dsgd_command_list, dsgd_command_describe, dsgd_command_plot, dsgd_command_compare,
    dsgd_command_reproduce, dsgd_command_platform, dsgd_command_imbalance, dsgd_command_test,
    dsgd_command_report, dsgd_command_tune, dsgd_command_timeline, dsgd_command_explain,
    dsgd_command_task, dsgd_command_import;

enum { DSGD_MOST_COMMANDS = 64 };

/** All sub-commands in the order of `dsgd --help`; NULL ends the list. */
extern const dsgd_command *const dsgd_commands[DSGD_MOST_COMMANDS];

/**
 * Finds the plural and singular names of the i-th kind that `dsgd list` accepts. *singular is NULL
 * for devices, because `dsgd describe` does not accept devices. Returns false if there is no i-th
 * kind.
 */
bool dsgd_kind_at(size_t i, const char **plural, const char **singular);

/** Prints JSON with the commands, kinds, keys of experiments and exit statuses. */
void dsgd_tables_print(void);
