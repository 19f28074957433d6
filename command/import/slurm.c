/**
 * @file slurm.c
 * Imports Slurm's topology as groups of the platform. Places workers on the nodes of a job.
 */
#include "traces/slurm.h"

#include "base/file.h"
#include "command/experiment/config.h"
#include "command/import/reader.h"

static bool recognise(const char *head)
{
    return dsgd_slurm_is_conf(head) || dsgd_slurm_is_yaml(head);
}

static dsgd_status read(dsgd_import *m, const char *path, void *state, dsgd_error *error)
{
    dsgd_slurm_topology *const t = state;
    char *text = NULL;
    const size_t before = t->n;
    size_t n = 0;
    DSGD_TRY(dsgd_import_text(path, &text, error));
    if (dsgd_slurm_is_conf(text))
        DSGD_TRY(dsgd_slurm_read(path, text, t, error));
    else
        DSGD_TRY(dsgd_slurm_read_yaml(path, dsgd_config_document(text), t, error));
    for (size_t i = before; i < t->n; i++)
        n += t->v[i].nodes.n;
    if (n == 0)
        return dsgd_refuse(error, "%s: no line contains nodes (Nodes=)%s", path,
                           t->include == NULL ? "" : "; also give the files that it includes");
    dsgd_import_gave(m, "%zu nodes on %zu leaves", n, t->n - before);
    if (t->n_inner > 1)
        dsgd_import_gave(m, "%zu switches above them, which count as one", t->n_inner);
    if (t->include != NULL)
        printf("warning: %s: the included file is not read; give it, too\n", t->include);
    return DSGD_OK;
}

static size_t leaf_of(const dsgd_slurm_topology *t, const char *node)
{
    for (size_t i = 0; i < t->n; i++)
        for (size_t k = 0; k < t->v[i].nodes.n; k++)
            if (strcmp(t->v[i].nodes.v[k], node) == 0)
                return i;
    return t->n;
}

/**
 * Places workers on the nodes of the job. The leaf switches of these nodes become the first groups
 * of the platform.
 */
static dsgd_status place_job(dsgd_import *m, const dsgd_slurm_topology *t, int64_t gpus,
                             int64_t group_hosts, dsgd_error *error)
{
    int64_t *const group = dsgd_keep(2 * t->n, sizeof *group), *const used = group + t->n,
                   groups = 0;
    char *places = dsgd_xstrdup(""), *said = dsgd_xstrdup(""), *list = dsgd_xstrdup(m->job_nodes);
    dsgd_hostlist job = {0, NULL};
    if (dsgd_can_read("%s", list))
        DSGD_TRY(dsgd_import_text(m->job_nodes, &list, error));
    list[strcspn(list, " \t\r\n")] = '\0';
    DSGD_TRY(dsgd_hostlist_expand(list, &job, error));
    for (size_t i = 0; i < job.n; i++) {
        const size_t leaf = leaf_of(t, job.v[i]);
        if (leaf == t->n || used[leaf] == (int64_t)t->v[leaf].nodes.n)
            return dsgd_refuse(error, "--nodelist: %s is %s %s", job.v[i],
                               leaf < t->n ? "listed twice, on" : "on no leaf of",
                               leaf < t->n ? t->v[leaf].name : t->v->file);
        if (used[leaf] == 0)
            group[leaf] = groups++;
        for (int64_t g = 0; g < gpus; g++)
            dsgd_append(&places, "%s%jd", *places == '\0' ? "" : ", ",
                        group[leaf] * group_hosts + used[leaf] * gpus + g);
        used[leaf]++;
    }
    for (size_t i = 0; i < t->n; i++)
        if (used[i] > 0)
            dsgd_append(&said, " %s:%jd", t->v[i].name, used[i]);
    printf("the job's nodes by leaf:%s\n", said);
    dsgd_import_line(m, DSGD_IMPORT_TOP, list, "placement: [%s]", places);
    dsgd_import_workers(m, (int64_t)job.n * gpus, list);
    return DSGD_OK;
}

static dsgd_status finish(dsgd_import *m, void *state, dsgd_error *error)
{
    const dsgd_slurm_topology *const t = state;
    const dsgd_platform *const p = &m->platform;
    const bool has_groups = dsgd_platform_group_hosts(p) > 0;
    const int64_t gpus = p->island_hosts > 0 ? p->island_hosts : 1;
    const dsgd_slurm_leaf *largest = t->v;
    for (const dsgd_slurm_leaf *l = t->v; l < t->v + t->n; l++)
        largest = l->nodes.n > largest->nodes.n ? l : largest;
    const double nodes = (double)largest->nodes.n, hosts = nodes * (double)gpus;
    /*
     * Bandwidth out of a group. If the platform has groups, it is the platform's bandwidth per host
     * times the number of hosts. Otherwise, it is the total bandwidth of the NICs.
     */
    const double out = has_groups ? p->group_bytes_per_s / (double)p->group_hosts * hosts
                                  : p->host_bandwidth_bytes_per_s * (double)p->island_nics * nodes;
    const double flow = has_groups ? p->group_flow_bytes_per_s : p->host_bandwidth_bytes_per_s;
    const char *const from = dsgd_xprintf("%s:%zu", largest->file, largest->line);
    const char *const assumed =
        dsgd_xprintf("assumed, %s; %s", has_groups ? "as in the platform" : "all that NICs carry",
                     t->speed == NULL ? from : t->speed);
    DSGD_TRY(dsgd_import_number_is(m, "topology", dsgd_find_word(dsgd_topologies, "groups"), from,
                                   error));
    DSGD_TRY(dsgd_import_number_is(m, "group_hosts", hosts, from, error));
    DSGD_TRY(dsgd_import_number_is(m, "group_bandwidth", out, assumed, error));
    DSGD_TRY(dsgd_import_number_is(m, "group_flow_bandwidth", flow, assumed, error));
    printf("warning: %s: no line contains the bandwidth out of a leaf (Slurm's LinkSpeed has no "
           "unit); set group_bandwidth and group_latency\n",
           from);
    return m->job_nodes == NULL ? DSGD_OK : place_job(m, t, gpus, (int64_t)hosts, error);
}

const dsgd_import_reader dsgd_import_slurm = {
    .name = "topology of Slurm",
    .gives = "topology of Slurm (topology.conf or topology.yaml)",
    .recognise = recognise,
    .read = read,
    .state_bytes = sizeof(dsgd_slurm_topology),
    .finish = finish,
};
