/**
 * @file layout.h
 * How a model is cut and carried, and what its exchange costs a host: written by run.c before the
 * simulation.
 */
#pragma once

#include <stddef.h>

/** The pieces of a vector. */
typedef struct dsgd_layout {
    size_t n_pieces, n_channels;
    int n_lanes; /* hosts of a worker, each with its pieces */
    double bytes; /* of all pieces, of the workload */
    double *piece_bytes; /* [n_pieces] */
    double work; /* of all pieces, in the backward pass */
    double *piece_work; /* [n_pieces], to scale */
    size_t *piece_channel; /* [n_pieces] */
    /* Of workers that are groups of hosts: */
    int *piece_lane, *piece_part; /* [n_pieces] host that has it, and its place in the model */
    double *piece_later; /* [n_pieces] share of its part's backward work that comes after it */
} dsgd_layout;

/** Seconds per byte that a host spends on exchanges. */
typedef struct dsgd_costs {
    double staging_s_per_byte; /* of what is in a device's memory, each way */
    double operation_s_per_byte; /* likewise, of exchanging it */
    double encoding_s_per_byte; /* of numbers that are encoded or decoded */
} dsgd_costs;
