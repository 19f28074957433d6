/**
 * @file registry.c
 * The built-in algorithms, in the order of `dsgd list`, and room for plug-ins'.
 */
#include "sim/registry.h"

// clang-format off
#define DSGD_ALGORITHM_LIST(X)                                                                     \
    X(allreduce) X(eager_solo) X(eager_majority) X(wagma) X(local_sgd) X(dasgd) X(d_psgd)          \
    X(gradient_tracking) X(sgp) X(osgp) X(ad_psgd) X(a_psgd) X(easgd) X(eamsgd) X(drop_compute)    \
    X(slowmo) X(diloco) X(streaming_diloco) X(noloco) X(hierarchical) X(top_k) X(ok_topk)          \
    X(power_sgd) X(ef21) X(choco) X(ssp) X(backup_workers) X(rennala) X(ringmaster)                \
    X(async_local_sgd) X(dsgd_aau)
// clang-format on

enum {
#define X(name) BUILT_IN_##name,
    DSGD_ALGORITHM_LIST(X)
#undef X
        N_BUILT_IN,
    MOST_ADDED = 32
};

#define X(name) extern const dsgd_algorithm dsgd_algorithm_##name;
DSGD_ALGORITHM_LIST(X)
#undef X

/* NULL always ends it. */
const dsgd_about *dsgd_algorithms[N_BUILT_IN + MOST_ADDED + 1] = {
#define X(name) &dsgd_algorithm_##name.about,
    DSGD_ALGORITHM_LIST(X)
#undef X
};

/** Whether CSV and YAML need no quotes for it. */
static bool is_name(const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    return text != NULL && text[0] != '\0' && text[strspn(text, letters)] == '\0';
}

/** The first option without help, or NULL. */
static const dsgd_option *without_help(const dsgd_option *options)
{
    for (const dsgd_option *o = options; o != NULL && o->name != NULL; o++) {
        if (o->help == NULL)
            return o;
        const bool nests = o->kind == DSGD_RECORD || o->kind == DSGD_RECORDS;
        const dsgd_option *const inner = nests ? without_help(o->fields) : NULL;
        if (inner != NULL)
            return inner;
    }
    return NULL;
}

dsgd_status dsgd_algorithm_add(const dsgd_algorithm *algorithm, dsgd_error *error)
{
    const dsgd_about *const about = &algorithm->about;
    if (!is_name(about->name))
        return dsgd_refuse(
            error, "an algorithm has %s%s; a name of letters, digits and _ is needed",
            about->name == NULL ? "no name" : "the name ", about->name == NULL ? "" : about->name);
    if (algorithm->serve == NULL && algorithm->n_servers != NULL)
        return dsgd_refuse(error, "algorithm `%s` needs serve() with its n_servers()", about->name);
    if (about->summary == NULL || algorithm->work == NULL)
        return dsgd_refuse(error, "algorithm `%s` has no %s", about->name,
                           algorithm->work == NULL ? "work()" : "summary");
    const dsgd_option *const silent = without_help(about->options);
    if (silent != NULL)
        return dsgd_refuse(error, "algorithm `%s`: option `%s` has no help", about->name,
                           silent->name);
    if (dsgd_about_find(dsgd_algorithms, about->name) != NULL)
        return dsgd_refuse(error, "algorithm `%s` is there already; give the new one another name",
                           about->name);
    size_t n = N_BUILT_IN;
    while (dsgd_algorithms[n] != NULL)
        n++;
    if (n == N_BUILT_IN + MOST_ADDED)
        return dsgd_refuse(error,
                           "algorithm `%s` is one too many; there is room for %d from plug-ins",
                           about->name, MOST_ADDED);
    dsgd_algorithms[n] = about;
    return DSGD_OK;
}
