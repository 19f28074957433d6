/**
 * @file open.c
 * Data sets by name: loaded, or taken from the few that a process keeps for its children.
 */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "models/data/data.h"

/** What is kept, until this process ends; so few that a sweep over data sets fills no memory. */
static struct kept {
    char *key;
    dsgd_data *data;
} kept[4];

enum { MOST_KEPT = sizeof kept / sizeof kept[0] };

/** What decides the data, as text; the caller frees it. */
static char *key_of(const dsgd_pick *source, uint64_t seed)
{
    const bool seeded = ((const dsgd_data_source *)source->about)->seeded;
    json_t *const json =
        json_pack("[o, I]", dsgd_json_pick(source), (json_int_t)(seeded ? seed : 0));
    char *const key = json_dumps(json, JSON_COMPACT);
    json_decref(json);
    DSGD_ASSERT(key != NULL, "the options of %s are no JSON", source->about->name);
    return key;
}

dsgd_status dsgd_data_open(const dsgd_pick *source, uint64_t seed, bool keep, dsgd_data **data,
                           dsgd_error *error)
{
    char *key = key_of(source, seed);
    size_t i = 0;
    while (i < MOST_KEPT && kept[i].key != NULL && strcmp(kept[i].key, key) != 0)
        i++;
    dsgd_status status = DSGD_OK;
    if (i < MOST_KEPT && kept[i].key != NULL)
        *data = kept[i].data;
    else
        status = ((const dsgd_data_source *)source->about)->load(source->params, seed, data, error);
    if (status == DSGD_OK && keep && i < MOST_KEPT && kept[i].key == NULL) {
        kept[i] = (struct kept){key, *data};
        key = NULL;
    }
    free(key);
    return status;
}

void dsgd_data_close(dsgd_data *data)
{
    for (size_t i = 0; i < MOST_KEPT; i++)
        if (kept[i].data == data)
            return;
    dsgd_data_free(data);
}
