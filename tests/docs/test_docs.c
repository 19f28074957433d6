/**
 * @file test_docs.c
 * Checks that the Markdown files name only existing targets of links, files of this tree, commands,
 * columns and algorithms. Code in algorithms/README.md must be in the source. The quick start must
 * print the table and the answers that README.md shows.
 */
#include <ctype.h>
#include <dirent.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/status.h"
#include "sim/registry.h"
#include "tests/support/kept.h"
#include "tests/support/suite.h"

enum { MOST_PAGES = 256 };

static char *pages[MOST_PAGES]; /* paths of the Markdown files, relative to the tree */
static int n_pages;

/**
 * The errors that the running test has found, one per line. The test fails if there is an error.
 */
static char *complaints;

static void complain(const char *page, const char *what, int length, const char *text)
{
    dsgd_append(&complaints, "\n%s: %s: %.*s", page, what, length, text);
}

static bool ends_with(const char *text, size_t length, const char *end)
{
    return length > strlen(end) && strncmp(text + length - strlen(end), end, strlen(end)) == 0;
}

/** Collects the Markdown files below a folder. Hidden folders, builds and results are skipped. */
static void collect(const char *folder)
{
    char *const there = dsgd_xprintf("%s/%s", DSGD_SOURCE_DIR, folder);
    DIR *const dir = opendir(there);
    ck_assert_msg(dir != NULL, "%s", there);
    for (struct dirent *e = NULL; (e = readdir(dir)) != NULL;) {
        if (e->d_name[0] == '.' || strncmp(e->d_name, "build", 5) == 0 ||
            strcmp(e->d_name, "results") == 0)
            continue;
        char *const path = dsgd_xprintf("%s%s%s", folder, *folder == '\0' ? "" : "/", e->d_name);
        char *const whole = dsgd_xprintf("%s/%s", DSGD_SOURCE_DIR, path);
        struct stat about;
        if (stat(whole, &about) == 0 && S_ISDIR(about.st_mode))
            collect(path);
        else if (ends_with(path, strlen(path), ".md") && n_pages < MOST_PAGES)
            pages[n_pages++] = dsgd_xstrdup(path);
    }
    closedir(dir);
}

static void set_up(void)
{
    n_pages = 0;
    complaints = dsgd_xstrdup("");
    collect("");
    ck_assert_int_gt(n_pages, 5);
    ck_assert_int_lt(n_pages, MOST_PAGES);
}

static void tear_down(void)
{
}

/** Returns the rest of a stream as a text, which the caller frees. */
static char *drain(FILE *stream)
{
    char *text = NULL;
    size_t room = 0;
    if (getdelim(&text, &room, '\0', stream) < 0)
        *text = '\0';
    return text;
}

static char *text_of(const char *path)
{
    char *const whole = dsgd_xprintf("%s/%s", DSGD_SOURCE_DIR, path);
    FILE *const stream = fopen(whole, "r");
    ck_assert_msg(stream != NULL, "%s", whole);
    char *const text = drain(stream);
    fclose(stream);
    return kept(text);
}

/** Runs a command, which must succeed, and returns its output. */
static char *output_of(const char *command)
{
    FILE *const stream = popen(command, "r");
    ck_assert_ptr_nonnull(stream);
    char *const text = drain(stream);
    const int state = pclose(stream);
    ck_assert_msg(WIFEXITED(state) && WEXITSTATUS(state) == 0, "%s: %s", command, text);
    return kept(text);
}

/**
 * Returns true if a path exists in the folder of the page, or in the top folder if @p from_top is
 * true.
 */
static bool exists(const char *page, const char *path, int length, bool from_top)
{
    const char *const slash = strrchr(page, '/');
    const int folder = slash == NULL ? 0 : (int)(slash + 1 - page);
    char *const near = dsgd_xprintf("%s/%.*s%.*s", DSGD_SOURCE_DIR, folder, page, length, path);
    char *const top = dsgd_xprintf("%s/%.*s", DSGD_SOURCE_DIR, length, path);
    const bool found = access(near, F_OK) == 0 || (from_top && access(top, F_OK) == 0);
    return found;
}

/**
 * Returns true if the page has a heading with this anchor. An anchor is the heading in lower case,
 * with hyphens for spaces and without commas.
 */
static bool has_heading(const char *text, const char *anchor, size_t length)
{
    for (const char *line = text; line != NULL; line = strchr(line + 1, '\n')) {
        const char *c = line + strspn(line, "\n");
        if (*c != '#')
            continue;
        size_t n = 0;
        for (c += strspn(c, "# "); *c != '\n' && *c != '\0'; c++) {
            const char in_anchor = *c == ' ' ? '-' : (char)tolower((unsigned char)*c);
            if (!isalnum((unsigned char)in_anchor) && strchr("-_", in_anchor) == NULL)
                continue;
            if (n >= length || anchor[n] != in_anchor)
                break;
            n++;
        }
        if (n == length && (*c == '\n' || *c == '\0'))
            return true;
    }
    return false;
}

/**
 * Returns true if the heading in a link page#anchor or #anchor exists. The page of the link must
 * exist.
 */
static bool has_target(const char *page, const char *link, int path, int length)
{
    const char *const slash = strrchr(page, '/');
    const int folder = slash == NULL ? 0 : (int)(slash + 1 - page);
    char *const target =
        path == 0 ? dsgd_xstrdup(page) : dsgd_xprintf("%.*s%.*s", folder, page, path, link);
    char *const text = text_of(target);
    const bool found = has_heading(text, link + path + 1, (size_t)(length - path) - 1);
    return found;
}

SUITE(docs, "docs", .seconds = 60, .set_up = set_up, .tear_down = tear_down);

TEST(every_link_has_a_target)
{
    for (int i = 0; i < n_pages; i++) {
        char *const text = text_of(pages[i]);
        for (const char *p = text; (p = strstr(p, "](")) != NULL;) {
            p += 2;
            const int length = (int)strcspn(p, ")\n");
            const int path = (int)strcspn(p, "#)\n");
            if (strncmp(p, "http://", 7) == 0 || strncmp(p, "https://", 8) == 0)
                continue;
            if (path > 0 && !exists(pages[i], p, path, false))
                complain(pages[i], "no target", length, p);
            else if (length > path && !has_target(pages[i], p, path, length))
                complain(pages[i], "no heading", length, p);
        }
    }
    ck_assert_msg(*complaints == '\0', "%s", complaints);
}

/**
 * Returns true if a word is a relative path within the tree, but not a pattern, a URL or a
 * placeholder.
 */
static bool is_path(const char *word, size_t length)
{
    static const char *const ends[] = {".c", ".h", ".md", ".yaml", ".gp", ".py", ".cu", NULL};
    static const char *const placeholders[] = {"NAME", "DIR", "FILE", NULL};
    const char *const slash = memchr(word, '/', length);
    bool right = false;
    for (size_t k = 0; ends[k] != NULL; k++)
        right = right || ends_with(word, length, ends[k]);
    for (size_t k = 0; placeholders[k] != NULL; k++) {
        const char *const place = strstr(word, placeholders[k]);
        right = right && (place == NULL || place >= word + length);
    }
    for (size_t i = 0; i < length; i++)
        right = right && strchr("*~$<>{}[]:", word[i]) == NULL;
    return right && slash != NULL && slash != word;
}

TEST(every_named_path_exists)
{
    static const char separators[] = " \t\n`\"'(),;|=";
    for (int i = 0; i < n_pages; i++) {
        char *const text = text_of(pages[i]);
        for (const char *p = text + strspn(text, separators); *p != '\0';
             p += strspn(p, separators)) {
            size_t length = strcspn(p, separators);
            const char *const word = p;
            p += length;
            while (length > 0 && strchr(".:", word[length - 1]) != NULL)
                length--;
            if (is_path(word, length) && !exists(pages[i], word, (int)length, true))
                complain(pages[i], "no file", (int)length, word);
        }
    }
    ck_assert_msg(*complaints == '\0', "%s", complaints);
}

TEST(every_named_command_exists)
{
    char *const help = output_of(DSGD_BINARY " --help");
    for (int i = 0; i < n_pages; i++) {
        if (strcmp(pages[i], "CHANGELOG.md") == 0)
            continue; /* the changelog may name removed commands */
        char *const text = text_of(pages[i]);
        for (const char *p = text; (p = strstr(p, "dsgd ")) != NULL;) {
            const bool within = p > text && (isalnum((unsigned char)p[-1]) || p[-1] == '-');
            p += strlen("dsgd ");
            const int length = (int)strspn(p, "abcdefghijklmnopqrstuvwxyz");
            char *const line = dsgd_xprintf("\n  %.*s ", length, p);
            char *const usage = dsgd_xprintf("\n  dsgd %.*s ", length, p);
            if (!within && length > 0 && strstr(help, line) == NULL && strstr(help, usage) == NULL)
                complain(pages[i], "no command", length, p);
        }
    }
    ck_assert_msg(*complaints == '\0', "%s", complaints);
}

/** Returns the text of the first fenced block with this language. */
static char *fenced(const char *page, const char *language)
{
    char *const text = text_of(page);
    char *const start = dsgd_xprintf("\n```%s\n", language);
    const char *const begin = strstr(text, start);
    ck_assert_msg(begin != NULL, "%s: no %s", page, language);
    const char *const inside = begin + strlen(start);
    const char *const end = strstr(inside, "```");
    ck_assert_ptr_nonnull(end);
    return dsgd_xprintf("%.*s", (int)(end - inside), inside);
}

TEST(the_readme_of_algorithms_shows_the_source)
{
    char *const code = fenced("algorithms/README.md", "c");
    char *const source = text_of("algorithms/local_sgd.c");
    ck_assert_msg(strstr(source, code) != NULL,
                  "algorithms/README.md shows another local_sgd_work()");
}

/**
 * Tests that the index has a row for each algorithm, with a link to its page, and that the page
 * contains all options.
 */
TEST(every_algorithm_has_a_page)
{
    static const char index[] = "docs/reference/algorithms/index.md";
    char *const text = text_of(index);
    for (size_t i = 0; dsgd_algorithms[i] != NULL; i++) {
        const char *const name = dsgd_algorithms[i]->name;
        if (strstr(text, dsgd_xprintf("\n| [`%s`](%s.md) |", name, name)) == NULL) {
            complain(index, "no row", 64, name);
            continue;
        }
        char *const page = dsgd_xprintf("docs/reference/algorithms/%s.md", name);
        char *const table = dsgd_xprintf("<!-- dsgd describe algorithm %s --markdown -->", name);
        if (strstr(text_of(page), table) == NULL)
            complain(page, "no table of options", 64, name);
    }
    ck_assert_msg(*complaints == '\0', "%s", complaints);
}

/** Tests that the example of each algorithm is valid in an experiment with the keys below. */
TEST(the_example_of_each_algorithm_is_accepted)
{
    char folder[] = "/tmp/dsgd-docs-XXXXXX";
    ck_assert_ptr_nonnull(mkdtemp(folder));
    char *const path = dsgd_xprintf("%s/example.yaml", folder);
    for (size_t i = 0; dsgd_algorithms[i] != NULL; i++) {
        FILE *const file = fopen(path, "w");
        ck_assert_ptr_nonnull(file);
        fprintf(file,
                "name: example\nplatform: piz-daint\nworkers: 16\nuntil: {steps: 20}\n"
                "workload: {bytes: 100MB, step: 300ms, samples: 32}\n%s",
                fenced(dsgd_xprintf("docs/reference/algorithms/%s.md", dsgd_algorithms[i]->name),
                       "yaml"));
        fclose(file);
        output_of(dsgd_xprintf("%s check %s --numerics off 2>&1", DSGD_BINARY, path));
    }
    output_of(dsgd_xprintf("rm -r %s", folder));
}

/** Tests that all files contain the version that CMakeLists.txt sets. */
TEST(version_is_the_same_everywhere)
{
    static const char *const places[][2] = {
        {"CITATION.cff", "\nversion: " DSGD_VERSION "\n"},
        {"CHANGELOG.md", "\n## " DSGD_VERSION " - "},
    };
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        char *const text = text_of(places[i][0]);
        ck_assert_msg(strstr(text, places[i][1]) != NULL, "%s: no%s", places[i][0], places[i][1]);
    }
    char *const newest = text_of("packaging/debian/changelog");
    ck_assert_msg(strncmp(newest, "dsgd (" DSGD_VERSION ") ", 8 + strlen(DSGD_VERSION)) == 0,
                  "packaging/debian/changelog: %.60s", newest);
    ck_assert_str_eq(output_of(DSGD_BINARY " --version"), "dsgd " DSGD_VERSION "\n");
}

TEST(quick_start_prints_the_table_of_the_readme)
{
    char folder[] = "/tmp/dsgd-docs-XXXXXX";
    ck_assert_ptr_nonnull(mkdtemp(folder));
    char *const command =
        dsgd_xprintf("%s run %s/plots/quick-start/quick-start.yaml -o %s/r 2>/dev/null; status=$?; "
                     "rm -r %s; exit $status",
                     DSGD_BINARY, DSGD_SOURCE_DIR, folder, folder);
    char *const table = output_of(command);
    char *const readme = text_of("README.md");
    int n = 0;
    for (const char *p = strstr(table, "\n  1  "); p != NULL && p[1] == ' ';
         p = strchr(p + 1, '\n')) {
        int length = (int)strcspn(p + 1, "\n") + 1;
        while (p[length - 1] != ' ') /* removes the last column, which contains the wall time */
            length--;
        char *const row = dsgd_xprintf("%.*s", length, p);
        if (strstr(readme, row) == NULL)
            complain("README.md", "the quick start says", length - 1, p + 1);
        n++;
    }
    ck_assert_int_eq(n, 3);
    ck_assert_msg(*complaints == '\0', "%s", complaints);
}

/**
 * Runs the commands in rows `| question | `dsgd ...` | **number** ... |`, in order, because later
 * commands read the results of earlier ones. The output must contain the number.
 */
TEST(commands_of_the_readme_print_its_answers)
{
    char folder[] = "/tmp/dsgd-docs-XXXXXX";
    ck_assert_ptr_nonnull(mkdtemp(folder));
    char *const there = dsgd_xprintf("ln -s %s/plots %s/plots", DSGD_SOURCE_DIR, folder);
    output_of(there);
    char *const text = text_of("README.md");
    int n = 0;
    for (const char *p = text; (p = strstr(p, " | `dsgd ")) != NULL; n++) {
        p += strlen(" | `dsgd ");
        const int words = (int)strcspn(p, "`");
        char *const command =
            dsgd_xprintf("cd %s && COLUMNS=120 %s %.*s 2>/dev/null", folder, DSGD_BINARY, words, p);
        char *const printed = output_of(command);
        const char *const bold = strstr(p, "**") + 2;
        char *const number = dsgd_xprintf(" %.*s", (int)strcspn(bold, "*"), bold);
        const char *found = strstr(printed, number);
        while (found != NULL && isdigit((unsigned char)found[strlen(number)]))
            found = strstr(found + 1, number);
        if (found == NULL)
            complain("README.md", "other than what is printed by dsgd", words, p);
    }
    char *const away = dsgd_xprintf("rm -r %s", folder);
    output_of(away);
    ck_assert_int_eq(n, 5);
    ck_assert_msg(*complaints == '\0', "%s", complaints);
}

TEST(quick_start_writes_the_documented_columns)
{
    char folder[] = "/tmp/dsgd-docs-XXXXXX";
    ck_assert_ptr_nonnull(mkdtemp(folder));
    char *const command =
        dsgd_xprintf("%s run %s/plots/quick-start/quick-start.yaml -o %s/r >/dev/null 2>&1 && "
                     "head -q -n 1 %s/r/*.csv; status=$?; rm -r %s; exit $status",
                     DSGD_BINARY, DSGD_SOURCE_DIR, folder, folder, folder);
    char *const columns = output_of(command);
    char *const page = text_of("docs/reference/results.md");
    for (const char *p = columns; *p != '\0'; p += strspn(p, ",\n")) {
        const int length = (int)strcspn(p, ",\n");
        char *const name = dsgd_xprintf("`%.*s`", length, p);
        if (strstr(page, name) == NULL && strstr(name, "_share") == NULL)
            complain("docs/reference/results.md", "no column", length, p);
        p += length;
    }
    ck_assert_msg(*complaints == '\0', "%s", complaints);
}
