/**
 * @file record.c
 * The recorder: writes the calls to a store, but nothing that a replay computes itself.
 */
#include "models/record/record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "models/record/format.h"
#include "models/values/recorder.h"

typedef struct writer {
    dsgd_recorder base;
    char *path, *beside;
    FILE *stream;
    int trouble; /* errno of the first failure to write; 0: none */
    record_memory memory;
    dsgd_problem problem;
    dsgd_stream samples;
    uint32_t n_states; /* model states so far; number k is worker k's initial one, or written */
    double *initial_state; /* room for one model state */
    double *initial; /* the initial model, which is not written */
    uint8_t *bytes; /* of the current block */
    size_t n, room;
    uint64_t n_operations;
} writer;

/* --- bytes ------------------------------------------------------------------------------------ */

static void put_byte(writer *r, uint8_t byte)
{
    if (r->n == r->room) {
        r->room = r->room == 0 ? 2 * RECORD_BLOCK_BYTES : 2 * r->room;
        r->bytes = dsgd_xrealloc(r->bytes, r->room, 1);
    }
    r->bytes[r->n++] = byte;
}

/** LEB128: seven bits a byte, the last byte without the eighth bit. */
static void put(writer *r, uint64_t number)
{
    for (; number >= 128; number >>= 7)
        put_byte(r, (uint8_t)(number | 128));
    put_byte(r, (uint8_t)number);
}

static void put_fixed(writer *r, uint64_t number, int n_bytes)
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

static void put_double(writer *r, double number)
{
    put_fixed(r, bits_of(number), 8);
}

/** Bits that recur: their slot, or all of them. */
static void put_word(writer *r, uint64_t bits)
{
    uint64_t *const slot = &r->memory.numbers[record_slot(bits)];
    if (*slot == bits) {
        put(r, 1 + record_slot(bits));
        return;
    }
    *slot = bits;
    put(r, 0);
    put_fixed(r, bits, 8);
}

static void put_number(writer *r, double number)
{
    put_word(r, bits_of(number));
}

static void put_operand(writer *r, size_t worker, size_t piece, dsgd_value value)
{
    const uint64_t name = value.node == NULL ? 0 : *dsgd_value_name(value);
    DSGD_ASSERT(value.node == NULL || name > 0, "an operand that was never returned");
    put(r, record_code_of(&r->memory, worker, piece, name));
}

/** All pieces of a worker's model, and its state where the network has one. */
static void put_model(writer *r, size_t worker, const dsgd_value *x, const dsgd_value *state)
{
    for (size_t k = 0; k < r->problem.n_pieces; k++)
        put_operand(r, worker, k, x[k]);
    if (r->problem.network->n_state > 0)
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): set where networks have a state */
        put_operand(r, worker, r->problem.n_pieces, *state);
}

/* --- operations ------------------------------------------------------------------------------- */

static void note_failure(writer *r, int failed)
{
    if (failed != 0 && r->trouble == 0)
        r->trouble = errno;
}

static void write_block(writer *r)
{
    if (r->n == 0)
        return;
    record_write_block(r->stream, RECORD_WORK, r->bytes, r->n);
    note_failure(r, ferror(r->stream));
    r->n = 0;
}

static void begin(writer *r, unsigned kind)
{
    if (r->n >= RECORD_BLOCK_BYTES)
        write_block(r);
    r->n_operations++;
    put_byte(r, (uint8_t)kind);
}

/** Writes an origin, unless it is that of the previous operation, and a piece. */
static void begin_at(writer *r, unsigned kind, dsgd_origin where, size_t piece)
{
    record_memory *const m = &r->memory;
    const bool same = where.worker == m->where.worker && where.step == m->where.step;
    begin(r, kind | (same ? RECORD_SAME_ORIGIN : 0));
    if (!same) {
        uint64_t *const step = &m->steps[where.worker];
        put(r, record_zigzag((uint64_t)where.worker - m->where.worker));
        put(r, record_zigzag(where.step - *step));
        *step = where.step;
    }
    m->where = where;
    m->piece = piece;
    if (kind != RECORD_GRADIENT)
        put(r, piece);
}

/** Whether the call makes a value that the caller does not have. */
static bool is_new(const dsgd_call *call)
{
    for (uint32_t k = 0; k < call->n_made; k++)
        if (dsgd_value_external_refs((dsgd_value){call->made.node, call->made.index + k}) == 0)
            return true;
    return false;
}

/** Names the values that the caller does not have. */
static void name_made(writer *r, const dsgd_call *call)
{
    for (uint32_t k = 0; k < call->n_made; k++) {
        const dsgd_value made = {call->made.node, call->made.index + k};
        if (dsgd_value_external_refs(made) == 0)
            *dsgd_value_name(made) = record_make(&r->memory, dsgd_value_piece(made));
    }
}

static void write_constant(writer *r, const dsgd_call *call)
{
    const size_t piece = call->piece;
    const bool state = piece == r->problem.n_pieces;
    const size_t *const first = r->problem.piece_begin;
    const size_t n = state ? r->problem.network->n_state : first[piece + 1] - first[piece];
    if (state)
        dsgd_network_initial_state(r->problem.network, r->samples.seed, r->n_states++,
                                   r->initial_state);
    const double *const initial = state ? r->initial_state : r->initial + first[piece];
    const bool usual = n == 0 || memcmp(call->elements, initial, n * sizeof *initial) == 0;
    put(r, usual ? 0 : 1);
    for (size_t i = 0; !usual && i < n; i++)
        put_double(r, call->elements[i]);
}

static void write_gradient(writer *r, const dsgd_call *call)
{
    put(r, r->samples.batch - call->count);
    put_model(r, call->where.worker, call->x, call->states);
}

static void write_update(writer *r, const dsgd_call *call)
{
    put_number(r, call->rate.lr);
    if (r->problem.update.kind == DSGD_OPTIMIZER_ADAMW)
        put(r, call->rate.t);
    for (size_t i = 0; i < call->n; i++)
        put_operand(r, call->where.worker, call->piece, call->x[i]);
}

static void write_combine(writer *r, const dsgd_call *call)
{
    const bool all_workers = call->n == r->memory.n_workers;
    put(r, call->n);
    put_number(r, call->divisor);
    for (size_t i = 0; i < call->n; i++)
        put_number(r, call->elements[i]);
    for (size_t i = 0; i < call->n; i++)
        put_operand(r, all_workers ? i : call->where.worker, call->piece, call->x[i]);
}

static void write_encode(writer *r, const dsgd_call *call)
{
    uint64_t words[DSGD_CODEC_WORDS];
    memcpy(words, call->codec, sizeof words);
    for (size_t i = 0; i < DSGD_CODEC_WORDS; i++)
        put_word(r, words[i]);
    for (size_t i = 0; i < call->n; i++)
        put_operand(r, call->where.worker, call->piece, call->x[i]);
}

static void write_evaluate(writer *r, const dsgd_call *call)
{
    put(r, call->n);
    for (size_t i = 0; i < call->n; i++)
        put_model(r, i, call->x + i * r->problem.n_pieces,
                  call->states == NULL ? NULL : call->states + i);
}

static void write_result(writer *r, const dsgd_call *call)
{
    put(r, call->n);
    put_double(r, call->result->loss);
    put_double(r, call->result->accuracy);
    put_double(r, call->result->consensus);
}

static void write_read(writer *r, const dsgd_call *call)
{
    put_operand(r, r->memory.where.worker, call->piece, *call->x);
    put_fixed(r, record_numbers_checksum(call->elements, call->n), 4);
}

static void write_release(writer *r, const dsgd_call *call)
{
    const size_t piece = dsgd_value_piece(*call->x);
    put(r, piece);
    put_operand(r, r->memory.where.worker, piece, *call->x);
}

typedef struct operation {
    unsigned kind;
    void (*write)(writer *r, const dsgd_call *call); /* its fields; NULL: none */
    bool here; /* has the origin of the previous operation, and a piece */
    bool elsewhere; /* has its own origin, and a piece */
    bool optional; /* omitted where it makes no new value */
} operation;

static const operation operations[] = {
    [DSGD_CALL_CONSTANT] = {RECORD_CONSTANT, write_constant, .here = true, .optional = true},
    [DSGD_CALL_GRADIENT] = {RECORD_GRADIENT, write_gradient, .elsewhere = true},
    [DSGD_CALL_UPDATE] = {RECORD_UPDATE, write_update, .elsewhere = true, .optional = true},
    [DSGD_CALL_COMBINE] = {RECORD_COMBINE, write_combine, .elsewhere = true, .optional = true},
    [DSGD_CALL_ENCODE] = {RECORD_ENCODE, write_encode, .elsewhere = true, .optional = true},
    [DSGD_CALL_EVALUATE] = {RECORD_EVALUATE, write_evaluate},
    [DSGD_CALL_RESULT] = {RECORD_RESULT, write_result},
    [DSGD_CALL_READ] = {RECORD_READ, write_read, .here = true},
    [DSGD_CALL_FLUSH] = {RECORD_FLUSH},
    [DSGD_CALL_RELEASE] = {RECORD_RELEASE, write_release}};

static void write_call(dsgd_recorder *recorder, const dsgd_call *call)
{
    const operation *const o = &operations[call->kind];
    writer *const r = (writer *)recorder;
    if (o->optional && !is_new(call))
        return;
    if (o->here || o->elsewhere)
        begin_at(r, o->kind, o->here ? r->memory.where : call->where, call->piece);
    else
        begin(r, o->kind);
    if (o->write != NULL)
        o->write(r, call);
    name_made(r, call);
}

void dsgd_recorder_point(dsgd_recorder *recorder, double virtual_s, double steps)
{
    if (recorder == NULL)
        return;
    writer *const r = (writer *)recorder;
    begin(r, RECORD_POINT);
    put_double(r, virtual_s);
    put_double(r, steps);
}

/* --- the file --------------------------------------------------------------------------------- */

static json_t *describe(const dsgd_record_config *config, const writer *r)
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
        .split =
            config->split.about == NULL ? (dsgd_pick){dsgd_split_kinds[0], NULL} : config->split,
        .split_checksum = dsgd_split_checksum(values->stream.split),
        .precision = config->in_double,
        .seed = (long)values->stream.seed,
        .workers = values->stream.n_workers,
        .servers = config->n_servers,
        .batch = values->stream.batch,
        .pieces = {n, pieces},
        .update = problem->update,
        .data_checksum = record_data_checksum(problem->data),
        .initial_checksum = record_initial_checksum(problem->network, r->samples.seed, r->initial)};
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

static void write_front(const dsgd_record_config *config, const writer *r)
{
    json_t *const head = json_loads(config->about, 0, NULL);
    DSGD_ASSERT(head != NULL, "config->about is no JSON: %s", config->about);
    json_object_set_new(head, "problem", describe(config, r));
    fwrite(RECORD_MAGIC, RECORD_MAGIC_BYTES, 1, r->stream);
    const uint8_t version[4] = {RECORD_VERSION};
    fwrite(version, sizeof version, 1, r->stream);
    write_json(r->stream, RECORD_HEAD, head);
}

static void free_writer(writer *r)
{
    record_memory_close(&r->memory);
    free(r->path);
    free(r->beside);
    free(r->initial);
    free(r->initial_state);
    free(r->bytes);
    free(r);
}

dsgd_status dsgd_recorder_open(const dsgd_record_config *config, dsgd_recorder **recorder,
                               dsgd_error *error)
{
    const dsgd_problem *const problem = &config->values->problem;
    writer *const r = dsgd_xcalloc(1, sizeof *r);
    r->base.call = write_call;
    r->path = dsgd_xstrdup(config->path);
    r->beside = dsgd_xprintf("%s.part", config->path);
    r->problem = *problem;
    r->samples = config->values->stream;
    r->initial_state = dsgd_xcalloc(problem->network->n_state, sizeof *r->initial_state);
    record_memory_open(&r->memory, r->samples.n_workers, (size_t)config->n_servers,
                       problem->n_pieces + 1);
    r->initial = dsgd_xcalloc(problem->network->n_params, sizeof *r->initial);
    dsgd_network_initial(problem->network, r->samples.seed, r->initial);
    r->stream = fopen(r->beside, "wb");
    if (r->stream == NULL) {
        const dsgd_status status =
            dsgd_fail(error, DSGD_EIO, "%s: the record cannot be written: %m", r->beside);
        free_writer(r);
        return status;
    }
    write_front(config, r);
    *recorder = &r->base;
    return DSGD_OK;
}

dsgd_status dsgd_recorder_close(dsgd_recorder *recorder, bool keep, dsgd_error *error)
{
    if (recorder == NULL)
        return DSGD_OK;
    writer *const r = (writer *)recorder;
    write_block(r);
    write_json(r->stream, RECORD_DONE,
               json_pack("{s:I, s:I}", "operations", (json_int_t)r->n_operations, "values",
                         (json_int_t)(r->memory.next - 1)));
    note_failure(r, ferror(r->stream));
    note_failure(r, fclose(r->stream));
    if (keep && r->trouble == 0)
        note_failure(r, rename(r->beside, r->path));
    dsgd_status status = DSGD_OK;
    if (keep && r->trouble != 0)
        status = dsgd_fail(error, DSGD_EIO, "%s: the record cannot be written: %s", r->path,
                           strerror(r->trouble));
    if (!keep || r->trouble != 0)
        unlink(r->beside);
    free_writer(r);
    return status;
}
