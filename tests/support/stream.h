/**
 * @file stream.h
 * Defines the order of the samples of a stream (models/data/data.h), sample by sample. The samplers
 * must draw the samples in this order.
 */
#pragma once

#include "base/draw.h"
#include "models/data/split.h"

/**
 * Returns the index in the training set of sample number @p j in the mini-batch of step @p t of
 * worker @p w.
 */
static inline uint32_t stream_sample(const dsgd_stream *stream, uint32_t w, uint64_t t, uint32_t j)
{
    const dsgd_split *const split = stream->split;
    const uint32_t n = split == NULL ? stream->n_samples : split->begin[w + 1] - split->begin[w];
    /* first draws a mini-batch of the epoch, and then draws a sample in this mini-batch */
    if (split != NULL && split->own_batches) {
        const uint32_t n_batches = n < stream->batch ? 1 : n / stream->batch;
        const dsgd_draw of_epoch = {stream->seed, DSGD_DRAW_SAMPLES, w, (uint32_t)(t / n_batches),
                                    0};
        const dsgd_draw of_none = {stream->seed, DSGD_DRAW_SAMPLES, w, UINT32_MAX, 0};
        const uint64_t b = dsgd_draw_permuted(of_epoch, n_batches, (uint32_t)(t % n_batches));
        const uint32_t of_own = (uint32_t)((b * stream->batch + j) % n);
        return split->samples[split->begin[w] + dsgd_draw_permuted(of_none, n, of_own)];
    }
    const uint64_t position = (split == NULL ? t * stream->n_workers + w : t) * stream->batch + j;
    const dsgd_draw at = {stream->seed, DSGD_DRAW_SAMPLES, split == NULL ? 0 : w,
                          (uint32_t)(position / n), 0};
    const uint32_t i = dsgd_draw_permuted(at, n, (uint32_t)(position % n));
    return split == NULL ? i : split->samples[split->begin[w] + i];
}
