/**
 * @file vectors.c Implements vectors that consist of chunks, updates that wait until chunks are
 * computed, linear combinations and views.
 */
#include "sim/engine/vectors.h"
#include "base/round.h"
#include "sim/engine/engine.h"
#include "sim/observe/observe.h"

/* --- vectors ---------------------------------------------------------------------------------- */

static bool piece_ready(const dsgd_vector *x, size_t piece)
{
    const dsgd_worker *const w = x->owner;
    return x->whole->awaits != w->gpu.computation.number || piece < w->gpu.computation.ready;
}

bool dsgd_vector_ready(const dsgd_vector *x)
{
    const size_t n = dsgd_count_pieces(x);
    return n == 0 || piece_ready(x, x->first + (n - 1) * x->stride);
}

void dsgd_piece_wait(dsgd_vector *x, size_t piece)
{
    while (!piece_ready(x, piece))
        dsgd_ready_sleep(x->owner, piece + 1);
}

void dsgd_piece_wait_until_set(dsgd_vector *x, size_t piece)
{
    if (x->whole->set_by == x->whole->awaits)
        dsgd_piece_wait(x, piece);
}

void dsgd_piece_set(dsgd_engine *engine, dsgd_piece *piece, dsgd_value value, int64_t stamp)
{
    dsgd_value_release(engine->learning.values, piece->value);
    piece->value = value;
    piece->stamp = stamp;
    piece->encoded = NULL;
}

void dsgd_vector_set(dsgd_vector *x, size_t piece, dsgd_value value, int64_t stamp)
{
    dsgd_piece_set(x->owner->engine, &x->piece[piece], value, stamp);
    if (x->whole == x->owner->learner.model)
        dsgd_ledger_enter(x->owner, (dsgd_ledger_entry){.kind = DSGD_ENTRY_MODEL}, value);
}

void dsgd_vector_update(dsgd_vector *x, size_t piece, dsgd_value value, int64_t stamp)
{
    dsgd_vector_set(x, piece, value, stamp);
    x->history[piece].updates++;
}

dsgd_vector *dsgd_vector_new(dsgd_node *self)
{
    dsgd_worker *const w = dsgd_worker_of(self);
    const size_t n = w->engine->layout.n_pieces;
    dsgd_vector *x = dsgd_run_alloc(w->engine, sizeof *x + n * sizeof x->own[0]);
    x->history = dsgd_run_alloc(w->engine, n * sizeof x->history[0]);
    x->piece = x->own;
    x->owner = w;
    x->whole = x;
    x->end = n;
    x->stride = 1;
    x->next = w->engine->vectors;
    w->engine->vectors = x;
    x->awaits = x->set_by = -1;
    for (size_t k = 0; k < n; k++) {
        x->piece[k] = DSGD_NO_PIECE;
        x->history[k] = (dsgd_history){.taken = -1, .age = -1};
    }
    return x;
}

void *dsgd_memory_new(dsgd_node *self, size_t n, size_t size)
{
    return dsgd_run_alloc(dsgd_worker_of(self)->engine, n * size);
}

dsgd_vector *dsgd_shared(dsgd_node *self)
{
    dsgd_worker *const w = dsgd_worker_of(self);
    if (w->learner.shared == NULL) {
        w->learner.shared = dsgd_vector_new(self);
        w->learner.shared->on_host = true;
        DSGD_FOR_PIECES (k, w->learner.shared)
            dsgd_vector_set(w->learner.shared, k,
                            dsgd_value_retain(w->learner.initial->piece[k].value), 0);
    }
    return w->learner.shared;
}

dsgd_vector *dsgd_model(dsgd_node *self)
{
    return dsgd_worker_of(self)->learner.model;
}

/* --- functions for updates that wait for chunks ----------------------------------------------- */

/** An update that waits for chunks that are not ready. */
typedef struct dsgd_deferred {
    struct dsgd_deferred *next;
    dsgd_update update;
    /*
     * true if x[] contains a copy of the update's vector x, which was ready; the algorithm may
     * change that vector before the update is applied
     */
    bool keeps_x;
    dsgd_piece x[]; /* [update.x->end] copy of the chunks; empty if keeps_x is false */
} dsgd_deferred;

static void defer(dsgd_worker *w, dsgd_update update)
{
    dsgd_computation *const computation = &w->gpu.computation;
    const size_t n = update.x->end;
    const bool keeps_x = dsgd_vector_ready(update.x);
    dsgd_deferred *const deferred =
        dsgd_run_alloc(w->engine, sizeof *deferred + (keeps_x ? n : 0) * sizeof deferred->x[0]);
    deferred->update = update;
    deferred->keeps_x = keeps_x;
    const size_t stride = update.x->stride;
    for (size_t k = dsgd_piece_from(update.x, computation->ready); keeps_x && k < n; k += stride) {
        deferred->x[k] = update.x->piece[k];
        dsgd_value_retain(deferred->x[k].value);
    }
    *computation->end_of_deferred = deferred;
    computation->end_of_deferred = &deferred->next;
    update.y->whole->awaits = computation->number;
}

void dsgd_update_when_ready(dsgd_worker *w, dsgd_update update)
{
    dsgd_require_same_pieces(update.x, update.y);
    const bool ready = dsgd_vector_ready(update.x) && dsgd_vector_ready(update.y);
    const size_t first_unready = ready ? w->engine->layout.n_pieces : w->gpu.computation.ready;
    DSGD_FOR_PIECES (k, update.y)
        if (k < first_unready)
            update.apply(w, &update, k, &update.x->piece[k]);
    if (!ready)
        defer(w, update);
}

void dsgd_updates_apply(dsgd_worker *w, size_t before)
{
    const size_t ready = w->gpu.computation.ready;
    for (dsgd_deferred *d = w->gpu.computation.first_deferred; d != NULL; d = d->next)
        for (size_t k = dsgd_piece_from(d->update.y, before); k < ready && k < d->update.y->end;
             k += d->update.y->stride) {
            const dsgd_piece *const x = d->keeps_x ? &d->x[k] : &d->update.x->piece[k];
            d->update.apply(w, &d->update, k, x);
            if (d->keeps_x)
                dsgd_value_release(w->engine->learning.values, d->x[k].value);
        }
}

void dsgd_updates_forget(dsgd_worker *w)
{
    for (dsgd_deferred *d = w->gpu.computation.first_deferred, *next = NULL; d != NULL; d = next) {
        next = d->next;
        dsgd_run_free(d);
    }
    w->gpu.computation.first_deferred = NULL;
    w->gpu.computation.end_of_deferred = &w->gpu.computation.first_deferred;
}

void dsgd_set_when_ready(dsgd_worker *w, dsgd_update update)
{
    dsgd_update_when_ready(w, update);
    update.y->whole->set_by = update.y->whole->awaits;
}

/* --- linear combinations ---------------------------------------------------------------------- */

static void copy_piece(dsgd_worker *w, const dsgd_update *update, size_t k, const dsgd_piece *x)
{
    dsgd_piece *const y = &update->y->piece[k];
    (void)w;
    dsgd_vector_set(update->y, k, dsgd_value_retain(x->value), x->stamp);
    y->weight = x->weight;
    y->encoded = x->encoded;
    y->encoded_s = x->encoded_s;
    y->of = x->of;
    update->y->history[k] = update->x->history[k];
}

/** Returns the history of a sum of gradients. The sum is as old as its oldest addend. */
static dsgd_history sum_of_histories(dsgd_history y, dsgd_history x)
{
    const int64_t updates = y.updates;
    if (y.age >= 0 && x.age >= 0)
        y = (dsgd_history){.taken = y.taken < x.taken ? y.taken : x.taken,
                           .age = dsgd_greater(y.age, x.age),
                           .age_max = dsgd_greater(y.age_max, x.age_max)};
    else if (x.age >= 0)
        y = x;
    y.updates = updates;
    return y;
}

void dsgd_copy(dsgd_node *self, dsgd_vector *y, dsgd_vector *x)
{
    DSGD_OWN(self, y, x);
    dsgd_set_when_ready(dsgd_worker_of(self), (dsgd_update){.apply = copy_piece, .y = y, .x = x});
}

dsgd_value dsgd_combined(const dsgd_worker *w, size_t k, double a, dsgd_value x, double b,
                         dsgd_value y, double divisor)
{
    const dsgd_value operands[2] = {x, y};
    const double weights[2] = {a, b};
    return dsgd_values_combine(w->engine->learning.values, dsgd_origin_of(w), k, 2, operands,
                               weights, divisor);
}

/** Sets y[k] <- (a y[k] + b x) / divisor. */
static void combine_piece(dsgd_worker *w, const dsgd_update *update, size_t k, const dsgd_piece *x)
{
    const dsgd_value sum = dsgd_combined(w, k, update->a, update->y->piece[k].value, update->b,
                                         x->value, update->divisor);
    dsgd_vector_update(update->y, k, sum, dsgd_local_steps(w, k));
    /* the model has no ages to sum, because only gradients have ages */
    if (update->y->whole != w->learner.model)
        update->y->history[k] = sum_of_histories(update->y->history[k], update->x->history[k]);
}

void dsgd_combine(dsgd_node *self, dsgd_vector *y, double a, double b, dsgd_vector *x)
{
    DSGD_OWN(self, y, x);
    dsgd_set_when_ready(dsgd_worker_of(self), (dsgd_update){combine_piece, y, x, a, b, 1});
}

void dsgd_divide(dsgd_node *self, dsgd_vector *x, double divisor)
{
    DSGD_OWN(self, x);
    dsgd_set_when_ready(dsgd_worker_of(self), (dsgd_update){combine_piece, x, x, 1, 0, divisor});
}

/* --- views ------------------------------------------------------------------------------------ */

/**
 * Returns the view of the whole vector of x that has these chunks. Makes the view if it does not
 * exist.
 */
static dsgd_vector *view_of(const dsgd_vector *x, size_t first, size_t end, size_t stride)
{
    dsgd_vector *const whole = x->whole;
    dsgd_vector *const last = whole->view;
    dsgd_vector *view = last;
    /*
     * starts the search with the view after the last used view, because parts are often used in
     * turn
     */
    while (view != NULL) {
        view = view->next;
        if (view->first == first && view->end == end && view->stride == stride)
            return whole->view = view;
        if (view == last)
            break;
    }
    view = dsgd_run_alloc(whole->owner->engine, sizeof *view);
    *view = (dsgd_vector){.owner = whole->owner,
                          .next = last != NULL ? last->next : view,
                          .whole = whole,
                          .first = first,
                          .end = end,
                          .stride = stride,
                          .history = whole->history,
                          .piece = whole->piece};
    if (last != NULL)
        last->next = view;
    return whole->view = view;
}

size_t dsgd_pieces(dsgd_node *self, const dsgd_vector *x)
{
    DSGD_OWN(self, x);
    return dsgd_count_pieces(x);
}

dsgd_vector *dsgd_view_like(dsgd_vector *whole, const dsgd_vector *x)
{
    return x->whole == x ? whole : view_of(whole, x->first, x->end, x->stride);
}

void dsgd_refuse_vector(const dsgd_node *self, const dsgd_vector *x, const char *verb)
{
    const bool theirs = x != NULL && &x->owner->node != self;
    const char *const what =
        x == NULL ? "NULL instead of a vector"
        : theirs ? dsgd_xprintf("a vector of %s %d; only exchanges give access to values of others",
                                dsgd_is_server(x->owner) ? "server" : "worker", x->owner->node.rank)
                 : "the vector of a message that is no longer valid. A message is valid until "
                   "the next dsgd_recv(): copy the vector before";
    dsgd_require_failed("%s %d calls %s() in step %jd with %s",
                        dsgd_is_server((const dsgd_worker *)self) ? "server" : "worker", self->rank,
                        verb, self->step, what);
}

void dsgd_require_same_pieces(const dsgd_vector *x, const dsgd_vector *y)
{
    DSGD_REQUIRE(
        x->first == y->first && x->end == y->end && x->stride == y->stride,
        "worker %d passes two vectors of different pieces to a verb in step %jd; take the same "
        "fragment or range of both",
        x->owner->node.rank, x->owner->node.step);
}

void dsgd_require_whole(const dsgd_vector *x, const char *verb)
{
    DSGD_REQUIRE(
        x->whole == x,
        "worker %d calls %s() with a view of a vector in step %jd; it takes only whole vectors",
        x->owner->node.rank, verb, x->owner->node.step);
}

/* --- functions that read and release vectors of the run --------------------------------------- */

void dsgd_vector_read(dsgd_vector *x, double *elements)
{
    dsgd_engine *const engine = x->owner->engine;
    for (size_t k = 0; k < engine->layout.n_pieces; k++)
        dsgd_values_read(engine->learning.values, k, x->piece[k].value,
                         elements + engine->learning.piece_begin[k]);
}

void dsgd_vectors_release(dsgd_engine *engine)
{
    for (dsgd_vector *x = engine->vectors; x != NULL; x = x->next)
        DSGD_FOR_PIECES (k, x)
            dsgd_piece_set(engine, &x->piece[k], DSGD_ZERO_VALUE, -1);
}

dsgd_vector *dsgd_slice(dsgd_node *self, dsgd_vector *x, size_t first, size_t end, size_t stride)
{
    DSGD_OWN(self, x);
    const size_t n = dsgd_count_pieces(x);
    DSGD_REQUIRE(first <= end && end <= n && stride > 0,
                 "worker %d takes pieces %zu to %zu, each %zu-th, of a vector of %zu in step %jd",
                 self->rank, first, end, stride, n, self->step);
    const size_t behind = x->first + end * x->stride;
    return view_of(x, x->first + first * x->stride, behind < x->end ? behind : x->end,
                   x->stride * stride);
}
