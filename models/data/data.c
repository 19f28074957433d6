/**
 * @file data.c
 * The order of training samples, and the release of a data set.
 */
#include "models/data/data.h"

#include <stdlib.h>

#include "base/draw.h"

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

double dsgd_data_uniform(uint64_t seed, uint32_t part, uint32_t row, uint32_t column)
{
    return dsgd_draw_uniform((dsgd_draw){
        .seed = seed, .purpose = DSGD_DRAW_DATA, .worker = part, .step = row, .index = column});
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
