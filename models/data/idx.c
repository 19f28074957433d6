/**
 * @file idx.c
 * Images and labels in the IDX format of MNIST, plain or gzipped: four big-endian integers (magic,
 * count, rows, columns) or two (magic, count), then bytes.
 */
#include <endian.h>
#include <zlib.h>

#include "models/data/data.h"

enum {
    MAGIC_IMAGES = 0x803,
    MAGIC_LABELS = 0x801,
    MOST_SAMPLES = 100000000,
    MOST_PIXELS = 1 << 24,
    MOST_AT_ONCE = 1 << 30
};

/** The header of a file. */
typedef struct idx {
    uint32_t n, pixels, width;
} idx;

static bool read_number(gzFile file, uint32_t *number)
{
    const bool is = gzread(file, number, sizeof *number) == (int)sizeof *number;
    *number = be32toh(*number);
    return is;
}

static dsgd_status read_header(gzFile file, const char *path, uint32_t magic, idx *out,
                               dsgd_error *error)
{
    uint32_t got = 0;
    uint32_t rows = 1;
    uint32_t columns = 1;
    if (!read_number(file, &got) || !read_number(file, &out->n))
        return dsgd_fail(error, DSGD_EIO, "%s: the file ends within its header", path);
    if (got != magic)
        return dsgd_fail(error, DSGD_EIO,
                         "%s: the file begins with 0x%x, but IDX %s begin with 0x%x", path, got,
                         magic == MAGIC_IMAGES ? "images" : "labels", magic);
    if (magic == MAGIC_IMAGES && (!read_number(file, &rows) || !read_number(file, &columns)))
        return dsgd_fail(error, DSGD_EIO, "%s: the file ends within its header", path);
    if (out->n == 0 || out->n > MOST_SAMPLES || rows == 0 || columns == 0 ||
        (uint64_t)rows * columns > MOST_PIXELS)
        return dsgd_fail(error, DSGD_EIO, "%s: %u samples of %u by %u cannot be", path, out->n,
                         rows, columns);
    out->pixels = rows * columns;
    out->width = columns;
    return DSGD_OK;
}

/** Reads the data, [n][pixels], in chunks: a wrong header costs no memory. */
static dsgd_status read_bytes(gzFile file, const char *path, const idx *header, uint8_t **bytes,
                              dsgd_error *error)
{
    const size_t wanted = (size_t)header->n * header->pixels;
    size_t got = 0;
    while (got < wanted) {
        const size_t most = got == 0 ? 1 << 20 : got < MOST_AT_ONCE ? got : MOST_AT_ONCE;
        const size_t n = wanted - got < most ? wanted - got : most;
        *bytes = dsgd_xrealloc(*bytes, got + n, 1);
        const int count = gzread(file, *bytes + got, (unsigned)n);
        if (count <= 0)
            return dsgd_fail(error, DSGD_EIO, "%s: the file is cut off after %zu of %zu bytes",
                             path, got, wanted);
        got += (size_t)count;
    }
    uint8_t more = 0;
    if (gzread(file, &more, 1) > 0)
        return dsgd_fail(error, DSGD_EIO, "%s: the file goes on after its %u samples", path,
                         header->n);
    int code = Z_OK; /* a wrong checksum shows only at the very end */
    const char *const trouble = gzerror(file, &code);
    if (code != Z_OK)
        return dsgd_fail(error, DSGD_EIO, "%s: the file is damaged: %s", path, trouble);
    return DSGD_OK;
}

static dsgd_status read_idx(const char *path, uint32_t magic, idx *header, uint8_t **bytes,
                            dsgd_error *error)
{
    errno = 0;
    gzFile const file = gzopen(path, "rb");
    if (file == NULL)
        return dsgd_fail(error, DSGD_EIO, "%s: the data cannot be read: %s", path,
                         errno == 0 ? "out of memory" : strerror(errno));
    dsgd_status status = read_header(file, path, magic, header, error);
    if (status == DSGD_OK)
        status = read_bytes(file, path, header, bytes, error);
    gzclose(file);
    return status;
}

static dsgd_status read_part(const char *images_path, const char *labels_path, dsgd_data *data,
                             dsgd_samples *part, dsgd_error *error)
{
    idx images;
    idx labels;
    DSGD_TRY(read_idx(images_path, MAGIC_IMAGES, &images, &part->x_bytes, error));
    part->n = images.n;
    if (data->n_features != 0 && data->n_features != images.pixels)
        return dsgd_fail(error, DSGD_EIO, "%s: images of %u pixels, but those to train on have %u",
                         images_path, images.pixels, data->n_features);
    if (data->width != 0 && data->width != images.width)
        return dsgd_fail(error, DSGD_EIO,
                         "%s: images of %u by %u pixels, but those to train on have %u by %u",
                         images_path, images.pixels / images.width, images.width,
                         images.pixels / data->width, data->width);
    data->n_features = data->n_rows = images.pixels;
    data->width = images.width;
    DSGD_TRY(read_idx(labels_path, MAGIC_LABELS, &labels, &part->labels, error));
    if (labels.n != images.n)
        return dsgd_fail(error, DSGD_EIO, "%s: %u labels for the %u images of %s", labels_path,
                         labels.n, images.n, images_path);
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

/** Counts the classes; @p path: of the labels to test on. */
static dsgd_status count_classes(dsgd_data *data, const char *path, dsgd_error *error)
{
    for (uint32_t i = 0; i < data->train.n; i++)
        if (data->train.labels[i] >= data->n_classes)
            data->n_classes = data->train.labels[i] + 1u;
    for (uint32_t i = 0; i < data->test.n; i++)
        if (data->test.labels[i] >= data->n_classes)
            return dsgd_fail(
                error, DSGD_EIO,
                "%s: label %u of sample %u never occurs in training, where the largest is %u", path,
                data->test.labels[i], i, data->n_classes - 1);
    return DSGD_OK;
}

static dsgd_status read_all(const char *const paths[4], dsgd_data *data, dsgd_error *error)
{
    DSGD_TRY(read_part(paths[0], paths[1], data, &data->train, error));
    DSGD_TRY(read_part(paths[2], paths[3], data, &data->test, error));
    DSGD_TRY(count_classes(data, paths[3], error));
    normalise(data);
    return DSGD_OK;
}

static dsgd_status load(const char *const paths[4], dsgd_data **loaded, dsgd_error *error)
{
    dsgd_data *const data = dsgd_xcalloc(1, sizeof *data);
    *data = (dsgd_data){.kind = DSGD_DATA_IMAGES, .n_columns = 1, .n_labels = 1};
    const dsgd_status status = read_all(paths, data, error);
    if (status == DSGD_OK)
        *loaded = data;
    else
        dsgd_data_free(data);
    return status;
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
        "folder of the four files; Debian's package dataset-fashion-mnist puts them there",
        .init_text = "/usr/share/datasets/fashion-mnist", .unit = "path"),
    DSGD_OPTION_END,
};

DSGD_DATA_SOURCE(fashion_mnist, false, .name = "fashion-mnist",
                 .summary = "60,000 and 10,000 images of 28 by 28 pixels, 10 kinds of clothing",
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
    DSGD_OPTION_AS("train_images", STRING, idx_params, paths[0], "IDX file, plain or gzipped",
                   .required = true, .unit = "path"),
    DSGD_OPTION_AS("train_labels", STRING, idx_params, paths[1], "IDX file of as many labels",
                   .required = true, .unit = "path"),
    DSGD_OPTION_AS("test_images", STRING, idx_params, paths[2],
                   "IDX file of images of the same size", .required = true, .unit = "path"),
    DSGD_OPTION_AS("test_labels", STRING, idx_params, paths[3], "IDX file of as many labels",
                   .required = true, .unit = "path"),
    DSGD_OPTION_END,
};

DSGD_DATA_SOURCE(idx, false, .name = "idx",
                 .summary = "any images and labels in the IDX format of MNIST",
                 DSGD_PARAMS(idx_params, idx_options));
