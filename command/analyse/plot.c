/**
 * @file plot.c
 * `dsgd plot`: the figures whose data a folder of results has, drawn by gnuplot.
 */
#include <argp.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/csv.h"
#include "command/command.h"
#include "command/experiment/config.h"
#include "command/experiment/shipped.h"

/** Rows of a CSV file below its header; 0 for no file. */
static size_t count_rows(const char *folder, const char *name)
{
    char *const path = dsgd_xprintf("%s/%s", folder, name);
    FILE *const stream = fopen(path, "r");
    free(path);
    size_t lines = 0;
    for (int c = 0; stream != NULL && (c = fgetc(stream)) != EOF;)
        lines += c == '\n';
    if (stream != NULL)
        fclose(stream);
    return lines > 0 ? lines - 1 : 0;
}

/** Whether the CSV file has a row and, where @p name is file:column, that column. */
static bool has_table(const char *folder, const char *name)
{
    char *const file = dsgd_xstrdup(name);
    char *const column = strchr(file, ':');
    if (column != NULL)
        *column = '\0';
    bool has = count_rows(folder, file) > 0;
    if (has && column != NULL) {
        char *const path = dsgd_xprintf("%s/%s", folder, file);
        FILE *const stream = fopen(path, "r");
        char *header = NULL;
        size_t room = 0;
        has = stream != NULL && getline(&header, &room, stream) > 0 &&
              strstr(header, column + 1) != NULL;
        free(header);
        free(path);
        if (stream != NULL)
            fclose(stream);
    }
    free(file);
    return has;
}

/**
 * Whether the folder has the data that the script's line "# needs: a.csv b.csv:column" asks for.
 */
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

static dsgd_status run_gnuplot(const char *script, const char *folder, dsgd_error *error)
{
    char *const setting =
        dsgd_xprintf("dir='%s'; style='%s/plots/style.gp'", folder, dsgd_data_folder());
    const pid_t process = fork();
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
    char *const path = dsgd_xprintf("%s/plots/%s/%s.gp", dsgd_data_folder(), name, name);
    const bool has = access(path, R_OK) == 0;
    free(path);
    return has;
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

/** Some figures are about sums over seeds; those that cannot be had cost no other figure. */
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

static dsgd_status plot(int count, char **words, dsgd_error *error)
{
    static const struct argp argp = {NULL,
                                     dsgd_parse_words,
                                     "DIR [FIGURE]",
                                     "Draws the figures of a folder of results into DIR/figures.",
                                     NULL,
                                     NULL,
                                     NULL};
    dsgd_words a = {0};
    argp_parse(&argp, count, words, 0, NULL, &a);
    if (a.n != 1 && a.n != 2)
        return dsgd_fail(error, DSGD_EUSAGE, "plot: give the folder of an experiment's results");
    if (count_rows(a.v[0], "runs.csv") == 0)
        return dsgd_fail(error, DSGD_EIO, "%s: there is no runs.csv with a row in it", a.v[0]);
    if (strchr(a.v[0], '\'') != NULL)
        return dsgd_fail(error, DSGD_EUSAGE,
                         "%s: gnuplot cannot take a folder with a ' in its name", a.v[0]);
    if (a.n == 2 && !dsgd_figure_exists(a.v[1]))
        return dsgd_fail(error, DSGD_EUSAGE, "figure `%s` is unknown; `dsgd list figures` has them",
                         a.v[1]);
    char *const figures = dsgd_xprintf("%s/figures", a.v[0]);
    dsgd_status status = dsgd_make_folder(figures, error);
    free(figures);
    if (status != DSGD_OK)
        return status;
    refresh_comparison(a.v[0]);
    return a.n == 2 ? dsgd_figure_draw(a.v[1], a.v[0], error) : plot_all(a.v[0], error);
}

const dsgd_command dsgd_command_plot = {
    .name = "plot",
    .usage = "DIR [FIGURE]",
    .summary = "draws the figures of a folder of results",
    .run = plot,
};
