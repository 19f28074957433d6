/**
 * @file plot.c
 * Implements `dsgd plot`. It draws all figures whose data exist in a results folder, with gnuplot.
 */
#include <jansson.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/csv.h"
#include "base/file.h"
#include "base/json.h"
#include "base/option.h"
#include "command/analysis/comparison.h"
#include "command/analysis/figure_data.h"
#include "command/analysis/plot.h"
#include "command/console/arguments.h"
#include "command/console/data_folder.h"
#include "command/runs/columns.h"

/**
 * Returns true if a CSV file has at least one row. If @p name is file:column, the file must also
 * have this column. @p asked caches the answers by name, because the tables can be large and many
 * figures need the same tables.
 */
static bool has_table(json_t *asked, const char *folder, const char *name)
{
    const size_t length = strcspn(name, ":");
    if (json_object_get(asked, name) != NULL)
        return json_is_true(json_object_get(asked, name));
    void *const mark = dsgd_mark();
    dsgd_csv csv;
    bool has = dsgd_csv_read(&csv, NULL, "%s/%.*s", folder, (int)length, name) == DSGD_OK &&
               csv.n_rows > 0;
    if (has && name[length] != '\0')
        has = dsgd_csv_column(&csv, name + length + 1) < csv.n_columns;
    dsgd_drop(mark);
    json_object_set_new(asked, name, json_boolean(has));
    return has;
}

/**
 * Returns "./" for a relative path, and "" for an absolute path. Without "./", gnuplot would
 * execute a name that begins with | or < as a command.
 */
static const char *here(const char *path)
{
    return path[0] == '/' ? "" : "./";
}

/**
 * Returns true if the name of a figure is a column of runs.csv. Such a figure is drawn like
 * throughput.
 */
static bool is_column(const char *figure)
{
    size_t place = 0;
    const dsgd_column *const column = dsgd_column_find(figure, &place);
    return column != NULL && column->cell != DSGD_CELL_TEXT && !dsgd_figure_exists(figure);
}

/**
 * Returns the path of the script for a shipped figure. For other figures, returns the path that the
 * user gives. Scripts of users are not searched by name, because gnuplot executes any command in a
 * script.
 */
static const char *script_of(const char *figure)
{
    const char *const name = is_column(figure) ? "throughput" : figure;
    return dsgd_ends_with(figure, ".gp")
               ? dsgd_xprintf("%s%s", here(figure), figure)
               : dsgd_xprintf("%s/plots/%s/%s.gp", dsgd_data_folder(), name, name);
}

char *dsgd_figure_needs(const char *figure, char **caption)
{
    static const char mark[] = "# needs:";
    char *text = NULL, *needs = NULL;
    size_t length = 0;
    *caption = dsgd_xstrdup("");
    if (dsgd_file_read(script_of(figure), &text, &length, NULL) != DSGD_OK)
        return NULL;
    for (char *line = strsep(&text, "\n"); line != NULL && line[0] == '#';
         line = strsep(&text, "\n"))
        if (strncmp(line, mark, strlen(mark)) == 0) {
            needs = needs == NULL ? dsgd_xstrdup("") : needs;
            dsgd_append(&needs, " %s", line + strlen(mark));
        } else if (needs == NULL) {
            dsgd_append(caption, "%s%s", **caption == '\0' ? "" : " ",
                        line + 1 + strspn(line + 1, " "));
        }
    return needs;
}

/**
 * Returns true if a folder contains all the data in the list @p needs. Splits @p needs into words.
 */
static bool has_data(json_t *asked, char *needs, const char *folder, const char *target)
{
    bool has = true;
    char *rest = NULL;
    for (char *name = strtok_r(needs, " ", &rest); name != NULL; name = strtok_r(NULL, " ", &rest))
        has = has &&
              (strcmp(name, "--target") == 0 ? target != NULL : has_table(asked, folder, name));
    return has;
}

/** Options of the command line. An option that the user does not give is NULL or 0. */
typedef struct arguments {
    dsgd_operands words;
    const char *style, *size, *legend, *formats, *output;
    dsgd_texts logs;
    dsgd_figure_choice choice;
    bool has_runs; /* true if the folder has runs.csv, from which OUTPUT/data.gp is written */
    json_t *asked; /* cache for the answers of has_table() */
} arguments;

static const char default_formats[] = "svg,png,pdf";

/** Returns gnuplot commands that set the variables for the scripts of figures. */
static const char *settings_of(const arguments *a, const char *folder, const char *figure,
                               const char *format)
{
    const char *const data = dsgd_data_folder();
    char *settings = dsgd_xprintf("dir='%s%s'; plots='%s/plots'; ", here(folder), folder, data);
    if (a->style != NULL)
        dsgd_append(&settings, "style='%s%s'; ", here(a->style), a->style);
    else
        dsgd_append(&settings, "style='%s/plots/style.gp'; ", data);
    dsgd_append(&settings, "common='%s/plots/common.gp'; format='%s'; into='%s%s'; figure='%s'; ",
                data, format, here(a->output), a->output, figure);
    const char *const texts[][2] = {
        /* The options contain no quotes, because they have already been checked. */
        {"size", a->size},
        {"legend", a->legend},
        {"target", a->choice.target}};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (texts[i][1] != NULL)
            dsgd_append(&settings, "%s='%s'; ", texts[i][0], texts[i][1]);
    if (is_column(figure))
        dsgd_append(&settings, "quantity='%s'; ", figure);
    for (size_t i = 0; i < a->logs.n; i++)
        dsgd_append(&settings, "log_%s=1; ", a->logs.v[i]);
    /* Without runs.csv, an existing data.gp was written by another program. */
    if (!a->has_runs)
        dsgd_append(&settings, "no_data=1; ");
    return settings;
}

enum { SKIPPED = 4 }; /* exit status of a script that draws nothing and has printed the reason */

static dsgd_status run_gnuplot(const char *script, const char *folder, const char *settings,
                               bool *skipped, dsgd_error *error)
{
    void (*const on_interrupt)(int) =
        /*
         * Ignore interrupts in this process. An interrupt ends gnuplot, which then counts as
         * failed.
         */
        signal(SIGINT, SIG_IGN);
    const pid_t process = dsgd_fork();
    if (process == 0) {
        signal(SIGINT, SIG_DFL);
        setenv("LC_ALL", "C.UTF-8", 1); /* Texts are in UTF-8. They do not depend on the user's
                                         * locale. */
        execlp("gnuplot", "gnuplot", "-d", "-e", settings, script, (char *)NULL);
        _exit(127);
    }
    const int why = errno, state = process < 0 ? 0 : dsgd_child_end(process);
    signal(SIGINT, on_interrupt);
    if (process < 0)
        return dsgd_fail(error, DSGD_EIO, "cannot start a process for gnuplot: %s", strerror(why));
    if (WIFEXITED(state) && WEXITSTATUS(state) == 127)
        return dsgd_fail(error, DSGD_EIO, "cannot start gnuplot; on Debian, install gnuplot-nox");
    *skipped = WIFEXITED(state) && WEXITSTATUS(state) == SKIPPED;
    if (!*skipped && (!WIFEXITED(state) || WEXITSTATUS(state) != 0))
        return dsgd_fail(error, DSGD_EIO, "%s: gnuplot failed on the results in %s", script,
                         folder);
    return DSGD_OK;
}

bool dsgd_figure_exists(const char *name)
{
    return dsgd_can_read("%s/plots/%s/%s.gp", dsgd_data_folder(), name, name);
}

/**
 * Rejects a text with a quote or a line break, because it would end a text in gnuplot. Accepts
 * NULL.
 */
static dsgd_status check_quotes(const char *option, const char *text, dsgd_error *error)
{
    return text == NULL || strpbrk(text, "'\n") == NULL
               ? DSGD_OK
               : dsgd_refuse(error, "%s: must not contain a ' (gnuplot), got `%s`", option, text);
}

dsgd_status dsgd_figures_make(const char *folder, dsgd_error *error)
{
    DSGD_TRY(check_quotes("the folder of results", folder, error));
    return dsgd_make_folder_within(folder, "figures", error);
}

/** Draws a figure in all formats. Increments *n_skipped if the folder lacks the figure's data. */
static dsgd_status draw(const arguments *a, const char *figure, const char *folder,
                        size_t *n_skipped, dsgd_error *error)
{
    const char *const slash = strrchr(figure, '/');
    const char *const last = slash == NULL ? figure : slash + 1;
    const size_t n = strlen(last) - (dsgd_ends_with(last, ".gp") ? strlen(".gp") : 0);
    /* name of the figure's files, without ending */
    const char *const name = dsgd_xprintf("%.*s", (int)n, last);
    char *caption = NULL, *files = dsgd_xstrdup(""), *rest = NULL;
    char *const needs = dsgd_figure_needs(figure, &caption);
    bool skipped = false;
    if (needs == NULL || !has_data(a->asked, needs, folder, a->choice.target)) {
        ++*n_skipped;
        return DSGD_OK;
    }
    for (char *format = strtok_r(dsgd_xstrdup(a->formats), ",", &rest); format != NULL;
         format = strtok_r(NULL, ",", &rest)) {
        DSGD_TRY(run_gnuplot(script_of(figure), folder, settings_of(a, folder, name, format),
                             &skipped, error));
        if (skipped)
            return DSGD_OK;
        dsgd_append(&files, "%s.%s", *files == '\0' ? "" : ", ",
                    strcmp(format, "tikz") == 0 ? "tex" : format);
    }
    printf("%-12s %s/%s%s\n", name, a->output, name, files);
    return DSGD_OK;
}

static dsgd_status draw_one(const arguments *a, const char *figure, const char *folder,
                            dsgd_error *error)
{
    size_t n_skipped = 0;
    DSGD_TRY(draw(a, figure, folder, &n_skipped, error));
    if (n_skipped > 0)
        printf("%-12s skipped: %s does not contain its data\n", figure, folder);
    return DSGD_OK;
}

dsgd_status dsgd_figure_draw(const char *figure, const char *folder, dsgd_error *error)
{
    json_t *const asked = json_object();
    const arguments a = {.formats = default_formats,
                         .output = dsgd_xprintf("%s/figures", folder),
                         .has_runs = has_table(asked, folder, "runs.csv"),
                         .asked = asked};
    if (a.has_runs)
        DSGD_TRY(dsgd_figure_data(folder, a.output, &a.choice, error));
    return draw_one(&a, figure, folder, error);
}

dsgd_status dsgd_figure_write(const char *figure, const char *table, const char *size,
                              const char *format, const char *path, dsgd_error *error)
{
    DSGD_TRY(check_quotes("-o", path, error));
    /*
     * Make the temporary folder on the same file system, so that the finished file can be renamed.
     */
    char *const folder = dsgd_folder_new(path, error);
    if (folder == NULL)
        return DSGD_EIO;
    const arguments a = {.formats = format, .output = folder, .size = size};
    dsgd_status status = DSGD_EIO;
    bool skipped = false;
    dsgd_whole_file file;
    if (dsgd_whole_open(&file, error, "%s/%s.csv", folder, figure) != NULL) {
        fputs(table, file.stream);
        status = dsgd_whole_close(&file, error);
    }
    if (status == DSGD_OK)
        status = run_gnuplot(script_of(figure), folder, settings_of(&a, folder, figure, format),
                             &skipped, error);
    if (status == DSGD_OK && rename(dsgd_xprintf("%s/%s.%s", folder, figure, format), path) != 0)
        status = dsgd_fail(error, DSGD_EIO, "%s: cannot write the file: %m", path);
    dsgd_folder_remove(folder);
    return status;
}

static dsgd_status draw_all(const arguments *a, const char *folder, dsgd_error *error)
{
    size_t n_skipped = 0;
    const char *const plots = dsgd_xprintf("%s/plots", dsgd_data_folder());
    char **const names = dsgd_folder_names(plots, NULL);
    if (names == NULL)
        return dsgd_fail(error, DSGD_EIO, "%s: cannot read the folder: %m", plots);
    for (size_t i = 0; names[i] != NULL; i++)
        if (dsgd_figure_exists(names[i]))
            DSGD_TRY(draw(a, names[i], folder, &n_skipped, error));
    if (n_skipped > 0)
        printf("%zu figures need other results; see `dsgd list figures`\n", n_skipped);
    return DSGD_OK;
}

/* --- the command line ------------------------------------------------------------------------- */

/** Checks that each word of a comma-separated list is in the array @p words. */
static dsgd_status check_words(const char *option, const char *list, const char *const *words,
                               dsgd_error *error)
{
    char *const copy = dsgd_xstrdup(list), *rest = NULL;
    bool good = *copy != '\0';
    for (char *word = strtok_r(copy, ",", &rest); word != NULL; word = strtok_r(NULL, ",", &rest))
        good = good && dsgd_find_word(words, word) >= 0;
    return good ? DSGD_OK
                : dsgd_refuse(error, "%s must be one of %s, got `%s`", option,
                              dsgd_listed(words, ", "), list);
}

dsgd_status dsgd_figure_check_size(const char *size, dsgd_error *error)
{
    static const char *const named[] = {"one-column", "two-column", "slide", NULL};
    double width = 0, height = 0;
    int end = 0;
    if (dsgd_find_word(named, size) >= 0 ||
        (sscanf(size, "%lfx%lf%n", &width, &height, &end) == 2 && size[end] == '\0' && width >= 1 &&
         width <= 50 && height >= 1 && height <= 50))
        return DSGD_OK;
    return dsgd_refuse(error,
                       "--size must be one-column, two-column, slide, or WIDTHxHEIGHT in inches "
                       "from 1 to 50, such as 5x3, got `%s`",
                       size);
}

static dsgd_status check_arguments(const arguments *a, dsgd_error *error)
{
    static const char *const formats[] = {"svg", "png", "pdf", "tikz", NULL};
    static const char *const legends[] = {"top", "bottom", "right", "off", NULL};
    static const char *const axes[] = {"x", "y", NULL};
    DSGD_TRY(check_quotes("--style", a->style, error));
    DSGD_TRY(check_quotes("-o", a->output, error));
    DSGD_TRY(check_quotes("FIGURE", a->words.n == 2 ? a->words.v[1] : NULL, error));
    DSGD_TRY(check_quotes("--target", a->choice.target, error));
    if (a->style != NULL && !dsgd_can_read("%s", a->style))
        return dsgd_fail(error, DSGD_EIO,
                         "--style: cannot read %s; change a copy of %s/plots/style.gp", a->style,
                         dsgd_data_folder());
    DSGD_TRY(check_words("--format", a->formats, formats, error));
    if (a->legend != NULL)
        DSGD_TRY(check_words("--legend", a->legend, legends, error));
    for (size_t i = 0; i < a->logs.n; i++)
        DSGD_TRY(check_words("--log", a->logs.v[i], axes, error));
    if (a->size != NULL)
        DSGD_TRY(dsgd_figure_check_size(a->size, error));
    dsgd_target target;
    return dsgd_target_parse(a->choice.target, &target, error);
}

static const dsgd_argument options[] = {
    DSGD_ARGUMENT(TEXT, style, "style", 0, "FILE", "Style file: a changed copy of plots/style.gp"),
    DSGD_ARGUMENT(TEXT, size, "size", 0, "SIZE",
                  "Size: one-column, two-column, slide, or WIDTHxHEIGHT in inches"),
    DSGD_ARGUMENT(TEXT, choice.only, "only", 0, "A,B", "Draws only these algorithms"),
    DSGD_ARGUMENT(TEXTS, choice.labels, "label", 0, "A=TEXT",
                  "Title of an algorithm (may be repeated)"),
    DSGD_ARGUMENT(
        TEXTS, logs, "log", 0, "AXIS",
        "Makes the axis x or y logarithmic, with lines instead of bars (may be repeated)"),
    DSGD_ARGUMENT(TEXT, legend, "legend", 0, "WHERE",
                  "Position of the legend: top, bottom, right or off"),
    DSGD_ARGUMENT(
        TEXT, choice.target, "target", 0, "QUANTITY=X",
        "Marks a loss or an accuracy, and draws the time, traffic, energy and cost until it is "
        "reached"),
    DSGD_ARGUMENT(TEXT, choice.points, "points", 0, "FILE",
                  "CSV file of measured points, drawn over the simulated ones"),
    DSGD_ARGUMENT(TEXT, choice.framing.baseline, "baseline", 'b', "NAME",
                  "Baseline of the figure speedup [default: allreduce, else the first algorithm]"),
    DSGD_ARGUMENT(TEXT, choice.framing.by, "by", 'y', "COLUMN",
                  "Column that contains the baseline, as in dsgd compare [default: algorithm]"),
    DSGD_ARGUMENT(TEXT, formats, "format", 0, "A,B",
                  "File formats: svg, png, pdf, tikz [default: svg,png,pdf]"),
    DSGD_ARGUMENT(TEXT, output, "output", 'o', "FOLDER",
                  "Folder of the figures [default: DIR/figures]"),
    {.name = NULL}};

static dsgd_status plot(int count, char **words, dsgd_error *error)
{
    static const dsgd_syntax syntax = {"DIR [FIGURE]",
                                       "Draws figures of a results folder into DIR/figures: all of "
                                       "them, or FIGURE, which is a name of `dsgd list figures`, a "
                                       "column of runs.csv such as goodput, or a gnuplot script "
                                       "FILE.gp.",
                                       1,
                                       2,
                                       "plot: give the folder of an experiment's results",
                                       options};
    arguments a = {.formats = default_formats, .asked = json_object()};
    DSGD_TRY(dsgd_parse(count, words, &syntax, &a, error));
    const char *const folder = a.words.v[0], *const figure = a.words.n == 2 ? a.words.v[1] : NULL;
    a.has_runs = has_table(a.asked, folder, "runs.csv");
    if (!a.has_runs && !has_table(a.asked, folder, "quantiles.csv"))
        return dsgd_fail(error, DSGD_EIO,
                         "%s: not a results folder (it has no runs.csv with a run, and no "
                         "quantiles.csv of `dsgd imbalance fit`); `dsgd run EXPERIMENT.yaml -o %s` "
                         "makes one",
                         folder, folder);
    char *caption = NULL;
    if (figure != NULL && dsgd_figure_needs(figure, &caption) == NULL)
        return dsgd_refuse(
            error,
            "unknown figure `%s`; see `dsgd list figures`, or name a column of numbers "
            "of runs.csv, or the path of a .gp file with a line `# needs:`",
            figure);
    if (a.output == NULL)
        a.output = dsgd_xprintf("%s/figures", folder);
    DSGD_TRY(dsgd_figures_make(folder, error));
    DSGD_TRY(dsgd_make_folder(error, "%s", a.output));
    DSGD_TRY(check_arguments(&a, error));
    if (a.has_runs)
        DSGD_TRY(dsgd_figure_data(folder, a.output, &a.choice, error));
    return figure != NULL ? draw_one(&a, figure, folder, error) : draw_all(&a, folder, error);
}

const dsgd_command dsgd_command_plot = {
    .name = "plot",
    .usage = "DIR [FIGURE]",
    .summary = "draws the figures of a results folder",
    .run = plot,
};
