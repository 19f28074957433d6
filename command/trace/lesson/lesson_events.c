/**
 * @file lesson_events.c
 * Writes sentences about the events of a lesson. Times come from the timeline; values come from the
 * ledger.
 */
#include "command/trace/lesson/lesson.h"

char *dsgd_lesson_ranks(uint32_t ranks)
{
    char *text = dsgd_xstrdup("");
    for (int i = 0; ranks >> i != 0; i++) {
        int last = i;
        if (!(ranks >> i & 1))
            continue;
        while (ranks >> (last + 1) & 1)
            last++;
        dsgd_append(&text, text[0] == '\0' ? "%d" : " %d", i);
        if (last > i)
            dsgd_append(&text, last > i + 1 ? "-%d" : " %d", last);
        i = last;
    }
    return text;
}

char *dsgd_lesson_x_text(const double *x)
{
    return dsgd_xprintf("(%.3f, %.3f)", x[0] + 0.0, x[1] + 0.0);
}

char *dsgd_lesson_hosts(const dsgd_lesson_run *run, uint32_t hosts)
{
    const uint32_t workers = hosts & ((1u << run->n_workers) - 1);
    if (workers != hosts)
        return dsgd_xprintf("server %d", __builtin_ctz(hosts & ~workers) - run->n_workers);
    return dsgd_xprintf("worker%s %s", (workers & (workers - 1)) == 0 ? "" : "s",
                        dsgd_lesson_ranks(workers));
}

typedef struct narrator {
    const dsgd_lesson_run *run;
    size_t n;
    dsgd_lesson_event *events; /* array of n events */
    size_t *updated; /* array [n_hosts]: index of the value that each host's last local step
                      * produced */
    bool *is_model; /* array [n_values]: true if the value is, or was, the model of a host */
    /*
     * array [n_hosts][n_values]: name that a host gives to a value that it received since its model
     * last changed; NULL if it did not receive this value
     */
    const char **names;
    bool *has_received; /* array [n_hosts]: true if the host has received a value since its model
                         * last changed */
    double *weights; /* array [n_values]: weight of each value in a combination */
} narrator;

static void add_event(narrator *t, double at_s, int phase, int host, char *text)
{
    t->events = dsgd_keep_more(t->events, t->n + 1, sizeof *t->events);
    t->events[t->n] = (dsgd_lesson_event){at_s, phase, t->n, host, text};
    t->n++;
}

/** Returns the two parameters that a value contains as a text. */
static char *x_of(const narrator *t, size_t value)
{
    return dsgd_lesson_x_text(dsgd_lesson_x(t->run, value));
}

/* --- names of values -------------------------------------------------------------------------- */

/**
 * Returns the set of workers whose gradient of step @p step has the weight @p weight in t->weights.
 * Sets these weights to 0.
 */
static uint32_t take_alike(narrator *t, int64_t step, double weight)
{
    const dsgd_ledger *const ledger = &t->run->ledger;
    uint32_t workers = 0;
    for (size_t i = 0; i < ledger->n_values; i++)
        if (ledger->values[i].by == DSGD_MADE_GRADIENT && ledger->values[i].step == step &&
            t->weights[i] == weight) {
            workers |= 1u << ledger->values[i].worker;
            t->weights[i] = 0;
        }
    return workers;
}

/**
 * Returns a text about a sum of gradients, such as "gradient 3 of workers 0-2, gradient 2 of worker
 * 3". If the sum contains only the host's own gradient, the text is "gradient 3". Returns NULL if
 * the value is not a sum of gradients.
 */
static char *gradients_text(narrator *t, int host, size_t value)
{
    const dsgd_ledger *const ledger = &t->run->ledger;
    dsgd_lesson_expand(ledger, value, false, NULL, t->weights);
    size_t n = 0;
    double largest = 0;
    for (size_t i = 1; i < ledger->n_values; i++) {
        if (t->weights[i] != 0 && ledger->values[i].by != DSGD_MADE_GRADIENT)
            return NULL;
        n += t->weights[i] != 0;
        largest = fmax(largest, t->weights[i]);
    }
    char *text = n == 0 ? NULL : dsgd_xstrdup("");
    for (size_t i = ledger->n_values; n > 0 && i-- > 1;) {
        const double weight = t->weights[i];
        if (weight == 0)
            continue;
        const uint32_t workers = take_alike(t, ledger->values[i].step, weight);
        dsgd_append(&text, "%s", text[0] == '\0' ? "" : ", ");
        if (weight != largest)
            dsgd_append(&text, "%.3g of ", weight / largest);
        dsgd_append(&text, "gradient %jd", ledger->values[i].step);
        if (n > 1 || workers != 1u << host)
            dsgd_append(&text, " of %s", dsgd_lesson_hosts(t->run, workers));
    }
    return text;
}

static const char **name_at(const narrator *t, int host, size_t value)
{
    return &t->names[(size_t)host * t->run->ledger.n_values + value];
}

/** Returns the model that a host has before the ledger entry @p e of this host. */
static size_t model_before(const narrator *t, const dsgd_ledger_entry *e)
{
    return t->run->before[e - t->run->ledger.entries];
}

/**
 * Returns the name that the host of ledger entry @p e gives to a value. The name is "its x" for the
 * host's model, or the name of a received value. Returns NULL if the value has no name.
 */
static const char *name_of(const narrator *t, const dsgd_ledger_entry *e, size_t value)
{
    return value == model_before(t, e) ? "its x" : *name_at(t, e->host, value);
}

static void note_received(narrator *t, int host, size_t value, const char *name)
{
    *name_at(t, host, value) = name;
    t->has_received[host] = true;
}

/* --- computation and waiting ------------------------------------------------------------------ */

static void describe_gradient(narrator *t, const dsgd_span *span)
{
    const dsgd_ledger *const ledger = &t->run->ledger;
    /* index of the gradient: the last gradient of this step that was computed before the span */
    size_t at = ledger->n_values;
    if (span->end_s > t->run->view.timeline->end_s || span->verb == dsgd_pass)
        return;
    while (--at > 0) {
        const dsgd_made *const made = &ledger->values[at];
        if (made->by == DSGD_MADE_GRADIENT && made->worker == span->host &&
            made->step == span->step && made->at_s <= span->since_s)
            break;
    }
    char *text = dsgd_xprintf("gradient %jd", span->step);
    if (dsgd_is_cancelled(span)) {
        dsgd_append(&text, " is cancelled, %.3f s after its start", span->end_s - span->since_s);
    } else if (at == 0) {
        dsgd_append(&text, " is dropped, because no part of it is ready in time");
    } else {
        dsgd_append(&text, " = %s at %s since %.3f s", x_of(t, at),
                    x_of(t, ledger->values[at].from[0]), ledger->values[at].at_s);
    }
    add_event(t, span->end_s, 0, span->host, text);
}

/** shortest wait that a lesson describes, in seconds; printed times do not show shorter waits */
static const double least_wait_s = 0.0005;

/** Returns the name of a verb (a function of the interface) without the prefix "dsgd_". */
static const char *verb_of(const char *verb)
{
    static const char prefix[] = "dsgd_";
    return strncmp(verb, prefix, strlen(prefix)) == 0 ? verb + strlen(prefix) : verb;
}

/**
 * Describes a wait of a host for messages. The wait starts when the host has finished its
 * computation, because messages that overlap with computation delay nothing.
 */
static void describe_wait(narrator *t, const dsgd_span *span)
{
    const dsgd_view *const view = &t->run->view;
    const dsgd_row *const row = &view->rows[view->row_of[span->host]];
    const double end_s = dsgd_view_end_s(view, span);
    double since_s = span->since_s, idle_s = 0;
    for (size_t i = 0; i < row->n_tiles; i++) {
        const dsgd_tile *const tile = &row->tiles[i];
        const double both_s = fmin(end_s, tile->end_s) - fmax(since_s, tile->since_s);
        if (both_s <= 0)
            continue;
        if (tile->state == DSGD_TILE_WAIT)
            idle_s += both_s;
        if (tile->state == DSGD_TILE_FORWARD || tile->state == DSGD_TILE_BACKWARD) {
            since_s = fmin(end_s, tile->end_s);
            idle_s = 0;
        }
    }
    if (span->track != 0 || end_s - since_s < least_wait_s)
        return;
    char *const whom = idle_s > least_wait_s ? dsgd_view_waits_for(view, span) : NULL;
    char *text = dsgd_xstrdup("waits ");
    if (span->end_s <= view->timeline->end_s)
        dsgd_append(&text, "until %.3f s ", end_s);
    dsgd_append(&text, "for %s (%s)", whom == NULL ? "messages" : whom, verb_of(span->verb));
    add_event(t, since_s, 2, span->host, text);
}

static void describe_spans(narrator *t)
{
    const dsgd_timeline *const timeline = t->run->view.timeline;
    for (size_t i = 0; i < timeline->n_spans; i++) {
        const dsgd_span *const span = &timeline->spans[i];
        if (span->kind == DSGD_SPAN_COMPUTE)
            describe_gradient(t, span);
        else if (span->kind == DSGD_SPAN_WAIT)
            describe_wait(t, span);
        else if (span->kind == DSGD_SPAN_ACTIVATED && span->peer < 0)
            add_event(t, span->since_s, 1, span->host,
                      dsgd_xprintf(
                          "is first, and starts version %jd, the sum of this step, for all workers",
                          span->version));
    }
}

/* --- messages --------------------------------------------------------------------------------- */

static void describe_sent(narrator *t, const dsgd_ledger_entry *e)
{
    const char *const gradients = gradients_text(t, e->host, e->value);
    const char *const x = t->is_model[e->value] && gradients == NULL ? "x = " : "";
    add_event(t, e->at_s, 1, e->host,
              dsgd_xprintf("sends %s%s (%s)", x, gradients != NULL ? gradients : x_of(t, e->value),
                           verb_of(e->verb)));
}

/**
 * Describes a value that a host contributes to a partial collective. Describes it only if the value
 * is not from the current step.
 */
static void describe_late(narrator *t, const dsgd_ledger_entry *e)
{
    const dsgd_timeline *const timeline = t->run->view.timeline;
    const dsgd_span *span = timeline->spans; /* span of this contribution */
    const dsgd_span *const end = span + timeline->n_spans;
    while (span < end && (span->kind != DSGD_SPAN_CONTRIBUTED || span->host != e->host ||
                          (uint64_t)span->version != e->number))
        span++;
    if (!dsgd_scope_is_of_versions(e->scope) || span == end || !dsgd_is_late(span))
        return;
    char *text = dsgd_xprintf("contributes to version %jd ", span->version);
    if (e->stamp < 0)
        dsgd_append(&text, "nothing, because it has nothing new");
    else if (span->made < 0)
        dsgd_append(&text, "the x with which it started, because it is late");
    else
        dsgd_append(&text, "its value of step %jd, because it is late", span->made);
    add_event(t, e->at_s, 1, e->host, text);
}

static void describe_received(narrator *t, const dsgd_ledger_entry *e)
{
    const bool is_x = t->is_model[e->value];
    char *const peer = dsgd_lesson_hosts(t->run, 1u << e->peer);
    char *const name = dsgd_xprintf("%s %s%s", is_x ? "x of" : "what", peer, is_x ? "" : " sent");
    if (!dsgd_lesson_is_server(t->run, e->host)) {
        char *text =
            dsgd_xprintf("receives %s%s from %s", is_x ? "x = " : "", x_of(t, e->value), peer);
        if (!dsgd_lesson_is_server(t->run, e->peer))
            dsgd_append(&text, ", after %jd step%s", e->stamp, e->stamp == 1 ? "" : "s");
        add_event(t, e->at_s, 1, e->host, text);
    }
    note_received(t, e->host, e->value, name);
}

/**
 * Appends the contributions to a sum as a text, such as ", of workers 0-2 after 4 steps; of worker
 * 3 after 2 steps".
 */
static void append_members(narrator *t, char **text, const dsgd_ledger_entry *used)
{
    const dsgd_ledger *const ledger = &t->run->ledger;
    uint32_t listed = 0;
    for (const dsgd_ledger_entry *e = ledger->entries; e < used; e++) {
        if (e->kind != DSGD_ENTRY_SAMPLED || e->scope != used->scope || e->number != used->number ||
            listed >> e->host & 1)
            continue;
        uint32_t alike = 0;
        for (const dsgd_ledger_entry *other = e; other < used; other++)
            if (other->kind == DSGD_ENTRY_SAMPLED && other->scope == e->scope &&
                other->number == e->number && other->stamp == e->stamp)
                alike |= 1u << other->host;
        dsgd_append(text, "%s of %s", listed == 0 ? "," : ";", dsgd_lesson_hosts(t->run, alike));
        if (e->stamp < 0)
            dsgd_append(text, " nothing");
        else
            dsgd_append(text, " after %jd step%s", e->stamp, e->stamp == 1 ? "" : "s");
        listed |= alike;
    }
}

static void describe_used(narrator *t, const dsgd_ledger_entry *e)
{
    const dsgd_made *const sum = &t->run->ledger.values[e->value];
    double weight = 0;
    for (size_t i = 0; i < sum->n; i++)
        weight += sum->weights[i];
    const char *const what = fabs(weight - 1) < 1e-9 ? "mean" : "sum";
    char *text = dsgd_xprintf("receives the %s", what);
    const bool is_version = dsgd_scope_is_of_versions(e->scope);
    if (is_version)
        dsgd_append(&text, " of version %llu", (unsigned long long)e->number);
    if (is_version && (int64_t)e->number != e->step)
        dsgd_append(&text, " (in its step %jd)", e->step);
    dsgd_append(&text, ", %s", x_of(t, e->value));
    char *const gradients = gradients_text(t, e->host, e->value);
    if (gradients != NULL)
        dsgd_append(&text, ": of %s", gradients);
    else
        append_members(t, &text, e);
    add_event(t, e->at_s, 1, e->host, text);
    note_received(t, e->host, e->value, dsgd_xprintf("that %s", what));
}

/* --- updates of models ------------------------------------------------------------------------ */

static void describe_stale(narrator *t, const dsgd_ledger_entry *e)
{
    const dsgd_lesson_run *const run = t->run;
    for (size_t i = 0; i < run->n_applications; i++) {
        const dsgd_application *const a = &run->applications[i];
        const dsgd_made *const g = &run->ledger.values[a->gradient];
        if (&run->ledger.entries[a->entry] != e || a->age == 0)
            continue;
        add_event(t, e->at_s, 1, e->host,
                  dsgd_xprintf(
                      "gradient %jd of worker %d is %jd update%s old: taken at %s, applied at %s",
                      g->step, g->worker, a->age, a->age == 1 ? "" : "s", x_of(t, g->from[0]),
                      x_of(t, a->to)));
    }
}

static char *new_x_text(const narrator *t, size_t value)
{
    return dsgd_xprintf("x = %s, F = %.3f", x_of(t, value),
                        dsgd_quadratic_at(&t->run->quadratic, dsgd_lesson_x(t->run, value)));
}

static void describe_updated(narrator *t, const dsgd_ledger_entry *e)
{
    const size_t g = t->run->ledger.values[e->value].from[1];
    char *const gradients = gradients_text(t, e->host, g);
    const bool alone = t->run->ledger.values[g].by == DSGD_MADE_GRADIENT;
    char *text = dsgd_xstrdup("steps with ");
    if (!alone)
        dsgd_append(&text, "g = %s", x_of(t, g));
    if (gradients != NULL &&
        /* If the host has received values, an earlier event already describes the gradients. */
        (alone || !t->has_received[e->host]))
        dsgd_append(&text, "%s%s", alone ? "" : " of ", gradients);
    const size_t from = t->run->ledger.values[e->value].from[0];
    if (from == model_before(t, e)) {
        dsgd_append(&text, ": %s", new_x_text(t, e->value));
        t->updated[e->host] = e->value;
    } else { /* The update changes a vector that is not the model. */
        dsgd_append(&text, " from %s to %s", x_of(t, from), x_of(t, e->value));
    }
    add_event(t, e->at_s, 1, e->host, text);
    describe_stale(t, e);
}

/**
 * Appends the combination that gave a new model as a text, such as ": 0.5 its x + 0.5 x of worker
 * 2".
 */
static void append_terms(const narrator *t, char **text, const dsgd_ledger_entry *e)
{
    const dsgd_made *const made = &t->run->ledger.values[e->value];
    const char *const name = name_of(t, e, e->value);
    if (name != NULL)
        dsgd_append(text, ": %s", name);
    if (name != NULL || made->by != DSGD_MADE_COMBINATION)
        return;
    for (size_t i = 0, n_terms = 0; i < made->n; i++) {
        double weight = 0;
        bool first = true;
        for (size_t k = 0; k < made->n; k++) {
            weight += made->from[k] == made->from[i] ? made->weights[k] : 0;
            first = first && (k >= i || made->from[k] != made->from[i]);
        }
        if (!first || weight == 0 || made->from[i] == 0)
            continue;
        const char *const plus = n_terms++ == 0 ? ": " : " + ";
        dsgd_append(text, "%s", weight > 0 ? plus : n_terms == 1 ? ": -" : " - ");
        if (fabs(fabs(weight) - 1) > 1e-12)
            dsgd_append(text, "%.3g ", fabs(weight));
        const char *const operand = name_of(t, e, made->from[i]);
        dsgd_append(text, "%s", operand != NULL ? operand : x_of(t, made->from[i]));
    }
}

static void describe_model(narrator *t, const dsgd_ledger_entry *e)
{
    const size_t before = model_before(t, e);
    const double *const x = dsgd_lesson_x(t->run, e->value);
    const double *const old = dsgd_lesson_x(t->run, before);
    if (before > 0 && e->value != t->updated[e->host] && (x[0] != old[0] || x[1] != old[1])) {
        char *text = new_x_text(t, e->value);
        append_terms(t, &text, e);
        add_event(t, e->at_s, 1, e->host, text);
    }
    if (dsgd_lesson_is_server(t->run, e->host))
        describe_stale(t, e);
    t->is_model[e->value] = true;
    t->has_received[e->host] = false;
    memset(name_at(t, e->host, 0), 0, t->run->ledger.n_values * sizeof *t->names);
}

static int by_time(const void *a, const void *b)
{
    const dsgd_lesson_event *const e = a, *const f = b;
    if (e->at_s != f->at_s)
        return e->at_s < f->at_s ? -1 : 1;
    if (e->phase != f->phase)
        return e->phase - f->phase;
    return e->order < f->order ? -1 : e->order > f->order;
}

dsgd_lesson_event *dsgd_lesson_events(const dsgd_lesson_run *run, size_t *n)
{
    static void (*const descriptions[])(narrator *, const dsgd_ledger_entry *) = {
        [DSGD_ENTRY_MODEL] = describe_model,       [DSGD_ENTRY_UPDATED] = describe_updated,
        [DSGD_ENTRY_SENT] = describe_sent,         [DSGD_ENTRY_SAMPLED] = describe_late,
        [DSGD_ENTRY_RECEIVED] = describe_received, [DSGD_ENTRY_USED] = describe_used,
    };
    const size_t n_hosts = (size_t)run->n_hosts;
    narrator t = {.run = run,
                  .updated = dsgd_keep(n_hosts, sizeof *t.updated),
                  .is_model = dsgd_keep(run->ledger.n_values + 1, sizeof *t.is_model),
                  .names = dsgd_keep(n_hosts * run->ledger.n_values + 1, sizeof *t.names),
                  .has_received = dsgd_keep(n_hosts, sizeof *t.has_received),
                  .weights = dsgd_keep(run->ledger.n_values + 1, sizeof *t.weights)};
    describe_spans(&t);
    for (size_t i = 0; i < run->ledger.n_entries; i++)
        descriptions[run->ledger.entries[i].kind](&t, &run->ledger.entries[i]);
    if (t.n > 0)
        qsort(t.events, t.n, sizeof *t.events, by_time);
    *n = t.n;
    return t.events;
}
