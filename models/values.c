/**
 * @file values.c
 * The graph of operations on values: what is shared, what is fused, what is computed at all.
 */
#include "models/values.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/operations.h"

/* --- nodes --------------------------------------------------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash ^= word + 0x9e3779b97f4a7c15u + (hash << 6) + (hash >> 2);
    hash *= 0xff51afd7ed558ccdu;
    return hash ^ hash >> 33;
}

static uint64_t bits_of(double number)
{
    uint64_t bits = 0;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

/** Identity of a value that outlives its node: numbers of operations start at 1, zeros are 0. */
static uint64_t identity(dsgd_value value)
{
    return value.operation == NULL ? 0 : value.operation->id << 16 | value.index;
}

static uint64_t hash_of(const dsgd_operation *o)
{
    uint64_t hash = mix(mix(mix(o->kind, o->piece), o->count), bits_of(o->lr));
    hash = mix(hash, bits_of(o->divisor));
    for (uint32_t i = 0; i < o->n_inputs; i++) {
        hash = mix(hash, o->input_ids[i]);
        hash = o->weights == NULL ? hash : mix(hash, bits_of(o->weights[i]));
    }
    for (uint32_t i = 0; i < o->n_samples; i++)
        hash = mix(mix(hash, o->samples[i].worker), o->samples[i].step);
    return hash;
}

static bool equal_operations(const dsgd_operation *a, const dsgd_operation *b)
{
    if (a->hash != b->hash || a->kind != b->kind || a->piece != b->piece || a->lr != b->lr ||
        a->divisor != b->divisor || a->count != b->count || a->n_inputs != b->n_inputs ||
        a->n_samples != b->n_samples)
        return false;
    for (uint32_t i = 0; i < a->n_samples; i++)
        if (a->samples[i].worker != b->samples[i].worker ||
            a->samples[i].step != b->samples[i].step)
            return false;
    if (a->weights != NULL && memcmp(a->weights, b->weights, a->n_inputs * sizeof *a->weights) != 0)
        return false;
    return memcmp(a->input_ids, b->input_ids, a->n_inputs * sizeof *a->input_ids) == 0;
}

static void grow_table(dsgd_values *values)
{
    const size_t n = values->n_buckets == 0 ? 1024 : 2 * values->n_buckets;
    dsgd_operation **const buckets = dsgd_xcalloc(n, sizeof *buckets);
    for (size_t i = 0; i < values->n_buckets; i++) {
        for (dsgd_operation *o = values->buckets[i], *next = NULL; o != NULL; o = next) {
            next = o->next_in_bucket;
            o->next_in_bucket = buckets[o->hash & (n - 1)];
            buckets[o->hash & (n - 1)] = o;
        }
    }
    free(values->buckets);
    values->buckets = buckets;
    values->n_buckets = n;
}

static void share(dsgd_values *values, dsgd_operation *o)
{
    if (values->n_shared >= values->n_buckets)
        grow_table(values);
    dsgd_operation **const bucket = &values->buckets[o->hash & (values->n_buckets - 1)];
    o->next_in_bucket = *bucket;
    *bucket = o;
    o->shared = true;
    values->n_shared++;
}

static void forget(dsgd_values *values, dsgd_operation *o)
{
    if (!o->shared)
        return;
    dsgd_operation **link = &values->buckets[o->hash & (values->n_buckets - 1)];
    while (*link != o)
        link = &(*link)->next_in_bucket;
    *link = o->next_in_bucket;
    o->shared = false;
    values->n_shared--;
}

static void free_operation(dsgd_operation *o)
{
    free(o->inputs);
    free(o->input_ids);
    free(o->weights);
    free(o->pieces);
    free(o->samples);
    free(o->outputs);
    free(o->readers);
    free(o);
}

void dsgd_operation_reap(dsgd_values *values, dsgd_operation *operation)
{
    if (operation->holders > 0 || operation->uses > 0)
        return;
    for (uint32_t k = 0; k < operation->n_outputs; k++)
        if (operation->outputs[k] != NULL)
            dsgd_buffer_give(values, operation->kind == OPERATION_GRADIENT ? k : operation->piece,
                             operation->outputs[k]);
    free_operation(operation);
}

/** Nobody holds it any more: it is no longer found, and if it was only described, it will never be computed. */
static void let_go(dsgd_values *values, dsgd_operation *o)
{
    forget(values, o);
    const bool holds_inputs = o->state == OPERATION_PENDING || o->kind == OPERATION_GRADIENT;
    if (o->state == OPERATION_PENDING) {
        o->before->after = o->after;
        o->after->before = o->before;
    }
    for (uint32_t i = 0; holds_inputs && i < o->n_inputs; i++)
        dsgd_operation_drop_holder(values, o->inputs[i].operation);
    dsgd_operation_reap(values, o);
}

void dsgd_operation_drop_holder(dsgd_values *values, dsgd_operation *operation)
{
    if (operation == NULL)
        return;
    DSGD_ASSERT(operation->holders > 0, "a value is given back once too often");
    if (--operation->holders == 0)
        let_go(values, operation);
}

static dsgd_operation *new_operation(operation_kind kind, dsgd_origin where, size_t piece,
                                     size_t n_inputs, size_t n_outputs)
{
    dsgd_operation *o = dsgd_xcalloc(1, sizeof *o);
    o->kind = kind;
    o->where = where;
    o->piece = (uint32_t)piece;
    o->n_inputs = (uint32_t)n_inputs;
    o->n_outputs = (uint32_t)n_outputs;
    o->inputs = dsgd_xcalloc(n_inputs, sizeof *o->inputs);
    o->input_ids = dsgd_xcalloc(n_inputs, sizeof *o->input_ids);
    o->outputs = dsgd_xcalloc(n_outputs, sizeof(dsgd_buffer));
    return o;
}

static void set_input(dsgd_operation *o, size_t i, dsgd_value value)
{
    o->inputs[i] = value;
    o->input_ids[i] = identity(value);
}

/** The operation itself, or the equal one that is there already. Either way the caller becomes a holder. */
static dsgd_operation *enter(dsgd_values *values, dsgd_operation *o)
{
    o->hash = hash_of(o);
    if (values->n_buckets > 0) {
        for (dsgd_operation *p = values->buckets[o->hash & (values->n_buckets - 1)]; p != NULL;
             p = p->next_in_bucket) {
            if (equal_operations(p, o)) {
                free_operation(o);
                p->holders++;
                return p;
            }
        }
    }
    o->id = ++values->next_id;
    o->holders = 1;
    for (uint32_t i = 0; i < o->n_inputs; i++)
        if (o->inputs[i].operation != NULL)
            o->inputs[i].operation->holders++;
    o->before = values->pending.before;
    o->after = &values->pending;
    o->before->after = o->after->before = o;
    share(values, o);
    return o;
}

/* --- flushing ------------------------------------------------------------------------------------------------------------------------- */

/** Submits all that is still held, but gradients that nothing submitted reads: a collective may fuse those. */
static void flush(dsgd_values *values)
{
    values->gradients_since_flush = 0;
    dsgd_operation *const head = &values->pending;
    for (dsgd_operation *o = head->after; o != head;) {
        if (o->kind == OPERATION_GRADIENT) {
            o = o->after;
            continue;
        }
        /* Submitting takes operands out of the ring too, but only earlier ones. */
        dsgd_operation *const next = o->after;
        dsgd_operation_submit(values, o);
        o = next;
    }
    if (values->held_bytes > values->config.memory_bytes)
        dsgd_executor_wait(values, 0);
    /* The calls may be this far ahead of the numbers, not farther: a submitted operation holds its operands. */
    dsgd_executor_wait(values, 8 * (size_t)values->flush_every);
}

/* --- the store ------------------------------------------------------------------------------------------------------------------------ */

enum { FLUSH_AT_LEAST = 256 };

dsgd_status dsgd_values_open(const dsgd_values_config *config, dsgd_values **values,
                             dsgd_error *error)
{
    dsgd_values *const v = dsgd_xcalloc(1, sizeof *v);
    v->config = *config;
    const dsgd_status status =
        config->device->open(&v->config.problem, config->n_threads, &v->context, error);
    if (status != DSGD_OK) {
        free(v);
        return status;
    }
    pthread_mutex_init(&v->lock, NULL);
    pthread_cond_init(&v->work_there, NULL);
    pthread_cond_init(&v->work_done, NULL);
    v->pending.before = v->pending.after = &v->pending;
    v->flush_every =
        config->stream.n_workers > FLUSH_AT_LEAST ? config->stream.n_workers : FLUSH_AT_LEAST;
    v->pools = dsgd_xcalloc(config->problem.n_pieces, sizeof *v->pools);
    v->diverged_id = UINT64_MAX;
    dsgd_executor_start(v);
    *values = v;
    return DSGD_OK;
}

static dsgd_status choose_device(dsgd_numerics where, bool in_double, const dsgd_device **device,
                                 dsgd_error *error)
{
    *device = where == DSGD_NUMERICS_OFF ? &dsgd_device_none
              : in_double                ? &dsgd_device_cpu_double
                                         : &dsgd_device_cpu_float;
    if (where == DSGD_NUMERICS_CUDA) {
        if (in_double)
            return dsgd_fail(error, DSGD_EUSAGE,
                             "learn: precision: the CUDA device computes in float; use --numerics "
                             "cpu for double");
        return dsgd_device_cuda(device, error);
    }
    const dsgd_device *cuda = NULL;
    if (where == DSGD_NUMERICS_AUTO && !in_double && dsgd_device_cuda(&cuda, NULL) == DSGD_OK)
        *device = cuda;
    return DSGD_OK;
}

dsgd_status dsgd_values_open_where(dsgd_values_config *config, dsgd_numerics where, bool in_double,
                                   dsgd_values **values, dsgd_error *error)
{
    const uint32_t n_threads = config->n_threads;
    dsgd_status status = choose_device(where, in_double, &config->device, error);
    if (status != DSGD_OK)
        return status;
    config->n_threads = config->device->threaded ? n_threads : 1;
    status = dsgd_values_open(config, values, error);
    if (status == DSGD_OK || where != DSGD_NUMERICS_AUTO || config->device->threaded)
        return status;
    config->device = &dsgd_device_cpu_float;
    config->n_threads = n_threads;
    return dsgd_values_open(config, values, error);
}

/** What is left at the end: held by somebody who never gave it back, or still pending. */
static void free_rest(dsgd_values *values)
{
    for (size_t i = 0; i < values->n_buckets; i++) {
        for (dsgd_operation *o = values->buckets[i], *next = NULL; o != NULL; o = next) {
            next = o->next_in_bucket;
            for (uint32_t k = 0; k < o->n_outputs; k++)
                if (o->outputs[k] != NULL)
                    values->config.device->release(values->context, o->outputs[k]);
            free_operation(o);
        }
    }
}

void dsgd_values_close(dsgd_values *values)
{
    if (values == NULL)
        return;
    pthread_mutex_lock(&values->lock);
    dsgd_executor_wait(values, 0);
    pthread_mutex_unlock(&values->lock);
    dsgd_executor_stop(values);
    free_rest(values);
    for (size_t k = 0; k < values->config.problem.n_pieces; k++) {
        for (size_t i = 0; i < values->pools[k].n; i++)
            values->config.device->release(values->context, values->pools[k].free[i]);
        free(values->pools[k].free);
    }
    values->config.device->close(values->context);
    for (size_t i = 0; i < values->n_tickets; i++)
        free(values->tickets[i]);
    free(values->tickets);
    free(values->pools);
    free(values->buckets);
    pthread_cond_destroy(&values->work_there);
    pthread_cond_destroy(&values->work_done);
    pthread_mutex_destroy(&values->lock);
    free(values);
}

void dsgd_values_record(dsgd_values *values, dsgd_recorder *recorder)
{
    if (values != NULL)
        values->recorder = recorder;
}

/** A holder inside becomes a handle outside. */
static dsgd_value hand_out(dsgd_operation *o, size_t index)
{
    o->handles++;
    return (dsgd_value){o, (uint32_t)index};
}

/** The contrary of hand_out(). */
static void take_back(dsgd_values *values, dsgd_value value)
{
    if (value.operation == NULL)
        return;
    DSGD_ASSERT(value.operation->handles > 0, "a value is given back once too often");
    if (--value.operation->handles == 0)
        dsgd_record_release(values->recorder, value.operation);
}

dsgd_value dsgd_value_retain(dsgd_value value)
{
    if (value.operation == NULL)
        return value;
    value.operation->holders++;
    return hand_out(value.operation, value.index);
}

void dsgd_value_release(dsgd_values *values, dsgd_value value)
{
    if (values == NULL || value.operation == NULL)
        return;
    take_back(values, value);
    pthread_mutex_lock(&values->lock);
    dsgd_operation_drop_holder(values, value.operation);
    pthread_mutex_unlock(&values->lock);
}

bool dsgd_value_equal(dsgd_value a, dsgd_value b)
{
    return a.operation == b.operation && a.index == b.index;
}

/* --- operations ----------------------------------------------------------------------------------------------------------------------- */

dsgd_value dsgd_values_constant(dsgd_values *values, size_t piece, const double *x)
{
    if (values == NULL)
        return DSGD_ZERO_VALUE;
    pthread_mutex_lock(&values->lock);
    if (!values->config.device->threaded)
        dsgd_executor_wait(values, 0); /* this thread is about to call the device */
    dsgd_operation *const o = new_operation(OPERATION_CONSTANT, (dsgd_origin){0, 0}, piece, 0, 1);
    o->id = ++values->next_id;
    o->hash = hash_of(o);
    o->holders = 1;
    o->state = OPERATION_DONE;
    o->outputs[0] = dsgd_buffer_take(values, piece);
    values->config.device->put(values->context, o->outputs[0],
                               x + values->config.problem.piece_begin[piece],
                               dsgd_piece_size(values, piece));
    share(values, o);
    pthread_mutex_unlock(&values->lock);
    dsgd_record_constant(values->recorder, piece, x, o);
    return hand_out(o, 0);
}

/** A gradient over @p count samples of the mini-batches of some (worker, step). The caller becomes a holder. */
static dsgd_operation *gradient(dsgd_values *values, dsgd_origin where, const dsgd_value *x,
                                const dsgd_origin *samples, size_t n, uint32_t count)
{
    const size_t n_pieces = values->config.problem.n_pieces;
    dsgd_operation *const o = new_operation(OPERATION_GRADIENT, where, 0, n_pieces, n_pieces);
    for (size_t k = 0; k < n_pieces; k++)
        set_input(o, k, x[k]);
    o->samples = dsgd_xcalloc(n, sizeof *o->samples);
    memcpy(o->samples, samples, n * sizeof *samples);
    o->n_samples = (uint32_t)n;
    o->count = count;
    return enter(values, o);
}

void dsgd_values_gradient(dsgd_values *values, dsgd_origin where, uint32_t count,
                          const dsgd_value *x, dsgd_value *g)
{
    if (values == NULL)
        return;
    pthread_mutex_lock(&values->lock);
    if (++values->gradients_since_flush >= values->flush_every)
        flush(values);
    dsgd_operation *const o = gradient(values, where, x, &where, 1, count);
    dsgd_record_gradient(values->recorder, where, count, x, o);
    const size_t n_pieces = values->config.problem.n_pieces;
    for (size_t k = 0; k < n_pieces; k++)
        g[k] = hand_out(o, k);
    o->holders += (uint32_t)n_pieces - 1; /* each piece is given back by itself */
    pthread_mutex_unlock(&values->lock);
}

dsgd_value dsgd_values_update(dsgd_values *values, dsgd_origin where, size_t piece, dsgd_value x,
                              dsgd_value g, dsgd_value *v, double lr)
{
    if (values == NULL)
        return DSGD_ZERO_VALUE;
    const bool momentum = values->config.problem.momentum != 0;
    pthread_mutex_lock(&values->lock);
    dsgd_operation *o =
        new_operation(OPERATION_UPDATE, where, piece, momentum ? 3 : 2, momentum ? 2 : 1);
    set_input(o, 0, x);
    set_input(o, 1, g);
    if (momentum)
        set_input(o, 2, *v);
    o->lr = lr;
    o = enter(values, o);
    dsgd_record_update(values->recorder, where, piece,
                       (dsgd_value[]){x, g, momentum ? *v : DSGD_ZERO_VALUE}, lr, o);
    const dsgd_value moved = hand_out(o, 0);
    if (momentum) {
        o->holders++;
        take_back(values, *v);
        dsgd_operation_drop_holder(values, v->operation);
        *v = hand_out(o, 1);
    }
    pthread_mutex_unlock(&values->lock);
    return moved;
}

/** Operands without zeros and repetitions. */
typedef struct operands {
    size_t n;
    dsgd_value *x;
    double *weights;
} operands;

/** Operands that were seen, by identity. */
typedef struct seen {
    uint64_t identity;
    size_t place;
} seen;

static int by_identity(const void *a, const void *b)
{
    const seen *const p = a;
    const seen *const q = b;
    if (p->identity != q->identity)
        return p->identity < q->identity ? -1 : 1;
    return p->place < q->place ? -1 : p->place > q->place;
}

/** Drops zeros and merges equal operands at the place of the first. */
static operands simplify(size_t n, const dsgd_value *x, const double *weights)
{
    seen *const order = dsgd_xcalloc(n, sizeof *order);
    double *const merged = dsgd_xcalloc(n, sizeof *merged);
    for (size_t i = 0; i < n; i++)
        order[i] = (seen){identity(x[i]), i};
    qsort(order, n, sizeof *order, by_identity);
    for (size_t i = 0, first = 0; i < n; i++) {
        if (order[i].identity != order[first].identity)
            first = i;
        merged[order[first].place] += order[i].identity == 0 ? 0 : weights[order[i].place];
    }
    operands out = {0, dsgd_xcalloc(n, sizeof *out.x), dsgd_xcalloc(n, sizeof *out.weights)};
    for (size_t i = 0; i < n; i++) {
        if (merged[i] == 0)
            continue;
        out.x[out.n] = x[i];
        out.weights[out.n++] = merged[i];
    }
    free(order);
    free(merged);
    return out;
}

/** Whether the operands are gradients of single whole mini-batches at one and the same model, with equal weights. */
static bool fusable(const dsgd_values *values, const operands *in)
{
    if (in->n < 2)
        return false;
    const dsgd_operation *const first = in->x[0].operation;
    const size_t bytes = values->config.problem.n_pieces * sizeof *first->input_ids;
    for (size_t i = 0; i < in->n; i++) {
        const dsgd_operation *const o = in->x[i].operation;
        if (o->kind != OPERATION_GRADIENT || o->n_samples != 1 ||
            o->count != values->config.stream.batch || in->weights[i] != in->weights[0] ||
            memcmp(o->input_ids, first->input_ids, bytes) != 0)
            return false;
    }
    return true;
}

/** The operands' mini-batches in their order, as gradients of blocks. The caller holds them. */
static operands fuse(dsgd_values *values, dsgd_origin where, size_t piece, const operands *in)
{
    const size_t per_block = values->config.stream.batch >= DSGD_FUSED_SAMPLES
                                 ? 1
                                 : DSGD_FUSED_SAMPLES / values->config.stream.batch;
    const size_t n_blocks = (in->n + per_block - 1) / per_block;
    operands out = {n_blocks, dsgd_xcalloc(n_blocks, sizeof *out.x),
                    dsgd_xcalloc(n_blocks, sizeof *out.weights)};
    dsgd_origin *const samples = dsgd_xcalloc(per_block, sizeof *samples);
    for (size_t b = 0; b < n_blocks; b++) {
        const size_t first = b * per_block;
        const size_t n = first + per_block < in->n ? per_block : in->n - first;
        for (size_t i = 0; i < n; i++)
            samples[i] = in->x[first + i].operation->samples[0];
        dsgd_operation *const block = gradient(values, where, in->x[0].operation->inputs, samples,
                                               n, values->config.stream.batch);
        out.x[b] = (dsgd_value){block, (uint32_t)piece};
        out.weights[b] = in->weights[0] * (double)n;
    }
    free(samples);
    return out;
}

static dsgd_value combine(dsgd_values *values, dsgd_origin where, size_t piece, const operands *in,
                          double divisor)
{
    if (in->n == 0)
        return DSGD_ZERO_VALUE;
    if (in->n == 1 && in->weights[0] == divisor) {
        in->x[0].operation->holders++;
        return in->x[0];
    }
    dsgd_operation *const o = new_operation(OPERATION_COMBINE, where, piece, in->n, 1);
    o->weights = dsgd_xcalloc(in->n, sizeof *o->weights);
    for (size_t i = 0; i < in->n; i++) {
        set_input(o, i, in->x[i]);
        o->weights[i] = in->weights[i];
    }
    o->divisor = divisor;
    return (dsgd_value){enter(values, o), 0};
}

static dsgd_value combine_any(dsgd_values *values, dsgd_origin where, size_t piece, size_t n,
                              const dsgd_value *x, const double *weights, double divisor)
{
    operands in = simplify(n, x, weights);
    dsgd_value sum = DSGD_ZERO_VALUE;
    if (fusable(values, &in)) {
        operands blocks = fuse(values, where, piece, &in);
        sum = combine(values, where, piece, &blocks, divisor);
        for (size_t b = 0; b < blocks.n; b++)
            dsgd_operation_drop_holder(values, blocks.x[b].operation);
        free(blocks.x);
        free(blocks.weights);
    } else {
        sum = combine(values, where, piece, &in, divisor);
    }
    free(in.x);
    free(in.weights);
    return sum;
}

dsgd_value dsgd_values_combine(dsgd_values *values, dsgd_origin where, size_t piece, size_t n,
                               const dsgd_value *x, const double *weights, double divisor)
{
    if (values == NULL)
        return DSGD_ZERO_VALUE;
    pthread_mutex_lock(&values->lock);
    const dsgd_value sum = combine_any(values, where, piece, n, x, weights, divisor);
    pthread_mutex_unlock(&values->lock);
    const dsgd_combination told = {n, x, weights, divisor};
    dsgd_record_combine(values->recorder, where, piece, &told, sum.operation);
    return sum.operation == NULL ? sum : hand_out(sum.operation, sum.index);
}

/* --- evaluation ------------------------------------------------------------------------------------------------------------------------- */

static void add_share(dsgd_operation *o, size_t piece, dsgd_value x, double share_of_models)
{
    set_input(o, o->n_inputs, x);
    o->pieces[o->n_inputs] = (uint32_t)piece;
    o->weights[o->n_inputs] = share_of_models;
    o->n_inputs++;
}

/** Adds the distinct values of one piece over all models to the operation's inputs, with their share of the models. */
static void add_distinct(dsgd_operation *o, size_t piece, size_t n, const dsgd_value *models,
                         size_t n_pieces)
{
    dsgd_value *const x = dsgd_xcalloc(n, sizeof *x);
    double *const ones = dsgd_xcalloc(n, sizeof *ones);
    size_t n_zeros = 0;
    for (size_t i = 0; i < n; i++) {
        x[i] = models[i * n_pieces + piece];
        ones[i] = 1;
        n_zeros += x[i].operation == NULL;
    }
    operands distinct = simplify(n, x, ones);
    for (size_t i = 0; i < distinct.n; i++)
        add_share(o, piece, distinct.x[i], distinct.weights[i] / (double)n);
    if (n_zeros > 0)
        add_share(o, piece, DSGD_ZERO_VALUE, (double)n_zeros / (double)n);
    free(distinct.x);
    free(distinct.weights);
    free(x);
    free(ones);
}

static void set_mean(dsgd_values *values, dsgd_operation *o, size_t piece, size_t n,
                     const dsgd_value *models)
{
    const size_t n_pieces = values->config.problem.n_pieces;
    dsgd_value *const x = dsgd_xcalloc(n, sizeof *x);
    double *const ones = dsgd_xcalloc(n, sizeof *ones);
    for (size_t i = 0; i < n; i++) {
        x[i] = models[i * n_pieces + piece];
        ones[i] = 1;
    }
    set_input(o, piece, combine_any(values, o->where, piece, n, x, ones, (double)n));
    o->pieces[piece] = (uint32_t)piece;
    free(x);
    free(ones);
}

size_t dsgd_values_evaluate(dsgd_values *values, size_t n, const dsgd_value *x)
{
    if (values == NULL)
        return 0;
    pthread_mutex_lock(&values->lock);
    const size_t n_pieces = values->config.problem.n_pieces;
    ticket *const t = dsgd_xcalloc(1, sizeof *t);
    t->result = (dsgd_evaluation){NAN, NAN, NAN};
    values->tickets =
        dsgd_xrealloc(values->tickets, values->n_tickets + 1, sizeof *values->tickets);
    values->tickets[values->n_tickets] = t;
    dsgd_operation *o =
        new_operation(OPERATION_EVALUATE, (dsgd_origin){0, 0}, 0, n_pieces * (n + 1), 0);
    o->n_inputs = (uint32_t)n_pieces;
    o->weights = dsgd_xcalloc(n_pieces * (n + 1), sizeof *o->weights);
    o->pieces = dsgd_xcalloc(n_pieces * (n + 1), sizeof *o->pieces);
    for (size_t k = 0; k < n_pieces; k++)
        set_mean(values, o, k, n, x);
    for (size_t k = 0; k < n_pieces; k++)
        add_distinct(o, k, n, x, n_pieces);
    o->evaluation = &t->result;
    o = enter(values, o);
    t->id = o->id;
    for (size_t k = 0; k < n_pieces; k++)
        dsgd_operation_drop_holder(values,
                                   o->inputs[k].operation); /* combine_any() made us a holder */
    dsgd_operation_submit(values, o);
    dsgd_operation_drop_holder(values, o);
    flush(values);
    const size_t number = values->n_tickets++;
    pthread_mutex_unlock(&values->lock);
    dsgd_record_evaluate(values->recorder, n, x);
    return number;
}

dsgd_evaluation dsgd_values_result(dsgd_values *values, size_t number)
{
    if (values == NULL)
        return (dsgd_evaluation){NAN, NAN, NAN};
    pthread_mutex_lock(&values->lock);
    flush(values);
    dsgd_executor_wait(values,
                       0); /* also what came before: only then it is known whether that diverged */
    const ticket *const t = values->tickets[number];
    const dsgd_evaluation result =
        t->id > values->diverged_id ? (dsgd_evaluation){NAN, NAN, NAN} : t->result;
    pthread_mutex_unlock(&values->lock);
    dsgd_record_result(values->recorder, number, &result);
    return result;
}

void dsgd_values_flush(dsgd_values *values)
{
    if (values == NULL)
        return;
    pthread_mutex_lock(&values->lock);
    flush(values);
    pthread_mutex_unlock(&values->lock);
    dsgd_record_flush(values->recorder);
}

dsgd_divergence dsgd_values_divergence(dsgd_values *values)
{
    if (values == NULL)
        return (dsgd_divergence){0};
    pthread_mutex_lock(&values->lock);
    dsgd_executor_wait(values, 0);
    const dsgd_divergence divergence = {values->diverged_id != UINT64_MAX, values->diverged_where};
    pthread_mutex_unlock(&values->lock);
    return divergence;
}

dsgd_values_stats dsgd_values_stats_get(dsgd_values *values)
{
    if (values == NULL)
        return (dsgd_values_stats){0};
    pthread_mutex_lock(&values->lock);
    const dsgd_values_stats stats = values->stats;
    pthread_mutex_unlock(&values->lock);
    return stats;
}

void dsgd_values_read(dsgd_values *values, size_t piece, dsgd_value value, double *x)
{
    if (values == NULL)
        return;
    const size_t n = dsgd_piece_size(values, piece);
    if (value.operation == NULL) {
        memset(x, 0, n * sizeof *x);
        return;
    }
    pthread_mutex_lock(&values->lock);
    dsgd_operation_submit(values, value.operation);
    flush(values);
    dsgd_executor_wait(values, 0);
    const dsgd_buffer buffer = value.operation->outputs[value.index];
    if (buffer == NULL)
        for (size_t i = 0; i < n; i++)
            x[i] = NAN; /* skipped after a divergence */
    else
        values->config.device->get(values->context, x, buffer, n);
    pthread_mutex_unlock(&values->lock);
    dsgd_record_read(values->recorder, piece, value, x, n);
}
