/**
 * @file batch.c
 * Converts batches of nodes to operations and computes the operations on the device.
 */
#include "models/values/store.h"

void dsgd_batch_open(dsgd_values *values, dsgd_batch *b)
{
    const size_t room = values->config.device->batch;
    union {
        dsgd_gradient_op gradient;
        dsgd_update_op update;
        dsgd_combine_op combine;
        dsgd_encode_op encode;
        dsgd_evaluate_op evaluate;
    } largest;
    *b = (dsgd_batch){.room = room,
                      .nodes = dsgd_store_alloc(values, room, sizeof *b->nodes),
                      .finite = dsgd_store_alloc(values, room, sizeof *b->finite),
                      .ops.gradients = dsgd_store_alloc(values, room, sizeof largest)};
}

/**
 * Draws the samples of all nodes of a batch. Mini-batches that are consecutive in the stream are
 * drawn in one call.
 */
static void draw_samples(const dsgd_values *values, dsgd_sampler *sampler, const dsgd_batch *b)
{
    const dsgd_stream *const stream = &values->config.stream;
    uint32_t *to = b->samples;
    /*
     * `first` is the start of the samples that are not yet drawn. `next` is the origin that would
     * continue them.
     */
    dsgd_origin first = {0, 0}, next = {UINT32_MAX, 0};
    uint32_t n = 0;
    for (size_t i = 0; i < b->n; i++) {
        const dsgd_value_node *const node = b->nodes[i];
        for (uint32_t k = 0; k < node->n_samples; k++) {
            const dsgd_origin at = node->samples[k];
            if (at.worker != next.worker || at.step != next.step) {
                dsgd_sampler_draw(sampler, first.worker, first.step, n, to);
                to += n;
                n = 0;
                first = at;
            }
            n += node->count;
            const bool all = node->count == stream->batch && stream->split == NULL;
            next = (dsgd_origin){all ? at.worker + 1 : UINT32_MAX, at.step};
        }
    }
    dsgd_sampler_draw(sampler, first.worker, first.step, n, to);
}

/** Returns the sample indices of all nodes of a batch of gradients, node by node. */
static const uint32_t *samples_of(dsgd_values *values, uint32_t thread, dsgd_batch *b)
{
    run_queue *const queue = &values->queues[thread];
    if (queue->sampler == NULL)
        queue->sampler = dsgd_sampler_new(&values->config.stream);
    size_t n = 0;
    for (size_t i = 0; i < b->n; i++)
        n += dsgd_batch_samples(b->nodes[i]);
    if (n > b->room_samples) {
        b->room_samples = 2 * n;
        b->samples = dsgd_store_alloc(values, b->room_samples, sizeof *b->samples);
    }
    draw_samples(values, queue->sampler, b);
    return b->samples;
}

static void describe_gradients(dsgd_values *values, uint32_t thread, dsgd_batch *b)
{
    const size_t n_pieces = values->config.problem.n_pieces;
    const uint32_t *samples = samples_of(values, thread, b);
    for (size_t i = 0; i < b->n; i++) {
        const dsgd_value_node *const node = b->nodes[i];
        b->ops.gradients[i] = (dsgd_gradient_op){
            .x = node->operands,
            .g = node->outputs,
            .state = node->n_inputs > n_pieces ? node->operands[n_pieces] : NULL,
            .state_new = node->n_outputs > n_pieces ? node->outputs[n_pieces] : NULL,
            .samples = samples,
            .n_samples = (uint32_t)dsgd_batch_samples(node)};
        samples += b->ops.gradients[i].n_samples;
    }
}

static dsgd_update_op describe_update(const dsgd_values *values, const dsgd_value_node *node)
{
    const bool state = node->n_outputs == 2;
    return (dsgd_update_op){.n = dsgd_shape_size(values, node->shape),
                            .x = node->operands[0],
                            .g = node->operands[1],
                            .v = state ? node->operands[2] : NULL,
                            .x_new = node->outputs[0],
                            .v_new = state ? node->outputs[1] : NULL,
                            .lr = node->rate.lr,
                            .t = node->rate.t};
}

static dsgd_combine_op describe_combination(const dsgd_values *values, const dsgd_value_node *node)
{
    return (dsgd_combine_op){.n = dsgd_shape_size(values, node->shape),
                             .n_inputs = node->n_inputs,
                             .x = node->operands,
                             .weights = node->weights,
                             .divisor = node->divisor,
                             .y = node->outputs[0]};
}

static dsgd_encode_op describe_encoding(const dsgd_values *values, const dsgd_value_node *node)
{
    return (dsgd_encode_op){.n = dsgd_shape_size(values, node->shape),
                            .x = node->n_inputs > 0 ? node->operands[0] : NULL,
                            .z = node->n_inputs > 1 ? node->operands[1] : NULL,
                            .codec = *node->codec,
                            .y = node->outputs[0]};
}

/**
 * Computes loss and accuracy of a model, and the consensus: the distance of the models from their
 * mean. lazy_graph.c documents the node's inputs.
 */
static void evaluate(dsgd_values *values, uint32_t thread, const dsgd_value_node *node)
{
    const dsgd_device *const device = values->config.device;
    const size_t n_pieces = values->config.problem.n_pieces;
    const size_t n_means = node->count;
    const bool other = n_means > n_pieces + dsgd_has_state(values);
    const dsgd_buffer *const model = node->operands;
    const dsgd_buffer *const mean = other ? model + n_means - n_pieces : model;
    dsgd_evaluate_op op = {.x = model, .state = dsgd_has_state(values) ? model[n_pieces] : NULL};
    device->evaluate(values->context, thread, &op, 1);
    const size_t n = node->n_inputs - n_means;
    dsgd_distance_op *const distances = dsgd_xcalloc(n, sizeof *distances);
    for (size_t i = 0; i < n; i++) {
        const size_t piece = node->shapes[n_means + i];
        distances[i] = (dsgd_distance_op){.n = dsgd_shape_size(values, piece),
                                          .x = node->operands[n_means + i],
                                          .y = mean[piece]};
    }
    device->distance(values->context, thread, distances, n);
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += node->weights[n_means + i] * distances[i].distance;
    free(distances);
    *node->evaluation = (dsgd_evaluation){op.loss, op.accuracy, sqrt(sum)};
}

/**
 * Prepares @p op to evaluate one part of the test set. The part has number @p part.worker, out of
 * @p part.step parts.
 */
static void take_part(const dsgd_values *values, dsgd_origin part, dsgd_evaluate_op *op)
{
    const uint64_t n = values->config.problem.data->test.n;
    const uint64_t first = part.worker * n / part.step;
    op->n_samples = (uint32_t)((part.worker + 1) * n / part.step - first);
    op->samples = part.step == 1 ? NULL : values->test_order + first;
    op->of_test = true;
}

/** Computes a batch of evaluations on parts of the test set. */
static void compute_scores(dsgd_values *values, uint32_t thread, dsgd_batch *b)
{
    const size_t n_pieces = values->config.problem.n_pieces;
    dsgd_evaluate_op *const ops = b->ops.evaluations;
    for (size_t i = 0; i < b->n; i++) {
        const dsgd_value_node *const node = b->nodes[i];
        ops[i] = (dsgd_evaluate_op){
            .x = node->operands, .state = dsgd_has_state(values) ? node->operands[n_pieces] : NULL};
        take_part(values, node->samples[0], &ops[i]);
    }
    values->config.device->evaluate(values->context, thread, ops, b->n);
    for (size_t i = 0; i < b->n; i++)
        *b->nodes[i]->evaluation = (dsgd_evaluation){ops[i].loss, ops[i].accuracy, NAN};
}

void dsgd_batch_compute(dsgd_values *values, uint32_t thread, dsgd_batch *b)
{
    const dsgd_device *const device = values->config.device;
    for (size_t i = 0; i < b->n; i++) {
        const dsgd_value_node *const node = b->nodes[i];
        for (uint32_t k = 0; k < node->n_inputs; k++) {
            const dsgd_value input = node->inputs[k];
            node->operands[k] = input.node == NULL ? NULL : input.node->outputs[input.index];
        }
        b->finite[i] = true;
    }
    switch (b->kind) {
    case NODE_GRADIENT:
        describe_gradients(values, thread, b);
        device->gradient(values->context, thread, b->ops.gradients, b->n, b->finite);
        break;
    case NODE_UPDATE:
        for (size_t i = 0; i < b->n; i++)
            b->ops.updates[i] = describe_update(values, b->nodes[i]);
        device->update(values->context, thread, b->ops.updates, b->n, b->finite);
        break;
    case NODE_COMBINE:
        for (size_t i = 0; i < b->n; i++)
            b->ops.combinations[i] = describe_combination(values, b->nodes[i]);
        device->combine(values->context, thread, b->ops.combinations, b->n, b->finite);
        break;
    case NODE_ENCODE:
        for (size_t i = 0; i < b->n; i++)
            b->ops.encodings[i] = describe_encoding(values, b->nodes[i]);
        device->encode(values->context, thread, b->ops.encodings, b->n, b->finite);
        break;
    case NODE_EVALUATE:
        for (size_t i = 0; i < b->n; i++)
            evaluate(values, thread, b->nodes[i]);
        break;
    case NODE_TEST:
        compute_scores(values, thread, b);
        break;
    case NODE_CONSTANT:
    case NODE_KINDS:
        break;
    }
}
