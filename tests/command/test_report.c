/**
 * @file test_report.c
 * Tests that `dsgd report` writes a well-formed, self-contained page with the necessary warnings.
 */
#include "tests/command/shell.h"
#include "tests/support/suite.h"

/* --- the page --------------------------------------------------------------------------------- */

/**
 * Checks that the page closes all elements in the right order, and that each & starts an entity.
 */
static void expect_well_formed(const char *html)
{
    enum { MOST_DEPTH = 64 };
    char open[MOST_DEPTH][32];
    int depth = 0;
    ck_assert(strncmp(html, "<!DOCTYPE html>\n", 16) == 0);
    for (const char *c = html + 16; *c != '\0'; c++) {
        if (*c == '&')
            ck_assert_msg(c[1 + strspn(c + 1, "#abcdefghijklmnopqrstuvwxyz0123456789")] == ';',
                          "%.40s", c);
        if (*c != '<')
            continue;
        if (strncmp(c, "<!--", 4) == 0) {
            c = strstr(c, "-->") + 2;
            continue;
        }
        const char *const end = strpbrk(c + 1, "<>");
        ck_assert_msg(end != NULL && *end == '>', "%.40s", c);
        char name[32];
        ck_assert_int_eq(sscanf(c + 1 + (c[1] == '/'), "%31[a-zA-Z0-9]", name), 1);
        if (c[1] == '/') {
            ck_assert_msg(depth > 0 && strcmp(open[--depth], name) == 0, "%s is closed: %.40s",
                          name, c);
        } else if (end[-1] != '/') {
            ck_assert_int_lt(depth, MOST_DEPTH);
            strcpy(open[depth++], name);
        }
        c = end;
    }
    ck_assert_int_eq(depth, 0);
}

/**
 * Checks that the page loads no other file and runs no script. The only URLs that it may contain
 * are names of namespaces.
 */
static void expect_self_contained(const char *html)
{
    static const char *const none[] = {"<script",  "<link",         "<img",   "<iframe",
                                       " src=",    "@import",       "url(h",  " onload",
                                       " onclick", "foreignObject", "<input", "<button",
                                       "<select",  "innerHTML",     "eval("};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        ck_assert_msg(strstr(html, none[i]) == NULL, "%s", none[i]);
    for (const char *at = html; (at = strstr(at, "http")) != NULL; at++)
        ck_assert_msg(strncmp(at - 7, "xmlns=\"", 7) == 0 || strncmp(at - 7, "xlink=\"", 7) == 0 ||
                          strncmp(at, "http-equiv", 10) == 0,
                      "%.60s", at);
}

/** Checks that all values of the attribute `id` in the page differ. */
static void expect_unique_names(const char *html)
{
    for (const char *at = html; (at = strstr(at, " id=")) != NULL; at++) {
        char *const name =
            dsgd_xprintf(" id=%c%.*s%c", at[4], (int)strcspn(at + 5, "'\""), at + 5, at[4]);
        ck_assert_msg(strstr(at + 1, name) == NULL, "%s", name);
    }
}

/** Checks that each reference within the page names the `id` of an element. */
static void expect_known_references(const char *html)
{
    static const char *const forms[] = {"href='#", "href=\"#", "url(#", "url('#"};
    size_t n = 0;
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
        for (const char *at = html; (at = strstr(at, forms[i])) != NULL; at++, n++) {
            const char *const name = at + strlen(forms[i]);
            const int length = (int)strcspn(name, "'\")");
            char *const single = dsgd_xprintf(" id='%.*s'", length, name);
            char *const twofold = dsgd_xprintf(" id=\"%.*s\"", length, name);
            ck_assert_msg(strstr(html, single) != NULL || strstr(html, twofold) != NULL, "%.40s",
                          at);
        }
    ck_assert_int_gt((int)n, 20);
}

SUITE(report, "report", .seconds = 120, .set_up = make_folder, .tear_down = remove_folder);

TEST(report_of_real_results_is_self_contained)
{
    write_experiment(learn);
    dsgd_ends(0, "run e.yaml -o r --set seed='[1, 2, 3]' --set exchange.pieces="
                 "'{sweep: [1, 2]}'");
    dsgd_ends(0, "report r");
    const char *const html = read_file("r/report.html");
    expect_well_formed(html);
    expect_self_contained(html);
    expect_unique_names(html);
    expect_known_references(html);
    ck_assert_ptr_null(strstr(html, "gnuplot_plot"));
    static const char *const parts[] = {
        "<html lang=\"en\"",
        "width=device-width",
        "@media print",
        "How fast do allreduce, wagma and ad_psgd train on ",
        "for pieces 1 and 2",
        "<dt>End of a run (until)</dt>\n<dd>{&quot;steps&quot;: 10",
        "<th scope=\"col\" class=\"n\">throughput (samples/s)</th>",
        "<td class=\"n\">baseline</td>",
        "<dt>Imbalance of the workload</dt>\n<dd>none</dd>",
        "<svg viewBox=",
        "role=\"img\" aria-labelledby=\"f1-title f1-desc\"",
        "<title id=\"f1-title\">",
        "dsgd run e.yaml -o r --set 'seed=[1, 2, 3]' --set 'exchange.pieces={sweep: [1, 2]}'\n",
        "\ndsgd report r<",
    };
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        ck_assert_msg(strstr(html, parts[i]) != NULL, "%s", parts[i]);
    dsgd_ends(0, "report r -o other.html");
    ck_assert_str_eq(read_file("other.html"), html);
    dsgd_ends(3, "report nowhere");
    dsgd_ends(3, "report r -o no/such.html");
}

/**
 * Tests that the headline figure contains the target of the report. If the target changes, the
 * figure must be drawn again.
 */
TEST(the_headline_has_the_target)
{
    static const char *const targets[] = {"", "5", "4.5"};
    write_experiment(learn);
    dsgd_ends(0, "run e.yaml -o r --set workers=4");
    for (int k = 0; k < 3; k++) {
        dsgd_ends(0, "report r%s%s", k == 0 ? "" : " --target loss=", targets[k]);
        const char *const html = read_file("r/report.html");
        const char *const note = strstr(html, "target: loss ");
        ck_assert_int_eq(strstr(html, "<text>target</text>") != NULL, k > 0);
        ck_assert(k == 0 ? note == NULL : strtod(note + 13, NULL) == strtod(targets[k], NULL));
    }
}

/** Tests that the report prints the path of a figure that is too large, instead of the figure. */
TEST(report_names_figures_that_are_too_large)
{
    shell_ends(0, "mkdir -p %s/r/figures", folder);
    write_file("r/runs.csv", "run,algorithm,workers,seed,status,wall_s\n1,a,4,1,ok,1\n");
    write_file("r/manifest.json", "{\"runs\": [{}]}");
    for (int i = 0; i < 5; i++)
        write_file(dsgd_xprintf("r/figures/f%d.svg", i),
                   dsgd_xprintf("<svg viewBox=\"0 0 1 1\"><desc>%*s</desc></svg>",
                                i == 0 ? 900000 : 700000, "d"));
    dsgd_ends(0, "report r");
    const char *const html = read_file("r/report.html");
    ck_assert_has(
        html,
        "The figure f0 is too large for this page (0.9 MB): see <code>r/figures/f0.svg</code>");
    ck_assert_has(html, "<figure id=\"figure-3\">");
    ck_assert_has(html, "The figure f3 is too large for this page (0.7 MB)");
    expect_well_formed(html);
}

/* --- Tests that table, figure and report have equal numbers ----------------------------------- */

#define SPEED(run, algorithm, seed, speed)                                                         \
    run "," algorithm ",4," seed ",p,w,ok,5," speed ",1,0,,,1\n"

/** Returns the second-last field of a row of data.gp, which is the speed-up. */
static double value_before_last(const char *row)
{
    const char *comma = row + strcspn(row, "\n");
    for (int k = 0; k < 2; k++)
        do
            comma--;
        while (*comma != ',');
    return strtod(comma + 1, NULL);
}

/**
 * The ratios of wagma to allreduce have the geometric mean 2 and the arithmetic mean 2.5. With only
 * one seed, the ratio is 1.5.
 */
TEST(speed_up_is_equal_in_table_figure_and_report)
{
    shell_ends(0, "mkdir %s/r", folder);
    write_file("r/runs.csv",
               "run,algorithm,workers,seed,platform,workload,status,steps,"
               "throughput_samples_per_s,step_mean_s,staleness_mean,final_loss,final_accuracy,"
               "wall_s\n" SPEED("1", "wagma", "1", "100") SPEED("2", "wagma", "2", "400")
                   SPEED("3", "ad_psgd", "2", "150") SPEED("4", "allreduce", "1", "100")
                       SPEED("5", "allreduce", "2", "100"));
    write_file("r/manifest.json", "{\"experiment\": \"e\", \"runs\": []}");
    dsgd_ends(0, "compare r --ratio");
    ck_assert_double_eq_tol(
        strtod(cell_of("r/compare.csv", "wagma", "throughput_samples_per_s_ratio"), NULL), 2,
        1e-12);
    dsgd_ends(0, "report r");
    const char *const html = read_file("r/report.html");
    static const char *const parts[] = {
        "<th scope=\"col\" class=\"n\">speed-up over allreduce</th>", "<td class=\"n\">2 (",
        "<td class=\"n\">1.5</td>", "ad_psgd and"};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        ck_assert_msg(strstr(html, parts[i]) != NULL, "%s", parts[i]);
    const char *const drawn = read_file("r/figures/data.gp");
    const char *const groups = strstr(drawn, "$groups << EOD\n") + strlen("$groups << EOD\n");
    ck_assert_double_eq_tol(value_before_last(groups), 2, 1e-9);
    ck_assert_double_eq_tol(value_before_last(strstr(groups, "\n\n\n") + 3), 1.5, 1e-9);
}

/* --- warnings --------------------------------------------------------------------------------- */

#define HEAD                                                                                       \
    "run,algorithm,workers,seed,platform,workload,status,steps,throughput_samples_per_s,"          \
    "final_accuracy,collective,partial_collective,network,wall_s\n"
#define ROW(run, algorithm, seed, status, steps, speed, accuracy, collective)                      \
    run "," algorithm ",4," seed ",p,w," status "," steps "," speed "," accuracy "," collective    \
        ",,flows,1\n"
#define RUNS(n) "{\"experiment\": \"a<b\", \"command\": \"dsgd run <x>\", \"runs\": [" n "]}"
#define RUN "{\"algorithm\": {\"name\": \"a\"}, \"until\": {\"steps\": 5}}"

static const struct {
    const char *rows, *manifest, *sentence;
} warned[] = {
    {ROW("1", "a", "1", "ok", "5", "100", "", "ring")
         ROW("2", "a", "2", "ok", "5", "101", "", "ring")
             ROW("3", "a", "3", "ok", "5", "102", "", "ring"),
     RUNS(RUN "," RUN "," RUN), "<p>None.</p>"},
    {ROW("1", "a", "1", "ok", "5", "100", "", "ring")
         ROW("2", "b", "1", "ok", "5", "150", "", "ring"),
     RUNS(RUN "," RUN), "With one seed a difference can be chance."},
    {ROW("1", "a", "1", "ok", "5", "100", "", "ring")
         ROW("2", "a", "2", "ok", "5", "101", "", "ring")
             ROW("3", "b", "1", "ok", "5", "150", "", "ring")
                 ROW("4", "b", "2", "ok", "5", "151", "", "ring"),
     RUNS(RUN "," RUN "," RUN "," RUN), "Intervals over two seeds are wide."},
    {ROW("1", "a", "1", "ok", "5", "100", "", "ring"), RUNS(RUN "," RUN),
     "Partial results: 1 of 2 runs are done"},
    {ROW("1", "a", "1", "failed", "", "", "", ""), RUNS(RUN),
     "The tables leave out 1 of 1 runs, which have no results (status failed or timeout)."},
    {ROW("1", "a", "1", "timeout", "", "", "", ""), RUNS(RUN), "The tables leave out 1 of 1 runs"},
    {ROW("1", "a", "1", "diverged", "5", "1", "", ""), RUNS(RUN), "No candidate wins. a diverged."},
    {ROW("1", "a", "1", "ok", "5", "100", "", "ring")
         ROW("2", "a", "2", "ok", "5", "101", "", "ring")
             ROW("3", "b", "1", "ok", "5", "110", "", "ring")
                 ROW("4", "b", "2", "ok", "5", "90", "", "ring"),
     RUNS(RUN "," RUN "," RUN "," RUN), "With 2 seeds its lead over b ("},
    {ROW("1", "a", "1", "ok", "5", "100", "", "ring")
         ROW("2", "b", "1", "ok", "5", "101", "", "bruck"),
     RUNS(RUN "," RUN), "Different collectives: a uses the collective ring, but b uses bruck"},
};

TEST_ROWS(report_warns_of_misleading_results, warned)
{
    shell_ends(0, "mkdir -p %s/r/figures", folder);
    write_file("r/runs.csv", dsgd_xprintf("%s%s", HEAD, warned[_i].rows));
    write_file("r/manifest.json", warned[_i].manifest);
    write_file("r/figures/drawn.svg",
               "<?xml version=\"1.0\"?>\n<svg width=\"1\" viewBox=\"0 0 1 1\"><title>t</title>"
               "<desc>d</desc><g id='p'><use href='#p'/></g></svg>\n");
    write_file("r/figures/hostile.svg", "<svg viewBox=\"0 0 1 1\"><script>x</script></svg>\n");
    dsgd_ends(0, "report r");
    const char *const html = read_file("r/report.html");
    expect_well_formed(html);
    expect_self_contained(html);
    ck_assert_msg(strstr(html, warned[_i].sentence) != NULL, "%s: %s", warned[_i].sentence,
                  strstr(html, "<h2 id=\"warnings\">"));
    ck_assert_has(html, "<g id='f1-p'><use href='#f1-p'/></g>");
    ck_assert_has(html, "<h1>a&lt;b</h1>");
}

TEST(report_escapes_hostile_results)
{
    shell_ends(0, "mkdir -p %s/r/figures", folder);
    write_file("r/runs.csv", "run,algorithm,workers,seed,status,wall_s,x\n"
                             "1,<script>,four,1,ok,1,\"a\"\"b<\"\n1e30,b,,2,weird,1,\n");
    write_file("r/manifest.json", "{\"runs\": [{\"algorithm\": 3, \"until\": []}], "
                                  "\"experiment\": 7, \"command\": [1]}");
    write_file("r/figures/bad.svg", "<svg viewBox=\"0 0 1 1\"><g id=\"");
    write_file("r/figures/name.svg",
               "<svg viewBox=\"0 0 1 1\"><g id=\"gnuplot_plot_1a\" ><title>t</title></g></svg>\n");
    dsgd_ends(0, "report r");
    const char *const html = read_file("r/report.html");
    expect_well_formed(html);
    expect_self_contained(html);
    write_file("r/manifest.json", "[");
    ck_assert_has(dsgd_ends(3, "report r"),
                  "r/manifest.json, which describes the runs, is missing or not JSON");
}

/**
 * Tests results folders of the first versions of the program. The commands compare and report must
 * read these folders. A command that would execute runs again must reject these folders and print
 * the reason.
 */
TEST(results_of_the_first_versions_are_read_or_rejected)
{
    write_experiment("");
    shell_ends(0, "mkdir %s/r", folder);
    write_file("r/manifest.json",
               "{\"dsgd\": \"0.1.0\", \"file\": \"e.yaml\", \"computed\": true, \"runs\": "
               "[{\"algorithm\": {\"name\": \"allreduce\"}, \"network\": \"loggp\"}, {}]}");
    write_file("r/runs.csv",
               "run,algorithm,workers,seed,platform,workload,status,steps,virtual_s,bytes,"
               "throughput_samples_per_s,step_mean_s,staleness_mean,final_loss,final_accuracy,"
               "wall_s\n1,allreduce,4,1,p,w,ok,20,20,1e9,500,1,0,1,.8,1\n"
               "2,wagma,4,1,p,w,ok,20,10,1e9,1000,.5,.5,1,.8,1\n");
    write_file("r/curves.csv", "run,algorithm,workers,seed,virtual_s,steps,loss,accuracy\n"
                               "1,allreduce,4,1,0,0,3,.1\n1,allreduce,4,1,20,20,1,.8\n"
                               "2,wagma,4,1,0,0,3,.1\n2,wagma,4,1,10,20,1,.8\n");
    static const char verdict[] =
        "wagma learns fastest: accuracy 0.8 after 10 s, 2 times as fast as allreduce.";
    ck_assert_has(unwrapped(dsgd_ends(0, "compare r")), verdict);
    dsgd_ends(0, "report r");
    ck_assert_has(unwrapped(read_file("r/report.html")), verdict);
    static const char built[] = "or another build of dsgd wrote the folder; give";
    ck_assert_has(dsgd_ends(2, "explain r"), built);
    ck_assert_has(dsgd_ends(2, "timeline r --run 1"), built);
    ck_assert_has(dsgd_ends(2, "run e.yaml -o r"), "whose files have other columns; give another");
    shell_ends(0, "sed -i 's/\"computed\"/\"swept\": [], &/' %s/r/manifest.json", folder);
    ck_assert_has(dsgd_ends(2, "run e.yaml -o r"), "or of this one by another build of dsgd");
}
