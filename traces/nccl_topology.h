/**
 * @file nccl_topology.h
 * Reads the topology of a node as NCCL or RCCL represents it. The topology is the XML that
 * NCCL_TOPO_DUMP_FILE writes, or that a cloud provides for NCCL_TOPO_FILE (without NVLinks and NIC
 * speeds). The bandwidths of links are the bandwidths that NCCL uses (src/graph/topo.h).
 */
#pragma once

#include "base/status.h"

/**
 * A number from a file, and the number of the line that contains it, from 1. The line number is 0
 * if the file lacks the value.
 */
typedef struct dsgd_said {
    double value;
    size_t line;
} dsgd_said;

typedef struct dsgd_nccl_topology {
    dsgd_said gpus;
    dsgd_said hosts; /* number of hosts; above 1 if NVLinks connect several hosts */
    dsgd_said nics; /* number of NIC ports that are the nearest port of a GPU */
    dsgd_said nic_bytes_per_s; /* bandwidth of the slowest NIC */
    dsgd_said links_bytes_per_s; /* NVLink or XGMI bandwidth of the GPU with the smallest bandwidth,
                                  * per direction */
    /* bandwidth of a GPU's slowest PCIe link, if the file lists NVLinks */
    dsgd_said pci_bytes_per_s;
    dsgd_said network_latency_s; /* latency that the network plug-in reports */
    dsgd_said generation; /* GPU generation, a value of dsgd_gpu_generation; only for NVIDIA */
    bool has_switch, amd_host;
    /* name of the GPU, derived from its PCI device; NULL if the device is unknown */
    const char *gpu;
    const char *sharing; /* nearest NICs of the GPUs, such as "GPUs 0 1: mlx5_0; GPUs ..." */
    const char *warnings; /* warnings, one per line, each with file and line; empty if there are no
                           * warnings */
    const char *lacks; /* facts that this kind of file never contains; NULL for XML */
} dsgd_nccl_topology;

/**
 * Returns the start of the XML in a text, which may be a web page. Returns NULL if the text
 * contains no hardware topology.
 */
const char *dsgd_nccl_topology_find(const char *text);

/**
 * Reads the XML of a topology. Returns DSGD_EIO, with file and line, if the XML is invalid or too
 * deep for a node. Returns DSGD_EUSAGE if the topology has no GPUs or comes from another program.
 * Expands only the predefined entities of XML, because it does not read text before the first
 * element.
 */
dsgd_status dsgd_nccl_topology_read(const char *file, const char *text, dsgd_nccl_topology *t,
                                    dsgd_error *error);

/**
 * Returns the start of the matrix that `nvidia-smi topo -m` prints, including its header. Returns
 * NULL if the text contains no matrix.
 */
const char *dsgd_nccl_matrix_find(const char *text);

/**
 * Reads the topology matrix of a node. Returns DSGD_EIO if a row is incomplete. Returns DSGD_EUSAGE
 * if there are several matrices.
 */
dsgd_status dsgd_nccl_matrix_read(const char *file, const char *text, dsgd_nccl_topology *t,
                                  dsgd_error *error);
