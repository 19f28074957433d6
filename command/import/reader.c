/**
 * @file reader.c
 * Stores the findings of all readers and writes them as an experiment file.
 */
#include "command/import/reader.h"

#include <ctype.h>
#include <zlib.h>

#include "base/file.h"
#include "base/json.h"
#include "command/experiment/traces.h"
#include "sim/network/nodes.h"

static const char *const assumed = "assumed: no file describes the model";

const char *dsgd_import_bytes(double bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    int i = 0;
    for (; i < 4 && bytes >= 1024; i++)
        bytes /= 1024;
    return dsgd_xprintf("%.4g %s", bytes, units[i]);
}

/**
 * Replaces all control characters except the characters in @p but by blanks. A terminal would
 * execute control characters, and a line break would end a comment.
 */
static void blank_controls(char *text, size_t n, const char *but)
{
    for (char *c = text; c < text + n; c++)
        if (*c == '\0' || (iscntrl((unsigned char)*c) && strchr(but, *c) == NULL))
            *c = ' ';
}

/**
 * Returns a copy of a text for a comment or a terminal. Replaces control characters and bytes that
 * are not UTF-8 by blanks, because YAML does not allow them.
 */
static char *plain(const char *text)
{
    const size_t n = strlen(text);
    char *const copy = dsgd_xstrdup(text);
    blank_controls(copy, n, "");
    for (size_t i = 0, length = 0; i < n; i += length) {
        length = dsgd_utf8_length(copy + i, n - i);
        if (length == 0)
            copy[i] = ' ', length = 1;
    }
    return copy;
}

dsgd_status dsgd_import_inflate(const char *path, size_t most, char **text, size_t *n,
                                dsgd_error *error)
{
    enum { STEP = 1 << 20 };
    const gzFile file = gzopen(path, "rb");
    int got = 0;
    *text = NULL;
    *n = 0;
    do {
        const size_t step = most - *n < STEP ? most - *n : STEP;
        *text = dsgd_xrealloc(*text, *n + step + 1, 1);
        got = file == NULL ? -1 : gzread(file, *text + *n, (unsigned)step);
        *n += got > 0 ? (size_t)got : 0;
    } while (got > 0 && *n < most);
    gzclose(file);
    (*text)[*n] = '\0';
    dsgd_keep_for(free, *text);
    return got >= 0 ? DSGD_OK : dsgd_fail(error, DSGD_EIO, "%s: the file cannot be read: %m", path);
}

dsgd_status dsgd_import_text(const char *path, char **text, dsgd_error *error)
{
    enum { MOST = 1 << 27 };
    size_t n = 0;
    DSGD_TRY(dsgd_import_inflate(path, MOST, text, &n, error));
    if (n >= MOST)
        return dsgd_refuse(error, "%s: the text has %s or more; give only the part with the tables",
                           path, dsgd_import_bytes(MOST));
    /* Remove the byte order mark of UTF-8. */
    if (strncmp(*text, "\xef\xbb\xbf", 3) == 0)
        memset(*text, ' ', 3);
    blank_controls(*text, n, "\t\r\n");
    return DSGD_OK;
}

void dsgd_import_gave(dsgd_import *m, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *const text = plain(dsgd_xvprintf(format, arguments));
    va_end(arguments);
    m->gave = m->gave == NULL ? text : dsgd_xprintf("%s; %s", m->gave, text);
}

void dsgd_import_gpu(dsgd_import *m, const char *name, const char *from)
{
    if (m->gpu != NULL)
        return;
    m->gpu = plain(name);
    m->gpu_from = dsgd_xstrdup(from);
}

/* --- parts of the experiment ------------------------------------------------------------------ */

void dsgd_import_line(dsgd_import *m, dsgd_import_part part, const char *from, const char *format,
                      ...)
{
    va_list arguments;
    va_start(arguments, format);
    const char *const text = dsgd_xvprintf(format, arguments);
    va_end(arguments);
    if (m->parts[part] == NULL)
        m->parts[part] = dsgd_xstrdup("");
    dsgd_append(&m->parts[part], "\n%s%s%s", text, from == NULL ? "" : " # ",
                from == NULL ? "" : plain(from));
}

bool dsgd_import_has(const dsgd_import *m, dsgd_import_part part, const char *key)
{
    return m->parts[part] != NULL && strstr(m->parts[part], dsgd_xprintf("\n%s:", key)) != NULL;
}

void dsgd_import_step(dsgd_import *m, double step_s, const char *from)
{
    if (m->parts[DSGD_IMPORT_WORKLOAD] != NULL)
        return;
    dsgd_import_line(m, DSGD_IMPORT_WORKLOAD, assumed, "like: %s", m->workload_name);
    dsgd_import_line(m, DSGD_IMPORT_WORKLOAD, from, "step: %.6g", step_s);
}

void dsgd_import_workers(dsgd_import *m, int64_t workers, const char *from)
{
    if (!dsgd_import_has(m, DSGD_IMPORT_TOP, "workers"))
        dsgd_import_line(m, DSGD_IMPORT_TOP, from, "workers: %jd", workers);
}

/* --- numbers of the platform ------------------------------------------------------------------ */

static const char nccl_keys[] = "nccl."; /* prefix of platform keys in the mapping `nccl` */

static bool is_of_nccl(const char *key)
{
    return strncmp(key, nccl_keys, strlen(nccl_keys)) == 0;
}

/** Returns the option that a key of the platform sets. Returns NULL if no such key exists. */
static const dsgd_option *option_of(const char *key)
{
    return is_of_nccl(key) ? dsgd_option_find(dsgd_nccl_options, key + strlen(nccl_keys))
                           : dsgd_option_find(dsgd_platform_options, key);
}

static void put_number(dsgd_platform *platform, const dsgd_import_number *n)
{
    void *const params = is_of_nccl(n->key) ? (void *)&platform->nccl : (void *)platform;
    dsgd_option_put(option_of(n->key), params, n->value);
}

static dsgd_import_number *number_of(const dsgd_import *m, const char *key)
{
    for (size_t i = 0; i < m->n_numbers; i++)
        if (strcmp(m->numbers[i].key, key) == 0)
            return &m->numbers[i];
    return NULL;
}

dsgd_status dsgd_import_number_is(dsgd_import *m, const char *key, double value, const char *from,
                                  dsgd_error *error)
{
    const dsgd_option *const o = option_of(key);
    const dsgd_import_number *const other = number_of(m, key);
    DSGD_ASSERT(o != NULL, "no number of a platform: %s", key);
    if ((o->kind == DSGD_LONG || o->kind == DSGD_DOUBLE) && !(value >= o->min && value <= o->max))
        return dsgd_fail(error, DSGD_EIO, "%s: %s must be between %.10g and %.10g, got %.10g", from,
                         key, o->min, o->max, value);
    if (other != NULL && fabs(other->value - value) > 1e-9 * fabs(value))
        return dsgd_refuse(
            error, "%s: %s is %s, but %s has %s; if they are of two machines, leave one out", from,
            key, dsgd_option_text(o, value), other->from, dsgd_option_text(o, other->value));
    if (other != NULL)
        return DSGD_OK;
    m->numbers = dsgd_keep_more(m->numbers, m->n_numbers + 1, sizeof *m->numbers);
    m->numbers[m->n_numbers] = (dsgd_import_number){dsgd_xstrdup(key), plain(from), value};
    if (m->is_open)
        put_number(&m->platform, &m->numbers[m->n_numbers]);
    m->n_numbers++;
    return DSGD_OK;
}

/**
 * Chooses the shipped platform that has the GPU of the imported files. Returns an error unless
 * exactly one platform has this GPU.
 */
static dsgd_status choose_platform(dsgd_import *m, dsgd_error *error)
{
    const char **found = NULL;
    char **names =
        dsgd_folder_names(dsgd_xprintf("%s/traces/platforms", dsgd_data_folder()), ".yaml");
    size_t n = 0;
    for (; m->gpu != NULL && names != NULL && *names != NULL; names++) {
        dsgd_config *config = NULL;
        dsgd_platform platform;
        (*names)[strlen(*names) - strlen(".yaml")] = '\0';
        DSGD_TRY(dsgd_platform_open(*names, &config, &platform, error));
        if (platform.gpu == NULL || strstr(m->gpu, platform.gpu) == NULL)
            continue;
        found = dsgd_keep_more(found, n + 2, sizeof *found);
        found[n++] = *names;
    }
    if (n != 1)
        return dsgd_refuse(
            error,
            "%s: %s; give a platform with the NICs and links of this machine with --platform",
            m->gpu == NULL ? "import" : m->gpu_from,
            m->gpu == NULL ? "no file names the GPU"
            : n == 0       ? dsgd_xprintf("no shipped platform has %s", m->gpu)
                           : dsgd_xprintf("%s have %s", dsgd_listed(found, " and "), m->gpu));
    m->platform_name = found[0];
    printf("%s: %s is the only shipped platform with this GPU; --platform names another\n", m->gpu,
           *found);
    return DSGD_OK;
}

/**
 * Sets a number of NICs if files contain the number of GPUs but not of NICs, and the platform's
 * number of NICs does not fit. The new number gives the same number of NICs per GPU as platform @p
 * there.
 */
static dsgd_status assume_nics(dsgd_import *m, const dsgd_platform *there, dsgd_error *error)
{
    const int64_t hosts = m->platform.island_hosts;
    if (hosts % there->island_nics == 0 || number_of(m, "island_nics") != NULL)
        return DSGD_OK;
    const int64_t share = hosts * there->island_nics / there->island_hosts,
                  nics = share > 0 ? share : 1;
    printf("warning: no file contains the number of NICs of %jd GPUs, and %jd NICs, as in %s, do "
           "not fit; "
           "%jd are assumed\n",
           hosts, there->island_nics, m->platform_name, nics);
    m->platform.island_nics = nics;
    return dsgd_import_number_is(m, "island_nics", (double)nics, "assumed", error);
}

dsgd_status dsgd_import_open_platform(dsgd_import *m, dsgd_error *error)
{
    dsgd_config *config = NULL;
    if (m->platform_name == NULL)
        DSGD_TRY(choose_platform(m, error));
    DSGD_TRY(dsgd_platform_open(m->platform_name, &config, &m->platform, error));
    m->is_open = true;
    const dsgd_platform there = m->platform;
    for (size_t i = 0; i < m->n_numbers; i++)
        put_number(&m->platform, &m->numbers[i]);
    DSGD_TRY(assume_nics(m, &there, error));
    return dsgd_platform_check(&m->platform, error);
}

dsgd_nccl_shape dsgd_import_shape(const dsgd_import *m, int64_t nodes, int64_t gpus)
{
    const int per_node = m->platform.island_hosts > 0 ? (int)m->platform.island_hosts : 1;
    const int n = (int)(nodes * gpus);
    int *const places = dsgd_keep(2 * (size_t)n, sizeof *places), *const all = places + n;
    for (int i = 0; i < n; i++) {
        places[i] = i / (int)gpus * per_node + i % (int)gpus;
        all[i] = i;
    }
    return dsgd_nodes_shape(dsgd_nodes_new(&m->platform, places, n), all, n);
}

/* --- the file --------------------------------------------------------------------------------- */

/** Writes the lines of a part of the experiment in YAML, indented. */
static void write_part(FILE *stream, const dsgd_import *m, dsgd_import_part part, int indent)
{
    char *rest = dsgd_xstrdup(m->parts[part]), *line = NULL;
    while ((line = strsep(&rest, "\n")) != NULL)
        if (*line != '\0')
            fprintf(stream, "%*s%s\n", indent, "", line);
}

/**
 * Writes all keys of `nccl`. If a key were missing, its value would be the default instead of the
 * value of the base platform.
 */
static void write_nccl(FILE *stream, const dsgd_import *m)
{
    bool is_new = m->parts[DSGD_IMPORT_NCCL] != NULL;
    for (size_t i = 0; i < m->n_numbers; i++)
        is_new = is_new || is_of_nccl(m->numbers[i].key);
    if (!is_new)
        return;
    fputs("  nccl:\n", stream);
    for (const dsgd_option *o = dsgd_nccl_options; o->kind != DSGD_END; o++) {
        const void *const field = (const char *)&m->platform.nccl + o->offset;
        const dsgd_import_number *const number = number_of(m, dsgd_xprintf("nccl.%s", o->name));
        if (o->kind != DSGD_STRUCTS)
            fprintf(stream, "    %s: %s # %s\n", o->name,
                    dsgd_option_text(o, o->kind == DSGD_BOOL     ? *(const bool *)field
                                        : o->kind == DSGD_CHOICE ? *(const int *)field
                                                                 : *(const double *)field),
                    number == NULL ? m->platform_name : number->from);
    }
    write_part(stream, m, DSGD_IMPORT_NCCL, 4);
}

static void write_platform(FILE *stream, const dsgd_import *m)
{
    fprintf(stream, "platform:\n  name: %s # base of the values below\n",
            dsgd_yaml_word(m->platform_name));
    for (size_t i = 0; i < m->n_numbers; i++) {
        const dsgd_import_number *const n = &m->numbers[i];
        const dsgd_option *const o = dsgd_option_find(dsgd_platform_options, n->key);
        if (o != NULL)
            fprintf(stream, "  %s: %s # %s\n", n->key, dsgd_option_text(o, n->value), n->from);
    }
    write_nccl(stream, m);
}

dsgd_status dsgd_import_write(const dsgd_import *m, dsgd_error *error)
{
    static const char *const rest[] = {"workers: 8", "algorithms: allreduce",
                                       "until: {steps: 100}"};
    dsgd_whole_file file;
    FILE *const stream = dsgd_whole_open(&file, error, "%s", m->output);
    if (stream == NULL)
        return DSGD_EIO;
    fputs("# Written by `dsgd import`. The comment after each number names its file and line.\n",
          stream);
    write_platform(stream, m);
    char *guesses = dsgd_xstrdup("");
    if (m->parts[DSGD_IMPORT_WORKLOAD] == NULL ||
        strstr(m->parts[DSGD_IMPORT_WORKLOAD], assumed) != NULL)
        dsgd_append(&guesses, "a model as in workload %s (--workload), ", m->workload_name);
    if (m->parts[DSGD_IMPORT_WORKLOAD] == NULL)
        fprintf(stream, "workload: %s # %s\n", dsgd_yaml_word(m->workload_name), assumed);
    else
        fputs("workload:\n", stream);
    write_part(stream, m, DSGD_IMPORT_WORKLOAD, 2);
    fputs(m->parts[DSGD_IMPORT_IMBALANCE] == NULL ? "" : "imbalance:\n", stream);
    write_part(stream, m, DSGD_IMPORT_IMBALANCE, 2);
    write_part(stream, m, DSGD_IMPORT_TOP, 0);
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++)
        if (!dsgd_import_has(m, DSGD_IMPORT_TOP,
                             dsgd_xprintf("%.*s", (int)strcspn(rest[i], ":"), rest[i]))) {
            fprintf(stream, "%s # assumed\n", rest[i]);
            dsgd_append(&guesses, "%s, ", rest[i]);
        }
    printf("assumed, because no file contains it: %.*s\n", (int)strlen(guesses) - 2, guesses);
    return dsgd_whole_close(&file, error);
}
