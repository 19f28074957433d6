/**
 * @file text.c
 * Reads a text as characters. A sample is a window of the text. The label of each character in the
 * window is the next character. The last tenth of the text is the test set.
 */
#include "models/data/data.h"

typedef struct text_params {
    const char *path;
    int64_t context;
} text_params;

enum { MOST_BYTES = 1 << 28, N_BYTES = 256 };

/**
 * Returns samples of @p context tokens with their labels. One window begins every @p step tokens.
 */
static dsgd_samples windows(const uint8_t *tokens, size_t n, size_t context, size_t step)
{
    const size_t n_windows = (n - context - 1) / step + 1;
    dsgd_samples out = {.n = (uint32_t)n_windows,
                        .x_bytes = dsgd_xcalloc(n_windows * context, 1),
                        .labels = dsgd_xcalloc(n_windows * context, 1)};
    for (size_t i = 0; i < n_windows; i++) {
        memcpy(out.x_bytes + i * context, tokens + i * step, context);
        memcpy(out.labels + i * context, tokens + i * step + 1, context);
    }
    return out;
}

static dsgd_status text_load(const void *params, uint64_t seed, dsgd_data **loaded,
                             dsgd_error *error)
{
    (void)seed;
    const text_params *p = params;
    const size_t context = (size_t)p->context;
    uint8_t *bytes = NULL;
    size_t n = 0;
    dsgd_status status = dsgd_data_read_file(p->path, MOST_BYTES, &bytes, &n, error);
    const size_t n_test = n / 10;
    if (status == DSGD_OK && n_test < context + 1)
        status = dsgd_fail(
            error, DSGD_EIO,
            "%s: the text must have at least %zu characters for a context of %zu, got %zu", p->path,
            10 * (context + 1), context, n);
    if (status != DSGD_OK) {
        free(bytes);
        return status;
    }
    uint32_t token_of[N_BYTES] = {0};
    uint32_t n_tokens = 0;
    for (size_t i = 0; i < n; i++)
        token_of[bytes[i]] = 1;
    for (size_t i = 0; i < N_BYTES; i++)
        token_of[i] = token_of[i] == 0 ? 0 : n_tokens++;
    for (size_t i = 0; i < n; i++)
        bytes[i] = (uint8_t)token_of[bytes[i]];
    *loaded = dsgd_xcalloc(1, sizeof **loaded);
    **loaded = (dsgd_data){.kind = DSGD_DATA_TOKENS,
                           .n_rows = (uint32_t)context,
                           .n_columns = 1,
                           .width = 1,
                           .n_features = (uint32_t)context,
                           .n_labels = (uint32_t)context,
                           .n_classes = n_tokens,
                           .deviation = 1,
                           .train = windows(bytes, n - n_test, context, context / 2 + context % 2),
                           .test = windows(bytes + (n - n_test), n_test, context, context)};
    free(bytes);
    return DSGD_OK;
}

static const dsgd_option text_options[] = {
    DSGD_OPTION_STRING(text_params, path,
                       "text file, plain or gzipped; the default exists on every Debian system",
                       .init_text = "/usr/share/common-licenses/GPL-3", .unit = "path"),
    DSGD_OPTION_LONG(text_params, context, 32, 1, 4096, "characters", "characters per sample"),
    DSGD_OPTION_END,
};

DSGD_DATA_SOURCE(text, false, .name = "text",
                 .summary = "characters of a text; each is predicted from the characters before it",
                 DSGD_PARAMS(text_params, text_options));
