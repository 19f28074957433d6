/**
 * @file faults.c
 * dsgd_faults [SCENE [CALL]]: lets every call of every scene fail once, in each of its ways, and
 * shows what came of it. dsgd_faults kills [COUNT [SEED]]: ends runs at random moments.
 */
#include "base/program.h"
#include "tests/faults/kills.h"
#include "tests/faults/scenes.h"

typedef size_t counts[INJECT_MOST_CALLS][N_VERDICTS];

/** Lets one call fail, and counts the verdict. */
static void try(stage *s, const inject_fault *fault, counts table)
{
    inject_result result;
    char *why = NULL;
    const verdict v = stage_play(s, fault, &result, &why);
    table[fault->call][v]++;
    if (v >= LESS || getenv("DSGD_FAULTS_ALL") != NULL)
        printf("%s: %s %ld %s, %s: %s: %s\n", s->scene->name, inject_calls[fault->call].name,
               fault->n, inject_way_name(fault->way), result.where, verdict_names[v], why);
    fflush(stdout);
}

static void try_call(stage *s, size_t call, long every, counts table)
{
    for (int k = 0; k < INJECT_MOST_WAYS && inject_calls[call].ways[k] != 0; k++) {
        const int way = inject_calls[call].ways[k];
        const long n = way == INJECT_SITES ? (long)s->n_sites : s->counts[call];
        for (long i = 1; i <= n; i += every) {
            const inject_fault fault = {call, way, i, way == INJECT_SITES ? s->sites[i - 1] : 0};
            try(s, &fault, table);
        }
    }
}

static void show(const char *title, counts table, double wall_s)
{
    printf("%s, %.0f s\n%-10s", title, wall_s, "call");
    for (int v = 0; v < N_VERDICTS; v++)
        printf(" %16s", verdict_names[v]);
    for (size_t c = 0; c < inject_n_calls; c++) {
        size_t n = 0;
        for (int v = 0; v < N_VERDICTS; v++)
            n += table[c][v];
        if (n == 0)
            continue;
        printf("\n%-10s", inject_calls[c].name);
        for (int v = 0; v < N_VERDICTS; v++)
            printf(" %16zu", table[c][v]);
    }
    printf("\n");
}

/** How often each call comes. */
static void show_counts(const stage *s)
{
    size_t n = s->n_sites;
    printf("%s:", s->scene->name);
    for (size_t c = 0; c < inject_n_calls; c++) {
        printf(" %s %ld", inject_calls[c].name, s->counts[c]);
        for (int k = 0; k < INJECT_MOST_WAYS && inject_calls[c].ways[k] != 0; k++)
            n += inject_calls[c].ways[k] == INJECT_SITES ? 0 : (size_t)s->counts[c];
    }
    printf("; %zu stacks of malloc; %zu faults\n", s->n_sites, n);
    fflush(stdout);
}

static int try_scenes(const char *name, const char *call, long every)
{
    size_t n_bugs = 0;
    static counts all;
    for (size_t k = 0; k < n_scenes; k++) {
        if (name != NULL && strcmp(name, "all") != 0 && strcmp(name, scenes[k].name) != 0)
            continue;
        const double start_s = dsgd_wall_s();
        counts table = {{0}};
        stage s;
        if (!stage_open(&s, &scenes[k])) {
            fprintf(stderr, "%s: %s\n", scenes[k].name,
                    s.cannot ? "this kernel lets no process watch another one" : "no stage");
            return EXIT_FAILURE;
        }
        show_counts(&s);
        for (size_t c = 0; c < inject_n_calls; c++)
            if (call == NULL || strcmp(call, "-") == 0 || strcmp(call, inject_calls[c].name) == 0)
                try_call(&s, c, every, table);
        show(scenes[k].name, table, dsgd_wall_s() - start_s);
        stage_close(&s);
        for (size_t c = 0; c < inject_n_calls; c++)
            for (int v = 0; v < N_VERDICTS; v++) {
                all[c][v] += table[c][v];
                n_bugs += v >= LESS ? table[c][v] : 0;
            }
    }
    show("all", all, 0);
    printf("%zu bugs\n", n_bugs);
    return n_bugs == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int count, char **words)
{
    if (count > 1 && strcmp(words[1], "kills") == 0)
        return kills_try(count > 2 ? atoi(words[2]) : 100,
                         count > 3 ? strtoull(words[3], NULL, 10) : 1) == 0
                   ? EXIT_SUCCESS
                   : EXIT_FAILURE;
    return try_scenes(count > 1 ? words[1] : NULL, count > 2 ? words[2] : NULL,
                      count > 3 ? atol(words[3]) : 1);
}
