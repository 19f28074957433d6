/**
 * @file command.h
 * The sub-commands of dsgd. Each gets its own words (argv[0] is the sub-command), prints its output, and returns a status with a sentence.
 */
#ifndef DSGD_COMMAND_COMMAND_H
#define DSGD_COMMAND_COMMAND_H

#include <argp.h>

#include "base/status.h"
#include "command/experiment/plugin.h"

/** The words of a command line and, where the parser has dsgd_plugin_option as a child, its plug-ins. */
typedef struct dsgd_words {
    size_t n; /* how many there were, even if more than there is room for */
    const char *v[2];
    dsgd_plugin_paths plugins;
} dsgd_words;

/** argp's parser of dsgd_words. */
error_t dsgd_parse_words(int key, char *text, struct argp_state *state);

typedef struct dsgd_command {
    const char *name;
    const char *usage; /* what follows the name */
    const char *summary; /* one line */
    dsgd_status (*run)(int count, char **words, dsgd_error *error);
} dsgd_command;

extern const dsgd_command dsgd_command_run, dsgd_command_check, dsgd_command_list,
    dsgd_command_describe, dsgd_command_plot, dsgd_command_compare, dsgd_command_reproduce,
    dsgd_command_platform, dsgd_command_imbalance;

/** Makes compare.csv, where runs.csv is newer and some seeds differ only in themselves. */
dsgd_status dsgd_compare_refresh(const char *folder, dsgd_error *error);

/** Whether plots/ has a figure of this name. */
bool dsgd_figure_exists(const char *name);

/** Draws a figure of plots/ from the data in @p folder into its folder figures, which is there, and says so. */
dsgd_status dsgd_figure_draw(const char *figure, const char *folder, dsgd_error *error);

#endif
