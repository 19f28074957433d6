/**
 * @file nodes.c
 * Nodes of the lazy graph: their memory, their references, and the table of common subexpressions.
 */
#include "models/values/store.h"

/* --- the table of common subexpressions ------------------------------------------------------- */

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0xff51afd7ed558ccdu;
    return hash ^ hash >> 32;
}

static uint64_t bits_of(double number)
{
    uint64_t bits = 0;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

static uint64_t hash_of(const dsgd_value_node *node)
{
    const uint64_t shape = (uint64_t)node->kind << 32 | node->shape;
    const uint64_t numbers = bits_of(node->rate.lr) ^ bits_of(node->divisor);
    uint64_t hash = mix(shape, numbers + node->count + node->rate.t);
    for (uint32_t i = 0; i < node->n_inputs; i++)
        hash = mix(hash, node->input_ids[i]);
    for (uint32_t i = 0; node->kind == NODE_COMBINE && i < node->n_inputs; i++)
        hash = mix(hash, bits_of(node->weights[i]));
    uint64_t words[DSGD_CODEC_WORDS] = {0};
    if (node->kind == NODE_ENCODE)
        memcpy(words, node->codec, sizeof words);
    for (size_t i = 0; node->kind == NODE_ENCODE && i < DSGD_CODEC_WORDS; i++)
        hash = mix(hash, words[i]);
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
    if (a->kind == NODE_ENCODE && memcmp(a->codec, b->codec, sizeof *a->codec) != 0)
        return false;
    if (a->kind == NODE_COMBINE &&
        memcmp(a->weights, b->weights, a->n_inputs * sizeof *a->weights) != 0)
        return false;
    return a->n_inputs == 0 ||
           memcmp(a->input_ids, b->input_ids, a->n_inputs * sizeof *a->input_ids) == 0;
}

/**
 * Returns the index in the table for @p i. @p i is a hash, or an index that may exceed the table.
 */
static size_t entry(const dsgd_values *values, uint64_t i)
{
    return i & (values->room_table - 1);
}

static dsgd_value_node *find_equal(const dsgd_values *values, const dsgd_value_node *node)
{
    const table_entry *const table = values->table;
    if (table == NULL)
        return NULL;
    size_t i = entry(values, node->hash);
    while (table[i].node != NULL &&
           (table[i].hash != node->hash || !equal_nodes(table[i].node, node)))
        i = entry(values, i + 1);
    return table[i].node;
}

static void enter(dsgd_values *values, table_entry added)
{
    size_t i = entry(values, added.hash);
    while (values->table[i].node != NULL)
        i = entry(values, i + 1);
    values->table[i] = added;
}

static void grow_table(dsgd_values *values)
{
    table_entry *const old = values->table;
    const size_t n_old = values->room_table;
    values->room_table = n_old == 0 ? 1024 : 2 * n_old;
    values->table = dsgd_store_alloc(values, values->room_table, sizeof *values->table);
    for (size_t i = 0; i < n_old; i++)
        if (old[i].node != NULL)
            enter(values, old[i]);
}

/**
 * Removes a node from the table. Moves later entries into the free place if a search would
 * otherwise miss them.
 */
static void table_remove(dsgd_values *values, dsgd_value_node *node)
{
    if (!node->in_table)
        return;
    table_entry *const table = values->table;
    size_t free_one = entry(values, node->hash);
    while (table[free_one].node != node)
        free_one = entry(values, free_one + 1);
    const size_t mask = values->room_table - 1;
    for (size_t i = entry(values, free_one + 1); table[i].node != NULL; i = entry(values, i + 1)) {
        const size_t first = entry(values, table[i].hash);
        if (((i - first) & mask) < ((i - free_one) & mask))
            continue;
        table[free_one] = table[i];
        free_one = i;
    }
    table[free_one] = (table_entry){0, NULL};
    node->in_table = false;
    values->n_in_table--;
}

/* --- memory of nodes -------------------------------------------------------------------------- */

/* Memory of a usual node: enough for a combination of six values. Unused memory is not accessed. */
enum { USUAL_BYTES = 11 * CACHE_LINE };

/**
 * Places the arrays of a node directly after the node, and returns the total size in bytes. If @p
 * memory is NULL, only returns the size.
 */
static inline size_t lay_out(unsigned char *memory, dsgd_value_node *node)
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
    PLACE(node->weights, weighted ? node->n_inputs : 0u);
    PLACE(node->codec, node->kind == NODE_ENCODE ? 1u : 0u);
    PLACE(node->shapes, node->kind == NODE_EVALUATE ? node->n_inputs : 0u);
    PLACE(node->samples, node->n_samples);
    PLACE(node->waits, node->n_inputs);
    PLACE(node->operands, node->n_inputs);
    PLACE(node->outputs, node->n_outputs);
    PLACE(node->n_readers, node->n_outputs);
    PLACE(node->output_refs, node->n_outputs);
    PLACE(node->input_ids, node->n_inputs);
    PLACE(node->operand_numbers, node->n_outputs);
#undef PLACE
    return at;
}

static dsgd_value_node *new_memory(dsgd_values *values, size_t bytes)
{
    values->all = dsgd_array_grow(values, values->all, values->n_all, &values->room_all,
                                  sizeof(dsgd_value_node *));
    void *memory = NULL;
    DSGD_ASSERT(posix_memalign(&memory, CACHE_LINE, bytes) == 0, "no memory for %zu bytes", bytes);
    dsgd_value_node *const node = memory;
    node->place = (uint32_t)values->n_all;
    values->all[values->n_all++] = node;
    return node;
}

/** Returns the last spare node of a list, and prefetches the node before it. */
static dsgd_value_node *take_spare(spare_nodes *spare)
{
    dsgd_value_node *const node = spare->v[--spare->n];
    if (spare->n > 0)
        dsgd_value_node_fetch(spare->v[spare->n - 1], 0);
    return node;
}

/**
 * Creates a node and places its arrays. Uses spare memory of any kind of node if the memory is
 * large enough.
 */
static dsgd_value_node *build_anew(dsgd_values *values, const dsgd_value_node *header)
{
    dsgd_value_node built = *header;
    const size_t bytes = lay_out(NULL, &built);
    built.large = bytes > USUAL_BYTES;
    dsgd_value_node *node = NULL;
    for (int i = 0; node == NULL && !built.large && i < NODE_KINDS; i++) {
        spare_nodes *const spare = &values->spare[((int)header->kind + i) % NODE_KINDS];
        node = spare->n > 0 ? take_spare(spare) : NULL;
    }
    if (node == NULL)
        node = new_memory(values, built.large ? bytes : USUAL_BYTES);
    memset(node + 1, 0, bytes - sizeof *node);
    built.place = node->place;
    *node = built;
    lay_out((unsigned char *)node, node);
    return node;
}

/**
 * Reuses the next spare node of this kind. Returns NULL if no spare node exists, or if its arrays
 * have different lengths. The arrays for the outputs already contain zeros, because the counts of a
 * dead node are 0. The caller sets the other arrays.
 */
static dsgd_value_node *build_again(dsgd_values *values, const dsgd_value_node *header)
{
    spare_nodes *const spare = &values->spare[header->kind];
    if (spare->n == 0)
        return NULL;
    const dsgd_value_node *const next = spare->v[spare->n - 1];
    if (next->kind != header->kind || next->n_inputs != header->n_inputs ||
        next->n_outputs != header->n_outputs || next->n_samples != header->n_samples)
        return NULL;
    dsgd_value_node *const node = take_spare(spare);
    node->n_refs = 0;
    node->pending = node->selected = node->is_operand = node->in_table = false;
    node->pending_at = 0;
    node->shape = header->shape;
    node->where = header->where;
    node->divisor = header->divisor;
    node->rate = header->rate;
    node->count = header->count;
    node->evaluation = NULL;
    node->n_missing = node->thread = 0;
    node->read_elsewhere = node->done = false;
    node->waiters = NULL;
    return node;
}

dsgd_value_node *dsgd_value_node_new(dsgd_values *values, const dsgd_value_node *header)
{
    dsgd_value_node *const node = build_again(values, header);
    return node != NULL ? node : build_anew(values, header);
}

/** Frees a node, or keeps its memory for reuse. The node must not have output buffers. */
static void delete_node(dsgd_values *values, dead_node dead)
{
    if (!dead.large) {
        spare_nodes *const spare = &values->spare[dead.kind];
        spare->v =
            dsgd_array_grow(values, spare->v, spare->n, &spare->room, sizeof(dsgd_value_node *));
        spare->v[spare->n++] = dead.node;
        return;
    }
    dsgd_value_node *const last = values->all[--values->n_all];
    last->place = dead.node->place;
    values->all[last->place] = last;
    free(dead.node);
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
}

/* --- reference counts ------------------------------------------------------------------------- */

static void ref_all(dsgd_value_node *node)
{
    for (uint32_t k = 0; k < node->n_outputs; k++)
        dsgd_value_ref((dsgd_value){node, k});
}

/**
 * Drops an output of a node. After that, the node is no longer merged with equal nodes, and the
 * output has one reader less.
 */
static void drop_output(dsgd_values *values, dsgd_value value)
{
    table_remove(values, value.node);
    if (value.node->pending)
        return;
    values->dropped = dsgd_array_grow(values, values->dropped, values->n_dropped,
                                      &values->room_dropped, sizeof *values->dropped);
    values->dropped[values->n_dropped++] = value;
}

void dsgd_value_unref_last(dsgd_values *values, dsgd_value value)
{
    dsgd_value_node *const node = value.node;
    DSGD_ASSERT(node->output_refs[value.index] == 1, "a value is released once too often");
    const bool per_output = dsgd_value_node_per_output(values, node);
    const bool last = --node->n_refs == 0;
    node->output_refs[value.index] = 0;
    if (per_output)
        drop_output(values, value);
    if (!last)
        return;
    for (uint32_t k = 0; k < node->n_outputs && !per_output; k++)
        drop_output(values, (dsgd_value){node, k});
    const bool refs_inputs = node->pending || dsgd_value_node_fusable(values, node);
    for (uint32_t i = 0; refs_inputs && i < node->n_inputs; i++)
        dsgd_value_unref(values, node->inputs[i]);
    if (!node->pending)
        return;
    dsgd_value_node_unlink(values, node);
    delete_node(values, (dead_node){node, node->kind, node->large});
}

void dsgd_value_node_unref(dsgd_values *values, dsgd_value_node *node)
{
    const uint32_t n = node->n_outputs;
    for (uint32_t k = 0; k < n; k++) {
        const bool last = node->n_refs == 1; /* true if this is the last reference; its release can
                                              * free the node */
        dsgd_value_unref(values, (dsgd_value){node, k});
        if (last)
            return;
    }
}

void dsgd_nodes_collect(dsgd_values *values)
{
    for (size_t i = 0; i < values->n_dropped; i++)
        dsgd_executor_unread(values, values->dropped[i]);
    values->n_dropped = 0;
    for (size_t i = 0; i < values->n_dead; i++)
        delete_node(values, values->dead[i]);
    values->n_dead = 0;
}

/**
 * Makes room for another node in `pending`. Closes the gaps of the array, or enlarges the array.
 */
static void make_room(dsgd_values *values)
{
    size_t n = 0;
    for (size_t i = 0; i < values->n_pending; i++) {
        dsgd_value_node *const node = values->pending[i];
        if (node == NULL)
            continue;
        node->pending_at = n;
        values->pending[n++] = node;
    }
    values->n_pending = n;
    if (2 * n < values->room_pending)
        return;
    dsgd_value_node **const old = values->pending;
    values->room_pending = values->room_pending == 0 ? 1024 : 2 * values->room_pending;
    values->pending = dsgd_store_alloc(values, values->room_pending, sizeof *old);
    values->selected = dsgd_store_alloc(values, values->room_pending, sizeof *old);
    if (n > 0)
        memcpy(values->pending, old, n * sizeof *old);
}

dsgd_value_node *dsgd_value_node_intern(dsgd_values *values, dsgd_value_node *node)
{
    node->hash = hash_of(node);
    dsgd_value_node *const equal = find_equal(values, node);
    if (equal != NULL) {
        delete_node(values, (dead_node){node, node->kind, node->large});
        ref_all(equal);
        return equal;
    }
    node->id = ++values->next_id;
    ref_all(node);
    for (uint32_t i = 0; i < node->n_inputs; i++)
        dsgd_value_ref(node->inputs[i]);
    if (values->n_pending == values->room_pending)
        make_room(values);
    node->pending = true;
    node->pending_at = values->n_pending;
    values->pending[values->n_pending++] = node;
    /*
     * At least half of the table stays free, so that most nodes are at the first entry of their
     * search.
     */
    if (2 * values->n_in_table++ >= values->room_table)
        grow_table(values);
    enter(values, (table_entry){node->hash, node});
    node->in_table = true;
    return node;
}

void dsgd_value_node_unlink(dsgd_values *values, dsgd_value_node *node)
{
    if (node->pending_at != SIZE_MAX)
        values->pending[node->pending_at] = NULL;
    node->pending = false;
}
