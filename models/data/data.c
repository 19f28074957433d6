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

/** Of the permutation of an epoch. */
static dsgd_draw draw_of(const dsgd_stream *stream, uint64_t epoch)
{
    return (dsgd_draw){.seed = stream->seed, .purpose = DSGD_DRAW_SAMPLES, .step = (uint32_t)epoch};
}

static uint64_t position_of(const dsgd_stream *stream, uint32_t w, uint64_t t, uint32_t j)
{
    return (t * stream->n_workers + w) * stream->batch + j;
}

uint32_t dsgd_stream_sample(const dsgd_stream *stream, uint32_t w, uint64_t t, uint32_t j)
{
    const uint64_t position = position_of(stream, w, t, j);
    return dsgd_draw_permuted(draw_of(stream, position / stream->n_samples), stream->n_samples,
                              (uint32_t)(position % stream->n_samples));
}

struct dsgd_sampler {
    dsgd_stream stream;
    dsgd_permuter *permuter;
};

dsgd_sampler *dsgd_sampler_new(const dsgd_stream *stream)
{
    dsgd_sampler *const sampler = dsgd_xcalloc(1, sizeof *sampler);
    *sampler = (dsgd_sampler){*stream, dsgd_permuter_new(draw_of(stream, 0), stream->n_samples)};
    return sampler;
}

void dsgd_sampler_free(dsgd_sampler *sampler)
{
    if (sampler == NULL)
        return;
    dsgd_permuter_free(sampler->permuter);
    free(sampler);
}

void dsgd_sampler_draw(dsgd_sampler *sampler, uint32_t w, uint64_t t, uint32_t count,
                       uint32_t *indices)
{
    const uint32_t n = sampler->stream.n_samples;
    const uint64_t position = position_of(&sampler->stream, w, t, 0);
    uint32_t epoch = (uint32_t)(position / n);
    uint32_t at = (uint32_t)(position % n);
    while (count > 0) { /* up to the end of each epoch */
        const uint32_t here = count < n - at ? count : n - at;
        dsgd_permuter_images(sampler->permuter, epoch++, at, here, indices);
        indices += here;
        count -= here;
        at = 0;
    }
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
