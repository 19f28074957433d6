/**
 * @file navigation.c
 * Environments of the policy model (environment.h). Nothing is stored: sample j of the stream keys
 * the draws of a step. The test set is a number of episodes with their own initial states.
 */
#include "models/data/data.h"
#include "models/data/environment.h"

typedef struct navigation_params {
    long episodes;
} navigation_params;

static dsgd_status navigation_load(const void *params, uint64_t seed, dsgd_data **data,
                                   dsgd_error *error)
{
    (void)error;
    const navigation_params *p = params;
    *data = dsgd_xcalloc(1, sizeof **data);
    **data = (dsgd_data){.kind = DSGD_DATA_STEPS,
                         .n_rows = 1,
                         .n_columns = DSGD_ENVIRONMENT_FEATURES,
                         .width = 1,
                         .n_features = DSGD_ENVIRONMENT_FEATURES,
                         .n_classes = DSGD_ENVIRONMENT_ACTIONS,
                         .deviation = 1,
                         .seed = seed,
                         .train = {.n = 1u << 31},
                         .test = {.n = (uint32_t)p->episodes}};
    return DSGD_OK;
}

static const dsgd_option navigation_options[] = {
    DSGD_OPTION_LONG(navigation_params, episodes, 256, 1, 100000, NULL, "to test on"),
    DSGD_OPTION_END,
};

DSGD_DATA_SOURCE(
    navigation, true, .name = "navigation",
    .summary = "a walk to a goal in a room with a wall; accuracy: share of goals reached",
    .reference = "a reduced PointGoal task; Wijmans et al., ICLR 2020",
    .params_size = sizeof(navigation_params), .options = navigation_options);
