/**
 * @file layers.h
 * Forward and backward pass of every layer and loss, as a sequence of kernels (elementwise.h) and
 * matrix products (matmul.h). The file is compiled once per device. A device defines the type
 * `execution`, which contains the replicas of a call and a member `args` of type kernel_args. The
 * device also defines three operations, which apply to all these replicas:
 *
 *     MAP(e, s, kernel, layer, n)
 *       calls kernel(replica, layer, args, i) for i in [s.first * n, (s.first + s.n) * n),
 *       in any order: n calls per sample of the range s
 *     TOTAL(e, s, kernel, layer, n)
 *       calls the kernel for i in [0, n). It is for sums over samples:
 *       one call adds in the order of the samples
 *     multiply(e, s, matmuls, n)
 *       computes n <= MOST_MATMULS matrix products that do not read each other's results
 */
#pragma once

#include "models/layers/elementwise.h"
#include "models/layers/matmul.h"

/**
 * Returns the attention weights of each head, [rows][rows]. If @p grads is true, returns their
 * gradients.
 */
static inline operand attention_weights(const dsgd_layer *l, bool grads)
{
    const size_t t = l->in.n_rows;
    return operand_at(SAVED, l->saved + grads * l->n_heads * t * t, 0, t, 1, l->n_heads * t * t,
                      t * t);
}

/** Queries, keys, values and output of each attention head, [rows][columns / n_heads] each. */
typedef struct heads {
    operand q, k, v, y;
} heads;

static inline heads heads_of(region in, const dsgd_layer *l)
{
    const size_t c = l->out.n_columns;
    const size_t size = c / l->n_heads;
    const size_t n_in = tensor_size(&l->in);
    const heads h = {operand_at(in, l->in.offset, 0, 3 * c, 1, n_in, size),
                     operand_at(in, l->in.offset, c, 3 * c, 1, n_in, size),
                     operand_at(in, l->in.offset, 2 * c, 3 * c, 1, n_in, size),
                     operand_at(in, l->out.offset, 0, c, 1, tensor_size(&l->out), size)};
    return h;
}

static inline matmul per_head(const dsgd_layer *l, bool adds, matmul p)
{
    p.n_heads = l->n_heads;
    p.adds = adds;
    return p;
}

/** Computes Y = softmax(Q K^T / sqrt(columns per head)) V for each sample and head. */
static void attention_forward(execution *e, sample_range s, const dsgd_layer *l)
{
    const uint32_t t = l->in.n_rows;
    const uint32_t size = l->out.n_columns / l->n_heads;
    const heads x = heads_of(VALUES, l);
    const operand w = attention_weights(l, false);
    const matmul scores =
        per_head(l, false, matmul_of(t, t, size, SAMPLES_BATCHED, x.q, transposed(x.k), w));
    const matmul mix = per_head(l, false, matmul_of(t, size, t, SAMPLES_BATCHED, w, x.v, x.y));
    multiply(e, s, &scores, 1);
    MAP(e, s, attention_kernel, l, l->n_heads * t);
    multiply(e, s, &mix, 1);
}

static void attention_backward(execution *e, sample_range s, const dsgd_layer *l)
{
    const uint32_t t = l->in.n_rows;
    const uint32_t size = l->out.n_columns / l->n_heads;
    const heads x = heads_of(VALUES, l);
    const heads d = heads_of(GRADS, l);
    const operand w = attention_weights(l, false);
    const operand dw = attention_weights(l, true);
    const matmul first[MOST_MATMULS] = {
        per_head(l, false, matmul_of(t, t, size, SAMPLES_BATCHED, d.y, transposed(x.v), dw)),
        per_head(l, l->adds, matmul_of(t, size, t, SAMPLES_BATCHED, transposed(w), d.y, d.v))};
    const matmul second[MOST_MATMULS] = {
        per_head(l, l->adds, matmul_of(t, size, t, SAMPLES_BATCHED, dw, x.k, d.q)),
        per_head(l, l->adds, matmul_of(t, size, t, SAMPLES_BATCHED, transposed(dw), x.q, d.k))};
    multiply(e, s, first, 2);
    MAP(e, s, attention_backward_kernel, l, l->n_heads * t);
    multiply(e, s, second, 2);
}

/**
 * Returns row @p step of each sample as a matrix [1][n]. The region contains [n_rows][n] reals per
 * sample.
 */
static inline operand step_row(region in, size_t offset, uint32_t step, uint32_t n_rows, size_t n)
{
    return operand_at(in, offset, step * n, n, 1, n_rows * n, 0);
}

static void lstm_forward(execution *e, sample_range s, const dsgd_layer *l)
{
    const uint32_t u = l->out.n_columns;
    const uint32_t t = l->out.n_rows;
    for (uint32_t step = 0; step < t; step++) {
        const matmul p = matmul_of(1, 4 * u, u, SAMPLES_ALONG_M,
                                   step_row(SAVED, lstm_saved(l, LSTM_BEFORE), step, t, u),
                                   parameters(PARAMETERS, l->params, 4 * u),
                                   step_row(SAVED, lstm_saved(l, LSTM_GATES), step, t, 4 * u));
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
        matmul p =
            matmul_of(1, u, 4 * u, SAMPLES_ALONG_M, step_row(GRADS, l->in.offset, step, t, 4 * u),
                      transposed(parameters(PARAMETERS, l->params, 4 * u)),
                      operand_at(SAVED, lstm_saved(l, LSTM_CELL_GRAD) + u, 0, u, 1, u, 0));
        p.adds = true;
        if (step > 0)
            multiply(e, s, &p, 1);
    }
    const operand before =
        operand_at(SAVED, lstm_saved(l, LSTM_BEFORE), 0, u, 1, tensor_size(&l->out), 0);
    const matmul p = matmul_of(u, 4 * u, t, SAMPLES_ALONG_K, transposed(before), grads,
                               parameters(PARAMETER_GRADS, l->params, 4 * u));
    multiply(e, s, &p, 1);
}

/**
 * Returns the product Y = X W + b, followed by ReLU if the layer has one. X [rows][n_inputs] is a
 * tensor or the output of im2col.
 */
static inline matmul linear_forward(const dsgd_layer *l, operand x, uint32_t n_inputs)
{
    matmul p =
        matmul_of(l->out.n_rows, l->out.n_columns, n_inputs, SAMPLES_ALONG_M, x,
                  parameters(PARAMETERS, l->params, l->out.n_columns), rows_of(VALUES, &l->out));
    p.bias = l->biased ? BIAS_ADD : BIAS_NONE;
    p.relu = l->relu;
    return p;
}

/**
 * Stores two products in both[]: dW = X^T dY, with db, and dX = dY W^T. A layer that reads the
 * network's input needs no dX. The dX of a convolution overwrites its im2col rows. Returns the
 * number of products that can be computed at once.
 */
static inline uint32_t linear_backward(const dsgd_layer *l, operand x, uint32_t n_inputs,
                                       matmul *both)
{
    const bool windows = l->kind == DSGD_CONVOLUTION;
    const uint32_t n = l->out.n_columns;
    const operand dy = rows_of(GRADS, &l->out);
    both[0] = matmul_of(n_inputs, n, l->out.n_rows, SAMPLES_ALONG_K, transposed(x), dy,
                        parameters(PARAMETER_GRADS, l->params, n));
    both[1] = matmul_of(l->out.n_rows, n_inputs, n, SAMPLES_ALONG_M, dy,
                        transposed(parameters(PARAMETERS, l->params, n)),
                        windows ? x : rows_of(GRADS, &l->in));
    both[0].bias = l->biased ? BIAS_GRAD : BIAS_NONE;
    both[1].adds = !windows && l->adds;
    both[1].relu_backward = !windows && l->relu_input;
    return windows || l->from == 0 ? 1 : 2;
}

/**
 * Computes the matrix products of a linear layer or of a convolution. The caller runs the im2col or
 * col2im of a convolution.
 */
static void linear_products(execution *e, sample_range s, const dsgd_layer *l, bool backward)
{
    const bool windows = l->kind == DSGD_CONVOLUTION;
    const uint32_t n_inputs = (windows ? l->kernel_size * l->kernel_size : 1) * l->in.n_columns;
    /* number of inputs per sample; for a convolution, the inputs are the rows of im2col */
    const size_t n = (size_t)n_inputs * l->out.n_rows;
    const operand x =
        windows ? operand_at(SAVED, l->saved, 0, n_inputs, 1, n, 0) : rows_of(VALUES, &l->in);
    const matmul forward = linear_forward(l, x, n_inputs);
    matmul both[MOST_MATMULS];
    const uint32_t at_once = linear_backward(l, x, n_inputs, both);
    multiply(e, s, backward ? both : &forward, backward ? at_once : 1);
    if (backward && windows && l->from > 0)
        multiply(e, s, &both[1], 1);
}

static void layer_forward(execution *e, sample_range s, const dsgd_layer *l)
{
    switch (l->kind) {
    case DSGD_LINEAR:
        linear_products(e, s, l, false);
        break;
    case DSGD_CONVOLUTION:
        MAP(e, s, im2col_kernel, l, height_of(&l->out));
        linear_products(e, s, l, false);
        break;
    case DSGD_MAX_POOL:
        MAP(e, s, max_pool_kernel, l, height_of(&l->out));
        break;
    case DSGD_MEAN_ROWS:
        MAP(e, s, mean_rows_kernel, l, l->in.n_columns);
        break;
    case DSGD_LAST_ROW:
        MAP(e, s, last_row_kernel, l, l->in.n_columns);
        break;
    case DSGD_BATCH_NORM:
        TOTAL(e, s, batch_norm_statistics_kernel, l, l->in.n_columns);
        MAP(e, s, batch_norm_kernel, l, tensor_size(&l->in));
        break;
    case DSGD_ADD:
        MAP(e, s, add_kernel, l, tensor_size(&l->in));
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
        linear_products(e, s, l, true);
        break;
    case DSGD_CONVOLUTION:
        linear_products(e, s, l, true);
        if (l->from > 0)
            MAP(e, s, col2im_kernel, l, height_of(&l->in));
        break;
    case DSGD_MAX_POOL:
        MAP(e, s, max_pool_backward_kernel, l, lines_of_windows(l));
        break;
    case DSGD_MEAN_ROWS:
        MAP(e, s, mean_rows_backward_kernel, l, tensor_size(&l->in));
        break;
    case DSGD_LAST_ROW:
        MAP(e, s, last_row_backward_kernel, l, tensor_size(&l->in));
        break;
    case DSGD_BATCH_NORM:
        TOTAL(e, s, batch_norm_backward_params_kernel, l, l->in.n_columns);
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
        TOTAL(e, s, layer_norm_backward_params_kernel, l, l->in.n_columns);
        break;
    case DSGD_ATTENTION:
        attention_backward(e, s, l);
        break;
    case DSGD_LSTM:
        lstm_backward(e, s, l);
        break;
    }
}

static void forward(execution *e, sample_range s, const dsgd_network *network)
{
    for (uint32_t l = 0; l < network->n_layers; l++)
        layer_forward(e, s, &network->layers[l]);
}

/**
 * Plays a batch in the worker's environments and computes the gradients of the outputs. The next
 * batch continues from the new states of the environments. @p most is the number of steps in the
 * largest batch.
 */
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

/**
 * Computes the gradient g of every replica. @p most is the number of samples of the replica with
 * the most samples.
 */
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

/**
 * Computes the scores of every replica. @p most is the number of samples of the replica with the
 * most samples.
 */
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
