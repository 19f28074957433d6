/**
 * @file nccl_topology.h
 * A node as NCCL or RCCL sees it: the XML that NCCL_TOPO_DUMP_FILE writes, or that a cloud ships
 * for NCCL_TOPO_FILE, without NVLinks and speeds of NICs. Links count as NCCL counts them
 * (src/graph/topo.h).
 */
#pragma once

#include "base/status.h"

/** A number, and its line from 1; line 0: the file does not say it. */
typedef struct dsgd_said {
    double value;
    size_t line;
} dsgd_said;

typedef struct dsgd_nccl_topology {
    dsgd_said gpus, hosts; /* several hosts: their NVLinks are one network */
    dsgd_said nics; /* ports that are the nearest to a GPU */
    dsgd_said nic_bytes_per_s; /* of the slowest */
    dsgd_said links_bytes_per_s; /* NVLinks or XGMI of the GPU with the fewest, each direction */
    dsgd_said pci_bytes_per_s; /* of a GPU's slowest link of PCIe, where NVLinks would be told */
    dsgd_said network_latency_s; /* that the network's plug-in declares */
    dsgd_said generation; /* dsgd_gpu_generation; NVIDIA's alone */
    bool has_switch, amd_host;
    const char *gpu; /* as its driver calls it, by its device of PCI; NULL: another one */
    const char *sharing; /* "GPUs 0 1: mlx5_0; GPUs ...": the NICs that are nearest to which */
    const char *warnings; /* lines, each with its place; empty: none */
    const char
        *lacks; /* what the kind of file tells of links, and what not; NULL: as clouds ship it */
} dsgd_nccl_topology;

/** Where the XML begins in a text, which may be a page; NULL: there is none of hardware. */
const char *dsgd_nccl_topology_find(const char *text);

/**
 * DSGD_EIO with file and line: it is broken, or deeper than a node. DSGD_EUSAGE: without GPUs, or
 * another program's. No entities but XML's own are expanded: what stands before the first element
 * is not read.
 */
dsgd_status dsgd_nccl_topology_read(const char *file, const char *text, dsgd_nccl_topology *t,
                                    dsgd_error *error);

/** Where the matrix that `nvidia-smi topo -m` prints begins, with its header; NULL: nowhere. */
const char *dsgd_nccl_matrix_find(const char *text);

/** Reads it. DSGD_EIO: a row is not whole; DSGD_EUSAGE: there are several. */
dsgd_status dsgd_nccl_matrix_read(const char *file, const char *text, dsgd_nccl_topology *t,
                                  dsgd_error *error);
