/**
 * @file layout.h The way in which the model is cut into chunks and sent, and the costs of an
 * exchange for a host. run.c writes this state before the simulation.
 */
#pragma once

#include <stddef.h>

/** The chunks of a vector. */
typedef struct dsgd_layout {
    size_t n_pieces, n_channels;
    int n_lanes; /* number of hosts of a worker; each host has its own chunks */
    double bytes; /* bytes of all chunks of the workload's model */
    double *piece_bytes; /* [n_pieces] bytes of each chunk */
    double work; /* work of all chunks in the backward pass, in a relative unit */
    double *piece_work; /* [n_pieces] work of each chunk, in the unit of `work` */
    size_t *piece_channel; /* [n_pieces] index of the channel that exchanges each chunk */
    /* The following members are for workers that are groups of hosts. */
    /*
     * [n_pieces] index of the host that has the chunk, and index of the part of the model that
     * contains the chunk
     */
    int *piece_lane, *piece_part;
    /*
     * [n_pieces] share of the backward work of the chunk's part that is done after the chunk is
     * ready
     */
    double *piece_later;
} dsgd_layout;

/** Time per byte that a host spends on exchanges. */
typedef struct dsgd_costs {
    double staging_s_per_byte; /* seconds per byte to copy from or to device memory */
    double operation_s_per_byte; /* seconds per byte to exchange data in device memory */
    double encoding_s_per_byte; /* seconds per byte to compress or decompress */
} dsgd_costs;
