/**
 * @file layers.h
 * Every layer and loss, forward and backward, as kernels and matrix products, written once and compiled for each device. The includer
 * defines `execution`, which has a member `args`, and three ways to compute:
 *
 *   MAP(e, s, kernel, layer, n)     calls kernel(replica, layer, args, i) for i in [s.first * n, (s.first + s.n) * n):
 *                                       n calls per sample, at every replica, in any order
 *   TOTAL(e, s, kernel, layer, n)   for i in [0, n), at every replica: sums over samples, which each call does in their order
 *   multiply(e, s, products, n)   matrix products that do not need each other, MOST_PRODUCTS at most, at every replica
 */
#ifndef DSGD_MODELS_LAYERS_LAYERS_H
#define DSGD_MODELS_LAYERS_LAYERS_H

#include "models/layers/elementwise.h"
#include "models/layers/matmul.h"

/* --- layers -------------------------------------------------------------------------------------------------------------------------- */

static inline uint32_t window_size(const dsgd_layer *l)
{
    return l->kernel_size * l->kernel_size * l->in.n_columns;
}

/** The windows of a convolution as rows. */
static inline operand im2col_of(const dsgd_layer *l)
{
    const size_t n = window_size(l);
    return operand_at(SAVED, l->saved, 0, n, 1, n * l->out.n_rows, 0);
}

/** Queries (0), keys (1) or values (2) of each head. */
static inline operand attended(space in, const dsgd_layer *l, size_t which)
{
    const size_t c = l->out.n_columns;
    return operand_at(in, l->in.offset, which * c, 3 * c, 1, tensor_size(&l->in), c / l->n_heads);
}

/** The heads' weights (0) or their derivatives (1). */
static inline operand attention_weights(const dsgd_layer *l, size_t which)
{
    const size_t t = l->in.n_rows;
    return operand_at(SAVED, l->saved + which * l->n_heads * t * t, 0, t, 1, l->n_heads * t * t,
                      t * t);
}

static inline operand attention_output(space in, const dsgd_layer *l)
{
    const size_t c = l->out.n_columns;
    return operand_at(in, l->out.offset, 0, c, 1, tensor_size(&l->out), c / l->n_heads);
}

static inline product product_of_heads(const dsgd_layer *l, uint32_t m, uint32_t n, uint32_t k,
                                       operand a, operand b, operand to, bool adds)
{
    product p = product_of(m, n, k, SAMPLES_APART, a, b, to);
    p.n_heads = l->n_heads;
    p.adds = adds;
    return p;
}

static void attention_forward(execution *e, sample_range s, const dsgd_layer *l)
{
    const uint32_t t = l->in.n_rows;
    const uint32_t size = l->out.n_columns / l->n_heads;
    const operand weights = attention_weights(l, 0);
    const product match = product_of_heads(l, t, t, size, attended(VALUES, l, 0),
                                           transposed(attended(VALUES, l, 1)), weights, false);
    const product mix = product_of_heads(l, t, size, t, weights, attended(VALUES, l, 2),
                                         attention_output(VALUES, l), false);
    multiply(e, s, &match, 1);
    MAP(e, s, attention_kernel, l, l->n_heads * t);
    multiply(e, s, &mix, 1);
}

static void attention_backward(execution *e, sample_range s, const dsgd_layer *l)
{
    const uint32_t t = l->in.n_rows;
    const uint32_t size = l->out.n_columns / l->n_heads;
    const operand dy = attention_output(GRADS, l);
    const operand grads = attention_weights(l, 1);
    const product first[MOST_PRODUCTS] = {
        product_of_heads(l, t, t, size, dy, transposed(attended(VALUES, l, 2)), grads, false),
        product_of_heads(l, t, size, t, transposed(attention_weights(l, 0)), dy,
                         attended(GRADS, l, 2), l->adds)};
    const product second[MOST_PRODUCTS] = {
        product_of_heads(l, t, size, t, grads, attended(VALUES, l, 1), attended(GRADS, l, 0),
                         l->adds),
        product_of_heads(l, t, size, t, transposed(grads), attended(VALUES, l, 0),
                         attended(GRADS, l, 1), l->adds)};
    multiply(e, s, first, 2);
    MAP(e, s, attention_backward_kernel, l, l->n_heads * t);
    multiply(e, s, second, 2);
}

/** One row of each sample at a step, of n numbers that lie in blocks of [n_rows][n]. */
static inline operand step_row(space in, size_t offset, uint32_t step, uint32_t n_rows, size_t n)
{
    return operand_at(in, offset, step * n, n, 1, n_rows * n, 0);
}

static void lstm_forward(execution *e, sample_range s, const dsgd_layer *l)
{
    const uint32_t u = l->out.n_columns;
    const uint32_t t = l->out.n_rows;
    for (uint32_t step = 0; step < t; step++) {
        const product p =
            product_of(1, 4 * u, u, SAMPLES_ROWS, step_row(SAVED, lstm_before(l), step, t, u),
                       parameters(PARAMETERS, l->params, 4 * u),
                       step_row(SAVED, lstm_gates(l), step, t, 4 * u));
        if (step > 0)
            multiply(e, s, &p, 1);
        e->args.step = step;
        MAP(e, s, lstm_kernel, l, u);
    }
}

static void lstm_backward(execution *e, sample_range s, const dsgd_layer *l)
{
    const uint32_t u = l->out.n_columns;
    const uint32_t t = l->out.n_rows;
    const operand grads = operand_at(GRADS, l->in.offset, 0, 4 * u, 1, tensor_size(&l->in), 0);
    for (uint32_t step = t; step-- > 0;) {
        e->args.step = step;
        MAP(e, s, lstm_backward_kernel, l, u);
        product p =
            product_of(1, u, 4 * u, SAMPLES_ROWS, step_row(GRADS, l->in.offset, step, t, 4 * u),
                       transposed(parameters(PARAMETERS, l->params, 4 * u)),
                       operand_at(SAVED, lstm_grads(l), 0, u, 1, u, 0));
        p.adds = true;
        if (step > 0)
            multiply(e, s, &p, 1);
    }
    const operand before = operand_at(SAVED, lstm_before(l), 0, u, 1, tensor_size(&l->out), 0);
    const product p = product_of(u, 4 * u, t, SAMPLES_DEPTH, transposed(before), grads,
                                 parameters(GRADIENT, l->params, 4 * u));
    multiply(e, s, &p, 1);
}

/** y = W^T x + c for rows that are a tensor's or windows. */
static void linear_forward(execution *e, sample_range s, const dsgd_layer *l, operand x,
                           uint32_t n_inputs, bool biased)
{
    product p =
        product_of(l->out.n_rows, l->out.n_columns, n_inputs, SAMPLES_ROWS, x,
                   parameters(PARAMETERS, l->params, l->out.n_columns), rows_of(VALUES, &l->out));
    p.ones = biased ? ONES_COLUMN : ONES_NONE;
    p.relu = l->relu;
    multiply(e, s, &p, 1);
}

/** The gradient of W and c, and, where the layer does not read the network's input, dx: windows take the place of those of x. */
static void linear_backward(execution *e, sample_range s, const dsgd_layer *l, operand x,
                            uint32_t n_inputs, bool biased)
{
    const bool windows = l->kind == DSGD_CONVOLUTION;
    const uint32_t n = l->out.n_columns;
    const operand dy = rows_of(GRADS, &l->out);
    product both[MOST_PRODUCTS] = {product_of(n_inputs, n, l->out.n_rows, SAMPLES_DEPTH,
                                              transposed(x), dy,
                                              parameters(GRADIENT, l->params, n)),
                                   product_of(l->out.n_rows, n_inputs, n, SAMPLES_ROWS, dy,
                                              transposed(parameters(PARAMETERS, l->params, n)),
                                              windows ? x : rows_of(GRADS, &l->in))};
    both[0].ones = biased ? ONES_ROW : ONES_NONE;
    both[1].adds = !windows && l->adds;
    both[1].relu_backward = !windows && l->relu_input;
    multiply(e, s, both, windows || l->from == 0 ? 1 : 2);
    if (windows && l->from > 0)
        multiply(e, s, &both[1], 1);
}

static void layer_forward(execution *e, sample_range s, const dsgd_layer *l)
{
    switch (l->kind) {
    case DSGD_LINEAR:
        linear_forward(e, s, l, rows_of(VALUES, &l->in), l->in.n_columns, true);
        break;
    case DSGD_CONVOLUTION:
        MAP(e, s, im2col_kernel, l, l->out.n_rows);
        linear_forward(e, s, l, im2col_of(l), window_size(l), l->biased);
        break;
    case DSGD_MAX_POOL:
        MAP(e, s, max_pool_kernel, l, l->out.n_rows);
        break;
    case DSGD_MEAN_ROWS:
        MAP(e, s, mean_rows_kernel, l, l->in.n_columns);
        break;
    case DSGD_LAST_ROW:
        MAP(e, s, last_row_kernel, l, l->in.n_columns);
        break;
    case DSGD_BATCH_NORM:
        TOTAL(e, s, batch_norm_total_kernel, l, l->in.n_columns);
        MAP(e, s, batch_norm_kernel, l, tensor_size(&l->in));
        break;
    case DSGD_ADD:
        MAP(e, s, add_kernel, l, tensor_size(&l->in));
        if (l->relu)
            MAP(e, s, relu_kernel, l, tensor_size(&l->in));
        break;
    case DSGD_EMBEDDING:
        MAP(e, s, embedding_kernel, l, tensor_size(&l->out));
        break;
    case DSGD_LAYER_NORM:
        MAP(e, s, layer_norm_kernel, l, l->in.n_rows);
        break;
    case DSGD_ATTENTION:
        attention_forward(e, s, l);
        break;
    case DSGD_LSTM:
        lstm_forward(e, s, l);
        break;
    }
}

static void layer_backward(execution *e, sample_range s, const dsgd_layer *l)
{
    if (l->relu && !l->relu_by_reader)
        MAP(e, s, relu_backward_kernel, l, tensor_size(&l->out));
    switch (l->kind) {
    case DSGD_LINEAR:
        linear_backward(e, s, l, rows_of(VALUES, &l->in), l->in.n_columns, true);
        break;
    case DSGD_CONVOLUTION:
        linear_backward(e, s, l, im2col_of(l), window_size(l), l->biased);
        if (l->from > 0)
            MAP(e, s, col2im_kernel, l, l->in.n_rows);
        break;
    case DSGD_MAX_POOL:
        MAP(e, s, max_pool_backward_kernel, l, l->in.n_rows);
        break;
    case DSGD_MEAN_ROWS:
        MAP(e, s, mean_rows_backward_kernel, l, tensor_size(&l->in));
        break;
    case DSGD_LAST_ROW:
        MAP(e, s, last_row_backward_kernel, l, tensor_size(&l->in));
        break;
    case DSGD_BATCH_NORM:
        TOTAL(e, s, batch_norm_backward_total_kernel, l, l->in.n_columns);
        MAP(e, s, batch_norm_backward_kernel, l, tensor_size(&l->in));
        break;
    case DSGD_ADD:
        MAP(e, s, add_backward_kernel, l, tensor_size(&l->in));
        break;
    case DSGD_EMBEDDING:
        TOTAL(e, s, embedding_backward_kernel, l, l->out.n_columns);
        break;
    case DSGD_LAYER_NORM:
        MAP(e, s, layer_norm_backward_kernel, l, l->in.n_rows);
        TOTAL(e, s, layer_norm_backward_total_kernel, l, l->in.n_columns);
        break;
    case DSGD_ATTENTION:
        attention_backward(e, s, l);
        break;
    case DSGD_LSTM:
        lstm_backward(e, s, l);
        break;
    }
}

/* --- networks ------------------------------------------------------------------------------------------------------------------------ */

static void forward(execution *e, sample_range s, const dsgd_network *network)
{
    for (uint32_t l = 0; l < network->n_layers; l++)
        layer_forward(e, s, &network->layers[l]);
}

/** The worker plays; then its environments are where the next batch goes on. @p most: steps of the largest batch. */
static void play(execution *e, const dsgd_network *network, uint32_t most)
{
    const dsgd_layer *first = &network->layers[0];
    const dsgd_layer *last = &network->layers[network->n_layers - 1];
    const uint32_t n = network->n_environments;
    const sample_range all = {0, most};
    TOTAL(e, all, state_copy_kernel, first, (size_t)n * DSGD_ENVIRONMENT_REALS);
    for (uint32_t begin = 0; begin < most; begin += n) {
        const sample_range s = {begin, n};
        MAP(e, s, observe_kernel, first, 1);
        forward(e, s, network);
        MAP(e, s, act_kernel, last, 1);
    }
    TOTAL(e, all, return_kernel, last, n);
    TOTAL(e, all, baseline_kernel, last, 1);
    MAP(e, all, policy_kernel, last, 1);
}

/** g <- gradient, at every replica; the largest has @p most samples. */
static void network_gradient(execution *e, const dsgd_network *network, uint32_t most)
{
    const dsgd_layer *first = &network->layers[0];
    const dsgd_layer *last = &network->layers[network->n_layers - 1];
    const sample_range all = {0, most};
    if (network->loss == DSGD_LOSS_POLICY) {
        play(e, network, most);
    } else {
        MAP(e, all, load_kernel, first, 1);
        forward(e, all, network);
        if (network->loss == DSGD_LOSS_SQUARED)
            MAP(e, all, squared_error_kernel, last, 1);
        else
            MAP(e, all, cross_entropy_kernel, last, last->out.n_rows);
    }
    for (uint32_t l = network->n_layers; l-- > 0;)
        layer_backward(e, all, &network->layers[l]);
}

/** Fills the scores, at every replica. */
static void network_scores(execution *e, const dsgd_network *network, uint32_t most)
{
    const dsgd_layer *first = &network->layers[0];
    const dsgd_layer *last = &network->layers[network->n_layers - 1];
    const sample_range all = {0, most};
    if (network->loss == DSGD_LOSS_POLICY) {
        MAP(e, all, episode_kernel, first, 1);
        for (uint32_t step = 0; step < DSGD_EPISODE_STEPS; step++) {
            e->args.step = step;
            MAP(e, all, observe_kernel, first, 1);
            forward(e, all, network);
            MAP(e, all, episode_step_kernel, last, 1);
        }
        return;
    }
    MAP(e, all, load_kernel, first, 1);
    forward(e, all, network);
    if (network->loss == DSGD_LOSS_SQUARED)
        MAP(e, all, squared_error_score_kernel, last, 1);
    else
        MAP(e, all, cross_entropy_score_kernel, last, 1);
}

#endif
