/**
 * @file lazy_graph.c
 * Builds the lazy graph and submits it to the executor. Combinations are simplified and fused.
 */
#include "models/values/store.h"

/** Creates a node for chunk call->piece. Its inputs are x[n]. */
static dsgd_value_node *node_of(dsgd_values *values, const dsgd_value_call *call, node_kind kind,
                                const dsgd_value *x, size_t n, size_t n_outputs)
{
    const dsgd_value_node header = {.kind = kind,
                                    .where = call->where,
                                    .shape = (uint32_t)call->piece,
                                    .n_inputs = (uint32_t)n,
                                    .n_outputs = (uint32_t)n_outputs};
    dsgd_value_node *const node = dsgd_value_node_new(values, &header);
    for (size_t i = 0; i < n; i++)
        dsgd_value_node_set_input(node, i, x[i]);
    return node;
}

/**
 * Creates a node whose inputs are the model of the call. The node uses the mini-batches @p
 * origins[n].
 */
static dsgd_value_node *over_samples(dsgd_values *values, const dsgd_value_call *call,
                                     node_kind kind, const dsgd_origin *origins, size_t n)
{
    const size_t n_pieces = values->config.problem.n_pieces;
    const uint32_t n_values = (uint32_t)n_pieces + dsgd_has_state(values);
    const dsgd_value_node header = {.kind = kind,
                                    .where = call->where,
                                    .n_inputs = n_values,
                                    .n_outputs = kind == NODE_GRADIENT ? n_values : 0,
                                    .count = call->count,
                                    .n_samples = (uint32_t)n};
    dsgd_value_node *const node = dsgd_value_node_new(values, &header);
    for (size_t k = 0; k < n_pieces; k++)
        dsgd_value_node_set_input(node, k, call->x[k]);
    if (dsgd_has_state(values))
        /*
         * NOLINTNEXTLINE(clang-analyzer-core.NullDereference): call->states is set if networks have
         * a state
         */
        dsgd_value_node_set_input(node, n_pieces, *call->states);
    memcpy(node->samples, origins, n * sizeof *origins);
    return node;
}

/** Creates the gradient of the call over the mini-batches @p origins[n]. */
static dsgd_value gradient(dsgd_values *values, const dsgd_value_call *call,
                           const dsgd_origin *origins, size_t n)
{
    dsgd_value_node *const node = over_samples(values, call, NODE_GRADIENT, origins, n);
    return (dsgd_value){dsgd_value_node_intern(values, node), 0};
}

static dsgd_value update(dsgd_values *values, const dsgd_value_call *call)
{
    const bool adaptive = values->config.problem.update.kind == DSGD_OPTIMIZER_ADAMW;
    dsgd_value_node *const node = node_of(values, call, NODE_UPDATE, call->x, call->n, call->n - 1);
    /*
     * Other update rules do not use t. Without t, equal updates with the same rate can be merged.
     */
    node->rate = (dsgd_rate){call->rate.lr, adaptive ? call->rate.t : 0};
    return (dsgd_value){dsgd_value_node_intern(values, node), 0};
}

enum { FEW_OPERANDS = 8 };

/**
 * The weighted inputs of a combination. x and weights point to an allocation, or to arrays in the
 * struct if there are few inputs.
 */
typedef struct operands {
    size_t n;
    dsgd_value *x;
    double *weights;
    dsgd_value few[FEW_OPERANDS];
    double few_weights[FEW_OPERANDS];
} operands;

static void make_operands(operands *in, size_t room)
{
    in->n = 0;
    if (room <= FEW_OPERANDS) {
        in->x = in->few;
        in->weights = in->few_weights;
        memset(in->few_weights, 0, room * sizeof *in->weights);
        return;
    }
    in->x = dsgd_xcalloc(room, sizeof *in->x + sizeof *in->weights);
    in->weights = (double *)(in->x + room);
}

static void free_operands(operands *in)
{
    if (in->x != in->few)
        free(in->x);
}

/** Returns the position of @p x in @p out, counted from 1, or 0 if @p x is not in @p out. */
static uint32_t number_of(const operands *out, dsgd_value x)
{
    if (out->x != out->few)
        return x.node->operand_numbers[x.index];
    /* If there are few operands, a direct comparison is enough. It reads no nodes. */
    for (size_t i = 0; i < out->n; i++)
        if (dsgd_value_equal(out->x[i], x))
            return (uint32_t)i + 1;
    return 0;
}

/**
 * Removes zeros from the operands and merges equal operands. A merged operand keeps the place of
 * its first occurrence.
 */
static void simplify(size_t n, const dsgd_value *x, const double *weights, operands *out)
{
    make_operands(out, n);
    for (size_t i = 0; i < n; i++) {
        if (x[i].node == NULL)
            continue;
        uint32_t number = number_of(out, x[i]);
        if (number == 0) {
            out->x[out->n++] = x[i];
            number = (uint32_t)out->n;
            if (out->x != out->few)
                x[i].node->operand_numbers[x[i].index] = number;
        }
        out->weights[number - 1] += weights[i];
    }
    const size_t n_distinct = out->n;
    out->n = 0;
    for (size_t i = 0; i < n_distinct; i++) {
        if (out->x != out->few)
            out->x[i].node->operand_numbers[out->x[i].index] = 0;
        if (out->weights[i] == 0)
            continue;
        out->x[out->n] = out->x[i];
        out->weights[out->n++] = out->weights[i];
    }
}

/**
 * Returns true if all operands can be fused. Such operands are gradients of one whole mini-batch
 * each, at the same model, with equal weights.
 */
static bool fusable(const dsgd_values *values, const operands *in)
{
    if (in->n < 2)
        return false;
    const dsgd_value_node *const first = in->x[0].node;
    const size_t bytes = values->config.problem.n_pieces * sizeof *first->input_ids;
    for (size_t i = 0; i < in->n; i++) {
        const dsgd_value_node *const node = in->x[i].node;
        if (!dsgd_value_node_fusable(values, node) || node->n_samples != 1 ||
            node->count != values->config.stream.batch || in->weights[i] != in->weights[0] ||
            memcmp(node->input_ids, first->input_ids, bytes) != 0)
            return false;
    }
    return true;
}

/**
 * Replaces the operands by gradients of blocks, which combine the mini-batches of several operands
 * in order. The caller releases the new gradients.
 */
static void fuse(dsgd_values *values, const dsgd_value_call *call, const operands *in,
                 operands *out)
{
    DSGD_ASSERT(in->n > 0, "%zu gradients are fused", in->n);
    const uint32_t batch = values->config.stream.batch;
    const size_t per_block = batch >= DSGD_FUSED_SAMPLES ? 1 : DSGD_FUSED_SAMPLES / batch;
    make_operands(out, (in->n + per_block - 1) / per_block);
    dsgd_origin *const origins = dsgd_xcalloc(per_block, sizeof *origins);
    const dsgd_value_call block = {
        .where = call->where, .count = batch, .x = in->x[0].node->inputs};
    for (size_t first = 0; first < in->n; first += per_block) {
        const size_t n = first + per_block < in->n ? per_block : in->n - first;
        for (size_t i = 0; i < n; i++)
            origins[i] = in->x[first + i].node->samples[0];
        out->x[out->n] = gradient(values, &block, origins, n);
        out->x[out->n].index = (uint32_t)call->piece;
        out->weights[out->n++] = in->weights[0] * (double)n;
    }
    free(origins);
}

/** Returns the sum of the operands @p in, divided by call->divisor. */
static dsgd_value sum_of(dsgd_values *values, const dsgd_value_call *call, const operands *in)
{
    if (in->n == 0)
        return DSGD_ZERO_VALUE;
    if (in->n == 1 && in->weights[0] == call->divisor) {
        dsgd_value_ref(in->x[0]);
        return in->x[0];
    }
    dsgd_value_node *const node = node_of(values, call, NODE_COMBINE, in->x, in->n, 1);
    node->divisor = call->divisor;
    memcpy(node->weights, in->weights, in->n * sizeof *in->weights);
    return (dsgd_value){dsgd_value_node_intern(values, node), 0};
}

static dsgd_value combine(dsgd_values *values, const dsgd_value_call *call)
{
    operands in;
    simplify(call->n, call->x, call->elements, &in);
    const bool fused = fusable(values, &in);
    operands blocks;
    if (fused)
        fuse(values, call, &in, &blocks);
    const dsgd_value sum = sum_of(values, call, fused ? &blocks : &in);
    for (size_t b = 0; fused && b < blocks.n; b++)
        dsgd_value_node_unref(values, blocks.x[b].node);
    if (fused)
        free_operands(&blocks);
    free_operands(&in);
    return sum;
}

static dsgd_value encode(dsgd_values *values, const dsgd_value_call *call)
{
    const bool x_is_zero = call->n > 0 && call->x[0].node == NULL;
    const bool z_is_zero = call->n > 1 && call->x[1].node == NULL;
    if (dsgd_shape_size(values, call->piece) == 0 || x_is_zero || z_is_zero)
        return DSGD_ZERO_VALUE;
    dsgd_value_node *const node = node_of(values, call, NODE_ENCODE, call->x, call->n, 1);
    *node->codec = *call->codec;
    return (dsgd_value){dsgd_value_node_intern(values, node), 0};
}

dsgd_value dsgd_lazy_make(dsgd_values *values, const dsgd_value_call *call)
{
    switch (call->by) {
    case DSGD_MADE_GRADIENT:
        return gradient(values, call, &call->where, 1);
    case DSGD_MADE_UPDATE:
        return update(values, call);
    case DSGD_MADE_COMBINATION:
        return combine(values, call);
    default:
        return encode(values, call);
    }
}

static void add_input(dsgd_value_node *node, size_t shape, dsgd_value value, double share)
{
    dsgd_value_node_set_input(node, node->n_inputs, value);
    node->shapes[node->n_inputs] = (uint32_t)shape;
    node->weights[node->n_inputs++] = share;
}

/** Adds the mean of x[n] as an input of @p node. @p shape is the shape of the values. */
static void add_mean(dsgd_values *values, dsgd_value_node *node, size_t shape, size_t n,
                     const dsgd_value *x, const double *ones)
{
    const dsgd_value_call mean = {
        .piece = shape, .n = n, .x = x, .elements = ones, .divisor = (double)n};
    add_input(node, shape, combine(values, &mean), 0);
}

/**
 * Adds the distinct values of x[n] as inputs of @p node. The weight of each input is the share of
 * the models that contain the value.
 */
static void add_distinct(dsgd_value_node *node, size_t piece, size_t n, const dsgd_value *x,
                         const double *ones)
{
    double zeros = (double)n;
    operands distinct;
    simplify(n, x, ones, &distinct);
    for (size_t i = 0; i < distinct.n; i++) {
        dsgd_value_ref(distinct.x[i]);
        add_input(node, piece, distinct.x[i], distinct.weights[i] / (double)n);
        zeros -= distinct.weights[i];
    }
    if (zeros > 0)
        add_input(node, piece, DSGD_ZERO_VALUE, zeros / (double)n);
    free_operands(&distinct);
}

/** Returns x[n][n_pieces] in the order [n_pieces][n], in memory that the caller frees. */
static dsgd_value *by_piece(const dsgd_values *values, size_t n, const dsgd_value *x)
{
    const size_t n_pieces = values->config.problem.n_pieces;
    dsgd_value *const pieces = dsgd_xcalloc(n_pieces * n, sizeof *pieces);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n_pieces; k++)
            pieces[k * n + i] = x[i * n_pieces + k];
    return pieces;
}

/** Makes a node pending without an entry in `pending`, because no handle refers to the node. */
static dsgd_value_node *in_no_ring(dsgd_values *values, dsgd_value_node *node)
{
    node->id = ++values->next_id;
    node->pending = true;
    node->pending_at = SIZE_MAX;
    return node;
}

/**
 * Creates the node of an evaluation. Its first inputs are the chunks of the evaluated model and the
 * mean state, if models have a state. If the evaluated model is not the mean of the models, the
 * chunks of that mean follow. The last inputs are the distinct chunks of the models.
 */
dsgd_value_node *dsgd_lazy_evaluate(dsgd_values *values, const dsgd_value_call *call)
{
    const size_t n = call->n;
    /*
     * m is the number of models whose mean is evaluated. If it is 0, the mean of all n models is
     * evaluated.
     */
    const size_t m = call->count;
    const size_t n_pieces = values->config.problem.n_pieces;
    const size_t most = n_pieces * (n + 1 + (m > 0)) + 1;
    dsgd_value_node *const node = dsgd_value_node_new(
        values, &(dsgd_value_node){.kind = NODE_EVALUATE, .n_inputs = (uint32_t)most});
    node->n_inputs = 0;
    dsgd_value *const x = by_piece(values, n, call->x);
    dsgd_value *const y = by_piece(values, m, call->x + n * n_pieces);
    double *const ones = dsgd_xcalloc(n + m, sizeof *ones);
    for (size_t i = 0; i < n + m; i++)
        ones[i] = 1;
    for (size_t k = 0; k < n_pieces; k++)
        add_mean(values, node, k, m > 0 ? m : n, m > 0 ? y + k * m : x + k * n, ones);
    if (dsgd_has_state(values))
        add_mean(values, node, n_pieces, n, call->states, ones);
    for (size_t k = 0; m > 0 && k < n_pieces; k++)
        add_mean(values, node, k, n, x + k * n, ones);
    node->count = node->n_inputs;
    for (size_t k = 0; k < n_pieces; k++)
        add_distinct(node, k, n, x + k * n, ones);
    free(x);
    free(y);
    free(ones);
    return in_no_ring(values, node);
}

dsgd_value_node *dsgd_lazy_scores(dsgd_values *values, const dsgd_value_call *call)
{
    dsgd_value_node *const node = over_samples(values, call, NODE_TEST, &call->where, 1);
    for (uint32_t i = 0; i < node->n_inputs; i++)
        dsgd_value_ref(node->inputs[i]);
    return in_no_ring(values, node);
}

void dsgd_lazy_submit(dsgd_values *values, dsgd_value_node *node)
{
    if (!node->pending)
        return;
    dsgd_value_node_unlink(values, node);
    for (uint32_t i = 0; i < node->n_inputs; i++)
        if (node->inputs[i].node != NULL)
            dsgd_lazy_submit(values, node->inputs[i].node);
    dsgd_executor_add(values, node);
    /*
     * The executor did not have the node when outputs were dropped, so dropped outputs are reported
     * now.
     */
    for (uint32_t k = 0; k < node->n_outputs; k++)
        if (node->output_refs[k] == 0 && dsgd_value_node_per_output(values, node))
            dsgd_executor_unread(values, (dsgd_value){node, k});
    if (!dsgd_value_node_fusable(values, node))
        for (uint32_t i = 0; i < node->n_inputs; i++)
            dsgd_value_unref(values, node->inputs[i]);
}

/**
 * Returns true if a node is a mean that includes updated models, or an update of such a mean or of
 * the initial model.
 */
static bool mixes_models(const dsgd_value_node *node)
{
    bool updated = false;
    for (uint32_t i = 0; node->kind == NODE_COMBINE && i < node->n_inputs; i++)
        updated = updated || node->inputs[i].node->kind == NODE_UPDATE;
    const dsgd_value_node *const x = node->n_inputs == 0 ? NULL : node->inputs[0].node;
    return updated || (node->kind == NODE_UPDATE && x != NULL && x->kind != NODE_UPDATE);
}

/**
 * Returns true if a flush up to id @p last submits the node. `selected` is already set for earlier
 * nodes. A later average is also submitted if all its inputs are submitted, because the inputs are
 * then in the cache. Other later nodes wait, because they can still be merged.
 */
static bool selects(const dsgd_value_node *node, uint64_t last)
{
    if (node->id <= last)
        return true;
    bool all = mixes_models(node);
    for (uint32_t i = 0; all && i < node->n_inputs; i++) {
        const dsgd_value_node *const input = node->inputs[i].node;
        all = input == NULL || !input->pending || input->selected;
    }
    return all;
}

enum { AHEAD = 8 };

/**
 * Submits the selected nodes. A fusable gradient is submitted only as the input of another node,
 * because a combination can still fuse it. Nodes that no selected node reads are submitted in
 * order, each right after its inputs. Related nodes are therefore computed together.
 */
void dsgd_lazy_flush(dsgd_values *values, uint64_t last)
{
    values->n_selected = 0;
    for (size_t k = 0; k < values->n_pending; k++) {
        dsgd_value_node *const node = values->pending[k];
        if (node == NULL)
            continue;
        node->selected = selects(node, last);
        if (node->selected)
            values->selected[values->n_selected++] = node;
    }
    for (size_t k = values->n_selected; k-- > 0;) {
        const dsgd_value_node *const node = values->selected[k];
        const bool reads = node->is_operand || !dsgd_value_node_fusable(values, node);
        for (uint32_t i = 0; reads && i < node->n_inputs; i++)
            if (node->inputs[i].node != NULL)
                node->inputs[i].node->is_operand = true;
    }
    for (size_t k = 0; k < values->n_selected; k++) {
        dsgd_value_node *const node = values->selected[k];
        if (k + AHEAD < values->n_selected)
            dsgd_value_node_fetch(values->selected[k + AHEAD], offsetof(dsgd_value_node, kind));
        if (!node->is_operand && !dsgd_value_node_fusable(values, node))
            /* The call does nothing if the node has already been submitted. */
            dsgd_lazy_submit(values, node);
    }
}
