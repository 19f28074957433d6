/**
 * @file test_plot.c
 * Tests that `dsgd plot` draws the values of the tables, with legible texts. Tests read a figure
 * back from its SVG file, which contains texts with positions, bars as polygons, and points as uses
 * of a marker. The ticks show the scale of an axis.
 */
#include <dirent.h>
#include <unistd.h>

#include "tests/command/shell.h"
#include "tests/support/suite.h"

enum { MOST = 2000 };

typedef struct label {
    double x, y, degrees, size;
    char anchor; /* first letter of the value in the SVG file: start, middle or end */
    char text[128];
} label;

typedef struct drawing {
    double width, height;
    size_t n_labels, n_bars, n_points;
    label labels[MOST];
    struct {
        double top, foot;
    } bars[MOST];
    struct {
        double x, y;
    } points[MOST];
} drawing;

static drawing d;

/** Copies the text inside a <text> element without markup. */
static void read_text(const char *from, char *to)
{
    size_t n = 0;
    bool inside = true;
    for (const char *c = strstr(from, "<text>") + 6; strncmp(c, "</text>", 7) != 0; c++) {
        inside = inside && *c != '<';
        if (inside && n < sizeof d.labels[0].text - 1)
            to[n++] = *c;
        inside = inside || *c == '>';
    }
    to[n] = '\0';
}

static void read_label(const char *g)
{
    label *const l = &d.labels[d.n_labels];
    char anchor[16] = "";
    *l = (label){.degrees = 0};
    ck_assert_int_eq(sscanf(g, "<g transform=\"translate(%lf,%lf)", &l->x, &l->y), 2);
    const char *const end = strchr(g, '>');
    const char *const rotate = strstr(g, "rotate("), *const size = strstr(g, "font-size=\"");
    if (rotate != NULL && rotate < end)
        l->degrees = strtod(rotate + 7, NULL);
    if (size == NULL || size > end)
        return;
    l->size = strtod(size + 11, NULL);
    sscanf(strstr(g, "text-anchor=\""), "text-anchor=\"%15[a-z]", anchor);
    l->anchor = anchor[0];
    read_text(end, l->text);
    d.n_labels += l->text[0] != '\0';
}

static void read_drawing(const char *name)
{
    const char *const svg = read_file(name);
    memset(&d, 0, sizeof d);
    ck_assert_int_eq(sscanf(strstr(svg, "<rect x="),
                            "<rect x=\"0\" y=\"0\" width=\"%lf\" height=\"%lf\"", &d.width,
                            &d.height),
                     2);
    for (const char *c = strstr(svg, "<g transform="); c != NULL;
         c = strstr(c + 1, "<g transform="))
        read_label(c);
    for (const char *c = strstr(svg, "points = '"); c != NULL; c = strstr(c + 1, "points = '"))
        if (sscanf(c, "points = '%*f,%lf %*f,%*f %*f,%lf", &d.bars[d.n_bars].foot,
                   &d.bars[d.n_bars].top) == 2)
            d.n_bars++;
    for (const char *c = strstr(svg, "<use xlink:href='#gpPt"); c != NULL;
         c = strstr(c + 1, "<use xlink:href='#gpPt")) {
        const char *const place = strstr(c, "translate(");
        if (place != NULL && place < strchr(c, '>') &&
            sscanf(place, "translate(%lf,%lf)", &d.points[d.n_points].x, &d.points[d.n_points].y) ==
                2)
            d.n_points++;
    }
}

/**
 * Draws a figure of the folder r, reads it into `d`, and returns the text of its SVG file. @p
 * figure may contain options after the name.
 */
static const char *draw(const char *figure)
{
    const char *const svg = dsgd_xprintf("r/figures/%.*s.svg", (int)strcspn(figure, " "), figure);
    dsgd_ends(0, "plot r %s --format svg", figure);
    read_drawing(svg);
    return read_file(svg);
}

static const char one_count[] = "platform: idle-switch\n"
                                "workload: {bytes: 1M, step: 100ms, samples: 8, unit: tokens}\n"
                                "workers: 4\n"
                                "algorithms: [allreduce, {name: wagma, period: 4}, ad_psgd]\n"
                                "until: {steps: 10}\n"
                                "seed: [1, 2]\n"
                                "imbalance: [{kind: delay, seconds: 50ms}]\n";

/** Returns the experiment `one_count` with the section `learn`. */
static const char *one_count_learned(void)
{
    return dsgd_xprintf("%s%s", one_count, learn);
}

/** Writes @p experiment to e.yaml, and runs it with the options into the folder r. */
static void run(const char *experiment, const char *options)
{
    write_file("e.yaml", experiment);
    dsgd_ends(0, "run e.yaml -o r %s", options);
}

/** Runs `dsgd plot`, checks that it prints no warning, and returns its output. */
static char *plot(const char *arguments)
{
    char *const output = dsgd_ends(0, "plot %s", arguments);
    ck_assert_msg(strcasestr(output, "warning") == NULL, "%s", output);
    return output;
}

static bool has_file(const char *name)
{
    return access(dsgd_xprintf("%s/%s", folder, name), F_OK) == 0;
}

/* --- legible texts ---------------------------------------------------------------------------- */

/**
 * Computes the corners of the rectangle that a text covers. The test assumes that a letter is 0.48
 * of the font size wide. It also assumes that a line is 0.7 of the font size high.
 */
static void corners_of(const label *l, double corner[4][2])
{
    const double width = 0.48 * l->size * (double)strlen(l->text);
    const double left = l->anchor == 's' ? 0 : l->anchor == 'm' ? -width / 2 : -width;
    const double angle = l->degrees * M_PI / 180;
    for (int k = 0; k < 4; k++) {
        const double u = left + (k == 1 || k == 2 ? width : 0), v = k < 2 ? 0 : -0.7 * l->size;
        corner[k][0] = l->x + u * cos(angle) - v * sin(angle);
        corner[k][1] = l->y + u * sin(angle) + v * cos(angle);
    }
}

/**
 * Returns true if a line parallel to a side of the first rectangle separates the two rectangles.
 */
static bool separated(double a[4][2], double b[4][2])
{
    for (int k = 0; k < 2; k++) {
        const double u[2] = {a[k + 1][0] - a[k][0], a[k + 1][1] - a[k][1]};
        double low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY};
        for (int i = 0; i < 4; i++) {
            const double at[2] = {a[i][0] * u[0] + a[i][1] * u[1], b[i][0] * u[0] + b[i][1] * u[1]};
            for (int m = 0; m < 2; m++) {
                low[m] = fmin(low[m], at[m]);
                high[m] = fmax(high[m], at[m]);
            }
        }
        if (high[0] <= low[1] || high[1] <= low[0])
            return true;
    }
    return false;
}

static void expect_texts_apart(const char *name)
{
    for (size_t i = 0; i < d.n_labels; i++) {
        double a[4][2];
        corners_of(&d.labels[i], a);
        for (int k = 0; k < 4; k++)
            ck_assert_msg(a[k][0] > -2 && a[k][0] < d.width + 2 && a[k][1] > -2 &&
                              a[k][1] < d.height + 2,
                          "%s: `%s` leaves the page", name, d.labels[i].text);
        for (size_t j = 0; j < i; j++) {
            double b[4][2];
            corners_of(&d.labels[j], b);
            ck_assert_msg(separated(a, b) || separated(b, a), "%s: `%s` touches `%s`", name,
                          d.labels[i].text, d.labels[j].text);
        }
    }
}

/**
 * Checks that the labels of an axis differ. Labels of the y axis end at the same x, and labels of
 * the x axis have the same y.
 */
static void expect_different_ticks(const char *name)
{
    for (size_t i = 0; i < d.n_labels; i++)
        for (size_t j = i + 1; j < d.n_labels; j++) {
            const label *const a = &d.labels[i], *const b = &d.labels[j];
            const bool one_axis =
                a->anchor == b->anchor && a->anchor != 's' &&
                (a->anchor == 'e' && a->degrees == 0 ? a->x == b->x : a->y == b->y);
            if (!one_axis)
                break;
            ck_assert_msg(strcmp(a->text, b->text) != 0, "%s: two ticks are `%s`", name, a->text);
        }
}

/**
 * Checks that a shortened name starts with a number, and that another text of the figure contains
 * this number and the whole name.
 */
static void expect_names_told(const char *name)
{
    for (size_t i = 0; i < d.n_labels; i++) {
        const char *const text = d.labels[i].text;
        const char *const key = dsgd_xprintf(" %.*s:", (int)strcspn(text, ":"), text);
        bool told = !dsgd_ends_with(text, "...");
        for (size_t j = 0; j < d.n_labels && !told && strtol(text, NULL, 10) > 0; j++)
            told = !dsgd_ends_with(d.labels[j].text, "...") &&
                   strstr(dsgd_xprintf(" %s", d.labels[j].text), key) != NULL;
        ck_assert_msg(told, "%s: `%s` is told nowhere", name, text);
    }
}

static const char seventeen[] =
    "algorithms: [allreduce, local_sgd, eager_solo, eager_majority, wagma, dasgd, d_psgd, sgp, "
    "osgp, ad_psgd, a_psgd, easgd, eamsgd, drop_compute, slowmo, diloco, {name: wagma, label: "
    "wagma_it's_mine, rotate: false}]\n";

/**
 * Experiments whose figures were once illegible: with many algorithms, unusual numbers of workers,
 * or swept values.
 */
static const struct {
    const char *head, *options;
} shapes[] = {
    {"workers: [4, 8]\nalgorithms: [allreduce, {name: wagma, period: 4}, ad_psgd]\n", ""},
    {"workers: 8\nalgorithms: [allreduce, {name: local_sgd, label: my_own_name}]\n"
     "platform: {name: idle-switch, host_bandwidth: {sweep: [1.25GB/s, 5GB/s, 10GB/s]}}\n",
     "--size two-column"},
    {"workers: 4\n", ""}, /* these runs use the 17 algorithms of `seventeen` */
};

enum { SEVENTEEN = 2 };

/**
 * Runs an experiment that learns as @p learned describes. @p head sets its algorithms and places.
 */
static void run_kind(const char *head, const char *learned)
{
    run(dsgd_xprintf("%sworkload: {bytes: 1M, step: 100ms, samples: 8, unit: experience steps}\n"
                     "until: {steps: 10}\nimbalance: [{kind: delay, seconds: 50ms}]\n%s",
                     head, learned),
        "--numerics cpu");
}

static const char phase[] =
    "platform.host_bandwidth_bytes_per_s,imbalance.0.deviation,simulated,uncertain,winner,second,"
    "ratio,ratio_low,ratio_high,lead_allreduce,lead_wagma\n"
    "500000000,0.01,1,0,allreduce,wagma,1.4,1.3,1.5,0.5,-0.5\n"
    "1250000000,0.01,0,0,allreduce,wagma,1.2,,,0.3,-0.3\n\n"
    "500000000,0.123456789,1,1,allreduce,wagma,1.1,0.9,1.3,0.1,-0.1\n"
    "1250000000,0.123456789,1,0,wagma,allreduce,1.3,1.2,1.4,-0.4,0.4\n";

static const char timeline[] =
    "kind,since_s,end_s,row,to_row,text\n"
    "window,0,2.5,0,2,\nname,0,0,0,0,worker 0\nname,0,0,1,1,worker 269 *\nname,0,0,2,2,server 0\n"
    "forward,0,0.5,0,0,\nbackward,0.5,1,0,0,\nwait,1,2,0,0,\ncommunicate,2,2.5,0,0,\n"
    "forward,0,2,1,1,\nstep,0,0,0,0,100\nstep,0.01,0.01,0,0,101\nstep,0,0,1,1,99\n"
    "late,1,1,1,1,v100:99\nlate,1.05,1.05,1,1,v101:99\nlate,2.49,2.49,1,1,v102:99\n"
    "message,2,2.4,1,0,\nheld,2,2,1,0,\n";

/**
 * Writes the files that a shipped figure needs in addition to runs.csv, and returns the folder that
 * contains them.
 */
static const char *complete(const char *figure)
{
    char *output = NULL;
    if (strcmp(figure, "scale") == 0) {
        shell(dsgd_xprintf("mkdir -p %s/s && cp %s/plots/scale/scale.csv %s/s/runs.csv", folder,
                           DSGD_SOURCE_DIR, folder),
              &output);
        return "s";
    }
    shell(dsgd_xprintf("cp %s/plots/%s/published.csv %s/r/%s.csv 2>/dev/null", DSGD_SOURCE_DIR,
                       figure, folder, figure),
          &output);
    if (strcmp(figure, "phase") == 0)
        write_file("r/phase.csv", phase);
    if (strcmp(figure, "quantiles") == 0)
        write_file("r/quantiles.csv",
                   "p,measured,normal,lognormal\n0.1,1,1.1,1\n0.5,1.5,1.4,1.5\n0.9,2,2.2,2.1\n");
    if (strcmp(figure, "timeline") == 0)
        write_file("r/timeline.csv", timeline);
    return "r";
}

/** Returns the command that draws a figure of the folder @p in. */
static const char *drawn_by(const char *figure, const char *in)
{
    if (strcmp(figure, "timeline") == 0)
        return dsgd_xprintf("timeline %s -o %s/figures/timeline.svg", in, in);
    if (strcmp(figure, "slowdown") == 0)
        return dsgd_xprintf("explain %s -o %s/figures/slowdown.svg", in, in);
    if (strcmp(figure, "lesson") == 0)
        return dsgd_xprintf("explain a_psgd -o %s/figures/lesson.svg", in);
    return dsgd_xprintf("plot %s %s %s", in, figure,
                        strcmp(figure, "to_target") == 0 ? "--target loss=1" : "");
}

SUITE(plot, "figures", .seconds = 300, .set_up = make_folder, .tear_down = remove_folder);

TEST_ROWS(figures_have_separate_texts_and_different_ticks, shapes)
{
    const bool has_platform = strstr(shapes[_i].head, "platform") != NULL;
    run_kind(dsgd_xprintf("%sseed: [1, 2]\n%s%s", has_platform ? "" : "platform: idle-switch\n",
                          shapes[_i].head, _i == SEVENTEEN ? seventeen : ""),
             learn);
    char *const plots = dsgd_xprintf("%s/plots", DSGD_SOURCE_DIR);
    DIR *const list = opendir(plots);
    size_t n = 0;
    for (struct dirent *e = readdir(list); e != NULL; e = readdir(list)) {
        if (access(dsgd_xprintf("%s/%s/%s.gp", plots, e->d_name, e->d_name), R_OK) != 0)
            continue;
        const char *const in = complete(e->d_name);
        char *output =
            dsgd_ends(0, "%s --format svg %s", drawn_by(e->d_name, in), shapes[_i].options);
        const char *const svg = dsgd_xprintf("%s/figures/%s.svg", in, e->d_name);
        ck_assert_msg(strstr(output, svg) != NULL && strstr(output, "warning") == NULL, "%s: %s",
                      svg, output);
        read_drawing(svg);
        expect_texts_apart(svg);
        expect_different_ticks(svg);
        n++;
    }
    closedir(list);
    ck_assert_int_ge((int)n, 20);
}

/* --- drawn values ----------------------------------------------------------------------------- */

/**
 * Returns the value of an axis at a pixel, computed from two ticks. The figure must have a single
 * frame.
 */
static double value_at(bool of_y, double pixel)
{
    double at[2], value[2];
    size_t n = 0;
    for (size_t i = 0; i < d.n_labels && n < 2; i++) {
        const label *const l = &d.labels[i];
        char *end = NULL;
        const double x = strtod(l->text, &end);
        if (*end != '\0' || l->anchor != (of_y ? 'e' : 'm'))
            continue;
        /*
         * The label of a y tick is centred on the tick. The base line of the label is 0.3256 of its
         * font size below the tick.
         */
        at[n] = of_y ? l->y - l->size * 0.3256 : l->x;
        value[n++] = x;
    }
    ck_assert_int_eq((int)n, 2);
    return value[0] + (value[1] - value[0]) * (pixel - at[0]) / (at[1] - at[0]);
}

/**
 * Returns the mean of a column of runs.csv over two seeds. Algorithm i has the runs 2 i + 1 and 2 i
 * + 2.
 */
static double mean_of(size_t i, const char *column)
{
    return (cell_number("r/runs.csv", dsgd_xprintf("%zu,", 2 * i + 1), column) +
            cell_number("r/runs.csv", dsgd_xprintf("%zu,", 2 * i + 2), column)) /
           2;
}

TEST(quotes_in_a_label_are_drawn)
{
    write_file("e.yaml", one_count);
    write_file("l.txt", "algorithms=[{name: allreduce, label: \"'it''s\"}]");
    shell_ends(0, DSGD_BINARY " run e.yaml -o r --set \"$(cat l.txt)\"");
    ck_assert_has(draw("throughput"), "’it’’s");
}

static void expect_bar(size_t bar, double value, double tolerance)
{
    ck_assert_double_eq_tol(value_at(true, d.bars[bar].top), value, tolerance);
}

static void expect_last_point_at_height(double y, double tolerance)
{
    ck_assert_double_eq_tol(value_at(true, d.points[d.n_points - 1].y), y, tolerance);
}

/**
 * Counts the points near (x, y): x may differ by less than @p x_off, and y by less than @p y_off.
 * If x or y is NAN, its coordinate may have any value.
 */
static size_t points_at(double x, double x_off, double y, double y_off)
{
    size_t n = 0;
    for (size_t k = 0; k < d.n_points; k++)
        n += (isnan(x) || fabs(value_at(false, d.points[k].x) - x) < x_off) &&
             (isnan(y) || fabs(value_at(true, d.points[k].y) - y) < y_off);
    return n;
}

static void expect_point(double x, double y)
{
    ck_assert_msg(points_at(x, 0.01 * x, y, 0.02 * y) > 0, "no point at %g, %g", x, y);
}

/** Returns the label whose text is @p text. */
static const label *label_named(const char *text)
{
    size_t i = 0;
    while (i < d.n_labels && strcmp(d.labels[i].text, text) != 0)
        i++;
    ck_assert_msg(i < d.n_labels, "no text `%s`", text);
    return &d.labels[i];
}

TEST(bars_are_as_high_as_the_means_of_the_table)
{
    run(one_count, "");
    ck_assert_has(draw("throughput"), "throughput (tokens/s)");
    ck_assert_int_eq((int)d.n_bars, 3);
    for (size_t i = 0; i < 3; i++) {
        ck_assert_double_eq_tol(value_at(true, d.bars[i].foot), 0, 2);
        /* The tolerance of 2 samples/s is about one pixel of the axis, which ends near 300. */
        expect_bar(i, mean_of(i, "throughput_samples_per_s"), 2);
    }
    /* The figure `time` stacks shares of time up to 100 %, with three bars for each algorithm. */
    draw("time --legend off");
    ck_assert_int_eq((int)d.n_bars, 9);
    for (size_t i = 0; i < 3; i++)
        expect_bar(6 + i, 100 * mean_of(i, "compute_share"), 0.7);
}

/**
 * Tests that any numeric column of runs.csv can be drawn by its name. If checkpoint intervals are
 * swept, the figure marks Daly's interval.
 */
TEST(plot_draws_a_column_by_name_and_marks_daly)
{
    run("platform: {name: idle-switch, price: 2 USD/h}\n"
        "workload: {bytes: 1k, step: 30s, samples: 8}\nworkers: 4\n"
        "algorithms: [allreduce, ad_psgd]\nuntil: {seconds: 5d}\n"
        "failures: {mtbf: 4h, checkpoint: {interval: {sweep: [1min, 2min, 4min, 8min, "
        "16min, 30min, 1h]}, seconds: 30s}}\n",
        "");
    draw("goodput");
    expect_texts_apart("goodput");
    const double daly_s = cell_number("r/runs.csv", "1,", "daly_s");
    const double at[] = {label_named("240s")->x, label_named("480s")->x, label_named(" Daly")->x};
    ck_assert_double_eq_tol(240 * exp2((at[2] - at[0]) / (at[1] - at[0])), daly_s, 0.03 * daly_s);
    ck_assert_uint_ge(points_at(NAN, 0, cell_number("r/runs.csv", "1,", "goodput"), 0.005), 1);
    draw("samples_per_cost");
    label_named("samples per USD");
    ck_assert_has(dsgd_ends(0, "plot r energy_j"),
                  "energy_j     skipped: no run has a number of it");
    ck_assert_has(dsgd_ends(2, "plot r status"), "column of numbers of runs.csv");
}

/**
 * Tests that a learning curve has a cross at the time of each failure of its run, and no cross
 * without failures.
 */
TEST(figure_marks_failures_at_their_times)
{
    run(dsgd_xprintf("%sfailures: {events: [{worker: 1, at: 300ms}, {worker: 2, at: 500ms}],"
                     " detect: 10ms}\n",
                     one_count_learned()),
        "--set seed=1 --set algorithms=[allreduce]");
    const char *const rows = strchr(read_file("r/failures.csv"), '\n');
    ck_assert_str_eq(rows, "\n1,allreduce,4,1,1,0.3\n1,allreduce,4,1,2,0.5\n");
    draw("learning");
    ck_assert_has(read_file("r/figures/data.gp"),
                  "$failures << EOD\n-1,NaN\n0,0.3\n0,0.5\nEOD\nn_failures = 2");
    read_drawing("r/figures/learning.svg");
    label_named("a worker fails");
    ck_assert_uint_ge(points_at(0.3, 0.005, NAN, 0) + points_at(0.5, 0.005, NAN, 0), 2);
    dsgd_ends(0, "run e.yaml -o r --force --set failures.events=[] --set algorithms=[allreduce]");
    ck_assert_ptr_null(strstr(draw("learning"), "a worker fails"));
}

/** Returns the largest upper end of the intervals in a column of the file data.gp. */
static double top_of(const char *column)
{
    const char *const data = read_file("r/figures/data.gp");
    const char *const top = strstr(data, dsgd_xprintf("array top_%s[1] = [", column));
    ck_assert_ptr_nonnull(top);
    return strtod(strchr(top, '=') + 3, NULL);
}

TEST(intervals_of_two_seeds_are_their_range)
{
    static const char *const third[] = {"", "3,wagma,4,3,p,w,ok,2,120,1\n"};
    shell_ends(0, "mkdir %s/r", folder);
    for (int k = 0; k < 2; k++) {
        write_file("r/runs.csv",
                   dsgd_xprintf("run,algorithm,workers,seed,platform,workload,status,steps,"
                                "throughput_samples_per_s,wall_s\n1,wagma,4,1,p,w,ok,2,100,1\n"
                                "2,wagma,4,2,p,w,ok,2,140,1\n%s",
                                third[k]));
        ck_assert_int_eq(strstr(draw("throughput"), "their range") != NULL, !k);
        ck_assert_double_eq_tol(top_of("throughput_samples_per_s"),
                                k == 0 ? 140 : 120 + 4.302653 * 20 / sqrt(3), 1e-4);
    }
}

TEST(curves_go_through_the_means_of_the_table)
{
    run(one_count_learned(), "--numerics cpu");
    draw("learning --only wagma --legend off");
    expect_point(mean_of(1, "virtual_s"), mean_of(1, "final_loss"));
    draw("traffic --only wagma --legend off");
    expect_point(1e-6 * mean_of(1, "sent_mean_bytes"), mean_of(1, "final_loss"));
    draw("speedup --legend off");
    ck_assert_uint_eq(d.n_bars, 2); /* the baseline has no bar */
}

/** Returns the share of the steps of a run that take at most @p step_s. */
static double share_of_steps(int run, double step_s)
{
    char *rows = read_file("r/steps.csv");
    double sum = 0;
    for (char *row = strsep(&rows, "\n"); row != NULL; row = strsep(&rows, "\n")) {
        int of = 0;
        double at_s = 0, share = 0;
        if (sscanf(row, "%d,%*[^,],%*d,%*d,%lf,%lf", &of, &at_s, &share) == 3 && of == run &&
            at_s <= step_s)
            sum += share;
    }
    return sum;
}

TEST(marks_of_step_times_lie_on_the_distribution_of_the_table)
{
    write_file("e.yaml", one_count);
    dsgd_ends(0, "run e.yaml -o r --set until.steps=40 --set "
                 "imbalance='{kind: normal, mean: 0, deviation: 20ms}'");
    ck_assert_has(draw("steps --only ad_psgd --legend off"), "step time (ms)");
    ck_assert_int_eq((int)d.n_points, 5);
    for (size_t k = 0; k < d.n_points; k++) {
        const double step_s = 1e-3 * value_at(false, d.points[k].x);
        const double share = value_at(true, d.points[k].y) / 100;
        /*
         * AD-PSGD with its two seeds has runs 5 and 6. A pixel is 0.4 % of an axis, and lines of
         * steps.csv join times that differ by up to 1 %.
         */
        const double below =
            (share_of_steps(5, 0.985 * step_s) + share_of_steps(6, 0.985 * step_s)) / 2;
        const double above =
            (share_of_steps(5, 1.015 * step_s) + share_of_steps(6, 1.015 * step_s)) / 2;
        ck_assert_msg(share > below - 0.01 && share < above + 0.01, "%g at %g s, not %g to %g",
                      share, step_s, below, above);
        ck_assert_double_eq_tol(share, 0.1 + 0.2 * (double)k, 0.01);
    }
}

/**
 * Tests bars of the time, energy and cost up to a target. The bars must equal the output of
 * compare. A bar is omitted if a seed does not reach the target.
 */
TEST(bars_of_a_target_equal_those_of_compare)
{
    run(one_count_learned(), "--numerics cpu --set until.steps=40 --set platform='{name: "
                             "idle-switch, busy_power: 300, idle_power: 50, price: 2 USD/h}'");
    dsgd_ends(0, "compare r --target loss=0");
    ck_assert_has(draw("to_target --target loss=0"), "nothing where not all seeds reach it");
    ck_assert_int_eq((int)d.n_bars, 0);
    dsgd_ends(0, "compare r --target loss=2");
    const char *const svg = draw("to_target --target loss=2 --only wagma");
    ck_assert_int_eq((int)d.n_bars, 4);
    static const char *const units[] = {"time (s)", "energy (J)", "cost (USD)", "MB per worker"};
    for (size_t k = 0; k < 4; k++)
        ck_assert_has(svg, units[k]);
    static const char *const measures[] = {"time_to_target_s", "energy_to_target_j",
                                           "cost_to_target"};
    for (size_t k = 0; k < 3; k++) { /* wagma is the only group of bars */
        const char *const name = measures[k];
        const double mean = cell_number("r/compare.csv", "wagma,", dsgd_xprintf("%s_mean", name));
        const double ci = cell_number("r/compare.csv", "wagma,", dsgd_xprintf("%s_ci", name));
        /*
         * For two seeds data.gp contains half their range, which is the confidence interval divided
         * by 12.7.
         */
        ck_assert_double_eq_tol(top_of(name), mean + ci / 12.706204736, 1e-6 * mean);
    }
    ck_assert_ptr_null(strstr(dsgd_ends(0, "plot r --format svg -o none"), "to_target"));
}

TEST(results_without_the_columns_of_later_versions_are_drawn)
{
    run(one_count_learned(), "--numerics cpu");
    shell_ends(0,
               "cd %s/r && rm steps.csv && cut -d, -f1-40,46- runs.csv > old && ! grep sent_ old "
               "&& mv old runs.csv",
               folder);
    ck_assert_ptr_null(strstr(plot("r --format svg"), "steps"));
    ck_assert_has(read_file("r/figures/traffic.svg"), "sent per worker");
    dsgd_ends(0, "compare r");
    ck_assert_ptr_null(strstr(read_file("r/compare.csv"), "sent_mean_bytes"));
    dsgd_ends(0, "report r");
    ck_assert_has(read_file("r/report.html"), "sent per worker (MB)");
}

/* --- options ---------------------------------------------------------------------------------- */

TEST(plot_takes_style_names_and_formats)
{
    run(one_count, "");
    shell_ends(0, "sed 's/#A40A0F/#123456/' %s/plots/style.gp > %s/my.gp", DSGD_SOURCE_DIR, folder);
    dsgd_ends(0, "plot r --style my.gp --only wagma,ad_psgd --label 'wagma=Ours_1 "
                 "& co' --format svg,tikz --size 3x2.5 -o out");
    const char *const svg = read_file("out/throughput.svg");
    ck_assert_has(svg, "rgb( 18,  52,  86)");
    ck_assert_has(svg, "Ours_1 &amp; co");
    ck_assert_ptr_null(strstr(svg, "Allreduce-SGD"));
    ck_assert(strstr(svg, "Ours_1") < strstr(svg, "AD-PSGD"));
    ck_assert_has(read_file("out/throughput.tex"), "Ours{\\char95}1");
    ck_assert(!has_file("out/throughput.png"));
}

/**
 * Tests that no command runs a gnuplot script of the results folder, unless the user names its
 * path. Scripts can run shell commands.
 */
TEST(plot_runs_a_script_only_if_its_path_is_given)
{
    static const char script[] = "# Mine.\n# needs: runs.csv\nload common\nload open_canvas\n"
                                 "plot sin(x)\nunset multiplot\nunset output\n"
                                 "system('touch '.dir.'/was_here')\n";
    run(one_count, "");
    write_file("own.gp", script); /* this script lies next to the experiment */
    write_file("r/own.gp", script);
    write_file("r/throughput.gp", script);
    ck_assert_ptr_null(strstr(dsgd_ends(0, "plot r --format svg"), "own"));
    draw("throughput");
    dsgd_ends(0, "report r");
    ck_assert_has(dsgd_ends(2, "plot r own --format svg"),
                  "unknown figure `own`; see `dsgd list figures`, or name a column of numbers of "
                  "runs.csv, or the path of a .gp file with a line `# needs:`\n");
    ck_assert(!has_file("r/was_here"));
    ck_assert_has(dsgd_ends(0, "plot r r/own.gp --format svg,tikz"),
                  "own          r/figures/own.svg, .tex");
    ck_assert(has_file("r/was_here"));
}

/**
 * Tests that gnuplot does not load an existing data.gp of the folder. Without runs, the program
 * writes no data.gp of its own.
 */
TEST(foreign_data_are_not_run_as_a_script)
{
    static const char *const tables[] = {"quantiles", "eager-cifar10", "curves", "staleness"};
    char *output = shell_ends(0, "mkdir -p %s/r/figures", folder);
    for (size_t k = 0; k < 4; k++)
        write_file(dsgd_xprintf("r/%s.csv", tables[k]), "a,b\n1,2\n");
    write_file("r/figures/data.gp", "system('touch '.dir.'/was_here')\n");
    write_file("own.gp", "# needs: curves.csv\nload common\nprint 1\n");
    dsgd("plot r --format svg", &output);
    dsgd("plot r own.gp --format svg", &output);
    ck_assert_msg(!has_file("r/was_here"), "%s", output);
}

TEST(a_foreign_column_is_not_run_as_a_command)
{
    char *output = shell_ends(0, "mkdir %s/r", folder);
    write_file("r/runs.csv",
               "run,algorithm,workers,seed,platform,workload,status,\"x[1] = [0]; "
               "system(\"\"touch was_here\"\"); array y\",throughput_samples_per_s,wall_s\n"
               "1,a,2,1,p,w,ok,1,1,1\n");
    dsgd("plot r --format svg", &output);
    ck_assert_msg(!has_file("was_here"), "%s", output);
    ck_assert_ptr_null(strstr(read_file("r/figures/data.gp"), "touch"));
}

TEST(names_can_be_long_and_contain_gnuplot_formats)
{
    run(one_count, "--set algorithms='[{name: allreduce, label: a baseline that has a very long "
                   "name}, {name: ad_psgd, label: 50 %d @x}]'");
    plot("r --format svg");
    static const char *const figures[] = {"throughput", "speedup", "time"};
    for (size_t k = 0; k < sizeof figures / sizeof figures[0]; k++) {
        const char *const svg = dsgd_xprintf("r/figures/%s.svg", figures[k]);
        ck_assert_msg(strstr(read_file(svg), "50 %d @x") != NULL, "%s", svg);
        read_drawing(svg);
        expect_texts_apart(svg);
    }
}

/**
 * Tests the colours of eight known and unknown labels. Two known algorithms share a colour and a
 * third has another. The six unknown labels must get the other six colours.
 */
TEST(unknown_labels_get_unused_colours)
{
    static const char *const colours[] = {"  0,   0,   0", " 47,   5,  82", "  6,   0, 190",
                                          "164,  10,  15", " 27, 122,  99", " 97, 136, 215",
                                          "253, 136,  53", "123, 209, 248"};
    run(one_count, "--set seed=1 --set algorithms='[allreduce, eager_solo, eager_majority, "
                   "{name: allreduce, label: a}, {name: allreduce, label: b}, "
                   "{name: allreduce, label: c}, {name: allreduce, label: d}, "
                   "{name: allreduce, label: e}, {name: allreduce, label: f}]'");
    const char *const svg = draw("throughput");
    for (size_t k = 0; k < sizeof colours / sizeof colours[0]; k++)
        ck_assert_msg(strstr(svg, dsgd_xprintf("stroke='rgb(%s)'", colours[k])) != NULL,
                      "rgb(%s) is missing", colours[k]);
}

static const char *const sizes[] = {"", " --size one-column", " --size two-column", " --size slide",
                                    " --size 6x4"};

enum { N_SIZES = 5 };

#define SEEDS "platform: idle-switch\nseed: [1, 2]\n"
#define THREE "algorithms: [allreduce, {name: wagma, period: 4}, ad_psgd]\n"

static const char accuracy[] = "learn:\n"
                               "  model: {name: lstm, units: 4}\n"
                               "  data: {name: sequences, points: 256, longest: 8, median: 4}\n"
                               "  batch: 8\n  optimizer: {lr: 0.02, momentum: 0.5}\n"
                               "  evaluate: {every: 5, local: true}\n";

/**
 * Kinds of results folders. Each kind has settings of the runs, the number of groups with a
 * throughput, and the number of groups with training results.
 */
static const struct {
    const char *head, *learn;
    int n_groups, n_learned;
} kinds[] = {
    {SEEDS "workers: [4, 8]\n" THREE, accuracy, 6, 6},
    {SEEDS "workers: [4, 8]\n" THREE, "", 6, 0},
    {SEEDS "workers: [4, 8]\nalgorithms: wagma\n", accuracy, 2, 2},
    {"platform: idle-switch\nworkers: 4\nalgorithms: wagma\n", learn, 1, 1},
    /* in this folder, the runs of the first algorithm also fail */
    {SEEDS "workers: 4\n" THREE, learn, 2, 2},
    {SEEDS "workers: 4\nalgorithms: [allreduce, {name: wagma, optimizer: {lr: 1e30}}, {name: "
           "local_sgd, optimizer: {lr: 3}}]\n",
     learn, 3, 2},
    {SEEDS "workers: 4\nalgorithms: [allreduce, local_sgd, eager_solo, eager_majority, wagma, "
           "dasgd, d_psgd, sgp, ad_psgd, a_psgd, easgd, diloco]\n",
     accuracy, 12, 11},
    {SEEDS "workers: 4\nalgorithms: [allreduce, {name: wagma, label: "
           "wagma_with_a_group_of_two_and_a_period_of_ten_steps}, {name: local_sgd, label: "
           "a_name_of_more_than_thirty_letters_too}, d_psgd]\n",
     learn, 4, 4},
    {"platform: {name: idle-switch, host_bandwidth: {sweep: [1.25GB/s, 5GB/s, 10GB/s]}}\n"
     "seed: [1, 2]\nworkers: 8\nalgorithms: [allreduce, {name: local_sgd, label: my_own_name}]\n",
     learn, 6, 6},
    {"platform: {name: idle-switch, host_bandwidth: {sweep: [1.25GB/s, 5GB/s]}}\nseed: [1, 2]\n"
     "workers: [4, 8]\nexchange: {pieces: {sweep: [1, 2]}}\n" THREE,
     accuracy, 24, 24},
    {"platform: {name: idle-switch, host_bandwidth: {sweep: [0.0625GB/s, 0.125GB/s, 0.25GB/s, "
     "0.5GB/s, 1GB/s, 2GB/s, 4GB/s, 8GB/s]}}\nseed: [1, 2]\nworkers: 8\n"
     "algorithms: [allreduce, {name: power_sgd, rank: 4}, ad_psgd]\n",
     learn, 24, 24},
    {SEEDS "workers: 4\nalgorithms: [allreduce, {name: allreduce, label: allreduce_int8, exchange: "
           "{encoding: {kind: uniform, bits: 8}}}, {name: allreduce, label: allreduce_top1, "
           "exchange: {encoding: {kind: top_k, share: 1%, feedback: true}}}, local_sgd, {name: "
           "diloco, period: 50}]\n",
     accuracy, 5, 4},
    {SEEDS
     "workers: 4\nalgorithms: [{name: allreduce, label: allreduce_with_rings_of_eight_each}, "
     "{name: allreduce, label: allreduce_with_rings_of_eight_each_and_a_second_ring_over_all_of_"
     "them}, {name: wagma, label: wagma_with_a_group_of_two_and_a_period_of_ten_steps}, {name: "
     "wagma, label: wagma_with_a_group_of_two_and_a_period_of_four_steps}, local_sgd, sgp, {name: "
     "d_psgd, label: a_label_without_any_blank_in_all_of_its_fifty_letters}, dasgd, a_psgd, "
     "{name: ad_psgd, label: whoever comes first to the ring}, easgd, eamsgd]\n",
     accuracy, 12, 12},
    {"platform: {name: idle-switch, host_bandwidth: {sweep: [0.0625GB/s, 0.125GB/s, 0.25GB/s, "
     "0.5GB/s]}, host_latency: {sweep: [1us, 20us]}}\nseed: [1, 2, 3]\nworkers: 4\n"
     "exchange: {pieces: {sweep: [1, 2, 4]}}\n" THREE,
     "", 72, 0},
};

enum { N_KINDS = sizeof kinds / sizeof kinds[0], FAILED = 4 };

/**
 * Returns the number of bars or points that a figure must contain, or -1 if the number is not
 * checked.
 */
static int expected_marks(const char *figure, int kind)
{
    return strcmp(figure, "throughput") == 0 ? kinds[kind].n_groups
           : strcmp(figure, "time") == 0     ? 3 * kinds[kind].n_groups
           : strcmp(figure, "tradeoff") == 0 || strcmp(figure, "volume") == 0
               ? kinds[kind].n_learned
               : -1;
}

/**
 * Draws every figure of one kind of folder in one size. Texts must not overlap or leave the page,
 * and no bar or point may be missing.
 */
static void draw_and_read(int kind, int size)
{
    run_kind(kinds[kind].head, kinds[kind].learn);
    if (kind == FAILED)
        shell_ends(0, "sed -i '/allreduce/s/,ok,/,failed,/' %s/r/runs.csv", folder);
    plot(dsgd_xprintf("r --format svg%s --target loss=%s", sizes[size],
                      kinds[kind].learn == learn ? "5" : "2.07"));
    DIR *const list = opendir(dsgd_xprintf("%s/r/figures", folder));
    int n = 0;
    for (struct dirent *e = readdir(list); e != NULL; e = readdir(list)) {
        char *const svg = dsgd_xprintf("r/figures/%s", e->d_name);
        char *const end = strstr(e->d_name, ".svg");
        if (end == NULL)
            continue;
        read_drawing(svg);
        *end = '\0';
        const char *const name = dsgd_xprintf("kind %d: %s%s", kind, svg, sizes[size]);
        expect_texts_apart(name);
        expect_names_told(name);
        ck_assert_msg((int)(d.n_bars + d.n_points) >= expected_marks(e->d_name, kind),
                      "%s has %zu bars and %zu points of %d", name, d.n_bars, d.n_points,
                      expected_marks(e->d_name, kind));
        n++;
    }
    closedir(list);
    ck_assert_int_ge(n, kinds[kind].learn[0] == '\0' ? 5 : 9);
}

/** Each kind of folder is tested in one size. The suite drawings_long tests all sizes. */
TEST_RANGE(figures_of_every_kind_of_folder_are_legible, 0, N_KINDS)
{
    draw_and_read(_i, (3 * _i + 1) % N_SIZES);
}

TEST(one_column_figure_has_room_for_bars_and_ticks)
{
    run(one_count, "--set seed=1 --set workers='[4, 8, 16, 32, 64]'");
    dsgd_ends(0, "run e.yaml -o s --set seed=1 --set imbalance.0.seconds='{sweep: [50ms, "
                 "75ms]}' --set platform='{name: idle-switch, host_bandwidth: {sweep: "
                 "[1.25GB/s, 5GB/s, 12.5GB/s, 25GB/s, 50GB/s]}}'");
    static const char *const figures[] = {"r throughput", "s phase"};
    for (size_t i = 0; i < 2; i++) {
        plot(dsgd_xprintf("%s --size one-column --format svg -o .", figures[i]));
        const char *const svg = dsgd_xprintf("%s.svg", figures[i] + 2);
        read_drawing(svg);
        expect_texts_apart(svg);
    }
    ck_assert_has(read_file("phase.svg"), "75ms");
    /* The last tick of an axis always has a label. */
    ck_assert_has(read_file("phase.svg"), ">50GB/s<");
    dsgd_ends(0, "plot s throughput --log x --size one-column --format svg -o .");
    ck_assert_has(read_file("throughput.svg"), ">50GB/s<");
}

TEST(figure_reports_missing_runs)
{
    write_experiment("");
    dsgd_ends(0, "run e.yaml -o r --only 1 && true");
    ck_assert_has(draw("throughput"), "1 of 6 runs");
}

TEST(diverged_runs_have_times_but_no_learning)
{
    run(one_count_learned(), "--numerics cpu --set learn.optimizer.lr=1e30");
    dsgd_ends(0, "plot r --format svg");
    read_drawing("r/figures/throughput.svg");
    ck_assert_int_eq((int)d.n_bars, 3); /* each bar needs only a throughput */
    ck_assert_has(read_file("r/figures/tradeoff.svg"), "no final accuracy or loss");
}

/** Tests an axis with a range of 2.1, in which steps of 2 would give only one tick. */
TEST(a_narrow_axis_has_two_ticks)
{
    shell_ends(0, "mkdir %s/r", folder);
    write_file("r/runs.csv", "run,algorithm,workers,seed,platform,workload,status,steps,wall_s\n"
                             "1,wagma,4,1,p,w,ok,2,1\n");
    write_file("r/curves.csv", "run,virtual_s,steps,loss,accuracy,consensus\n1,0,0,,0.1,0\n"
                               "1,1,1,,0.5312,0\n1,2,2,,0.5494,0\n");
    draw("learning --size 2.4x1.6");
    size_t n = 0;
    for (size_t i = 0; i < d.n_labels; i++)
        n += d.labels[i].anchor == 'e' && d.labels[i].degrees == 0;
    ck_assert_uint_ge(n, 2);
}

/**
 * Tests the line of the ideal throughput, which is the highest ideal of all algorithms. The ideal
 * of the first algorithm may be lower, because it may wait for a slow worker.
 */
TEST(no_bar_is_above_the_ideal)
{
    run(one_count_learned(), "--numerics cpu");
    write_file("r/runs.csv", "run,algorithm,workers,seed,platform,workload,status,steps,"
                             "throughput_samples_per_s,compute_share,wall_s\n"
                             "1,allreduce,4,1,p,w,ok,2,100,0.5,1\n"
                             "2,ad_psgd,4,1,p,w,ok,2,300,1,1\n");
    draw("throughput");
    const char *const data = read_file("r/figures/data.gp");
    ck_assert_has(data, ",300,0,NaN,NaN\n");
    ck_assert_has(data, ",300,0,3,0\n");
}

TEST(swept_values_are_sorted_and_have_units)
{
    write_file("e.yaml",
               "platform: {sweep: [piz-daint, idle-switch]}\n"
               "workload: {bytes: {sweep: [1G, 20M, 1M]}, step: 100ms, samples: 8}\n"
               "workers: 2\nalgorithms: allreduce\nuntil: {steps: 1}\n"
               "imbalance: {kind: delay, seconds: {sweep: [5h, 200ms, 50ms, 0.20001]}}\n");
    dsgd_ends(0, "run e.yaml -o r");
    draw("throughput");
    const char *const data = read_file("r/figures/data.gp");
    static const char *const parts[] = {
        "array panel[6] = ['piz-daint; bytes 1MB', 'piz-daint; bytes 20MB', 'piz-daint; bytes "
        "1GB', "
        "'idle-switch; bytes 1MB', 'idle-switch; bytes 20MB', 'idle-switch; bytes 1GB']",
        "array place[4] = ['50ms', '200ms', '200ms', '5h']",
        "array place_value[4] = [0.05, 0.2, 0.20001, 18000]",
        "axis = 'imbalance seconds'",
    };
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        ck_assert_msg(strstr(data, parts[i]) != NULL, "%s", parts[i]);
}

/** Checks that `plot r` with the options draws no figure and prints @p sentence. */
static void expect_refusal(const char *options, const char *sentence)
{
    char *output = NULL;
    ck_assert_int_ne(dsgd(dsgd_xprintf("plot r %s", options), &output), 0);
    ck_assert_msg(strstr(output, sentence) != NULL, "%s: %s", options, output);
}

static const struct {
    const char *options, *sentence;
} refused[] = {
    {"--size huge", "--size must be one-column, two-column, slide, or"},
    {"--size 0x3", "inches from 1 to 50"},
    {"--format svg,gif", "--format must be one of svg, png, pdf, tikz, got `svg,gif`"},
    {"--legend left", "--legend must be one of top, bottom, right, off, got `left`"},
    {"--log z", "--log must be one of x, y, got `z`"},
    {"--only sgd", "--only: `sgd` is not in r/runs.csv; valid values: allreduce, wagma, ad_psgd"},
    {"--label wagma", "--label must be NAME=TEXT"},
    {"--label sgd=x", "--label: `sgd` is not in"},
    {"--style none.gp", "--style: cannot read none.gp; change a copy of "},
    {"--target speed=3", "--target must be accuracy=NUMBER or loss=NUMBER, got `speed=3`"},
    {"--target accuracy=high",
     "--target must be accuracy=NUMBER or loss=NUMBER, got `accuracy=high`"},
    {"--target accuracy=1.5", "--target accuracy=1.5: accuracy must be between 0 and 1"},
};

TEST(a_bad_option_is_rejected_with_a_sentence)
{
    run(one_count, "");
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        expect_refusal(refused[i].options, refused[i].sentence);
}

/* --- Tests of measured points, baselines and styles ------------------------------------------- */

TEST(measured_points_are_drawn_at_their_values)
{
    run(one_count_learned(), "--numerics cpu");
    write_file("bars.csv", "algorithm,throughput_samples_per_s,low,high\nwagma,200,150,330\n");
    ck_assert_has(draw("throughput --points bars.csv"), "measured");
    /* The figure has three points: one point in the legend, one dark point and its light centre. */
    ck_assert_uint_eq(d.n_points, 3);
    expect_last_point_at_height(200, 2);
    write_file("curve.csv", "algorithm,virtual_s,loss\nwagma,0.75,3\n");
    draw("learning --points curve.csv --only wagma --legend off");
    ck_assert_double_eq_tol(value_at(false, d.points[d.n_points - 1].x), 0.75, 0.01);
    expect_last_point_at_height(3, 0.05);
    write_file("m.csv", "workers,throughput_samples_per_s\n4,100\n5,2\n");
    ck_assert_has(dsgd_ends(0, "plot r throughput --format svg --points m.csv"),
                  "m.csv:3: not drawn, because it matches no run of r/runs.csv");
    /* Points of a published table are drawn in the same way as measured points. */
    write_file("long.csv", "algorithm,quantity,published,relation,over\n"
                           "wagma,throughput_samples_per_s,200,~,\n"
                           "wagma,throughput_samples_per_s,300,~,algorithm=allreduce\n");
    draw("throughput --points long.csv");
    ck_assert_uint_eq(d.n_points, 3);
    expect_last_point_at_height(200, 2);
}

static const struct {
    const char *rows, *sentence;
} bad_points[] = {
    {"algorithm,througput\nwagma,1\n", "p.csv:1: unknown column `througput`; valid: algorithm"},
    {"algorithm,workers\nwagma,4\n", "p.csv:1: no column has numbers that a figure draws"},
    {"workers,throughput_samples_per_s\n5,2\n", "p.csv: no row matches a run of r/runs.csv"},
    {"algorithm,throughput_samples_per_s\nwagma,many\n",
     "p.csv:2: throughput_samples_per_s must be a number, got `many`"},
    {"algorithm,throughput_samples_per_s,low,high\nwagma,5,6,7\n",
     "p.csv:2: 5 is outside its own interval, 6 to 7"},
    {"algorithm\n\"wagma\n", "p.csv"},
};

TEST(a_bad_file_of_points_is_rejected_with_its_line_and_value)
{
    run(one_count, "");
    for (size_t i = 0; i < sizeof bad_points / sizeof bad_points[0]; i++) {
        write_file("p.csv", bad_points[i].rows);
        expect_refusal("throughput --points p.csv --format svg", bad_points[i].sentence);
    }
}

/**
 * Tests that a bar of the figure `speedup`, relative to another bandwidth, equals the ratio that
 * compare prints.
 */
TEST(ratios_to_a_swept_baseline_equal_those_of_compare)
{
    write_file("e.yaml", one_count);
    dsgd_ends(0, "run e.yaml -o r --set workload.bytes=100M --set platform='{name: idle-switch, "
                 "host_bandwidth: {sweep: [1GB/s, 10GB/s]}}' --set algorithms=allreduce");
    dsgd_ends(0, "compare r --by host_bandwidth --baseline 10GB/s --ratio");
    const double ratio =
        cell_number("r/compare.csv", "allreduce,4,", "throughput_samples_per_s_ratio");
    dsgd_ends(0, "plot r speedup --by host_bandwidth --baseline 10GB/s --format svg --legend off");
    read_drawing("r/figures/speedup.svg");
    ck_assert_uint_eq(d.n_bars, 1);
    expect_bar(0, ratio, 0.01);
    ck_assert_has(read_file("r/figures/speedup.svg"), "over host bandwidth 10GB/s");
    ck_assert_has(dsgd_ends(0, "plot r speedup --format svg"), "the baseline");
}

typedef struct look {
    char colour[8];
    int marker, dash, fill;
} look;

/**
 * Computes the CIELAB values of a colour after the matrix @p see has changed its linear RGB values.
 */
static void lab_of(const char *colour, const double see[3][3], double lab[3])
{
    static const double to_xyz[3][3] = {{0.4124 / 0.9505, 0.3576 / 0.9505, 0.1805 / 0.9505},
                                        {0.2126, 0.7152, 0.0722},
                                        {0.0193 / 1.089, 0.1192 / 1.089, 0.9505 / 1.089}};
    double rgb[3], f[3];
    for (int k = 0; k < 3; k++) {
        const double c = (double)strtol(dsgd_xprintf("%.2s", colour + 1 + 2 * k), NULL, 16) / 255;
        rgb[k] = c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4);
    }
    for (int k = 0; k < 3; k++) {
        double sum = 0;
        for (int i = 0; i < 3; i++) {
            const double seen = see[i][0] * rgb[0] + see[i][1] * rgb[1] + see[i][2] * rgb[2];
            sum += to_xyz[k][i] * fmin(1, fmax(0, seen));
        }
        f[k] = sum > 0.008856 ? cbrt(sum) : 7.787 * sum + 16.0 / 116;
    }
    lab[0] = 116 * f[1] - 16;
    lab[1] = 500 * (f[0] - f[1]);
    lab[2] = 200 * (f[1] - f[2]);
}

/**
 * Views of colours, each with the smallest allowed distance of two colours: normal vision, three
 * kinds of colour blindness, and grey. The matrices of colour blindness are from Machado, Oliveira
 * and Fernandes (2009), with severity 1.
 */
static const struct {
    double see[3][3], least;
} views[] = {
    {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, 38},
    {{{0.367322, 0.860646, -0.227968},
      {0.280085, 0.672501, 0.047413},
      {-0.01182, 0.04294, 0.968881}},
     28},
    {{{0.152286, 1.052583, -0.204868},
      {0.114503, 0.786281, 0.099216},
      {-0.003882, -0.048116, 1.051998}},
     30},
    {{{1.255528, -0.076749, -0.178779},
      {-0.078411, 0.930809, 0.147602},
      {0.004733, 0.691367, 0.3039}},
     16},
    {{{0.2126, 0.7152, 0.0722}, {0.2126, 0.7152, 0.0722}, {0.2126, 0.7152, 0.0722}}, 11},
};

/** Reads the styles of algorithms and the spare styles from style.gp, and returns their number. */
static size_t read_looks(look *looks, size_t most)
{
    char *const style = shell_ends(0, "cat %s/plots/style.gp", DSGD_SOURCE_DIR);
    size_t n = 0;
    for (const char *c = strstr(style, "'#"); c != NULL && n < most; c = strstr(c + 1, "'#")) {
        look *const l = &looks[n];
        n += sscanf(c, "'%7s %d %d %d'", l->colour, &l->marker, &l->dash, &l->fill) == 4;
    }
    return n;
}

TEST(algorithms_have_distinguishable_looks)
{
    static look looks[200];
    const size_t n = read_looks(looks, 200);
    ck_assert_uint_gt(n, 45);
    const char *const style = shell_ends(0, "cat %s/plots/style.gp", DSGD_SOURCE_DIR);
    char *names = dsgd_ends(0, "list algorithms");
    for (char *name = strsep(&names, "\n"); name != NULL; name = strsep(&names, "\n"))
        if (*name != ' ' && *name != '\0')
            ck_assert_has(style, dsgd_xprintf("look_%.*s = ", (int)strcspn(name, " "), name));
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++) {
            if (strcmp(looks[i].colour, looks[j].colour) == 0) {
                ck_assert_msg(looks[i].marker != looks[j].marker && looks[i].fill != looks[j].fill,
                              "%s %d %d", looks[i].colour, looks[i].marker, looks[i].fill);
                continue;
            }
            for (size_t v = 0; v < sizeof views / sizeof views[0]; v++) {
                double a[3], b[3];
                lab_of(looks[i].colour, views[v].see, a);
                lab_of(looks[j].colour, views[v].see, b);
                const double apart = hypot(hypot(a[0] - b[0], a[1] - b[1]), a[2] - b[2]);
                ck_assert_msg(apart > views[v].least, "%s, %s: %g in view %zu", looks[i].colour,
                              looks[j].colour, apart, v);
            }
        }
}

SUITE(drawings_long, "figures", .seconds = 900, .set_up = make_folder, .tear_down = remove_folder);

TEST_RANGE(figures_are_legible_at_every_size, 0, N_KINDS *N_SIZES)
{
    draw_and_read(_i / N_SIZES, _i % N_SIZES);
}
