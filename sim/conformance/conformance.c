/**
 * @file conformance.c The list of checks. Each check asks one question about the algorithm at
 * several numbers of workers.
 */
#include "sim/conformance/conformance.h"

#include "sim/conformance/checks.h"

/* --- running one check ------------------------------------------------------------------------ */

enum { MOST_COUNTS = 8 };

typedef struct check {
    const char *subject;
    dsgd_question *question;
    bool demanded; /* true if the check fails when the algorithm rejects every number of workers */
    /* the check stops when it has accepted this many of the numbers in `counts`; 0 to try all */
    size_t enough;
    /*
     * numbers of workers that full checks try, and numbers that brief checks try; 0 ends each list
     */
    int counts[MOST_COUNTS], brief_counts[MOST_COUNTS];
} check;

static void report(dsgd_tester *t, dsgd_verdict verdict, const char *subject,
                   const dsgd_setting *setting, const char *workers, const char *why)
{
    const dsgd_check ended = {verdict, subject, setting->text, workers, why};
    t->n[verdict]++;
    t->how->report(&ended, t->how->argument);
}

/** Returns the sentence "NAME with OPTIONS at P=8: WHY" for a report. */
static char *sentence(const dsgd_tester *t, const dsgd_setting *setting, int workers)
{
    const char *const name = t->algorithm->about.name;
    char *text = dsgd_xprintf("%s%s%s", name, setting->text[0] == '\0' ? "" : " with ",
                              setting->text[0] == '\0' ? " by default" : setting->text);
    if (workers > 0)
        dsgd_append(&text, " at P=%d", workers);
    dsgd_append(&text, ": %s", t->why.text);
    return text;
}

/**
 * Asks the question of a check at each number of workers until the answer is no. Returns the
 * verdict.
 */
static dsgd_verdict ask_all(dsgd_tester *t, const check *c, const dsgd_setting *setting,
                            char **workers, char **why)
{
    const int *const counts = t->how->brief ? c->brief_counts : c->counts;
    size_t accepted = 0;
    t->undefined = false;
    for (size_t i = 0; i < MOST_COUNTS && counts[i] != 0; i++) {
        if (c->enough > 0 && accepted == c->enough)
            break;
        if (t->law != NULL && t->law->at != NULL && !t->law->at(setting->params, counts[i]))
            continue;
        const dsgd_status answer = c->question(t, setting, counts[i]);
        const bool refused = answer == DSGD_EUSAGE && !t->undefined;
        if (answer == DSGD_OK)
            dsgd_append(workers, "%s%d", accepted++ == 0 ? "" : ", ", counts[i]);
        /* reports only the first rejection of a number of workers */
        else if (!refused || *why == NULL)
            *why = sentence(t, setting, counts[i]);
        if (answer != DSGD_OK && !refused)
            return t->undefined ? DSGD_CHECK_LEFT_OUT : DSGD_CHECK_FAILED;
    }
    if (accepted > 0)
        return DSGD_CHECK_PASSED;
    if (*why == NULL) /* the reason is the law itself, which excludes every number of workers */
        *why = dsgd_xprintf("%s: the law holds at no P that was tried", t->algorithm->about.name);
    else
        dsgd_append(why, "%s", "; every P that was tried is rejected");
    return c->demanded ? DSGD_CHECK_FAILED : DSGD_CHECK_LEFT_OUT;
}

static dsgd_verdict make(dsgd_tester *t, const check *c, const dsgd_setting *setting,
                         bool tells_left_out)
{
    if (t->hung)
        return DSGD_CHECK_LEFT_OUT;
    char *workers = dsgd_xstrdup("");
    char *why = NULL;
    const dsgd_verdict verdict = ask_all(t, c, setting, &workers, &why);
    if (verdict != DSGD_CHECK_LEFT_OUT || tells_left_out)
        report(t, verdict, c->subject, setting, verdict == DSGD_CHECK_PASSED ? workers : "",
               verdict == DSGD_CHECK_PASSED ? "" : why);
    return verdict;
}

/* --- running all checks ----------------------------------------------------------------------- */

/* Checks with default options. Some numbers of workers are odd, and some are not powers of two. */
static const check of_defaults[] = {
    {"ends and is reproducible",
     dsgd_ends_and_repeats,
     true,
     0,
     {1, 2, 3, 4, 6, 7, 8, 16},
     {1, 3, 4}},
    {"learns", dsgd_choice_ends_and_learns, true, 2, {4, 7, 8, 6}, {4, 6}},
    {"keeps consensus", dsgd_keeps_consensus, true, 2, {3, 8, 4, 6}, {4, 6}},
    {"ends despite a slow worker", dsgd_bears_a_slow_worker, true, 2, {3, 8, 4, 6}, {4, 6}},
    {"ends despite random delays", dsgd_bears_delays, true, 0, {3, 6, 8, 16}, {4, 6}},
};

static const check of_laws[] = {
    [DSGD_LAW_PLAIN_SGD] = {"law PLAIN_SGD", dsgd_is_allreduce, true, 0, {1}, {1}},
    [DSGD_LAW_ALLREDUCE] =
        {"law ALLREDUCE", dsgd_is_allreduce, true, 0, {2, 3, 4, 6, 7, 8, 16}, {2, 3, 4}},
    [DSGD_LAW_KEEPS_MEAN] =
        {"law KEEPS_MEAN", dsgd_keeps_mean, true, 0, {2, 3, 4, 6, 7, 8, 16}, {3, 4}},
    [DSGD_LAW_KEEPS_SUM] = {"law KEEPS_SUM", dsgd_keeps_mean, true, 0, {1, 3, 5, 8}, {1, 5}},
    [DSGD_LAW_REACHES_MEAN] = {"law REACHES_MEAN", dsgd_reaches_mean, true, 2, {3, 8, 6}, {4}},
};

enum { CHOICE_ENDS, NUMBER_ENDS, STAYS };

/* Checks in which one option differs from its default. */
static const check of_variation[] = {
    [CHOICE_ENDS] = {"learns", dsgd_choice_ends_and_learns, false, 1, {8, 7, 6}, {8}},
    [NUMBER_ENDS] = {"ends", dsgd_number_ends, false, 1, {8, 7, 6}, {8}},
    [STAYS] = {"keeps consensus", dsgd_keeps_consensus, false, 1, {8, 7, 6}, {8}},
};

static void check_laws(dsgd_tester *t)
{
    const dsgd_law *law = t->algorithm->laws;
    for (; law != NULL && law->kind != DSGD_LAW_END && !t->hung; law++) {
        dsgd_setting setting;
        const size_t n = sizeof of_laws / sizeof of_laws[0];
        const bool known = (size_t)law->kind < n && of_laws[law->kind].question != NULL;
        if (known && dsgd_setting_of_law(t, law, &setting) == DSGD_OK) {
            t->law = law;
            const dsgd_verdict verdict = make(t, &of_laws[law->kind], &setting, true);
            t->law = NULL;
            if (law->kind == DSGD_LAW_KEEPS_MEAN && verdict == DSGD_CHECK_PASSED &&
                setting.text[0] != '\0')
                make(t, &of_variation[STAYS], &setting, false);
            continue;
        }
        setting = dsgd_setting_default(t);
        if (!known)
            dsgd_refuse(&t->why, "%d is not a kind of law", (int)law->kind);
        report(t, DSGD_CHECK_FAILED, known ? of_laws[law->kind].subject : "law", &setting, "",
               sentence(t, &setting, 0));
    }
}

static void check_variation(dsgd_tester *t, const dsgd_setting *s)
{
    if (make(t, &of_variation[s->choice ? CHOICE_ENDS : NUMBER_ENDS], s, true) != DSGD_CHECK_PASSED)
        return;
    /*
     * a choice with compression is not checked, because copies of random chunks then differ for a
     * while
     */
    if (s->choice && !s->encoding)
        make(t, &of_variation[STAYS], s, false);
}

void dsgd_conformance_check(const dsgd_algorithm *algorithm, const dsgd_conformance *how,
                            size_t n[DSGD_N_VERDICTS])
{
    memset(n, 0, DSGD_N_VERDICTS * sizeof n[0]);
    dsgd_tester t = {.algorithm = algorithm, .how = how, .n = n};
    const dsgd_setting by_default = dsgd_setting_default(&t);
    for (size_t i = 0; i < sizeof of_defaults / sizeof of_defaults[0]; i++)
        make(&t, &of_defaults[i], &by_default, true);
    check_laws(&t);
    dsgd_setting_variations(&t, check_variation);
    if (t.hung)
        report(&t, DSGD_CHECK_LEFT_OUT, "all others", &by_default, "",
               "not made, because a check hangs");
}
