/**
 * @file nccl_topology.h
 * Reader of a node's topology as NCCL or RCCL sees it. The topology is the XML that
 * NCCL_TOPO_DUMP_FILE writes, or that a cloud provides for NCCL_TOPO_FILE (without NVLinks and NIC
 * speeds). The bandwidths of links are the bandwidths that NCCL uses (src/graph/topo.h).
 */
#pragma once

#include "base/status.h"

/**
 * A number from a file, and the line that contains it, from 1. The line is 0 if the file lacks the
 * number.
 */
typedef struct dsgd_said {
    double value;
    size_t line;
} dsgd_said;

typedef struct dsgd_nccl_topology {
    dsgd_said gpus;
    dsgd_said hosts; /* number of hosts; above 1 if the NVLinks of several hosts form one network */
    dsgd_said nics; /* number of NIC ports that are the nearest ports to a GPU */
    dsgd_said nic_bytes_per_s; /* bandwidth of the slowest NIC */
    dsgd_said links_bytes_per_s; /* NVLink or XGMI bandwidth of the GPU with the least, per
                                  * direction */
    dsgd_said pci_bytes_per_s; /* slowest PCIe link of a GPU, in files that list NVLinks */
    dsgd_said network_latency_s; /* latency that the network plug-in reports */
    dsgd_said generation; /* a value of dsgd_gpu_generation; only for NVIDIA */
    bool has_switch, amd_host;
    const char *gpu; /* name of the GPU, from its PCI device; NULL if the device is unknown */
    const char *sharing; /* the nearest NICs of GPUs, such as "GPUs 0 1: mlx5_0; GPUs ..." */
    const char *warnings; /* warnings, one per line, each with its place; empty if there are none */
    const char *lacks; /* facts that this kind of file lacks; NULL for XML */
} dsgd_nccl_topology;

/**
 * Returns the start of the XML in a text, which may be a web page. Returns NULL if the text has no
 * hardware topology.
 */
const char *dsgd_nccl_topology_find(const char *text);

/**
 * Reads the XML of a topology. Returns DSGD_EIO, with file and line, if the XML is invalid or too
 * deep for a node. Returns DSGD_EUSAGE if it has no GPUs or is from another program. Only the
 * entities of XML itself are expanded, because text before the first element is not read.
 */
dsgd_status dsgd_nccl_topology_read(const char *file, const char *text, dsgd_nccl_topology *t,
                                    dsgd_error *error);

/**
 * Returns the start of the matrix that `nvidia-smi topo -m` prints, with its header. Returns NULL
 * if there is no matrix.
 */
const char *dsgd_nccl_matrix_find(const char *text);

/**
 * Reads the matrix of a node. Returns DSGD_EIO if a row is incomplete, and DSGD_EUSAGE if there are
 * several matrices.
 */
dsgd_status dsgd_nccl_matrix_read(const char *file, const char *text, dsgd_nccl_topology *t,
                                  dsgd_error *error);
