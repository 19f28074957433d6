/**
 * @file slurm.h
 * Reads files that describe which nodes of a cluster share a switch: Slurm's topology.conf and
 * topology.yaml, and the models and output of Topograph. Also reads Slurm's lists of hosts, such as
 * tux[0-3,07],login.
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
 * if @p hosts would contain more than DSGD_SLURM_MOST_HOSTS names.
 */
dsgd_status dsgd_hostlist_expand(const char *list, dsgd_hostlist *hosts, dsgd_error *error);

/** A leaf switch with its nodes, or a block of nodes. */
typedef struct dsgd_slurm_leaf {
    const char *name, *file;
    size_t line;
    dsgd_hostlist nodes;
} dsgd_slurm_leaf;

typedef struct dsgd_slurm_topology {
    size_t n; /* number of leaves */
    size_t n_inner; /* number of switches that connect other switches */
    dsgd_slurm_leaf *v;
    size_t n_nodes; /* number of nodes at all leaves together */
    const char *speed; /* first LinkSpeed in the file, whose unit Slurm does not define; NULL if
                        * there is none */
    const char *include; /* last line that includes another file; NULL if there is no such line */
} dsgd_slurm_topology;

/** Returns true if @p head looks like the start of a topology.conf. */
bool dsgd_slurm_is_conf(const char *head);
/** Returns true if @p head looks like the start of a topology in YAML. */
bool dsgd_slurm_is_yaml(const char *head);

/**
 * Appends the leaf switches of a topology.conf. A backslash continues a line. If the file is
 * invalid, returns DSGD_EUSAGE, with file and line.
 */
dsgd_status dsgd_slurm_read(const char *file, const char *text, dsgd_slurm_topology *t,
                            dsgd_error *error);

struct fy_document; /* type that libfyaml defines */
/**
 * Appends the leaf switches of a topology.yaml. @p document is NULL if the file is not YAML. The
 * function then returns DSGD_EIO.
 */
dsgd_status dsgd_slurm_read_yaml(const char *file, struct fy_document *document,
                                 dsgd_slurm_topology *t, dsgd_error *error);
