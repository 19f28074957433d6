/**
 * @file slurm.c
 * Reads files that describe a cluster's switches. Their lines are KEY=VALUE, or they are YAML with
 * mappings that contain `nodes`.
 */
#include "traces/slurm.h"

#include <ctype.h>
#include <libfyaml.h>
#include <strings.h>

enum { MOST_DEPTH = 32, MOST_BRACKETS = 8, MOST_DIGITS = 18 };

/* --- lists of hosts --------------------------------------------------------------------------- */

static dsgd_status no_list(const char *list, const char *why, dsgd_error *error)
{
    return dsgd_refuse(error, "\"%.60s\" is not a list of hosts such as tux[0-3,07]: %s", list,
                       why);
}

static dsgd_status add_host(dsgd_hostlist *hosts, const char *name, dsgd_error *error)
{
    if (hosts->n == DSGD_SLURM_MOST_HOSTS)
        return no_list(name, dsgd_xprintf("it has more than %d hosts", DSGD_SLURM_MOST_HOSTS),
                       error);
    hosts->v = dsgd_keep_more(hosts->v, hosts->n + 1, sizeof *hosts->v);
    hosts->v[hosts->n++] = name;
    return DSGD_OK;
}

/**
 * Expands one element of a list of hosts. @p done is the start of the name, already expanded, and
 * @p rest is the remaining text. Each range in brackets multiplies the number of names.
 */
static dsgd_status expand(const char *done, const char *rest, dsgd_hostlist *hosts,
                          dsgd_error *error)
{
    const size_t before = strcspn(rest, "[]");
    const char *const head = dsgd_xprintf("%s%.*s", done, (int)before, rest);
    if (rest[before] == '\0')
        return add_host(hosts, head, error);
    const char *const close = strchr(rest + before, ']');
    if (rest[before] == ']' || close == NULL)
        return no_list(rest, "its brackets do not match", error);
    for (const char *at = rest + before; at < close;) {
        char *end = NULL;
        const char *const first = at + 1;
        const unsigned long from = strtoul(first, &end, 10);
        const int width = (int)(end - first);
        const bool is_range = *end == '-' && isdigit((unsigned char)end[1]);
        const unsigned long to = is_range ? strtoul(end + 1, &end, 10) : from;
        if (!isdigit((unsigned char)*first) || width > MOST_DIGITS ||
            (*end != ',' && end != close) || to < from)
            return no_list(rest, "a range in its brackets must ascend", error);
        for (unsigned long i = from; i <= to; i++)
            DSGD_TRY(expand(dsgd_xprintf("%s%0*lu", head, width, i), close + 1, hosts, error));
        at = end;
    }
    return DSGD_OK;
}

dsgd_status dsgd_hostlist_expand(const char *list, dsgd_hostlist *hosts, dsgd_error *error)
{
    for (int depth = 0; *list != '\0'; depth = 0) {
        size_t n = 0, n_brackets = 0;
        for (; list[n] != '\0' && (list[n] != ',' || depth > 0); n++) {
            n_brackets += list[n] == '[';
            depth += (list[n] == '[') - (list[n] == ']');
            if (depth < 0 || depth > 1 || isspace((unsigned char)list[n]) ||
                n_brackets > MOST_BRACKETS)
                return no_list(list, "it has nested brackets, more than 8 brackets, or a blank",
                               error);
        }
        if (n > 0)
            DSGD_TRY(expand("", dsgd_xprintf("%.*s", (int)n, list), hosts, error));
        list += n + (list[n] == ',');
    }
    return DSGD_OK;
}

/* --- switches and their nodes ----------------------------------------------------------------- */

static dsgd_status at(const char *file, size_t line, dsgd_status status, dsgd_error *error)
{
    return status == DSGD_OK
               ? DSGD_OK
               : dsgd_fail(error, status, "%s:%zu: %s", file, line, dsgd_xstrdup(error->text));
}

static dsgd_slurm_leaf *add_leaf(dsgd_slurm_topology *t, const char *name, const char *file,
                                 size_t line)
{
    t->v = dsgd_keep_more(t->v, t->n + 1, sizeof *t->v);
    t->v[t->n] = (dsgd_slurm_leaf){.name = dsgd_xstrdup(name), .file = file, .line = line};
    return &t->v[t->n++];
}

/**
 * Adds the nodes of @p list to a leaf switch. All leaves together may have at most
 * DSGD_SLURM_MOST_HOSTS nodes.
 */
static dsgd_status add_nodes(dsgd_slurm_topology *t, dsgd_slurm_leaf *leaf, const char *list,
                             size_t line, dsgd_error *error)
{
    const size_t before = leaf->nodes.n;
    DSGD_TRY(at(leaf->file, line, dsgd_hostlist_expand(list, &leaf->nodes, error), error));
    t->n_nodes += leaf->nodes.n - before;
    return t->n_nodes <= DSGD_SLURM_MOST_HOSTS
               ? DSGD_OK
               : dsgd_refuse(error,
                             "%s:%zu: with \"%.60s\" the leaves together have more than %d nodes",
                             leaf->file, line, list, DSGD_SLURM_MOST_HOSTS);
}

/**
 * Returns the value of a key on a line, or NULL if the key is absent. As in Slurm, the case of
 * letters does not matter.
 */
static const char *value_of(const char *line, const char *key)
{
    const size_t n = strlen(key);
    for (; *line != '\0'; line += strcspn(line, " \t\r"), line += strspn(line, " \t\r"))
        if (strncasecmp(line, key, n) == 0 && line[n] == '=')
            return dsgd_xprintf("%.*s", (int)strcspn(line + n + 1, " \t\r"), line + n + 1);
    return NULL;
}

static dsgd_status read_line(const char *file, size_t number, const char *line,
                             dsgd_slurm_topology *t, dsgd_error *error)
{
    const char *const block = value_of(line, "BlockName");
    const char *const name = block != NULL ? block : value_of(line, "SwitchName");
    const char *const nodes = value_of(line, "Nodes"), *const speed = value_of(line, "LinkSpeed");
    if (strncasecmp(line, "include", 7) == 0 && isspace((unsigned char)line[7]))
        t->include = dsgd_xprintf("%s:%zu: %s", file, number, line);
    t->speed = t->speed == NULL && speed != NULL
                   ? dsgd_xprintf("%s:%zu: LinkSpeed=%s", file, number, speed)
                   : t->speed;
    /*
     * The line describes a switch above switches. For such a switch, scontrol repeats the nodes of
     * its leaves.
     */
    const bool is_inner = value_of(line, "Switches") != NULL;
    t->n_inner += is_inner;
    if (nodes == NULL || is_inner || value_of(line, "AggregatedBlock") != NULL)
        return DSGD_OK;
    if (name == NULL)
        return dsgd_refuse(error,
                           "%s:%zu: Nodes=%.40s needs SwitchName= or BlockName= on the same line",
                           file, number, nodes);
    return add_nodes(t, add_leaf(t, name, file, number), nodes, number, error);
}

dsgd_status dsgd_slurm_read(const char *file, const char *text, dsgd_slurm_topology *t,
                            dsgd_error *error)
{
    char *rest = dsgd_xstrdup(text), *line = NULL, *whole = dsgd_xstrdup("");
    for (size_t number = 1; (line = strsep(&rest, "\n")) != NULL; number++) {
        line[strcspn(line, "#\r")] = '\0';
        const bool goes_on = dsgd_ends_with(line, "\\");
        line[strlen(line) - goes_on] = '\0';
        dsgd_append(&whole, "%s ", line);
        if (goes_on)
            continue;
        DSGD_TRY(read_line(file, number, whole + strspn(whole, " \t"), t, error));
        whole = dsgd_xstrdup("");
    }
    return DSGD_OK;
}

/**
 * Returns the text of a YAML scalar, with control characters replaced by blanks. Returns NULL if
 * the YAML node is not a scalar.
 */
static const char *text_of(struct fy_node *scalar)
{
    size_t n = 0;
    const char *const text = fy_node_get_scalar(scalar, &n);
    char *const copy = text == NULL ? NULL : dsgd_xprintf("%.*s", (int)n, text);
    for (char *c = copy; c != NULL && *c != '\0'; c++)
        *c = iscntrl((unsigned char)*c) ? ' ' : *c;
    return copy;
}

static const char *value_in(struct fy_node *mapping, const char *key)
{
    const char *const text =
        text_of(fy_node_mapping_lookup_value_by_simple_key(mapping, key, strlen(key)));
    return text == NULL ? "" : text;
}

/**
 * Reads the value of `nodes` in a mapping. The value is a list of hosts, or a sequence of such
 * lists.
 */
static dsgd_status read_nodes(const char *file, struct fy_node *nodes, const char *name,
                              dsgd_slurm_topology *t, dsgd_error *error)
{
    void *iterator = NULL;
    struct fy_node *e =
        fy_node_is_sequence(nodes) ? fy_node_sequence_iterate(nodes, &iterator) : nodes;
    dsgd_slurm_leaf *leaf = NULL;
    for (; e != NULL; e = e == nodes ? NULL : fy_node_sequence_iterate(nodes, &iterator)) {
        const char *const text = text_of(e);
        if (text == NULL)
            continue;
        const struct fy_mark *const mark = fy_token_start_mark(fy_node_get_scalar_token(e));
        const size_t line = mark == NULL ? 1 : (size_t)mark->line + 1;
        leaf = leaf != NULL ? leaf : add_leaf(t, name, file, line);
        DSGD_TRY(add_nodes(t, leaf, text, line, error));
    }
    return DSGD_OK;
}

static dsgd_status walk(const char *file, struct fy_node *node, const char *name, int depth,
                        dsgd_slurm_topology *t, dsgd_error *error)
{
    static const char *const names[] = {"switch", "block", "name"};
    void *iterator = NULL;
    struct fy_node *e = NULL;
    if (depth == MOST_DEPTH)
        return dsgd_refuse(error, "%s: the topology must have fewer than %d nested levels", file,
                           MOST_DEPTH);
    while (fy_node_is_sequence(node) && (e = fy_node_sequence_iterate(node, &iterator)) != NULL)
        DSGD_TRY(walk(file, e, name, depth + 1, t, error));
    for (int i = 0; fy_node_is_mapping(node) && i < 3; i++)
        name = *value_in(node, names[i]) != '\0' ? value_in(node, names[i]) : name;
    for (struct fy_node_pair *p = NULL;
         fy_node_is_mapping(node) && (p = fy_node_mapping_iterate(node, &iterator)) != NULL;) {
        const char *const text = text_of(fy_node_pair_key(p)), *const key =
                                                                   text == NULL ? "" : text;
        t->n_inner += strcmp(key, "children") == 0 || (strcmp(key, "switches") == 0 && depth > 1);
        if (strcmp(key, "nodes") == 0)
            DSGD_TRY(read_nodes(file, fy_node_pair_value(p), name, t, error));
        else
            DSGD_TRY(walk(file, fy_node_pair_value(p), key, depth + 1, t, error));
    }
    return DSGD_OK;
}

dsgd_status dsgd_slurm_read_yaml(const char *file, struct fy_document *document,
                                 dsgd_slurm_topology *t, dsgd_error *error)
{
    struct fy_node *const root = document == NULL ? NULL : fy_document_root(document);
    void *iterator = NULL;
    /* If the file has several topologies, select the topology of the cluster. */
    struct fy_node *e = NULL, *chosen = root;
    if (document == NULL)
        return dsgd_fail(error, DSGD_EIO, "%s: the file is neither a topology.conf nor YAML", file);
    while (fy_node_is_sequence(root) && (e = fy_node_sequence_iterate(root, &iterator)) != NULL)
        if (fy_node_is_mapping(e) && strcasecmp(value_in(e, "cluster_default"), "true") == 0)
            chosen = e;
    return walk(file, chosen, "", 0, t, error);
}

/**
 * Returns true if a line of @p text starts with @p begin after blanks and dashes. The case of
 * letters does not matter.
 */
static bool has_line(const char *text, const char *begin)
{
    while (strncasecmp(text + strspn(text, " \t-"), begin, strlen(begin)) != 0) {
        text = strchr(text, '\n');
        if (text == NULL)
            return false;
        text++;
    }
    return true;
}

bool dsgd_slurm_is_conf(const char *head)
{
    return has_line(head, "SwitchName=") || has_line(head, "BlockName=");
}

bool dsgd_slurm_is_yaml(const char *head)
{
    return has_line(head, "nodes:") && (has_line(head, "switch:") || has_line(head, "block:"));
}
