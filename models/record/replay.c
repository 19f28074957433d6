/**
 * @file replay.c
 * Reads a record and makes its calls to a store of its own.
 *
 * A checksum only proves that a block is unchanged, not that a recorder wrote it: every field is
 * checked before it is used.
 */
#include "models/record/replay.h"

#include <stdlib.h>
#include <string.h>

#include "base/program.h"
#include "models/record/format.h"
#include "models/values/recorder.h"

enum { PAGE_NAMES = 512, MOST_PIECES = 1 << 16 };

/** Values by name. A page is freed with the last of its values. */
typedef struct page {
    uint32_t n;
    dsgd_value values[PAGE_NAMES];
} page;

typedef struct replay {
    const dsgd_replay_config *config;
    dsgd_replay_result *result;
    record_file file;
    json_t *head;
    dsgd_memory parameters;
    record_problem problem;
    dsgd_data *data;
    dsgd_split *split;
    dsgd_network network;
    size_t n_pieces;
    size_t *piece_begin;
    double *initial;
    uint32_t n_states; /* model states so far */
    dsgd_values *values;

    record_memory memory;
    page **pages;
    size_t n_pages;
    size_t n_evaluations;
    size_t *tickets; /* of the points */
    const uint8_t *at, *end; /* of the block */
    const char *wrong; /* the first error in an operation, or NULL */
} replay;

/* --- bytes ------------------------------------------------------------------------------------ */

static uint64_t fail(replay *r, const char *wrong)
{
    if (r->wrong == NULL)
        r->wrong = wrong;
    return 0;
}

static size_t left(const replay *r)
{
    return (size_t)(r->end - r->at);
}

static uint8_t get_byte(replay *r)
{
    return r->at < r->end ? *r->at++ : (uint8_t)fail(r, "it ends within an operation");
}

static uint64_t get(replay *r)
{
    uint64_t number = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        const uint8_t byte = get_byte(r);
        number |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return number;
    }
    return fail(r, "a number has too many bytes");
}

/** Like get(), below @p limit. */
static size_t get_below(replay *r, uint64_t limit, const char *wrong)
{
    const uint64_t number = get(r);
    return number < limit ? (size_t)number : (size_t)fail(r, wrong);
}

static uint64_t get_fixed(replay *r, int n_bytes)
{
    uint64_t number = 0;
    for (int i = 0; i < n_bytes; i++)
        number |= (uint64_t)get_byte(r) << 8 * i;
    return number;
}

static double number_of(uint64_t bits)
{
    double number = 0;
    memcpy(&number, &bits, sizeof number);
    return number;
}

static double get_double(replay *r)
{
    return number_of(get_fixed(r, 8));
}

static uint64_t get_word(replay *r)
{
    const size_t code = get_below(r, RECORD_NUMBERS + 1, "a number is none that was seen");
    if (code > 0)
        return r->memory.numbers[code - 1];
    const uint64_t bits = get_fixed(r, 8);
    r->memory.numbers[record_slot(bits)] = bits;
    return bits;
}

static double get_number(replay *r)
{
    return number_of(get_word(r));
}

/* --- names ------------------------------------------------------------------------------------ */

static dsgd_value *find(const replay *r, uint64_t name)
{
    const uint64_t p = name / PAGE_NAMES;
    return p < r->n_pages && r->pages[p] != NULL ? &r->pages[p]->values[name % PAGE_NAMES] : NULL;
}

static void keep(replay *r, uint64_t name, dsgd_value value)
{
    const size_t p = name / PAGE_NAMES;
    if (p >= r->n_pages) {
        r->pages = dsgd_xrealloc(r->pages, p + 1, sizeof(page *));
        for (; r->n_pages <= p; r->n_pages++)
            r->pages[r->n_pages] = NULL;
    }
    if (r->pages[p] == NULL)
        r->pages[p] = dsgd_xcalloc(1, sizeof(page));
    r->pages[p]->n++;
    r->pages[p]->values[name % PAGE_NAMES] = value;
}

static void forget(replay *r, uint64_t name)
{
    const size_t p = name / PAGE_NAMES;
    *find(r, name) = DSGD_ZERO_VALUE;
    if (--r->pages[p]->n > 0)
        return;
    free(r->pages[p]);
    r->pages[p] = NULL;
}

/** Names a value that a call returned, unless it has a name: one handle is stored for each name. */
static void adopt(replay *r, dsgd_value made)
{
    if (made.node == NULL)
        fail(r, "an operation gives nothing");
    else if (dsgd_value_external_refs(made) > 1)
        dsgd_value_release(r->values, made);
    else
        keep(r, record_make(&r->memory, dsgd_value_piece(made)), made);
}

/** A value named by @p worker in @p piece, which must have this shape. */
static dsgd_value get_operand(replay *r, size_t worker, size_t piece, size_t shape)
{
    const uint64_t name = record_name_of(&r->memory, worker, piece, get(r));
    if (name == 0 || r->wrong != NULL)
        return DSGD_ZERO_VALUE;
    const dsgd_value *const value = find(r, name);
    if (value == NULL || value->node == NULL) {
        fail(r, "an operand is not there");
        return DSGD_ZERO_VALUE;
    }
    if (dsgd_value_shape(r->values, *value) != shape)
        fail(r, "an operand is of another piece");
    return *value;
}

static dsgd_value get_state(replay *r, size_t worker)
{
    const size_t n = r->n_pieces;
    return r->network.n_state > 0 ? get_operand(r, worker, n, n) : DSGD_ZERO_VALUE;
}

/* --- operations ------------------------------------------------------------------------------- */

static void get_origin(replay *r, unsigned first_byte)
{
    record_memory *const m = &r->memory;
    const unsigned kind = first_byte & RECORD_KIND;
    if ((first_byte & RECORD_SAME_ORIGIN) == 0) {
        const uint64_t worker = m->where.worker + record_unzigzag(get(r));
        if (worker >= m->n_hosts) {
            fail(r, "there is no such worker");
            return;
        }
        uint64_t *const step = &m->steps[worker];
        *step += record_unzigzag(get(r));
        m->where = (dsgd_origin){(uint32_t)worker, *step};
    }
    if (kind == RECORD_GRADIENT && m->where.worker >= m->n_workers)
        fail(r, "a server has no samples");
    m->piece = kind == RECORD_GRADIENT ? 0 : get_below(r, m->n_pieces, "there is no such piece");
}

static void replay_constant(replay *r)
{
    const size_t piece = r->memory.piece;
    const bool state = piece == r->n_pieces;
    if (state && r->network.n_state == 0) {
        fail(r, "there is no model state");
        return;
    }
    const size_t first = state ? 0 : r->piece_begin[piece];
    const size_t n = dsgd_shape_size(r->values, piece);
    double *const x = dsgd_xcalloc(first + n, sizeof *x);
    const bool usual = get_below(r, 2, "a vector is of no known form") == 0;
    if (usual && state)
        dsgd_network_initial_state(&r->network, (uint64_t)r->problem.seed, r->n_states, x);
    else if (usual)
        memcpy(x + first, r->initial + first, n * sizeof *x);
    for (size_t i = 0; !usual && i < n; i++)
        x[first + i] = get_double(r);
    r->n_states += state;
    adopt(r, state ? dsgd_values_state(r->values, x) : dsgd_values_constant(r->values, piece, x));
    free(x);
}

static void replay_gradient(replay *r)
{
    const size_t n = r->n_pieces;
    const size_t batch = (size_t)r->problem.batch;
    const size_t worker = r->memory.where.worker;
    const size_t missing = get_below(r, batch, "a mini-batch has more samples, or none");
    dsgd_value *const x = dsgd_xcalloc(2 * n, sizeof *x);
    for (size_t k = 0; k < n; k++)
        x[k] = get_operand(r, worker, k, k);
    dsgd_value state = get_state(r, worker);
    if (r->wrong == NULL) {
        dsgd_value *const g = x + n;
        dsgd_value_retain(state); /* the call releases it */
        dsgd_values_gradient(r->values, r->memory.where, (uint32_t)(batch - missing), x, &state, g);
        for (size_t k = 0; k < n; k++)
            adopt(r, g[k]);
        if (r->network.n_state > 0)
            adopt(r, state);
    }
    free(x);
}

static void replay_update(replay *r)
{
    const size_t worker = r->memory.where.worker;
    const size_t piece = r->memory.piece;
    const double lr = get_number(r);
    const uint64_t t = r->problem.update.kind == DSGD_OPTIMIZER_ADAMW ? get(r) : 0;
    if (piece == r->n_pieces) {
        fail(r, "a model state is updated");
        return;
    }
    const bool state = dsgd_optimizer_states(&r->problem.update) > 0;
    const dsgd_value x = get_operand(r, worker, piece, piece);
    const dsgd_value g = get_operand(r, worker, piece, piece);
    dsgd_value v = state ? get_operand(r, worker, piece, r->n_pieces + 1 + piece) : DSGD_ZERO_VALUE;
    if (r->wrong != NULL)
        return;
    dsgd_value_retain(v); /* the call releases it */
    adopt(r, dsgd_values_update(r->values, r->memory.where, piece, x, g, &v, (dsgd_rate){lr, t}));
    if (state)
        adopt(r, v);
}

static void replay_combine(replay *r)
{
    const size_t piece = r->memory.piece;
    const size_t n = get_below(r, left(r), "there are more operands than bytes");
    const double divisor = get_number(r);
    dsgd_value *const x = dsgd_xcalloc(n, sizeof *x);
    double *const weights = dsgd_xcalloc(n, sizeof *weights);
    for (size_t i = 0; i < n; i++)
        weights[i] = get_number(r);
    for (size_t i = 0; i < n; i++)
        x[i] = get_operand(r, n == r->memory.n_workers ? i : r->memory.where.worker, piece, piece);
    if (r->wrong == NULL)
        adopt(r, dsgd_values_combine(r->values, r->memory.where, piece, n, x, weights, divisor));
    free(x);
    free(weights);
}

static void replay_encode(replay *r)
{
    const size_t worker = r->memory.where.worker;
    const size_t piece = r->memory.piece;
    uint64_t words[DSGD_CODEC_WORDS];
    for (size_t i = 0; i < DSGD_CODEC_WORDS; i++)
        words[i] = get_word(r);
    dsgd_codec codec;
    memcpy(&codec, words, sizeof codec);
    if (r->wrong == NULL &&
        (piece == r->n_pieces || !dsgd_codec_fits(&codec, dsgd_shape_size(r->values, piece))))
        fail(r, "an encoding does not fit its piece");
    dsgd_value inputs[2] = {DSGD_ZERO_VALUE, DSGD_ZERO_VALUE};
    for (size_t i = 0; r->wrong == NULL && i < dsgd_codec_inputs(&codec); i++)
        inputs[i] = get_operand(r, worker, piece, piece);
    if (r->wrong == NULL)
        adopt(r,
              dsgd_values_encode(r->values, r->memory.where, piece, &codec, inputs[0], inputs[1]));
}

static void replay_evaluate(replay *r)
{
    const size_t n_pieces = r->n_pieces;
    const size_t n = get_below(r, left(r) / n_pieces + 1, "there are more models than bytes");
    dsgd_value *const x = dsgd_xcalloc(n * n_pieces, sizeof *x);
    dsgd_value *const states = dsgd_xcalloc(n, sizeof *states);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < n_pieces; k++)
            x[i * n_pieces + k] = get_operand(r, i, k, k);
        states[i] = get_state(r, i);
    }
    if (n == 0)
        fail(r, "nothing is evaluated");
    if (r->wrong == NULL)
        r->n_evaluations = dsgd_values_evaluate(r->values, n, x, states) + 1;
    free(x);
    free(states);
}

static void replay_point(replay *r)
{
    dsgd_replay_result *const result = r->result;
    const double virtual_s = get_double(r);
    const double steps = get_double(r);
    if (r->n_evaluations == 0)
        fail(r, "a point of the curve has no evaluation");
    const size_t n = result->n_points + 1;
    result->points = dsgd_xrealloc(result->points, n, sizeof *result->points);
    r->tickets = dsgd_xrealloc(r->tickets, n, sizeof *r->tickets);
    result->points[n - 1] = (dsgd_point){.virtual_s = virtual_s, .steps = steps};
    r->tickets[n - 1] = r->n_evaluations - 1;
    result->n_points = n;
}

static void decided(replay *r, bool same)
{
    r->result->decisions++;
    r->result->different += !same;
}

static void replay_result(replay *r)
{
    const size_t number = get_below(r, r->n_evaluations, "a result has no evaluation");
    dsgd_evaluation then;
    then.loss = get_double(r);
    then.accuracy = get_double(r);
    then.consensus = get_double(r);
    if (r->wrong != NULL)
        return;
    const dsgd_evaluation now = dsgd_values_result(r->values, number);
    decided(r, memcmp(&then, &now, sizeof now) == 0);
}

static void replay_read(replay *r)
{
    const size_t piece = r->memory.piece;
    if (piece == r->n_pieces)
        fail(r, "a model state is read");
    const dsgd_value value = get_operand(r, r->memory.where.worker, piece, piece);
    const uint32_t then = (uint32_t)get_fixed(r, 4);
    if (r->wrong != NULL)
        return;
    const size_t n = r->piece_begin[piece + 1] - r->piece_begin[piece];
    double *const x = dsgd_xcalloc(n, sizeof *x);
    dsgd_values_read(r->values, piece, value, x);
    decided(r, record_numbers_checksum(x, n) == then);
    free(x);
}

static void replay_release(replay *r)
{
    const size_t piece = get_below(r, r->memory.n_pieces, "there is no such piece");
    const uint64_t name = record_name_of(&r->memory, r->memory.where.worker, piece, get(r));
    const dsgd_value *const found = name == 0 ? NULL : find(r, name);
    if (found == NULL || found->node == NULL || r->wrong != NULL) {
        fail(r, "what is given back is not there");
        return;
    }
    const dsgd_value value = *found;
    forget(r, name);
    dsgd_value_release(r->values, value);
}

static void replay_flush(replay *r)
{
    dsgd_values_flush(r->values);
}

static void replay_operation(replay *r)
{
    static const struct {
        void (*call)(replay *);
        bool has_origin;
    } operations[RECORD_KIND + 1] = {[RECORD_CONSTANT] = {replay_constant, true},
                                     [RECORD_GRADIENT] = {replay_gradient, true},
                                     [RECORD_UPDATE] = {replay_update, true},
                                     [RECORD_COMBINE] = {replay_combine, true},
                                     [RECORD_EVALUATE] = {replay_evaluate},
                                     [RECORD_POINT] = {replay_point},
                                     [RECORD_RESULT] = {replay_result},
                                     [RECORD_READ] = {replay_read, true},
                                     [RECORD_FLUSH] = {replay_flush},
                                     [RECORD_RELEASE] = {replay_release},
                                     [RECORD_ENCODE] = {replay_encode, true}};
    const unsigned byte = get_byte(r);
    const unsigned kind = byte & RECORD_KIND;
    r->result->operations++;
    if (operations[kind].has_origin)
        get_origin(r, byte);
    if (operations[kind].call == NULL)
        fail(r, "an operation is unknown");
    else if (r->wrong == NULL)
        operations[kind].call(r);
}

/* --- the whole -------------------------------------------------------------------------------- */

/** Applies `--data OPTION=VALUE`. */
static dsgd_status override_data(replay *r, json_t *problem, dsgd_error *error)
{
    json_t *const data = json_object_get(problem, "data");
    for (size_t i = 0; i < r->config->n_data; i++) {
        const char *const text = r->config->data[i];
        const char *const sign = strchr(text, '=');
        char *const option = dsgd_xstrdup(text);
        option[sign == NULL ? 0 : sign - text] = '\0';
        const bool there = sign != NULL && json_object_get(data, option) != NULL;
        json_t *const number = there ? json_loads(sign + 1, JSON_DECODE_ANY, NULL) : NULL;
        if (there)
            json_object_set_new(data, option, number == NULL ? json_string(sign + 1) : number);
        free(option);
        if (!there)
            return dsgd_fail(error, DSGD_EUSAGE,
                             "--data %s: OPTION=VALUE is expected, with an option that the data of "
                             "%s has",
                             text, r->file.path);
    }
    return DSGD_OK;
}

/** A text in the head, or an empty one; in fresh memory. */
static char *text_of(const json_t *head, const char *key)
{
    const char *const text = json_string_value(json_object_get(head, key));
    return dsgd_xstrdup(text == NULL ? "" : text);
}

static dsgd_status read_head(replay *r, dsgd_error *error)
{
    dsgd_status status = record_next(&r->file, error);
    if (status != DSGD_OK)
        return status;
    r->head = json_loads((const char *)r->file.bytes, 0, NULL);
    json_t *const problem = json_object_get(r->head, "problem");
    status = override_data(r, problem, error);
    dsgd_error why = {""};
    if (status == DSGD_OK && dsgd_json_read(problem, record_problem_options, &r->problem,
                                            &r->parameters, &why) != DSGD_OK)
        return dsgd_fail(error, DSGD_EIO, "%s: the head of the record makes no sense: %s",
                         r->file.path, why.text);
    dsgd_replay_result *const result = r->result;
    const json_t *const manifest = json_object_get(r->head, "manifest");
    const char *const label = json_string_value(json_object_get(r->head, "label"));
    result->label = dsgd_xstrdup(label == NULL ? "?" : label);
    result->columns = text_of(r->head, "columns");
    result->cells = text_of(r->head, "cells");
    result->experiment = dsgd_xstrdup(json_string_value(json_object_get(manifest, "experiment")));
    result->run = (size_t)json_integer_value(json_object_get(r->head, "run"));
    result->workers = (int)r->problem.workers;
    result->seed = (uint64_t)r->problem.seed;
    return status;
}

/** The data and the model, which must be those of the recorded run. */
static dsgd_status build(replay *r, dsgd_error *error)
{
    const record_problem *const p = &r->problem;
    const dsgd_data_source *const source = (const dsgd_data_source *)p->data.about;
    const dsgd_model_kind *const model = (const dsgd_model_kind *)p->model.about;
    dsgd_error why = {""};
    if (source->load(p->data.params, (uint64_t)p->seed, &r->data, &why) != DSGD_OK)
        return dsgd_fail(error, DSGD_EIO, "%s: its data is not here: %s; --data says where it is",
                         r->file.path, why.text);
    if (record_data_checksum(r->data) != p->data_checksum)
        return dsgd_fail(
            error, DSGD_EIO,
            "%s: the data `%s` is not that of the run: its checksum is %08lx here, and "
            "was %08lx when it was recorded",
            r->file.path, source->about.name, (unsigned long)record_data_checksum(r->data),
            (unsigned long)p->data_checksum);
    if (model->build(p->model.params, r->data, &r->network, &why) != DSGD_OK)
        return dsgd_fail(error, DSGD_EIO, "%s: its model cannot be built: %s", r->file.path,
                         why.text);
    r->initial = dsgd_xcalloc(r->network.n_params, sizeof *r->initial);
    dsgd_network_initial(&r->network, (uint64_t)p->seed, r->initial);
    if (record_initial_checksum(&r->network, (uint64_t)p->seed, r->initial) != p->initial_checksum)
        return dsgd_fail(error, DSGD_EIO,
                         "%s: the model `%s` does not begin with the numbers of the run; another "
                         "version of dsgd, or of the mathematical library, recorded it",
                         r->file.path, model->about.name);
    return DSGD_OK;
}

/** Whose samples are whose, which must be as in the recorded run. */
static dsgd_status split(replay *r, dsgd_error *error)
{
    const record_problem *const p = &r->problem;
    dsgd_error why = {""};
    if (dsgd_split_new(&p->split, r->data, (uint64_t)p->seed, (uint32_t)p->workers, &r->split,
                       &why) != DSGD_OK)
        return dsgd_fail(error, DSGD_EIO, "%s: %s", r->file.path, why.text);
    if (dsgd_split_checksum(r->split) != p->split_checksum)
        return dsgd_fail(error, DSGD_EIO,
                         "%s: `%s` gives workers other samples than in the run; another version of "
                         "dsgd, or of the mathematical library, recorded it",
                         r->file.path, p->split.about->name);
    return DSGD_OK;
}

/** The pieces must cover the model, one after another. */
static dsgd_status cut(replay *r, dsgd_error *error)
{
    const dsgd_numbers *const pieces = &r->problem.pieces;
    bool good = pieces->n >= 2 && pieces->n <= MOST_PIECES && pieces->v[0] == 0 &&
                pieces->v[pieces->n - 1] == (double)r->network.n_params;
    for (size_t k = 0; good && k + 1 < pieces->n; k++)
        good = pieces->v[k] <= pieces->v[k + 1];
    if (!good)
        return dsgd_fail(error, DSGD_EIO,
                         "%s: the pieces of the record are not those of a model of %zu parameters",
                         r->file.path, r->network.n_params);
    r->piece_begin = dsgd_xcalloc(pieces->n, sizeof *r->piece_begin);
    for (size_t k = 0; k < pieces->n; k++)
        r->piece_begin[k] = (size_t)pieces->v[k];
    r->n_pieces = pieces->n - 1;
    record_memory_open(&r->memory, (size_t)r->problem.workers, (size_t)r->problem.servers,
                       pieces->n);
    return DSGD_OK;
}

static dsgd_status open_values(replay *r, dsgd_error *error)
{
    const record_problem *const p = &r->problem;
    dsgd_values_config config = {
        .problem = {.network = &r->network,
                    .data = r->data,
                    .n_pieces = r->n_pieces,
                    .piece_begin = r->piece_begin,
                    .update = p->update},
        .stream = {.seed = (uint64_t)p->seed,
                   .n_samples = r->data->train.n,
                   .n_workers = (uint32_t)p->workers,
                   .batch = (uint32_t)p->batch,
                   .split = r->split},
        .n_threads = r->config->threads,
        .memory_bytes = r->config->memory_bytes,
    };
    const int precision = r->config->precision < 0 ? p->precision : r->config->precision;
    const dsgd_numerics where =
        dsgd_numerics_resolved(r->config->numerics, r->config->has_cuda, precision == 1);
    const dsgd_status status =
        dsgd_values_open_where(&config, where, precision == 1, &r->values, error);
    if (status == DSGD_OK)
        r->result->device = config.device->name;
    return status;
}

static dsgd_status replay_block(replay *r, dsgd_error *error)
{
    r->at = r->file.bytes;
    r->end = r->at + r->file.n;
    while (r->at < r->end && r->wrong == NULL)
        replay_operation(r);
    if (r->wrong != NULL)
        return dsgd_fail(
            error, DSGD_EIO, "%s: block %zu of the record makes no sense: in operation %llu %s",
            r->file.path, r->file.block, (unsigned long long)r->result->operations, r->wrong);
    return DSGD_OK;
}

static dsgd_status replay_blocks(replay *r, dsgd_error *error)
{
    for (;;) {
        dsgd_status status = record_next(&r->file, error);
        if (status == DSGD_OK && strcmp(r->file.kind, RECORD_DONE) == 0)
            break;
        if (status == DSGD_OK)
            status = replay_block(r, error);
        if (status != DSGD_OK)
            return status;
        if (r->config->progress != NULL)
            r->config->progress(r->config->argument, (double)r->file.at / (double)r->file.size);
    }
    json_t *const totals = json_loads((const char *)r->file.bytes, 0, NULL);
    const json_int_t operations = json_integer_value(json_object_get(totals, "operations"));
    const json_int_t values = json_integer_value(json_object_get(totals, "values"));
    json_decref(totals);
    if ((uint64_t)operations != r->result->operations || (uint64_t)values + 1 != r->memory.next)
        return dsgd_fail(error, DSGD_EIO,
                         "%s: the record has %llu operations and %llu values, but says %lld and "
                         "%lld",
                         r->file.path, (unsigned long long)r->result->operations,
                         (unsigned long long)r->memory.next - 1, (long long)operations,
                         (long long)values);
    return DSGD_OK;
}

static void sum_up(replay *r)
{
    dsgd_replay_result *const result = r->result;
    for (size_t i = 0; i < result->n_points; i++)
        result->points[i].at = dsgd_values_result(r->values, r->tickets[i]);
    result->divergence = dsgd_values_divergence(r->values);
    result->numerics = dsgd_values_stats_get(r->values);
}

static void close_replay(replay *r)
{
    for (size_t p = 0; p < r->n_pages; p++) {
        for (size_t i = 0; r->pages[p] != NULL && i < PAGE_NAMES; i++)
            dsgd_value_release(r->values, r->pages[p]->values[i]); /* a handle of the run's end */
        free(r->pages[p]);
    }
    free(r->pages);
    dsgd_values_close(r->values);
    dsgd_split_free(r->split);
    dsgd_data_free(r->data);
    record_memory_close(&r->memory);
    record_close(&r->file);
    json_decref(r->head);
    dsgd_memory_free(&r->parameters);
    free(r->piece_begin);
    free(r->initial);
    free(r->tickets);
}

dsgd_status dsgd_replay(const dsgd_replay_config *config, dsgd_replay_result *result,
                        dsgd_error *error)
{
    const double start_s = dsgd_wall_s();
    replay r = {.config = config, .result = result};
    *result = (dsgd_replay_result){.device = "off"};
    static dsgd_status (*const stages[])(replay *, dsgd_error *) = {
        read_head, build, split, cut, open_values, replay_blocks};
    dsgd_status status = record_open(&r.file, config->path, error);
    for (size_t i = 0; status == DSGD_OK && i < sizeof stages / sizeof stages[0]; i++)
        status = stages[i](&r, error);
    if (status == DSGD_OK)
        sum_up(&r);
    close_replay(&r);
    result->wall_s = dsgd_wall_s() - start_s;
    return status;
}

void dsgd_replay_result_free(dsgd_replay_result *result)
{
    free(result->label);
    free(result->columns);
    free(result->cells);
    free(result->experiment);
    free(result->points);
    *result = (dsgd_replay_result){0};
}

char *dsgd_record_head(const char *path)
{
    record_file file;
    char *head = NULL;
    if (record_open(&file, path, NULL) == DSGD_OK && record_next(&file, NULL) == DSGD_OK)
        head = dsgd_xstrdup((const char *)file.bytes);
    record_close(&file);
    return head;
}
