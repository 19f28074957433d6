/**
 * @file chakra.c
 * Node by node; of each a few numbers stay.
 */
#include "traces/chakra.h"

#include <zlib.h>

#include "base/option.h"

const char *const dsgd_chakra_collectives[] = {"allreduce",
                                               "reduce",
                                               "allgather",
                                               "gather",
                                               "scatter",
                                               "broadcast",
                                               "alltoall",
                                               "reduce_scatter",
                                               "reduce_scatter_block",
                                               "barrier",
                                               NULL};

/** Of a node: its fields by their numbers, and attributes; NOTHING: of WHAT, not said. */
enum { ID = 1, TYPE = 3, START = 6, DURATION, ON_HOST, STEP, SIZE, WHAT, NUMBERS, NOTHING = 10 };

typedef struct chakra_node {
    double v[NUMBERS], end_us, ready_us;
    char group[32];
    size_t n_deps, deps; /* the first of its own in reader.deps */
} chakra_node;

typedef struct reader {
    chakra_node *nodes; /* [n] */
    double *deps; /* [n_deps] */
    size_t n, n_deps;
    bool has_starts;
} reader;

/* --- Protocol Buffers ------------------------------------------------------------------------- */

typedef struct cursor {
    const char *at, *end;
    bool is_bad;
} cursor;

typedef struct field {
    int number;
    bool is_bytes;
    double value;
    cursor bytes;
} field;

static uint64_t varint(cursor *c)
{
    uint64_t value = 0;
    for (int shift = 0; shift < 64 && c->at < c->end; shift += 7) {
        const uint64_t byte = (unsigned char)*c->at++;
        value |= (byte & 0x7f) << shift;
        if (byte < 0x80)
            return value;
    }
    c->is_bad = true;
    return 0;
}

static cursor bytes_of(cursor *c, uint64_t n)
{
    c->is_bad = c->is_bad || n > (uint64_t)(c->end - c->at);
    const char *const at = c->at;
    c->at += c->is_bad ? 0 : n;
    return (cursor){at, c->at, c->is_bad};
}

static bool next_field(cursor *c, field *f)
{
    if (c->is_bad || c->at == c->end)
        return false;
    const uint64_t tag = varint(c), wire = tag & 7;
    *f = (field){.number = (int)(tag >> 3 & INT32_MAX), .is_bytes = wire != 0};
    if (wire == 0)
        f->value = (double)(int64_t)varint(c);
    else
        f->bytes = bytes_of(c, wire == 2 ? varint(c) : wire == 1 ? 8 : wire == 5 ? 4 : UINT64_MAX);
    return !c->is_bad;
}

static void read_attribute(chakra_node *n, cursor c)
{
    static const char *const names[] = {"is_cpu_op", "step", "comm_size", "comm_type", NULL};
    field f;
    double value = 0;
    char words[2][32] = {"", ""};
    while (next_field(&c, &f))
        if (!f.is_bytes)
            value = f.value;
        else if (f.number == 1 || f.number == DSGD_CHAKRA_TEXT)
            snprintf(words[f.number != 1], sizeof *words, "%.*s", (int)(f.bytes.end - f.bytes.at),
                     f.bytes.at);
    const int at = dsgd_find_word(names, words[0]);
    if (at >= 0)
        n->v[ON_HOST + at] = value;
    else if (strcmp(words[0], "pg_name") == 0)
        memcpy(n->group, words[1], sizeof n->group);
}

enum { MOST_NODES = 1 << 22, MOST_DEPS = 1 << 24 }; /* a byte of a file may be a node of 160 */

/** Why it is none; NULL: it is one. */
static const char *read_node(reader *r, cursor c)
{
    static const double most = 1e16; /* microseconds (since 1970), bytes, nodes */
    chakra_node n = {.deps = r->n_deps, .v[WHAT] = NOTHING};
    field f;
    if (c.at == c.end || r->n == MOST_NODES)
        return c.at == c.end ? "a node is empty" : "more nodes than are read";
    while (next_field(&c, &f))
        if (f.number == DSGD_CHAKRA_DATA_DEPS)
            do { /* one, or packed */
                r->deps = dsgd_keep_more(r->deps, r->n_deps + 1, sizeof *r->deps);
                r->deps[r->n_deps++] = f.is_bytes ? (double)varint(&f.bytes) : f.value;
            } while (f.bytes.at < f.bytes.end && !f.bytes.is_bad && r->n_deps < MOST_DEPS);
        else if (f.number < ON_HOST && !f.is_bytes)
            n.v[f.number] = f.value;
        else if (f.number == DSGD_CHAKRA_ATTRIBUTE)
            read_attribute(&n, f.bytes);
    n.n_deps = r->n_deps - n.deps;
    if (r->n_deps >= MOST_DEPS)
        return "more dependencies than are read";
    for (int i = 0; i < NUMBERS; i++)
        if (!(n.v[i] >= 0 && n.v[i] <= (i == STEP ? INT32_MAX : most)))
            return "a number is absurd";
    if (c.is_bad)
        return "a node is damaged";
    r->has_starts = r->has_starts || n.v[START] > 0;
    n.end_us = n.v[START] + n.v[DURATION];
    r->nodes = dsgd_keep_more(r->nodes, r->n + 1, sizeof n);
    r->nodes[r->n++] = n;
    return NULL;
}

/* --- the whole -------------------------------------------------------------------------------- */

static int by_id(const void *a, const void *b)
{
    const chakra_node *const x = a, *const y = b;
    return (x->v[ID] > y->v[ID]) - (x->v[ID] < y->v[ID]);
}

static int by_step(const void *a, const void *b)
{
    const chakra_node *const x = a, *const y = b;
    const int i = x->v[STEP] != y->v[STEP] ? STEP : x->v[START] != y->v[START] ? START : ID;
    return (x->v[i] > y->v[i]) - (x->v[i] < y->v[i]);
}

/** When nodes begin, where that is not said; and when what they need of host and GPU is there. */
static void schedule(reader *r)
{
    double free_us[3] = {0}; /* host, GPU, network */
    qsort(r->nodes, r->n, sizeof *r->nodes, by_id);
    for (chakra_node *n = r->nodes; n < r->nodes + r->n; n++) {
        double *const lane = &free_us[n->v[TYPE] > DSGD_CHAKRA_COMPUTE ? 2 : n->v[ON_HOST] == 0];
        double ended_us = *lane;
        n->ready_us = -INFINITY;
        for (size_t i = n->deps; i < n->deps + n->n_deps; i++) {
            const chakra_node key = {.v = {[ID] = r->deps[i]}};
            const chakra_node *const d = bsearch(&key, r->nodes, r->n, sizeof key, by_id);
            if (d == NULL || (!r->has_starts && d >= n))
                continue;
            ended_us = fmax(ended_us, d->end_us);
            if (d->v[TYPE] != DSGD_CHAKRA_COLLECTIVE)
                n->ready_us = fmax(n->ready_us, d->end_us);
        }
        if (!r->has_starts) {
            n->v[START] = ended_us;
            *lane = n->end_us = ended_us + n->v[DURATION];
        }
        n->ready_us = fmin(n->v[START], n->ready_us < 0 ? INFINITY : n->ready_us);
    }
    qsort(r->nodes, r->n, sizeof *r->nodes, by_step);
}

/** Counts a node, which is of the last step, or of a new one. */
static void add_node(dsgd_kineto *t, const chakra_node *n)
{
    if (t->n_steps == 0 || t->steps[t->n_steps - 1].number != (int64_t)n->v[STEP]) {
        t->steps = dsgd_keep_more(t->steps, t->n_steps + 1, sizeof *t->steps);
        t->steps[t->n_steps++] =
            (dsgd_kineto_step){n->v[START], n->end_us, (int64_t)n->v[STEP], NAN, 0};
    }
    dsgd_kineto_step *const step = &t->steps[t->n_steps - 1];
    step->end_us = fmax(step->end_us, n->end_us);
    step->busy_us += n->v[ON_HOST] != 0 ? 0 : n->v[DURATION];
    if (n->v[TYPE] != DSGD_CHAKRA_COLLECTIVE || n->v[SIZE] <= 0)
        return;
    t->calls = dsgd_keep_more(t->calls, t->n_calls + 1, sizeof *t->calls);
    t->calls[t->n_calls] =
        (dsgd_kineto_call){.launched_us = n->ready_us,
                           .begin_us = n->v[START],
                           .end_us = n->end_us,
                           .ready_us = n->ready_us,
                           .idle_us = INFINITY,
                           .what = dsgd_chakra_collectives[(int)fmin(n->v[WHAT], NOTHING)],
                           .group = dsgd_xstrdup(n->group),
                           .bytes = n->v[SIZE],
                           .event = t->n_calls + 1,
                           .step = t->n_steps - 1};
    t->n_calls++;
}

bool dsgd_chakra_is(const char *head, size_t n)
{
    cursor file = {head, head + n, false}, c = bytes_of(&file, varint(&file));
    field f;
    while (next_field(&c, &f))
        c.is_bad = !f.is_bytes || f.number > 2; /* GlobalMetadata: a version, attributes */
    return !file.is_bad && !c.is_bad && file.at > head + 2;
}

bool dsgd_chakra_read(gzFile file, dsgd_kineto *trace)
{
    enum { PART = 1 << 20, MOST = 1 << 30 };
    reader r = {.n = 0};
    size_t n = 0;
    int got = 1, code = Z_OK;
    double busy_us = 0;
    char *bytes = NULL;
    const char *why = NULL;
    while (got > 0 && n < MOST && (n == 0 || dsgd_chakra_is(bytes, n))) {
        bytes = dsgd_xrealloc(bytes, n + PART, 1);
        got = gzread(file, bytes + n, PART);
        n += got > 0 ? (size_t)got : 0;
    }
    const char *const said = gzerror(file, &code);
    const char *const end = n >= MOST             ? "the 1 GiB that is read ends"
                            : code == Z_BUF_ERROR ? "the gzip ends"
                            : code != Z_OK        ? dsgd_xstrdup(said)
                                                  : NULL;
    cursor c = {bytes, bytes + n, false};
    if (!dsgd_chakra_is(bytes, n)) {
        free(bytes);
        return gzrewind(file), false;
    }
    bytes_of(&c, varint(&c)); /* GlobalMetadata */
    while (why == NULL && c.at < c.end) {
        const cursor node = bytes_of(&c, varint(&c));
        why = !c.is_bad ? read_node(&r, node) : end == NULL ? "the file ends" : end;
    }
    why = why == NULL ? end : why;
    free(bytes);
    *trace = (dsgd_kineto){.file = trace->file, .rank = -1, .n_events = r.n};
    if (why != NULL)
        trace->damage = dsgd_xprintf("%s behind node %zu", why, r.n);
    if (r.n > 0)
        schedule(&r);
    for (size_t i = 0; i < r.n; i++) {
        add_node(trace, &r.nodes[i]);
        busy_us += r.nodes[i].v[DURATION];
    }
    trace->n_steps = busy_us > 0 ? trace->n_steps : 0;
    return true;
}
