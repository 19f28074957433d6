/**
 * @file elements.c
 * Implements the verbs that change a vector element by element.
 */
#include "sim/engine/engine.h"
#include "sim/engine/vectors.h"
#include "sim/observe/observe.h"

/* --- elements --------------------------------------------------------------------------------- */

/** Sets y[k] <- f(y[k], x[k]), element by element. */
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
