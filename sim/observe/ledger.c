/**
 * @file ledger.c
 * Records the values of a run: operations as the store reports them, and who has what.
 */
#include "sim/ledger.h"
#include "sim/observe/observe.h"

#include "models/values/recorder.h"
#include "sim/engine/engine.h"

struct dsgd_ledger_recorder {
    dsgd_recorder base; /* first */
    const dsgd_engine *engine;
    bool ended; /* the run has: what continues is not recorded */
};

/** The place of a value in the ledger. */
static size_t place_of(dsgd_value value)
{
    return value.node == NULL ? 0 : (size_t)*dsgd_value_name(value);
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
    if (w->engine->accounts.ledger->recorder->ended)
        return;
    entry.host = w->host;
    entry.step = w->node.step;
    entry.value = place_of(value);
    add_entry(w->engine->accounts.ledger, entry);
}

/** A new value is held from now on, so that its name stays. */
static void record_value(const dsgd_engine *engine, dsgd_made_by by, const dsgd_call *call)
{
    const size_t n = by == DSGD_MADE_COMBINATION ? call->n
                     : by == DSGD_MADE_UPDATE    ? 2
                     : by == DSGD_MADE_GRADIENT  ? 1
                                                 : 0;
    dsgd_made *const made = add_value(engine->accounts.ledger, n);
    *dsgd_value_name(call->made) = engine->accounts.ledger->n_values - 1;
    made->by = by;
    made->worker = (int)call->where.worker;
    made->step = (int64_t)call->where.step;
    made->value = dsgd_value_retain(call->made);
    const dsgd_computation *const c = &engine->workers[made->worker].gpu.computation;
    if (by == DSGD_MADE_GRADIENT && c->undescribed != NULL) /* at its end */
        made->at_s = c->since_s;
    for (size_t i = 0; i < n; i++) {
        made->from[i] = place_of(call->x[i]);
        made->weights[i] = by == DSGD_MADE_COMBINATION ? call->elements[i] / call->divisor
                           : i == 0                    ? 1
                                                       : -call->rate.lr;
    }
}

static void record_call(dsgd_recorder *recorder, const dsgd_call *call)
{
    static const dsgd_made_by by[] = {[DSGD_CALL_CONSTANT] = DSGD_MADE_CONSTANT,
                                      [DSGD_CALL_GRADIENT] = DSGD_MADE_GRADIENT,
                                      [DSGD_CALL_UPDATE] = DSGD_MADE_UPDATE,
                                      [DSGD_CALL_COMBINE] = DSGD_MADE_COMBINATION,
                                      [DSGD_CALL_ENCODE] = DSGD_MADE_ENCODED};
    const struct dsgd_ledger_recorder *const r = (struct dsgd_ledger_recorder *)recorder;
    const dsgd_engine *const engine = r->engine;
    const bool is_state =
        call->kind == DSGD_CALL_CONSTANT && call->piece >= engine->layout.n_pieces;
    if (call->kind > DSGD_CALL_ENCODE || r->ended || is_state || call->made.node == NULL)
        return;
    if (place_of(call->made) == 0)
        record_value(engine, by[call->kind], call);
    if (call->kind == DSGD_CALL_UPDATE)
        add_entry(engine->accounts.ledger, (dsgd_ledger_entry){.kind = DSGD_ENTRY_UPDATED,
                                                               .host = (int)call->where.worker,
                                                               .step = (int64_t)call->where.step,
                                                               .value = place_of(call->made)});
}

void dsgd_ledger_open(dsgd_engine *engine)
{
    dsgd_ledger *const ledger = engine->config->ledger;
    if (ledger == NULL || engine->learning.values == NULL)
        return;
    DSGD_ASSERT(engine->layout.n_pieces == 1 && engine->learning.recorder == NULL,
                "a ledger of %zu pieces, or beside a record", engine->layout.n_pieces);
    *ledger = (dsgd_ledger){.n_params = engine->learning.network.n_params};
    ledger->recorder = dsgd_keep(1, sizeof *ledger->recorder);
    *ledger->recorder = (struct dsgd_ledger_recorder){.base = {record_call}, .engine = engine};
    add_value(ledger, 0);
    engine->accounts.ledger = ledger;
    dsgd_values_record(engine->learning.values, &ledger->recorder->base);
}

void dsgd_ledger_end(const dsgd_engine *engine)
{
    if (engine->accounts.ledger != NULL)
        engine->accounts.ledger->recorder->ended = true;
}

void dsgd_ledger_close(dsgd_engine *engine)
{
    dsgd_ledger *const ledger = engine->accounts.ledger;
    if (ledger == NULL)
        return;
    engine->accounts.ledger = NULL;
    dsgd_values_record(engine->learning.values, NULL);
    for (size_t i = 0; i < ledger->n_values; i++) {
        dsgd_made *const made = &ledger->values[i];
        made->elements = dsgd_keep(ledger->n_params, sizeof *made->elements);
        dsgd_values_read(engine->learning.values, 0, made->value, made->elements);
    }
    for (size_t i = 0; i < ledger->n_values; i++) {
        dsgd_value_release(engine->learning.values, ledger->values[i].value);
        ledger->values[i].value = DSGD_ZERO_VALUE;
    }
    ledger->recorder = NULL;
}
