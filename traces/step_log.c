/**
 * @file step_log.c
 * Reads the output of training programs line by line. In a line, the step is the number after one
 * word, and the time is the number after another word.
 */
#include "traces/step_log.h"

#include <ctype.h>

/** The output format of a training program. */
typedef struct tool {
    const char *name, *mark, *step, *time; /* mark: text that only lines of this program contain;
                                            * step, time: words before the step and the time */
    double unit_s; /* unit of the time in seconds; 0: each line has a clock; negative: each line has
                    * a progress bar */
} tool;

static const tool tools[] = {
    {"Megatron-LM", "elapsed time per iteration (ms):", "iteration",
     "elapsed time per iteration (ms):", 1e-3},
    {"torchtitan", "tps:", "step:", "", 0},
    {"nanoGPT", "ms, mfu", "iter ", ", time ", 1e-3},
    {"timm", "/s)  LR:", "[", "Time:", 1},
    {"PyTorch's ImageNet example", "Data ", "][", "Time ", 1},
    {"Lightning", "v_num=", "| ", "", -1},
};

/**
 * Returns the number after @p word, and sets *end to the end of the number. Returns a negative
 * value if no number follows, or if the number has a decimal comma.
 */
static double number_after(const char *line, const char *word, const char **end)
{
    const char *const at = strstr(line, word);
    *end = "";
    if (at == NULL)
        return -1;
    char *stop = NULL;
    const double x = strtod(at + strlen(word), &stop);
    *end = stop;
    const bool is_cut = *stop == ',' && isdigit((unsigned char)stop[1]);
    return stop == at + strlen(word) || !isfinite(x) || is_cut ? -1 : x;
}

/**
 * Returns the time of a clock such as `2025-11-25 19:45:01,441`, in seconds since the start of the
 * month. Returns a negative value if the line contains no clock.
 */
static double clock_of(const char *line)
{
    for (const char *at = line; (at = strchr(at, ':')) != NULL; at++) {
        int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, ms = 0;
        if (at - line >= 13 && sscanf(at - 13, "%4d-%2d-%2d %2d:%2d:%2d%*[,.]%3d", &year, &month,
                                      &day, &hour, &minute, &second, &ms) == 7)
            return (day * 24 + hour) * 3600.0 + minute * 60 + second + ms * 1e-3;
    }
    return -1;
}

/**
 * Returns the seconds per step from the last progress bar of a line, such as 8.31it/s or 1.33s/it.
 * Returns a negative value if the line contains no progress bar.
 */
static double bar_of(const char *line)
{
    double x = -1;
    for (const char *at = line; (at = strchr(at, 'i')) != NULL; at++) {
        const bool is_rate = strncmp(at, "it/s", 4) == 0,
                   is_time = at > line + 1 && strncmp(at - 2, "s/it", 4) == 0;
        const char *begin = is_time ? at - 2 : at;
        while (begin > line && (isdigit((unsigned char)begin[-1]) || begin[-1] == '.'))
            begin--;
        const double value = is_rate || is_time ? strtod(begin, NULL) : 0;
        x = value > 0 ? is_rate ? 1 / value : value : x;
    }
    return x;
}

static void add(dsgd_step_log *log, double seconds, size_t line)
{
    log->seconds = dsgd_keep_more(log->seconds, log->n + 1, sizeof(double));
    log->lines = dsgd_keep_more(log->lines, log->n + 1, sizeof(double));
    log->seconds[log->n] = seconds;
    log->lines[log->n++] = (double)line;
}

/**
 * Returns the time of a step in seconds from a line. Returns a value that is not above 0 if the
 * line contains no time. @p from contains the step and the clock of the previous line.
 */
static double time_of(const tool *t, const char *line, double step, const double from[2])
{
    const char *end = NULL;
    if (t->unit_s != 0)
        return t->unit_s > 0 ? t->unit_s * number_after(line, t->time, &end) : bar_of(line);
    return from[1] < 0 ? -1 : (clock_of(line) - from[1]) / (step - from[0]);
}

static dsgd_step_log read_tool(const tool *t, const char *text)
{
    dsgd_step_log log = {.steps_per_line = 1};
    double last[2] = {-1, -1}; /* step and clock of the previous line; -1 before the first line */
    size_t number = 1;
    char *const copy = dsgd_xstrdup(text), *rest = copy, *line = NULL;
    while ((line = strsep(&rest, "\r\n")) != NULL) { /* Split lines also at \r, because programs
                                                      * redraw a progress bar after \r. */
        const char *end = "";
        const size_t here = number;
        number += rest != NULL && text[rest - copy - 1] == '\n';
        const double batch = number_after(line, "global batch size", &end);
        log.batch = fmax(log.batch, *end == ':' ? strtod(end + 1, NULL) : batch);
        const double step = strstr(line, t->mark) == NULL ? -1 : number_after(line, t->step, &end);
        /* Skip a step that another rank has already printed. */
        if (step < 0 || step == last[0] || (t->unit_s == 0 && step < last[0]))
            continue;
        const double seconds = time_of(t, line, step, last);
        log.steps_per_line = last[0] >= 0 && step > last[0] ? step - last[0] : log.steps_per_line;
        if (seconds > 0 && seconds < 1e6)
            add(&log, seconds, here);
        else
            log.left_out += last[0] >= 0 || t->unit_s != 0;
        last[0] = step;
        last[1] = clock_of(line);
    }
    log.tool = log.n + log.left_out > 0 ? t->name : NULL;
    return log;
}

dsgd_step_log dsgd_step_log_read(const char *text)
{
    dsgd_step_log log = {.tool = NULL};
    for (size_t i = 0; i < sizeof tools / sizeof tools[0] && log.tool == NULL; i++)
        if (strstr(text, tools[i].mark) != NULL)
            log = read_tool(&tools[i], text);
    return log;
}
