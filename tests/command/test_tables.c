/**
 * @file test_tables.c
 * Tests the tables that `dsgd run` prints, and `dsgd help`: the number of columns, and lines that
 * fit into a terminal.
 */
#include "tests/command/shell.h"
#include "tests/support/suite.h"

/** Checks that no line of @p text has more than @p most columns. */
static void expect_lines_of(const char *text, size_t most)
{
    for (; *text != '\0'; text += strcspn(text, "\n"), text += *text == '\n')
        ck_assert_msg(strcspn(text, "\n") <= most, "%zu columns: %s", strcspn(text, "\n"), text);
}

/**
 * Returns the number of lines of the table that starts with @p head and ends with an empty line.
 * Checks that each line has @p columns cells, with at least two blanks between two columns.
 */
static size_t count_rows_of(const char *output, const char *head, size_t columns)
{
    const char *line = strstr(output, head);
    ck_assert_msg(line != NULL, "no table `%s` in %s", head, output);
    size_t n = 0;
    for (; *line != '\n'; line += strcspn(line, "\n") + 1, n++) {
        size_t cells = 0;
        const size_t length = strcspn(line, "\n");
        if (strncmp(line, "run ", 4) == 0 && n > 0)
            break; /* the table ends before the reasons of failures */
        for (size_t i = 0; i < length; i++)
            cells += line[i] != ' ' && strncmp(line + i, "(s)", 3) != 0 &&
                     (i == 0 || line[i - 1] == ' ');
        for (size_t i = 1; i + 1 < length; i++) /* only "step (s)" contains a single blank */
            ck_assert(line[i] != ' ' || line[i - 1] == ' ' || line[i + 1] == ' ' ||
                      line[i + 1] == '(' || *line == '.');
        if (*line != '.')
            ck_assert_msg(cells == columns, "%zu columns in %.*s", cells, (int)length, line);
    }
    return n;
}

static const char sixty[] = "a-label-of-sixty-characters-that-somebody-has-typed-in-a-hurry";

SUITE(tables, "tables", .seconds = 60, .set_up = make_folder, .tear_down = remove_folder);

TEST(a_table_of_runs_has_columns_and_no_long_lines)
{
    write_experiment("");
    const char *const labelled = dsgd_xprintf(
        "run e.yaml -o r --set algorithms='[allreduce, {name: wagma, label: %s}]'", sixty);
    char *output = dsgd_ends(0, "%s", labelled);
    expect_lines_of(strstr(output, "\nrun "), 100);
    ck_assert_uint_eq(count_rows_of(output, "run  algorithm ", 7), 5);
    ck_assert_has(output, "  2  a-label-of-sixty-character");
    ck_assert_has(output, "...  ");
    ck_assert_ptr_null(strstr(output, "simulated"));
    ck_assert_ptr_null(strstr(output, "status"));
    output = shell_ends(0, "COLUMNS=80 DSGD_DATA=%s %s %s", DSGD_SOURCE_DIR, DSGD_BINARY, labelled);
    *strstr(output, "\n\n") = '\0';
    expect_lines_of(output, 80);
    output = dsgd_ends(0, "run e.yaml -o r1 --only 2");
    expect_lines_of(strstr(output, "\nrun "), 100);
    output = dsgd_ends(0,
                       "check e.yaml --set algorithms='{name: wagma, label: %s, "
                       "group: {sweep: [2, 4]}}'",
                       sixty);
    expect_lines_of(output, 100);
}

TEST(table_of_many_runs_is_cut_with_a_note)
{
    write_experiment("");
    char *output =
        dsgd_ends(0, "run e.yaml -o r --numerics off --set algorithms=allreduce --set "
                     "seed='[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, "
                     "19, 20, 21, 22, 23, 24, 25]'");
    expect_lines_of(strstr(output, "\nrun "), 100);
    ck_assert_uint_eq(count_rows_of(output, "run  algorithm ", 7), 1 + 40 + 1);
    ck_assert_has(output, "\n... 10 more in r/runs.csv\n");
}

TEST(table_reports_why_a_run_failed)
{
    write_experiment("failures: {policy: none, events: [{worker: 2, at: 250ms}]}\n");
    char *output = dsgd_ends(5, "run e.yaml -o r --set algorithms='[allreduce, a_psgd]'");
    const char *const table = strstr(output, "\nrun  algorithm ");
    expect_lines_of(table, 100);
    ck_assert_uint_eq(count_rows_of(output, "run  algorithm ", 8), 5);
    ck_assert_has(table, "  failed ");
    ck_assert_has(table, "\nrun 1 failed: ");
}

TEST(help_fits_a_screen)
{
    char *output = dsgd_ends(0, "--help");
    expect_lines_of(output, 80);
    size_t lines = 0;
    for (const char *c = output; *c != '\0'; c++)
        lines += *c == '\n';
    ck_assert_uint_le(lines, 40);
    ck_assert_has(output, "\n  explain FILE|DIR|ALGORITHM\n      ");
}
