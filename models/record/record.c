/**
 * @file record.c
 * The recorder: writes the calls to a store, but nothing that a replay computes itself.
 */
#include "models/record/record.h"

#include <unistd.h>

#include "models/record/calls.h"
#include "models/record/format.h"

typedef struct writer {
    dsgd_recorder base;
    char *path, *beside;
    FILE *stream;
    int trouble; /* errno of the first failure to write; 0: none */
    record_calls calls;
    uint64_t n_operations;
} writer;

static void note_failure(writer *r, int failed)
{
    if (failed != 0 && r->trouble == 0)
        r->trouble = errno;
}

static void write_block(writer *r)
{
    if (r->calls.n == 0)
        return;
    record_write_block(r->stream, RECORD_WORK, r->calls.bytes, r->calls.n);
    note_failure(r, ferror(r->stream));
    r->calls.n = 0;
}

/** Omits a call of which the caller has all that it makes, unless flushes count it. */
static void write_call(dsgd_recorder *recorder, const dsgd_call *given)
{
    writer *const r = (writer *)recorder;
    dsgd_call call = *given;
    bool omitted = call.kind == DSGD_CALL_CONSTANT || call.kind == DSGD_CALL_UPDATE ||
                   call.kind == DSGD_CALL_COMBINE || call.kind == DSGD_CALL_ENCODE;
    dsgd_value made = call.made;
    for (uint32_t k = 0; k < call.n_made; k++, made.index++)
        omitted = omitted && dsgd_value_external_refs(made) > 0;
    if (omitted)
        return;
    if (r->calls.n >= RECORD_BLOCK_BYTES)
        write_block(r);
    r->n_operations++;
    record_call(&r->calls, &call);
    made = call.made;
    for (uint32_t k = 0; k < call.n_made; k++, made.index++)
        if (dsgd_value_external_refs(made) == 0)
            *dsgd_value_name(made) = record_make(&r->calls, dsgd_value_piece(made));
}

void dsgd_recorder_point(dsgd_recorder *recorder, double virtual_s, double steps)
{
    const double numbers[] = {virtual_s, steps};
    if (recorder != NULL)
        write_call(recorder, &(dsgd_call){.kind = DSGD_CALL_POINT, .elements = numbers});
}

static json_t *describe(const dsgd_record_config *config)
{
    const dsgd_values_config *const values = config->values;
    const dsgd_problem *const problem = &values->problem;
    const size_t n = problem->n_pieces + 1;
    double *const pieces = dsgd_keep(n, sizeof *pieces);
    for (size_t k = 0; k < n; k++)
        pieces[k] = (double)problem->piece_begin[k];
    const record_problem described = {
        .model = config->model,
        .data = config->data,
        .split =
            config->split.about == NULL ? (dsgd_spec){dsgd_split_kinds[0], NULL} : config->split,
        .split_checksum = dsgd_split_checksum(values->stream.split),
        .own_batches = values->stream.split != NULL && values->stream.split->own_batches,
        .precision = config->in_double,
        .seed = (int64_t)values->stream.seed,
        .workers = values->stream.n_workers,
        .servers = config->n_servers,
        .batch = values->stream.batch,
        .pieces = {n, pieces},
        .update = problem->update,
        .data_checksum = record_data_checksum(problem->data),
        .initial_checksum = record_initial_checksum(problem->network, values->stream.seed)};
    return dsgd_json_options(record_problem_options, &described);
}

static void write_json(FILE *stream, const char *kind, json_t *json)
{
    const char *const text = json_dumps(json, JSON_COMPACT);
    record_write_block(stream, kind, (const uint8_t *)text, strlen(text));
}

dsgd_status dsgd_recorder_open(const dsgd_record_config *config, dsgd_recorder **recorder,
                               dsgd_error *error)
{
    writer *const r = dsgd_keep(1, sizeof *r);
    r->base.call = write_call;
    r->path = dsgd_xstrdup(config->path);
    r->beside = dsgd_xprintf("%s.part", config->path);
    record_calls_open(&r->calls, &config->values->problem, &config->values->stream,
                      (size_t)config->n_servers, NULL);
    r->stream = fopen(r->beside, "wb");
    if (r->stream == NULL)
        return dsgd_fail(error, DSGD_EIO, "%s: the record cannot be written: %m", r->beside);
    json_t *const head = json_loads(config->about, 0, NULL);
    DSGD_ASSERT(head != NULL, "config->about is no JSON: %s", config->about);
    json_object_set_new(head, "problem", describe(config));
    fwrite(RECORD_MAGIC, RECORD_MAGIC_BYTES, 1, r->stream);
    const uint8_t version[4] = {RECORD_VERSION};
    fwrite(version, sizeof version, 1, r->stream);
    write_json(r->stream, RECORD_HEAD, head);
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
                         (json_int_t)(r->calls.next - 1)));
    note_failure(r, ferror(r->stream));
    note_failure(r, fclose(r->stream));
    if (keep && r->trouble == 0)
        note_failure(r, rename(r->beside, r->path));
    if (!keep || r->trouble != 0)
        unlink(r->beside);
    if (!keep || r->trouble == 0)
        return DSGD_OK;
    return dsgd_fail(error, DSGD_EIO, "%s: the record cannot be written: %s", r->path,
                     strerror(r->trouble));
}
