/**
 * @file open.c
 * Opens the data sources that a user can name. A process keeps a few data sets for its children.
 */
#include "base/json.h"
#include "models/data/data.h"

extern const dsgd_data_source dsgd_data_fashion_mnist, dsgd_data_idx, dsgd_data_hyperplane,
    dsgd_data_sequences, dsgd_data_text, dsgd_data_navigation;

const dsgd_entry *const dsgd_data_sources[] = {
    &dsgd_data_fashion_mnist.about,
    &dsgd_data_idx.about,
    &dsgd_data_hyperplane.about,
    &dsgd_data_sequences.about,
    &dsgd_data_text.about,
    &dsgd_data_navigation.about,
    NULL,
};

enum { MOST_KEPT = 32, MOST_KEPT_BYTES = 256 << 20 };

/**
 * The data sets that are kept until this process ends: the first data set, and further data sets as
 * long as they fit into MOST_KEPT_BYTES. The limit keeps a sweep over data sets from filling the
 * memory. It also keeps a fork from copying many page tables.
 */
static struct kept {
    char *key; /* a separate allocation, because texts of status.h may be freed earlier */
    dsgd_data *data;
} kept[MOST_KEPT];

static size_t bytes_of(const dsgd_data *data)
{
    const size_t each = data->train.x_real != NULL ? sizeof *data->train.x_real : 1;
    return ((size_t)data->train.n + data->test.n) * data->n_features * each;
}

/** Returns true if there is room to keep a further data set of @p bytes. */
static bool fits(size_t bytes)
{
    size_t n = 0;
    for (; n < MOST_KEPT && kept[n].key != NULL; n++)
        bytes += bytes_of(kept[n].data);
    return n == 0 || (n < MOST_KEPT && bytes <= MOST_KEPT_BYTES);
}

dsgd_status dsgd_data_open(const dsgd_spec *pick, uint64_t seed, bool keep, dsgd_data **data,
                           dsgd_error *error)
{
    const dsgd_data_source *const source = (const dsgd_data_source *)pick->about;
    json_t *const json = /* the key contains everything that determines the data */
        json_pack("[o, I]", dsgd_json_spec(pick), (json_int_t)(source->seeded ? seed : 0));
    char *const key = json_dumps(json, JSON_COMPACT);
    DSGD_ASSERT(key != NULL, "the options of %s are no JSON", source->about.name);
    size_t i = 0;
    while (i < MOST_KEPT && kept[i].key != NULL && strcmp(kept[i].key, key) != 0)
        i++;
    if (i < MOST_KEPT && kept[i].key != NULL) {
        *data = kept[i].data;
        return DSGD_OK;
    }
    DSGD_TRY(source->load(pick->params, seed, data, error));
    if (keep && fits(bytes_of(*data))) {
        const size_t bytes = strlen(key) + 1;
        kept[i] = (struct kept){memcpy(dsgd_xcalloc(bytes, 1), key, bytes), *data};
    }
    return DSGD_OK;
}

bool dsgd_data_has_room(void)
{
    size_t last = 0;
    for (size_t i = 0; i < MOST_KEPT && kept[i].key != NULL; i++)
        last = bytes_of(kept[i].data);
    return fits(last);
}

void dsgd_data_close(dsgd_data *data)
{
    for (size_t i = 0; i < MOST_KEPT; i++)
        if (kept[i].data == data)
            return;
    dsgd_data_free(data);
}
