/**
 * @file ledger.c Lists the values of a run and the hosts that have them. The value store reports
 * new values.
 */
#include "sim/ledger.h"
#include "sim/observe/observe.h"

#include "sim/engine/engine.h"

/**
 * Returns the index of a value in the ledger, or 0 if the ledger does not contain it. The search
 * starts at the end, because most values are new.
 */
static size_t place_of(const dsgd_ledger *ledger, dsgd_value value)
{
    size_t i = value.node == NULL ? 0 : ledger->n_values - 1;
    while (i > 0 && !dsgd_value_equal(ledger->values[i].value, value))
        i--;
    return i;
}

static dsgd_made *add_value(dsgd_ledger *ledger, size_t n)
{
    ledger->values = dsgd_keep_more(ledger->values, ledger->n_values + 1, sizeof *ledger->values);
    dsgd_made *const made = &ledger->values[ledger->n_values++];
    *made = (dsgd_made){.n = n,
                        .at_s = dsgd_now_s(),
                        .from = dsgd_keep(n, sizeof *made->from),
                        .weights = dsgd_keep(n, sizeof *made->weights)};
    return made;
}

static void add_entry(dsgd_ledger *ledger, dsgd_ledger_entry entry)
{
    ledger->entries =
        dsgd_keep_more(ledger->entries, ledger->n_entries + 1, sizeof *ledger->entries);
    entry.at_s = dsgd_now_s();
    ledger->entries[ledger->n_entries++] = entry;
}

void dsgd_ledger_add(const dsgd_worker *w, dsgd_ledger_entry entry, dsgd_value value)
{
    dsgd_ledger *const ledger = w->engine->accounts.ledger;
    if (ledger->ended)
        return;
    entry.host = w->host;
    entry.step = w->node.step;
    entry.value = place_of(ledger, value);
    add_entry(ledger, entry);
}

/** Adds a new value to the ledger. Retains the value, so that its handle is not reused. */
static void add_made(const dsgd_engine *engine, const dsgd_value_call *call)
{
    const dsgd_made_by by = call->by;
    const size_t n = by == DSGD_MADE_COMBINATION ? call->n
                     : by == DSGD_MADE_UPDATE    ? 2
                     : by == DSGD_MADE_GRADIENT  ? 1
                                                 : 0;
    dsgd_made *const made = add_value(engine->accounts.ledger, n);
    made->by = by;
    made->worker = (int)call->where.worker;
    made->step = (int64_t)call->where.step;
    made->value = dsgd_value_retain(call->made);
    const dsgd_computation *const c = &engine->workers[made->worker].gpu.computation;
    /*
     * a gradient that may be cancelled gets its value only at its end, so its start is recorded
     * here
     */
    if (by == DSGD_MADE_GRADIENT && c->undescribed != NULL)
        made->at_s = c->since_s;
    for (size_t i = 0; i < n; i++) {
        made->from[i] = place_of(engine->accounts.ledger, call->x[i]);
        made->weights[i] = by == DSGD_MADE_COMBINATION ? call->elements[i] / call->divisor
                           : i == 0                    ? 1
                                                       : -call->rate.lr;
    }
}

static void take_call(void *argument, const dsgd_value_call *call)
{
    const dsgd_engine *const engine = argument;
    dsgd_ledger *const ledger = engine->accounts.ledger;
    const bool is_state = call->by == DSGD_MADE_CONSTANT && call->piece >= engine->layout.n_pieces;
    if (ledger->ended || is_state || call->made.node == NULL)
        return;
    if (place_of(ledger, call->made) == 0)
        add_made(engine, call);
    if (call->by == DSGD_MADE_UPDATE)
        add_entry(ledger, (dsgd_ledger_entry){.kind = DSGD_ENTRY_UPDATED,
                                              .host = (int)call->where.worker,
                                              .step = (int64_t)call->where.step,
                                              .value = place_of(ledger, call->made)});
}

void dsgd_ledger_open(dsgd_engine *engine)
{
    dsgd_ledger *const ledger = engine->config->ledger;
    if (ledger == NULL || engine->learning.values == NULL)
        return;
    DSGD_ASSERT(engine->layout.n_pieces == 1, "a ledger of %zu pieces", engine->layout.n_pieces);
    *ledger = (dsgd_ledger){.n_params = engine->learning.network.n_params};
    add_value(ledger, 0);
    engine->accounts.ledger = ledger;
    dsgd_values_listen(engine->learning.values, take_call, engine);
}

void dsgd_ledger_end(const dsgd_engine *engine)
{
    if (engine->accounts.ledger != NULL)
        engine->accounts.ledger->ended = true;
}

void dsgd_ledger_close(dsgd_engine *engine)
{
    dsgd_ledger *const ledger = engine->accounts.ledger;
    if (ledger == NULL)
        return;
    engine->accounts.ledger = NULL;
    dsgd_values_listen(engine->learning.values, NULL, NULL);
    for (size_t i = 0; i < ledger->n_values; i++) {
        dsgd_made *const made = &ledger->values[i];
        made->elements = dsgd_keep(ledger->n_params, sizeof *made->elements);
        dsgd_values_read(engine->learning.values, 0, made->value, made->elements);
    }
    for (size_t i = 0; i < ledger->n_values; i++) {
        dsgd_value_release(engine->learning.values, ledger->values[i].value);
        ledger->values[i].value = DSGD_ZERO_VALUE;
    }
}
