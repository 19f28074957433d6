/**
 * @file record.c
 * The recorder: hears the calls of a store, and writes what a replay cannot know.
 */
#include "models/record/record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "models/record/format.h"
#include "models/values/operations.h"

struct dsgd_recorder {
    char *path, *beside;
    FILE *stream;
    int trouble; /* errno of the first failure to write; 0: none */
    record_memory memory;
    size_t batch;
    size_t n_pieces;
    dsgd_network network;
    uint64_t seed;
    uint32_t n_states; /* model states so far: each is that of the next worker, or written down */
    double *initial_state; /* room for one */
    bool adaptive; /* updates say which step of their state they are */
    size_t *piece_begin; /* [n_pieces + 1] */
    double *initial; /* the initial model, which needs no writing down */
    uint8_t *bytes; /* of the block under way */
    size_t n, room;
    uint64_t n_operations;
};

/* --- bytes -------------------------------------------------------------------------------------------------------------------------- */

static void put_byte(dsgd_recorder *r, uint8_t byte)
{
    if (r->n == r->room) {
        r->room = r->room == 0 ? 2 * RECORD_BLOCK_BYTES : 2 * r->room;
        r->bytes = dsgd_xrealloc(r->bytes, r->room, 1);
    }
    r->bytes[r->n++] = byte;
}

/** Seven bits a byte, the least significant first; the last has its eighth bit clear. */
static void put(dsgd_recorder *r, uint64_t number)
{
    for (; number >= 128; number >>= 7)
        put_byte(r, (uint8_t)(number | 128));
    put_byte(r, (uint8_t)number);
}

static void put_fixed(dsgd_recorder *r, uint64_t number, int n_bytes)
{
    for (int i = 0; i < n_bytes; i++)
        put_byte(r, (uint8_t)(number >> 8 * i));
}

static uint64_t bits_of(double number)
{
    uint64_t bits = 0;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

/** A number that comes again and again: its place, or all of it. */
static void put_number(dsgd_recorder *r, double number)
{
    const uint64_t bits = bits_of(number);
    uint64_t *const kept = &r->memory.numbers[record_slot(bits)];
    if (*kept == bits) {
        put(r, 1 + record_slot(bits));
        return;
    }
    *kept = bits;
    put(r, 0);
    put_fixed(r, bits, 8);
}

static void put_name(dsgd_recorder *r, size_t worker, size_t piece, uint64_t name)
{
    put(r, record_code_of(&r->memory, worker, piece, name));
}

static void put_operand(dsgd_recorder *r, size_t worker, size_t piece, dsgd_value value)
{
    const dsgd_operation *const o = value.operation;
    DSGD_ASSERT(o == NULL || o->names[value.index] > 0, "an operand that was never given out");
    put_name(r, worker, piece, o == NULL ? 0 : o->names[value.index]);
}

/* --- operations --------------------------------------------------------------------------------------------------------------------- */

static void write_block(dsgd_recorder *r)
{
    if (r->n == 0)
        return;
    record_write_block(r->stream, RECORD_WORK, r->bytes, r->n);
    if (ferror(r->stream) && r->trouble == 0)
        r->trouble = errno;
    r->n = 0;
}

static void begin(dsgd_recorder *r, unsigned kind)
{
    if (r->n >= RECORD_BLOCK_BYTES)
        write_block(r);
    r->n_operations++;
    put_byte(r, (uint8_t)kind);
}

/** The like, with who does it and when, in which piece. */
static void begin_at(dsgd_recorder *r, unsigned kind, dsgd_origin where, size_t piece)
{
    record_memory *const m = &r->memory;
    const bool same = where.worker == m->where.worker && where.step == m->where.step;
    begin(r, kind | (same ? RECORD_SAME_ORIGIN : 0));
    if (!same) {
        uint64_t *const step = &m->steps[where.worker % m->n_workers];
        put(r, record_zigzag((uint64_t)where.worker - m->where.worker));
        put(r, record_zigzag(where.step - *step));
        *step = where.step;
    }
    m->where = where;
    m->piece = piece;
    if (kind != RECORD_GRADIENT)
        put(r, piece);
}

/** Whether the operation gives a value that nobody has. */
static bool is_new(const dsgd_recorder *r, const dsgd_operation *made)
{
    for (uint32_t k = 0; r != NULL && made != NULL && k < made->n_outputs; k++)
        if (made->outside[k] == 0)
            return true;
    return false;
}

/** Names an output that nobody has. */
static void name(dsgd_recorder *r, dsgd_operation *made, uint32_t k)
{
    if (made->outside[k] == 0)
        made->names[k] =
            record_make(&r->memory, made->kind == OPERATION_GRADIENT ? k : r->memory.piece);
}

static void name_all(dsgd_recorder *r, dsgd_operation *made)
{
    for (uint32_t k = 0; k < made->n_outputs; k++)
        name(r, made, k);
}

void dsgd_record_constant(dsgd_recorder *r, size_t shape, const double *x, dsgd_operation *made)
{
    if (!is_new(r, made))
        return;
    begin_at(r, RECORD_CONSTANT, r->memory.where, shape);
    const bool state = shape == r->n_pieces;
    const size_t n = state ? r->network.n_state : r->piece_begin[shape + 1] - r->piece_begin[shape];
    if (state)
        dsgd_network_initial_state(&r->network, r->seed, r->n_states++, r->initial_state);
    const double *const initial = state ? r->initial_state : r->initial + r->piece_begin[shape];
    const bool usual = n == 0 || memcmp(x, initial, n * sizeof *x) == 0;
    put(r, usual ? 0 : 1);
    for (size_t i = 0; !usual && i < n; i++)
        put_fixed(r, bits_of(x[i]), 8);
    name_all(r, made);
}

void dsgd_record_gradient(dsgd_recorder *r, dsgd_origin where, uint32_t count, const dsgd_value *x,
                          dsgd_value state, dsgd_operation *made)
{
    if (r == NULL)
        return;
    begin_at(r, RECORD_GRADIENT, where, 0);
    put(r, r->batch - count);
    for (size_t k = 0; k < r->n_pieces; k++)
        put_operand(r, where.worker, k, x[k]);
    if (r->network.n_state > 0)
        put_operand(r, where.worker, r->n_pieces, state);
    name_all(r, made);
}

void dsgd_record_update(dsgd_recorder *r, dsgd_origin where, const dsgd_value *operands, double lr,
                        dsgd_operation *made)
{
    if (!is_new(r, made))
        return;
    begin_at(r, RECORD_UPDATE, where, made->shape);
    put_number(r, lr);
    if (r->adaptive)
        put(r, made->t);
    for (size_t i = 0; i < made->n_inputs; i++)
        put_operand(r, where.worker, made->shape, operands[i]);
    name_all(r, made);
}

void dsgd_record_combine(dsgd_recorder *r, dsgd_origin where, size_t piece,
                         const dsgd_combination *c, dsgd_value made)
{
    if (r == NULL || made.operation == NULL || made.operation->outside[made.index] > 0)
        return;
    begin_at(r, RECORD_COMBINE, where, piece);
    put(r, c->n);
    put_number(r, c->divisor);
    for (size_t i = 0; i < c->n; i++)
        put_number(r, c->weights[i]);
    for (size_t i = 0; i < c->n; i++) /* of everybody: each as its own worker would name it */
        put_operand(r, c->n == r->memory.n_workers ? i : where.worker, piece, c->x[i]);
    name(r, made.operation, made.index);
}

void dsgd_record_evaluate(dsgd_recorder *r, size_t n, const dsgd_value *x, const dsgd_value *states)
{
    if (r == NULL)
        return;
    begin(r, RECORD_EVALUATE);
    put(r, n);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < r->n_pieces; k++)
            put_operand(r, i, k, x[i * r->n_pieces + k]);
        if (r->network.n_state > 0)
            put_operand(r, i, r->n_pieces, states[i]);
    }
}

void dsgd_recorder_point(dsgd_recorder *r, double virtual_s, double steps)
{
    if (r == NULL)
        return;
    begin(r, RECORD_POINT);
    put_fixed(r, bits_of(virtual_s), 8);
    put_fixed(r, bits_of(steps), 8);
}

void dsgd_record_result(dsgd_recorder *r, size_t number, const dsgd_evaluation *result)
{
    if (r == NULL)
        return;
    begin(r, RECORD_RESULT);
    put(r, number);
    put_fixed(r, bits_of(result->loss), 8);
    put_fixed(r, bits_of(result->accuracy), 8);
    put_fixed(r, bits_of(result->consensus), 8);
}

void dsgd_record_flush(dsgd_recorder *r)
{
    if (r != NULL)
        begin(r, RECORD_FLUSH);
}

void dsgd_record_read(dsgd_recorder *r, size_t piece, dsgd_value value, const double *x, size_t n)
{
    if (r == NULL)
        return;
    begin_at(r, RECORD_READ, r->memory.where, piece);
    put_operand(r, r->memory.where.worker, piece, value);
    put_fixed(r, record_numbers_checksum(x, n), 4);
}

void dsgd_record_release(dsgd_recorder *r, dsgd_value value)
{
    if (r == NULL)
        return;
    const dsgd_operation *const o = value.operation;
    const size_t piece = o->kind == OPERATION_GRADIENT ? value.index : o->shape;
    begin(r, RECORD_RELEASE);
    put(r, piece);
    put_name(r, r->memory.where.worker, piece, o->names[value.index]);
}

/* --- the file ----------------------------------------------------------------------------------------------------------------------- */

static json_t *describe(const dsgd_record_config *config, const dsgd_recorder *r)
{
    const dsgd_values_config *const values = config->values;
    const dsgd_problem *const problem = &values->problem;
    const size_t n = problem->n_pieces + 1;
    double *const pieces = dsgd_xcalloc(n, sizeof *pieces);
    for (size_t k = 0; k < n; k++)
        pieces[k] = (double)problem->piece_begin[k];
    const record_problem described = {
        .model = config->model,
        .data = config->data,
        .precision = config->in_double,
        .seed = (long)values->stream.seed,
        .workers = values->stream.n_workers,
        .batch = values->stream.batch,
        .pieces = {n, pieces},
        .update = problem->update,
        .data_checksum = record_data_checksum(problem->data),
        .initial_checksum = record_initial_checksum(&r->network, r->seed, r->initial)};
    json_t *const json = dsgd_json_options(record_problem_options, &described);
    free(pieces);
    return json;
}

static void write_json(FILE *stream, const char *kind, json_t *json)
{
    char *const text = json_dumps(json, JSON_COMPACT);
    record_write_block(stream, kind, (const uint8_t *)text, strlen(text));
    free(text);
    json_decref(json);
}

static void write_front(const dsgd_record_config *config, const dsgd_recorder *r)
{
    json_t *const head = json_loads(config->about, 0, NULL);
    DSGD_ASSERT(head != NULL, "what is told about the run is no JSON: %s", config->about);
    json_object_set_new(head, "problem", describe(config, r));
    fwrite(RECORD_MAGIC, RECORD_MAGIC_BYTES, 1, r->stream);
    const uint8_t version[4] = {RECORD_VERSION};
    fwrite(version, sizeof version, 1, r->stream);
    write_json(r->stream, RECORD_HEAD, head);
}

static void free_recorder(dsgd_recorder *r)
{
    record_memory_close(&r->memory);
    free(r->path);
    free(r->beside);
    free(r->piece_begin);
    free(r->initial);
    free(r->initial_state);
    free(r->bytes);
    free(r);
}

dsgd_status dsgd_recorder_open(const dsgd_record_config *config, dsgd_recorder **recorder,
                               dsgd_error *error)
{
    const dsgd_problem *const problem = &config->values->problem;
    dsgd_recorder *const r = dsgd_xcalloc(1, sizeof *r);
    r->path = dsgd_xstrdup(config->path);
    r->beside = dsgd_xprintf("%s.part", config->path);
    r->batch = config->values->stream.batch;
    r->n_pieces = problem->n_pieces;
    r->network = *problem->network;
    r->seed = config->values->stream.seed;
    r->initial_state = dsgd_xcalloc(r->network.n_state, sizeof *r->initial_state);
    r->adaptive = problem->update.kind == DSGD_OPTIMIZER_ADAMW;
    record_memory_open(&r->memory, config->values->stream.n_workers, problem->n_pieces + 1);
    r->piece_begin = dsgd_xcalloc(problem->n_pieces + 1, sizeof *r->piece_begin);
    memcpy(r->piece_begin, problem->piece_begin, (problem->n_pieces + 1) * sizeof *r->piece_begin);
    r->initial = dsgd_xcalloc(problem->network->n_params, sizeof *r->initial);
    dsgd_network_initial(problem->network, config->values->stream.seed, r->initial);
    r->stream = fopen(r->beside, "wb");
    if (r->stream == NULL) {
        const dsgd_status status =
            dsgd_fail(error, DSGD_EIO, "%s: the record cannot be written: %m", r->beside);
        free_recorder(r);
        return status;
    }
    write_front(config, r);
    *recorder = r;
    return DSGD_OK;
}

dsgd_status dsgd_recorder_close(dsgd_recorder *r, bool keep, dsgd_error *error)
{
    if (r == NULL)
        return DSGD_OK;
    write_block(r);
    write_json(r->stream, RECORD_DONE,
               json_pack("{s:I, s:I}", "operations", (json_int_t)r->n_operations, "values",
                         (json_int_t)(r->memory.next - 1)));
    bool failed = ferror(r->stream) != 0;
    if (fclose(r->stream) != 0 && !failed) {
        failed = true;
        r->trouble = errno;
    }
    if (keep && !failed && rename(r->beside, r->path) != 0) {
        failed = true;
        r->trouble = errno;
    }
    dsgd_status status = DSGD_OK;
    if (failed && keep)
        status = dsgd_fail(error, DSGD_EIO, "%s: the record cannot be written: %s", r->path,
                           strerror(r->trouble));
    if (failed || !keep)
        unlink(r->beside);
    free_recorder(r);
    return status;
}
