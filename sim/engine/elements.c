/**
 * @file elements.c
 * Verbs that change a vector element by element, and scalars of vectors and gradients.
 */
#include "sim/engine/engine.h"
#include "sim/engine/vectors.h"
#include "sim/observe/observe.h"

/* --- elements --------------------------------------------------------------------------------- */

/** y[k] <- f(y[k], x[k]), element by element. */
static void elements_piece(dsgd_worker *w, const dsgd_update *update, size_t k, const dsgd_piece *x)
{
    const dsgd_codec codec = {.kind = update->codec, .number = update->a};
    dsgd_piece *const y = &update->y->piece[k];
    const dsgd_value changed = dsgd_values_encode(w->engine->learning.values, dsgd_origin_of(w), k,
                                                  &codec, y->value, x->value);
    dsgd_vector_update(update->y, k, changed, y->stamp);
}

static void change_elements(dsgd_node *self, dsgd_codec_kind codec, dsgd_vector *y, dsgd_vector *x,
                            double number)
{
    dsgd_set_when_ready(
        dsgd_worker_of(self),
        (dsgd_update){.apply = elements_piece, .y = y, .x = x, .a = number, .codec = codec});
}

void dsgd_mask(dsgd_node *self, dsgd_vector *y, dsgd_vector *x)
{
    DSGD_OWN(self, y, x);
    change_elements(self, DSGD_CODEC_MASK, y, x, 0);
}

void dsgd_multiply(dsgd_node *self, dsgd_vector *y, dsgd_vector *x)
{
    DSGD_OWN(self, y, x);
    change_elements(self, DSGD_CODEC_PRODUCT, y, x, 0);
}

void dsgd_divide_by(dsgd_node *self, dsgd_vector *y, dsgd_vector *x, double epsilon)
{
    DSGD_OWN(self, y, x);
    change_elements(self, DSGD_CODEC_QUOTIENT, y, x, epsilon);
}

void dsgd_root(dsgd_node *self, dsgd_vector *x, double epsilon)
{
    DSGD_OWN(self, x);
    change_elements(self, DSGD_CODEC_ROOT, x, x, epsilon);
}

void dsgd_clip(dsgd_node *self, dsgd_vector *x, double limit)
{
    DSGD_OWN(self, x);
    DSGD_REQUIRE(limit >= 0, "worker %d clips to %g in step %jd; a limit is 0 or more", self->rank,
                 limit, self->step);
    change_elements(self, DSGD_CODEC_CLIP, x, x, limit);
}

/* --- scalars ---------------------------------------------------------------------------------- */

static void require_reading(const dsgd_worker *w, const char *verb)
{
    const dsgd_algorithm *const algorithm = w->engine->config->algorithm;
    DSGD_REQUIRE(algorithm->reads != DSGD_READS_NOTHING,
                 "%s calls %s(), but does not say that it reads values (reads)",
                 algorithm->about.name, verb);
}

/** Waits for x, and takes the time of reading it. */
static void pass_over(dsgd_vector *x)
{
    dsgd_worker *const w = x->owner;
    DSGD_FOR_PIECES (k, x) {
        const double cost_s = w->engine->layout.piece_bytes[k] * w->wire.reduction_s_per_byte;
        dsgd_piece_wait(x, k);
        const double since_s = dsgd_now_s();
        if (cost_s > 0)
            dsgd_sleep(cost_s);
        dsgd_count_communication(w, since_s);
    }
}

/** The sum of x y, in order, in double. */
static double dot(dsgd_vector *x, dsgd_vector *y)
{
    const dsgd_engine *const engine = x->owner->engine;
    double sum = 0;
    pass_over(x);
    if (y != x)
        pass_over(y);
    if (engine->learning.values == NULL)
        return 1;
    DSGD_FOR_PIECES (k, x) {
        const size_t n = engine->learning.piece_begin[k + 1] - engine->learning.piece_begin[k];
        double *const a = dsgd_xcalloc(2 * n + 1, sizeof *a);
        dsgd_values_read(engine->learning.values, k, x->piece[k].value, a);
        dsgd_values_read(engine->learning.values, k, y->piece[k].value, a + n);
        for (size_t i = 0; i < n; i++)
            sum += a[i] * a[n + i];
        free(a);
    }
    return sum;
}

double dsgd_norm(dsgd_node *self, dsgd_vector *x)
{
    DSGD_OWN(self, x);
    require_reading(dsgd_worker_of(self), __func__);
    return sqrt(dot(x, x));
}

double dsgd_dot(dsgd_node *self, dsgd_vector *x, dsgd_vector *y)
{
    DSGD_OWN(self, x, y);
    require_reading(dsgd_worker_of(self), __func__);
    dsgd_require_same_pieces(x, y);
    return dot(x, y);
}

double dsgd_loss(dsgd_node *self)
{
    dsgd_worker *const w = dsgd_worker_of(self);
    const dsgd_engine *const engine = w->engine;
    require_reading(w, __func__);
    dsgd_computation_wait(w);
    if (engine->learning.values == NULL)
        return 1;
    DSGD_REQUIRE(w->gpu.taken_at != NULL && w->gpu.taken_step == self->step,
                 "worker %d asks for the loss of step %jd before its gradient", self->rank,
                 self->step);
    if (w->gpu.taken_count == 0)
        return NAN;
    dsgd_value *const x = dsgd_xcalloc(engine->layout.n_pieces, sizeof *x);
    for (size_t k = 0; k < engine->layout.n_pieces; k++)
        x[k] = w->gpu.taken_at->piece[k].value;
    const double loss = dsgd_values_loss(engine->learning.values, dsgd_origin_of(w),
                                         (uint32_t)w->gpu.taken_count, x, w->learner.model_state);
    free(x);
    return loss;
}
