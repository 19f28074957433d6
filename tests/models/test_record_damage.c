/**
 * @file test_record_damage.c
 * Records that are damaged, foreign, or whole but without sense are refused with a sentence.
 */
#include <endian.h>
#include <sys/resource.h>
#include <unistd.h>
#include <zlib.h>

#include "models/record/format.h"
#include "models/record/replay.h"
#include "tests/models/records.h"
#include "tests/support/suite.h"
#include "tests/support/support.h"

/* --- damage ----------------------------------------------------------------------------------- */

/** A record that is small enough to be damaged everywhere. */
static const char *small_record(void)
{
    support_case *const c = records_case("wagma", 4, "small");
    support_set(c->learning.data.about, c->learning.data.params, "features", 6);
    support_set(c->learning.data.about, c->learning.data.params, "points", 64);
    support_option(c, "period", 2);
    c->config.until.steps = 4;
    c->config.exchange.pieces = 2;
    c->learning.evaluate.every = 2;
    support_ok(c);
    return c->config.record;
}

static uint8_t *read_all(const char *path, size_t *n)
{
    FILE *const stream = fopen(path, "rb");
    ck_assert_ptr_nonnull(stream);
    uint8_t *const bytes = dsgd_keep(1, 1 << 20);
    *n = fread(bytes, 1, 1 << 20, stream);
    fclose(stream);
    return kept(bytes);
}

static const char *write_all(const uint8_t *bytes, size_t n)
{
    const char *const path = records_path("damaged");
    unlink(path); /* some file systems sync a file that is written again */
    FILE *const stream = fopen(path, "wb");
    ck_assert_ptr_nonnull(stream);
    fwrite(bytes, 1, n, stream);
    ck_assert_int_eq(fclose(stream), 0);
    return path;
}

/** Refuses with one sentence that names the file; gives it. */
static const char *refused(const char *path)
{
    static dsgd_error error;
    error.text[0] = '\0';
    dsgd_replay_result result;
    ck_assert_int_eq(records_replay_with(path, 1, -1, &result, &error), DSGD_EIO);
    ck_assert_msg(strncmp(error.text, path, strlen(path)) == 0, "%s", error.text);
    return error.text;
}

static void expect_refusal(const char *path, const char *sentence)
{
    const char *const text = refused(path);
    ck_assert_has(text, sentence);
}

SUITE(record_damage, "damage", .seconds = 300, .set_up = records_folder_make,
      .tear_down = records_folder_remove);

TEST_RANGE(a_flipped_bit_anywhere_is_noticed, 0, SUPPORT_SLOW ? 2 : 8)
{
    const char *const path = small_record();
    size_t n = 0;
    uint8_t *const bytes = read_all(path, &n);
    for (size_t i = 0; i < n; i++) {
        bytes[i] ^= (uint8_t)(1 << (i + (size_t)_i) % 8);
        const char *const text = refused(write_all(bytes, n));
        ck_assert_msg(strstr(text, i < RECORD_MAGIC_BYTES       ? "no record"
                                   : i < RECORD_MAGIC_BYTES + 4 ? "version"
                                                                : "damaged") != NULL,
                      "byte %zu: %s", i, text);
        bytes[i] ^= (uint8_t)(1 << (i + (size_t)_i) % 8);
    }
}

TEST(a_record_cut_off_anywhere_is_noticed)
{
    const char *const path = small_record();
    size_t n = 0;
    uint8_t *const bytes = read_all(path, &n);
    for (size_t i = 0; i < n; i++)
        expect_refusal(write_all(bytes, i), i < RECORD_MAGIC_BYTES ? "no record" : "cut off");
    bytes[n] = 0;
    expect_refusal(write_all(bytes, n + 1), "goes on for 1 bytes");
}

TEST(the_damaged_block_is_named)
{
    const char *const path = small_record();
    size_t n = 0;
    uint8_t *const bytes = read_all(path, &n);
    bytes[n - 1] ^= 1; /* head, work, end */
    expect_refusal(write_all(bytes, n), "block 3");
    bytes[n - 1] ^= 1;
    bytes[RECORD_MAGIC_BYTES + 4 + 16] ^= 1;
    expect_refusal(write_all(bytes, n), "block 1");
}

TEST(what_is_no_record_is_refused)
{
    expect_refusal(write_all((const uint8_t *)"name: x\n", 8), "no record");
    expect_refusal(write_all((const uint8_t *)"", 0), "no record");
    expect_refusal(records_path("nothing"), "No such file");
    expect_refusal(records_path("."), "no record");
}

TEST(another_version_is_refused)
{
    size_t n = 0;
    uint8_t *const bytes = read_all(small_record(), &n);
    bytes[RECORD_MAGIC_BYTES]++;
    expect_refusal(write_all(bytes, n), "version 5");
    bytes[RECORD_MAGIC_BYTES] = 0;
    expect_refusal(write_all(bytes, n), "version 0");
}

TEST(a_record_of_the_first_version_is_replayed)
{
    size_t n = 0;
    uint8_t *const bytes = read_all(small_record(), &n);
    dsgd_replay_result now = records_replay(records_path("small"), 1);
    bytes[RECORD_MAGIC_BYTES] = 1;
    dsgd_replay_result then = records_replay(write_all(bytes, n), 1);
    ck_assert_double_eq(then.points[0].at.loss, now.points[0].at.loss);
}

/* --- what is whole, but makes no sense -------------------------------------------------------- */

enum { MOST_BLOCKS = 8 };

/** The parts of a record, to be reassembled with good checksums. */
typedef struct parts {
    size_t n;
    char kinds[MOST_BLOCKS][5];
    uint8_t *bytes[MOST_BLOCKS];
    size_t sizes[MOST_BLOCKS];
} parts;

static parts take_apart(const char *path)
{
    parts p = {0};
    record_file file;
    ck_assert_int_eq(record_open(&file, path, NULL), DSGD_OK);
    do {
        ck_assert_int_eq(record_next(&file, NULL), DSGD_OK);
        memcpy(p.kinds[p.n], file.kind, sizeof file.kind);
        p.sizes[p.n] = file.n;
        p.bytes[p.n] = dsgd_keep(1, file.n + 1);
        memcpy(p.bytes[p.n++], file.bytes, file.n);
    } while (strcmp(file.kind, RECORD_DONE) != 0);
    record_close(&file);
    return p;
}

static const char *put_together(const parts *p)
{
    const char *const path = records_path("altered");
    unlink(path);
    FILE *const stream = fopen(path, "wb");
    fwrite(RECORD_MAGIC, RECORD_MAGIC_BYTES, 1, stream);
    fwrite((const uint8_t[]){RECORD_VERSION, 0, 0, 0}, 4, 1, stream);
    for (size_t i = 0; i < p->n; i++)
        record_write_block(stream, p->kinds[i], p->bytes[i], p->sizes[i]);
    fclose(stream);
    return path;
}

/** Replaces a text of the head. */
static void alter_head(parts *p, const char *old, const char *new)
{
    const char *const head = (const char *)p->bytes[0];
    const char *const at = strstr(head, old);
    ck_assert_msg(at != NULL, "%s is not in %s", old, head);
    char *const altered = dsgd_xprintf("%.*s%s%s", (int)(at - head), head, new, at + strlen(old));
    p->bytes[0] = (uint8_t *)altered;
    p->sizes[0] = strlen(altered);
}

static const struct {
    const char *old, *new, *sentence;
} heads[] = {
    {"\"model\":", "\"modal\":", "model is missing"},
    {"\"name\":\"hyperplane\"},\"data\"", "\"name\":\"resnet\"},\"data\"", "knows no `resnet`"},
    {"\"features\":6", "\"features\":7", "the data `hyperplane` is not that of the run"},
    {"\"features\":6", "\"feathers\":6", "option `feathers` is unknown"},
    {"\"features\":6", "\"features\":0", "features is 0, but has to be between 1 and"},
    {"\"features\":6", "\"features\":\"x\"", "has to be a number"},
    {"\"features\":6", "\"features\":6.5", "has to be a whole number"},
    {"\"workers\":4", "\"workers\":0", "workers is 0"},
    {"\"pieces\":[0", "\"pieces\":[1", "pieces"},
    {"\"precision\":\"double\"", "\"precision\":\"half\"", "precision"},
    {"\"initial_checksum\":", "\"initial_checksum\":1", "initial_checksum"},
    {"\"problem\":", "\"problems\":", "head"},
    {"{", "", "head"},
};

TEST_ROWS(a_head_of_something_else_is_refused, heads)
{
    parts p = take_apart(small_record());
    alter_head(&p, heads[_i].old, heads[_i].new);
    expect_refusal(put_together(&p), heads[_i].sentence);
}

TEST(another_beginning_of_the_model_is_refused)
{
    parts p = take_apart(small_record());
    json_t *const head = json_loads((const char *)p.bytes[0], 0, NULL);
    json_t *const problem = json_object_get(head, "problem");
    const json_int_t sum = json_integer_value(json_object_get(problem, "initial_checksum"));
    json_object_set_new(problem, "initial_checksum", json_integer(sum ^ 1));
    p.bytes[0] = (uint8_t *)json_dumps(head, JSON_COMPACT);
    p.sizes[0] = strlen((const char *)p.bytes[0]);
    expect_refusal(put_together(&p), "does not begin with the numbers of the run");
}

TEST(a_record_without_all_its_work_is_refused)
{
    parts p = take_apart(small_record());
    ck_assert_uint_eq(p.n, 3);
    parts without = p;
    without.n = 2;
    memcpy(without.kinds[1], p.kinds[2], sizeof p.kinds[2]);
    without.bytes[1] = p.bytes[2];
    without.sizes[1] = p.sizes[2];
    expect_refusal(put_together(&without), "has 0 operations");
}

/**
 * Operations of a forged block, and why they are refused. The record has four workers, two pieces
 * and momentum.
 */
static const struct {
    size_t n;
    uint8_t bytes[24];
    const char *sentence;
} forged[] = {
    {1, {0}, "an operation is unknown"},
    {1, {15}, "an operation is unknown"},
    {17, {6}, "a point of the curve has no evaluation"},
    {2, {5, 0}, "nothing is evaluated"},
    {2, {5, 100}, "there are more models than bytes"},
    {12,
     {5, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1, 0},
     "there are more models than bytes"},
    {24, {7}, "a result has no evaluation"},
    {3, {10, 0, 0}, "what is given back is not there"},
    {3, {10, 0, 1}, "what is given back is not there"},
    {3, {10, 0, 9}, "what is given back is not there"},
    {3, {10, 0, 11}, "what is given back is not there"},
    {3, {2, 8, 0}, "there is no such worker"},
    {4, {2, 1, 0, 0}, "there is no such worker"},
    {2, {2 | 16, 4}, "a mini-batch has more samples, or none"},
    {4, {2 | 16, 0, 11, 11}, "an operand is not there"},
    {1, {2}, "it ends within an operation"},
    {12, {2, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255}, "a number has too many bytes"},
    {3, {1 | 16, 0, 2}, "a vector is of no known form"},
    {3, {1 | 16, 0, 1}, "it ends within an operation"},
    {3, {1 | 16, 3, 0}, "there is no such piece"},
    {3, {1 | 16, 2, 0}, "there is no model state"},
    {6, {3 | 16, 2, 1, 0, 0, 0}, "a model state is updated"},
    {3, {4 | 16, 0, 100}, "there are more operands than bytes"},
    {4, {4 | 16, 0, 1, 0}, "it ends within an operation"},
    {12, {4 | 16, 0, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1}, "more operands than bytes"},
    {5, {4 | 16, 0, 1, 129, 2}, "a number is none that was seen"},
    {7, {4 | 16, 0, 1, 1, 1, 0, 0}, "an operation gives nothing"},
    /* The initial model's piece 0, and that as piece 1. */
    {9, {1 | 16, 0, 0, 4 | 16, 1, 1, 1, 1, 11}, "an operand is of another piece"},
    /* An update of it without a gradient, and its velocity as a model. */
    {15,
     {1 | 16, 0, 0, 3 | 16, 0, 1, 1, 0, 0, 4 | 16, 0, 1, 1, 1, 13},
     "an operand is of another piece"},
};

TEST_ROWS(a_forged_operation_is_refused, forged)
{
    parts p = take_apart(small_record());
    p.sizes[1] = forged[_i].n;
    memcpy(p.bytes[1], forged[_i].bytes, forged[_i].n);
    expect_refusal(put_together(&p), forged[_i].sentence);
}

/** Makes the checksum of a block's frame right, behind which its packed bytes follow. */
static void seal(uint8_t *frame, size_t n_packed)
{
    const uint32_t sum = (uint32_t)crc32(crc32(0, frame, 12), frame + 16, (uInt)n_packed);
    for (int i = 0; i < 4; i++)
        frame[12 + i] = (uint8_t)(sum >> 8 * i);
}

TEST(a_block_that_unpacks_to_less_is_refused)
{
    size_t n = 0;
    uint8_t *const bytes = read_all(small_record(), &n);
    uint8_t *const frame = bytes + RECORD_MAGIC_BYTES + 4;
    const size_t n_packed = frame[4] + 256u * frame[5];
    frame[8]++; /* unpacked bytes */
    seal(frame, n_packed);
    expect_refusal(write_all(bytes, n),
                   "block 1 of the record, which begins at byte 16, is damaged");
}

#if !defined(DSGD_ADDRESS_SANITIZER) && !defined(DSGD_THREAD_SANITIZER) /* which map terabytes */
/** Though its packed bytes could make it, and its checksum is right: there is no memory for it
 * here. */
TEST(a_block_of_more_than_a_gibibyte_is_refused_before_it_is_allocated)
{
    enum { N_PACKED = 1100000 };
    size_t n = 0;
    uint8_t *const bytes = dsgd_keep(RECORD_MAGIC_BYTES + 20 + N_PACKED, 1);
    uint8_t *const frame = bytes + RECORD_MAGIC_BYTES + 4;
    memcpy(bytes, read_all(small_record(), &n), RECORD_MAGIC_BYTES + 4 + 4);
    const uint32_t sizes[] = {htole32(N_PACKED), htole32(RECORD_MOST_BYTES + 1u)};
    memcpy(frame + 4, sizes, sizeof sizes);
    seal(frame, N_PACKED);
    FILE *const stream = fopen("/proc/self/statm", "r");
    ck_assert_ptr_nonnull(stream);
    uintmax_t pages = 0;
    ck_assert_int_eq(fscanf(stream, "%ju", &pages), 1);
    fclose(stream);
    const rlim_t most = pages * (rlim_t)sysconf(_SC_PAGESIZE) + RECORD_MOST_BYTES / 4;
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &(struct rlimit){most, most}), 0);
    expect_refusal(write_all(bytes, RECORD_MAGIC_BYTES + 20 + N_PACKED),
                   "block 1 of the record, which begins at byte 16, is damaged");
}
#endif

TEST_RANGE(pieces_that_do_not_cover_the_model_are_refused, 0, 4)
{
    static const double pieces[][3] = {{0, 9, 7}, {0, 4, 8}, {0, 4, 6}, {1, 4, 7}};
    parts p = take_apart(small_record());
    json_t *const head = json_loads((const char *)p.bytes[0], 0, NULL);
    json_t *const wrong = json_array();
    for (size_t k = 0; k < 3; k++)
        json_array_append_new(wrong, json_real(pieces[_i][k]));
    json_object_set_new(json_object_get(head, "problem"), "pieces", wrong);
    p.bytes[0] = (uint8_t *)json_dumps(head, JSON_COMPACT);
    p.sizes[0] = strlen((const char *)p.bytes[0]);
    expect_refusal(put_together(&p), "are not those of a model of 7 parameters");
}

/** Either it is computed, or it is refused. */
static void try_out(const parts *p, size_t *n_good)
{
    dsgd_replay_result result;
    dsgd_error error = {""};
    const dsgd_status status = records_replay_with(put_together(p), 1, -1, &result, &error);
    ck_assert(status == DSGD_OK || (status == DSGD_EIO && error.text[0] != '\0'));
    *n_good += status == DSGD_OK;
}

TEST_RANGE(nonsense_with_good_checksums_does_no_harm, 0, 6)
{
    parts p = take_apart(small_record());
    size_t n_tried = 0;
    size_t n_good = 0;
    const size_t stride = SUPPORT_SLOW ? 5 : 1;
    for (size_t block = 0; block < 2; block++) {
        for (size_t i = (size_t)_i % stride; i < p.sizes[block]; i += stride, n_tried++) {
            const uint8_t before = p.bytes[block][i];
            const uint8_t tried[] = {0, 1, (uint8_t)(before + 1), (uint8_t)(before ^ 16), 127, 255};
            p.bytes[block][i] = tried[_i];
            try_out(&p, &n_good);
            p.bytes[block][i] = before;
        }
    }
    ck_assert_uint_gt(n_tried, 100);
    ck_assert_uint_lt(n_good, n_tried);
}

TEST(a_missing_or_doubled_byte_does_no_harm)
{
    parts p = take_apart(small_record());
    const parts whole = p;
    const size_t stride = SUPPORT_SLOW ? 7 : 1;
    size_t n_good = 0;
    for (size_t i = 0; i < whole.sizes[1]; i += stride) {
        for (int twice = 0; twice < 2; twice++) {
            const size_t rest = whole.sizes[1] - i;
            p.bytes[1] = dsgd_keep(1, whole.sizes[1] + 2);
            memcpy(p.bytes[1], whole.bytes[1], i + (size_t)twice);
            memcpy(p.bytes[1] + i + twice, whole.bytes[1] + i + !twice, rest - (size_t)!twice);
            p.sizes[1] = twice ? whole.sizes[1] + 1 : whole.sizes[1] - 1;
            if (twice)
                memcpy(p.bytes[1] + i + 1, whole.bytes[1] + i, rest);
            try_out(&p, &n_good);
        }
    }
    p.bytes[1] = whole.bytes[1];
}
