/**
 * @file scenes.c
 * The scenes, and the judge.
 */
#include "tests/faults/scenes.h"

#include <sys/mman.h>
#include <sys/wait.h>

#include "base/file.h"
#include "base/status.h"

const char *const verdict_names[N_VERDICTS] = {
#define X(name, text) text,
    VERDICTS(X)
#undef X
};

#define TABLES "r/runs.csv r/curves.csv r/workers.csv r/staleness.csv r/steps.csv r/failures.csv"
#define RUN "run e.yaml -o r -j 2 --threads 1"

const scene scenes[] = {
    {"run", RUN " --record rec", "rm -r r rec", TABLES " rec/1.record rec/2.record out", "e.yaml",
     true},
    {"resume", RUN " --record rec", "rm r/.parts/2.part rec/2.record",
     TABLES " rec/1.record rec/2.record out", "e.yaml r/.parts/1.part rec/1.record", true},
    {"check", "check e.yaml", "rm -r r rec", "out", "e.yaml", false},
    {"compare", "compare r", "rm -r rec", "r/compare.csv out", "r/.parts/1.part " TABLES, false},
    {"plot", "plot r headline", "rm -r rec", "r/figures/headline.svg r/figures/headline.png out",
     "r/.parts/1.part " TABLES, false},
    {"replay", "replay rec/2.record -o q", "rm -r r", "q/curves.csv out", "rec/2.record", false},
};
const size_t n_scenes = sizeof scenes / sizeof scenes[0];

static const char experiment[] = "platform: idle-switch\n"
                                 "workload: {bytes: 1M, step: 100ms, samples: 8}\n"
                                 "workers: 4\n"
                                 "algorithms: [allreduce, ad_psgd]\n"
                                 "until: {steps: 6}\n"
                                 "imbalance: [{kind: delay, seconds: 50ms}]\n"
                                 "learn:\n"
                                 "  model: hyperplane\n"
                                 "  data: {name: hyperplane, features: 16, points: 128}\n"
                                 "  optimizer: {lr: 0.02, momentum: 0.5}\n"
                                 "  evaluate: {every: 3}\n";

/* --- what is in files ------------------------------------------------------------------------- */

static char *read_text(const char *folder, const char *name, size_t *n)
{
    char *const path = dsgd_xprintf("%s/%s", folder, name);
    char *text = NULL;
    if (dsgd_file_read(path, &text, n, NULL) != DSGD_OK)
        text = NULL;
    return text;
}

/** How many separators are before the cell of wall times: commas before `wall_s`; -1: there is
 * none. */
static int wall_column(const char *text)
{
    int n = 1;
    for (const char *c = text; *c != '\0' && *c != '\n'; c++) {
        if (strncmp(c, ",wall_s", 7) == 0)
            return n;
        n += *c == ',';
    }
    return -1;
}

/**
 * Overwrites times of the wall: a column of tables, and the last word of printed lines with ones.
 */
static void blank_wall(char *text, size_t n, bool is_printed)
{
    const int wall = wall_column(text);
    int column = 0;
    for (char *c = text; c < text + n && wall >= 0; c++) {
        column = *c == '\n' ? 0 : column + (*c == ',');
        if (column == wall && *c != ',')
            *c = ' ';
    }
    for (char *line = text; is_printed && line != NULL && *line != '\0';) {
        char *const end = strchr(line, '\n');
        char *const word = end == NULL ? NULL : memrchr(line, ' ', (size_t)(end - line));
        if (word != NULL && strspn(word, " .0123456789") >= (size_t)(end - word))
            memset(word, ' ', (size_t)(end - word));
        line = end == NULL ? NULL : end + 1;
    }
}

static uint64_t hash_of(const char *text, size_t n)
{
    uint64_t hash = 1469598103934665603u;
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ (unsigned char)text[i]) * 1099511628211u;
    return hash;
}

char *stage_contents(const stage *s, const char *files)
{
    char *const names = dsgd_xstrdup(files);
    char *contents = dsgd_xstrdup("");
    char *rest = names;
    for (const char *name = NULL; (name = strsep(&rest, " ")) != NULL;) {
        size_t n = 0;
        char *const text = read_text(s->work, name, &n);
        const bool is_printed = strcmp(name, "out") == 0;
        if (text == NULL) {
            dsgd_append(&contents, "%s: missing\n", name);
            continue;
        }
        if (is_printed || strstr(name, ".csv") != NULL)
            blank_wall(text, n, is_printed && strcmp(s->scene->name, "compare") != 0);
        dsgd_append(&contents, "%s: %zu bytes %llx\n", name, n,
                    (unsigned long long)hash_of(text, n));
    }
    return contents;
}

/** What the shell prints for a command in the folder where the stage runs. */
static char *ask(const stage *s, const char *command)
{
    char *const line = dsgd_xprintf("cd %s && { %s; } 2>/dev/null", s->work, command);
    FILE *const stream = popen(line, "r");
    char *text = NULL;
    size_t room = 0;
    const bool is_empty = stream == NULL || getdelim(&text, &room, '\0', stream) < 0;
    dsgd_keep_for(free, text);
    if (stream != NULL)
        pclose(stream);
    return is_empty ? dsgd_xstrdup("") : text;
}

/* --- the stage -------------------------------------------------------------------------------- */

static int in_shell(const char *command)
{
    const int state = system(command);
    return WIFEXITED(state) ? WEXITSTATUS(state) : 255;
}

void stage_reset(const stage *s)
{
    char *const command = dsgd_xprintf("rm -rf %s && cp -a %s %s", s->work, s->before, s->work);
    DSGD_ASSERT(in_shell(command) == 0, "%s", command);
}

static void split_words(stage *s)
{
    size_t n = 0;
    s->words[n++] = DSGD_BUILT;
    s->text = dsgd_xstrdup(s->scene->words);
    char *rest = s->text;
    while ((s->words[n] = strsep(&rest, " ")) != NULL)
        n++;
}

static void run(stage *s, const inject_fault *fault, inject_result *result)
{
    const inject_command command = {s->work, s->words, "out", "err", fault->call == inject_n_calls};
    inject_run(&command, fault, s->shared, s->shared_path, result);
}

/** Plays the scene undisturbed, twice: calls are counted in the second. */
static bool play_undisturbed(stage *s)
{
    const inject_fault none = {inject_n_calls, 0, 0, 0};
    inject_result result;
    for (int k = 0; k < 2; k++) {
        stage_reset(s);
        run(s, &none, &result);
        s->cannot = result.cannot;
        if (s->cannot)
            return false;
        char *const made = stage_contents(s, s->scene->made);
        const bool differs = s->made != NULL && strcmp(made, s->made) != 0;
        if (result.state != 0 || differs)
            fprintf(stderr, "%s: undisturbed it ends with state %d and\n%s%s", s->scene->name,
                    result.state, made, differs ? s->made : "");
        s->made = made;
        if (result.state != 0 || differs)
            return false;
    }
    memcpy(s->counts, result.counts, sizeof s->counts);
    s->sites = dsgd_keep(SHIM_MOST_SITES, sizeof *s->sites);
    for (size_t k = 0; k < SHIM_MOST_SITES; k++)
        if (s->shared->sites[k] != 0)
            s->sites[s->n_sites++] = s->shared->sites[k];
    s->kept = stage_contents(s, s->scene->kept);
    return true;
}

bool stage_open(stage *s, const scene *of)
{
    *s = (stage){.scene = of};
    s->root = dsgd_folder_new("/tmp/dsgd-faults", NULL);
    DSGD_ASSERT(s->root != NULL, "no folder");
    s->work = dsgd_xprintf("%s/work", s->root);
    s->before = dsgd_xprintf("%s/before", s->root);
    s->shared_path = dsgd_xprintf("%s/shared", s->root);
    s->shared = inject_share(s->shared_path);
    DSGD_ASSERT(s->shared != NULL, "%s: no map", s->shared_path);
    split_words(s);
    /* Made where it runs, as results say by which command they are */
    char *const make = dsgd_xprintf(
        "mkdir -p %s/tmp && cd %s && printf '%s' >e.yaml && "
        "DSGD_DATA=%s %s " RUN " --record rec >/dev/null 2>&1 && %s && cp -a . %s",
        s->work, s->work, experiment, DSGD_SOURCE_DIR, DSGD_BINARY, of->before, s->before);
    const bool made = in_shell(make) == 0;
    if (!made)
        fprintf(stderr, "%s: this fails: %s\n", of->name, make);
    return made && play_undisturbed(s);
}

void stage_close(stage *s)
{
    munmap(s->shared, sizeof *s->shared);
    dsgd_folder_remove(s->root);
}

/* --- the judge -------------------------------------------------------------------------------- */

/** The program's last sentence on stderr; "" where there is none. */
static char *sentence(const stage *s)
{
    size_t n = 0;
    char *const err = read_text(s->work, "err", &n);
    char *last = NULL;
    for (char *at = err; at != NULL && (at = strstr(at, "dsgd: ")) != NULL; at++)
        last = at;
    char *const said =
        last == NULL ? dsgd_xstrdup("") : dsgd_xprintf("%.*s", (int)strcspn(last, "\n"), last);
    return said;
}

static bool is_same(const stage *s, const char *files, const char *expected, char **why)
{
    char *const now = stage_contents(s, files);
    const bool is = strcmp(now, expected) == 0;
    if (!is)
        dsgd_append(why, " | expected: %s | there is: %s", expected, now);
    return is;
}

verdict stage_judge(stage *s, bool may_litter, char **why)
{
    char *const litter = ask(s, "ls -A tmp; find . -name '*.new' -o -name '*.part' ! -path "
                                "'*/.parts/?.part' ; ls -d r.* q.* rec.*");
    verdict v = MISSED;
    if (!may_litter && *litter != '\0') {
        dsgd_append(why, " | left: %s", litter);
        v = LITTER;
    }
    if (!is_same(s, s->scene->kept, s->kept, why))
        v = DAMAGED;
    if (!s->scene->takes_up || v != MISSED)
        return v;
    const inject_fault none = {inject_n_calls, 0, 0, 0};
    inject_result again;
    run(s, &none, &again);
    if (again.state != 0)
        dsgd_append(why, " | the same command again ends with state %d", again.state);
    return again.state != 0 || !is_same(s, s->scene->made, s->made, why) ? DAMAGED : MISSED;
}

static bool is_call(const inject_fault *fault, const char *name)
{
    return strcmp(inject_calls[fault->call].name, name) == 0;
}

verdict stage_play(stage *s, const inject_fault *fault, inject_result *result, char **why)
{
    stage_reset(s);
    run(s, fault, result);
    *why = sentence(s);
    if (!result->hit)
        return MISSED;
    if (result->hangs)
        return HANGS;
    if (result->n_left > 0)
        return LEFT;
    verdict v = SAID;
    const bool is_memory = is_call(fault, "malloc") || is_call(fault, "mmap");
    if (WIFSIGNALED(result->state) && is_memory && **why == '\0') {
        v = LIBRARY;
    } else if (WIFSIGNALED(result->state)) {
        dsgd_append(why, " | signal %d", WTERMSIG(result->state));
        v = SIGNALLED;
    } else if (WEXITSTATUS(result->state) == 0) {
        v = is_same(s, s->scene->made, s->made, why) ? SAME : LESS;
    } else if (**why == '\0' && !result->on_stderr) {
        dsgd_append(why, " | exit status %d", WEXITSTATUS(result->state));
        v = SILENT;
    }
    /* What was to be removed, or folders that were to be read for it, stay where that fails */
    /* and runs are killed with a program that has no memory */
    const bool may_litter = is_memory || is_call(fault, "unlink") || is_call(fault, "getdents") ||
                            is_call(fault, "stat");
    const verdict after = stage_judge(s, may_litter, why);
    return after == MISSED || v == SIGNALLED || v == LIBRARY ? v : after;
}
