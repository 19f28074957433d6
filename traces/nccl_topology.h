/**
 * @file nccl_topology.h
 * Reader of a node's topology as NCCL or RCCL sees it: the XML that NCCL_TOPO_DUMP_FILE writes, or
 * that a cloud provides for NCCL_TOPO_FILE (without NVLinks and NIC speeds). The bandwidths of
 * links are those that NCCL uses (src/graph/topo.h).
 */
#pragma once

#include "base/status.h"

/** A number and its line, from 1; line 0 if the file lacks it. */
typedef struct dsgd_said {
    double value;
    size_t line;
} dsgd_said;

typedef struct dsgd_nccl_topology {
    dsgd_said gpus;
    dsgd_said hosts; /* the NVLinks of several hosts form one network */
    dsgd_said nics; /* NIC ports that are the nearest to a GPU */
    dsgd_said nic_bytes_per_s; /* of the slowest NIC */
    dsgd_said links_bytes_per_s; /* NVLinks or XGMI of the GPU with the fewest, per direction */
    dsgd_said pci_bytes_per_s; /* slowest PCIe link of a GPU, in files that list NVLinks */
    dsgd_said network_latency_s; /* as the network plug-in reports it */
    dsgd_said generation; /* dsgd_gpu_generation; only for NVIDIA */
    bool has_switch, amd_host;
    const char *gpu; /* name from its PCI device; NULL if the device is unknown */
    const char *sharing; /* the nearest NICs of GPUs, such as "GPUs 0 1: mlx5_0; GPUs ..." */
    const char *warnings; /* one per line, with its place; empty if there are none */
    const char *lacks; /* what this kind of file lacks; NULL for XML */
} dsgd_nccl_topology;

/** Returns the start of the XML in a text, which may be a web page; NULL if it has no hardware
 * topology. */
const char *dsgd_nccl_topology_find(const char *text);

/**
 * Reads the XML. Returns DSGD_EIO, with file and line, if it is invalid or too deep for a node, and
 * DSGD_EUSAGE if it has no GPUs or is from another program. Only the entities of XML itself are
 * expanded, because text before the first element is not read.
 */
dsgd_status dsgd_nccl_topology_read(const char *file, const char *text, dsgd_nccl_topology *t,
                                    dsgd_error *error);

/** Returns the start of the matrix that `nvidia-smi topo -m` prints, with its header; NULL if there
 * is none. */
const char *dsgd_nccl_matrix_find(const char *text);

/** Reads the matrix. Returns DSGD_EIO if a row is incomplete, and DSGD_EUSAGE if there are several
 * matrices. */
dsgd_status dsgd_nccl_matrix_read(const char *file, const char *text, dsgd_nccl_topology *t,
                                  dsgd_error *error);
