/**
 * @file replay.c
 * Reads a record and makes its calls to a store of its own.
 */
#include "models/record/replay.h"

#include <inttypes.h>

#include "base/program.h"
#include "models/record/calls.h"
#include "models/record/format.h"

enum { MOST_PIECES = 1 << 16 };

typedef struct replay {
    const dsgd_replay_config *config;
    dsgd_replay_result *result;
    record_file file;
    record_problem problem;
    dsgd_data *data;
    dsgd_split *split;
    dsgd_network network;
    size_t *piece_begin;
    dsgd_values *values; /* NULL before open_values(), as are the calls */
    record_calls calls;
    size_t *tickets; /* of the points */
    double *numbers; /* that a decision reads */
} replay;

static void replay_point(replay *r, const dsgd_call *call)
{
    dsgd_replay_result *const result = r->result;
    const size_t n = result->n_points + 1;
    result->points = dsgd_keep_more(result->points, n, sizeof *result->points);
    r->tickets = dsgd_keep_more(r->tickets, n, sizeof *r->tickets);
    result->points[n - 1] =
        (dsgd_point){.virtual_s = call->elements[0], .steps = call->elements[1]};
    r->tickets[n - 1] = r->calls.n_evaluations - 1;
    result->n_points = n;
}

static void decided(replay *r, bool same)
{
    r->result->decisions++;
    r->result->different += !same;
}

static void replay_read(replay *r, const dsgd_call *call)
{
    const size_t n = dsgd_shape_size(r->values, call->piece);
    r->numbers = dsgd_keep_more(r->numbers, n, sizeof *r->numbers);
    dsgd_values_read(r->values, call->piece, call->x[0], r->numbers);
    decided(r, record_numbers_checksum(r->numbers, n) == r->calls.checksum);
}

static void replay_call(replay *r)
{
    r->result->operations++;
    dsgd_call call = {0};
    record_call(&r->calls, &call);
    if (r->calls.wrong != NULL)
        return;
    switch (call.kind) {
    case DSGD_CALL_EVALUATE:
    case DSGD_CALL_EVALUATE_OUTPUT:
        dsgd_values_evaluate_output(r->values, call.n, call.count, call.x, call.states);
        break;
    case DSGD_CALL_POINT:
        replay_point(r, &call);
        break;
    case DSGD_CALL_RESULT: {
        const dsgd_evaluation now = dsgd_values_result(r->values, call.n);
        decided(r, memcmp(call.result, &now, sizeof now) == 0);
        break;
    }
    case DSGD_CALL_READ:
        replay_read(r, &call);
        break;
    case DSGD_CALL_FLUSH:
        dsgd_values_flush(r->values);
        break;
    case DSGD_CALL_RELEASE:
        dsgd_value_release(r->values, call.x[0]);
        break;
    default: /* makes values, whose handles are kept by their names */
        dsgd_values_make(r->values, &call);
        if (call.n_made == 0)
            r->calls.wrong = "an operation gives nothing";
        for (uint32_t k = 0; k < call.n_made; k++)
            record_adopt(&r->calls, r->values, (dsgd_value){call.made.node, call.made.index + k});
    }
}

/** Applies `--data OPTION=VALUE`. */
static dsgd_status override_data(replay *r, json_t *problem, dsgd_error *error)
{
    json_t *const data = json_object_get(problem, "data");
    for (size_t i = 0; i < r->config->n_data; i++) {
        const char *const text = r->config->data[i];
        const char *const sign = strchr(text, '=');
        char *const option = dsgd_xstrdup(text);
        option[sign == NULL ? 0 : sign - text] = '\0';
        if (sign == NULL || json_object_get(data, option) == NULL)
            return dsgd_refuse(
                error,
                "--data %s: OPTION=VALUE is expected, with an option that the data of %s has", text,
                r->file.path);
        json_t *const number = json_loads(sign + 1, JSON_DECODE_ANY, NULL);
        json_object_set_new(data, option, number == NULL ? json_string(sign + 1) : number);
    }
    return DSGD_OK;
}

/** A text in the head, or what it is without. */
static char *text_of(const json_t *head, const char *key, const char *otherwise)
{
    const char *const text = json_string_value(json_object_get(head, key));
    return dsgd_xstrdup(text == NULL ? otherwise : text);
}

static dsgd_status read_head(replay *r, dsgd_error *error)
{
    DSGD_TRY(record_next(&r->file, error));
    json_t *const head = json_loads((const char *)r->file.bytes, 0, NULL);
    json_t *const problem = json_object_get(head, "problem");
    DSGD_TRY(override_data(r, problem, error));
    dsgd_error why = {""};
    if (dsgd_json_read(problem, record_problem_options, &r->problem, &why) != DSGD_OK)
        return dsgd_fail(error, DSGD_EIO, "%s: the head of the record makes no sense: %s",
                         r->file.path, why.text);
    dsgd_replay_result *const result = r->result;
    result->label = text_of(head, "label", "?");
    result->columns = text_of(head, "columns", "");
    result->cells = text_of(head, "cells", "");
    result->experiment = text_of(json_object_get(head, "manifest"), "experiment", NULL);
    result->run = (size_t)json_integer_value(json_object_get(head, "run"));
    result->workers = (int)r->problem.workers;
    result->seed = (uint64_t)r->problem.seed;
    return DSGD_OK;
}

/** The data, the model and whose samples are whose, which must be as in the recorded run. */
static dsgd_status build(replay *r, dsgd_error *error)
{
    const record_problem *const p = &r->problem;
    const dsgd_data_source *const source = (const dsgd_data_source *)p->data.about;
    const dsgd_model_kind *const model = (const dsgd_model_kind *)p->model.about;
    dsgd_error why = {""};
    if (source->load(p->data.params, (uint64_t)p->seed, &r->data, &why) != DSGD_OK)
        return dsgd_fail(error, DSGD_EIO, "%s: its data is not here: %s; --data says where it is",
                         r->file.path, why.text);
    if (record_data_checksum(r->data) != (uint32_t)p->data_checksum)
        return dsgd_fail(
            error, DSGD_EIO,
            "%s: the data `%s` is not that of the run: its checksum is %08lx here, and "
            "was %08lx when it was recorded",
            r->file.path, source->about.name, (unsigned long)record_data_checksum(r->data),
            (unsigned long)p->data_checksum);
    if (dsgd_model_build(model, p->model.params, r->data, &r->network, &why) != DSGD_OK)
        return dsgd_fail(error, DSGD_EIO, "%s: its model cannot be built: %s", r->file.path,
                         why.text);
    if (record_initial_checksum(&r->network, (uint64_t)p->seed) != (uint32_t)p->initial_checksum)
        return dsgd_fail(error, DSGD_EIO,
                         "%s: the model `%s` does not begin with the numbers of the run; another "
                         "version of dsgd, or of the mathematical library, recorded it",
                         r->file.path, model->about.name);
    if (dsgd_split_new(&p->split, r->data, (uint64_t)p->seed, (uint32_t)p->workers, p->own_batches,
                       &r->split, &why) != DSGD_OK)
        return dsgd_fail(error, DSGD_EIO, "%s: %s", r->file.path, why.text);
    if (dsgd_split_checksum(r->split) != (uint32_t)p->split_checksum)
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
    r->piece_begin = dsgd_keep(pieces->n, sizeof *r->piece_begin);
    for (size_t k = 0; k < pieces->n; k++)
        r->piece_begin[k] = (size_t)pieces->v[k];
    return DSGD_OK;
}

static dsgd_status open_values(replay *r, dsgd_error *error)
{
    const record_problem *const p = &r->problem;
    dsgd_values_config config = {
        .problem = {.network = &r->network,
                    .data = r->data,
                    .n_pieces = p->pieces.n - 1,
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
    DSGD_TRY(dsgd_values_open_where(&config, where, precision == 1, &r->values, error));
    r->result->device = config.device->name;
    record_calls_open(&r->calls, &config.problem, &config.stream, (size_t)p->servers, r->values);
    return DSGD_OK;
}

static dsgd_status replay_blocks(replay *r, dsgd_error *error)
{
    record_calls *const c = &r->calls;
    for (;;) {
        DSGD_TRY(record_next(&r->file, error));
        if (strcmp(r->file.kind, RECORD_DONE) == 0)
            break;
        c->bytes = r->file.bytes;
        c->n = r->file.n;
        for (c->at = 0; c->at < c->n && c->wrong == NULL;)
            replay_call(r);
        if (c->wrong != NULL)
            return dsgd_fail(error, DSGD_EIO,
                             "%s: block %zu of the record makes no sense: in operation %" PRIu64
                             " %s",
                             r->file.path, r->file.block, r->result->operations, c->wrong);
        if (r->config->progress != NULL)
            r->config->progress(r->config->argument, (double)r->file.at / (double)r->file.size);
    }
    json_t *const totals = json_loads((const char *)r->file.bytes, 0, NULL);
    const json_int_t operations = json_integer_value(json_object_get(totals, "operations"));
    const json_int_t values = json_integer_value(json_object_get(totals, "values"));
    if ((uint64_t)operations != r->result->operations || (uint64_t)values + 1 != r->calls.next)
        return dsgd_fail(
            error, DSGD_EIO,
            "%s: the record has %" PRIu64 " operations and %" PRIu64 " values, but says "
            "%" JSON_INTEGER_FORMAT " and %" JSON_INTEGER_FORMAT,
            r->file.path, r->result->operations, r->calls.next - 1, operations, values);
    return DSGD_OK;
}

dsgd_status dsgd_replay(const dsgd_replay_config *config, dsgd_replay_result *result,
                        dsgd_error *error)
{
    const double start_s = dsgd_wall_s();
    replay r = {.config = config, .result = result};
    *result = (dsgd_replay_result){.device = "off"};
    static dsgd_status (*const stages[])(replay *, dsgd_error *) = {read_head, build, cut,
                                                                    open_values, replay_blocks};
    dsgd_status status = record_open(&r.file, config->path, error);
    for (size_t i = 0; status == DSGD_OK && i < sizeof stages / sizeof stages[0]; i++)
        status = stages[i](&r, error);
    for (size_t i = 0; status == DSGD_OK && i < result->n_points; i++)
        result->points[i].at = dsgd_values_result(r.values, r.tickets[i]);
    if (status == DSGD_OK) {
        result->divergence = dsgd_values_divergence(r.values);
        result->numerics = dsgd_values_stats_get(r.values);
    }
    record_calls_close(&r.calls, r.values);
    dsgd_values_close(r.values);
    free(r.split);
    dsgd_data_free(r.data);
    record_close(&r.file);
    result->wall_s = dsgd_wall_s() - start_s;
    return status;
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
