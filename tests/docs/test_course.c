/**
 * @file test_course.c
 * Tests the lessons of docs/course/. Each number in backticks must be in an output on the page, or
 * equal the formula before it. The experiment that the learner gets must fail the task, and the
 * solution must pass. docs/run_pages.py runs the commands of the pages.
 */
#include <ctype.h>
#include <glob.h>
#include <gsl/gsl_cdf.h>
#include <gsl/gsl_integration.h>
#include <gsl/gsl_randist.h>
#include <gsl/gsl_sf_psi.h>

#include "tests/command/shell.h"
#include "tests/support/suite.h"

static glob_t lessons; /* paths of the lessons' folders, course/N-name */

static int n_lessons(void)
{
    if (lessons.gl_pathc == 0 &&
        glob(DSGD_SOURCE_DIR "/docs/course/[0-9]*", 0, NULL, &lessons) != 0)
        return 0;
    return (int)lessons.gl_pathc;
}

/**
 * Returns true if the lesson is not tested. Under a slow sanitizer, only every fourth lesson is
 * tested.
 */
static bool is_left_out(int i)
{
    return SUPPORT_SLOW && i % 4 != 0;
}

/* --- pages ------------------------------------------------------------------------------------ */

/** A page, the outputs that the page shows before the current line, and the number of this line. */
typedef struct page {
    const char *name;
    char *shown; /* text of all outputs so far */
    int line;
} page;

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/**
 * Removes the first line from *text, and returns this line. Returns NULL at the end of the text.
 */
static const char *next_line(char **text)
{
    return *text == NULL || **text == '\0' ? NULL : strsep(text, "\n");
}

/**
 * Reads a console block at *text. Adds its outputs to the page, and moves *text to the line after
 * the block.
 */
static void read_block(page *p, char **text)
{
    for (const char *line = NULL; (line = next_line(text)) != NULL; p->line++) {
        if (begins(line, "```"))
            break;
        if (!begins(line, "$ "))
            dsgd_append(&p->shown, "%s\n", line);
    }
    p->line++;
}

/* --- numbers ---------------------------------------------------------------------------------- */

static double expression(const char **s);

/** Returns x times the density of the largest of n standard normal variables. */
static double normal_place(double x, void *n)
{
    return x * *(double *)n * gsl_ran_ugaussian_pdf(x) *
           pow(gsl_cdf_ugaussian_P(x), *(double *)n - 1);
}

/**
 * Returns the mean of the largest of n standard normal variables. It is integrated numerically,
 * because no closed form exists for n > 5.
 */
static double max_normal(double n)
{
    enum { INTERVALS = 1000 };
    gsl_integration_workspace *const room = gsl_integration_workspace_alloc(INTERVALS);
    gsl_function f = {normal_place, &n};
    double mean = 0, error = 0;
    gsl_integration_qag(&f, -12, 12, 1e-10, 1e-10, INTERVALS, GSL_INTEG_GAUSS61, room, &mean,
                        &error);
    gsl_integration_workspace_free(room);
    return mean;
}

/**
 * Returns 1 + 1/2 + ... + 1/n, which is the mean of the largest of n exponential variables with
 * mean 1.
 */
static double harmonic(double n)
{
    return gsl_sf_psi(n + 1) - gsl_sf_psi(1);
}

static double ceiling(double x)
{
    return ceil(x);
}

static const struct {
    const char *name;
    double (*of)(double x);
} functions[] = {{"sqrt(", sqrt},
                 {"exp(", exp},
                 {"ln(", log},
                 {"log2(", log2},
                 {"ceil(", ceiling},
                 {"cos(", cos},
                 {"harmonic(", harmonic},
                 {"max_normal(", max_normal}};

static double atom(const char **s)
{
    *s += strspn(*s, " ");
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++)
        if (begins(*s, functions[i].name)) {
            *s += strlen(functions[i].name);
            const double x = expression(s);
            ck_assert_msg(*(*s)++ == ')', "no ) before %s", *s - 1);
            return functions[i].of(x);
        }
    if (begins(*s, "pi")) {
        *s += 2;
        return M_PI;
    }
    if (**s == '(' || **s == '-') {
        const bool minus = *(*s)++ == '-';
        const double x = minus ? atom(s) : expression(s);
        ck_assert_msg(minus || *(*s)++ == ')', "no ) before %s", *s - 1);
        return minus ? -x : x;
    }
    char *end = NULL;
    const double x = strtod(*s, &end);
    ck_assert_msg(end != *s, "no number at `%s`", *s);
    *s = end;
    return x;
}

static double power(const char **s)
{
    const double x = atom(s);
    *s += strspn(*s, " ");
    return **s == '^' ? (++*s, pow(x, power(s))) : x;
}

static double product(const char **s)
{
    double x = power(s);
    for (*s += strspn(*s, " "); **s == '*' || **s == '/'; *s += strspn(*s, " "))
        if (*(*s)++ == '*')
            x *= power(s);
        else
            x /= power(s);
    return x;
}

static double expression(const char **s)
{
    double x = product(s);
    for (*s += strspn(*s, " "); **s == '+' || **s == '-'; *s += strspn(*s, " "))
        if (*(*s)++ == '+')
            x += product(s);
        else
            x -= product(s);
    return x;
}

/** Returns the number of digits after the decimal point of a number. */
static int decimals_of(const char *number)
{
    const char *const point = strchr(number, '.');
    return point == NULL ? 0 : (int)strspn(point + 1, "0123456789");
}

/**
 * Checks that in `FORMULA = NUMBER`, the formula has the value of the number, to the last digit. A
 * `%` may follow the number.
 */
static void check_formula(const page *p, const char *formula, const char *equals)
{
    const char *s = formula;
    const char *const number = equals + 3;
    const double per = strchr(number, '%') == NULL ? 1 : 100;
    const double x = per * expression(&s), shown = atof(number);
    ck_assert_msg(s == equals || s == equals + 1, "%s:%d: `%s` is no formula", p->name, p->line,
                  formula);
    ck_assert_msg(fabs(x - shown) <= 0.5000001 * pow(10, -decimals_of(number)),
                  "%s:%d: `%s`, but it is %.10g", p->name, p->line, formula, x);
}

/**
 * Returns true if the outputs contain the number by itself. A number that is only a part of another
 * number does not count.
 */
static bool is_shown(const page *p, const char *number)
{
    const size_t n = strlen(number);
    for (const char *at = p->shown; (at = strstr(at, number)) != NULL; at++) {
        const bool begun = at > p->shown && (isdigit((unsigned char)at[-1]) || at[-1] == '.');
        const bool goes_on =
            isdigit((unsigned char)at[n]) || (at[n] == '.' && isdigit((unsigned char)at[n + 1]));
        if (!begun && !goes_on)
            return true;
    }
    return false;
}

/** Checks the text between two backticks: a number or a formula. */
static void check_span(const page *p, const char *span)
{
    const char *const equals = strstr(span, " = ");
    char *end = NULL;
    const bool is_number = strchr("+-.0123456789", *span) != NULL;
    (void)strtod(span, &end);
    if (equals != NULL && strpbrk(equals, "0123456789") == equals + 3 + strspn(equals + 3, "-")) {
        check_formula(p, span, equals);
        return;
    }
    if (!is_number || end == span || (*end != '\0' && strcmp(end, " %") != 0))
        return;
    const char *const number = dsgd_xprintf("%.*s", (int)(end - span), span);
    ck_assert_msg(is_shown(p, number), "%s:%d: `%s` is in no output above", p->name, p->line, span);
}

static void check_prose(const page *p, const char *line)
{
    for (const char *begin = strchr(line, '`'); begin != NULL; begin = strchr(begin, '`')) {
        const int n = (int)strcspn(++begin, "`");
        check_span(p, dsgd_xprintf("%.*s", n, begin));
        begin += n + (begin[n] == '`');
    }
}

/* --- the tests -------------------------------------------------------------------------------- */

SUITE(course, "pages", .set_up = make_folder, .tear_down = remove_folder, .seconds = 120);

TEST_RANGE(every_number_of_a_page_is_in_an_output_or_follows_from_its_formula, 0, n_lessons())
{
    const char *const lesson = lessons.gl_pathv[_i];
    if (is_left_out(_i))
        return;
    shell_ends(0, "cp -r %s/. %s", lesson, folder);
    page p = {.name = lesson, .shown = dsgd_xstrdup(""), .line = 1};
    char *text = read_file("README.md");
    int n_blocks = 0;
    bool in_other = false; /* true inside a code block that is not `console` */
    for (const char *line = NULL; (line = next_line(&text)) != NULL; p.line++) {
        if (!in_other && strcmp(line, "```console") == 0) {
            p.line++;
            read_block(&p, &text);
            n_blocks++;
        } else if (begins(line, "```")) {
            in_other = !in_other;
        } else if (!in_other) {
            check_prose(&p, line);
        }
    }
    ck_assert_msg(n_blocks > 0, "%s shows no command", lesson);
}

/**
 * Checks the picture, the quiz and the reading time of a page. The time is for 200 words per
 * minute, as in teachers.md. Another test checks the answers of the quiz.
 */
TEST_RANGE(a_page_has_a_picture_a_quiz_and_its_reading_time, 0, n_lessons())
{
    const char *const lesson = lessons.gl_pathv[_i];
    char *output = NULL;
    shell_ends(0, "cp %s/README.md %s/docs/course/teachers.md %s", lesson, DSGD_SOURCE_DIR, folder);
    const char *const text = read_file("README.md");
    int n_questions = 0;
    for (const char *p = text; (p = strstr(p, "<details><summary>Answer</summary>")) != NULL; p++)
        n_questions++;
    ck_assert_msg(n_questions >= 3 && n_questions <= 5, "%s: %d questions", lesson, n_questions);
    ck_assert_has(text, ".png)\n");
    ck_assert_ptr_null(strstr(text, "![]"));
    shell(dsgd_xprintf("wc -w <%s/README.md", folder), &output);
    const char *const row =
        dsgd_xprintf("(%s/README.md) | %d", strrchr(lesson, '/') + 1, (atoi(output) + 199) / 200);
    ck_assert_has(read_file("teachers.md"), row);
}

TEST(slides_are_correct_and_students_get_no_solutions)
{
    page p = {.name = "slides.md", .shown = dsgd_xstrdup(""), .line = 1};
    shell_ends(
        0,
        "%s/docs/course/student-copy %s/c && ! grep -rl 'solutions/\\|teachers.md' %s/c && cp "
        "%s/docs/course/slides.md %s",
        DSGD_SOURCE_DIR, folder, folder, DSGD_SOURCE_DIR, folder);
    char *text = read_file("slides.md");
    for (const char *line = NULL; (line = next_line(&text)) != NULL; p.line++)
        check_prose(&p, line);
}

/** Runs `dsgd task` on a file, and returns the exit status. */
static int try(const char *file, char **output)
{
    return dsgd(dsgd_xprintf("task %s", file), output);
}

CASE("tasks", .set_up = make_folder, .tear_down = remove_folder, .seconds = 120);

TEST_RANGE(given_file_fails_the_task_and_solution_passes, 0, n_lessons())
{
    const char *const lesson = lessons.gl_pathv[_i];
    char *output = NULL;
    if (is_left_out(_i))
        return;
    ck_assert_msg(try(dsgd_xprintf("%s/start.yaml", lesson), &output) == 5, "%s: %s", lesson,
                  output);
    ck_assert_has(output, "not yet: ");
    ck_assert_msg(try(dsgd_xprintf("%s/docs/course/solutions/%s.yaml", DSGD_SOURCE_DIR,
                                   strrchr(lesson, '/') + 1),
                      &output) == 0,
                  "%s: %s", lesson, output);
    ck_assert_has(output, "passed: ");
}

/* --- Tests of formulas and of rejected tasks -------------------------------------------------- */

static const struct {
    const char *formula;
    double value;
} known[] = {
    /* the value of this formula is 1 / sqrt(pi) */
    {"max_normal(2)", 0.5641895835477563},
    {"max_normal(3)", 0.8462843753216345}, /* the value of this formula is 3 / (2 sqrt(pi)) */
    {"harmonic(4)", 25.0 / 12},
    {"2 ^ 3 ^ 2 / 4 - (1 + 1) * 3", 122},
    {"1 - 2 - 3", -4},
    {"-2 * ceil(log2(5))", -6}};

CASE("command", .set_up = make_folder, .tear_down = remove_folder, .seconds = 120);

TEST(formulas_are_computed)
{
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        const char *s = known[i].formula;
        ck_assert_double_eq_tol(expression(&s), known[i].value, 1e-9);
        ck_assert_str_eq(s, "");
    }
}

static const char given[] = "platform: idle-switch\n"
                            "workload: {bytes: 1M, step: 100ms, samples: 8}\n"
                            "imbalance: [{kind: slow, worker: 1}]\n"
                            "workers: [2, 4]\n"
                            "algorithms: [allreduce, {name: local_sgd, period: 4}]\n"
                            "until: {steps: 12}\n"
                            "exchange: {pieces: {sweep: [1, 2]}}\n";

static const char question[] = "question: How?\n"
                               "given: given.yaml\n"
                               "may_change: [algorithms.1.period, failures]\n"
                               "goals:\n"
                               "  - {measure: wait_share, of: allreduce, at_most: %s}\n"
                               "  - {measure: throughput_samples_per_s, of: local_sgd,\n"
                               "     against: allreduce, at_least: 1.0001}\n";

static void write_task(const char *most)
{
    write_file("given.yaml", given);
    write_file("task.yaml", dsgd_xprintf(question, most));
    write_file("e.yaml", dsgd_xprintf("name: mine\ntask: task.yaml\n%s", given));
}

TEST(each_goal_is_judged_at_its_worst_run)
{
    char *output = NULL;
    /*
     * With two workers, the result is within the limit, because one of the two never waits. With
     * four workers, the result exceeds the limit.
     */
    write_task("0.3");
    ck_assert_int_eq(try("e.yaml", &output), 5);
    static const char *const parts[] = {
        "How?\nnot yet: wait_share of allreduce; workers 4; pieces 1: 0.37", "at most 0.3 is",
        "\npassed: samples/s of local_sgd; workers 2; pieces 1: ", " times allreduce's",
        "\n\nnot yet: 1 of 2 goals are met\n"};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        ck_assert_has(output, parts[i]);
    write_task("0"); /* the program accepts a limit of 0 */
    ck_assert_int_eq(try("e.yaml", &output), 5);
    write_task("0.4");
    ck_assert_msg(try("e.yaml", &output) == 0, "%s", output);
    ck_assert_has(output, "\npassed: 2 of 2 goals are met\n");
    /* The command `task` leaves no files, and `run` accepts the same experiment. */
    output = shell_ends(0, "ls %s", folder);
    ck_assert_str_eq(output, "e.yaml\ngiven.yaml\ntask.yaml\n");
    output = dsgd_ends(0, "check e.yaml");
}

/**
 * Tests an experiment that names an easier task. The task on the command line must count instead.
 */
TEST(task_of_the_command_line_overrides_task_of_the_file)
{
    write_task("0.3");
    write_file("easy.yaml", dsgd_xprintf(question, "100"));
    write_file("e.yaml", dsgd_xprintf("task: easy.yaml\n%s", given));
    ck_assert_has(dsgd_ends(0, "task e.yaml"), "task easy.yaml\nHow?\n");
    ck_assert_has(dsgd_ends(5, "task e.yaml --task task.yaml"), "task task.yaml\nHow?\n");
    dsgd_ends(3, "task e.yaml --task none.yaml");
}

/*
 * In this experiment, steps take 0.1 s. Because of rounding, the sum 0.1 + 0.1 + 0.1 exceeds 0.3.
 */
static const char one[] = "platform: idle-switch\nworkers: 1\nalgorithms: [allreduce]\n"
                          "workload: {bytes: 4, step: 100ms, samples: 1}\n"
                          "until: {steps: 3}\nseed: [1, 2, 3]\n";

static void write_simple_task(void)
{
    write_file("task.yaml",
               "question: q\ngiven: given.yaml\nmay_change: []\ngoals:\n"
               "  - {measure: step_mean_s, of: allreduce, at_most: 0.1}\n"
               "  - {measure: throughput_samples_per_s, of: allreduce, at_least: 10}\n");
}

TEST(goal_is_reached_if_value_equals_bound_up_to_rounding)
{
    char *output = NULL;
    write_simple_task();
    write_file("given.yaml", one);
    write_file("e.yaml", dsgd_xprintf("task: task.yaml\n%s", one));
    ck_assert_msg(try("e.yaml", &output) == 0, "%s", output);
}

TEST(files_are_compared_by_the_file_not_by_the_path)
{
    write_simple_task();
    write_file("given.yaml", dsgd_xprintf("%splacement: hosts.txt\n", one));
    char *output = shell_ends(0, "mkdir %s/mine", folder);
    write_file("hosts.txt", "n0\n");
    write_file("mine/other.txt", "n0\n");
    static const char *const path[] = {"../hosts.txt", "other.txt"};
    static const int status[] = {0, 2};
    for (int i = 0; i < 2; i++) {
        write_file("mine/e.yaml",
                   dsgd_xprintf("task: ../task.yaml\n%splacement: %s\n", one, path[i]));
        ck_assert_msg(try("mine/e.yaml", &output) == status[i], "%s", output);
    }
}

static const struct {
    const char *set, *sentence; /* assignment for --set, and the expected error */
} rejected[] = {
    {"until.steps=13",
     "--set until.steps=13: `until.steps` differs from the given "
     "experiment, which has 12, but the task does not allow this change; allowed: "
     "algorithms.1.period and failures"},
    {"inherent=false", "`inherent` is not in the given experiment, but"},
    {"algorithms.1.order=cta", "`algorithms.1.order` is not in the given experiment, but"},
    {"algorithms=[allreduce]",
     "`algorithms.1` is missing: the given experiment has {name: local_sgd, period: 4}, but"},
    {"algorithms.1.label=other", "`algorithms.1.label` is not in"},
    {"exchange.pieces=3", "`exchange.pieces` differs from the given experiment, which has"},
    {"task=none.yaml", "none.yaml: "},
    {"task=[1]", "task must be a text, got a list"},
};

TEST_ROWS(other_changes_are_rejected_by_name, rejected)
{
    char *output = NULL;
    write_task("0.4");
    const char *const set = rejected[_i].set;
    ck_assert_int_ne(try(dsgd_xprintf("e.yaml --set '%s'", set), &output), 0);
    ck_assert_msg(strstr(output, rejected[_i].sentence) != NULL, "%s: %s", set, output);
    ck_assert_int_eq(try("e.yaml --set algorithms.1.period=3", &output), 0);
    write_file("e.yaml", dsgd_xprintf("task: task.yaml\nseed: 2\n%s", given));
    ck_assert_int_eq(try("e.yaml", &output), 2);
    ck_assert_has(output, "e.yaml:2:7: `seed` is not in the given experiment");
    ck_assert_int_eq(try("given.yaml", &output), 2);
    ck_assert_has(output, "given.yaml: the experiment names no task");
}

static const struct {
    const char *goal, *sentence;
} bad_goals[] = {
    {"{measure: wait_share, of: allreduce}", "task.yaml:5:15: the goal needs at_least or at_most"},
    {"{measure: waits, of: allreduce, at_least: 1}", "task.yaml:5:15: measure must be a column"},
    {"{measure: platform, of: allreduce, at_least: 1}",
     "task.yaml:5:15: measure must be a column of numbers"},
    {"{measure: wait_share, of: wagma, at_least: 1}", "no algorithm has the label `wagma`"},
    {"{measure: wait_share, of: allreduce, against: x, at_least: 1}",
     "no algorithm has the label `x`, which a goal"},
    {"{measure: time_to_target_s, of: allreduce, at_least: 1}", "a measure to a target needs"},
    {"{measure: wait_share, of: allreduce, at_least: 1, target: loss=1}",
     "its measure does not need one"},
    {"{measure: time_to_target_s, of: allreduce, at_least: 1, target: 1}", "target must be"},
    {"{measure: wait_share, of: allreduce, at_least: -1}", "at_least must be between"},
};

TEST_ROWS(a_task_with_a_bad_goal_is_rejected, bad_goals)
{
    char *output = NULL;
    write_task("0.4");
    write_file("task.yaml", dsgd_xprintf("question: q\ngiven: given.yaml\nmay_change: []\n"
                                         "goals:\n  - %s\n",
                                         bad_goals[_i].goal));
    ck_assert_int_eq(try("e.yaml", &output), 2);
    ck_assert_has(output, bad_goals[_i].sentence);
}

TEST(a_run_that_fails_fails_the_task)
{
    char *output = NULL;
    write_task("0.4");
    ck_assert_int_eq(
        try("e.yaml --set 'failures={policy: none, events: [{worker: 1, at: 300ms}]}'", &output),
        5);
    ck_assert_has(output, "dsgd: 8 of 8 runs failed; run 1 (allreduce): ");
}
