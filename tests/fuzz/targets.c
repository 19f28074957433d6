/**
 * @file targets.c
 * Implements the targets. Each target reads its input in the same way as the program does. If the
 * program accepts the input, the target checks the result.
 */
#include "tests/fuzz/targets.h"

#include <fcntl.h>
#include <regex.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/csv.h"
#include "base/file.h"
#include "base/json.h"
#include "command/analysis/comparison.h"
#include "command/analysis/figure_data.h"
#include "command/commands.h"
#include "command/experiment/config.h"
#include "command/experiment/experiment.h"
#include "command/experiment/traces.h"
#include "command/import/reader.h"
#include "command/runs/manifest.h"
#include "command/runs/parts.h"
#include "command/runs/results.h"
#include "models/data/data.h"
#include "sim/graph.h"
#include "sim/network/cluster.h"
#include "traces/imbalance.h"
#include "traces/nccl_log.h"
#include "traces/nccl_topology.h"
#include "traces/slurm.h"
#include "traces/step_log.h"

const fuzz_target fuzz_targets[] = {
    {"experiment", fuzz_experiment, "plots/*/*.yaml|docs/course/*/*.yaml"},
    {"platform", fuzz_platform, "traces/platforms/*.yaml"},
    {"workload", fuzz_workload, "traces/workloads/*.yaml"},
    {"imbalance", fuzz_imbalance, "traces/imbalance/*.yaml"},
    {"edit", fuzz_edit, NULL},
    {"csv", fuzz_csv, "plots/*/*.csv"},
    {"replay", fuzz_replay, NULL},
    {"fit", fuzz_fit, NULL},
    {"idx", fuzz_idx, NULL},
    {"text", fuzz_text, NULL},
    {"compare", fuzz_compare, NULL},
    {"part", fuzz_part, NULL},
    {"manifest", fuzz_manifest, NULL},
    {"figure", fuzz_figure, NULL},
    {"report", fuzz_report, NULL},
    {"edges", fuzz_edges, NULL},
    {"placement", fuzz_placement, NULL},
    {"number", fuzz_number, NULL},
    {"cluster", fuzz_cluster, NULL},
    {"import", fuzz_import, "tests/fuzz/corpus/cluster/*|tests/fuzz/corpus/fit/*"},
    {"task", fuzz_task, "docs/course/*/task*.yaml"},
    {"plugin", fuzz_plugin, NULL},
    {NULL, NULL, NULL},
};

/* --- helpers ---------------------------------------------------------------------------------- */

/**
 * Moves the next of several files from the input to *part, and returns its length. FUZZ_SEPARATOR
 * ends a file.
 */
static size_t next_part(const uint8_t **bytes, size_t *n, const uint8_t **part)
{
    const size_t n_separator = strlen(FUZZ_SEPARATOR);
    *part = *bytes;
    const uint8_t *const end = memmem(*bytes, *n, FUZZ_SEPARATOR, n_separator);
    const size_t length = end == NULL ? *n : (size_t)(end - *bytes);
    const size_t taken = end == NULL ? *n : length + n_separator;
    *bytes += taken;
    *n -= taken;
    return length;
}

/** Returns a copy of @p n bytes as a text. If they contain a null byte, the text ends there. */
static char *text_of(const uint8_t *bytes, size_t n)
{
    char *const text = dsgd_keep(n + 1, 1);
    if (n > 0)
        memcpy(text, bytes, n);
    return text;
}

/** Aborts if a reader fails without an error message. */
static void expect_sentence(dsgd_status status, const dsgd_error *error)
{
    DSGD_ASSERT(status == DSGD_OK || error->text[0] != '\0', "a refusal (%d) without a word",
                status);
}

/** Writes parameters as JSON, as in a manifest, and aborts if this fails. */
static void expect_json(const dsgd_option *options, const void *params)
{
    json_t *const object = dsgd_json_options(options, params);
    char *const text = json_dumps(object, JSON_COMPACT);
    DSGD_ASSERT(text != NULL, "what was read is no JSON");
}

static char *made; /* path of the folder that folder() has created, or NULL before the first call */

/**
 * Returns the path of a folder for files that are found by their names. It exists until the process
 * ends.
 */
static const char *folder(void)
{
    dsgd_error error;
    if (made == NULL) {
        made = dsgd_folder_new(access("/dev/shm", W_OK) == 0 ? "/dev/shm/dsgd-fuzz" : NULL, &error);
        DSGD_ASSERT(made != NULL, "%s", error.text);
        static const char *const inside[] = {".parts", "figures", "merged"};
        for (size_t i = 0; i < sizeof inside / sizeof inside[0]; i++)
            DSGD_ASSERT(dsgd_make_folder(&error, "%s/%s", made, inside[i]) == DSGD_OK, "%s",
                        error.text);
    }
    return made;
}

__attribute__((destructor)) static void at_end(void)
{
    dsgd_folder_remove(made);
}

static void write_into_folder(const char *name, const void *bytes, size_t n)
{
    char *const path = dsgd_xprintf("%s/%s", folder(), name);
    FILE *const stream = fopen(path, "wb");
    DSGD_ASSERT(stream != NULL && fwrite(bytes, 1, n, stream) == n && fclose(stream) == 0,
                "%s cannot be written", path);
}

/** Writes one part of the input to each of the files @p names in the folder. */
static void write_parts_into_folder(const uint8_t **bytes, size_t *n, const char *const *names)
{
    for (; *names != NULL; names++) {
        const uint8_t *part = NULL;
        const size_t length = next_part(bytes, n, &part);
        write_into_folder(*names, part, length);
    }
}

/** Returns the text of a file in the folder. */
static char *read_from_folder(const char *name)
{
    char *const path = dsgd_xprintf("%s/%s", folder(), name);
    char *text = NULL;
    size_t n = 0;
    dsgd_error error;
    DSGD_ASSERT(dsgd_file_read(path, &text, &n, &error) == DSGD_OK, "%s", error.text);
    return text;
}

/**
 * Runs a command with at most 8 words, and writes its output to the file @p printed in the folder.
 */
static dsgd_status run_command(const dsgd_command *command, const char *const *words,
                               const char *printed, dsgd_error *error)
{
    enum { MOST = 8 };
    /*
     * The command gets the array given[], which it may sort. The array copies[] keeps all pointers.
     */
    char *copies[MOST + 1], *given[MOST + 1];
    int count = 0;
    for (; words[count] != NULL && count < MOST; count++)
        given[count] = copies[count] = dsgd_xstrdup(words[count]);
    given[count] = NULL;
    fflush(stdout);
    char *const path = dsgd_xprintf("%s/%s", folder(), printed);
    const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    /*
     * The copy of standard output gets a number from 100 on, so lower numbers remain free for the
     * command.
     */
    const int before = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 100);
    DSGD_ASSERT(file >= 0 && before >= 0 && dup2(file, STDOUT_FILENO) >= 0, "no output: %m");
    close(file);
    const dsgd_status status = command->run(count, given, error);
    fflush(stdout);
    dup2(before, STDOUT_FILENO);
    close(before);
    return status;
}

/* --- YAML ------------------------------------------------------------------------------------- */

void fuzz_experiment(const uint8_t *bytes, size_t n)
{
    dsgd_experiment experiment;
    dsgd_error error = {""};
    const char *const path = fuzz_file(0, bytes, n);
    const dsgd_status status =
        dsgd_experiment_open(path, NULL, 0, DSGD_NUMERICS_OFF, &experiment, &error);
    expect_sentence(status, &error);
    if (status != DSGD_OK)
        return;
    DSGD_ASSERT(experiment.n_runs > 0 && experiment.n_runs <= DSGD_MOST_RUNS, "%zu runs",
                experiment.n_runs);
}

void fuzz_platform(const uint8_t *bytes, size_t n)
{
    enum { HOSTS = 8, MOST_HOSTS = 4096 };
    dsgd_config *config = NULL;
    dsgd_platform platform;
    dsgd_error error = {""};
    dsgd_status status = dsgd_platform_open(fuzz_file(0, bytes, n), &config, &platform, &error);
    if (status == DSGD_OK)
        status = dsgd_platform_check(&platform, &error);
    expect_sentence(status, &error);
    if (status == DSGD_OK) {
        expect_json(dsgd_platform_options, &platform);
        const int most = dsgd_platform_most_hosts(&platform);
        const int hosts = most < DSGD_PLATFORM_ANY ? most : HOSTS;
        if (platform.topology != DSGD_TOPOLOGY_XML && hosts >= HOSTS && hosts <= MOST_HOSTS)
            status = dsgd_platform_write(&platform, hosts, fuzz_file(1, NULL, 0), &error);
        DSGD_ASSERT(status == DSGD_OK, "%s", error.text);
    }
}

void fuzz_workload(const uint8_t *bytes, size_t n)
{
    dsgd_config *config = NULL;
    dsgd_workload workload = {0};
    dsgd_error error = {""};
    dsgd_status status = dsgd_workload_open(fuzz_file(0, bytes, n), &config, &workload, &error);
    if (status == DSGD_OK)
        status = dsgd_workload_check(&workload, &error);
    expect_sentence(status, &error);
    if (status == DSGD_OK)
        expect_json(dsgd_workload_options, &workload);
}

/** Aborts if one of the first step times is negative. */
static void expect_seconds(const dsgd_imbalance *imbalance, int n_workers)
{
    const dsgd_batch_size batch = {.samples = 32, .rows = 1000, .longest = 50};
    for (int i = 0; i < 16; i++) {
        const dsgd_step_at at = {1, n_workers, i % n_workers, 7L * i, batch, 0, NULL};
        const double seconds = dsgd_imbalance_seconds(imbalance, 0.1, at);
        DSGD_ASSERT(seconds >= 0, "a step takes %g s", seconds);
    }
}

void fuzz_imbalance(const uint8_t *bytes, size_t n)
{
    enum { WORKERS = 8 };
    dsgd_config *config = NULL;
    dsgd_spec_set set = {0};
    dsgd_imbalance *imbalance = NULL;
    dsgd_error error = {""};
    dsgd_status status = dsgd_imbalance_set_open(fuzz_file(0, bytes, n), &config, &set, &error);
    if (status == DSGD_OK)
        status = dsgd_imbalance_open(&set.entries, 1, WORKERS, &imbalance, &error);
    expect_sentence(status, &error);
    if (status == DSGD_OK)
        expect_seconds(imbalance, WORKERS);
    dsgd_imbalance_close(imbalance);
}

/**
 * Reads a file, and assigns values to its keys, one assignment per line. The edited file that the
 * program writes must be readable.
 */
void fuzz_edit(const uint8_t *bytes, size_t n)
{
    enum { MOST = 8 };
    const uint8_t *file = NULL;
    const size_t n_file = next_part(&bytes, &n, &file);
    char *const lines = text_of(bytes, n);
    const char *assignments[MOST];
    size_t n_assignments = 0;
    char *rest = lines;
    for (char *line = NULL; n_assignments < MOST && (line = strsep(&rest, "\n")) != NULL;)
        assignments[n_assignments++] = line;
    char *edited = NULL;
    dsgd_error error = {""};
    const char *const path = fuzz_file(0, file, n_file);
    const dsgd_status status =
        dsgd_config_edited(path, assignments, n_assignments, &edited, &error);
    expect_sentence(status, &error);
    dsgd_config *config = NULL;
    if (status == DSGD_OK) {
        const dsgd_status again =
            dsgd_config_open(fuzz_file(1, edited, strlen(edited)), &config, &error);
        DSGD_ASSERT(again == DSGD_OK, "an edited file cannot be read: %s\n%s", error.text, edited);
    }
}

/* --- tables ----------------------------------------------------------------------------------- */

/** Returns a CSV text that contains the fields of @p csv. */
static char *csv_text(const dsgd_csv *csv, size_t *n)
{
    char *text = NULL;
    FILE *const stream = open_memstream(&text, n);
    for (size_t i = 0; i < (csv->n_rows + 1) * csv->n_columns; i++) {
        dsgd_csv_text(stream, csv->fields[i]);
        fputc((i + 1) % csv->n_columns == 0 ? '\n' : ',', stream);
    }
    fclose(stream);
    return text;
}

/**
 * Writes a table and reads it again. Aborts if the two tables differ. A table with one column is
 * not checked, because the line of an empty field would be empty, and empty lines are not rows.
 */
static void expect_same(const dsgd_csv *csv)
{
    size_t n = 0;
    char *const text = csv_text(csv, &n);
    dsgd_csv again;
    dsgd_error error = {""};
    const dsgd_status status = dsgd_csv_parse(&again, text, &error);
    DSGD_ASSERT(status == DSGD_OK && again.n_columns == csv->n_columns &&
                    again.n_rows == csv->n_rows,
                "another table: %s\n%s", error.text, text);
    for (size_t i = 0; i < (csv->n_rows + 1) * csv->n_columns; i++)
        DSGD_ASSERT(strcmp(again.fields[i], csv->fields[i]) == 0, "another field %zu: %s", i, text);
    free(text);
}

void fuzz_csv(const uint8_t *bytes, size_t n)
{
    dsgd_csv csv;
    dsgd_error error = {""};
    const dsgd_status status = dsgd_csv_read(&csv, &error, "%s", fuzz_file(0, bytes, n));
    expect_sentence(status, &error);
    if (status == DSGD_OK && csv.n_columns > 1)
        expect_same(&csv);
    for (size_t row = 0; status == DSGD_OK && row < csv.n_rows; row++)
        for (size_t k = 0; k < csv.n_columns; k++)
            DSGD_ASSERT(!isinf(dsgd_csv_value(&csv, row, k)), "an infinite number");
}

void fuzz_replay(const uint8_t *bytes, size_t n)
{
    struct {
        const char *file;
    } params = {fuzz_file(0, bytes, n)};
    dsgd_spec pick = {dsgd_entry_find(dsgd_imbalance_kinds, "replay"), &params};
    const dsgd_specs picks = {1, &pick};
    dsgd_imbalance *imbalance = NULL;
    dsgd_error error = {""};
    const dsgd_status status = dsgd_imbalance_open(&picks, 1, 4, &imbalance, &error);
    expect_sentence(status, &error);
    if (status == DSGD_OK)
        expect_seconds(imbalance, 4);
    dsgd_imbalance_close(imbalance);
}

/** Aborts if the program cannot read the entries of `imbalance` that a command has printed. */
static void expect_entries(const char *printed)
{
    enum { WORKERS = 8 };
    static const char head[] = "\nimbalance: #";
    for (const char *at = printed; (at = strstr(at, head)) != NULL; at++) {
        const char *const first = strchr(at + strlen(head), '\n') + 1;
        const char *const end = strstr(first, "\n\n");
        const int length = (int)(end == NULL ? strlen(first) : (size_t)(end - first));
        char *const text =
            dsgd_xprintf("summary: fitted\norigin: fitted\nentries:\n%.*s\n", length, first);
        dsgd_config *config = NULL;
        dsgd_spec_set set = {0};
        dsgd_imbalance *imbalance = NULL;
        dsgd_error error = {""};
        const char *const path = fuzz_file(1, text, strlen(text));
        dsgd_status status = dsgd_imbalance_set_open(path, &config, &set, &error);
        /*
         * An entry `slow` may name a worker that does not exist here, so such entries are not
         * opened.
         */
        if (status == DSGD_OK && strstr(text, "kind: slow") == NULL)
            status = dsgd_imbalance_open(&set.entries, 1, WORKERS, &imbalance, &error);
        DSGD_ASSERT(status == DSGD_OK, "printed entries cannot be read: %s\n%s", error.text, text);
        dsgd_imbalance_close(imbalance);
    }
}

/** Reads step times, and fits distributions to them. */
void fuzz_fit(const uint8_t *bytes, size_t n)
{
    dsgd_error error = {""};
    const char *const words[] = {"imbalance", "fit", fuzz_file(0, bytes, n), NULL};
    const dsgd_status status = run_command(&dsgd_command_imbalance, words, "printed", &error);
    expect_sentence(status, &error);
    char *const printed = read_from_folder("printed");
    if (status == DSGD_OK)
        expect_entries(printed);
}

/* --- results ---------------------------------------------------------------------------------- */

/**
 * Reads runs.csv, and also curves.csv and a target if the input contains them. Then compares the
 * runs.
 */
void fuzz_compare(const uint8_t *bytes, size_t n)
{
    static const char *const names[] = {"runs.csv", "curves.csv", NULL};
    write_parts_into_folder(&bytes, &n, names);
    char *const target = text_of(bytes, n);
    dsgd_comparison comparison;
    dsgd_error error = {""};
    const dsgd_status status =
        dsgd_comparison_open(folder(), &(dsgd_framing){.by = NULL}, *target == '\0' ? NULL : target,
                             &comparison, &error);
    expect_sentence(status, &error);
    for (size_t i = 0; status == DSGD_OK && i < comparison.frame.n_points; i++) {
        const dsgd_frame_point *const point = &comparison.frame.points[i];
        dsgd_frame_label(&comparison.frame, point);
        DSGD_ASSERT(dsgd_frame_count(&comparison.frame, point, "diverged") <= point->n_rows,
                    "more rows");
    }
}

/**
 * Writes the file of a run's results. If it starts with a checksum, corrects the checksum, so that
 * the program reads the text that follows.
 */
static void write_part(const uint8_t *bytes, size_t n)
{
    static const char head[] = "dsgd part 1, crc ";
    enum { DIGITS = 8 };
    char *const text = text_of(bytes, n);
    const char *const line = memchr(text, '\n', n);
    const size_t at = sizeof head - 1;
    if (line != NULL && (size_t)(line - text) > at + DIGITS) {
        char digits[DIGITS + 1];
        snprintf(digits, sizeof digits, "%08lx",
                 crc32_z(0, (const unsigned char *)line + 1, n - (size_t)(line + 1 - text)) &
                     0xfffffffful);
        memcpy(text + at, digits, DIGITS);
    }
    write_into_folder(".parts/1.part", text, n);
}

/** Reads the file of a run's results, which contains its rows. */
void fuzz_part(const uint8_t *bytes, size_t n)
{
    write_part(bytes, n);
    dsgd_results *const results = dsgd_results_new(folder(), 1, NULL, 0);
    dsgd_error error = {""};
    expect_sentence(dsgd_results_read(results, 0, &error), &error);
    const char *const seed = dsgd_results_field(results, 0, "seed");
    DSGD_ASSERT(seed == NULL || dsgd_results_state(results, 0) != DSGD_RUN_ABSENT,
                "a seed of nothing");
    DSGD_ASSERT(strchr(dsgd_results_why(results, 0), '\n') == NULL &&
                    strchr(dsgd_results_device(results, 0), '\n') == NULL,
                "two lines in one");
    DSGD_ASSERT(!isinf(dsgd_results_throughput(results, 0)), "an infinite throughput");
}

/** Aborts if the results of the first run differ between two folders. */
static void expect_same_part(const char *folder_a, const char *folder_b)
{
    dsgd_part a, b;
    dsgd_error error = {""};
    DSGD_ASSERT(dsgd_part_read(folder_a, 0, &a, &error) == DSGD_OK &&
                    dsgd_part_read(folder_b, 0, &b, &error) == DSGD_OK && a.text != NULL &&
                    b.text != NULL,
                "no part was written: %s", error.text);
    for (int k = 0; k < DSGD_PART_SECTIONS; k++)
        DSGD_ASSERT(a.n_bytes[k] == b.n_bytes[k] &&
                        memcmp(a.sections[k], b.sections[k], a.n_bytes[k]) == 0,
                    "another section %d", k);
}

/** Reads a manifest and the results of its first run, and merges them into another folder. */
void fuzz_manifest(const uint8_t *bytes, size_t n)
{
    static const char *const names[] = {"manifest.json", NULL};
    write_parts_into_folder(&bytes, &n, names);
    write_part(bytes, n);
    char *const into = dsgd_xprintf("%s/merged", folder());
    const char *const words[] = {"merge", folder(), "-o", into, "--force", NULL};
    /*
     * Opens and closes a descriptor to learn the next free number. The command opens its lock under
     * this number and keeps it open, so the test closes it.
     */
    const int lock = dup(STDOUT_FILENO);
    close(lock);
    dsgd_error error = {""};
    const dsgd_status status = run_command(&dsgd_command_merge, words, "printed", &error);
    close(lock);
    expect_sentence(status, &error);
    json_t *const given = dsgd_manifest_read(folder());
    json_t *const merged = status == DSGD_OK ? dsgd_manifest_read(into) : NULL;
    DSGD_ASSERT(status != DSGD_OK || merged != NULL, "no manifest was written");
    if (merged != NULL) {
        json_object_set(given, "command", json_object_get(merged, "command"));
        /* The value of timed_by may differ, because it describes all runs. */
        json_object_set(given, "timed_by", json_object_get(merged, "timed_by"));
        DSGD_ASSERT(json_equal(given, merged) == 1, "another manifest was written");
        if (json_array_size(json_object_get(merged, "runs")) > 0)
            expect_same_part(folder(), into);
    }
}

/**
 * Aborts if gnuplot could execute a line of a gnuplot script. Allowed lines are comments, data, and
 * definitions of variables or arrays with constant values.
 */
static void expect_variables(char *script)
{
#define VALUE "('([^']|'')*'|[-+.0-9a-zA-Z]+)"
    static const char pattern[] = "^(#.*|(array )?[A-Za-z_][A-Za-z0-9_]*([[][0-9]+[]])? = "
                                  "(" VALUE "|[[](" VALUE "(, " VALUE ")*)?[]]))?$";
    static regex_t regex;
    static bool is_compiled = false;
    if (!is_compiled)
        is_compiled = regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB) == 0;
    const char *const data = " << EOD";
    bool in_data = false;
    for (char *line = NULL; (line = strsep(&script, "\n")) != NULL;) {
        const char *const begins = line[0] == '$' ? strstr(line, data) : NULL;
        if (in_data)
            in_data = strcmp(line, "EOD") != 0;
        else if (begins != NULL && begins[strlen(data)] == '\0')
            in_data = true;
        else
            DSGD_ASSERT(regexec(&regex, line, 0, NULL, 0) == 0, "gnuplot would do this: %s", line);
    }
}

/** Reads tables, a manifest and a target, and computes the variables of all figures from them. */
void fuzz_figure(const uint8_t *bytes, size_t n)
{
    static const char *const names[] = {
        "runs.csv", "curves.csv", "staleness.csv", "steps.csv", "manifest.json", "phase.csv", NULL};
    write_parts_into_folder(&bytes, &n, names);
    char *const target = text_of(bytes, n);
    const dsgd_figure_choice choice = {.target = *target == '\0' ? NULL : target};
    dsgd_error error = {""};
    const dsgd_status status = dsgd_figure_data(folder(), folder(), &choice, &error);
    expect_sentence(status, &error);
    char *const script = status == DSGD_OK ? read_from_folder("data.gp") : NULL;
    expect_variables(script);
}

/**
 * Reads results, and writes a report. The figure is newer than the results, so gnuplot is not
 * started.
 */
void fuzz_report(const uint8_t *bytes, size_t n)
{
    static const char *const names[] = {"runs.csv", "manifest.json", "curves.csv",
                                        "figures/scale.svg", NULL};
    write_parts_into_folder(&bytes, &n, names);
    char *const target = text_of(bytes, n);
    const char *const words[] = {"report", folder(), *target == '\0' ? NULL : "-t", target, NULL};
    dsgd_error error = {""};
    const dsgd_status status = run_command(&dsgd_command_report, words, "printed", &error);
    expect_sentence(status, &error);
    char *const page = status == DSGD_OK ? read_from_folder("report.html") : NULL;
    /* The page contains one script of its own, and must not contain another script. */
    const char *const script = page == NULL ? NULL : strcasestr(page, "<script");
    DSGD_ASSERT(script == NULL || strcasestr(script + 1, "<script") == NULL, "another script");
}

/* --- binary files ----------------------------------------------------------------------------- */

/**
 * Reads images and, after a separator, their labels. They are both the training set and the test
 * set.
 */
void fuzz_idx(const uint8_t *bytes, size_t n)
{
    const uint8_t *images = NULL;
    const size_t n_images = next_part(&bytes, &n, &images);
    const char *const x = fuzz_file(0, images, n_images), *const y = fuzz_file(1, bytes, n);
    const char *const paths[4] = {x, y, x, y};
    /* The parameters of the source idx are four paths. */
    const dsgd_data_source *const source = (const void *)dsgd_entry_find(dsgd_data_sources, "idx");
    dsgd_data *data = NULL;
    dsgd_error error = {""};
    const dsgd_status status = source->load(paths, 1, &data, &error);
    expect_sentence(status, &error);
    if (status != DSGD_OK)
        return;
    const dsgd_samples *const all[] = {&data->train, &data->test};
    for (size_t k = 0; k < 2; k++) {
        (void)crc32_z(0, all[k]->x_bytes, (size_t)all[k]->n * data->n_features);
        for (size_t i = 0; i < all[k]->n; i++)
            DSGD_ASSERT(all[k]->labels[i] < data->n_classes, "label %zu is of no class", i);
    }
    dsgd_data_free(data);
}

/** Reads a text as data. The label of each character is the character that follows it. */
void fuzz_text(const uint8_t *bytes, size_t n)
{
    const struct {
        const char *path;
        long context;
    } params = {fuzz_file(0, bytes, n), 4};
    const dsgd_data_source *const source = (const void *)dsgd_entry_find(dsgd_data_sources, "text");
    dsgd_data *data = NULL;
    dsgd_error error = {""};
    const dsgd_status status = source->load(&params, 1, &data, &error);
    expect_sentence(status, &error);
    if (status != DSGD_OK)
        return;
    const dsgd_samples *const all[] = {&data->train, &data->test};
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < (size_t)all[k]->n * data->n_features; i++) {
            const bool ends = (i + 1) % data->n_features == 0;
            DSGD_ASSERT(all[k]->x_bytes[i] < data->n_classes &&
                            all[k]->labels[i] < data->n_classes &&
                            (ends || all[k]->labels[i] == all[k]->x_bytes[i + 1]),
                        "character %zu is not labelled by the next", i);
        }
    dsgd_data_free(data);
}

/* --- Functions that read lists in separate files ---------------------------------------------- */

/**
 * Returns the value of the key k, whose value is the path of a file with the input. The caller
 * closes *config.
 */
static dsgd_yaml *value_of(const uint8_t *bytes, size_t n, dsgd_config **config)
{
    char *const mapping = dsgd_xprintf("k: %s\n", fuzz_file(0, bytes, n));
    dsgd_error error = {""};
    const char *const path = fuzz_file(1, mapping, strlen(mapping));
    const dsgd_status status = dsgd_config_open(path, config, &error);
    DSGD_ASSERT(status == DSGD_OK, "%s", error.text);
    return dsgd_yaml_find(dsgd_config_root(*config), "k");
}

/**
 * Checks the neighbours that a list of edges defines. Each edge must exist in both directions, and
 * the shares that a rank keeps and sends must sum to 1.
 */
static void expect_neighbours(const dsgd_spec *pick, int n_workers)
{
    enum { MOST = 8 };
    int to[MOST], from[MOST], other[MOST];
    double share[MOST];
    bool is[MOST][MOST] = {{false}};
    const dsgd_neighbour_room room = {to, from, other, share};
    for (int rank = 0; rank < n_workers; rank++) {
        const dsgd_neighbours near =
            dsgd_graph_neighbours(pick, n_workers, 1, rank, 0, true, &room);
        double sum = near.keep;
        for (int i = 0; i < near.n_to; i++) {
            DSGD_ASSERT(near.to[i] != rank && near.to[i] < n_workers, "neighbour %d", near.to[i]);
            is[rank][near.to[i]] = true;
            sum += near.share[i];
        }
        DSGD_ASSERT(fabs(sum - 1) < 1e-9, "shares sum to %g", sum);
    }
    for (int a = 0; a < n_workers; a++)
        for (int b = 0; b < n_workers; b++)
            DSGD_ASSERT(is[a][b] == is[b][a], "an edge of one end");
}

void fuzz_edges(const uint8_t *bytes, size_t n)
{
    enum { WORKERS = 8 };
    dsgd_config *config = NULL;
    dsgd_yaml *const entry = value_of(bytes, n, &config);
    const dsgd_entry *const kind = dsgd_entry_find(dsgd_graph_kinds, "edges");
    void *const params = dsgd_keep(1, kind->params_size);
    const dsgd_spec pick = {kind, params};
    dsgd_error error = {""};
    dsgd_status status = dsgd_config_read_value(
        config, entry, dsgd_option_find(kind->options, "edges"), params, &error);
    if (status == DSGD_OK)
        status = dsgd_graph_check(&pick, WORKERS, false, "d_psgd", &error);
    expect_sentence(status, &error);
    if (status == DSGD_OK)
        expect_neighbours(&pick, WORKERS);
}

void fuzz_placement(const uint8_t *bytes, size_t n)
{
    enum { HOSTS = 16, WORKERS = 8 };
    static const dsgd_platform platform; /* this platform is a switch with any number of hosts */
    dsgd_config *config = NULL;
    dsgd_yaml *const entry = value_of(bytes, n, &config);
    dsgd_planned_run run = {.name = NULL};
    int places[WORKERS];
    bool taken[HOSTS] = {false};
    dsgd_error error = {""};
    dsgd_status status = dsgd_config_read_value(
        config, entry, dsgd_option_find(dsgd_experiment_options, "placement"), &run, &error);
    if (status == DSGD_OK)
        status = dsgd_placement_places(&(dsgd_machine){.platform = &platform,
                                                       .n_hosts = WORKERS,
                                                       .placement = run.config.placement,
                                                       .seed = 1},
                                       HOSTS, NULL, places, &error);
    expect_sentence(status, &error);
    for (int i = 0; status == DSGD_OK && i < WORKERS; i++) {
        DSGD_ASSERT(places[i] >= 0 && places[i] < HOSTS && !taken[places[i]], "host %d", places[i]);
        taken[places[i]] = true;
    }
}

/**
 * Reads a number with a suffix in each unit. The number must be finite. Its shortest decimal form
 * must give the same number.
 */
void fuzz_number(const uint8_t *bytes, size_t n)
{
    static const char *const units[] = {NULL, "s", "bytes", "bytes/s", "flop/s", "W", "share"};
    char *const text = text_of(bytes, n);
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        double number = 0, again = 0;
        if (!dsgd_parse_number(text, units[i], &number))
            continue;
        DSGD_ASSERT(isfinite(number), "`%s` is not finite", text);
        char *const written = dsgd_csv_number_text(number);
        DSGD_ASSERT(dsgd_parse_number(written, NULL, &again) && again == number,
                    "`%s` is %g, written %s", text, number, written);
    }
    static const char *const names[] = {"allreduce", "wagma", "d_psgd", NULL};
    dsgd_hint(text, names);
    (void)dsgd_is_file_name(text);
}

/* --- Functions that read the input of `dsgd import` ------------------------------------------- */

void fuzz_cluster(const uint8_t *bytes, size_t n)
{
    dsgd_error error = {""};
    const char *const text = text_of(bytes, n);
    dsgd_nccl_topology node;
    dsgd_slurm_topology leaves = {.n = 0};
    dsgd_nccl_logs logs = {.n = 0};
    if (dsgd_nccl_topology_find(text) != NULL) {
        const dsgd_status status = dsgd_nccl_topology_read("f", text, &node, &error);
        expect_sentence(status, &error);
        DSGD_ASSERT(status != DSGD_OK || node.gpus.value >= 1, "a node without GPUs");
    }
    if (dsgd_nccl_matrix_find(text) != NULL)
        expect_sentence(dsgd_nccl_matrix_read("f", text, &node, &error), &error);
    if (dsgd_slurm_is_conf(text))
        expect_sentence(dsgd_slurm_read("f", text, &leaves, &error), &error);
    else if (dsgd_slurm_is_yaml(text))
        expect_sentence(dsgd_slurm_read_yaml("f", dsgd_config_document(text), &leaves, &error),
                        &error);
    if (dsgd_nccl_json_is(text))
        expect_sentence(dsgd_nccl_json_read("f", text, &logs, &error), &error);
    for (size_t i = 0; i < logs.n; i++)
        for (size_t k = 0; k < logs.v[i].table.bytes.n; k++)
            DSGD_ASSERT(logs.v[i].table.us.v[k] > 0 &&
                            (k == 0 || logs.v[i].table.bytes.v[k] > logs.v[i].table.bytes.v[k - 1]),
                        "a table that does not rise");
    const dsgd_step_log steps = dsgd_step_log_read(text);
    for (size_t i = 0; i < steps.n; i++)
        DSGD_ASSERT(steps.seconds[i] > 0 && isfinite(steps.seconds[i]), "a step of no time");
}

/** Passes a file to the readers of `dsgd import`, in the same order as the program. */
static void offer(dsgd_import *in, void **states, const char *path, bool *found)
{
    enum { HEAD = 1 << 16 };
    char *const head = dsgd_keep(HEAD + 1, 1);
    dsgd_error error = {""};
    const gzFile file = gzopen(path, "rb");
    const int n = gzread(file, head, HEAD);
    gzclose(file);
    in->gave = NULL;
    for (int i = 0; n >= 0 && in->gave == NULL && i < DSGD_IMPORT_READERS; i++) {
        if (dsgd_import_readers[i]->recognise != NULL && !dsgd_import_readers[i]->recognise(head))
            continue;
        if (states[i] == NULL)
            states[i] = dsgd_keep(dsgd_import_readers[i]->state_bytes + 1, 1);
        const dsgd_status status = dsgd_import_readers[i]->read(in, path, states[i], &error);
        expect_sentence(status, &error);
        if (status != DSGD_OK)
            return;
        found[i] = found[i] || in->gave != NULL;
    }
}

/**
 * Passes up to three files to all readers of `dsgd import`. The file that they write must be an
 * experiment.
 */
void fuzz_import(const uint8_t *bytes, size_t n)
{
    dsgd_import in = {.output = dsgd_xprintf("%s/mine.yaml", folder()),
                      .platform_name = "dgx-a100",
                      .workload_name = "resnet50-a100",
                      .ranks = 8};
    void *states[DSGD_IMPORT_READERS] = {NULL};
    bool found[DSGD_IMPORT_READERS] = {false};
    dsgd_error error = {""};
    DSGD_ASSERT(freopen("/dev/null", "w", stdout) != NULL, "%m");
    for (size_t k = 0; k < 3 && n > 0; k++) {
        const uint8_t *part = NULL;
        const size_t n_part = next_part(&bytes, &n, &part);
        offer(&in, states, fuzz_file(k, part, n_part), found);
    }
    dsgd_status status = dsgd_import_open_platform(&in, &error);
    for (int i = 0; status == DSGD_OK && i < DSGD_IMPORT_READERS; i++)
        if (found[i] && dsgd_import_readers[i]->finish != NULL)
            status = dsgd_import_readers[i]->finish(&in, states[i], &error);
    expect_sentence(status, &error);
    if (status != DSGD_OK || memchr(found, 1, sizeof found) == NULL)
        return;
    DSGD_ASSERT(dsgd_import_write(&in, &error) == DSGD_OK, "%s", error.text);
    dsgd_experiment e;
    status = dsgd_experiment_open(in.output, NULL, 0, DSGD_NUMERICS_OFF, &e, &error);
    DSGD_ASSERT(status == DSGD_OK, "what was imported is no experiment: %s", error.text);
}

/* --- tasks ------------------------------------------------------------------------------------ */

/**
 * Reads a task, and applies it to an experiment with two workers and two steps. The task must not
 * pass if a goal is missed.
 */
void fuzz_task(const uint8_t *bytes, size_t n)
{
    static const char learnt[] =
        "{workers: 2, algorithms: [allreduce, {name: local_sgd, label: l}], "
        "workload: resnet50-a100, platform: cloud, until: {steps: 2}}";
    static const char *const names[] = {"task.yaml", NULL};
    const char *const mine = dsgd_xprintf("%s/mine.yaml", folder());
    const char *const asked = dsgd_xprintf("%s/task.yaml", folder());
    const char *const words[] = {"task", mine, "--task", asked, "--jobs", "1", NULL};
    dsgd_error error = {""};
    write_into_folder("mine.yaml", learnt, strlen(learnt));
    write_parts_into_folder(&bytes, &n, names);
    const dsgd_status status = run_command(&dsgd_command_task, words, "task.txt", &error);
    const bool missed = strstr(read_from_folder("task.txt"), "\nnot yet: ") != NULL;
    DSGD_ASSERT(status != DSGD_OK || !missed, "passed, but not yet");
    DSGD_ASSERT(status == DSGD_OK || missed || error.text[0] != '\0', "status %d without a word",
                status);
}

/* --- Functions that read option tables of plug-ins -------------------------------------------- */

typedef struct inner {
    int64_t steps;
    double seconds;
} inner;

static const dsgd_option inner_options[] = {
    DSGD_OPTION_LONG(inner, steps, 1, 0, 8, NULL, "steps"),
    DSGD_OPTION_DOUBLE(inner, seconds, 0, 0, 1, "s", "seconds"),
    DSGD_OPTION_END,
};

/**
 * Returns the option that a row describes: `name kind offset default min max word...`. The offset
 * counts units of 8 bytes, so it is aligned as in a struct. Tables, registries and sizes of an
 * option are fixed.
 */
static dsgd_option row_of(char *line)
{
    enum { MOST_WORDS = 4, FIRST_WORD = 6, MOST = FIRST_WORD + MOST_WORDS };
    const char **const fields = dsgd_keep(MOST + 1, sizeof *fields);
    double x[FIRST_WORD] = {0};
    for (int i = 0; i < MOST && line != NULL; i++) {
        fields[i] = strsep(&line, " ");
        if (i < FIRST_WORD)
            x[i] = strtod(fields[i], NULL);
    }
    return (dsgd_option){.name = fields[0],
                         .kind = (dsgd_option_kind)(x[1] >= 0 && x[1] <= 99 ? x[1] : DSGD_END),
                         .offset = x[2] >= 0 && x[2] < 1e9 ? 8 * (size_t)x[2] : SIZE_MAX - 7,
                         .help = "a row",
                         .init = x[3],
                         .min = x[4],
                         .max = x[5],
                         .words = fields + FIRST_WORD,
                         .init_text = fields[FIRST_WORD],
                         .fields = inner_options,
                         .struct_size = sizeof(inner),
                         .registry = dsgd_graph_kinds,
                         .key = "name"};
}

/** Returns true if two fields share bytes, which is impossible in a struct. */
static bool fields_overlap(const dsgd_option *rows)
{
    for (const dsgd_option *a = rows; a->name != NULL; a++)
        for (const dsgd_option *b = rows; b != a; b++)
            if (a->offset < b->offset + sizeof(dsgd_table) &&
                b->offset < a->offset + sizeof(dsgd_table))
                return true;
    return false;
}

/**
 * Reads the size of a struct, the rows of its option table, and an entry. If the entry is accepted,
 * the program must have written only to this struct.
 */
void fuzz_plugin(const uint8_t *bytes, size_t n)
{
    enum { MOST_ROWS = 16, MOST_BYTES = 4096 };
    const uint8_t *part = NULL;
    const size_t n_part = next_part(&bytes, &n, &part);
    char *rest = text_of(part, n_part);
    dsgd_option rows[MOST_ROWS] = {{.name = NULL}};
    const double size = strtod(strsep(&rest, "\n"), NULL);
    size_t n_rows = 0;
    while (rest != NULL && n_rows < MOST_ROWS)
        rows[n_rows++] = row_of(strsep(&rest, "\n"));
    if (n_rows < MOST_ROWS)
        rows[n_rows++] = (dsgd_option)DSGD_OPTION_END;
    const dsgd_entry about = {.name = "x",
                              .summary = "y",
                              .params_size = size >= 0 && size <= MOST_BYTES ? (size_t)size : 0,
                              .options = rows,
                              .n_options = n_rows};
    dsgd_error error = {""};
    dsgd_status status = dsgd_entry_check(&about, &error);
    expect_sentence(status, &error);
    if (status != DSGD_OK || fields_overlap(rows))
        return;
    dsgd_config *config = NULL;
    void *const params = dsgd_xcalloc(1, about.params_size + 1);
    dsgd_options_default(rows, params);
    status = dsgd_config_open(fuzz_file(0, bytes, n), &config, &error);
    if (status == DSGD_OK)
        status = dsgd_config_read(config, dsgd_config_root(config), rows, NULL, params, &error);
    expect_sentence(status, &error);
    if (status == DSGD_OK)
        expect_json(rows, params);
    free(params);
}
