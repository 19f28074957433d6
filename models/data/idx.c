/**
 * @file idx.c
 * Reads images and labels in the IDX format of MNIST, plain or gzipped. An image file starts with
 * four big-endian integers: magic number, number of images, rows and columns. A label file starts
 * with two integers: magic number and number of labels. The images or labels follow as bytes.
 */
#include <endian.h>

#include "models/data/data.h"

enum {
    MAGIC_IMAGES = 0x803,
    MAGIC_LABELS = 0x801,
    MOST_SAMPLES = 100000000,
    MOST_PIXELS = 1 << 24
};
static const size_t most_bytes = (size_t)1 << 40;

/** Header of an IDX file. n is the number of samples. */
typedef struct idx {
    uint32_t magic, n, rows, columns;
} idx;

/** Reads an IDX file. Stores the data after the header in *bytes, as [n][rows][columns]. */
static dsgd_status read_idx(const char *path, uint32_t magic, idx *header, uint8_t **bytes,
                            dsgd_error *error)
{
    uint32_t numbers[] = {0, 0, 1, 1};
    const size_t n_header = (magic == MAGIC_IMAGES ? 4 : 2) * sizeof *numbers;
    size_t n = 0;
    DSGD_TRY(dsgd_data_read_file(path, most_bytes, bytes, &n, error));
    memcpy(numbers, *bytes, n < n_header ? n : n_header);
    for (size_t i = 0; i < n_header / sizeof *numbers; i++)
        numbers[i] = be32toh(numbers[i]);
    *header = (idx){numbers[0], numbers[1], numbers[2], numbers[3]};
    if (n >= sizeof *numbers && header->magic != magic)
        return dsgd_fail(error, DSGD_EIO,
                         "%s: the file begins with 0x%x, but IDX %s begin with 0x%x", path,
                         header->magic, magic == MAGIC_IMAGES ? "images" : "labels", magic);
    if (n < n_header)
        return dsgd_fail(error, DSGD_EIO, "%s: the file ends within its header", path);
    const uint64_t pixels = (uint64_t)header->rows * header->columns;
    if (header->n == 0 || header->n > MOST_SAMPLES || pixels == 0 || pixels > MOST_PIXELS)
        return dsgd_fail(error, DSGD_EIO,
                         "%s: the header gives %u samples of %u by %u. Valid are 1 to %d samples "
                         "of 1 to %d pixels",
                         path, header->n, header->rows, header->columns, MOST_SAMPLES, MOST_PIXELS);
    if (n - n_header != header->n * pixels)
        return dsgd_fail(error, DSGD_EIO,
                         "%s: the file has %zu bytes of data, but its header gives %zu bytes", path,
                         n - n_header, (size_t)(header->n * pixels));
    memmove(*bytes, *bytes + n_header, n - n_header);
    return DSGD_OK;
}

static dsgd_status read_part(const char *images_path, const char *labels_path, dsgd_data *data,
                             dsgd_samples *part, dsgd_error *error)
{
    idx images;
    idx labels;
    DSGD_TRY(read_idx(images_path, MAGIC_IMAGES, &images, &part->x_bytes, error));
    part->n = images.n;
    const uint32_t pixels = images.rows * images.columns;
    if (data->width != 0 && (data->n_features != pixels || data->width != images.columns))
        return dsgd_fail(error, DSGD_EIO,
                         "%s: test images have %u by %u pixels, but training images have %u by %u",
                         images_path, images.rows, images.columns, data->n_features / data->width,
                         data->width);
    data->n_features = data->n_rows = pixels;
    data->width = images.columns;
    DSGD_TRY(read_idx(labels_path, MAGIC_LABELS, &labels, &part->labels, error));
    if (labels.n != images.n)
        return dsgd_fail(error, DSGD_EIO,
                         "%s: the number of labels must be the number of images in %s, %u, got %u",
                         labels_path, images_path, images.n, labels.n);
    return DSGD_OK;
}

static void normalise(dsgd_data *data)
{
    const size_t n = (size_t)data->train.n * data->n_features;
    uint64_t sum = 0;
    uint64_t squares = 0;
    for (size_t i = 0; i < n; i++) {
        sum += data->train.x_bytes[i];
        squares += (uint64_t)data->train.x_bytes[i] * data->train.x_bytes[i];
    }
    const double mean = (double)sum / (double)n;
    const double variance = (double)squares / (double)n - mean * mean;
    data->mean = (float)(mean / 255);
    data->deviation = variance > 0 ? (float)(sqrt(variance) / 255) : 1;
}

/**
 * Counts the classes of the training labels, and rejects test labels of other classes. @p path is
 * the file of the test labels.
 */
static dsgd_status count_classes(dsgd_data *data, const char *path, dsgd_error *error)
{
    for (uint32_t i = 0; i < data->train.n; i++)
        if (data->train.labels[i] >= data->n_classes)
            data->n_classes = data->train.labels[i] + 1u;
    for (uint32_t i = 0; i < data->test.n; i++)
        if (data->test.labels[i] >= data->n_classes)
            return dsgd_fail(error, DSGD_EIO,
                             "%s: label %u of sample %u does not occur in training, where the "
                             "largest label is %u",
                             path, data->test.labels[i], i, data->n_classes - 1);
    return DSGD_OK;
}

static dsgd_status load(const char *const paths[4], dsgd_data **loaded, dsgd_error *error)
{
    dsgd_data *const data = dsgd_xcalloc(1, sizeof *data);
    *data = (dsgd_data){.kind = DSGD_DATA_IMAGES, .n_columns = 1, .n_labels = 1};
    dsgd_status status = read_part(paths[0], paths[1], data, &data->train, error);
    if (status == DSGD_OK)
        status = read_part(paths[2], paths[3], data, &data->test, error);
    if (status == DSGD_OK)
        status = count_classes(data, paths[3], error);
    if (status != DSGD_OK) {
        dsgd_data_free(data);
        return status;
    }
    normalise(data);
    *loaded = data;
    return DSGD_OK;
}

typedef struct fashion_params {
    const char *path;
} fashion_params;

static dsgd_status fashion_mnist_load(const void *params, uint64_t seed, dsgd_data **data,
                                      dsgd_error *error)
{
    (void)seed;
    static const char *const names[4] = {"train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz",
                                         "t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"};
    const fashion_params *p = params;
    char *paths[4];
    for (size_t i = 0; i < 4; i++)
        paths[i] = dsgd_xprintf("%s/%s", p->path, names[i]);
    return load((const char *const *)paths, data, error);
}

static const dsgd_option fashion_options[] = {
    DSGD_OPTION_STRING(
        fashion_params, path,
        "folder of the four files; the default is that of Debian's package dataset-fashion-mnist",
        .init_text = "/usr/share/datasets/fashion-mnist", .unit = "path"),
    DSGD_OPTION_END,
};

DSGD_DATA_SOURCE(
    fashion_mnist, false, .name = "fashion-mnist",
    .summary = "60,000 training and 10,000 test images of 28 by 28 pixels, 10 classes of clothing",
    .reference = "H. Xiao, K. Rasul, R. Vollgraf, 2017, arXiv 1708.07747",
    DSGD_PARAMS(fashion_params, fashion_options));

typedef struct idx_params {
    const char *paths[4];
} idx_params;

static dsgd_status idx_load(const void *params, uint64_t seed, dsgd_data **data, dsgd_error *error)
{
    (void)seed;
    return load(((const idx_params *)params)->paths, data, error);
}

static const dsgd_option idx_options[] = {
    DSGD_OPTION_AS("train_images", STRING, idx_params, paths[0],
                   "IDX file of training images, plain or gzipped", .required = true,
                   .unit = "path"),
    DSGD_OPTION_AS("train_labels", STRING, idx_params, paths[1], "IDX file of their labels",
                   .required = true, .unit = "path"),
    DSGD_OPTION_AS("test_images", STRING, idx_params, paths[2],
                   "IDX file of test images of the same size", .required = true, .unit = "path"),
    DSGD_OPTION_AS("test_labels", STRING, idx_params, paths[3], "IDX file of their labels",
                   .required = true, .unit = "path"),
    DSGD_OPTION_END,
};

DSGD_DATA_SOURCE(idx, false, .name = "idx",
                 .summary = "images and labels in the IDX format of MNIST",
                 DSGD_PARAMS(idx_params, idx_options));
