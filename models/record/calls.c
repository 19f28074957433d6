/**
 * @file calls.c
 * Calls as bytes. Each function codes something in both directions: it is given what is to be
 * written, which is ignored where calls are read, and returns what was written or read.
 *
 * A checksum only proves that a block is unchanged, not that a recorder wrote it: every field that
 * is read is checked before it is used.
 */
#include "models/record/calls.h"

#include "models/record/format.h"

enum {
    KIND = 15, /* of the first byte */
    SAME_PLACE = 16, /* but for its piece */
    MOST_PLACES = 1 << 16
};

static bool reads(const record_calls *c)
{
    return c->values != NULL;
}

static uint64_t fail(record_calls *c, const char *wrong)
{
    if (c->wrong == NULL)
        c->wrong = wrong;
    return 0;
}

/* --- numbers ---------------------------------------------------------------------------------- */

static uint8_t code_byte(record_calls *c, uint8_t byte)
{
    if (reads(c))
        return c->at < c->n ? c->bytes[c->at++] : (uint8_t)fail(c, "it ends within an operation");
    if (c->n == c->room) {
        c->room = c->room == 0 ? 2 * RECORD_BLOCK_BYTES : 2 * c->room;
        c->bytes = dsgd_keep_more(c->bytes, c->room, 1);
    }
    return c->bytes[c->n++] = byte;
}

/** LEB128: seven bits a byte, the last byte without the eighth bit. */
static uint64_t code_integer(record_calls *c, uint64_t number)
{
    uint64_t got = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        const uint64_t left = number >> shift;
        const uint8_t byte = code_byte(c, (uint8_t)(left < 128 ? left : left | 128));
        got |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return got;
    }
    return fail(c, "a number has too many bytes");
}

/** One that has to be below @p limit. */
static size_t code_below(record_calls *c, uint64_t number, uint64_t limit, const char *wrong)
{
    number = code_integer(c, number);
    return !reads(c) || number < limit ? (size_t)number : (size_t)fail(c, wrong);
}

static uint64_t zigzag(uint64_t difference)
{
    return difference << 1 ^ -(difference >> 63);
}

/** A number near @p before. */
static uint64_t code_near(record_calls *c, uint64_t number, uint64_t before)
{
    const uint64_t code = code_integer(c, zigzag(number - before));
    return before + (code >> 1 ^ -(code & 1));
}

static uint64_t code_fixed(record_calls *c, uint64_t number, int n_bytes)
{
    uint64_t got = 0;
    for (int i = 0; i < n_bytes; i++)
        got |= (uint64_t)code_byte(c, (uint8_t)(number >> 8 * i)) << 8 * i;
    return got;
}

static uint64_t bits_of(double number)
{
    uint64_t bits = 0;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

static double number_of(uint64_t bits)
{
    double number = 0;
    memcpy(&number, &bits, sizeof number);
    return number;
}

static void code_double(record_calls *c, double *number)
{
    *number = number_of(code_fixed(c, bits_of(*number), 8));
}

static uint64_t *slot_of(record_calls *c, uint64_t bits)
{
    return &c->numbers[(bits * 0x9e3779b97f4a7c15u) >> 56];
}

/** Bits that recur: their slot, or all of them. */
static uint64_t code_word(record_calls *c, uint64_t bits)
{
    const uint64_t *const known = slot_of(c, reads(c) ? 0 : bits); /* a reader has no bits yet */
    const size_t slot =
        code_below(c, !reads(c) && *known == bits ? 1 + (uint64_t)(known - c->numbers) : 0,
                   RECORD_NUMBERS + 1, "a number is none that was seen");
    if (slot > 0)
        return c->numbers[slot - 1];
    bits = code_fixed(c, bits, 8);
    return *slot_of(c, bits) = bits;
}

static void code_number(record_calls *c, double *number)
{
    *number = number_of(code_word(c, bits_of(*number)));
}

/* --- values ----------------------------------------------------------------------------------- */

static uint64_t *recent(const record_calls *c, size_t worker, size_t piece)
{
    return c->recent[(worker * c->n_parts + piece) % c->n_places];
}

uint64_t record_make(record_calls *c, size_t piece)
{
    uint64_t *const names = recent(c, c->where.worker, piece);
    memmove(names + 1, names, (RECORD_RECENT - 1) * sizeof *names);
    return names[0] = c->next++;
}

/** A name that @p worker uses in a piece. */
static uint64_t code_name(record_calls *c, size_t worker, size_t piece, uint64_t name)
{
    const uint64_t *const names = recent(c, worker, piece);
    uint64_t code = name == 0 ? 0 : 1 + RECORD_RECENT + zigzag(name - c->operand);
    for (uint64_t i = RECORD_RECENT; name != 0 && i-- > 0;)
        if (names[i] == name)
            code = 1 + i;
    code = code_integer(c, code);
    if (code == 0)
        return 0;
    const uint64_t far = code - 1 - RECORD_RECENT;
    return c->operand =
               code <= RECORD_RECENT ? names[code - 1] : c->operand + (far >> 1 ^ -(far & 1));
}

static dsgd_value *find(const record_calls *c, uint64_t name)
{
    const uint64_t p = name / RECORD_PAGE;
    dsgd_value *const value =
        p < c->n_pages && c->pages[p] != NULL ? &c->pages[p]->values[name % RECORD_PAGE] : NULL;
    return value == NULL || value->node == NULL ? NULL : value;
}

static void keep(record_calls *c, uint64_t name, dsgd_value value)
{
    const size_t p = (size_t)(name / RECORD_PAGE);
    if (p >= c->n_pages) {
        c->pages = dsgd_keep_more(c->pages, p + 1, sizeof *c->pages);
        c->n_pages = p + 1;
    }
    if (c->pages[p] == NULL)
        c->pages[p] = dsgd_xcalloc(1, sizeof *c->pages[p]);
    c->pages[p]->n++;
    c->pages[p]->values[name % RECORD_PAGE] = value;
}

static void forget(record_calls *c, uint64_t name)
{
    const size_t p = (size_t)(name / RECORD_PAGE);
    *find(c, name) = DSGD_ZERO_VALUE;
    if (--c->pages[p]->n > 0)
        return;
    free(c->pages[p]);
    c->pages[p] = NULL;
}

void record_adopt(record_calls *c, dsgd_values *values, dsgd_value made)
{
    if (dsgd_value_external_refs(made) > 1)
        dsgd_value_release(values, made);
    else
        keep(c, record_make(c, dsgd_value_piece(made)), made);
}

/** A value that @p worker uses in a piece; it has to have this shape. */
static void code_value(record_calls *c, size_t worker, size_t piece, size_t shape,
                       dsgd_value *value)
{
    const uint64_t name =
        code_name(c, worker, piece, reads(c) || value->node == NULL ? 0 : *dsgd_value_name(*value));
    if (!reads(c)) {
        DSGD_ASSERT(value->node == NULL || name > 0, "an operand that was never returned");
        return;
    }
    const dsgd_value *const found = name == 0 || c->wrong != NULL ? NULL : find(c, name);
    *value = found == NULL ? DSGD_ZERO_VALUE : *found;
    if (name != 0 && found == NULL)
        fail(c, "an operand is not there");
    else if (found != NULL && dsgd_value_shape(c->values, *found) != shape)
        fail(c, "an operand is of another piece");
}

/* --- calls ------------------------------------------------------------------------------------ */

/** The call's arrays in memory of the calls: a writer's as given, a reader's to be filled. */
static void own(record_calls *c, dsgd_call *call, size_t n_x, size_t n_elements)
{
    c->x = dsgd_keep_more(c->x, n_x, sizeof *c->x);
    c->states = dsgd_keep_more(c->states, n_x, sizeof *c->states);
    c->elements = dsgd_keep_more(c->elements, n_elements, sizeof *c->elements);
    if (!reads(c) && n_x > 0)
        memcpy(c->x, call->x, n_x * sizeof *c->x);
    if (!reads(c) && n_elements > 0)
        memcpy(c->elements, call->elements, n_elements * sizeof *c->elements);
    call->x = c->x;
    call->elements = c->elements;
}

/** All pieces of model i, of a worker or server. */
static void code_pieces(record_calls *c, size_t i, size_t host)
{
    const size_t n = c->problem.n_pieces;
    for (size_t k = 0; k < n; k++)
        code_value(c, host, k, k, &c->x[i * n + k]);
}

/** Those of a worker's model, and its state where the network has one. */
static void code_model(record_calls *c, const dsgd_call *call, size_t i, size_t worker)
{
    const size_t n = c->problem.n_pieces;
    const bool state = c->problem.network->n_state > 0;
    code_pieces(c, i, worker);
    c->states[i] = state && !reads(c) ? call->states[i] : DSGD_ZERO_VALUE;
    if (state)
        code_value(c, worker, n, n, &c->states[i]);
}

static void code_constant(record_calls *c, dsgd_call *call)
{
    const dsgd_network *const network = c->problem.network;
    const size_t *const begin = c->problem.piece_begin;
    const size_t k = call->piece;
    const bool state = k == c->problem.n_pieces;
    if (state && network->n_state == 0) {
        fail(c, "there is no model state");
        return;
    }
    const size_t n = state ? network->n_state : begin[k + 1] - begin[k];
    double *const initial = c->initial + (state ? network->n_params : begin[k]);
    if (state)
        dsgd_network_initial_state(network, c->samples.seed, c->n_states++, initial);
    own(c, call, 0, n);
    const bool usual =
        !reads(c) && (n == 0 || memcmp(call->elements, initial, n * sizeof *initial) == 0);
    const bool given = code_below(c, usual ? 0 : 1, 2, "a vector is of no known form") != 0;
    for (size_t i = 0; given && i < n; i++)
        code_double(c, &c->elements[i]);
    if (!given)
        call->elements = initial;
}

static void code_gradient(record_calls *c, dsgd_call *call)
{
    const uint32_t batch = c->samples.batch;
    call->count = batch - (uint32_t)code_below(c, batch - call->count, batch,
                                               "a mini-batch has more samples, or none");
    own(c, call, c->problem.n_pieces, 0);
    code_model(c, call, 0, call->where.worker);
    call->states = c->states;
}

static void code_update(record_calls *c, dsgd_call *call)
{
    const size_t n_pieces = c->problem.n_pieces;
    code_number(c, &call->rate.lr);
    if (c->problem.update.kind == DSGD_OPTIMIZER_ADAMW)
        call->rate.t = code_integer(c, call->rate.t);
    if (call->piece == n_pieces) {
        fail(c, "a model state is updated");
        return;
    }
    call->n = dsgd_optimizer_states(&c->problem.update) > 0 ? 3 : 2;
    own(c, call, call->n, 0);
    for (size_t i = 0; i < call->n; i++)
        code_value(c, call->where.worker, call->piece,
                   i < 2 ? call->piece : n_pieces + 1 + call->piece, &c->x[i]);
}

/** Bytes that are left; of a writer any number. */
static size_t left(const record_calls *c)
{
    return c->n - c->at;
}

static void code_combine(record_calls *c, dsgd_call *call)
{
    call->n = code_below(c, call->n, left(c), "there are more operands than bytes");
    code_number(c, &call->divisor);
    own(c, call, call->n, call->n);
    const bool all_workers = call->n == c->samples.n_workers;
    for (size_t i = 0; i < call->n; i++)
        code_number(c, &c->elements[i]);
    for (size_t i = 0; i < call->n; i++)
        code_value(c, all_workers ? i : call->where.worker, call->piece, call->piece, &c->x[i]);
}

static void code_encode(record_calls *c, dsgd_call *call)
{
    if (!reads(c))
        c->codec = *call->codec;
    for (size_t i = 0; i < DSGD_CODEC_WORDS; i++)
        c->words[i] = code_word(c, c->words[i]);
    if (reads(c) && (call->piece == c->problem.n_pieces ||
                     !dsgd_codec_fits(&c->codec, dsgd_shape_size(c->values, call->piece)))) {
        fail(c, "an encoding does not fit its piece");
        return;
    }
    call->codec = &c->codec;
    call->n = dsgd_codec_inputs(&c->codec);
    own(c, call, call->n, 0);
    for (size_t i = 0; i < call->n; i++)
        code_value(c, call->where.worker, call->piece, call->piece, &c->x[i]);
}

static void code_evaluate(record_calls *c, dsgd_call *call)
{
    const size_t n_pieces = c->problem.n_pieces;
    const size_t most = left(c) / n_pieces + 1;
    call->n = code_below(c, call->n, most, "there are more models than bytes");
    if (call->kind == DSGD_CALL_EVALUATE_OUTPUT)
        call->count = (uint32_t)code_below(c, call->count, most < UINT32_MAX ? most : UINT32_MAX,
                                           "more models are evaluated than there are bytes");
    own(c, call, (call->n + call->count) * n_pieces, 0);
    for (size_t i = 0; i < call->n; i++)
        code_model(c, call, i, i);
    for (size_t i = call->n; i < call->n + call->count; i++)
        code_pieces(c, i, c->samples.n_workers + i - call->n);
    call->states = c->states;
    if (call->n == 0)
        fail(c, "nothing is evaluated");
    c->n_evaluations++;
}

static void code_point(record_calls *c, dsgd_call *call)
{
    own(c, call, 0, 2);
    code_double(c, &c->elements[0]);
    code_double(c, &c->elements[1]);
    if (c->n_evaluations == 0)
        fail(c, "a point of the curve has no evaluation");
}

static void code_result(record_calls *c, dsgd_call *call)
{
    if (!reads(c))
        c->result = *call->result;
    call->n = code_below(c, call->n, c->n_evaluations, "a result has no evaluation");
    code_double(c, &c->result.loss);
    code_double(c, &c->result.accuracy);
    code_double(c, &c->result.consensus);
    call->result = &c->result;
}

static void code_read(record_calls *c, dsgd_call *call)
{
    if (call->piece == c->problem.n_pieces)
        fail(c, "a model state is read");
    const uint32_t sum = reads(c) ? 0 : record_numbers_checksum(call->elements, call->n);
    own(c, call, 1, 0);
    code_value(c, call->where.worker, call->piece, call->piece, c->x);
    c->checksum = (uint32_t)code_fixed(c, sum, 4);
}

static void code_release(record_calls *c, dsgd_call *call)
{
    own(c, call, 1, 0);
    const size_t piece = reads(c) ? 0 : dsgd_value_piece(*c->x);
    call->piece = code_below(c, piece, c->n_parts, "there is no such piece");
    const uint64_t name =
        code_name(c, c->where.worker, call->piece, reads(c) ? 0 : *dsgd_value_name(*c->x));
    if (!reads(c))
        return;
    const dsgd_value *const found = name == 0 ? NULL : find(c, name);
    if (found == NULL || c->wrong != NULL) {
        fail(c, "what is given back is not there");
        return;
    }
    c->x[0] = *found;
    forget(c, name);
}

/** The worker and step of a call, and its piece. */
static void code_place(record_calls *c, dsgd_call *call, bool same)
{
    if (!same) {
        const uint64_t worker = code_near(c, call->where.worker, c->where.worker);
        if (worker >= c->n_hosts) {
            fail(c, "there is no such worker");
            return;
        }
        c->steps[worker] = code_near(c, call->where.step, c->steps[worker]);
        c->where = (dsgd_origin){(uint32_t)worker, c->steps[worker]};
    }
    call->where = c->where;
    if (call->kind != DSGD_CALL_GRADIENT)
        call->piece = code_below(c, call->piece, c->n_parts, "there is no such piece");
    else if (c->where.worker >= c->samples.n_workers)
        fail(c, "a server has no samples");
}

typedef struct operation {
    void (*code)(record_calls *c, dsgd_call *call); /* its fields */
    bool placed;
    bool here; /* at the previous place: the store does not say where */
} operation;

static const operation operations[KIND + 1] = {
    [DSGD_CALL_CONSTANT] = {code_constant, true, .here = true},
    [DSGD_CALL_GRADIENT] = {code_gradient, true},
    [DSGD_CALL_UPDATE] = {code_update, true},
    [DSGD_CALL_COMBINE] = {code_combine, true},
    [DSGD_CALL_EVALUATE] = {code_evaluate},
    [DSGD_CALL_EVALUATE_OUTPUT] = {code_evaluate},
    [DSGD_CALL_POINT] = {code_point},
    [DSGD_CALL_RESULT] = {code_result},
    [DSGD_CALL_READ] = {code_read, true, .here = true},
    [DSGD_CALL_RELEASE] = {code_release},
    [DSGD_CALL_ENCODE] = {code_encode, true}};

void record_call(record_calls *c, dsgd_call *call)
{
    if (operations[call->kind].here)
        call->where = c->where;
    const bool same = operations[call->kind].placed && call->where.worker == c->where.worker &&
                      call->where.step == c->where.step;
    const unsigned first = code_byte(c, (uint8_t)(call->kind | (same ? SAME_PLACE : 0)));
    call->kind = first & KIND;
    if (operations[call->kind].placed)
        code_place(c, call, (first & SAME_PLACE) != 0);
    if (operations[call->kind].code == NULL && call->kind != DSGD_CALL_FLUSH)
        fail(c, "an operation is unknown");
    else if (c->wrong == NULL && call->kind != DSGD_CALL_FLUSH)
        operations[call->kind].code(c, call);
}

void record_calls_open(record_calls *c, const dsgd_problem *problem, const dsgd_stream *samples,
                       size_t n_servers, const dsgd_values *values)
{
    const size_t n_parts = problem->n_pieces + 1;
    const size_t n_places = samples->n_workers * n_parts;
    *c = (record_calls){.values = values,
                        .problem = *problem,
                        .samples = *samples,
                        .initial = dsgd_keep(problem->network->n_params + problem->network->n_state,
                                             sizeof *c->initial),
                        .n_parts = n_parts,
                        .n_places = n_places < MOST_PLACES ? n_places : MOST_PLACES,
                        .n_hosts = samples->n_workers + n_servers,
                        .next = 1};
    c->recent = dsgd_keep(c->n_places, sizeof *c->recent);
    c->steps = dsgd_keep(c->n_hosts, sizeof *c->steps);
    dsgd_network_initial(problem->network, samples->seed, c->initial);
}

void record_calls_close(record_calls *c, dsgd_values *values)
{
    for (size_t p = 0; p < c->n_pages; p++) {
        for (size_t i = 0; c->pages[p] != NULL && i < RECORD_PAGE; i++)
            dsgd_value_release(values, c->pages[p]->values[i]); /* a handle of the run's end */
        free(c->pages[p]);
    }
}
