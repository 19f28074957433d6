/**
 * @file data.c
 * The order in which workers use training samples, either all samples or each worker's own, and the
 * release of a data set.
 */
#include "models/data/data.h"

#include "base/draw.h"
#include "models/data/split.h"

void dsgd_data_free(dsgd_data *data)
{
    for (int i = 0; data != NULL && i < 2; i++) {
        const dsgd_samples *const samples = i == 0 ? &data->train : &data->test;
        free(samples->x_bytes);
        free(samples->x_real);
        free(samples->labels);
        free(samples->targets);
        free(samples->lengths);
    }
    free(data);
}

/**
 * Returns the coordinates of the random numbers that permute one epoch. Without a split, @p worker
 * is 0 and the permutation covers all samples. With a split, it covers the worker's own samples.
 */
static dsgd_draw draw_of(const dsgd_stream *stream, uint32_t worker, uint64_t epoch)
{
    return (dsgd_draw){stream->seed, DSGD_DRAW_SAMPLES, worker, (uint32_t)epoch, 0};
}

static uint32_t own_samples(const dsgd_stream *stream, uint32_t w)
{
    return stream->split->begin[w + 1] - stream->split->begin[w];
}

uint32_t dsgd_stream_batches(const dsgd_stream *stream, uint32_t w)
{
    const uint32_t n = own_samples(stream, w);
    return n < stream->batch ? 1 : n / stream->batch;
}

uint32_t dsgd_stream_batch(const dsgd_stream *stream, uint32_t w, uint64_t t)
{
    const uint32_t n = dsgd_stream_batches(stream, w);
    return dsgd_draw_permuted(draw_of(stream, w, t / n), n, (uint32_t)(t % n));
}

/*
 * Epoch number that no training epoch has. Its permutation assigns a worker's samples to mini-
 * batches.
 */
static const uint64_t no_epoch = UINT32_MAX;

/**
 * Returns sample j of step @p t of worker @p w, if samples are split. If there is only one worker,
 * it has all samples in the same order as without a split.
 */
static uint32_t own_sample(const dsgd_stream *stream, uint32_t w, uint64_t t, uint32_t j)
{
    const uint32_t *const own = stream->split->samples + stream->split->begin[w];
    const uint32_t n = own_samples(stream, w);
    if (stream->split->own_batches) {
        const uint64_t at = (uint64_t)dsgd_stream_batch(stream, w, t) * stream->batch + j;
        return own[dsgd_draw_permuted(draw_of(stream, w, no_epoch), n, (uint32_t)(at % n))];
    }
    const uint64_t position = t * stream->batch + j;
    return own[dsgd_draw_permuted(draw_of(stream, w, position / n), n, (uint32_t)(position % n))];
}

struct dsgd_sampler {
    dsgd_stream stream;
    dsgd_permuter *permuter;
    uint32_t *drawn; /* sample indices of one mini-batch, for dsgd_sampler_rows(); batch entries */
};

dsgd_sampler *dsgd_sampler_new(const dsgd_stream *stream)
{
    dsgd_sampler *const sampler = dsgd_xcalloc(1, sizeof *sampler);
    *sampler = (dsgd_sampler){
        .stream = *stream,
        .permuter = dsgd_permuter_new(draw_of(stream, 0, 0), stream->n_samples),
        .drawn = dsgd_xcalloc(stream->batch, sizeof *sampler->drawn),
    };
    return sampler;
}

void dsgd_sampler_free(dsgd_sampler *sampler)
{
    if (sampler == NULL)
        return;
    free(sampler->permuter);
    free(sampler->drawn);
    free(sampler);
}

void dsgd_sampler_draw(dsgd_sampler *sampler, uint32_t w, uint64_t t, uint32_t count,
                       uint32_t *indices)
{
    const dsgd_stream *const stream = &sampler->stream;
    for (uint32_t j = 0; stream->split != NULL && j < count; j++)
        indices[j] = own_sample(stream, w, t, j);
    if (stream->split != NULL)
        return;
    const uint32_t n = stream->n_samples;
    const uint64_t position = (t * stream->n_workers + w) * stream->batch;
    uint32_t epoch = (uint32_t)(position / n);
    uint32_t at = (uint32_t)(position % n);
    while (count > 0) { /* each pass draws samples up to the end of an epoch */
        const uint32_t here = count < n - at ? count : n - at;
        dsgd_permuter_images(sampler->permuter, epoch++, at, here, indices);
        indices += here;
        count -= here;
        at = 0;
    }
}

void dsgd_sampler_rows(dsgd_sampler *sampler, const dsgd_data *data, uint32_t w, uint64_t t,
                       double *rows, double *longest)
{
    const uint32_t batch = sampler->stream.batch;
    const uint16_t *const lengths = data->train.lengths;
    *rows = lengths == NULL ? (double)batch * data->n_rows : 0;
    *longest = lengths == NULL ? data->n_rows : 0;
    if (lengths == NULL)
        return;
    dsgd_sampler_draw(sampler, w, t, batch, sampler->drawn);
    for (uint32_t j = 0; j < batch; j++) {
        const double n = lengths[sampler->drawn[j]];
        *rows += n;
        *longest = n > *longest ? n : *longest;
    }
}
