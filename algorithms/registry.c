/**
 * @file registry.c
 * Contains the table of built-in algorithms, in the order of `dsgd list`. The table has free
 * entries for algorithms of plug-ins.
 */
#include "sim/registry.h"

// clang-format off
#define DSGD_ALGORITHM_LIST(X)                                                                     \
    X(allreduce) X(eager_solo) X(eager_majority) X(wagma) X(local_sgd) X(dasgd) X(d_psgd)          \
    X(gradient_tracking) X(sgp) X(osgp) X(ad_psgd) X(a_psgd) X(easgd) X(eamsgd) X(drop_compute)    \
    X(slowmo) X(diloco) X(streaming_diloco) X(hierarchical) X(top_k) X(ok_topk)          \
    X(power_sgd) X(ef21) X(zero) X(choco) X(ssp) X(backup_workers) X(rennala) X(ringmaster)        \
    X(async_local_sgd) X(dsgd_aau) X(scaffold) X(dadm)                        \
    X(decoupled_diloco) X(dedloc) X(cluster_based)
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

/* table of all algorithms; the last entry is always NULL */
const dsgd_entry *dsgd_algorithms[N_BUILT_IN + MOST_ADDED + 1] = {
#define X(name) &dsgd_algorithm_##name.about,
    DSGD_ALGORITHM_LIST(X)
#undef X
};

/**
 * Returns true if @p text is a valid name of an algorithm. A name contains only letters, digits and
 * _, so it needs no quotes in CSV and YAML.
 */
static bool is_name(const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    return text != NULL && text[0] != '\0' && text[strspn(text, letters)] == '\0';
}

dsgd_status dsgd_algorithm_add(const dsgd_algorithm *algorithm, dsgd_error *error)
{
    const dsgd_entry *const about = &algorithm->about;
    if (!is_name(about->name))
        return dsgd_refuse(error,
                           "the name of an algorithm must have letters, digits and _ only, got %s",
                           about->name == NULL ? "no name" : about->name);
    if (algorithm->serve == NULL && algorithm->n_servers != NULL)
        return dsgd_refuse(error, "algorithm `%s` has n_servers() but no serve()", about->name);
    if (algorithm->serve == NULL && (algorithm->traits & DSGD_OUTPUT_SERVERS))
        return dsgd_refuse(error, "algorithm `%s` has DSGD_OUTPUT_SERVERS but no serve()",
                           about->name);
    if (algorithm->work == NULL || about->reference == NULL)
        return dsgd_refuse(error, "algorithm `%s` has no %s", about->name,
                           algorithm->work == NULL ? "work()" : "reference");
    dsgd_error why;
    if (dsgd_entry_check(about, &why) != DSGD_OK)
        return dsgd_refuse(error, "algorithm `%s`: %s", about->name, why.text);
    if (dsgd_entry_find(dsgd_algorithms, about->name) != NULL)
        return dsgd_refuse(error,
                           "algorithm `%s` already exists. Give the new algorithm another name",
                           about->name);
    size_t n = N_BUILT_IN;
    while (dsgd_algorithms[n] != NULL)
        n++;
    if (n == N_BUILT_IN + MOST_ADDED)
        return dsgd_refuse(error, "algorithm `%s` is one too many: plug-ins can add at most %d",
                           about->name, MOST_ADDED);
    dsgd_algorithms[n] = about;
    return DSGD_OK;
}
