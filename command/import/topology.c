/**
 * @file topology.c
 * Imports NCCL's topology of a node: its GPUs, NICs and links.
 */
#include "traces/nccl_topology.h"

#include "command/import/reader.h"

static bool recognise(const char *head)
{
    return dsgd_nccl_topology_find(head) != NULL;
}

static dsgd_status put(dsgd_import *m, const char *path, const char *key, dsgd_said said,
                       dsgd_error *error)
{
    return said.line == 0 ? DSGD_OK
                          : dsgd_import_number_is(m, key, said.value,
                                                  dsgd_xprintf("%s:%zu", path, said.line), error);
}

/**
 * Sets the number of NICs of a node. The GPUs must share the NICs evenly. Therefore, uses the
 * largest possible number of NICs that divides the number of GPUs, with the same total bandwidth.
 */
static dsgd_status put_nics(dsgd_import *m, const char *path, const dsgd_nccl_topology *t,
                            dsgd_error *error)
{
    const int64_t gpus = (int64_t)t->gpus.value, nics = (int64_t)t->nics.value;
    dsgd_said shared = t->nics, rate = t->nic_bytes_per_s;
    for (shared.value = fmin(nics, gpus); gpus % (int64_t)fmax(shared.value, 1) != 0;)
        shared.value--;
    if (nics > 0 && (int64_t)shared.value != nics) {
        rate.value *= (double)nics / shared.value;
        printf("warning: %s:%zu: %jd NICs for %jd GPUs are replaced by %.0f with the same total "
               "bandwidth\n",
               path, t->nics.line, nics, gpus, shared.value);
    }
    DSGD_TRY(put(m, path, "island_nics", shared, error));
    return put(m, path, "host_bandwidth", rate, error);
}

static void say(dsgd_import *m, const char *path, const dsgd_nccl_topology *t, dsgd_said links)
{
    /* bandwidth that NCCL assumes for a NIC whose speed is unknown, in bytes/s */
    static const double least_nic = 1.25e9;
    char *text = dsgd_xprintf("%.0f GPUs", t->gpus.value);
    if (t->gpu != NULL)
        dsgd_append(&text, " (%s)", t->gpu);
    if (t->hosts.value > 1)
        dsgd_append(&text, " of %.0f hosts on one network of NVLinks", t->hosts.value);
    if (links.line > 0)
        dsgd_append(&text, ", %.4g GB/s each (%s)", links.value / 1e9,
                    t->links_bytes_per_s.line == 0 ? "PCIe"
                    : t->has_switch                ? "links to a switch"
                                                   : "links to each other");
    dsgd_append(&text, ", %.0f NICs", t->nics.value);
    if (t->nic_bytes_per_s.line > 0)
        dsgd_append(&text, " of %.4g GB/s", t->nic_bytes_per_s.value / 1e9);
    dsgd_import_gave(m, "%s", text);
    if (*t->sharing != '\0')
        dsgd_import_gave(m, "the nearest NICs: %s", t->sharing);
    if (links.line == 0)
        dsgd_import_gave(
            m, "%s; these are taken from the platform",
            t->lacks != NULL ? t->lacks : "for NCCL_TOPO_FILE, without NVLinks and speeds of NICs");
    if (t->nic_bytes_per_s.line > 0 && t->nic_bytes_per_s.value <= least_nic)
        printf("warning: %s:%zu: the slowest NIC has %.4g Gb/s: did NCCL find the fast network?\n",
               path, t->nic_bytes_per_s.line, 8e-9 * t->nic_bytes_per_s.value);
    for (const char *w = t->warnings; w != NULL && *w != '\0'; w += strcspn(w, "\n") + 1)
        printf("warning: %s: %.*s\n", path, (int)strcspn(w, "\n"), w);
}

static dsgd_status read(dsgd_import *m, const char *path, void *state, dsgd_error *error)
{
    char *text = NULL;
    dsgd_nccl_topology t;
    (void)state;
    DSGD_TRY(dsgd_import_text(path, &text, error));
    if (dsgd_nccl_topology_find(text) != NULL)
        DSGD_TRY(dsgd_nccl_topology_read(path, text, &t, error));
    else if (dsgd_nccl_matrix_find(text) == NULL)
        return DSGD_OK;
    else
        DSGD_TRY(dsgd_nccl_matrix_read(path, text, &t, error));
    const bool is_linked = t.links_bytes_per_s.line > 0;
    const dsgd_said links = is_linked ? t.links_bytes_per_s : t.pci_bytes_per_s;
    if (t.gpu != NULL)
        dsgd_import_gpu(m, t.gpu, dsgd_xprintf("%s:%zu", path, t.gpus.line));
    say(m, path, &t, links);
    DSGD_TRY(put(m, path, "island_hosts", t.gpus, error));
    DSGD_TRY(put(m, path, "island_bandwidth", links, error));
    DSGD_TRY(put_nics(m, path, &t, error));
    DSGD_TRY(put(m, path, "nccl.links", links, error));
    DSGD_TRY(put(m, path, "nccl.switch",
                 (dsgd_said){t.has_switch, t.lacks == NULL ? links.line : t.gpus.line}, error));
    DSGD_TRY(put(m, path, "nccl.generation", t.generation, error));
    DSGD_TRY(put(m, path, "nccl.network_latency", t.network_latency_s, error));
    return put(m, path, "nccl.amd_host", (dsgd_said){t.amd_host, t.hosts.line}, error);
}

const dsgd_import_reader dsgd_import_matrix = {
    .name = "topology of a node",
    .gives = "output of `nvidia-smi topo -m`: GPUs, NICs and links of a node",
    /*
     * This reader comes after the reader of nccl-tests logs, because the log of a job may contain
     * both formats.
     */
    .read = read,
};

const dsgd_import_reader dsgd_import_topology = {
    .name = "topology of NCCL",
    .gives = "topology of a node, as NCCL_TOPO_DUMP_FILE writes it",
    .recognise = recognise,
    .read = read,
};
