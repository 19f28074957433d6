/**
 * @file slurm.h
 * Readers of files that describe which nodes of a cluster share a switch: Slurm's topology.conf and
 * topology.yaml, and the models and output of Topograph. Also a reader of Slurm's lists of hosts,
 * such as tux[0-3,07],login.
 */
#pragma once

#include "base/status.h"

enum { DSGD_SLURM_MOST_HOSTS = 1 << 17 };

typedef struct dsgd_hostlist {
    size_t n;
    const char **v;
} dsgd_hostlist;

/**
 * Appends the names of a list of hosts. Returns DSGD_EUSAGE if @p list is not a list of hosts, or
 * if there are more than DSGD_SLURM_MOST_HOSTS names in total.
 */
dsgd_status dsgd_hostlist_expand(const char *list, dsgd_hostlist *hosts, dsgd_error *error);

/** A switch with nodes, or a block of nodes. */
typedef struct dsgd_slurm_leaf {
    const char *name, *file;
    size_t line;
    dsgd_hostlist nodes;
} dsgd_slurm_leaf;

typedef struct dsgd_slurm_topology {
    size_t n; /* number of leaves */
    size_t n_inner; /* number of switches that connect switches */
    dsgd_slurm_leaf *v;
    size_t n_nodes; /* number of nodes of all leaves together */
    const char *speed; /* the first LinkSpeed, whose unit Slurm does not define; NULL if none */
    const char *include; /* the last line that includes another file; NULL if none */
} dsgd_slurm_topology;

/** Returns true if a file with start @p head is a topology.conf. */
bool dsgd_slurm_is_conf(const char *head);
/** Returns true if a file with start @p head is a topology in YAML. */
bool dsgd_slurm_is_yaml(const char *head);

/**
 * Appends the leaves of a topology.conf. A backslash continues a line. If the file is invalid,
 * returns DSGD_EUSAGE, with file and line.
 */
dsgd_status dsgd_slurm_read(const char *file, const char *text, dsgd_slurm_topology *t,
                            dsgd_error *error);

struct fy_document; /* type of libfyaml */
/**
 * Appends the leaves of a topology.yaml. Returns DSGD_EIO if @p document is NULL, because the file
 * is not YAML.
 */
dsgd_status dsgd_slurm_read_yaml(const char *file, struct fy_document *document,
                                 dsgd_slurm_topology *t, dsgd_error *error);
