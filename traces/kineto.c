/**
 * @file kineto.c
 * Reads a trace of PyTorch's profiler event by event. A trace can have millions of events, but the
 * reader stores only a few numbers.
 */
#include "traces/kineto.h"

#include <jansson.h>
#include <strings.h>
#include <zlib.h>

/**
 * A kernel that computes. launched_us is the start of the kernel until the launch of the kernel is
 * known.
 */
typedef struct kernel {
    double launched_us, begin_us, end_us;
    double correlation;
} kernel;

typedef struct launch {
    double correlation, us, tid;
} launch;

/**
 * An event of the host during the launch of a collective, such as record_param_comms or
 * nccl:all_reduce.
 */
typedef struct note {
    double begin_us, end_us, tid, bytes, size;
    const char *what, *group;
} note;

/** An event with a duration. */
typedef struct event {
    const json_t *json, *args;
    const char *name, *category;
    double begin_us, end_us, correlation;
} event;

typedef struct reader {
    dsgd_kineto *trace;
    gzFile file;
    int last; /* the last byte that jansson has read */
    size_t n_given; /* number of bytes that jansson has read for the present value */
    bool is_wrong; /* true if the next characters are not JSON */
    size_t n_launches, n_notes, n_backward;
    kernel *kernels; /* computing kernels; trace->n_kernels entries */
    launch *launches;
    double *backward_us; /* times at which the host starts the functions of backward passes, in
                          * microseconds */
    note *notes;
} reader;

/**
 * Returns a list with space for one more element. Doubles the size of a full list. The list is
 * freed together with the reader.
 */
static void *grow(void *list, size_t n, size_t size)
{
    return (n & (n - 1)) != 0 ? list : dsgd_xrealloc(list, n == 0 ? 1 : 2 * n, size);
}
#define ADD(list, n, ...)                                                                          \
    ((list) = grow(list, n, sizeof *(list)), (list)[(n)++] = __VA_ARGS__, (void)0)

/* --- reading of events ------------------------------------------------------------------------ */

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/**
 * Returns the text of member @p key. If the value is a list, returns its first text. Returns an
 * empty text if the key is absent.
 */
static const char *text(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    value = json_is_array(value) ? json_array_get(value, 0) : value;
    const char *const found = json_string_value(value);
    return found != NULL           ? found
           : json_is_number(value) ? dsgd_xprintf("%.17g", json_number_value(value))
                                   : "";
}

/**
 * Returns the number of member @p key, which may also be a text with a number. Returns NAN if the
 * key is absent.
 */
static double number(const json_t *object, const char *key)
{
    const json_t *const value = json_object_get(object, key);
    const char *const digits = json_string_value(value);
    return digits != NULL          ? strtod(digits, NULL)
           : json_is_number(value) ? json_number_value(value)
                                   : NAN;
}

/** Returns the number of elements of an input, or of a list of inputs, from the dimensions. */
static double elements_of(const json_t *dimensions)
{
    double sum = 0, product = 1;
    for (size_t i = 0; i < json_array_size(dimensions); i++) {
        const json_t *const one = json_array_get(dimensions, i);
        product *= json_number_value(one); /* The function returns 0 if this element is a list. */
        sum += elements_of(one);
    }
    return json_array_size(dimensions) == 0 ? 0 : product + sum;
}

static double bytes_of(const event *e)
{
    static const struct {
        const char *type;
        double bytes;
    } types[] = {
        {"bfloat16", 2}, {"float16", 2}, {"half", 2},  {"float8", 1}, {"complexdouble", 16},
        {"complex", 8},  {"double", 8},  {"float", 4}, {"long", 8},   {"short", 2},
        {"int8", 1},     {"int64", 8},   {"int", 4},   {"char", 1},   {"byte", 1},
        {"bool", 1}};
    const bool is_message = json_object_get(e->args, "In msg nelems") != NULL;
    const char *const type = text(e->args, is_message ? "dtype" : "Input type");
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (strcasestr(type, types[i].type) != NULL)
            return types[i].bytes * (is_message
                                         ? fmax(number(e->args, "In msg nelems"), 0)
                                         : elements_of(json_object_get(e->args, "Input Dims")));
    return 0;
}

/**
 * Returns the name of the collective, from the event's arguments or from the kernel's name. Returns
 * NULL if neither contains a name.
 */
static const char *what_of(const event *e)
{
    static const char *const words[][2] = {
        {"AllReduce", "allreduce"}, {"AllGather", "allgather"}, {"ReduceScatter", "reduce_scatter"},
        {"Broadcast", "broadcast"}, {"SendRecv", "sendrecv"},   {"Reduce", "reduce"}};
    const char *const said = text(e->args, "Collective name");
    for (size_t i = 0; i < sizeof words / sizeof words[0] && *said == '\0'; i++)
        if (strstr(e->name, words[i][0]) != NULL)
            return words[i][1];
    return *said == '\0' ? NULL : dsgd_xstrdup(said);
}

/**
 * Returns true if an event is a kernel of a collective, such as ncclKernel_AllReduce_RING_LL or
 * ncclDevKernel_AllReduce. RCCL uses both kinds of names.
 */
static bool is_collective(const event *e)
{
    return begins(e->name, "ncclKernel") || begins(e->name, "ncclDevKernel") ||
           begins(e->name, "rcclKernel") || *text(e->args, "Collective name") != '\0';
}

static void add_kernel(reader *r, const event *e)
{
    dsgd_kineto *const t = r->trace;
    if (!is_collective(e)) {
        ADD(r->kernels, t->n_kernels,
            (kernel){e->begin_us, e->begin_us, e->end_us, e->correlation});
        return;
    }
    t->calls = dsgd_keep_more(t->calls, t->n_calls + 1, sizeof *t->calls);
    t->calls[t->n_calls++] =
        (dsgd_kineto_call){.begin_us = e->begin_us,
                           .end_us = e->end_us,
                           .ready_us = e->begin_us,
                           .launched_us = e->begin_us,
                           .what = what_of(e),
                           .group = dsgd_xstrdup(text(e->args, "Process Group Name")),
                           .bytes = bytes_of(e),
                           .group_size = (int64_t)fmax(number(e->args, "Group size"), 0),
                           .correlation = e->correlation,
                           .event = t->n_events};
}

static void add_event(reader *r, const json_t *json)
{
    dsgd_kineto *const t = r->trace;
    const double begin_us = number(json, "ts"), took_us = number(json, "dur");
    const event e = {json,
                     json_object_get(json, "args"),
                     text(json, "name"),
                     text(json, "cat"),
                     begin_us,
                     begin_us + took_us,
                     number(json_object_get(json, "args"), "correlation")};
    t->n_events++;
    if (*text(json, "ph") != 'X' || !isfinite(e.end_us) || took_us < 0)
        return;
    if (strcasecmp(e.category, "kernel") == 0) {
        add_kernel(r, &e);
    } else if (strcasecmp(e.category, "cuda_runtime") == 0 ||
               strcmp(e.category, "cuda_driver") == 0 || strcmp(e.category, "Runtime") == 0 ||
               strcmp(e.category, "hip_runtime") == 0) {
        if (strstr(e.name, "Launch") != NULL && !isnan(e.correlation))
            ADD(r->launches, r->n_launches, (launch){e.correlation, begin_us, number(json, "tid")});
    } else if (begins(e.name, "ProfilerStep#") && !begins(e.category, "gpu")) {
        t->steps = dsgd_keep_more(t->steps, t->n_steps + 1, sizeof *t->steps);
        t->steps[t->n_steps++] =
            (dsgd_kineto_step){begin_us, e.end_us, strtoll(e.name + 13, NULL, 10)};
    } else if (begins(e.name, "autograd::engine::evaluate_function")) {
        ADD(r->backward_us, r->n_backward, begin_us);
    } else if (begins(e.name, "record_param_comms") ||
               (begins(e.name, "nccl:") && strcmp(e.category, "user_annotation") == 0)) {
        ADD(r->notes, r->n_notes,
            (note){begin_us, e.end_us, number(json, "tid"), bytes_of(&e),
                   fmax(number(e.args, "Group size"), 0),
                   e.name[0] == 'n' ? dsgd_xstrdup(e.name + 5) : what_of(&e),
                   dsgd_xstrdup(text(e.args, "Process Group Name"))});
    }
}

/* --- reading of JSON -------------------------------------------------------------------------- */

/**
 * Skips blanks. If the next character is @p c, skips it and returns true. If @p c is EOF, returns
 * true at the end of the file.
 */
static bool skip(reader *r, int c)
{
    int next = gzgetc(r->file);
    while (next == ' ' || next == '\t' || next == '\r' || next == '\n')
        next = gzgetc(r->file);
    r->is_wrong = next != c && next != EOF;
    if (next != c)
        gzungetc(next, r->file);
    return next == c;
}

/** Gives jansson only one byte per call. Jansson therefore reads at most one byte after a value. */
static size_t give_byte(void *buffer, size_t room, void *of)
{
    reader *const r = of;
    const int byte = r->last = gzgetc(r->file);
    (void)room;
    /* Replace each byte outside ASCII, because it may be invalid UTF-8, which jansson rejects. */
    *(char *)buffer = (char)(byte > 0 && byte < 0x80 ? byte : '?');
    r->n_given += byte != EOF;
    return byte != EOF;
}

/**
 * Returns the next JSON value, or NULL if no value follows. The caller frees the value with
 * json_decref().
 */
static json_t *take_value(reader *r)
{
    json_error_t why;
    r->n_given = 0;
    json_t *const value = json_load_callback(
        give_byte, r,
        JSON_DISABLE_EOF_CHECK | JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL | JSON_ALLOW_NUL, &why);
    r->is_wrong = value == NULL && !gzeof(r->file);
    if (value != NULL && r->n_given > (size_t)why.position)
        gzungetc(r->last, r->file); /* To find the end of a number, jansson reads the byte after the
                                     * number. Put this byte back. */
    return value;
}

/** Reads a list of events. The opening bracket of the list has already been read. */
static bool read_events(reader *r)
{
    if (skip(r, ']'))
        return true;
    do {
        json_t *const json = take_value(r);
        if (json == NULL)
            return false;
        add_event(r, json);
        json_decref(json);
    } while (skip(r, ','));
    return skip(r, ']');
}

/** Reads the value of member @p key of the trace's root object. */
static bool read_member(reader *r, const char *key)
{
    dsgd_kineto *const t = r->trace;
    if (strcmp(key, "traceEvents") == 0 && skip(r, '['))
        return read_events(r);
    json_t *const value = take_value(r);
    const char *const gpu = text(json_array_get(value, 0), "name");
    if (strcmp(key, "distributedInfo") == 0) {
        t->rank = *text(value, "rank") == '\0' ? -1 : (int64_t)number(value, "rank");
        t->world = (int64_t)fmax(number(value, "world_size"), 0);
    } else if (strcmp(key, "deviceProperties") == 0 && *gpu != '\0') {
        t->gpu = dsgd_xstrdup(gpu);
    }
    json_decref(value);
    return value != NULL;
}

/** Reads the root of the trace: a list of events, or an object that contains such a list. */
static bool read_root(reader *r)
{
    if (skip(r, '['))
        return read_events(r);
    if (!skip(r, '{'))
        return false;
    bool is_good = true;
    do {
        json_t *const key = take_value(r);
        is_good = json_is_string(key) && skip(r, ':') && read_member(r, json_string_value(key));
        json_decref(key);
    } while (is_good && skip(r, ','));
    return is_good && skip(r, '}');
}

/* --- reading of a whole trace ----------------------------------------------------------------- */

/** Compares two structs by their first member, which must be a double. */
static int by_first(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void sort(void *list, size_t n, size_t size, int (*by)(const void *, const void *))
{
    /* The list may be NULL if it is empty, but qsort() does not allow NULL. */
    if (n > 1)
        qsort(list, n, size, by);
}

static int by_begin(const void *a, const void *b)
{
    return by_first(&((const kernel *)a)->begin_us, &((const kernel *)b)->begin_us);
}

/** Compares two structs by their first two members, which must be doubles. */
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

/**
 * Returns the number of elements of list[n] whose time is at most @p us. The time is at byte @p
 * offset of each element. The list must be in ascending order of time.
 */
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

/**
 * Returns the time at which the host launched a kernel, in microseconds. If the launch is unknown,
 * returns the start of the kernel.
 */
static double launched_us(const reader *r, double correlation, double begin_us)
{
    const launch *const found = launch_of(r, correlation);
    return found == NULL ? begin_us : fmin(found->us, begin_us);
}

/**
 * Returns the index of the step that contains the time @p us of the host, or SIZE_MAX if no step
 * contains it.
 */
static size_t step_at(const dsgd_kineto *t, double us)
{
    const size_t k = n_until(t->steps, 0, t->n_steps, sizeof *t->steps, us);
    return k == 0 || us > t->steps[k - 1].end_us + 1e3 ? SIZE_MAX : k - 1;
}

/**
 * Adds facts to a collective from the host's events during its launch. These events are nested at
 * most a few levels deep.
 */
static void add_note(const reader *r, dsgd_kineto_call *c)
{
    enum { MOST_BACK = 64 };
    const launch *const by = launch_of(r, c->correlation);
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
        c->launched_us = launched_us(r, c->correlation, c->begin_us);
        add_note(r, c);
        c->step = step_at(t, c->launched_us);
    }
    sort(t->calls, t->n_calls, sizeof *t->calls, by_both);
}

/**
 * Determines when collectives are ready and where backward passes start. Both follow from the order
 * of launches.
 */
static void follow_launches(reader *r)
{
    dsgd_kineto *const t = r->trace;
    DSGD_ASSERT(t->n_kernels == 0 || r->kernels != NULL, "%zu kernels", t->n_kernels);
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

/**
 * Determines for each collective whether kernels wait for its end. To do so, sorts kernels by their
 * start and extends each kernel to the latest end of all earlier kernels.
 */
static void find_idle(reader *r)
{
    dsgd_kineto *const t = r->trace;
    const size_t n = t->n_kernels;
    DSGD_ASSERT(n == 0 || r->kernels != NULL, "%zu kernels", n);
    sort(r->kernels, n, sizeof *r->kernels, by_begin);
    for (size_t i = 1; i < n; i++)
        r->kernels[i].end_us = fmax(r->kernels[i].end_us, r->kernels[i - 1].end_us);
    for (size_t i = 0; i < t->n_calls; i++) {
        dsgd_kineto_call *const c = &t->calls[i];
        const size_t k = n_until(r->kernels, offsetof(kernel, begin_us), n, sizeof *r->kernels,
                                 nextafter(c->end_us, 0));
        const bool is_free = k >= n || r->kernels[k].launched_us > c->end_us;
        c->idle_us = is_free ? INFINITY : k == 0 ? -INFINITY : r->kernels[k - 1].end_us;
    }
}

/** Adds to each step the time during which kernels run. Collectives are kernels, too. */
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

/** Reads the whole file. If the file ends early, returns the reason; otherwise returns NULL. */
static const char *read_all(reader *r)
{
    int code = Z_OK;
    const bool is_whole = read_root(r) && skip(r, EOF);
    const char *const why = gzerror(r->file, &code);
    if (is_whole && code == Z_OK)
        return NULL;
    return dsgd_xprintf("%s after event %zu",
                        r->is_wrong           ? "invalid JSON"
                        : code == Z_BUF_ERROR ? "the gzip data end early"
                        : code != Z_OK        ? why
                                              : "the JSON ends early",
                        r->trace->n_events);
}

dsgd_status dsgd_kineto_read(const char *path, dsgd_kineto *trace, dsgd_error *error)
{
    reader r = {.trace = trace, .file = gzopen(path, "rb")};
    json_malloc_t keep = NULL;
    json_free_t leave = NULL;
    *trace = (dsgd_kineto){.file = dsgd_xstrdup(path), .rank = -1};
    if (r.file == NULL)
        return dsgd_fail(error, DSGD_EIO, "%s: the file cannot be read: %m", path);
    gzbuffer(r.file, 1 << 18);
    json_get_alloc_funcs(&keep, &leave);
    /* Make jansson free each event at once, because there may be millions of events. */
    json_set_alloc_funcs(malloc, free);
    trace->damage = read_all(&r);
    json_set_alloc_funcs(keep, leave);
    gzclose(r.file);
    finish(&r);
    free(r.kernels);
    free(r.launches);
    free(r.backward_us);
    free(r.notes);
    return DSGD_OK;
}
