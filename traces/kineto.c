/**
 * @file kineto.c
 * Events of a trace, one by one, by YAJL; of the millions a few numbers stay until the file ends.
 */
#include "traces/kineto.h"

#include <strings.h>
#include <yajl/yajl_parse.h>
#include <zlib.h>

enum { WORD = 128 };

/** Where a key stands. */
typedef enum place { NOWHERE, EVENT, ARGUMENT, JOB, DEVICE } place;

/** What is read of an event, and then of the head. */
#define FIELD_LIST(X)                                                                              \
    X(PHASE, EVENT, "ph")                                                                          \
    X(CATEGORY, EVENT, "cat")                                                                      \
    X(NAME, EVENT, "name")                                                                         \
    X(TS, EVENT, "ts")                                                                             \
    X(DUR, EVENT, "dur")                                                                           \
    X(PID, EVENT, "pid")                                                                           \
    X(TID, EVENT, "tid")                                                                           \
    X(WHAT, ARGUMENT, "Collective name")                                                           \
    X(TYPE, ARGUMENT, "dtype")                                                                     \
    X(GROUP, ARGUMENT, "Process Group Name")                                                       \
    X(ELEMENTS, ARGUMENT, "In msg nelems")                                                         \
    X(SIZE, ARGUMENT, "Group size")                                                                \
    X(CORRELATION, ARGUMENT, "correlation")                                                        \
    X(STEP, ARGUMENT, "step")                                                                      \
    X(DIMENSIONS, ARGUMENT, "Input Dims")                                                          \
    X(INPUT_TYPE, ARGUMENT, "Input type")                                                          \
    X(RANK, JOB, "rank")                                                                           \
    X(WORLD, JOB, "world_size")                                                                    \
    X(GPU, DEVICE, "name")

#define X(name, place, key) name,
typedef enum field { FIELD_LIST(X) FIELDS, EVENT_FIELDS = RANK } field;
#undef X

static const struct {
    place place;
    const char *key;
} fields[] = {
#define X(name, place, key) {place, key},
    FIELD_LIST(X)
#undef X
};

/** A kernel that computes, until it is known when it was launched. */
typedef struct kernel {
    double launched_us, begin_us, end_us;
    double correlation;
} kernel;

typedef struct launch {
    double correlation, us, tid;
} launch;

/** What the host says of a collective while it launches it: record_param_comms, nccl:all_reduce. */
typedef struct note {
    double begin_us, end_us, tid, bytes, size;
    const char *what, *group;
} note;

typedef struct reader {
    dsgd_kineto *trace;
    int depth, events_at; /* depth of the list of events; 0: outside */
    place head; /* of the key of the root: JOB, DEVICE, EVENT: the list of events */
    bool in_arguments;
    int field; /* whose value comes; FIELDS: nobody's */
    char values[FIELDS][WORD]; /* "": absent */
    double elements, product; /* of the inputs; of one's dimensions */
    size_t n_launches, n_notes, n_backward;
    kernel *kernels; /* [trace->n_kernels] */
    launch *launches;
    double *backward_us; /* when the host begins each function of a backward pass */
    note *notes;
    double *correlations; /* [n_calls] */
} reader;

/** Another element, its memory doubled where it is full; freed with the reader. */
static void *grow(void *list, size_t n, size_t size)
{
    return (n & (n - 1)) != 0 ? list : dsgd_xrealloc(list, n == 0 ? 1 : 2 * n, size);
}
#define ADD(list, n, ...)                                                                          \
    ((list) = grow(list, n, sizeof *(list)), (list)[(n)++] = __VA_ARGS__, (void)0)

/* --- an event --------------------------------------------------------------------------------- */

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/** NAN: absent. */
static double number(const reader *r, field f)
{
    return r->values[f][0] == '\0' ? NAN : strtod(r->values[f], NULL);
}

static bool is_index(const reader *r, field f)
{
    return number(r, f) >= 0 && number(r, f) <= 1 << 20;
}

static double bytes_of(const reader *r)
{
    static const struct {
        const char *type;
        double bytes;
    } types[] = {
        {"bfloat16", 2}, {"float16", 2}, {"half", 2},  {"float8", 1}, {"complexdouble", 16},
        {"complex", 8},  {"double", 8},  {"float", 4}, {"long", 8},   {"short", 2},
        {"int8", 1},     {"int64", 8},   {"int", 4},   {"char", 1},   {"byte", 1},
        {"bool", 1}};
    const bool is_message = r->values[ELEMENTS][0] != '\0';
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (strcasestr(r->values[is_message ? TYPE : INPUT_TYPE], types[i].type) != NULL)
            return types[i].bytes * (is_message ? fmax(number(r, ELEMENTS), 0) : r->elements);
    return 0;
}

/** What the event's arguments, or the name of its kernel, call the collective; NULL: neither. */
static const char *what_of(const reader *r)
{
    static const char *const words[][2] = {
        {"AllReduce", "allreduce"}, {"AllGather", "allgather"}, {"ReduceScatter", "reduce_scatter"},
        {"Broadcast", "broadcast"}, {"SendRecv", "sendrecv"},   {"Reduce", "reduce"}};
    for (size_t i = 0; i < sizeof words / sizeof words[0] && r->values[WHAT][0] == '\0'; i++)
        if (strstr(r->values[NAME], words[i][0]) != NULL)
            return words[i][1];
    return r->values[WHAT][0] == '\0' ? NULL : dsgd_xstrdup(r->values[WHAT]);
}

/** ncclKernel_AllReduce_RING_LL..., ncclDevKernel_...; RCCL has both. */
static bool is_collective(const reader *r)
{
    return begins(r->values[NAME], "ncclKernel") || begins(r->values[NAME], "ncclDevKernel") ||
           begins(r->values[NAME], "rcclKernel") || r->values[WHAT][0] != '\0';
}

static void add_kernel(reader *r)
{
    dsgd_kineto *const t = r->trace;
    const double begin_us = number(r, TS), end_us = begin_us + number(r, DUR);
    if (!is_collective(r)) {
        ADD(r->kernels, t->n_kernels, (kernel){begin_us, begin_us, end_us, number(r, CORRELATION)});
        return;
    }
    size_t n = t->n_calls;
    ADD(r->correlations, n, number(r, CORRELATION));
    t->calls = dsgd_keep_more(t->calls, t->n_calls + 1, sizeof *t->calls);
    t->calls[t->n_calls++] = (dsgd_kineto_call){.begin_us = begin_us,
                                                .end_us = end_us,
                                                .ready_us = begin_us,
                                                .launched_us = begin_us,
                                                .what = what_of(r),
                                                .group = dsgd_xstrdup(r->values[GROUP]),
                                                .bytes = bytes_of(r),
                                                .group_size = (int64_t)fmax(number(r, SIZE), 0),
                                                .event = t->n_events};
}

/** Timelines of ranks, such as of ByteDance's StragglerAnalysis; a step of a thread stands in one
 * piece. */
static void add_seconds(const reader *r)
{
    dsgd_kineto *const t = r->trace;
    const dsgd_kineto_seconds new = {(int64_t)number(r, PID), (int64_t)number(r, TID),
                                     (int64_t)number(r, STEP), begins(r->values[NAME], "forward"),
                                     1e-6 * number(r, DUR)};
    dsgd_kineto_seconds *const last = t->n_seconds == 0 ? NULL : &t->seconds[t->n_seconds - 1];
    if (last != NULL && last->worker == new.worker && last->thread == new.thread &&
        last->step == new.step) {
        last->seconds += new.seconds;
        last->parts += new.parts;
        return;
    }
    t->seconds = dsgd_keep_more(t->seconds, t->n_seconds + 1, sizeof *t->seconds);
    t->seconds[t->n_seconds++] = new;
}

static void end_event(reader *r)
{
    dsgd_kineto *const t = r->trace;
    const char *const name = r->values[NAME], *const category = r->values[CATEGORY];
    const double begin_us = number(r, TS), end_us = begin_us + number(r, DUR);
    t->n_events++;
    if (r->values[PHASE][0] != 'X' || !isfinite(end_us) || number(r, DUR) < 0)
        return;
    if (strcasecmp(category, "kernel") == 0) {
        add_kernel(r);
    } else if (strcasecmp(category, "cuda_runtime") == 0 || strcmp(category, "cuda_driver") == 0 ||
               strcmp(category, "Runtime") == 0 || strcmp(category, "hip_runtime") == 0) {
        if (strstr(name, "Launch") != NULL && !isnan(number(r, CORRELATION)))
            ADD(r->launches, r->n_launches,
                (launch){number(r, CORRELATION), begin_us, number(r, TID)});
    } else if (begins(name, "ProfilerStep#") && !begins(category, "gpu")) {
        t->steps = dsgd_keep_more(t->steps, t->n_steps + 1, sizeof *t->steps);
        t->steps[t->n_steps++] = (dsgd_kineto_step){begin_us, end_us, strtoll(name + 13, NULL, 10)};
    } else if (begins(name, "autograd::engine::evaluate_function")) {
        ADD(r->backward_us, r->n_backward, begin_us);
    } else if (begins(name, "record_param_comms") ||
               (begins(name, "nccl:") && strcmp(category, "user_annotation") == 0)) {
        ADD(r->notes, r->n_notes,
            (note){begin_us, end_us, number(r, TID), bytes_of(r), fmax(number(r, SIZE), 0),
                   name[0] == 'n' ? dsgd_xstrdup(name + 5) : what_of(r),
                   dsgd_xstrdup(r->values[GROUP])});
    } else if (dsgd_ends_with(name, "-compute") && is_index(r, PID) && is_index(r, TID) &&
               is_index(r, STEP)) {
        add_seconds(r);
    }
}

/* --- JSON ------------------------------------------------------------------------------------- */

static int on_key(void *state, const unsigned char *key, size_t n)
{
    static const char *const heads[] = {
        [EVENT] = "traceEvents", [JOB] = "distributedInfo", [DEVICE] = "deviceProperties"};
    reader *const r = state;
    const int level = r->events_at > 0 ? r->depth - r->events_at : 0;
    place at = level == 1                      ? EVENT
               : level == 2 && r->in_arguments ? ARGUMENT
               : r->depth == 2 && level == 0   ? r->head == JOB ? JOB : NOWHERE
               : r->depth == 3 && r->events_at == 0 && r->head == DEVICE ? DEVICE
                                                                         : NOWHERE;
    if (r->depth == 1 && r->events_at == 0)
        for (r->head = DEVICE; r->head > NOWHERE; r->head--)
            if (heads[r->head] != NULL && strlen(heads[r->head]) == n &&
                memcmp(heads[r->head], key, n) == 0)
                break;
    if (at == EVENT)
        r->in_arguments = n == 4 && memcmp(key, "args", n) == 0;
    for (r->field = 0; r->field < FIELDS; r->field++)
        if (fields[r->field].place == at && strlen(fields[r->field].key) == n &&
            memcmp(fields[r->field].key, key, n) == 0)
            break;
    return 1;
}

/** Of a list, such as types of inputs, the first. */
static int on_string(void *state, const unsigned char *text, size_t n)
{
    reader *const r = state;
    const bool in_list = r->depth > r->events_at + 2;
    n = n < WORD ? n : WORD - 1;
    if (r->field < FIELDS &&
        (r->values[r->field][0] == '\0' || (r->field != GPU && r->events_at > 0 && !in_list))) {
        memcpy(r->values[r->field], text, n);
        r->values[r->field][n] = '\0';
    }
    return 1;
}

static int on_number(void *state, const char *text, size_t n)
{
    reader *const r = state;
    if (r->field == DIMENSIONS)
        r->product = (r->product > 0 ? r->product : 1) * strtod(text, NULL);
    return r->field == DIMENSIONS ? 1 : on_string(state, (const unsigned char *)text, n);
}

static int on_map(void *state)
{
    reader *const r = state;
    r->depth++;
    r->field = FIELDS;
    if (r->events_at == 0 || r->depth != r->events_at + 1)
        return 1;
    r->elements = 0;
    for (int i = 0; i < EVENT_FIELDS; i++)
        r->values[i][0] = '\0';
    return 1;
}

static int on_list(void *state)
{
    reader *const r = state;
    if (r->depth == 0 || (r->depth == 1 && r->head == EVENT))
        r->events_at = r->depth + 1;
    r->depth++;
    r->product = 0;
    return 1;
}

static int on_end(void *state)
{
    reader *const r = state;
    if (r->field == DIMENSIONS && r->depth == r->events_at + 4)
        r->elements += r->product; /* of an input, which is a list in a list of them */
    if (r->events_at > 0 && r->depth == r->events_at + 1)
        end_event(r);
    if (r->depth == r->events_at)
        r->events_at = 0;
    r->depth--;
    return 1;
}

/* --- the whole -------------------------------------------------------------------------------- */

/** By the first member, a double. */
static int by_first(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void sort(void *list, size_t n, size_t size, int (*by)(const void *, const void *))
{
    if (n > 1) /* an empty one may be NULL */
        qsort(list, n, size, by);
}

static int by_begin(const void *a, const void *b)
{
    return by_first(&((const kernel *)a)->begin_us, &((const kernel *)b)->begin_us);
}

/** By the first two. */
static int by_both(const void *a, const void *b)
{
    const int first = by_first(a, b);
    return first != 0 ? first : by_first((const double *)a + 1, (const double *)b + 1);
}

static const launch *launch_of(const reader *r, double correlation)
{
    const launch key = {correlation, 0, 0};
    return r->n_launches == 0 ? NULL
                              : bsearch(&key, r->launches, r->n_launches, sizeof key, by_first);
}

/** Of how many of list[n], ascending, the time at an offset is @p us at most. */
static size_t n_until(const void *list, size_t offset, size_t n, size_t size, double us)
{
    size_t low = 0;
    while (low < n) {
        const size_t middle = (low + n) / 2;
        const void *const time_us = (const char *)list + middle * size + offset;
        const bool is_until = *(const double *)time_us <= us;
        low = is_until ? middle + 1 : low;
        n = is_until ? n : middle;
    }
    return low;
}

/** When the host launched a kernel; its begin where the trace does not say. */
static double launched_us(const reader *r, double correlation, double begin_us)
{
    const launch *const found = launch_of(r, correlation);
    return found == NULL ? begin_us : fmin(found->us, begin_us);
}

/** The step whose time on the host has @p us, until the next begins. */
static size_t step_at(const dsgd_kineto *t, double us)
{
    const size_t k = n_until(t->steps, 0, t->n_steps, sizeof *t->steps, us);
    return k == 0 || us > t->steps[k - 1].end_us + 1e3 ? SIZE_MAX : k - 1;
}

/** What the host said when it launched the collective: notes stand in each other, a few deep. */
static void add_note(const reader *r, const launch *by, dsgd_kineto_call *c)
{
    enum { MOST_BACK = 64 };
    const size_t n_notes = by == NULL || c->bytes > 0 ? 0 : r->n_notes;
    const size_t n_before =
        n_notes == 0 ? 0 : n_until(r->notes, 0, n_notes, sizeof *r->notes, by->us);
    for (size_t i = n_before; i-- > 0 && n_before - i <= MOST_BACK && c->bytes <= 0;) {
        const note *const n = &r->notes[i];
        if (n->tid == by->tid && by->us <= n->end_us && n->bytes > 0) {
            c->bytes = n->bytes;
            c->what = n->what != NULL ? n->what : c->what;
            c->group = *n->group != '\0' ? n->group : c->group;
            c->group_size = n->size > 0 ? (int64_t)n->size : c->group_size;
        }
    }
}

static void join_calls(reader *r)
{
    dsgd_kineto *const t = r->trace;
    for (size_t i = 0; i < t->n_calls; i++) {
        dsgd_kineto_call *const c = &t->calls[i];
        c->launched_us = launched_us(r, r->correlations[i], c->begin_us);
        add_note(r, launch_of(r, r->correlations[i]), c);
        c->step = step_at(t, c->launched_us);
    }
    sort(t->calls, t->n_calls, sizeof *t->calls, by_both);
}

/** By launch order: what a collective waits for, and where the backward passes begin. */
static void follow_launches(reader *r)
{
    dsgd_kineto *const t = r->trace;
    for (size_t i = 0; i < t->n_kernels; i++)
        r->kernels[i].launched_us =
            launched_us(r, r->kernels[i].correlation, r->kernels[i].begin_us);
    sort(r->kernels, t->n_kernels, sizeof *r->kernels, by_first);
    double last_us = -INFINITY;
    size_t k = 0;
    for (size_t i = 0; i < t->n_calls; i++) {
        dsgd_kineto_call *const c = &t->calls[i];
        for (; k < t->n_kernels && r->kernels[k].launched_us < c->launched_us; k++)
            last_us = fmax(last_us, r->kernels[k].end_us);
        c->ready_us = fmin(c->begin_us, fmax(last_us, c->launched_us));
    }
    for (size_t s = 0; s < t->n_steps; s++) {
        dsgd_kineto_step *const step = &t->steps[s];
        double first_us = INFINITY;
        step->backward_us = NAN;
        for (size_t i = 0; i < r->n_backward; i++)
            if (r->backward_us[i] >= step->begin_us && r->backward_us[i] < step->end_us)
                first_us = fmin(first_us, r->backward_us[i]);
        for (size_t i = 0; i < t->n_kernels && isnan(step->backward_us); i++)
            if (r->kernels[i].launched_us >= first_us)
                step->backward_us = r->kernels[i].begin_us;
    }
}

/** Which collectives hold up kernels; these are sorted by their begin, and last until those before
 * have ended. */
static void find_idle(reader *r)
{
    dsgd_kineto *const t = r->trace;
    sort(r->kernels, t->n_kernels, sizeof *r->kernels, by_begin);
    for (size_t i = 1; i < t->n_kernels; i++)
        r->kernels[i].end_us = fmax(r->kernels[i].end_us, r->kernels[i - 1].end_us);
    for (size_t i = 0; i < t->n_calls; i++) {
        dsgd_kineto_call *const c = &t->calls[i];
        const size_t k = n_until(r->kernels, offsetof(kernel, begin_us), t->n_kernels,
                                 sizeof *r->kernels, nextafter(c->end_us, 0));
        const bool is_free = k == t->n_kernels || r->kernels[k].launched_us > c->end_us;
        c->idle_us = is_free ? INFINITY : k == 0 ? -INFINITY : r->kernels[k - 1].end_us;
    }
}

/** Adds to each step the time in which kernels run, collectives too. */
static void count_busy(reader *r)
{
    dsgd_kineto *const t = r->trace;
    size_t n = t->n_kernels;
    for (size_t i = 0; i < t->n_calls; i++)
        ADD(r->kernels, n,
            (kernel){.begin_us = t->calls[i].begin_us, .end_us = t->calls[i].end_us});
    sort(r->kernels, n, sizeof *r->kernels, by_begin);
    double until_us = -INFINITY;
    size_t s = 0;
    for (size_t i = 0; i < n && t->n_steps > 0; i++) {
        const double begin_us = fmax(r->kernels[i].begin_us, until_us);
        while (s + 1 < t->n_steps && begin_us >= t->steps[s + 1].begin_us)
            s++;
        if (begin_us >= t->steps[s].begin_us)
            t->steps[s].busy_us += fmax(r->kernels[i].end_us - begin_us, 0);
        until_us = fmax(until_us, r->kernels[i].end_us);
    }
}

static void finish(reader *r)
{
    dsgd_kineto *const t = r->trace;
    sort(t->steps, t->n_steps, sizeof *t->steps, by_first);
    sort(r->launches, r->n_launches, sizeof *r->launches, by_first);
    sort(r->notes, r->n_notes, sizeof *r->notes, by_first);
    join_calls(r);
    follow_launches(r);
    find_idle(r);
    count_busy(r);
}

/** Feeds the parser; why it ended early, or NULL. */
static const char *feed(gzFile file, yajl_handle json, reader *r)
{
    enum { CHUNK = 1 << 18 };
    unsigned char *const chunk = dsgd_xcalloc(CHUNK, 1);
    yajl_status status = yajl_status_ok;
    int n = 0, code = Z_OK;
    while (status == yajl_status_ok && (n = gzread(file, chunk, CHUNK)) > 0)
        status = yajl_parse(json, chunk, (size_t)n);
    const char *const why = gzerror(file, &code);
    const bool is_wrong = status != yajl_status_ok;
    const bool ends_early = !is_wrong && yajl_complete_parse(json) != yajl_status_ok;
    free(chunk);
    if (!is_wrong && !ends_early && code == Z_OK)
        return NULL;
    return dsgd_xprintf("%s behind event %zu",
                        is_wrong              ? "it is no JSON"
                        : code == Z_BUF_ERROR ? "the gzip ends"
                        : code != Z_OK        ? why
                                              : "the JSON ends",
                        r->trace->n_events);
}

dsgd_status dsgd_kineto_read(const char *path, dsgd_kineto *trace, dsgd_error *error)
{
    static const yajl_callbacks callbacks = {.yajl_number = on_number,
                                             .yajl_string = on_string,
                                             .yajl_start_map = on_map,
                                             .yajl_map_key = on_key,
                                             .yajl_end_map = on_end,
                                             .yajl_start_array = on_list,
                                             .yajl_end_array = on_end};
    reader r = {.trace = trace, .field = FIELDS};
    *trace = (dsgd_kineto){.file = dsgd_xstrdup(path)};
    const gzFile file = gzopen(path, "rb");
    if (file == NULL)
        return dsgd_fail(error, DSGD_EIO, "%s: the file cannot be read: %m", path);
    gzbuffer(file, 1 << 18);
    const yajl_handle json = yajl_alloc(&callbacks, NULL, &r);
    if (json == NULL)
        dsgd_no_memory();
    yajl_config(json, yajl_dont_validate_strings, 1);
    trace->damage = feed(file, json, &r);
    yajl_free(json);
    gzclose(file);
    trace->gpu = r.values[GPU][0] == '\0' ? NULL : dsgd_xstrdup(r.values[GPU]);
    trace->rank = r.values[RANK][0] == '\0' ? -1 : strtoll(r.values[RANK], NULL, 10);
    trace->world = strtoll(r.values[WORLD], NULL, 10);
    finish(&r);
    free(r.kernels);
    free(r.launches);
    free(r.backward_us);
    free(r.notes);
    free(r.correlations);
    return DSGD_OK;
}
