/**
 * @file nodes.c
 * Nodes of the lazy graph: their memory, the table of common subexpressions, references.
 */
#include "models/values/nodes.h"
#include "models/values/executor.h"

#include <stdlib.h>
#include <string.h>

/* --- common subexpressions -------------------------------------------------------------------- */

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash ^= word + 0x9e3779b97f4a7c15u + (hash << 6) + (hash >> 2);
    hash *= 0xff51afd7ed558ccdu;
    return hash ^ hash >> 33;
}

static uint64_t bits_of(double number)
{
    uint64_t bits = 0;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

static uint64_t hash_of(const dsgd_value_node *node)
{
    uint64_t hash = mix(mix(mix(node->kind, node->shape), node->count), bits_of(node->rate.lr));
    hash = mix(mix(hash, bits_of(node->divisor)), node->rate.t);
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        hash = mix(hash, node->input_ids[i]);
        hash = node->weights == NULL ? hash : mix(hash, bits_of(node->weights[i]));
    }
    for (uint32_t i = 0; i < node->n_samples; i++)
        hash = mix(mix(hash, node->samples[i].worker), node->samples[i].step);
    return hash;
}

static bool equal_nodes(const dsgd_value_node *a, const dsgd_value_node *b)
{
    if (a->hash != b->hash || a->kind != b->kind || a->shape != b->shape ||
        a->rate.lr != b->rate.lr || a->rate.t != b->rate.t || a->divisor != b->divisor ||
        a->count != b->count || a->n_inputs != b->n_inputs || a->n_samples != b->n_samples)
        return false;
    for (uint32_t i = 0; i < a->n_samples; i++)
        if (a->samples[i].worker != b->samples[i].worker ||
            a->samples[i].step != b->samples[i].step)
            return false;
    if (a->weights != NULL && memcmp(a->weights, b->weights, a->n_inputs * sizeof *a->weights) != 0)
        return false;
    return memcmp(a->input_ids, b->input_ids, a->n_inputs * sizeof *a->input_ids) == 0;
}

static dsgd_value_node **bucket_of(const dsgd_values *values, const dsgd_value_node *node)
{
    return &values->buckets[node->hash & (values->n_buckets - 1)];
}

static dsgd_value_node *find_equal(const dsgd_values *values, const dsgd_value_node *node)
{
    dsgd_value_node *found = values->n_buckets == 0 ? NULL : *bucket_of(values, node);
    while (found != NULL && !equal_nodes(found, node))
        found = found->next_in_bucket;
    return found;
}

static void link_in_bucket(const dsgd_values *values, dsgd_value_node *node)
{
    dsgd_value_node **const bucket = bucket_of(values, node);
    node->next_in_bucket = *bucket;
    *bucket = node;
}

static void grow_table(dsgd_values *values)
{
    dsgd_value_node **const old = values->buckets;
    const size_t n_old = values->n_buckets;
    values->n_buckets = n_old == 0 ? 1024 : 2 * n_old;
    values->buckets = dsgd_xcalloc(values->n_buckets, sizeof *values->buckets);
    for (size_t i = 0; i < n_old; i++) {
        for (dsgd_value_node *node = old[i], *next = NULL; node != NULL; node = next) {
            next = node->next_in_bucket;
            link_in_bucket(values, node);
        }
    }
    free(old);
}

static void table_add(dsgd_values *values, dsgd_value_node *node)
{
    if (values->n_in_table >= values->n_buckets)
        grow_table(values);
    link_in_bucket(values, node);
    node->in_table = true;
    values->n_in_table++;
}

static void table_remove(dsgd_values *values, dsgd_value_node *node)
{
    if (!node->in_table)
        return;
    dsgd_value_node **link = bucket_of(values, node);
    while (*link != node)
        link = &(*link)->next_in_bucket;
    *link = node->next_in_bucket;
    node->in_table = false;
    values->n_in_table--;
}

/* --- memory ----------------------------------------------------------------------------------- */

enum { USUAL_BYTES = 512 };

/** Places a node's arrays behind it, and returns the bytes of all; @p memory NULL only measures. */
static size_t lay_out(unsigned char *memory, size_t n_samples, dsgd_value_node *node)
{
    const bool weighted = node->kind == NODE_COMBINE || node->kind == NODE_EVALUATE;
    size_t at = sizeof *node;
#define PLACE(array, n)                                                                            \
    do {                                                                                           \
        if (memory != NULL && (n) > 0)                                                             \
            (array) = (void *)(memory + at);                                                       \
        at += ((n) * sizeof *(array) + 7) / 8 * 8;                                                 \
    } while (0)
    PLACE(node->inputs, node->n_inputs);
    PLACE(node->input_ids, node->n_inputs);
    PLACE(node->waits, node->n_inputs);
    PLACE(node->operands, node->n_inputs);
    PLACE(node->weights, weighted ? node->n_inputs : 0u);
    PLACE(node->shapes, node->kind == NODE_EVALUATE ? node->n_inputs : 0u);
    PLACE(node->samples, n_samples);
    PLACE(node->outputs, node->n_outputs);
    PLACE(node->output_refs, node->n_outputs);
    PLACE(node->external_refs, node->n_outputs);
    PLACE(node->names, node->n_outputs);
    PLACE(node->operand_numbers, node->n_outputs);
    PLACE(node->n_readers, node->n_outputs);
#undef PLACE
    return at;
}

static dsgd_value_node *new_memory(dsgd_values *values, size_t bytes)
{
    values->all =
        dsgd_array_grow(values->all, values->n_all, &values->room_all, sizeof(dsgd_value_node *));
    dsgd_value_node *const node = dsgd_xcalloc(1, bytes);
    node->place = values->n_all;
    values->all[values->n_all++] = node;
    return node;
}

dsgd_value_node *dsgd_value_node_new(dsgd_values *values, dsgd_value_node header, size_t n_samples)
{
    const size_t bytes = lay_out(NULL, n_samples, &header);
    dsgd_value_node *node = values->spare;
    if (bytes > USUAL_BYTES || node == NULL) {
        node = new_memory(values, bytes > USUAL_BYTES ? bytes : USUAL_BYTES);
    } else {
        values->spare = node->after;
        memset(node + 1, 0, bytes - sizeof *node);
    }
    header.place = node->place;
    *node = header;
    node->large = bytes > USUAL_BYTES;
    node->n_samples = (uint32_t)n_samples;
    lay_out((unsigned char *)node, n_samples, node);
    return node;
}

static void delete_node(dsgd_values *values, dsgd_value_node *node)
{
    node->n_outputs = 0;
    if (!node->large) {
        node->after = values->spare;
        values->spare = node;
        return;
    }
    dsgd_value_node *const last = values->all[--values->n_all];
    last->place = node->place;
    values->all[last->place] = last;
    free(node);
}

void dsgd_nodes_free(dsgd_values *values)
{
    for (size_t i = 0; i < values->n_all; i++) {
        dsgd_value_node *const node = values->all[i];
        for (uint32_t k = 0; k < node->n_outputs; k++)
            if (node->outputs[k] != NULL)
                values->config.device->release(values->context, node->outputs[k]);
        free(node);
    }
    free(values->all);
    free(values->dropped);
    free(values->buckets);
}

/* --- references ------------------------------------------------------------------------------- */

void dsgd_value_ref(dsgd_value value)
{
    if (value.node == NULL)
        return;
    value.node->n_refs++;
    value.node->output_refs[value.index]++;
}

void dsgd_value_node_ref(dsgd_value_node *node)
{
    for (uint32_t k = 0; k < node->n_outputs; k++)
        dsgd_value_ref((dsgd_value){node, k});
}

/** The node is no longer merged with equal ones, and the output loses its reader. */
static void drop_output(dsgd_values *values, dsgd_value value)
{
    table_remove(values, value.node);
    if (value.node->pending)
        return;
    values->dropped = dsgd_array_grow(values->dropped, values->n_dropped, &values->room_dropped,
                                      sizeof *values->dropped);
    values->dropped[values->n_dropped++] = value;
}

void dsgd_value_unref(dsgd_values *values, dsgd_value value)
{
    dsgd_value_node *const node = value.node;
    if (node == NULL)
        return;
    DSGD_ASSERT(node->output_refs[value.index] > 0, "a value is released once too often");
    const bool per_output = dsgd_value_node_per_output(values, node);
    node->n_refs--;
    if (--node->output_refs[value.index] == 0 && per_output)
        drop_output(values, value);
    if (node->n_refs > 0)
        return;
    for (uint32_t k = 0; k < node->n_outputs && !per_output; k++)
        drop_output(values, (dsgd_value){node, k});
    const bool refs_inputs = node->pending || dsgd_value_node_fusable(values, node);
    for (uint32_t i = 0; refs_inputs && i < node->n_inputs; i++)
        dsgd_value_unref(values, node->inputs[i]);
    if (!node->pending)
        return;
    dsgd_value_node_unlink(node);
    delete_node(values, node);
}

void dsgd_value_node_unref(dsgd_values *values, dsgd_value_node *node)
{
    const uint32_t n = node->n_outputs; /* the last call may delete the node */
    for (uint32_t k = 0; k < n; k++)
        dsgd_value_unref(values, (dsgd_value){node, k});
}

void dsgd_nodes_collect(dsgd_values *values)
{
    for (size_t i = 0; i < values->n_dropped; i++)
        dsgd_executor_unread(values, values->dropped[i]);
    values->n_dropped = 0;
    for (dsgd_value_node *node = values->dead, *next = NULL; node != NULL; node = next) {
        next = node->next_dead;
        delete_node(values, node);
    }
    values->dead = NULL;
}

/* --- building --------------------------------------------------------------------------------- */

void dsgd_value_node_set_input(dsgd_value_node *node, size_t i, dsgd_value value)
{
    node->inputs[i] = value;
    node->input_ids[i] = dsgd_value_identity(value);
}

dsgd_value_node *dsgd_value_node_intern(dsgd_values *values, dsgd_value_node *node)
{
    node->hash = hash_of(node);
    dsgd_value_node *const equal = find_equal(values, node);
    if (equal != NULL) {
        delete_node(values, node);
        dsgd_value_node_ref(equal);
        return equal;
    }
    node->id = ++values->next_id;
    dsgd_value_node_ref(node);
    for (uint32_t i = 0; i < node->n_inputs; i++)
        dsgd_value_ref(node->inputs[i]);
    node->pending = true;
    node->before = values->pending.before;
    node->after = &values->pending;
    node->before->after = node->after->before = node;
    table_add(values, node);
    return node;
}

void dsgd_value_node_unlink(dsgd_value_node *node)
{
    node->before->after = node->after;
    node->after->before = node->before;
    node->pending = false;
}

/* --- for recorders ---------------------------------------------------------------------------- */

uint32_t dsgd_value_external_refs(dsgd_value value)
{
    return value.node->external_refs[value.index];
}

uint64_t *dsgd_value_name(dsgd_value value)
{
    return &value.node->names[value.index];
}

size_t dsgd_value_piece(dsgd_value value)
{
    return value.node->kind == NODE_GRADIENT ? value.index : value.node->shape;
}
