/**
 * @file shell.c
 * Functions with which tests run the program in a shell.
 */
#include <check.h>
#include <ctype.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command/experiment/traces.h"
#include "tests/command/shell.h"

char folder[] = "/tmp/dsgd-test-XXXXXX";

void make_folder(void)
{
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

void remove_folder(void)
{
    ck_assert_int_eq(system(dsgd_xprintf("chmod -R u+w %s; rm -rf %s", folder, folder)), 0);
}

const char *measurement(const char *name)
{
    const char *const elsewhere = getenv("DSGD_MEASUREMENTS");
    const char *const path = dsgd_xprintf(
        "%s/%s", elsewhere != NULL ? elsewhere : DSGD_SOURCE_DIR "/../shared/measurements", name);
    if (access(path, R_OK) == 0)
        return path;
    fprintf(stderr, "skipped: there is no %s\n", path);
    return NULL;
}

int shell(const char *command, char **output)
{
    FILE *const stream = popen(command, "r");
    ck_assert_ptr_nonnull(stream);
    char *text = NULL;
    size_t room = 0;
    if (getdelim(&text, &room, '\0', stream) < 0) {
        free(text);
        text = dsgd_xstrdup("");
    }
    const int state = pclose(stream);
    *output = kept(text);
    ck_assert_msg(WIFEXITED(state), "%s", text);
    return WEXITSTATUS(state);
}

int dsgd(const char *arguments, char **output)
{
    return shell(dsgd_xprintf("cd %s && DSGD_DATA=%s %s %s 2>&1", folder, DSGD_SOURCE_DIR,
                              DSGD_BINARY, arguments),
                 output);
}

char *dsgd_ends(int status, const char *format, ...)
{
    va_list words;
    va_start(words, format);
    const char *const arguments = dsgd_xvprintf(format, words);
    va_end(words);
    char *output = NULL;
    const int got = dsgd(arguments, &output);
    ck_assert_msg(got == status, "dsgd %s ends with %d: %s", arguments, got, output);
    return output;
}

char *shell_ends(int status, const char *format, ...)
{
    va_list words;
    va_start(words, format);
    const char *const command = dsgd_xvprintf(format, words);
    va_end(words);
    char *output = NULL;
    const int got = shell(dsgd_xprintf("cd %s && %s", folder, command), &output);
    ck_assert_msg(got == status, "%s ends with %d: %s", command, got, output);
    return output;
}

void write_file(const char *name, const char *content)
{
    char *const path = dsgd_xprintf("%s/%s", folder, name);
    FILE *const stream = fopen(path, "w");
    ck_assert_ptr_nonnull(stream);
    fputs(content, stream);
    fclose(stream);
}

char *read_file(const char *name)
{
    char *const path = dsgd_xprintf("%s/%s", folder, name);
    FILE *const stream = fopen(path, "r");
    ck_assert_msg(stream != NULL, "%s is not there", path);
    char *text = NULL;
    size_t room = 0;
    ck_assert_int_gt(getdelim(&text, &room, '\0', stream), 0);
    fclose(stream);
    return kept(text);
}

/**
 * Writes e.yaml, an experiment of six runs of ten steps. @p more contains further lines for the
 * experiment.
 */
void write_experiment(const char *more)
{
    char *const text = dsgd_xprintf("platform: idle-switch\n"
                                    "workload: {bytes: 1M, step: 100ms, samples: 8}\n"
                                    "workers: [4, 8]\n"
                                    "algorithms: [allreduce, {name: wagma, period: 4}, ad_psgd]\n"
                                    "until: {steps: 10}\n"
                                    "imbalance: [{kind: delay, seconds: 50ms}]\n"
                                    "%s",
                                    more);
    write_file("e.yaml", text);
}

const char learn[] = "learn:\n"
                     "  model: hyperplane\n"
                     "  data: {name: hyperplane, features: 16, points: 512}\n"
                     "  optimizer: {lr: 0.02, momentum: 0.5}\n"
                     "  evaluate: {every: 5}\n";

/** Returns runs.csv without its column wall_s. */
char *without_wall(const char *csv)
{
    int wall = 1;
    for (const char *c = csv; strncmp(c, "wall_s", 6) != 0; c++)
        wall += *c == ',';
    char *const out = dsgd_xcalloc(strlen(csv) + 1, 1);
    size_t n = 0;
    int column = 1;
    for (const char *c = csv; *c != '\0'; c++) {
        column = *c == '\n' ? 1 : column + (*c == ',');
        if (column != wall || *c == ',')
            out[n++] = *c;
    }
    return kept(out);
}

/** Returns the start of the field that follows the field at @p c in a row of a CSV file. */
static const char *skip_field(const char *c)
{
    bool quoted = false;
    for (; *c != '\0' && (quoted || (*c != ',' && *c != '\n')); c++)
        quoted ^= *c == '"';
    return *c == ',' ? c + 1 : c;
}

char *cell_of(const char *file, const char *row, const char *column)
{
    const char *const text = read_file(file);
    const char *line = strstr(text, dsgd_xprintf("\n%s", row));
    ck_assert_msg(line != NULL, "no row %s in %s", row, text);
    line++;
    const size_t n = strlen(column);
    for (const char *head = text; *head != '\n'; head = skip_field(head), line = skip_field(line))
        if (strncmp(head, column, n) == 0 && strchr(",\n", head[n]) != NULL)
            return kept(strndup(line, strcspn(line, ",\n")));
    ck_abort_msg("no column %s in %s", column, text);
}

char *unwrapped(const char *text)
{
    char *const flat = dsgd_xstrdup(text);
    char *to = flat;
    for (const char *c = text; *c != '\0'; c++)
        if (!isspace((unsigned char)*c) || (to > flat && to[-1] != ' '))
            *to++ = isspace((unsigned char)*c) ? ' ' : *c;
    *to = '\0';
    return flat;
}

dsgd_platform read_platform(const char *name)
{
    dsgd_config *config = NULL;
    dsgd_platform platform;
    dsgd_error error = {""};
    const char *const path = dsgd_xprintf("%s/%s", folder, name);
    ck_assert_msg(dsgd_platform_open(path, &config, &platform, &error) == DSGD_OK &&
                      dsgd_platform_check(&platform, &error) == DSGD_OK,
                  "%s", error.text);
    return platform;
}

double cell_number(const char *file, const char *row, const char *column)
{
    return strtod(cell_of(file, row, column), NULL);
}
