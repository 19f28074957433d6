/**
 * @file command.h
 * The sub-commands of dsgd. Each parses its own words, prints its output, and returns a status;
 * command/main.c prints errors.
 */
#ifndef DSGD_COMMAND_COMMAND_H
#define DSGD_COMMAND_COMMAND_H

#include "base/status.h"

typedef struct dsgd_command {
    const char *name;
    const char *usage; /* its operands */
    const char *summary; /* one line */
    dsgd_status (*run)(int count, char **words, dsgd_error *error); /* words[0] is the name */
} dsgd_command;

extern const dsgd_command dsgd_command_run, dsgd_command_check, dsgd_command_merge,
    dsgd_command_list, dsgd_command_describe, dsgd_command_plot, dsgd_command_compare,
    dsgd_command_reproduce, dsgd_command_platform, dsgd_command_imbalance, dsgd_command_test,
    dsgd_command_report, dsgd_command_tune, dsgd_command_timeline, dsgd_command_explain,
    dsgd_command_task;

enum { DSGD_MOST_COMMANDS = 64 };

/** All of them, in the order of `dsgd --help`. NULL at the end. */
extern const dsgd_command *const dsgd_commands[DSGD_MOST_COMMANDS];

/**
 * The i-th kind of thing that `dsgd list` takes; of devices, which have no description, *singular is
 * NULL. False: there are fewer.
 */
bool dsgd_kind_at(size_t i, const char **plural, const char **singular);

/** Writes FOLDER/compare.csv unless it is newer than runs.csv or no group has several seeds. */
dsgd_status dsgd_compare_refresh(const char *folder, dsgd_error *error);

/** Whether plots/ has a figure of this name. */
bool dsgd_figure_exists(const char *name);

/** Makes FOLDER/figures. DSGD_EUSAGE where gnuplot could not write there. */
dsgd_status dsgd_figures_make(const char *folder, dsgd_error *error);

/** Draws a figure of plots/ from the data in @p folder into FOLDER/figures, prints the files. */
dsgd_status dsgd_figure_draw(const char *figure, const char *folder, dsgd_error *error);

/** Draws a shipped figure of one table, FIGURE.csv, into one file; @p size NULL: as it is. */
dsgd_status dsgd_figure_write(const char *figure, const char *table, const char *size,
                              const char *format, const char *path, dsgd_error *error);

/**
 * Prints what four workers do under an algorithm, one of them slow, by the run of it in
 * plots/timeline/timeline.yaml; nothing where it refuses them. Simulates.
 */
void dsgd_timeline_print_example(const char *algorithm);

/** Whether it is a size of `dsgd plot --size`. */
dsgd_status dsgd_figure_check_size(const char *size, dsgd_error *error);

#endif
