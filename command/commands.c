/**
 * @file commands.c
 * Lists the sub-commands of dsgd.
 */
#include "command/commands.h"

const dsgd_command *const dsgd_commands[DSGD_MOST_COMMANDS] = {
    &dsgd_command_run,       &dsgd_command_check,    &dsgd_command_merge,
    &dsgd_command_tune,      &dsgd_command_timeline, &dsgd_command_explain,
    &dsgd_command_plot,      &dsgd_command_compare,  &dsgd_command_report,
    &dsgd_command_reproduce, &dsgd_command_list,     &dsgd_command_describe,
    &dsgd_command_test,      &dsgd_command_platform, &dsgd_command_imbalance,
    &dsgd_command_import,    &dsgd_command_task,
};
