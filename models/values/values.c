/**
 * @file values.c
 * The graph of operations on values: what is shared, what is fused, what is computed at all.
 */
#include "models/values/values.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/values/operations.h"

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
    uint64_t hash = mix(mix(mix(o->kind, o->shape), o->count), bits_of(o->lr));
    hash = mix(mix(hash, bits_of(o->divisor)), o->t);
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
    if (a->hash != b->hash || a->kind != b->kind || a->shape != b->shape || a->lr != b->lr ||
        a->t != b->t || a->divisor != b->divisor || a->count != b->count ||
        a->n_inputs != b->n_inputs || a->n_samples != b->n_samples)
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

enum { USUAL_BYTES = 512, MOST_LET_GO = 64 };

/** What operations of one shape take, in one run of memory: @p memory NULL only measures. */
static size_t lay_out(unsigned char *memory, size_t n_samples, dsgd_operation *o)
{
    const bool weighted = o->kind == OPERATION_COMBINE || o->kind == OPERATION_EVALUATE;
    size_t at = sizeof *o;
#define PLACE(array, n)                                                                            \
    do {                                                                                           \
        if (memory != NULL && (n) > 0)                                                             \
            (array) = (void *)(memory + at);                                                       \
        at += ((n) * sizeof *(array) + 7) / 8 * 8;                                                 \
    } while (0)
    PLACE(o->inputs, o->n_inputs);
    PLACE(o->input_ids, o->n_inputs);
    PLACE(o->waits, o->n_inputs);
    PLACE(o->operands, o->n_inputs);
    PLACE(o->weights, weighted ? o->n_inputs : 0u);
    PLACE(o->shapes, o->kind == OPERATION_EVALUATE ? o->n_inputs : 0u);
    PLACE(o->samples, n_samples);
    PLACE(o->outputs, o->n_outputs);
    PLACE(o->handles, o->n_outputs);
    PLACE(o->outside, o->n_outputs);
    PLACE(o->names, o->n_outputs);
    PLACE(o->readings, o->n_outputs);
#undef PLACE
    return at;
}

/** Zeroed memory that is found again when the store is closed. */
static dsgd_operation *new_memory(dsgd_values *values, size_t bytes)
{
    if (values->n_all == values->room_all) {
        values->room_all = values->room_all == 0 ? 1024 : 2 * values->room_all;
        values->all = dsgd_xrealloc(values->all, values->room_all, sizeof(dsgd_operation *));
    }
    dsgd_operation *const o = dsgd_xcalloc(1, bytes);
    o->place = values->n_all;
    values->all[values->n_all++] = o;
    return o;
}

static dsgd_operation *new_operation(dsgd_values *values, dsgd_operation shape, size_t n_samples)
{
    const size_t bytes = lay_out(NULL, n_samples, &shape);
    dsgd_operation *o = values->spare;
    if (bytes > USUAL_BYTES || o == NULL) {
        o = new_memory(values, bytes > USUAL_BYTES ? bytes : USUAL_BYTES);
    } else {
        values->spare = o->after;
        memset(o + 1, 0, bytes - sizeof *o);
    }
    shape.place = o->place;
    *o = shape;
    o->large = bytes > USUAL_BYTES;
    o->n_samples = (uint32_t)n_samples;
    lay_out((unsigned char *)o, n_samples, o);
    return o;
}

static void free_operation(dsgd_values *values, dsgd_operation *o)
{
    o->n_outputs = 0;
    if (!o->large) {
        o->after = values->spare;
        values->spare = o;
        return;
    }
    dsgd_operation *const last = values->all[--values->n_all];
    last->place = o->place;
    values->all[last->place] = last;
    free(o);
}

/** Nobody holds anything of it any more: if it was only described, it will never be computed. */
static void let_go(dsgd_values *values, dsgd_operation *o)
{
    const bool pending = o->pending;
    const bool holds_inputs = pending || dsgd_may_be_fused(values, o);
    for (uint32_t i = 0; holds_inputs && i < o->n_inputs; i++)
        dsgd_value_drop(values, o->inputs[i]);
    if (!pending)
        return;
    o->before->after = o->after;
    o->after->before = o->before;
    free_operation(values, o);
}

/** The operation is no longer found, and the executor will be told that nobody holds the output. */
static void let_go_output(dsgd_values *values, dsgd_value value)
{
    forget(values, value.operation);
    if (value.operation->pending)
        return;
    if (values->n_let_go == values->room_let_go) {
        values->room_let_go = values->room_let_go == 0 ? 64 : 2 * values->room_let_go;
        values->let_go = dsgd_xrealloc(values->let_go, values->room_let_go, sizeof *values->let_go);
    }
    values->let_go[values->n_let_go++] = value;
}

void dsgd_value_drop(dsgd_values *values, dsgd_value value)
{
    dsgd_operation *const o = value.operation;
    if (o == NULL)
        return;
    DSGD_ASSERT(o->handles[value.index] > 0, "a value is given back once too often");
    o->handles[value.index]--;
    o->holders--;
    if (o->handles[value.index] == 0 && dsgd_goes_apart(values, o))
        let_go_output(values, value);
    if (o->holders > 0)
        return;
    for (uint32_t k = 0; k < o->n_outputs && !dsgd_goes_apart(values, o); k++)
        let_go_output(values, (dsgd_value){o, k});
    let_go(values, o);
}

/** The caller gives back one handle of every output. */
static void drop_all(dsgd_values *values, dsgd_operation *o)
{
    const uint32_t n = o->n_outputs; /* the operation may be gone before the end */
    for (uint32_t k = 0; k < n; k++)
        dsgd_value_drop(values, (dsgd_value){o, k});
}

/** Tells the executor what was let go, and takes back the memory of the dead. With the lock held. */
static void settle(dsgd_values *values)
{
    for (size_t i = 0; i < values->n_let_go; i++)
        dsgd_value_unread(values, values->let_go[i]);
    values->n_let_go = 0;
    for (dsgd_operation *o = values->dead, *next = NULL; o != NULL; o = next) {
        next = o->next_dead;
        free_operation(values, o);
    }
    values->dead = NULL;
}

static void set_input(dsgd_operation *o, size_t i, dsgd_value value)
{
    o->inputs[i] = value;
    o->input_ids[i] = identity(value);
}

static void hold(dsgd_value value)
{
    value.operation->holders++;
    value.operation->handles[value.index]++;
}

static void hold_all(dsgd_operation *o)
{
    for (uint32_t k = 0; k < o->n_outputs; k++)
        hold((dsgd_value){o, k});
}

/** The operation itself, or the equal one that is there already. Either way the caller becomes a holder of every output. */
static dsgd_operation *enter(dsgd_values *values, dsgd_operation *o)
{
    o->hash = hash_of(o);
    if (values->n_buckets > 0) {
        for (dsgd_operation *p = values->buckets[o->hash & (values->n_buckets - 1)]; p != NULL;
             p = p->next_in_bucket) {
            if (equal_operations(p, o)) {
                free_operation(values, o);
                hold_all(p);
                return p;
            }
        }
    }
    o->id = ++values->next_id;
    hold_all(o);
    for (uint32_t i = 0; i < o->n_inputs; i++)
        if (o->inputs[i].operation != NULL)
            hold(o->inputs[i]);
    o->pending = true;
    o->before = values->pending.before;
    o->after = &values->pending;
    o->before->after = o->after->before = o;
    share(values, o);
    return o;
}

/* --- flushing ------------------------------------------------------------------------------------------------------------------------- */

/** Whether it is a mean of models that have made a step, or a step from such a mean or from the beginning. */
static bool mixes_models(const dsgd_operation *o)
{
    bool stepped = false;
    for (uint32_t i = 0; o->kind == OPERATION_COMBINE && i < o->n_inputs; i++)
        stepped = stepped || o->inputs[i].operation->kind == OPERATION_UPDATE;
    const dsgd_operation *const x = o->n_inputs == 0 ? NULL : o->inputs[0].operation;
    return stepped || (o->kind == OPERATION_UPDATE && x != NULL && x->kind != OPERATION_UPDATE);
}

/**
 * Whether a flush of what was described up to operation @p last takes this one; what came before has been asked. What mixes models that it
 * takes goes with them, so that it is computed while a cache holds them. Nothing else does: what waits can still be shared.
 */
static bool goes(const dsgd_operation *o, uint64_t last)
{
    if (o->id <= last)
        return true;
    bool all = mixes_models(o);
    for (uint32_t i = 0; all && i < o->n_inputs; i++) {
        const dsgd_operation *const input = o->inputs[i].operation;
        all = input == NULL || !input->pending || input->goes;
    }
    return all;
}

/**
 * Submits what was described up to operation @p last and is still held, and what goes with it; but not gradients that nothing submitted
 * reads: a collective may fuse those. With the lock held.
 */
static void flush(dsgd_values *values, uint64_t last)
{
    values->gradients_since_flush = 0;
    values->id_at_flush = values->next_id;
    dsgd_operation *const head = &values->pending;
    for (dsgd_operation *o = head->after; o != head; o = o->after)
        o->goes = goes(o, last);
    /* What nothing else reads goes first, in order, and takes its operands along: what belongs together is computed together. */
    for (dsgd_operation *o = head->before; o != head; o = o->before) {
        const bool reads = o->goes && (o->taken || !dsgd_may_be_fused(values, o));
        for (uint32_t i = 0; reads && i < o->n_inputs; i++)
            if (o->inputs[i].operation != NULL)
                o->inputs[i].operation->taken = true;
    }
    for (dsgd_operation *o = head->after, *next = NULL; o != head; o = next) {
        next = o->after; /* later, so no operand of this one */
        if (o->goes && !o->taken && !dsgd_may_be_fused(values, o))
            dsgd_operation_submit(values, o);
    }
    settle(values);
    dsgd_executor_wake(values);
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
    v->n_desks = config->n_threads + (config->device->threaded ? 1 : 0);
    const dsgd_status status =
        config->device->open(&v->config.problem, v->n_desks, &v->context, error);
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
    v->desks = dsgd_xcalloc(v->n_desks, sizeof *v->desks);
    for (uint32_t i = 0; i < v->n_desks; i++) {
        v->desks[i].first_rank = UINT64_MAX;
        v->desks[i].pools = dsgd_xcalloc(dsgd_n_shapes(v), sizeof *v->desks[i].pools);
    }
    v->diverged_id = UINT64_MAX;
    dsgd_executor_start(v);
    *values = v;
    return DSGD_OK;
}

static dsgd_status choose_device(dsgd_numerics where, bool in_double, const dsgd_device **device,
                                 dsgd_error *error)
{
    *device = where == DSGD_NUMERICS_OFF ? &dsgd_device_none : dsgd_device_cpu(in_double);
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
    config->device = dsgd_device_cpu(false);
    config->n_threads = n_threads;
    return dsgd_values_open(config, values, error);
}

/** What is left at the end: held by somebody who never gave it back, or still pending. */
static void free_rest(dsgd_values *values)
{
    settle(values);
    for (size_t i = 0; i < values->n_all; i++) {
        dsgd_operation *const o = values->all[i];
        for (uint32_t k = 0; k < o->n_outputs; k++)
            if (o->outputs[k] != NULL)
                values->config.device->release(values->context, o->outputs[k]);
        free(o);
    }
    free(values->all);
}

static void free_desk(dsgd_values *values, desk *own)
{
    dsgd_buffers_free(values, own->pools);
    for (int kind = 0; kind < OPERATION_KINDS; kind++)
        free(own->ready[kind].v);
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
    for (uint32_t i = 0; i < values->n_desks; i++)
        free_desk(values, &values->desks[i]);
    values->config.device->close(values->context);
    for (size_t i = 0; i < values->n_tickets; i++)
        free(values->tickets[i]);
    free(values->tickets);
    free(values->desks);
    free(values->let_go);
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

/** A value that is held becomes a handle outside. */
static dsgd_value hand_out(dsgd_value value)
{
    if (value.operation != NULL)
        value.operation->outside[value.index]++;
    return value;
}

/** The contrary: a handle outside is only held. */
static dsgd_value take_back(dsgd_values *values, dsgd_value value)
{
    dsgd_operation *const o = value.operation;
    if (o == NULL)
        return value;
    DSGD_ASSERT(o->outside[value.index] > 0, "a value is given back once too often");
    if (--o->outside[value.index] == 0)
        dsgd_record_release(values->recorder, value);
    return value;
}

dsgd_value dsgd_value_retain(dsgd_value value)
{
    if (value.operation != NULL)
        hold(value);
    return hand_out(value);
}

void dsgd_value_release(dsgd_values *values, dsgd_value value)
{
    if (values == NULL || value.operation == NULL)
        return;
    dsgd_value_drop(values, take_back(values, value));
    if (values->n_let_go < MOST_LET_GO)
        return;
    pthread_mutex_lock(&values->lock);
    settle(values);
    pthread_mutex_unlock(&values->lock);
}

bool dsgd_value_equal(dsgd_value a, dsgd_value b)
{
    return a.operation == b.operation && a.index == b.index;
}

/* --- operations ----------------------------------------------------------------------------------------------------------------------- */

/** Numbers from outside. */
static dsgd_value constant(dsgd_values *values, size_t shape, const double *x)
{
    dsgd_operation *const o = new_operation(
        values,
        (dsgd_operation){.kind = OPERATION_CONSTANT, .shape = (uint32_t)shape, .n_outputs = 1}, 0);
    o->id = ++values->next_id;
    o->hash = hash_of(o);
    hold_all(o);
    o->uses = 1;
    o->readings[0] = 1;
    o->done = true;
    pthread_mutex_lock(&values->lock);
    if (!values->config.device->threaded)
        dsgd_executor_wait(values, 0); /* this thread is about to call the device */
    o->outputs[0] = dsgd_buffer_take(values, o->thread, shape);
    values->config.device->put(values->context, o->outputs[0], x, dsgd_shape_size(values, shape));
    pthread_mutex_unlock(&values->lock);
    share(values, o);
    dsgd_record_constant(values->recorder, shape, x, o);
    return hand_out((dsgd_value){o, 0});
}

dsgd_value dsgd_values_constant(dsgd_values *values, size_t piece, const double *x)
{
    if (values == NULL)
        return DSGD_ZERO_VALUE;
    return constant(values, piece, x + values->config.problem.piece_begin[piece]);
}

/** Whether gradients have a model state, as one more input and output. */
static bool has_state(const dsgd_values *values)
{
    return values->config.problem.network->n_state > 0;
}

dsgd_value dsgd_values_state(dsgd_values *values, const double *state)
{
    if (values == NULL || !has_state(values))
        return DSGD_ZERO_VALUE;
    return constant(values, dsgd_state_shape(values), state);
}

/** A gradient over @p count samples of the mini-batches of some (worker, step). */
static dsgd_operation *gradient(dsgd_values *values, dsgd_origin where, const dsgd_value *x,
                                dsgd_value state, const dsgd_origin *samples, size_t n,
                                uint32_t count)
{
    const size_t n_pieces = values->config.problem.n_pieces;
    const uint32_t n_values = (uint32_t)n_pieces + has_state(values);
    dsgd_operation *const o = new_operation(values,
                                            (dsgd_operation){.kind = OPERATION_GRADIENT,
                                                             .where = where,
                                                             .n_inputs = n_values,
                                                             .n_outputs = n_values,
                                                             .count = count},
                                            n);
    for (size_t k = 0; k < n_pieces; k++)
        set_input(o, k, x[k]);
    if (has_state(values))
        set_input(o, n_pieces, state);
    memcpy(o->samples, samples, n * sizeof *samples);
    return enter(values, o);
}

void dsgd_values_gradient(dsgd_values *values, dsgd_origin where, uint32_t count,
                          const dsgd_value *x, dsgd_value *state, dsgd_value *g)
{
    if (values == NULL)
        return;
    if (++values->gradients_since_flush >= values->flush_every) {
        /* One round late: by then workers have let go of the gradients that they have used, and of the models those hold. */
        pthread_mutex_lock(&values->lock);
        flush(values, values->id_at_flush);
        pthread_mutex_unlock(&values->lock);
    }
    const dsgd_value old = has_state(values) ? *state : DSGD_ZERO_VALUE;
    dsgd_operation *const o = gradient(values, where, x, old, &where, 1, count);
    dsgd_record_gradient(values->recorder, where, count, x, old, o);
    const size_t n_pieces = values->config.problem.n_pieces;
    for (size_t k = 0; k < n_pieces; k++)
        g[k] = hand_out((dsgd_value){o, (uint32_t)k});
    if (has_state(values)) {
        *state = hand_out((dsgd_value){o, (uint32_t)n_pieces});
        dsgd_value_drop(values, take_back(values, old));
    }
}

dsgd_value dsgd_values_update(dsgd_values *values, dsgd_origin where, size_t piece, dsgd_value x,
                              dsgd_value g, dsgd_value *v, double lr, uint64_t t)
{
    if (values == NULL)
        return DSGD_ZERO_VALUE;
    const dsgd_optimizer *const rule = &values->config.problem.update;
    const bool state = dsgd_optimizer_states(rule) > 0;
    dsgd_operation *o =
        new_operation(values,
                      (dsgd_operation){.kind = OPERATION_UPDATE,
                                       .where = where,
                                       .shape = (uint32_t)piece,
                                       .n_inputs = state ? 3 : 2,
                                       .n_outputs = state ? 2 : 1,
                                       .lr = lr,
                                       .t = rule->kind == DSGD_OPTIMIZER_ADAMW ? t : 0},
                      0);
    set_input(o, 0, x);
    set_input(o, 1, g);
    if (state)
        set_input(o, 2, *v);
    o = enter(values, o);
    const dsgd_value old = state ? *v : DSGD_ZERO_VALUE;
    dsgd_record_update(values->recorder, where, (dsgd_value[]){x, g, old}, lr, o);
    const dsgd_value moved = hand_out((dsgd_value){o, 0});
    if (state) {
        *v = hand_out((dsgd_value){o, 1});
        dsgd_value_drop(values, take_back(values, old));
    }
    return moved;
}

enum { FEW = 8 };

/** Operands without zeros and repetitions. */
typedef struct operands {
    size_t n;
    dsgd_value *x;
    double *weights;
    dsgd_value few_x[FEW];
    double few_weights[FEW];
} operands;

static void make_operands(operands *out, size_t room)
{
    out->n = 0;
    out->x = room <= FEW ? out->few_x : dsgd_xcalloc(room, sizeof *out->x);
    out->weights = room <= FEW ? out->few_weights : dsgd_xcalloc(room, sizeof *out->weights);
}

static void free_operands(operands *out)
{
    if (out->x != out->few_x)
        free(out->x);
    if (out->weights != out->few_weights)
        free(out->weights);
}

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

/** merged[i] <- sum of the weights of what equals operand i, where i is the first of them, else 0; and 0 for zeros. */
static void merge_few(size_t n, const dsgd_value *x, const double *weights, double *merged)
{
    for (size_t i = 0; i < n; i++) {
        size_t first = 0;
        while (identity(x[first]) != identity(x[i]))
            first++;
        merged[i] = 0;
        merged[first] += x[i].operation == NULL ? 0 : weights[i];
    }
}

/** The like for many. */
static void merge_many(size_t n, const dsgd_value *x, const double *weights, double *merged)
{
    seen *const order = dsgd_xcalloc(n, sizeof *order);
    for (size_t i = 0; i < n; i++) {
        order[i] = (seen){identity(x[i]), i};
        merged[i] = 0;
    }
    qsort(order, n, sizeof *order, by_identity);
    for (size_t i = 0, first = 0; i < n; i++) {
        if (order[i].identity != order[first].identity)
            first = i;
        merged[order[first].place] += order[i].identity == 0 ? 0 : weights[order[i].place];
    }
    free(order);
}

/** Drops zeros and merges equal operands at the place of the first. */
static void simplify(size_t n, const dsgd_value *x, const double *weights, operands *out)
{
    make_operands(out, n);
    (n <= FEW ? merge_few : merge_many)(n, x, weights, out->weights);
    for (size_t i = 0; i < n; i++) {
        if (out->weights[i] == 0)
            continue;
        out->x[out->n] = x[i];
        out->weights[out->n++] = out->weights[i];
    }
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
        if (!dsgd_may_be_fused(values, o) || o->n_samples != 1 ||
            o->count != values->config.stream.batch || in->weights[i] != in->weights[0] ||
            memcmp(o->input_ids, first->input_ids, bytes) != 0)
            return false;
    }
    return true;
}

/** The operands' mini-batches in their order, as gradients of blocks. The caller holds them. */
static void fuse(dsgd_values *values, dsgd_origin where, size_t piece, const operands *in,
                 operands *out)
{
    const size_t per_block = values->config.stream.batch >= DSGD_FUSED_SAMPLES
                                 ? 1
                                 : DSGD_FUSED_SAMPLES / values->config.stream.batch;
    const size_t n_blocks = (in->n + per_block - 1) / per_block;
    make_operands(out, n_blocks);
    out->n = n_blocks;
    dsgd_origin *const samples = dsgd_xcalloc(per_block, sizeof *samples);
    for (size_t b = 0; b < n_blocks; b++) {
        const size_t first = b * per_block;
        const size_t n = first + per_block < in->n ? per_block : in->n - first;
        for (size_t i = 0; i < n; i++)
            samples[i] = in->x[first + i].operation->samples[0];
        dsgd_operation *const block =
            gradient(values, where, in->x[0].operation->inputs, DSGD_ZERO_VALUE, samples, n,
                     values->config.stream.batch);
        out->x[b] = (dsgd_value){block, (uint32_t)piece};
        out->weights[b] = in->weights[0] * (double)n;
    }
    free(samples);
}

static dsgd_value combine(dsgd_values *values, dsgd_origin where, size_t shape, const operands *in,
                          double divisor)
{
    if (in->n == 0)
        return DSGD_ZERO_VALUE;
    if (in->n == 1 && in->weights[0] == divisor) {
        hold(in->x[0]);
        return in->x[0];
    }
    dsgd_operation *const o = new_operation(values,
                                            (dsgd_operation){.kind = OPERATION_COMBINE,
                                                             .where = where,
                                                             .shape = (uint32_t)shape,
                                                             .n_inputs = (uint32_t)in->n,
                                                             .n_outputs = 1,
                                                             .divisor = divisor},
                                            0);
    for (size_t i = 0; i < in->n; i++) {
        set_input(o, i, in->x[i]);
        o->weights[i] = in->weights[i];
    }
    return (dsgd_value){enter(values, o), 0};
}

/** The caller becomes a holder. */
static dsgd_value combine_any(dsgd_values *values, dsgd_origin where, size_t piece, size_t n,
                              const dsgd_value *x, const double *weights, double divisor)
{
    operands in;
    simplify(n, x, weights, &in);
    dsgd_value sum = DSGD_ZERO_VALUE;
    if (fusable(values, &in)) {
        operands blocks;
        fuse(values, where, piece, &in, &blocks);
        sum = combine(values, where, piece, &blocks, divisor);
        for (size_t b = 0; b < blocks.n; b++)
            drop_all(values, blocks.x[b].operation);
        free_operands(&blocks);
    } else {
        sum = combine(values, where, piece, &in, divisor);
    }
    free_operands(&in);
    return sum;
}

dsgd_value dsgd_values_combine(dsgd_values *values, dsgd_origin where, size_t piece, size_t n,
                               const dsgd_value *x, const double *weights, double divisor)
{
    if (values == NULL)
        return DSGD_ZERO_VALUE;
    const dsgd_value sum = combine_any(values, where, piece, n, x, weights, divisor);
    const dsgd_combination told = {n, x, weights, divisor};
    dsgd_record_combine(values->recorder, where, piece, &told, sum);
    return hand_out(sum);
}

/* --- evaluation ------------------------------------------------------------------------------------------------------------------------- */

/** Adds the distinct values of one piece over all models to the operation's inputs, with their share of the models. */
static void add_distinct(dsgd_operation *o, size_t piece, size_t n, const dsgd_value *x)
{
    double *const ones = dsgd_xcalloc(n, sizeof *ones);
    size_t n_zeros = 0;
    for (size_t i = 0; i < n; i++) {
        ones[i] = 1;
        n_zeros += x[i].operation == NULL;
    }
    operands distinct;
    simplify(n, x, ones, &distinct);
    for (size_t i = 0; i < distinct.n + (n_zeros > 0); i++) {
        const bool zeros = i == distinct.n;
        set_input(o, o->n_inputs, zeros ? DSGD_ZERO_VALUE : distinct.x[i]);
        o->shapes[o->n_inputs] = (uint32_t)piece;
        o->weights[o->n_inputs++] = (zeros ? (double)n_zeros : distinct.weights[i]) / (double)n;
    }
    free_operands(&distinct);
    free(ones);
}

/** The operation's next input becomes the mean of x[n]. */
static void add_mean(dsgd_values *values, dsgd_operation *o, size_t shape, size_t n,
                     const dsgd_value *x)
{
    double *const ones = dsgd_xcalloc(n, sizeof *ones);
    for (size_t i = 0; i < n; i++)
        ones[i] = 1;
    set_input(o, o->n_inputs, combine_any(values, o->where, shape, n, x, ones, (double)n));
    o->shapes[o->n_inputs++] = (uint32_t)shape;
    free(ones);
}

/** Inputs: the mean model's pieces, the mean state where there is one, then the models' distinct pieces. */
static dsgd_operation *evaluation(dsgd_values *values, size_t n, const dsgd_value *x,
                                  const dsgd_value *states)
{
    const size_t n_pieces = values->config.problem.n_pieces;
    const size_t most = n_pieces * (n + 1) + 1;
    dsgd_operation *const o = new_operation(
        values, (dsgd_operation){.kind = OPERATION_EVALUATE, .n_inputs = (uint32_t)most}, 0);
    o->n_inputs = 0;
    dsgd_value *const piece = dsgd_xcalloc(n, sizeof *piece);
    for (int distinct = 0; distinct < 2; distinct++) {
        for (size_t k = 0; k < n_pieces; k++) {
            for (size_t i = 0; i < n; i++)
                piece[i] = x[i * n_pieces + k];
            if (distinct)
                add_distinct(o, k, n, piece);
            else
                add_mean(values, o, k, n, piece);
        }
        if (!distinct && has_state(values))
            add_mean(values, o, dsgd_state_shape(values), n, states);
    }
    free(piece);
    return o;
}

size_t dsgd_values_evaluate(dsgd_values *values, size_t n, const dsgd_value *x,
                            const dsgd_value *states)
{
    if (values == NULL)
        return 0;
    ticket *const t = dsgd_xcalloc(1, sizeof *t);
    t->result = (dsgd_evaluation){NAN, NAN, NAN};
    values->tickets =
        dsgd_xrealloc(values->tickets, values->n_tickets + 1, sizeof *values->tickets);
    values->tickets[values->n_tickets] = t;
    dsgd_operation *const o = evaluation(values, n, x, states);
    o->evaluation = &t->result;
    o->id = ++values->next_id;
    t->id = o->id;
    for (uint32_t i = 0; i < o->n_inputs; i++)
        if (o->inputs[i].operation != NULL)
            hold(o->inputs[i]);
    const size_t n_means = values->config.problem.n_pieces + has_state(values);
    for (size_t k = 0; k < n_means; k++) /* combine_any() made us a holder */
        dsgd_value_drop(values, o->inputs[k]);
    pthread_mutex_lock(&values->lock);
    o->pending = true;
    o->before = o->after = o; /* in no ring, because nobody else can hold it */
    dsgd_operation_submit(values, o);
    flush(values, values->id_at_flush);
    const size_t number = values->n_tickets++;
    pthread_mutex_unlock(&values->lock);
    dsgd_record_evaluate(values->recorder, n, x, states);
    return number;
}

dsgd_evaluation dsgd_values_result(dsgd_values *values, size_t number)
{
    if (values == NULL)
        return (dsgd_evaluation){NAN, NAN, NAN};
    pthread_mutex_lock(&values->lock);
    flush(values, UINT64_MAX);
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
    flush(values, UINT64_MAX);
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
    const size_t n = dsgd_shape_size(values, piece);
    if (value.operation == NULL) {
        memset(x, 0, n * sizeof *x);
        return;
    }
    pthread_mutex_lock(&values->lock);
    dsgd_operation_submit(values, value.operation);
    flush(values, UINT64_MAX);
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
