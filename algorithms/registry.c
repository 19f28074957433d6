/**
 * @file registry.c
 * The algorithms that are built in. A new one is one line of the list.
 */
#include "sim/registry.h"

#define DSGD_ALGORITHM_LIST(X)                                                                     \
    X(allreduce)                                                                                   \
    X(eager_solo)                                                                                  \
    X(eager_majority)                                                                              \
    X(wagma)                                                                                       \
    X(local_sgd)                                                                                   \
    X(dasgd)                                                                                       \
    X(d_psgd)                                                                                      \
    X(sgp)                                                                                         \
    X(osgp)                                                                                        \
    X(ad_psgd)                                                                                     \
    X(a_psgd)                                                                                      \
    X(easgd)                                                                                       \
    X(eamsgd)                                                                                      \
    X(drop_compute)                                                                                \
    X(slowmo)                                                                                      \
    X(diloco)

#define X(name) extern const dsgd_algorithm dsgd_algorithm_##name;
DSGD_ALGORITHM_LIST(X)
#undef X

const dsgd_about *const dsgd_algorithms[] = {
#define X(name) &dsgd_algorithm_##name.about,
    DSGD_ALGORITHM_LIST(X)
#undef X
        NULL,
};
