/**
 * @file plot.c
 * `dsgd plot`: the figures whose data a folder of results has, drawn by gnuplot.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/csv.h"
#include "command/arguments.h"
#include "command/command.h"
#include "command/experiment/shipped.h"

/** Whether the CSV file has a row and, where @p name is file:column, that column. */
static bool has_table(const char *folder, const char *name)
{
    const size_t length = strcspn(name, ":");
    dsgd_csv csv;
    const bool read = dsgd_csv_read(&csv, NULL, "%s/%.*s", folder, (int)length, name) == DSGD_OK &&
                      csv.n_rows > 0;
    const bool has =
        read && (name[length] == '\0' || dsgd_csv_column(&csv, name + length + 1) < csv.n_columns);
    dsgd_csv_close(&csv);
    return has;
}

/** Whether the folder has the data that the script requires: "# needs: a.csv b.csv:column". */
static bool has_data(const char *script, const char *folder)
{
    FILE *const stream = fopen(script, "r");
    char *line = NULL;
    size_t room = 0;
    bool has = true;
    while (stream != NULL && getline(&line, &room, stream) > 0 && line[0] == '#') {
        if (strncmp(line, "# needs:", 8) != 0)
            continue;
        char *rest = NULL;
        for (char *name = strtok_r(line + 8, " \n", &rest); name != NULL;
             name = strtok_r(NULL, " \n", &rest))
            has = has && has_table(folder, name);
    }
    free(line);
    if (stream != NULL)
        fclose(stream);
    return has;
}

/** Whether runs were simulated by the network of that name; figures say so but of the default. */
static bool has_network(const char *folder, const char *name)
{
    dsgd_csv csv;
    bool has = false;
    if (dsgd_csv_read(&csv, NULL, "%s/runs.csv", folder) == DSGD_OK) {
        const size_t column = dsgd_csv_column(&csv, "network");
        for (size_t i = 0; column < csv.n_columns && i < csv.n_rows; i++)
            has = has || strcmp(dsgd_csv_field(&csv, i, column), name) == 0;
    }
    dsgd_csv_close(&csv);
    return has;
}

static dsgd_status run_gnuplot(const char *script, const char *folder, dsgd_error *error)
{
    /* gnuplot would take a name that begins with | or < for a command. */
    char *const setting = dsgd_xprintf("dir='%s%s'; style='%s/plots/style.gp'%s",
                                       folder[0] == '/' ? "" : "./", folder, dsgd_data_folder(),
                                       has_network(folder, "loggp") ? "; network='loggp'" : "");
    const pid_t process = dsgd_fork();
    if (process == 0) {
        execlp("gnuplot", "gnuplot", "-e", setting, script, (char *)NULL);
        _exit(127);
    }
    int state = 0;
    waitpid(process, &state, 0);
    free(setting);
    if (process < 0 || (WIFEXITED(state) && WEXITSTATUS(state) == 127))
        return dsgd_fail(error, DSGD_EIO,
                         "gnuplot cannot be started; Debian has it as gnuplot-nox");
    if (!WIFEXITED(state) || WEXITSTATUS(state) != 0)
        return dsgd_fail(error, DSGD_EIO, "%s: gnuplot failed on the results in %s", script,
                         folder);
    return DSGD_OK;
}

bool dsgd_figure_exists(const char *name)
{
    return dsgd_can_read("%s/plots/%s/%s.gp", dsgd_data_folder(), name, name);
}

dsgd_status dsgd_figures_make(const char *folder, dsgd_error *error)
{
    if (strchr(folder, '\'') != NULL)
        return dsgd_fail(error, DSGD_EUSAGE,
                         "%s: gnuplot cannot take a folder with a ' in its name", folder);
    return dsgd_make_folder(error, "%s/figures", folder);
}

/** Draws it, unless the folder does not have its data. */
static dsgd_status draw(const char *figure, const char *folder, bool *drawn, dsgd_error *error)
{
    char *const script = dsgd_xprintf("%s/plots/%s/%s.gp", dsgd_data_folder(), figure, figure);
    *drawn = has_data(script, folder);
    const dsgd_status status = *drawn ? run_gnuplot(script, folder, error) : DSGD_OK;
    if (*drawn && status == DSGD_OK)
        printf("%-12s %s/figures/%s.svg, .png, .pdf\n", figure, folder, figure);
    free(script);
    return status;
}

dsgd_status dsgd_figure_draw(const char *figure, const char *folder, dsgd_error *error)
{
    bool drawn = false;
    const dsgd_status status = draw(figure, folder, &drawn, error);
    if (!drawn)
        printf("%-12s skipped: its data is not in %s\n", figure, folder);
    return status;
}

/** For figures of means over seeds; a failure prevents no other figure. */
static void refresh_comparison(const char *folder)
{
    dsgd_error error;
    if (dsgd_compare_refresh(folder, &error) != DSGD_OK)
        printf("%-12s not made: %s\n", "compare.csv", error.text);
}

static dsgd_status plot_all(const char *folder, dsgd_error *error)
{
    char *const plots = dsgd_xprintf("%s/plots", dsgd_data_folder());
    struct dirent **entries = NULL;
    const int n = scandir(plots, &entries, NULL, alphasort);
    dsgd_status status =
        n < 0 ? dsgd_fail(error, DSGD_EIO, "%s: the folder cannot be read: %m", plots) : DSGD_OK;
    int n_skipped = 0;
    for (int i = 0; i < n; i++) {
        bool drawn = true;
        if (status == DSGD_OK && dsgd_figure_exists(entries[i]->d_name))
            status = draw(entries[i]->d_name, folder, &drawn, error);
        n_skipped += !drawn;
        free(entries[i]);
    }
    if (status == DSGD_OK && n_skipped > 0)
        printf("%d figures need other results (dsgd list figures)\n", n_skipped);
    free(entries);
    free(plots);
    return status;
}

typedef struct arguments {
    dsgd_operands words;
} arguments;

static dsgd_status plot(int count, char **words, dsgd_error *error)
{
    static const dsgd_syntax syntax = {"DIR [FIGURE]",
                                       "Draws the figures of a folder of results into DIR/figures.",
                                       1,
                                       2,
                                       "plot: give the folder of an experiment's results",
                                       NULL};
    arguments a = {{0, NULL}};
    dsgd_status status = dsgd_parse(count, words, &syntax, &a, error);
    if (status != DSGD_OK)
        return status;
    const char *const folder = a.words.v[0];
    const char *const figure = a.words.n == 2 ? a.words.v[1] : NULL;
    if (!has_table(folder, "runs.csv"))
        return dsgd_fail(error, DSGD_EIO, "%s: there is no runs.csv with a row in it", folder);
    if (figure != NULL && !dsgd_figure_exists(figure))
        return dsgd_fail(error, DSGD_EUSAGE, "figure `%s` is unknown; `dsgd list figures` has them",
                         figure);
    status = dsgd_figures_make(folder, error);
    if (status != DSGD_OK)
        return status;
    refresh_comparison(folder);
    return figure != NULL ? dsgd_figure_draw(figure, folder, error) : plot_all(folder, error);
}

const dsgd_command dsgd_command_plot = {
    .name = "plot",
    .usage = "DIR [FIGURE]",
    .summary = "draws the figures of a folder of results",
    .run = plot,
};
