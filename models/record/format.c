/**
 * @file format.c
 * Blocks with their checksums, the options of the problem.
 */
#include "models/record/format.h"

#include <endian.h>
#include <inttypes.h>
#include <zlib.h>

#include "base/file.h"

/* --- blocks ----------------------------------------------------------------------------------- */

/* A frame, little-endian: four letters, packed bytes, unpacked bytes | checksum. */
enum { KIND, PACKED, UNPACKED, CHECKSUM, FRAME_WORDS };
enum { KIND_BYTES = 4, CHECKED_BYTES = 12, FRAME_BYTES = 16 };

static uint32_t frame_checksum(const uint32_t *frame, const uint8_t *packed, size_t n)
{
    return htole32((uint32_t)crc32_z(crc32_z(0, (const void *)frame, CHECKED_BYTES), packed, n));
}

/** Bytes that zlib makes of one at most. */
enum { MOST_EXPANSION = 1040 };

void record_write_block(FILE *stream, const char *kind, const uint8_t *bytes, size_t n)
{
    uLongf n_packed = compressBound(n);
    uint8_t *const packed = dsgd_xcalloc(1, n_packed);
    DSGD_ASSERT(n < RECORD_MOST_BYTES &&
                    compress2(packed, &n_packed, bytes, n, Z_DEFAULT_COMPRESSION) == Z_OK,
                "a block of %zu bytes", n);
    uint32_t frame[FRAME_WORDS] = {0, htole32((uint32_t)n_packed), htole32((uint32_t)n)};
    memcpy(frame, kind, KIND_BYTES);
    frame[CHECKSUM] = frame_checksum(frame, packed, n_packed);
    fwrite(frame, sizeof frame, 1, stream);
    fwrite(packed, n_packed, 1, stream);
    free(packed);
}

static dsgd_status cut_off(const record_file *file, dsgd_error *error)
{
    return dsgd_fail(error, DSGD_EIO,
                     "%s: the record is cut off, or damaged, in block %zu, which begins at byte "
                     "%" PRIu64 " of %" PRIu64,
                     file->path, file->block, file->begin, file->size);
}

static dsgd_status damaged(const record_file *file, dsgd_error *error)
{
    return dsgd_fail(error, DSGD_EIO,
                     "%s: block %zu of the record, which begins at byte %" PRIu64 ", is damaged",
                     file->path, file->block, file->begin);
}

/** Reads the next block, still packed, and checks it. */
static dsgd_status read_block(record_file *file, dsgd_error *error)
{
    uint32_t frame[FRAME_WORDS];
    file->block++;
    file->begin = file->at;
    if (file->size - file->at < FRAME_BYTES || fread(frame, sizeof frame, 1, file->stream) != 1)
        return cut_off(file, error);
    file->n_packed = le32toh(frame[PACKED]);
    file->n = le32toh(frame[UNPACKED]);
    if (file->size - file->at - FRAME_BYTES < file->n_packed)
        return cut_off(file, error);
    if (file->n > RECORD_MOST_BYTES || file->n / MOST_EXPANSION > file->n_packed)
        return damaged(file, error);
    file->packed = dsgd_keep_more(file->packed, file->n_packed, 1);
    if (fread(file->packed, 1, file->n_packed, file->stream) != file->n_packed)
        return cut_off(file, error);
    if (frame[CHECKSUM] != frame_checksum(frame, file->packed, file->n_packed))
        return damaged(file, error);
    memcpy(file->kind, frame, KIND_BYTES);
    file->at += FRAME_BYTES + file->n_packed;
    return DSGD_OK;
}

static bool is(const record_file *file, const char *kind)
{
    return strcmp(file->kind, kind) == 0;
}

/** HEAD, WORK blocks, DONE, and then the end of the file. */
static dsgd_status check_blocks(record_file *file, dsgd_error *error)
{
    do {
        DSGD_TRY(read_block(file, error));
        if (file->block == 1 ? !is(file, RECORD_HEAD)
                             : !is(file, RECORD_WORK) && !is(file, RECORD_DONE))
            return damaged(file, error);
    } while (!is(file, RECORD_DONE));
    if (file->at != file->size)
        return dsgd_fail(error, DSGD_EIO,
                         "%s: the file goes on for %" PRIu64 " bytes after its record", file->path,
                         file->size - file->at);
    return DSGD_OK;
}

static dsgd_status read_front(record_file *file, dsgd_error *error)
{
    struct {
        char magic[RECORD_MAGIC_BYTES];
        uint32_t version;
    } front;
    const size_t got = fread(&front, 1, sizeof front, file->stream);
    if (got < RECORD_MAGIC_BYTES || memcmp(front.magic, RECORD_MAGIC, RECORD_MAGIC_BYTES) != 0)
        return dsgd_fail(error, DSGD_EIO, "%s: the file is no record of `dsgd run --record`",
                         file->path);
    if (got < sizeof front)
        return dsgd_fail(error, DSGD_EIO, "%s: the record is cut off after %zu bytes", file->path,
                         got);
    const uint32_t version = le32toh(front.version);
    if (version < RECORD_FIRST_VERSION || version > RECORD_VERSION)
        return dsgd_fail(error, DSGD_EIO,
                         "%s: the record has version %u of the format, but this program reads "
                         "versions %d to %d; replay it with the dsgd that recorded it",
                         file->path, version, RECORD_FIRST_VERSION, RECORD_VERSION);
    file->at = sizeof front;
    return DSGD_OK;
}

dsgd_status record_open(record_file *file, const char *path, dsgd_error *error)
{
    *file = (record_file){.path = dsgd_xstrdup(path), .stream = dsgd_file_open(path)};
    if (file->stream == NULL || fseeko(file->stream, 0, SEEK_END) != 0) {
        dsgd_file_note_unread(path);
        return dsgd_fail(error, DSGD_EIO, "%s: the record cannot be read: %m", path);
    }
    file->size = (uint64_t)ftello(file->stream);
    rewind(file->stream);
    DSGD_TRY(read_front(file, error));
    DSGD_TRY(check_blocks(file, error));
    file->at = RECORD_MAGIC_BYTES + 4;
    file->block = 0;
    fseeko(file->stream, (off_t)file->at, SEEK_SET);
    return DSGD_OK;
}

dsgd_status record_next(record_file *file, dsgd_error *error)
{
    DSGD_TRY(read_block(file, error));
    file->bytes = dsgd_keep_more(file->bytes, file->n + 1, 1);
    uLongf n = file->n;
    if (uncompress(file->bytes, &n, file->packed, file->n_packed) != Z_OK || n != file->n)
        return damaged(file, error);
    file->bytes[n] = '\0';
    return DSGD_OK;
}

void record_close(record_file *file)
{
    if (file->stream == NULL)
        return;
    if (ferror(file->stream)) {
        errno = EIO;
        dsgd_file_note_unread(file->path);
    }
    fclose(file->stream);
}

/* --- the problem ------------------------------------------------------------------------------ */

static const char *const precisions[] = {"float", "double", NULL};

#define MOST_EXACT 9007199254740992.0 /* integers that a double holds exactly */

const dsgd_option record_problem_options[] = {
    DSGD_OPTION_SPEC(record_problem, model, dsgd_model_kinds, NULL, NULL, .required = true),
    DSGD_OPTION_SPEC(record_problem, data, dsgd_data_sources, NULL, NULL, .required = true),
    DSGD_OPTION_SPEC(record_problem, split, dsgd_split_kinds, NULL, NULL, .init_text = "iid"),
    DSGD_OPTION_LONG(record_problem, split_checksum, 0, 0, UINT32_MAX, NULL, NULL),
    DSGD_OPTION_BOOL(record_problem, own_batches, false, NULL),
    DSGD_OPTION_CHOICE(record_problem, precision, precisions, NULL, .required = true),
    DSGD_OPTION_LONG(record_problem, seed, 0, 0, MOST_EXACT, NULL, NULL, .required = true),
    DSGD_OPTION_LONG(record_problem, workers, 0, 1, 1 << 20, NULL, NULL, .required = true),
    DSGD_OPTION_LONG(record_problem, servers, 0, 0, 1 << 20, NULL, NULL),
    DSGD_OPTION_LONG(record_problem, batch, 0, 1, 1 << 20, NULL, NULL, .required = true),
    DSGD_OPTION_NUMBERS(record_problem, pieces, 0, MOST_EXACT, NULL, .required = true),
    DSGD_OPTION_AS("optimizer", CHOICE, record_problem, update.kind, NULL, .required = true,
                   .words = dsgd_optimizer_kinds),
    DSGD_OPTION_AS("momentum", DOUBLE, record_problem, update.momentum, NULL, .max = 1,
                   .required = true),
    DSGD_OPTION_AS("beta2", DOUBLE, record_problem, update.beta2, NULL, .max = 1, .required = true),
    DSGD_OPTION_AS("epsilon", DOUBLE, record_problem, update.epsilon, NULL, .max = 1,
                   .required = true),
    DSGD_OPTION_AS("weight_decay", DOUBLE, record_problem, update.weight_decay, NULL, .max = 1e6,
                   .required = true),
    DSGD_OPTION_AS("clip", DOUBLE, record_problem, update.clip, NULL, .max = 1e100,
                   .required = true),
    DSGD_OPTION_LONG(record_problem, data_checksum, 0, 0, UINT32_MAX, NULL, NULL, .required = true),
    DSGD_OPTION_LONG(record_problem, initial_checksum, 0, 0, UINT32_MAX, NULL, NULL,
                     .required = true),
    DSGD_OPTION_END,
};

/** CRC-32 of @p bytes after @p before; NULL adds nothing. */
static uint32_t checksum(uint32_t before, const void *bytes, size_t n)
{
    return bytes == NULL ? before : (uint32_t)crc32_z(before, bytes, n);
}

static uint32_t samples_checksum(uint32_t sum, const dsgd_samples *samples, const dsgd_data *data)
{
    const size_t n = (size_t)samples->n * data->n_features;
    sum = checksum(sum, &samples->n, sizeof samples->n);
    sum = checksum(sum, samples->x_bytes, n);
    sum = checksum(sum, samples->x_real, n * sizeof *samples->x_real);
    sum = checksum(sum, samples->labels, (size_t)samples->n * data->n_labels);
    sum = checksum(sum, samples->lengths, samples->n * sizeof *samples->lengths);
    return checksum(sum, samples->targets, samples->n * sizeof *samples->targets);
}

uint32_t record_data_checksum(const dsgd_data *data)
{
    const uint32_t numbers[] = {
        (uint32_t)data->kind, data->n_rows,    data->n_columns,      data->width,
        data->n_labels,       data->n_classes, (uint32_t)data->seed, (uint32_t)(data->seed >> 32)};
    uint32_t sum = checksum(0, numbers, sizeof numbers);
    sum = samples_checksum(sum, &data->train, data);
    return samples_checksum(sum, &data->test, data);
}

uint32_t record_numbers_checksum(const double *x, size_t n)
{
    return checksum(0, x, n * sizeof *x);
}

uint32_t record_initial_checksum(const dsgd_network *network, uint64_t seed)
{
    double *const x = dsgd_xcalloc(network->n_params + network->n_state, sizeof *x);
    dsgd_network_initial(network, seed, x);
    dsgd_network_initial_state(network, seed, 0, x + network->n_params);
    const uint32_t sum = record_numbers_checksum(x, network->n_params + network->n_state);
    free(x);
    return sum;
}
