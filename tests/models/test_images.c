/**
 * @file test_images.c
 * Tests image data sets: plain, zipped and damaged IDX files, and Fashion-MNIST.
 */
#include <unistd.h>
#include <zlib.h>

#include "tests/support/suite.h"
#include "tests/support/support.h"

static const dsgd_data_source *source(const char *name)
{
    const dsgd_data_source *found = (const void *)dsgd_entry_find(dsgd_data_sources, name);
    ck_assert_ptr_nonnull(found);
    return found;
}

enum { IMAGES, LABELS, TEST_IMAGES, TEST_LABELS, FILES };

/** The paths of four small IDX files in a folder of the test. */
typedef struct folder {
    char path[64];
    char *files[FILES];
} folder;

static void write_file(const char *path, const uint8_t *bytes, size_t n, bool zipped)
{
    /* the mode with T writes the file without compression */
    gzFile const file = gzopen(path, zipped ? "wb" : "wbT");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(gzwrite(file, bytes, (unsigned)n), (int)n);
    ck_assert_int_eq(gzclose(file), Z_OK);
}

static const uint8_t good_images[] = {0, 0, 8, 3, 0, 0, 0,  2,  0,  0,  0,
                                      1, 0, 0, 0, 3, 0, 10, 20, 30, 40, 250};
static const uint8_t good_labels[] = {0, 0, 8, 1, 0, 0, 0, 2, 1, 0};

static folder *f; /* folder of the running test */

static void make_folder(void)
{
    f = dsgd_keep(1, sizeof *f);
    strcpy(f->path, "/tmp/dsgd-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(f->path));
    static const char *const names[FILES] = {"images", "labels.gz", "test-images.gz",
                                             "test-labels"};
    for (size_t i = 0; i < FILES; i++) {
        f->files[i] = dsgd_xprintf("%s/%s", f->path, names[i]);
        const bool images = i == IMAGES || i == TEST_IMAGES;
        write_file(f->files[i], images ? good_images : good_labels,
                   images ? sizeof good_images : sizeof good_labels,
                   i == LABELS || i == TEST_IMAGES);
    }
}

static void remove_folder(void)
{
    for (size_t i = 0; i < FILES; i++)
        unlink(f->files[i]);
    rmdir(f->path);
}

static dsgd_data *load(dsgd_status wanted, dsgd_error *error)
{
    const dsgd_data_source *const idx = source("idx");
    dsgd_data *data = NULL;
    ck_assert_uint_eq(idx->about.params_size, sizeof f->files);
    const dsgd_status status = idx->load(f->files, 1, &data, error);
    ck_assert_msg(status == wanted, "%d: %s", (int)status, error->text);
    return data;
}

SUITE(images, "images", .seconds = 60, .set_up = make_folder, .tear_down = remove_folder);

TEST(idx_files_are_read_plain_or_zipped)
{
    dsgd_error error = {""};
    dsgd_data *const data = load(DSGD_OK, &error);
    ck_assert_uint_eq(data->n_features, 3);
    ck_assert_uint_eq(data->n_rows, 3);
    ck_assert_uint_eq(data->width, 3);
    ck_assert_uint_eq(data->n_classes, 2);
    ck_assert_uint_eq(data->train.n, 2);
    ck_assert_mem_eq(data->train.x_bytes, good_images + 16, 6);
    ck_assert_mem_eq(data->test.x_bytes, good_images + 16, 6);
    ck_assert_mem_eq(data->train.labels, good_labels + 8, 2);
    const double mean = 350.0 / 6, variance = (100 + 400 + 900 + 1600 + 62500) / 6.0 - mean * mean;
    ck_assert_double_eq_tol((double)data->mean, mean / 255, 1e-7);
    ck_assert_double_eq_tol((double)data->deviation, sqrt(variance) / 255, 1e-7);
    dsgd_data_free(data);
}

/** A change to a file, and the error that follows the file's name in the message. */
typedef struct damage {
    int file;
    size_t keep; /* number of bytes of the intact file to keep */
    size_t at; /* index of the byte that is replaced by `value`, or 0 if no byte is replaced */
    uint8_t value;
    size_t more; /* number of bytes that are appended to the file */
    const char *said;
} damage;

static const damage damages[] = {
    {IMAGES, 0, 0, 0, 0, "the file ends within its header"},
    {IMAGES, 15, 0, 0, 0, "the file ends within its header"},
    {LABELS, 7, 0, 0, 0, "the file ends within its header"},
    {IMAGES, 22, 3, 1, 0, "the file begins with 0x801, but IDX images begin with 0x803"},
    {LABELS, 10, 2, 9, 0, "the file begins with 0x901, but IDX labels begin with 0x801"},
    {IMAGES, 22, 7, 0, 0, "the header gives 0 samples of 1 by 3. "},
    {IMAGES, 22, 12, 255, 0, "the header gives 2 samples of 1 by 4278190083. "},
    {IMAGES, 22, 8, 255, 0, "the header gives 2 samples of 4278190081 by 3. "},
    {IMAGES, 21, 0, 0, 0, "the file has 5 bytes of data, but its header gives 6 bytes"},
    {TEST_IMAGES, 22, 5, 1, 0, "the file has 6 bytes of data, but its header gives 196614 bytes"},
    {TEST_LABELS, 10, 0, 0, 3, "the file has 5 bytes of data, but its header gives 2 bytes"},
    {LABELS, 9, 7, 1, 0, "the number of labels must be the number of images in "},
    {TEST_IMAGES, 20, 15, 2, 0, "test images have 1 by 2 pixels, but training images have 1 by 3"},
    {TEST_LABELS, 10, 9, 2, 0,
     "label 2 of sample 1 does not occur in training, where the largest label is 1"},
};
enum { DAMAGES = sizeof damages / sizeof damages[0] };

/* The loop variable _i is the index of an entry of damages. */
TEST_RANGE(a_damaged_file_is_named_with_what_is_wrong, 0, DAMAGES)
{
    const damage *const d = &damages[_i];
    uint8_t bytes[64] = {0};
    const bool images = d->file == IMAGES || d->file == TEST_IMAGES;
    memcpy(bytes, images ? good_images : good_labels, d->keep);
    if (d->at > 0)
        bytes[d->at] = d->value;
    write_file(f->files[d->file], bytes, d->keep + d->more,
               d->file == LABELS || d->file == TEST_IMAGES);
    dsgd_error error = {""};
    ck_assert_ptr_null(load(DSGD_EIO, &error));
    char *const wanted = dsgd_xprintf("%s: %s", f->files[d->file], d->said);
    ck_assert_msg(strncmp(error.text, wanted, strlen(wanted)) == 0, "%s", error.text);
}

TEST(images_with_a_different_shape_are_rejected)
{
    uint8_t turned[sizeof good_images];
    memcpy(turned, good_images, sizeof turned);
    turned[11] = 3;
    turned[15] = 1;
    write_file(f->files[TEST_IMAGES], turned, sizeof turned, true);
    dsgd_error error = {""};
    ck_assert_ptr_null(load(DSGD_EIO, &error));
    char *const wanted =
        dsgd_xprintf("%s: test images have 3 by 1 pixels, but training images have 1 by 3",
                     f->files[TEST_IMAGES]);
    ck_assert_str_eq(error.text, wanted);
}

TEST(a_missing_file_is_named)
{
    unlink(f->files[TEST_LABELS]);
    dsgd_error error = {""};
    ck_assert_ptr_null(load(DSGD_EIO, &error));
    char *const wanted = dsgd_xprintf("%s: the file cannot be read: No such file or directory",
                                      f->files[TEST_LABELS]);
    ck_assert_str_eq(error.text, wanted);
}

TEST(zipped_file_with_a_wrong_or_missing_byte_is_rejected)
{
    FILE *const in = fopen(f->files[TEST_IMAGES], "rb");
    uint8_t bytes[256];
    const size_t n = fread(bytes, 1, sizeof bytes, in);
    fclose(in);
    /* The loop starts at byte 10, after the gzip header, in which most bytes have no effect. */
    for (size_t i = 10; i < 2 * n; i++) {
        const bool cut = i >= n;
        bytes[i % n] ^= cut ? 0 : 1;
        FILE *const out = fopen(f->files[TEST_IMAGES], "wb");
        fwrite(bytes, 1, cut ? i - n : n, out);
        fclose(out);
        dsgd_error error = {""};
        ck_assert_ptr_null(load(DSGD_EIO, &error));
        ck_assert_has(error.text, f->files[TEST_IMAGES]);
        bytes[i % n] ^= cut ? 0 : 1;
    }
}

static dsgd_data *fashion(void)
{
    const dsgd_data_source *const s = source("fashion-mnist");
    const char *path = NULL;
    ck_assert_uint_eq(s->about.params_size, sizeof path);
    dsgd_options_default(s->about.options, (void *)&path);
    dsgd_data *data = NULL;
    dsgd_error error = {""};
    ck_assert_msg(s->load((const void *)&path, 1, &data, &error) == DSGD_OK, "%s", error.text);
    return data;
}

TEST(fashion_mnist_is_what_its_authors_say)
{
    dsgd_data *const data = fashion();
    ck_assert_uint_eq(data->train.n, 60000);
    ck_assert_uint_eq(data->test.n, 10000);
    ck_assert_uint_eq(data->n_features, 784);
    ck_assert_uint_eq(data->n_classes, 10);
    ck_assert_double_eq_tol((double)data->mean, 0.2860, 5e-5);
    ck_assert_double_eq_tol((double)data->deviation, 0.3530, 5e-5);
    uint32_t count[10] = {0};
    for (uint32_t i = 0; i < data->train.n; i++)
        count[data->train.labels[i]]++;
    for (size_t k = 0; k < 10; k++)
        ck_assert_uint_eq(count[k], 6000);
    dsgd_data_free(data);
}
