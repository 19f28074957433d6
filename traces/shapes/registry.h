/**
 * @file registry.h
 * Contains the list of topologies. Each topology has its own file in this folder, which defines
 * dsgd_shape_WORD, and one line of this list.
 */
#pragma once

/**
 * All topologies, as X(NAME, WORD). NAME is part of the topology's constant, and WORD is the value
 * of option `topology`.
 */
#define DSGD_SHAPES(X)                                                                             \
    X(SWITCH, switch)                                                                              \
    X(GROUPS, groups)                                                                              \
    X(FAT_TREE, fat_tree)                                                                          \
    X(DRAGONFLY, dragonfly)                                                                        \
    X(TORUS, torus)                                                                                \
    X(HAMMING_MESH, hamming_mesh)                                                                  \
    X(RAILS, rails)                                                                                \
    X(XML, xml)

#define DSGD_TOPOLOGY_OF(name, word) DSGD_TOPOLOGY_##name,
typedef enum dsgd_platform_topology { DSGD_SHAPES(DSGD_TOPOLOGY_OF) } dsgd_platform_topology;

struct dsgd_shape;
extern const struct dsgd_shape *const dsgd_shapes[]; /* functions of each topology, indexed by
                                                      * dsgd_platform_topology */
/* values of option `topology`; the last entry is NULL */
extern const char *const dsgd_topologies[];
