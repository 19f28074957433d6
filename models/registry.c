/**
 * @file registry.c
 * The models and data sources that a user can name, and the order in which samples are handed out.
 */
#include "models/data.h"

#include <stdlib.h>

#include "base/draw.h"
#include "models/model.h"

extern const dsgd_model_kind dsgd_model_hyperplane, dsgd_model_logreg, dsgd_model_mlp,
    dsgd_model_cnn, dsgd_model_resnet_small, dsgd_model_lstm, dsgd_model_transformer,
    dsgd_model_policy;
extern const dsgd_data_source dsgd_data_fashion_mnist, dsgd_data_idx, dsgd_data_hyperplane,
    dsgd_data_sequences, dsgd_data_text, dsgd_data_navigation;

const dsgd_about *const dsgd_model_kinds[] = {
    &dsgd_model_hyperplane.about,  &dsgd_model_logreg.about,       &dsgd_model_mlp.about,
    &dsgd_model_cnn.about,         &dsgd_model_resnet_small.about, &dsgd_model_lstm.about,
    &dsgd_model_transformer.about, &dsgd_model_policy.about,       NULL,
};

const dsgd_about *const dsgd_data_sources[] = {
    &dsgd_data_fashion_mnist.about,
    &dsgd_data_idx.about,
    &dsgd_data_hyperplane.about,
    &dsgd_data_sequences.about,
    &dsgd_data_text.about,
    &dsgd_data_navigation.about,
    NULL,
};

static void free_samples(dsgd_samples *samples)
{
    free(samples->x_bytes);
    free(samples->x_real);
    free(samples->labels);
    free(samples->targets);
    free(samples->lengths);
}

void dsgd_data_free(dsgd_data *data)
{
    if (data == NULL)
        return;
    free_samples(&data->train);
    free_samples(&data->test);
    free(data);
}

uint32_t dsgd_stream_sample(const dsgd_stream *stream, uint32_t w, uint64_t t, uint32_t j)
{
    const uint64_t position = (t * stream->n_workers + w) * stream->batch + j;
    const dsgd_draw at = {.seed = stream->seed,
                          .purpose = DSGD_DRAW_SAMPLES,
                          .step = (uint32_t)(position / stream->n_samples)};
    return dsgd_draw_permuted(at, stream->n_samples, (uint32_t)(position % stream->n_samples));
}

void dsgd_stream_rows(const dsgd_stream *stream, const dsgd_data *data, uint32_t w, uint64_t t,
                      double *rows, double *longest)
{
    *rows = 0;
    *longest = 0;
    for (uint32_t j = 0; j < stream->batch; j++) {
        const uint16_t *const lengths = data->train.lengths;
        const double n =
            lengths == NULL ? data->n_rows : lengths[dsgd_stream_sample(stream, w, t, j)];
        *rows += n;
        *longest = n > *longest ? n : *longest;
    }
}
