/**
 * @file config.c
 * Reads YAML files with libfyaml. Opens files, finds entries and sweeps, and reports errors with
 * their positions.
 */
#include "command/experiment/config.h"

#include <libfyaml.h>
#include <unistd.h>

#include "base/csv.h"
#include "base/file.h"

struct dsgd_config {
    const char *path;
    /*
     * document of the file; if option --set adds a part, the meta data of this part is the
     * assignment
     */
    struct fy_document *document;
    dsgd_sweep **sweeps;
    size_t n_sweeps;
    dsgd_config *top; /* file that the user opened and that names this file directly or indirectly;
                       * NULL for the user's file */
    dsgd_config *named; /* linked list (member `next`) of all files that the user's file names; only
                         * in the user's file */
    dsgd_config *next;
    const char **data_files; /* array of the paths of n_data_files data files, with NULL at the end;
                              * only in the user's file */
    size_t n_data_files;
};

static void find_sweeps(dsgd_config *config, struct fy_node *node, const char *path);

/**
 * Rejects bytes that are not UTF-8, and null bytes. Without this check, libfyaml stops silently at
 * such a byte. If the byte is in a directive, libfyaml loops forever.
 */
static dsgd_status check_text(const char *path, const char *text, size_t n, dsgd_error *error)
{
    size_t line = 1, begin = 0; /* number of the current line, and index of the first byte of this
                                 * line */
    for (size_t i = 0, length = 0; i < n; i += length) {
        length = dsgd_utf8_length(text + i, n - i);
        if (length == 0)
            return dsgd_fail(error, DSGD_EIO,
                             "%s:%zu:%zu: byte 0x%02x is not valid UTF-8; save the file as UTF-8",
                             path, line, i - begin + 1, (unsigned char)text[i]);
        begin = text[i] == '\n' ? i + 1 : begin;
        line += text[i] == '\n';
    }
    return DSGD_OK;
}

enum { MOST_VALUES = 1000000, MOST_DEPTH = 256 };

/**
 * Counts the values at and below a node, up to MOST_VALUES. If an alias repeats a value, counts the
 * value again. The limit of the depth ends circles of aliases, which fy_document_resolve() rejects
 * later.
 */
static void count_values(struct fy_node *node, int depth, size_t *n)
{
    if (fy_node_is_alias(node))
        node = fy_node_resolve_alias(node);
    if (node == NULL || ++*n > MOST_VALUES || depth > MOST_DEPTH)
        return;
    void *iterator = NULL;
    struct fy_node *key = NULL, *e = NULL;
    while (*n <= MOST_VALUES && dsgd_yaml_next(node, &iterator, &key, &e))
        count_values(e, depth + 1, n);
}

/**
 * Returns an error if a text contains no document: the text is invalid YAML, or the file is empty.
 */
static dsgd_status no_document(const char *path, const char *text, struct fy_diag *diag,
                               dsgd_error *error)
{
    void *iterator = NULL;
    const struct fy_diag_error *const first = fy_diag_errors_iterate(diag, &iterator);
    if (first != NULL)
        return dsgd_fail(error, DSGD_EIO, "%s:%d:%d: invalid YAML: %s", path, first->line,
                         first->column, first->msg);
    while (text[strspn(text, " \t\r\n")] == '#')
        text += strcspn(text, "\n") + (strchr(text, '\n') != NULL);
    return dsgd_fail(
        error, DSGD_EIO,
        text[strspn(text, " \t\r\n")] == '\0' ? "%s: the file is empty" : "%s: invalid YAML", path);
}

/** Discards messages that libfyaml would print in addition to the errors that it collects. */
static void print_nothing(struct fy_diag *diag, void *user, const char *text, size_t n)
{
    (void)diag, (void)user, (void)text, (void)n;
}

/**
 * Returns a parser for a text. The parser collects errors in *diag instead of printing them. The
 * text must exist as long as the documents of the parser. This parser is needed because libfyaml
 * never frees the diagnostics of a document that is built without a parser.
 */
static struct fy_parser *open_parser(const char *text, size_t n, struct fy_diag **diag)
{
    struct fy_diag_cfg quiet;
    fy_diag_cfg_default(&quiet);
    quiet.fp = NULL;
    quiet.output_fn = print_nothing;
    *diag = fy_diag_create(&quiet);
    if (*diag == NULL)
        dsgd_no_memory();
    fy_diag_set_collect_errors(*diag, true);
    const struct fy_parse_cfg cfg = {.flags = FYPCF_QUIET, .diag = *diag};
    struct fy_parser *const parser = fy_parser_create(&cfg);
    if (parser == NULL || fy_parser_set_string(parser, text, n) != 0)
        dsgd_no_memory();
    return parser;
}

static void close_document(void *document)
{
    fy_document_destroy(document);
}

/**
 * Returns the only document of a text. Resolves the document's aliases unless @p path is NULL.
 * Returns NULL and sets an error if the text is not a single valid document.
 */
static struct fy_document *parse(const char *path, const char *text, size_t n, dsgd_error *error)
{
    struct fy_diag *diag = NULL;
    struct fy_parser *const parser = open_parser(text, n, &diag);
    struct fy_document *document = fy_parse_load_document(parser);
    dsgd_status status = DSGD_OK;
    size_t n_values = 0;
    if (document != NULL && path != NULL)
        count_values(fy_document_root(document), 0, &n_values);
    /* Search for a second document now, because a later search in libfyaml leaks memory. */
    struct fy_document *const second = document == NULL ? NULL : fy_parse_load_document(parser);
    if (second != NULL) {
        const struct fy_mark *const mark =
            fy_document_state_start_mark(fy_document_get_document_state(second));
        status =
            dsgd_fail(error, DSGD_EIO,
                      "%s:%d: a second document begins here, after ---; a file must contain one",
                      path, mark == NULL ? 1 : mark->line + 1);
        fy_parse_document_destroy(parser, second);
    } else if (n_values > MOST_VALUES) {
        status = dsgd_fail(error, DSGD_EIO,
                           "%s: the file must have at most %d values, aliases (*) included", path,
                           MOST_VALUES);
    } else if (document == NULL || fy_document_root(document) == NULL ||
               fy_parser_get_stream_error(parser) ||
               (path != NULL && fy_document_resolve(document) != 0)) {
        status = no_document(path, text, diag, error);
    }
    if (status != DSGD_OK && document != NULL) {
        fy_parse_document_destroy(parser, document);
        document = NULL;
    }
    fy_parser_destroy(parser);
    fy_diag_destroy(diag);
    dsgd_keep_for(close_document, document);
    return document;
}

struct fy_document *dsgd_config_document(const char *text)
{
    const size_t n = strlen(text);
    return check_text("", text, n, NULL) == DSGD_OK ? parse(NULL, text, n, NULL) : NULL;
}

dsgd_status dsgd_config_open(const char *path, dsgd_config **config, dsgd_error *error)
{
    char *text = NULL;
    size_t n = 0;
    DSGD_TRY(dsgd_file_read(path, &text, &n, error));
    DSGD_TRY(check_text(path, text, n, error));
    struct fy_document *const document = parse(path, text, n, error);
    if (document == NULL)
        return DSGD_EIO;
    *config = dsgd_keep(1, sizeof **config);
    **config = (dsgd_config){.path = dsgd_xstrdup(path),
                             .document = document,
                             .data_files = dsgd_keep(1, sizeof *(*config)->data_files)};
    find_sweeps(*config, fy_document_root(document), "");
    if (fy_node_is_mapping(fy_document_root(document)))
        return DSGD_OK;
    return dsgd_yaml_fail(*config, fy_document_root(document), error,
                          "expected a mapping of keys to values");
}

dsgd_status dsgd_config_open_named(dsgd_config *from, const char *path, dsgd_config **config,
                                   dsgd_error *error)
{
    dsgd_config *const top = from->top == NULL ? from : from->top;
    for (*config = top->named; *config != NULL; *config = (*config)->next)
        if (strcmp((*config)->path, path) == 0)
            return DSGD_OK;
    DSGD_TRY(dsgd_config_open(path, config, error));
    (*config)->top = top;
    (*config)->next = top->named;
    top->named = *config;
    return DSGD_OK;
}

dsgd_yaml *dsgd_config_root(dsgd_config *config)
{
    return fy_document_root(config->document);
}

const char *dsgd_config_path(dsgd_config *config, const char *path)
{
    const char *const slash = strrchr(config->path, '/');
    if (path[0] == '/' || slash == NULL)
        return path;
    const char *const beside =
        dsgd_xprintf("%.*s/%s", (int)(slash - config->path), config->path, path);
    return access(beside, F_OK) == 0 ? beside : path;
}

void dsgd_config_note_data(dsgd_config *config, const char *path)
{
    dsgd_config *const top = config->top == NULL ? config : config->top;
    if (dsgd_find_word(top->data_files, path) >= 0)
        return;
    top->data_files =
        dsgd_keep_more(top->data_files, top->n_data_files + 2, sizeof *top->data_files);
    /* The element after the last data file remains NULL. */
    top->data_files[top->n_data_files++] = dsgd_xstrdup(path);
}

const char *const *dsgd_config_data_files(const dsgd_config *config)
{
    return config->data_files;
}

/**
 * Returns the first scalar at or below a node, because only scalars have a position in the file.
 */
static struct fy_node *first_scalar(struct fy_node *node)
{
    while (node != NULL && !fy_node_is_scalar(node)) {
        void *iterator = NULL;
        struct fy_node *key = NULL, *first = NULL;
        dsgd_yaml_next(node, &iterator, &key, &first);
        node = fy_node_is_mapping(node) ? key : first;
    }
    return node;
}

/**
 * Returns the scalar whose position error messages print for a node. It is the first scalar at or
 * below the node, or else the key of the node.
 */
static struct fy_node *scalar_of(struct fy_node *node)
{
    struct fy_node *scalar = first_scalar(node), *key = NULL, *value = NULL;
    void *iterator = NULL;
    while (scalar == NULL && dsgd_yaml_next(fy_node_get_parent(node), &iterator, &key, &value))
        scalar = value == node ? first_scalar(key) : NULL;
    return scalar;
}

dsgd_status dsgd_yaml_fail(dsgd_config *config, dsgd_yaml *entry, dsgd_error *error,
                           const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    /*
     * The computed values of a range have no position in the file, so use the position of the
     * sweep.
     */
    for (size_t i = 0; i < config->n_sweeps; i++)
        if (config->sweeps[i]->is_range &&
            dsgd_yaml_is_in(entry, dsgd_yaml_find(config->sweeps[i]->entry, "sweep")))
            entry = config->sweeps[i]->entry;
    for (struct fy_node *node = entry; node != NULL; node = fy_node_get_parent(node))
        if (fy_node_get_meta(node) != NULL)
            return dsgd_refuse(error, "--set %s: %s", (const char *)fy_node_get_meta(node), text);
    const struct fy_mark *const mark =
        fy_token_start_mark(fy_node_get_scalar_token(scalar_of(entry)));
    if (mark == NULL)
        return dsgd_refuse(error, "%s: %s", config->path, text);
    return dsgd_refuse(error, "%s:%d:%d: %s", config->path, mark->line + 1, mark->column + 1, text);
}

static dsgd_sweep *sweep_of(const dsgd_config *config, const struct fy_node *node)
{
    for (size_t i = 0; i < config->n_sweeps; i++)
        if (config->sweeps[i]->entry == node)
            return config->sweeps[i];
    return NULL;
}

dsgd_yaml *dsgd_yaml_chosen(dsgd_config *config, dsgd_yaml *entry)
{
    const dsgd_sweep *const sweep = entry == NULL ? NULL : sweep_of(config, entry);
    return sweep == NULL ? entry : sweep->values[sweep->chosen];
}

dsgd_yaml *dsgd_yaml_chosen_for(dsgd_config *config, dsgd_yaml *entry, const dsgd_option *o)
{
    static const char *const yes[] = {"true", "yes", "on", NULL};
    dsgd_sweep *const sweep = entry == NULL ? NULL : sweep_of(config, entry);
    if (sweep != NULL) {
        sweep->is_number = o->kind == DSGD_LONG || o->kind == DSGD_DOUBLE ||
                           o->kind == DSGD_NUMBERS || o->kind == DSGD_TABLE;
        const char *const scales = dsgd_yaml_text(
            dsgd_yaml_chosen(config, dsgd_yaml_find(fy_node_get_parent(entry), "scale")));
        /* If the option `scale` is set, the swept number is a factor, which has no unit. */
        sweep->unit = dsgd_find_word(yes, scales) >= 0 ? NULL : o->unit;
    }
    return dsgd_yaml_chosen(config, entry);
}

dsgd_yaml *dsgd_yaml_find(dsgd_yaml *mapping, const char *key)
{
    return fy_node_mapping_lookup_value_by_simple_key(mapping, key, FY_NT);
}

bool dsgd_yaml_next(dsgd_yaml *entry, void **iterator, dsgd_yaml **key, dsgd_yaml **value)
{
    struct fy_node_pair *const pair = fy_node_mapping_iterate(entry, iterator);
    *key = fy_node_pair_key(pair);
    *value = pair == NULL ? fy_node_sequence_iterate(entry, iterator) : fy_node_pair_value(pair);
    return pair != NULL || *value != NULL;
}

dsgd_yaml **dsgd_yaml_elements(dsgd_yaml *entry, size_t *n)
{
    const bool is_list = fy_node_is_sequence(entry);
    *n = is_list ? (size_t)fy_node_sequence_item_count(entry) : entry != NULL;
    dsgd_yaml **const elements = dsgd_keep(1, (*n + 1) * sizeof(dsgd_yaml *));
    elements[0] = is_list ? NULL : entry;
    void *iterator = NULL;
    for (size_t i = 0; i < *n && is_list; i++)
        elements[i] = fy_node_sequence_iterate(entry, &iterator);
    return elements;
}

/**
 * Ends the process if libfyaml had too little memory for a text. libfyaml returns NULL in this
 * case, but also if a node has no text.
 */
static void check_memory(const char *text)
{
    if (text == NULL && errno == ENOMEM)
        dsgd_no_memory();
}

const char *dsgd_yaml_text(dsgd_yaml *entry)
{
    errno = 0;
    const char *const text =
        entry != NULL && fy_node_is_scalar(entry) ? fy_node_get_scalar0(entry) : NULL;
    check_memory(text);
    /* If memory is short, libfyaml may return an empty text instead of NULL. */
    if (text != NULL && *text == '\0' && fy_node_get_scalar_length(entry) > 0)
        dsgd_no_memory();
    return text;
}

char *dsgd_yaml_yaml(dsgd_yaml *entry)
{
    errno = 0;
    char *const text = fy_emit_node_to_string(entry, FYECF_MODE_FLOW_ONELINE | FYECF_WIDTH_INF);
    check_memory(text);
    dsgd_keep_for(free, text);
    return text;
}

static void find_sweeps(dsgd_config *config, struct fy_node *node, const char *path)
{
    if (fy_node_is_mapping(node) && fy_node_mapping_item_count(node) == 1 &&
        dsgd_yaml_find(node, "sweep") != NULL) {
        dsgd_sweep *const sweep = dsgd_keep(1, sizeof *sweep);
        *sweep = (dsgd_sweep){.entry = node, .path = path};
        sweep->values = dsgd_yaml_elements(dsgd_yaml_find(node, "sweep"), &sweep->n);
        config->sweeps =
            dsgd_keep_more(config->sweeps, config->n_sweeps + 1, sizeof *config->sweeps);
        config->sweeps[config->n_sweeps++] = sweep;
        return;
    }
    void *iterator = NULL;
    size_t i = 0;
    for (struct fy_node *key = NULL, *e = NULL; dsgd_yaml_next(node, &iterator, &key, &e); i++) {
        const char *const name = dsgd_yaml_text(key);
        const char *const last = fy_node_is_sequence(node) ? dsgd_xprintf("%zu", i)
                                 : name == NULL            ? "?"
                                                           : name;
        find_sweeps(config, e, dsgd_xprintf("%s%s%s", path, *path == '\0' ? "" : ".", last));
    }
}

dsgd_sweep **dsgd_config_sweeps(dsgd_config *config, size_t *n)
{
    *n = config->n_sweeps;
    return config->sweeps;
}

bool dsgd_yaml_is_in(dsgd_yaml *entry, dsgd_yaml *whole)
{
    while (entry != NULL && entry != whole)
        entry = fy_node_get_parent(entry);
    return entry != NULL;
}

const char *dsgd_sweep_text(dsgd_config *config, const dsgd_sweep *sweep)
{
    struct fy_node *const value = dsgd_yaml_chosen(config, sweep->entry);
    const char *const scalar = dsgd_yaml_text(value);
    double number = 0;
    if (scalar != NULL && !(sweep->is_number && dsgd_parse_number(scalar, sweep->unit, &number)))
        return scalar;
    const char *const text = scalar != NULL ? dsgd_csv_number_text(number) : dsgd_yaml_yaml(value);
    return text == NULL ? "?" : text;
}

void dsgd_sweep_spread(dsgd_config *config, dsgd_sweep *sweep, const char *list)
{
    void *iterator = NULL;
    struct fy_node_pair *const pair = fy_node_mapping_iterate(sweep->entry, &iterator);
    /* Copy the text, because nodes of the config point to its characters. */
    struct fy_node *const values =
        fy_node_build_from_string(config->document, dsgd_xstrdup(list), FY_NT);
    DSGD_ASSERT(values != NULL && fy_node_pair_set_value(pair, values) == 0, "no list: %s", list);
    sweep->values = dsgd_yaml_elements(values, &sweep->n);
    sweep->is_range = true;
}

void dsgd_config_note_override(dsgd_config *config, dsgd_yaml *part, const char *assignment)
{
    fy_node_set_meta(part, dsgd_xstrdup(assignment));
    config->n_sweeps = 0;
    find_sweeps(config, dsgd_config_root(config), "");
}
