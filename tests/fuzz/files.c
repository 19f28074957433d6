/**
 * @file files.c
 * Stores inputs as files in memory, finds the files of a target, and prints the dictionary for
 * libFuzzer.
 */
#include <glob.h>
#include <sys/mman.h>
#include <unistd.h>

#include "command/experiment/experiment.h"
#include "tests/fuzz/targets.h"
#include "traces/imbalance.h"
#include "traces/platform.h"
#include "traces/workload.h"

/* --- files ------------------------------------------------------------------------------------ */

const char *fuzz_file(size_t which, const void *bytes, size_t n)
{
    enum { MOST = 8 };
    static struct {
        int descriptor;
        char path[32];
    } files[MOST]; /* files in memory, which exist until the process ends */
    DSGD_ASSERT(which < MOST, "file %zu", which);
    if (files[which].descriptor == 0) {
        files[which].descriptor = memfd_create("input", MFD_CLOEXEC);
        DSGD_ASSERT(files[which].descriptor > 0, "no file in memory: %m");
        snprintf(files[which].path, sizeof files[which].path, "/proc/self/fd/%d",
                 files[which].descriptor);
    }
    const int file = files[which].descriptor;
    DSGD_ASSERT(ftruncate(file, 0) == 0 && pwrite(file, bytes, n, 0) == (ssize_t)n,
                "the input cannot be written: %m");
    return files[which].path;
}

static void each_match(const fuzz_target *target, const char *pattern,
                       void (*call)(const fuzz_target *target, const char *path, void *argument),
                       void *argument)
{
    glob_t found;
    if (glob(pattern, 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc; i++)
            call(target, found.gl_pathv[i], argument);
    globfree(&found);
}

void fuzz_each_file(const fuzz_target *target,
                    void (*call)(const fuzz_target *target, const char *path, void *argument),
                    void *argument)
{
    static const char *const kept[] = {"corpus", "crashers"};
    for (size_t k = 0; k < 2; k++) {
        char *const pattern =
            dsgd_xprintf("%s/tests/fuzz/%s/%s/*", DSGD_SOURCE_DIR, kept[k], target->name);
        each_match(target, pattern, call, argument);
    }
    char *const patterns = dsgd_xstrdup(target->shipped == NULL ? "" : target->shipped);
    char *rest = patterns;
    for (char *one = NULL; (one = strsep(&rest, "|")) != NULL && *one != '\0';) {
        char *const pattern = dsgd_xprintf("%s/%s", DSGD_SOURCE_DIR, one);
        each_match(target, pattern, call, argument);
    }
}

/* --- the dictionary --------------------------------------------------------------------------- */

static void print_word(FILE *stream, const char *word)
{
    if (word == NULL || *word == '\0' || strpbrk(word, "\"\\") != NULL)
        return;
    fputc('"', stream);
    for (; *word != '\0'; word++)
        fprintf(stream, (unsigned char)*word < 128 ? "%c" : "\\x%02X", (unsigned char)*word);
    fputs("\"\n", stream);
}

static void print_options(FILE *stream, const dsgd_option *options, int depth)
{
    enum {
        MOST_DEPTH = 6
    }; /* registries may contain each other without end, so the depth is
        * limited */
    for (const dsgd_option *o = options; o != NULL && o->name != NULL && depth < MOST_DEPTH; o++) {
        fprintf(stream, "\"%s: \"\n", o->name);
        for (size_t i = 0; o->words != NULL && o->words[i] != NULL; i++)
            print_word(stream, o->words[i]);
        for (size_t i = 0; dsgd_unit_suffix(o->unit, i) != NULL; i++)
            print_word(stream, dsgd_unit_suffix(o->unit, i));
        print_word(stream, o->key);
        print_word(stream, o->init_text);
        print_options(stream, o->fields, depth + 1);
        for (size_t i = 0; o->registry != NULL && o->registry[i] != NULL; i++) {
            print_word(stream, o->registry[i]->name);
            print_options(stream, o->registry[i]->options, depth + 1);
        }
    }
}

/** Prints each line of @p lines once, in the order in which the lines first occur. */
static void print_once(FILE *stream, char *lines)
{
    char **seen = NULL;
    size_t n = 0;
    for (char *line = NULL; (line = strsep(&lines, "\n")) != NULL;) {
        size_t i = 0;
        while (i < n && strcmp(seen[i], line) != 0)
            i++;
        if (i < n || *line == '\0')
            continue;
        seen = dsgd_xrealloc(seen, n + 1, sizeof *seen);
        seen[n++] = line;
        fprintf(stream, "%s\n", line);
    }
    free(seen);
}

void fuzz_print_dictionary(FILE *stream)
{
    static const char *const others[] = {"sweep: ",
                                         "{sweep: [",
                                         "{from: 1, to: 2, n: 3, log: true}",
                                         "&a",
                                         "*a",
                                         "<<: ",
                                         "---\n",
                                         ": ",
                                         "- ",
                                         "[[0, 1]]",
                                         "1e300",
                                         "-1",
                                         "9007199254740993",
                                         "nan",
                                         "inf",
                                         ".5",
                                         "worker",
                                         "step",
                                         "seconds",
                                         "run",
                                         "status",
                                         "ok",
                                         "diverged",
                                         "failed",
                                         "timeout",
                                         "seed",
                                         "virtual_s",
                                         "accuracy",
                                         "loss",
                                         "dsgd part 1, crc ",
                                         "natural",
                                         "random",
                                         "steps",
                                         "wall_s",
                                         "algorithm",
                                         "workers",
                                         "swept",
                                         "rank",
                                         "step_time_ms",
                                         "lead_",
                                         "<svg viewBox=",
                                         "</svg>"};
    char *text = NULL;
    size_t n = 0;
    FILE *const all = open_memstream(&text, &n);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (strchr(others[i], '\n') == NULL)
            print_word(all, others[i]);
    print_options(all, dsgd_experiment_options, 0);
    print_options(all, dsgd_platform_options, 0);
    print_options(all, dsgd_workload_options, 0);
    fclose(all);
    print_once(stream, text);
    fputs("\"\\x0a--"
          "\\x0a\"\n\"\\x00\\x00\\x08\\x03\"\n\"\\x00\\x00\\x08\\x01\"\n\"\\x1f\\x8b\\x08\"\n",
          stream);
    free(text);
}
