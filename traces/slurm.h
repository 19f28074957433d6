/**
 * @file slurm.h
 * Which nodes of a cluster share a switch: Slurm's topology.conf and topology.yaml, the models and
 * output of Topograph; and Slurm's lists of hosts, such as tux[0-3,07],login.
 */
#pragma once

#include "base/status.h"

enum { DSGD_SLURM_MOST_HOSTS = 1 << 17 };

typedef struct dsgd_hostlist {
    size_t n;
    const char **v;
} dsgd_hostlist;

/** Appends the names of a list. DSGD_EUSAGE: no list, or more than MOST_HOSTS together. */
dsgd_status dsgd_hostlist_expand(const char *list, dsgd_hostlist *hosts, dsgd_error *error);

/** A switch with nodes, or a block. */
typedef struct dsgd_slurm_leaf {
    const char *name, *file;
    size_t line;
    dsgd_hostlist nodes;
} dsgd_slurm_leaf;

typedef struct dsgd_slurm_topology {
    size_t n, n_inner; /* n_inner: switches of switches */
    dsgd_slurm_leaf *v;
    size_t n_nodes; /* of all leaves */
    const char *speed; /* of the first LinkSpeed, whose unit Slurm leaves open; NULL: none */
    const char *include; /* the last line that names another file; NULL: none */
} dsgd_slurm_topology;

bool dsgd_slurm_is_conf(const char *head);
bool dsgd_slurm_is_yaml(const char *head);

/** Appends the leaves of a topology.conf; a line can go on behind a backslash. DSGD_EUSAGE with
 * file and line. */
dsgd_status dsgd_slurm_read(const char *file, const char *text, dsgd_slurm_topology *t,
                            dsgd_error *error);

struct fy_document; /* libfyaml's; NULL: the text is no YAML, which is DSGD_EIO */
dsgd_status dsgd_slurm_read_yaml(const char *file, struct fy_document *document,
                                 dsgd_slurm_topology *t, dsgd_error *error);
