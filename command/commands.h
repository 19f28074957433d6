/**
 * @file commands.h
 * The sub-commands of dsgd.
 */
#pragma once

#include "command/console/command.h"

extern const dsgd_command dsgd_command_run, dsgd_command_check, dsgd_command_merge,
    dsgd_command_list, dsgd_command_describe, dsgd_command_plot, dsgd_command_compare,
    dsgd_command_reproduce, dsgd_command_platform, dsgd_command_imbalance, dsgd_command_test,
    dsgd_command_report, dsgd_command_tune, dsgd_command_timeline, dsgd_command_explain,
    dsgd_command_task, dsgd_command_import;

enum { DSGD_MOST_COMMANDS = 64 };

/** All of them, in the order of `dsgd --help`. NULL at the end. */
extern const dsgd_command *const dsgd_commands[DSGD_MOST_COMMANDS];

/**
 * The i-th kind of thing that `dsgd list` takes; of devices, which have no description, *singular
 * is NULL. False: there are fewer.
 */
bool dsgd_kind_at(size_t i, const char **plural, const char **singular);

/** Prints the commands, kinds, keys of experiments and exit statuses as JSON. */
void dsgd_tables_print(void);
