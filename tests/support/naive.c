/**
 * @file naive.c
 * Computes forward passes of networks by plain loops in long double.
 */
#include "tests/support/naive.h"

/**
 * A layer of one sample. This struct contains the places of the layer's input, output and
 * parameters.
 */
typedef struct place {
    const dsgd_layer *layer;
    const long double *w; /* the layer's parameters */
    const long double *in, *other;
    long double *out;
    uint32_t length; /* number of rows of the sequence that count, which only an LSTM uses */
} place;

static long double sigmoid(long double z)
{
    return 1 / (1 + expl(-z));
}

static void dense(const place *p)
{
    const uint32_t n_in = p->layer->in.n_columns, n_out = p->layer->out.n_columns;
    for (uint32_t row = 0; row < p->layer->in.n_rows; row++)
        for (uint32_t j = 0; j < n_out; j++) {
            long double z = p->w[n_in * n_out + j];
            for (uint32_t i = 0; i < n_in; i++)
                z += p->w[i * n_out + j] * p->in[row * n_in + i];
            p->out[row * n_out + j] = z;
        }
}

static void convolution(const place *p)
{
    const dsgd_layer *const l = p->layer;
    const int width = (int)l->in.width, height = (int)(l->in.n_rows / l->in.width);
    const int k = (int)l->kernel_size, c = (int)l->in.n_columns, n = (int)l->out.n_columns;
    for (int y = 0; y < (int)(l->out.n_rows / l->out.width); y++)
        for (int x = 0; x < (int)l->out.width; x++)
            for (int j = 0; j < n; j++) {
                long double z = l->biased ? p->w[k * k * c * n + j] : 0;
                for (int ky = 0; ky < k; ky++)
                    for (int kx = 0; kx < k; kx++) {
                        const int iy = y * (int)l->stride + ky - (int)l->padding;
                        const int ix = x * (int)l->stride + kx - (int)l->padding;
                        if (iy < 0 || iy >= height || ix < 0 || ix >= width)
                            continue;
                        for (int i = 0; i < c; i++)
                            z += p->w[((ky * k + kx) * c + i) * n + j] *
                                 p->in[(iy * width + ix) * c + i];
                    }
                p->out[(y * (int)l->out.width + x) * n + j] = z;
            }
}

static void max_pool(const place *p)
{
    const dsgd_layer *const l = p->layer;
    const uint32_t c = l->in.n_columns;
    for (uint32_t row = 0; row < l->out.n_rows; row++)
        for (uint32_t j = 0; j < c; j++) {
            long double largest = -INFINITY;
            for (uint32_t y = 0; y < l->kernel_size; y++)
                for (uint32_t x = 0; x < l->kernel_size; x++) {
                    const uint32_t iy = row / l->out.width * l->kernel_size + y;
                    const uint32_t ix = row % l->out.width * l->kernel_size + x;
                    largest = fmaxl(largest, p->in[(iy * l->in.width + ix) * c + j]);
                }
            p->out[row * c + j] = largest;
        }
}

static void mean_rows(const place *p)
{
    const uint32_t c = p->layer->in.n_columns;
    for (uint32_t j = 0; j < c; j++) {
        p->out[j] = 0;
        for (uint32_t row = 0; row < p->layer->in.n_rows; row++)
            p->out[j] += p->in[row * c + j] / p->layer->in.n_rows;
    }
}

static void embedding(const place *p)
{
    const uint32_t c = p->layer->out.n_columns;
    const long double *const places = p->w + p->layer->n_tokens * c;
    for (uint32_t row = 0; row < p->layer->in.n_rows; row++)
        for (uint32_t j = 0; j < c; j++)
            p->out[row * c + j] = p->w[(uint32_t)p->in[row] * c + j] + places[row * c + j];
}

static void layer_norm(const place *p)
{
    const uint32_t c = p->layer->in.n_columns;
    for (uint32_t row = 0; row < p->layer->in.n_rows; row++) {
        const long double *const x = p->in + row * c;
        long double mean = 0;
        long double variance = 0;
        for (uint32_t j = 0; j < c; j++)
            mean += x[j] / c;
        for (uint32_t j = 0; j < c; j++)
            variance += (x[j] - mean) * (x[j] - mean) / c;
        for (uint32_t j = 0; j < c; j++)
            p->out[row * c + j] = p->w[j] * (x[j] - mean) / sqrtl(variance + 1e-5L) + p->w[c + j];
    }
}

static void attention(const place *p)
{
    const dsgd_layer *const l = p->layer;
    const uint32_t c = l->out.n_columns, size = c / l->n_heads;
    for (uint32_t head = 0; head < l->n_heads; head++)
        for (uint32_t t = 0; t < l->in.n_rows; t++) {
            long double sum = 0;
            long double *const out = p->out + t * c + head * size;
            memset(out, 0, size * sizeof *out);
            for (uint32_t s = 0; s <= t; s++) {
                const long double *const query = p->in + t * 3 * c + head * size;
                const long double *const key = p->in + s * 3 * c + c + head * size;
                const long double *const value = p->in + s * 3 * c + 2 * c + head * size;
                long double score = 0;
                for (uint32_t i = 0; i < size; i++)
                    score += query[i] * key[i];
                const long double weight = expl(score / sqrtl(size));
                sum += weight;
                for (uint32_t i = 0; i < size; i++)
                    out[i] += weight * value[i];
            }
            for (uint32_t i = 0; i < size; i++)
                out[i] /= sum;
        }
}

static void lstm(const place *p)
{
    const uint32_t u = p->layer->out.n_columns;
    long double *const cell = dsgd_keep(u, sizeof *cell);
    long double *const h = dsgd_keep(u, sizeof *h);
    long double *const z = dsgd_keep(4 * (size_t)u, sizeof *z);
    for (uint32_t t = 0; t < p->layer->in.n_rows; t++) {
        for (uint32_t j = 0; j < 4 * u; j++) {
            z[j] = p->in[t * 4 * u + j];
            for (uint32_t i = 0; i < u; i++)
                z[j] += p->w[i * 4 * u + j] * h[i];
        }
        for (uint32_t j = 0; j < u && t < p->length; j++) {
            cell[j] = sigmoid(z[u + j]) * cell[j] + sigmoid(z[j]) * tanhl(z[2 * u + j]);
            h[j] = sigmoid(z[3 * u + j]) * tanhl(cell[j]);
        }
        memcpy(p->out + t * u, h, u * sizeof *h);
    }
}

/**
 * Computes the output of a layer for one sample. Batch norm depends on the whole batch and is
 * therefore computed elsewhere.
 */
static void one_sample(const place *p)
{
    const dsgd_layer *const l = p->layer;
    const size_t n = (size_t)l->in.n_rows * l->in.n_columns;
    switch (l->kind) {
    case DSGD_LINEAR:
        dense(p);
        break;
    case DSGD_CONVOLUTION:
        convolution(p);
        break;
    case DSGD_MAX_POOL:
        max_pool(p);
        break;
    case DSGD_MEAN_ROWS:
        mean_rows(p);
        break;
    case DSGD_LAST_ROW:
        memcpy(p->out, p->in + n - l->in.n_columns, l->in.n_columns * sizeof *p->out);
        break;
    case DSGD_ADD:
        for (size_t i = 0; i < n; i++)
            p->out[i] = p->in[i] + p->other[i];
        break;
    case DSGD_EMBEDDING:
        embedding(p);
        break;
    case DSGD_LAYER_NORM:
        layer_norm(p);
        break;
    case DSGD_ATTENTION:
        attention(p);
        break;
    case DSGD_LSTM:
        lstm(p);
        break;
    case DSGD_BATCH_NORM:
        break;
    }
}

static void batch_norm(const dsgd_layer *l, const long double *w, const naive_batch *batch,
                       const long double *in, long double *out, double *statistics)
{
    const size_t c = l->in.n_columns, n = (size_t)batch->n * l->in.n_rows;
    for (size_t j = 0; j < c; j++) {
        long double mean = 0;
        long double squares = 0;
        for (size_t i = 0; i < n; i++)
            mean += in[i * c + j] / n;
        for (size_t i = 0; i < n; i++)
            squares += (in[i * c + j] - mean) * (in[i * c + j] - mean);
        long double variance = squares / n;
        if (statistics != NULL) {
            statistics[l->state + j] = (double)mean;
            statistics[l->state + c + j] = (double)(squares / (n - 1));
        }
        if (batch->state != NULL) {
            mean = batch->state[l->state + j];
            variance = batch->state[l->state + c + j];
        }
        for (size_t i = 0; i < n; i++)
            out[i * c + j] = w[j] * (in[i * c + j] - mean) / sqrtl(variance + 1e-5L) + w[c + j];
    }
}

/** Returns the number of values of a tensor with the given number. */
static size_t size_of(const dsgd_network *network, uint32_t tensor)
{
    const dsgd_tensor *const t =
        tensor == 0 ? &network->layers[0].in : &network->layers[tensor - 1].out;
    return (size_t)t->n_rows * t->n_columns;
}

long double *naive_forward(const dsgd_network *network, const long double *x,
                           const naive_batch *batch, double *statistics)
{
    const long double *tensors[DSGD_MAX_LAYERS + 1] = {batch->x};
    for (uint32_t i = 0; i < network->n_layers; i++) {
        const dsgd_layer *const l = &network->layers[i];
        const size_t n_in = size_of(network, l->from), n_out = size_of(network, i + 1);
        long double *const out = dsgd_xcalloc(batch->n * n_out, sizeof *out);
        tensors[i + 1] = out;
        if (l->kind == DSGD_BATCH_NORM)
            batch_norm(l, x + l->params, batch, tensors[l->from], out, statistics);
        for (uint32_t s = 0; s < batch->n; s++) {
            const uint32_t length = batch->lengths == NULL ? l->in.n_rows : batch->lengths[s];
            one_sample(&(place){l, x + l->params, tensors[l->from] + s * n_in,
                                l->kind == DSGD_ADD ? tensors[l->other] + s * n_out : NULL,
                                out + s * n_out, length});
        }
        for (size_t k = 0; l->relu && k < batch->n * n_out; k++)
            out[k] = out[k] > 0 ? out[k] : 0;
    }
    for (uint32_t i = 1; i < network->n_layers; i++)
        free((void *)(uintptr_t)tensors[i]);
    return (long double *)(uintptr_t)tensors[network->n_layers];
}

naive_batch naive_batch_of(const dsgd_data *data, const uint32_t *samples, uint32_t n)
{
    const size_t size = data->n_features;
    const bool tokens = data->kind == DSGD_DATA_TOKENS;
    long double *const x = dsgd_keep(n * size, sizeof *x);
    uint16_t *const lengths = dsgd_keep(n, sizeof *lengths);
    for (uint32_t s = 0; s < n; s++) {
        lengths[s] = (uint16_t)data->n_rows;
        if (data->train.lengths != NULL)
            lengths[s] = data->train.lengths[samples[s]];
        for (size_t f = 0; f < size; f++) {
            const size_t at = samples[s] * size + f;
            if (data->train.x_real != NULL)
                x[s * size + f] = (long double)data->train.x_real[at];
            else if (tokens)
                x[s * size + f] = data->train.x_bytes[at];
            else
                x[s * size + f] = (data->train.x_bytes[at] / 255.0L - (long double)data->mean) /
                                  (long double)data->deviation;
        }
    }
    return (naive_batch){n, x, lengths, NULL};
}

void naive_log_softmax(long double *z, uint32_t n)
{
    long double sum = 0;
    for (uint32_t j = 0; j < n; j++)
        sum += expl(z[j]);
    for (uint32_t j = 0; j < n; j++)
        z[j] -= logl(sum);
}

long double naive_loss(const dsgd_network *network, const dsgd_data *data, const long double *x,
                       const naive_batch *batch, const uint32_t *samples, double *accuracy)
{
    const dsgd_tensor *const out = &network->layers[network->n_layers - 1].out;
    const uint32_t n = out->n_columns, n_rows = batch->n * out->n_rows;
    long double *const z = naive_forward(network, x, batch, NULL);
    long double loss = 0;
    double right = 0;
    for (uint32_t i = 0; i < n_rows; i++) {
        const size_t at = (size_t)samples[i / out->n_rows] * out->n_rows + i % out->n_rows;
        if (network->loss == DSGD_LOSS_SQUARED) {
            const long double error = z[i] - (long double)data->train.targets[at];
            loss += error * error / 2 / n_rows;
            continue;
        }
        const uint32_t label = data->train.labels[at];
        bool largest = true;
        for (uint32_t j = 0; j < n; j++)
            largest = largest && (j < label ? z[i * n + j] < z[i * n + label]
                                            : z[i * n + j] <= z[i * n + label]);
        right += largest;
        naive_log_softmax(z + i * n, n);
        loss -= z[i * n + label] / n_rows;
    }
    free(z);
    if (accuracy != NULL)
        *accuracy = network->loss == DSGD_LOSS_SQUARED ? NAN : right / n_rows;
    return loss;
}

void naive_derivative(size_t n, const double *x, long double h,
                      long double (*loss)(void *argument, const long double *x), void *argument,
                      double *g)
{
    long double *const at = dsgd_keep(n, sizeof *at);
    for (size_t i = 0; i < n; i++)
        at[i] = x[i];
    for (size_t i = 0; i < n; i++) {
        at[i] = x[i] + h;
        const long double above = loss(argument, at);
        at[i] = x[i] - h;
        g[i] = (double)((above - loss(argument, at)) / (2 * h));
        at[i] = x[i];
    }
}
