/**
 * @file cpu.c
 * The CPU device, compiled for float and double (DSGD_REAL) and for each level of the instruction
 * set (DSGD_LEVEL). A thread computes one replica at a time, so that the bits of a result depend
 * only on its operation.
 */
#include "models/devices/multiply.h"

#define MULTIPLY DSGD_JOIN(dsgd_multiply_, DSGD_REAL, DSGD_LEVEL)
#define DEVICE DSGD_JOIN(dsgd_device_cpu_, DSGD_REAL, DSGD_LEVEL)

typedef DSGD_JOIN(dsgd_, operands, DSGD_REAL) operands;

#include "models/layers/elementwise.h"
#include "models/layers/matmul.h"

enum {
    EVALUATED_SAMPLES = 256, /* number of samples per replica in an evaluation */
    BLOCK = 2048, /* number of elements whose sums in double fit into the L1 cache */
    FEW = 3, /* largest number of inputs of a combination whose sums stay in registers */
    TOGETHER = 8, /* largest number of inputs that one loop adds to the sums in memory */
    LANES = 64, /* number of independent partial sums of all_finite() */
    LINE_BYTES = 64, /* bytes of a cache line */
    FETCHED_SAMPLES = 32, /* largest number of samples that are prefetched per operation */
    /* number of bytes; if `ahead` has fewer bytes left, the memory of `then` is prefetched */
    LEAST_AHEAD = 16384
};

extern const dsgd_device DEVICE;

/* --- functions that compute kernels and products of one replica ------------------------------- */

typedef struct execution {
    replica replica;
    kernel_args args;
    dsgd_ahead ahead; /* memory that is prefetched first: the gradient that this operation writes */
    dsgd_ahead then; /* memory that is prefetched next: the parameters of the next operation */
} execution;

/*
 * Calls a kernel for the indices [begin, end). The compiler can keep the local copies of replica
 * and arguments in registers.
 */
#define CALL(c, kernel, layer, begin, end)                                                         \
    do {                                                                                           \
        const replica r_ = (c)->replica;                                                           \
        const kernel_args args_ = (c)->args;                                                       \
        for (size_t i_ = (begin), end_ = (end); i_ < end_; i_++)                                   \
            kernel(&r_, layer, &args_, i_);                                                        \
    } while (0)
#define MAP(c, s, kernel, layer, n)                                                                \
    CALL(c, kernel, layer, (size_t)(s).first *(n),                                                 \
         ((size_t)(s).first + samples_in(&(c)->replica, s)) * (n))
#define TOTAL(c, s, kernel, layer, n)                                                              \
    do {                                                                                           \
        (void)(s);                                                                                 \
        CALL(c, kernel, layer, 0, n);                                                              \
    } while (0)

/** Computes one matrix product of a replica, including its bias and its ReLU. */
static void multiply_once(const matmul *p, dsgd_ahead *ahead, const matrices *x)
{
    const bool biased = p->bias == BIAS_ADD;
    const real *const start = biased ? x->b + x->k * x->b_row : p->adds ? x->c : NULL;
    operands o = {x->m,
                  p->n,
                  x->k,
                  x->a,
                  x->b,
                  x->c,
                  x->a_row,
                  x->a_column,
                  x->b_row,
                  x->b_column,
                  x->c_row,
                  start,
                  biased ? 0 : x->c_row,
                  p->relu};
    MULTIPLY(&o, ahead);
    if (p->bias == BIAS_GRAD) {
        const real one = 1;
        o.m = 1;
        o.a = &one;
        o.a_row = o.a_column = 0;
        o.c += x->m * x->c_row;
        MULTIPLY(&o, NULL);
    }
    for (size_t i = 0; x->relu_output != NULL && i < x->m; i++)
        for (size_t j = 0; j < p->n; j++)
            x->c[i * x->c_row + j] =
                dsgd_relu_backward(x->relu_output[i * x->c_row + j], x->c[i * x->c_row + j]);
}

static void multiply(execution *one, sample_range s, const matmul *matmuls, uint32_t n_matmuls)
{
    dsgd_ahead *const ahead = one->ahead.bytes >= LEAST_AHEAD ? &one->ahead : &one->then;
    for (const matmul *p = matmuls; p < matmuls + n_matmuls; p++) {
        const size_t n = matrices_in(p, &one->replica, s);
        for (size_t i = 0; i < n; i++) {
            const matrices x = matrices_of(p, &one->replica, s, i);
            multiply_once(p, ahead, &x);
        }
    }
}

#include "models/layers/layers.h"

/* --- functions that allocate device memory ---------------------------------------------------- */

/** Scratch memory of one thread. */
typedef struct scratch {
    real *x, *g; /* vectors gathered from chunks, [n_params] */
    real *zeros; /* zeros that replace missing inputs: a vector, its optimizer state, and a block */
    real *workspace; /* workspace of a replica of n_samples samples */
    double scores[2 * EVALUATED_SAMPLES];
    uint32_t n_samples;
} scratch;

typedef struct context {
    dsgd_problem problem;
    dataset_view train, test;
    size_t shift_bytes; /* distance from the start of a cache line to a vector's first element */
    uint32_t n_threads;
    scratch *threads;
} context;

/**
 * Allocates a buffer. If the buffer contains a whole vector, the weights of the largest layer start
 * at a cache line.
 */
static dsgd_buffer cpu_alloc(void *opened, size_t n)
{
    const context *const c = opened;
    const size_t shift = n == c->problem.network->n_params ? c->shift_bytes : 0;
    const size_t n_lines = (n * sizeof(real) + shift + LINE_BYTES - 1) / LINE_BYTES;
    char *const lines = aligned_alloc(LINE_BYTES, n_lines * LINE_BYTES);
    return lines == NULL ? NULL : lines + shift;
}

static void cpu_release(void *opened, dsgd_buffer buffer)
{
    (void)opened;
    free((char *)buffer - (uintptr_t)buffer % LINE_BYTES);
}

static size_t shift_bytes(const dsgd_network *network)
{
    const dsgd_layer *largest = &network->layers[0];
    for (uint32_t l = 1; l < network->n_layers; l++)
        if (network->layers[l].n_params > largest->n_params)
            largest = &network->layers[l];
    return (LINE_BYTES - largest->params * sizeof(real) % LINE_BYTES) % LINE_BYTES;
}

static dsgd_status cpu_open(const dsgd_problem *problem, const dsgd_device_place *place,
                            uint32_t n_threads, void **opened, dsgd_error *error)
{
    (void)place, (void)error;
    context *const c = dsgd_xcalloc(1, sizeof *c);
    c->problem = *problem;
    c->train = dataset_view_of(problem->data, &problem->data->train);
    c->test = dataset_view_of(problem->data, &problem->data->test);
    c->shift_bytes = shift_bytes(problem->network);
    c->n_threads = n_threads;
    c->threads = dsgd_xcalloc(n_threads, sizeof *c->threads);
    const size_t n_params = problem->network->n_params;
    const size_t n_zeros = n_params * (1 + dsgd_optimizer_states(&problem->update)) + BLOCK;
    for (uint32_t i = 0; i < n_threads; i++)
        c->threads[i] = (scratch){.x = dsgd_xcalloc(n_params, sizeof(real)),
                                  .g = dsgd_xcalloc(n_params, sizeof(real)),
                                  .zeros = dsgd_xcalloc(n_zeros, sizeof(real))};
    *opened = c;
    return DSGD_OK;
}

static void cpu_close(void *opened)
{
    context *const c = opened;
    for (uint32_t i = 0; i < c->n_threads; i++) {
        free(c->threads[i].x);
        free(c->threads[i].g);
        free(c->threads[i].zeros);
        free(c->threads[i].workspace);
    }
    free(c->threads);
    free(c);
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

/**
 * Returns an execution that computes one replica of @p n samples, in the workspace of the thread of
 * @p s.
 */
static execution execution_of(const context *c, scratch *s, const dataset_view *data, uint32_t n)
{
    const dsgd_network *const network = c->problem.network;
    if (n > s->n_samples) {
        free(s->workspace);
        s->workspace = dsgd_xcalloc(replica_space(network, n, true), sizeof(real));
        s->n_samples = n;
    }
    execution one = {.replica = replica_of(network, n, true, s->workspace),
                     .args = kernel_args_of(network, data)};
    one.replica.scores = s->scores;
    return one;
}

/**
 * Returns the chunks of a vector as one array. If the vector has only one chunk, returns the chunk,
 * otherwise a copy in @p memory.
 */
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

/* --- gradients -------------------------------------------------------------------------------- */

/**
 * Returns true if all n numbers are finite: 0 * x is 0 for a finite x, otherwise NaN. The processor
 * computes the independent partial sums in parallel.
 */
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

/**
 * Returns the memory of a vector, for prefetching. If the vector has several chunks, returns no
 * memory.
 */
static dsgd_ahead vector_ahead(const dsgd_problem *p, const dsgd_buffer *pieces)
{
    const bool whole = p->n_pieces == 1 && pieces[0] != NULL;
    return (dsgd_ahead){whole ? pieces[0] : NULL, whole ? p->network->n_params * sizeof(real) : 0};
}

/** Prefetches the samples of an operation, which are scattered over the data set. */
static void fetch_samples(const context *c, const dsgd_gradient_op *op)
{
    const dsgd_samples *const data = &c->train.samples;
    const bool bytes = data->x_bytes != NULL;
    const char *const x = bytes ? (const char *)data->x_bytes : (const char *)data->x_real;
    const size_t size = c->train.n_features * (bytes ? 1 : sizeof *data->x_real);
    for (uint32_t i = 0; x != NULL && i < op->n_samples && i < FETCHED_SAMPLES; i++)
        for (size_t at = 0; at < size; at += LINE_BYTES)
            __builtin_prefetch(x + op->samples[i] * size + at, 0, 2);
}

/**
 * Computes the gradient @p op and prefetches operation @p next, which may be NULL. Returns true if
 * all results are finite.
 */
static bool one_gradient(const context *c, scratch *s, const dsgd_gradient_op *op,
                         const dsgd_gradient_op *next)
{
    const dsgd_problem *const p = &c->problem;
    const bool direct = p->n_pieces == 1 && op->g[0] != NULL;
    real *const g = direct ? op->g[0] : s->g;
    execution one = execution_of(c, s, &c->train, op->n_samples);
    one.replica.x = gather(p, op->x, s->x);
    one.replica.g = g;
    one.replica.state = op->state;
    one.replica.state_new = op->state_new;
    one.replica.samples = op->samples;
    one.ahead = vector_ahead(p, op->g);
    if (next != NULL) {
        one.then = vector_ahead(p, next->x);
        fetch_samples(c, next);
    }
    network_gradient(&one, p->network, op->n_samples);
    for (size_t k = 0; !direct && k < p->n_pieces; k++)
        if (op->g[k] != NULL)
            memcpy(op->g[k], g + p->piece_begin[k],
                   (p->piece_begin[k + 1] - p->piece_begin[k]) * sizeof(real));
    return all_finite(g, p->network->n_params) &&
           (op->state_new == NULL || all_finite(op->state_new, p->network->n_state));
}

static void cpu_gradient(void *opened, uint32_t thread, const dsgd_gradient_op *ops, size_t n_ops,
                         bool *finite)
{
    const context *const c = opened;
    for (size_t i = 0; i < n_ops; i++)
        finite[i] =
            one_gradient(c, &c->threads[thread], &ops[i], i + 1 < n_ops ? &ops[i + 1] : NULL);
}

/* --- updates and combinations ----------------------------------------------------------------- */

/** Returns the clip factor of chunk @p g of a gradient. */
static real clipping(const dsgd_problem *p, const dsgd_update_op *op, const real *g)
{
    if (p->update.clip == 0)
        return 1;
    double squares = 0;
    for (size_t i = 0; i < op->n; i++)
        squares += (double)g[i] * (double)g[i];
    return (real)dsgd_clip_factor(p->update.clip, op->n, p->network->n_params, squares);
}

/**
 * Updates the elements [begin, end). Returns true if all new values are finite. Each loop needs
 * only one branch of dsgd_updated().
 */
static bool update_block(const dsgd_update_rule *rule, const dsgd_update_op *op, size_t begin,
                         size_t end)
{
    const real *const x = op->x;
    const real *const g = op->g;
    const real *const v = op->v;
    real *const x_new = op->x_new;
    real *const v_new = op->v_new;
    if (rule->adaptive) {
        const real *const s = v + op->n;
        real *const s_new = v_new + op->n;
        for (size_t i = begin; i < end; i++) {
            real first = v[i];
            real second = s[i];
            x_new[i] = dsgd_updated(rule, x[i], g[i], &first, &second);
            v_new[i] = first;
            s_new[i] = second;
        }
        /* AdamW divides by the second moment, so an infinite moment would leave x finite. */
        if (!all_finite(v_new + begin, end - begin) || !all_finite(s_new + begin, end - begin))
            return false;
    } else if (v_new != NULL) {
        for (size_t i = begin; i < end; i++) {
            real velocity = v[i];
            x_new[i] = dsgd_updated(rule, x[i], g[i], &velocity, NULL);
            v_new[i] = velocity;
        }
    } else {
        for (size_t i = begin; i < end; i++) {
            real velocity = 0;
            x_new[i] = dsgd_updated(rule, x[i], g[i], &velocity, NULL);
        }
    }
    return all_finite(x_new + begin, end - begin);
}

static bool one_update(const context *c, const scratch *s, const dsgd_update_op *given)
{
    dsgd_update_op op = *given;
    op.x = op.x == NULL ? s->zeros : op.x;
    op.g = op.g == NULL ? s->zeros : op.g;
    op.v = op.v == NULL ? s->zeros : op.v;
    const dsgd_update_rule rule =
        dsgd_update_rule_of(&c->problem.update, op.lr, op.t, clipping(&c->problem, &op, op.g));
    bool finite = true;
    for (size_t first = 0; first < op.n; first += BLOCK)
        finite =
            update_block(&rule, &op, first, first + BLOCK < op.n ? first + BLOCK : op.n) && finite;
    return finite;
}

/**
 * Returns input @p i of a combination, starting at element @p first. Returns zeros if there is no
 * such input.
 */
static const real *input_at(const scratch *s, const dsgd_combine_op *op, size_t i, size_t first)
{
    return i < op->n_inputs && op->x[i] != NULL ? (const real *)op->x[i] + first : s->zeros;
}

/**
 * Adds weights[i] x[i] to sum[n] for the inputs [from, from + count), in order. Prefetches the next
 * inputs.
 */
static inline __attribute__((always_inline)) void add_inputs(const scratch *s,
                                                             const dsgd_combine_op *op, size_t from,
                                                             size_t count, size_t first, size_t n,
                                                             double *sum)
{
    const size_t per_line = LINE_BYTES / sizeof(real);
    const real *x[TOGETHER];
    const real *next[TOGETHER];
    double weights[TOGETHER];
    for (size_t k = 0; k < count; k++) {
        x[k] = input_at(s, op, from + k, first);
        next[k] = input_at(s, op, from + count + k, first);
        weights[k] = op->weights[from + k];
    }
    for (size_t begin = 0; begin < n; begin += per_line) {
        const size_t end = n - begin < per_line ? n : begin + per_line;
        for (size_t k = 0; k < count; k++)
            __builtin_prefetch(next[k] + begin);
        for (size_t j = begin; j < end; j++) {
            double total = sum[j];
            for (size_t k = 0; k < count; k++)
                total += weights[k] * (double)x[k][j];
            sum[j] = total;
        }
    }
}

/**
 * Computes y <- sum / divisor. If 1 / divisor is exact, multiplies by it, because divisions are
 * slow.
 */
static void divide(real *y, const double *sum, size_t n, double divisor)
{
    const double inverse = 1 / divisor;
    if (dsgd_has_exact_inverse(divisor))
        for (size_t j = 0; j < n; j++)
            y[j] = (real)(sum[j] * inverse);
    else
        for (size_t j = 0; j < n; j++)
            y[j] = (real)(sum[j] / divisor);
}

/** Computes a block of a combination of @p count <= FEW inputs in one loop. */
static inline __attribute__((always_inline)) void
combine_few(const scratch *s, const dsgd_combine_op *op, size_t count, size_t first, size_t n)
{
    const real *x[FEW];
    double weights[FEW];
    for (size_t k = 0; k < count; k++) {
        x[k] = input_at(s, op, k, first);
        weights[k] = op->weights[k];
    }
    real *const y = (real *)op->y + first;
    const double divisor = op->divisor;
    const double inverse = 1 / divisor;
    const bool exact = dsgd_has_exact_inverse(divisor);
    for (size_t j = 0; j < n; j++) {
        double total = 0;
        for (size_t k = 0; k < count; k++)
            total += weights[k] * (double)x[k][j];
        y[j] = (real)(exact ? total * inverse : total / divisor);
    }
}

/**
 * Computes a block of a combination that may have any number of inputs. Several loops add the
 * inputs to sums in memory.
 */
static void combine_many(const scratch *s, const dsgd_combine_op *op, size_t first, size_t n)
{
    double sum[BLOCK] = {0};
    size_t i = 0;
    for (; i + TOGETHER <= op->n_inputs; i += TOGETHER)
        add_inputs(s, op, i, TOGETHER, first, n, sum);
    for (; i + 2 <= op->n_inputs; i += 2)
        add_inputs(s, op, i, 2, first, n, sum);
    if (i < op->n_inputs)
        add_inputs(s, op, i, 1, first, n, sum);
    divide((real *)op->y + first, sum, n, op->divisor);
}

static bool one_combination(const context *c, const scratch *s, const dsgd_combine_op *op)
{
    (void)c;
    const real *const y = op->y;
    bool finite = true;
    for (size_t first = 0; first < op->n; first += BLOCK) {
        const size_t n = first + BLOCK < op->n ? BLOCK : op->n - first;
        if (op->n_inputs == 1)
            combine_few(s, op, 1, first, n);
        else if (op->n_inputs == 2)
            combine_few(s, op, 2, first, n);
        else if (op->n_inputs == FEW)
            combine_few(s, op, FEW, first, n);
        else
            combine_many(s, op, first, n);
        finite = all_finite(y + first, n) && finite;
    }
    return finite;
}

/** Defines an operation of the device. Each call of it computes its operations one by one. */
#define ONE_BY_ONE(operation, one)                                                                 \
    static void cpu_##operation(void *opened, uint32_t thread, const dsgd_##operation##_op *ops,   \
                                size_t n_ops, bool *finite)                                        \
    {                                                                                              \
        const context *const c = opened;                                                           \
        for (size_t i = 0; i < n_ops; i++)                                                         \
            finite[i] = one(c, &c->threads[thread], &ops[i]);                                      \
    }
ONE_BY_ONE(update, one_update)
ONE_BY_ONE(combine, one_combination)

static void cpu_encode(void *opened, uint32_t thread, const dsgd_encode_op *ops, size_t n_ops,
                       bool *finite)
{
    (void)opened, (void)thread; /* an encoding needs neither the problem nor scratch memory */
    for (size_t i = 0; i < n_ops; i++)
        finite[i] = ENCODE(&ops[i]);
}

/* --- evaluations and distances ---------------------------------------------------------------- */

static void cpu_evaluate(void *opened, uint32_t thread, dsgd_evaluate_op *ops, size_t n_ops)
{
    const context *const c = opened;
    scratch *const s = &c->threads[thread];
    const dsgd_problem *const p = &c->problem;
    for (dsgd_evaluate_op *op = ops; op < ops + n_ops; op++) {
        const uint32_t n_all = op->samples == NULL ? p->data->test.n : op->n_samples;
        const bool in_test = op->samples == NULL || op->of_test;
        const real *const x = gather(p, op->x, s->x);
        double loss = 0;
        double right = 0;
        for (uint32_t first = 0; first < n_all; first += EVALUATED_SAMPLES) {
            const uint32_t left = n_all - first;
            const uint32_t n = left < EVALUATED_SAMPLES ? left : EVALUATED_SAMPLES;
            execution one = execution_of(c, s, in_test ? &c->test : &c->train, n);
            one.replica.x = x;
            one.replica.state = op->state;
            one.replica.samples = op->samples == NULL ? NULL : op->samples + first;
            one.replica.first = first;
            network_scores(&one, p->network, n);
            for (uint32_t i = 0; i < n; i++) {
                loss += s->scores[2 * i];
                right += s->scores[2 * i + 1];
            }
        }
        op->loss = loss / n_all;
        op->accuracy = p->network->loss == DSGD_LOSS_SQUARED ? NAN : right / n_all;
    }
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
    .name = sizeof(real) == sizeof(double) ? "cpu-double" : "cpu",
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
    .encode = cpu_encode,
};
