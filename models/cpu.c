/**
 * @file cpu.c
 * The CPU as a device, compiled once for float and once for double (DSGD_REAL_FLOAT, DSGD_REAL_DOUBLE). Matrix products go to
 * OpenBLAS, one thread per call; a call's shape hangs on the operation alone, so that its bits do too.
 */
#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/device.h"

#ifdef DSGD_REAL_FLOAT
typedef float real;
#define gemm cblas_sgemm
#define real_exp expf
#define DEVICE dsgd_device_cpu_float
#define DEVICE_NAME "cpu"
#define DEVICE_SUMMARY "CPU in float32, OpenBLAS"
#else
typedef double real;
#define gemm cblas_dgemm
#define real_exp exp
#define DEVICE dsgd_device_cpu_double
#define DEVICE_NAME "cpu-double"
#define DEVICE_SUMMARY "CPU in float64, OpenBLAS"
#endif

#include "models/formula.h"

enum {
    EVALUATED_SAMPLES = 256, /* per block */
    BLOCK = 512, /* numbers whose sums stay in the first-level cache */
    LANES = 16 /* independent sums */
};

/** Scratch memory of one thread. */
typedef struct scratch {
    real *x, *g; /* [n_params], where a vector is in pieces */
    real *a[DSGD_MAX_LAYERS + 1]; /* activations [samples][width]; a[0] is the input */
    real *dz[2]; /* [samples][largest width] */
    real *zeros; /* [n_params] */
    size_t samples; /* that there is room for */
} scratch;

typedef struct context {
    dsgd_problem problem;
    uint32_t n_threads;
    scratch *threads;
} context;

/* --- memory ------------------------------------------------------------------------------------------------------------------------- */

static dsgd_status cpu_open(const dsgd_problem *problem, uint32_t n_threads, void **opened,
                            dsgd_error *error)
{
    (void)error;
    openblas_set_num_threads(1);
    context *const c = dsgd_xcalloc(1, sizeof *c);
    c->problem = *problem;
    c->n_threads = n_threads;
    c->threads = dsgd_xcalloc(n_threads, sizeof *c->threads);
    for (uint32_t i = 0; i < n_threads; i++) {
        c->threads[i].x = dsgd_xcalloc(problem->network->n_params, sizeof(real));
        c->threads[i].g = dsgd_xcalloc(problem->network->n_params, sizeof(real));
        c->threads[i].zeros = dsgd_xcalloc(problem->network->n_params, sizeof(real));
    }
    *opened = c;
    return DSGD_OK;
}

static void cpu_close(void *opened)
{
    context *const c = opened;
    for (uint32_t i = 0; i < c->n_threads; i++) {
        scratch *const s = &c->threads[i];
        for (size_t l = 0; l <= DSGD_MAX_LAYERS; l++)
            free(s->a[l]);
        free(s->dz[0]);
        free(s->dz[1]);
        free(s->x);
        free(s->g);
        free(s->zeros);
    }
    free(c->threads);
    free(c);
}

static dsgd_buffer cpu_alloc(void *opened, size_t n)
{
    (void)opened;
    return malloc(n * sizeof(real));
}

static void cpu_release(void *opened, dsgd_buffer buffer)
{
    (void)opened;
    free(buffer);
}

static void cpu_put(void *opened, dsgd_buffer to, const double *from, size_t n)
{
    (void)opened;
    for (size_t i = 0; i < n; i++)
        ((real *)to)[i] = (real)from[i];
}

static void cpu_get(void *opened, double *to, dsgd_buffer from, size_t n)
{
    (void)opened;
    for (size_t i = 0; i < n; i++)
        to[i] = from == NULL ? 0 : (double)((const real *)from)[i];
}

static void make_room(const dsgd_network *network, scratch *s, size_t samples)
{
    if (samples <= s->samples)
        return;
    s->samples = samples;
    size_t widest = network->layers[0].n_in;
    s->a[0] = dsgd_xrealloc(s->a[0], samples * network->layers[0].n_in, sizeof(real));
    for (uint32_t l = 0; l < network->n_layers; l++) {
        const size_t width = network->layers[l].n_out;
        widest = width > widest ? width : widest;
        s->a[l + 1] = dsgd_xrealloc(s->a[l + 1], samples * width, sizeof(real));
    }
    s->dz[0] = dsgd_xrealloc(s->dz[0], samples * widest, sizeof(real));
    s->dz[1] = dsgd_xrealloc(s->dz[1], samples * widest, sizeof(real));
}

/* --- the network -------------------------------------------------------------------------------------------------------------------- */

/** The pieces of a vector in one run of memory. */
static const real *gather(const dsgd_problem *p, const dsgd_buffer *pieces, real *memory)
{
    if (p->n_pieces == 1 && pieces[0] != NULL)
        return pieces[0];
    for (size_t k = 0; k < p->n_pieces; k++) {
        real *const to = memory + p->piece_begin[k];
        const size_t bytes = (p->piece_begin[k + 1] - p->piece_begin[k]) * sizeof(real);
        if (pieces[k] == NULL)
            memset(to, 0, bytes);
        else
            memcpy(to, pieces[k], bytes);
    }
    return memory;
}

/** Sample @p i of a data set as the network's input. */
static void load_sample(const dsgd_data *data, const dsgd_samples *samples, uint32_t i, real *a)
{
    const size_t n = data->n_features;
    if (samples->x_bytes != NULL) {
        const uint8_t *const pixels = samples->x_bytes + i * n;
        for (size_t f = 0; f < n; f++)
            a[f] = dsgd_normalised(pixels[f], data->mean, data->deviation);
    } else {
        const float *const numbers = samples->x_real + i * n;
        for (size_t f = 0; f < n; f++)
            a[f] = (real)numbers[f];
    }
}

/** From a[0] to the last layer's outputs, in a[n_layers]. */
static void forward(const dsgd_network *network, scratch *s, const real *x, size_t samples)
{
    for (uint32_t l = 0; l < network->n_layers; l++) {
        const dsgd_layer *const layer = &network->layers[l];
        real *const z = s->a[l + 1];
        for (size_t i = 0; i < samples; i++)
            memcpy(z + i * layer->n_out, x + layer->biases, layer->n_out * sizeof(real));
        gemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)samples, (int)layer->n_out,
             (int)layer->n_in, 1, s->a[l], (int)layer->n_in, x + layer->weights, (int)layer->n_in,
             1, z, (int)layer->n_out);
        if (layer->rectified)
            for (size_t i = 0; i < samples * layer->n_out; i++)
                z[i] = dsgd_rectified(z[i]);
    }
}

/** Turns the outputs @p z of one sample into the derivative of its loss, times @p scale; returns the loss. */
static double loss(const context *c, const dsgd_samples *samples, uint32_t i, real *z, real scale)
{
    if (c->problem.network->loss == DSGD_LOSS_SQUARED)
        return dsgd_squared(z, (real)samples->targets[i], scale);
    return dsgd_cross_entropy(z, c->problem.data->n_classes, samples->labels[i], scale);
}

/** g <- gradient, from the derivative by the outputs, which is in s->dz[0]. */
static void backward(const dsgd_network *network, scratch *s, const real *x, real *g,
                     size_t samples)
{
    for (uint32_t l = network->n_layers; l-- > 0;) {
        const dsgd_layer *const layer = &network->layers[l];
        real *const dz = s->dz[(network->n_layers - 1 - l) % 2];
        real *const da = s->dz[(network->n_layers - l) % 2];
        gemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int)layer->n_out, (int)layer->n_in,
             (int)samples, 1, dz, (int)layer->n_out, s->a[l], (int)layer->n_in, 0,
             g + layer->weights, (int)layer->n_in);
        for (size_t j = 0; j < layer->n_out; j++) {
            real sum = 0;
            for (size_t i = 0; i < samples; i++)
                sum += dz[i * layer->n_out + j];
            g[layer->biases + j] = sum;
        }
        if (l == 0)
            break;
        gemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)samples, (int)layer->n_in,
             (int)layer->n_out, 1, dz, (int)layer->n_out, x + layer->weights, (int)layer->n_in, 0,
             da, (int)layer->n_in);
        if (network->layers[l - 1].rectified)
            for (size_t i = 0; i < samples * layer->n_in; i++)
                da[i] = dsgd_rectified_back(s->a[l][i], da[i]);
    }
}

/** Whether all are finite: 0 times anything else is not 0. Several sums, because one would wait for itself at each addition. */
static bool all_finite(const real *x, size_t n)
{
    real sums[LANES] = {0};
    const size_t whole = n - n % LANES;
    for (size_t i = 0; i < whole; i += LANES)
        for (size_t j = 0; j < LANES; j++)
            sums[j] += x[i + j] * (real)0;
    for (size_t i = whole; i < n; i++)
        sums[0] += x[i] * (real)0;
    for (size_t j = 1; j < LANES; j++)
        sums[0] += sums[j];
    return sums[0] == (real)0;
}

static bool one_gradient(const context *c, scratch *s, const dsgd_gradient_op *op)
{
    const dsgd_problem *const p = &c->problem;
    const dsgd_network *const network = p->network;
    const size_t n = op->n_samples;
    make_room(network, s, n);
    const real *const x = gather(p, op->x, s->x);
    const bool direct = p->n_pieces == 1 && op->g[0] != NULL;
    real *const g = direct ? op->g[0] : s->g;
    for (size_t i = 0; i < n; i++)
        load_sample(p->data, &p->data->train, op->samples[i], s->a[0] + i * p->data->n_features);
    forward(network, s, x, n);
    const size_t width = network->layers[network->n_layers - 1].n_out;
    memcpy(s->dz[0], s->a[network->n_layers], n * width * sizeof(real));
    for (size_t i = 0; i < n; i++)
        loss(c, &p->data->train, op->samples[i], s->dz[0] + i * width, (real)1 / (real)n);
    backward(network, s, x, g, n);
    for (size_t k = 0; !direct && k < p->n_pieces; k++)
        if (op->g[k] != NULL)
            memcpy(op->g[k], g + p->piece_begin[k],
                   (p->piece_begin[k + 1] - p->piece_begin[k]) * sizeof(real));
    return all_finite(g, network->n_params);
}

static void cpu_gradient(void *opened, uint32_t thread, const dsgd_gradient_op *ops, size_t n_ops,
                         bool *finite)
{
    const context *const c = opened;
    for (size_t i = 0; i < n_ops; i++)
        finite[i] = one_gradient(c, &c->threads[thread], &ops[i]);
}

/* --- element by element ------------------------------------------------------------------------------------------------------------- */

static bool one_update(const context *c, const scratch *s, const dsgd_update_op *op)
{
    const real momentum = (real)c->problem.momentum;
    const real decay = (real)c->problem.weight_decay;
    const real lr = (real)op->lr;
    const real *const x = op->x == NULL ? s->zeros : op->x;
    const real *const g = op->g == NULL ? s->zeros : op->g;
    const real *const v = op->v == NULL ? s->zeros : op->v;
    real *const x_new = op->x_new;
    if (op->v_new == NULL) {
        for (size_t i = 0; i < op->n; i++) {
            real velocity = 0;
            x_new[i] = dsgd_updated(x[i], g[i], &velocity, lr, 0, decay);
        }
    } else {
        real *const v_new = op->v_new;
        for (size_t i = 0; i < op->n; i++) {
            real velocity = v[i];
            x_new[i] = dsgd_updated(x[i], g[i], &velocity, lr, momentum, decay);
            v_new[i] = velocity;
        }
    }
    return all_finite(x_new, op->n);
}

static void cpu_update(void *opened, uint32_t thread, const dsgd_update_op *ops, size_t n_ops,
                       bool *finite)
{
    const context *const c = opened;
    for (size_t i = 0; i < n_ops; i++)
        finite[i] = one_update(c, &c->threads[thread], &ops[i]);
}

static bool one_combination(const dsgd_combine_op *op)
{
    double sum[BLOCK];
    real *const y = op->y;
    for (size_t first = 0; first < op->n; first += BLOCK) {
        const size_t n = first + BLOCK < op->n ? BLOCK : op->n - first;
        memset(sum, 0, sizeof sum);
        for (uint32_t i = 0; i < op->n_inputs; i++) {
            const real *const x = op->x[i];
            const double weight = op->weights[i];
            for (size_t j = 0; x != NULL && j < n; j++)
                sum[j] += weight * (double)x[first + j];
        }
        for (size_t j = 0; j < n; j++)
            y[first + j] = (real)(sum[j] / op->divisor);
    }
    return all_finite(y, op->n);
}

static void cpu_combine(void *opened, uint32_t thread, const dsgd_combine_op *ops, size_t n_ops,
                        bool *finite)
{
    (void)opened;
    (void)thread;
    for (size_t i = 0; i < n_ops; i++)
        finite[i] = one_combination(&ops[i]);
}

/* --- evaluation --------------------------------------------------------------------------------------------------------------------- */

static size_t largest(const real *z, size_t n)
{
    size_t at = 0;
    for (size_t i = 1; i < n; i++)
        at = z[i] > z[at] ? i : at;
    return at;
}

static void one_evaluation(const context *c, scratch *s, dsgd_evaluate_op *op)
{
    const dsgd_problem *const p = &c->problem;
    const dsgd_network *const network = p->network;
    const dsgd_samples *const test = &p->data->test;
    const size_t width = network->layers[network->n_layers - 1].n_out;
    make_room(network, s, EVALUATED_SAMPLES);
    const real *const x = gather(p, op->x, s->x);
    double sum = 0;
    size_t right = 0;
    for (uint32_t first = 0; first < test->n; first += EVALUATED_SAMPLES) {
        const uint32_t n =
            first + EVALUATED_SAMPLES < test->n ? EVALUATED_SAMPLES : test->n - first;
        for (uint32_t i = 0; i < n; i++)
            load_sample(p->data, test, first + i, s->a[0] + (size_t)i * p->data->n_features);
        forward(network, s, x, n);
        for (uint32_t i = 0; i < n; i++) {
            real *const z = s->a[network->n_layers] + i * width;
            right += network->loss == DSGD_LOSS_CROSS_ENTROPY &&
                     largest(z, width) == test->labels[first + i];
            sum += loss(c, test, first + i, z, 1);
        }
    }
    op->loss = sum / test->n;
    op->accuracy = network->loss == DSGD_LOSS_CROSS_ENTROPY ? (double)right / test->n : NAN;
}

static void cpu_evaluate(void *opened, uint32_t thread, dsgd_evaluate_op *ops, size_t n_ops)
{
    const context *const c = opened;
    for (size_t i = 0; i < n_ops; i++)
        one_evaluation(c, &c->threads[thread], &ops[i]);
}

static void cpu_distance(void *opened, uint32_t thread, dsgd_distance_op *ops, size_t n_ops)
{
    const context *const c = opened;
    const real *const zeros = c->threads[thread].zeros;
    for (size_t i = 0; i < n_ops; i++) {
        const real *const x = ops[i].x == NULL ? zeros : ops[i].x;
        const real *const y = ops[i].y == NULL ? zeros : ops[i].y;
        double sum = 0;
        for (size_t j = 0; j < ops[i].n; j++) {
            const double d = (double)x[j] - (double)y[j];
            sum += d * d;
        }
        ops[i].distance = sum;
    }
}

const dsgd_device DEVICE = {
    .abi = DSGD_DEVICE_ABI,
    .name = DEVICE_NAME,
    .summary = DEVICE_SUMMARY,
    .real_bytes = sizeof(real),
    .batch = 8,
    .threaded = true,
    .open = cpu_open,
    .close = cpu_close,
    .alloc = cpu_alloc,
    .release = cpu_release,
    .put = cpu_put,
    .get = cpu_get,
    .gradient = cpu_gradient,
    .update = cpu_update,
    .combine = cpu_combine,
    .evaluate = cpu_evaluate,
    .distance = cpu_distance,
};
