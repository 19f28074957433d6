/**
 * @file reproduce.c
 * Implements `dsgd reproduce`. It runs the experiments of published figures and compares the
 * results with the published values.
 *
 * A figure is a folder plots/NAME that contains NAME.yaml, NAME.gp and published.csv (published.h).
 */
#include <fcntl.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/child.h"
#include "base/csv.h"
#include "base/file.h"
#include "base/option.h"
#include "command/analysis/plot.h"
#include "command/analysis/published.h"
#include "command/commands.h"
#include "command/console/arguments.h"
#include "command/console/table.h"
#include "command/experiment/shipped.h"
#include "command/runs/pool.h"
#include "command/runs/swept.h"

typedef struct arguments {
    dsgd_operands figures;
    const char *output, *jobs;
    dsgd_run_limits limits;
    dsgd_texts sets;
    bool force, markdown;
} arguments;

/*
 * Lists of absolute errors: relative errors of all points, relative errors of predicted points, and
 * errors in units of uncertainty. N_LISTS is the number of lists.
 */
enum { POINTS, PREDICTED, UNITS, N_LISTS };
enum { BOUNDS = N_LISTS, KEPT, PAIRS, IN_ORDER, N_COUNTS };

/** The score of a figure, of a class of points, or of all points. */
typedef struct score {
    double *errors[N_LISTS]; /* for each list, an array of n[list] absolute errors */
    size_t n[N_COUNTS];
    dsgd_names classes; /* names of the classes of points; only the total score has them */
    struct score *of_classes; /* array with one score per class of points */
} score;

/* --- output ----------------------------------------------------------------------------------- */

/**
 * Writes the published rows with the simulated values to a file. The figure's script also reads
 * this file.
 */
static dsgd_status write_scores(const dsgd_published *f, dsgd_error *error)
{
    dsgd_whole_file file;
    FILE *const stream = dsgd_whole_open(&file, error, "%s/%s.csv", f->folder, f->name);
    if (stream == NULL)
        return DSGD_EIO;
    const dsgd_csv *const p = &f->published;
    for (size_t row = 0; row <= p->n_rows; row++) {
        for (size_t c = 0; c < p->n_columns; c++) {
            fputs(c > 0 ? "," : "", stream);
            dsgd_csv_text(stream, p->fields[row * p->n_columns + c]);
        }
        if (row == 0) {
            fputs(",simulated,error\n", stream);
            continue;
        }
        const dsgd_published_row *const r = &f->rows[row - 1];
        dsgd_csv_numbers(stream, (double[]){r->simulated, r->error}, 2);
        fputc('\n', stream);
    }
    return dsgd_whole_close(&file, error);
}

/** Returns the keys of a published row as a text, such as "ad_psgd, workers 4". */
static char *keys_text(const dsgd_published *f, size_t row)
{
    char *text = dsgd_xstrdup("");
    for (size_t k = 0; k < f->n_keys; k++) {
        const char *const value = dsgd_csv_field(&f->published, row, f->keys[k]);
        const char *const key = dsgd_last_key(f->published.fields[f->keys[k]]);
        const bool plain = strcmp(key, "algorithm") == 0;
        if (*value != '\0')
            dsgd_append(&text, "%s%s%s%s", *text == '\0' ? "" : ", ", plain ? "" : key,
                        plain ? "" : " ", value);
    }
    return text;
}

/** Returns a relative error as a percentage such as "+1.2". Returns "-" if @p error is NAN. */
static char *percent(double error)
{
    return isnan(error) ? dsgd_xstrdup("-") : dsgd_xprintf("%+.1f", 100 * error);
}

static void print_rows(const dsgd_published *f, bool is_markdown)
{
    dsgd_columns t = {.wraps = true, .is_markdown = is_markdown};
    for (size_t row = 0; row < f->published.n_rows; row++) {
        const dsgd_published_row *const r = &f->rows[row];
        dsgd_columns_row(&t);
        dsgd_columns_take(&t, "point", keys_text(f, row));
        dsgd_columns_put(&t, "quantity", "%s", dsgd_published_field(f, row, DSGD_QUANTITY));
        dsgd_columns_put(&t, "", "%s",
                         r->is_point ? "" : dsgd_published_field(f, row, DSGD_RELATION));
        dsgd_columns_take(&t, "published",
                          r->is_point ? dsgd_readable(r->value, 4)
                                      : dsgd_published_field(f, row, DSGD_PUBLISHED));
        dsgd_columns_take(&t, "beyond", r->beyond > 0 ? dsgd_readable(r->beyond, 4) : "");
        dsgd_columns_take(&t, "simulated", dsgd_readable(r->simulated, 4));
        dsgd_columns_take(&t, "error (%)", percent(r->error));
        dsgd_columns_take(&t, "units", r->is_point ? dsgd_xprintf("%.1f", r->units) : "-");
        dsgd_columns_put(&t, "use", "%s",
                         r->is_point  ? dsgd_published_field(f, row, DSGD_USE)
                         : r->is_kept ? "holds"
                                      : "DOES NOT HOLD");
    }
    dsgd_columns_hide(&t, "beyond", "");
    dsgd_columns_print(&t);
}

/** Returns true if two rows are points that differ only in the algorithm. */
static bool are_rivals(const dsgd_published *f, size_t a, size_t b)
{
    bool differ = false;
    for (size_t k = 0; k < f->n_keys + 2; k++) {
        const size_t more[] = {f->fixed[DSGD_QUANTITY], f->fixed[DSGD_OVER]};
        const size_t column = k < f->n_keys ? f->keys[k] : more[k - f->n_keys];
        if (strcmp(dsgd_csv_field(&f->published, a, column),
                   dsgd_csv_field(&f->published, b, column)) == 0)
            continue;
        if (strcmp(f->published.fields[column], "algorithm") != 0)
            return false;
        differ = true;
    }
    return differ && f->rows[a].is_point && f->rows[b].is_point;
}

static void compare_orders(const dsgd_published *f, score *of)
{
    for (size_t a = 0; a < f->published.n_rows; a++)
        for (size_t b = a + 1; b < f->published.n_rows; b++) {
            const double ratio = f->rows[a].value / f->rows[b].value;
            if (!are_rivals(f, a, b) || fabs(ratio - 1) <= DSGD_TIE)
                continue;
            const bool in_order = (ratio > 1) == (f->rows[a].simulated > f->rows[b].simulated);
            of->n[PAIRS]++;
            of->n[IN_ORDER] += in_order;
            if (!in_order)
                printf("  order: %s is published %s %s, but simulated in the opposite order\n",
                       keys_text(f, a), ratio > 1 ? "above" : "below", keys_text(f, b));
        }
}

/* --- scores ----------------------------------------------------------------------------------- */

static void print_errors(const char *lead, const char *what, double *errors, size_t n)
{
    if (n == 0)
        return;
    gsl_sort(errors, 1, n);
    size_t within = 0;
    for (size_t i = 0; i < n; i++)
        within += errors[i] <= 0.15;
    printf("%s%zu %s: median error %.1f %%, %zu (%.0f %%) within 15 %%, worst %.1f %%", lead, n,
           what, 100 * gsl_stats_median_from_sorted_data(errors, 1, n), within,
           100 * (double)within / (double)n, 100 * errors[n - 1]);
}

/** Prints a score. @p between is the text between the parts of the score. */
static void print_score(const char *lead, const char *between, const score *of)
{
    const size_t *const n = of->n;
    print_errors(lead, n[POINTS] == 1 ? "point" : "points", of->errors[POINTS], n[POINTS]);
    print_errors(between, "of them predictions", of->errors[PREDICTED], n[PREDICTED]);
    if (n[UNITS] > 0) {
        gsl_sort(of->errors[UNITS], 1, n[UNITS]);
        printf("%s%zu errors in units of the uncertainty: median %.1f\n", between, n[UNITS],
               gsl_stats_median_from_sorted_data(of->errors[UNITS], 1, n[UNITS]));
    }
}

static void print_counts(const size_t *n)
{
    if (n[PAIRS] > 0)
        printf(
            "%zu of %zu pairs of algorithms are in the published order (without pairs closer than "
            "%.0f %%)\n",
            n[IN_ORDER], n[PAIRS], 100 * DSGD_TIE);
    if (n[BOUNDS] > 0)
        printf("%zu of %zu published bounds hold\n", n[KEPT], n[BOUNDS]);
}

static void add_error(score *to, int list, double x)
{
    if (isnan(x))
        return;
    to->errors[list] = dsgd_keep_more(to->errors[list], to->n[list] + 1, sizeof x);
    to->errors[list][to->n[list]++] = fabs(x);
}

/** Adds the errors and the counts of one row of a figure to the score @p to. */
static void add_row(const dsgd_published *f, size_t row, score *to)
{
    const dsgd_published_row *const r = &f->rows[row];
    to->n[BOUNDS] += !r->is_point;
    to->n[KEPT] += !r->is_point && r->is_kept;
    add_error(to, POINTS, r->error);
    add_error(to, UNITS, r->units);
    if (r->is_point && strcmp(dsgd_published_field(f, row, DSGD_USE), "predicted") == 0)
        add_error(to, PREDICTED, r->error);
}

/** Computes and prints the score of a figure. Also adds it to the total score @p all. */
static void add_score(const dsgd_published *f, score *all)
{
    score own = {.n = {0}};
    for (size_t row = 0; row < f->published.n_rows; row++) {
        const size_t k = dsgd_names_add(&all->classes, dsgd_published_field(f, row, DSGD_CLASS));
        all->of_classes = dsgd_keep_more(all->of_classes, all->classes.n, sizeof own);
        add_row(f, row, &all->of_classes[k]);
        add_row(f, row, &own);
    }
    compare_orders(f, &own);
    print_score("", "\n", &own);
    print_counts(own.n);
    for (int which = BOUNDS; which < N_COUNTS; which++)
        all->n[which] += own.n[which];
}

/* --- one figure ------------------------------------------------------------------------------- */

typedef struct experiment_run {
    const arguments *arguments;
    const dsgd_published *figure;
} experiment_run;

/** Executes `dsgd run` in a child process. Does not print the table of runs. */
static dsgd_status run_here(const void *argument, void *report, dsgd_error *error)
{
    (void)report;
    const experiment_run *const r = argument;
    const arguments *const a = r->arguments;
    const char *const name = r->figure->name;
    char *words[16 + DSGD_MOST_TEXTS] = {
        (char *)"run", dsgd_xprintf("%s/plots/%s/%s.yaml", dsgd_data_folder(), name, name),
        (char *)"-o", r->figure->folder};
    int count = 4;
    if (a->jobs != NULL)
        words[count++] = dsgd_xprintf("-j%s", a->jobs);
    if (a->limits.timeout_s > 0)
        words[count++] = dsgd_xprintf("--timeout=%.17g", a->limits.timeout_s);
    if (a->limits.stall_s > 0)
        words[count++] = dsgd_xprintf("--stall=%.17g", a->limits.stall_s);
    if (a->force)
        words[count++] = (char *)"--force";
    for (size_t i = 0; i < a->sets.n; i++)
        words[count++] = dsgd_xprintf("--set=%s", a->sets.v[i]);
    prctl(PR_SET_PDEATHSIG, SIGTERM); /* Make the kernel end this child, and its runs, if the parent
                                       * process dies. */
    dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
    return dsgd_command_run.run(count, words, error);
}

static dsgd_status run_figure(const arguments *a, const dsgd_published *figure, dsgd_error *error)
{
    dsgd_error why;
    char none = 0;
    const dsgd_status status = dsgd_in_child(run_here, &(experiment_run){a, figure}, &none, 1,
                                             "the experiment could not be run", &why);
    return status == DSGD_OK ? DSGD_OK : dsgd_fail(error, status, "%s: %s", figure->name, why.text);
}

static dsgd_status print_figure(const arguments *a, const dsgd_published *f, score *all,
                                dsgd_error *error)
{
    dsgd_error why;
    DSGD_TRY(write_scores(f, error));
    printf("\n%s%s\n", a->markdown ? "## " : "", f->name);
    print_rows(f, a->markdown);
    add_score(f, all);
    if (!a->markdown && (dsgd_figures_make(f->folder, &why) != DSGD_OK ||
                         dsgd_figure_draw(f->name, f->folder, &why) != DSGD_OK))
        printf("  figure not drawn: %s\n", why.text);
    return DSGD_OK;
}

/* --- all figures ------------------------------------------------------------------------------ */

static bool has_published(const char *name)
{
    return dsgd_can_read("%s/plots/%s/published.csv", dsgd_data_folder(), name);
}

/**
 * Reproduces the figures that the user names. They must have published values. If the user names no
 * figure, reproduces all figures with published values.
 */
static dsgd_status reproduce_all(const arguments *a, const char *const *known, dsgd_error *error)
{
    const char *const *const names = a->figures.n > 0 ? (const char *const *)a->figures.v : known;
    for (size_t i = 0; i < a->figures.n; i++)
        if (!has_published(names[i]) || strchr(names[i], '/') != NULL)
            return dsgd_refuse(error, "figure `%s` has no published values%s; valid figures: %s",
                               names[i], dsgd_hint(names[i], known), dsgd_listed(known, ", "));
    score all = {.n = {0}};
    DSGD_TRY(dsgd_make_folder(error, "%s", a->output));
    for (size_t i = 0; a->figures.n > 0 ? i < a->figures.n : names[i] != NULL; i++) {
        dsgd_published f = {.name = names[i], .folder = dsgd_xprintf("%s/%s", a->output, names[i])};
        DSGD_TRY(run_figure(a, &f, error));
        DSGD_TRY(dsgd_published_open(&f, error));
        DSGD_TRY(print_figure(a, &f, &all, error));
    }
    printf("\n%sall figures\n", a->markdown ? "## " : "");
    for (size_t k = 0; k < all.classes.n; k++)
        print_score(dsgd_xprintf("%s%s: ", a->markdown ? "- " : "", all.classes.v[k]), "; ",
                    &all.of_classes[k]);
    print_counts(all.n);
    return DSGD_OK;
}

static const dsgd_argument options[] = {
    DSGD_ARGUMENT(TEXT, output, "output", 'o', "DIR",
                  "Folder of the results [default: results/reproduce]"),
    DSGD_ARGUMENT(TEXT, jobs, "jobs", 'j', "N",
                  "Number of runs at the same time [default: the number of cores]"),
    DSGD_ARGUMENT_LIMITS(limits),
    DSGD_ARGUMENT(FLAG, force, "force", 0, NULL,
                  "Runs everything again, and overwrites existing results"),
    DSGD_ARGUMENT(TEXTS, sets, "set", 0, "A.B=C",
                  "Overrides a value of the experiments (may be repeated)"),
    DSGD_ARGUMENT(FLAG, markdown, "markdown", 0, NULL,
                  "Prints Markdown tables, as in plots/points.md"),
    {.name = NULL},
};

static dsgd_status reproduce(int count, char **words, dsgd_error *error)
{
    static const dsgd_syntax syntax = {
        "[FIGURE...]",
        "Runs the experiments of published figures (all of them, or each FIGURE) and compares the "
        "published values with the simulated ones. point: the runs that the value is about; "
        "beyond: the part of the value that is not scored, because it is known in advance; error: "
        "simulated / published - 1, both without that part; units: |simulated - published| divided "
        "by "
        "the uncertainty of the published value; use: fitted, known, predicted or shape.",
        0,
        SIZE_MAX,
        NULL,
        options};
    arguments a = {.output = "results/reproduce"};
    DSGD_TRY(dsgd_parse(count, words, &syntax, &a, error));
    char *const plots = dsgd_xprintf("%s/plots", dsgd_data_folder());
    char **known = dsgd_folder_names(plots, NULL);
    if (known == NULL)
        known = dsgd_keep(1, sizeof *known);
    size_t n = 0; /* number of figures that have published values */
    for (char **name = known; *name != NULL; name++)
        if (has_published(*name))
            known[n++] = *name;
    known[n] = NULL;
    return reproduce_all(&a, (const char *const *)known, error);
}

const dsgd_command dsgd_command_reproduce = {
    .name = "reproduce",
    .usage = "[FIGURE...]",
    .summary = "runs experiments of published figures, and scores the results",
    .run = reproduce,
};
