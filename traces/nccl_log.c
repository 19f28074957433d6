/**
 * @file nccl_log.c
 * Reads the output of nccl-tests line by line. Columns differ between versions, and other processes
 * write between rows. A line is therefore a row if its bandwidth equals its size divided by its
 * time.
 */
#include "traces/nccl_log.h"

#include <ctype.h>

enum { MOST_WORDS = 256, MOST_RANKS = 4096 };
enum { NO_TABLES = -1, NOT_NAMED = -2 };

/** State of the reader: the present table, and facts from earlier lines about this table. */
typedef struct state {
    const char *file;
    int call; /* collective of the last test that a line names; NO_TABLES or NOT_NAMED if there is
               * none */
    const char *gpu;
    int64_t n_ranks, highest; /* n_ranks: number of lines that describe a rank; highest: highest
                               * rank in these lines */
    const char **hosts; /* names of the hosts; n_hosts entries */
    int64_t n_hosts;
    int64_t said_ranks, said_nodes; /* number of ranks and number of nodes that a line of NCCL
                                     * reports */
    bool sockets;
    dsgd_nccl_log *table; /* the table that is being read; NULL if no table has started */
    bool sums, has_root;
    double algbw, busbw; /* largest bandwidths of the table, in GB/s */
} state;

int dsgd_nccl_call_of(const char *line, int otherwise)
{
    static const struct {
        const char *name;
        int call;
    } tests[] = {{"all_reduce_perf", DSGD_NCCL_ALLREDUCE},
                 {"all_gather_perf", DSGD_NCCL_SHARES},
                 {"reduce_scatter_perf", DSGD_NCCL_SHARES},
                 {"broadcast_perf", DSGD_NCCL_BROADCAST},
                 {"reduce_perf", DSGD_NCCL_BROADCAST},
                 {"alltoall_perf", NO_TABLES},
                 {"sendrecv_perf", NO_TABLES},
                 {"gather_perf", NO_TABLES},
                 {"scatter_perf", NO_TABLES}};
    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++) {
        const char *const at = strstr(line, tests[i].name);
        if (at != NULL && (at == line || (at[-1] != '_' && !isalnum((unsigned char)at[-1]))))
            otherwise = tests[i].call;
    }
    return otherwise;
}

/* --- rows of a table -------------------------------------------------------------------------- */

typedef struct row {
    double bytes, us, algbw, busbw, root;
    bool sums;
} row;

static bool is_number(const char *word, double *x)
{
    char *end = NULL;
    if (word == NULL || strspn(word, "+-.0123456789eE") != strlen(word))
        return false;
    *x = strtod(word, &end);
    return end != word && *end == '\0';
}

static bool is_whole(const char *word, double *x)
{
    return strspn(word, "0123456789") == strlen(word) && is_number(word, x) && *x < 1e15;
}

/** Replaces prefixes that mpirun writes, such as [1,0]<stdout>:, by blanks. */
static void blank_prefixes(char *line)
{
    for (char *end = line; (end = strstr(end, "]<std")) != NULL;) {
        char *begin = end;
        while (begin > line && *begin != '[')
            begin--;
        end += strcspn(end, ":");
        memset(begin, ' ', (size_t)(end - begin) + (*end != '\0'));
    }
}

/**
 * Reads the time and bandwidths of a buffer. Returns true if the bandwidth agrees with the size and
 * the time.
 */
static bool is_timed(char *const *words, row *r)
{
    return is_number(words[0], &r->us) && is_number(words[1], &r->algbw) &&
           is_number(words[2], &r->busbw) && r->us >= 1e-3 && r->us <= 1e12 &&
           fabs(r->bytes / r->us / 1e3 - r->algbw) <= 0.0051 + 1e-3 * r->algbw;
}

/**
 * Returns 1 and sets *r if the line contains a row of a table. Returns 0 if the line contains a
 * damaged row, and -1 if the line contains no row.
 */
static int row_of(char *line, row *r)
{
    static const char *const types[] = {"int8",   "uint8",  "int32",    "uint32",   "int64",
                                        "uint64", "half",   "float",    "double",   "bfloat16",
                                        "f8e4m3", "f8e5m2", "fp8_e4m3", "fp8_e5m2", NULL};
    static const char *const sums[] = {"sum", "prod", "min", "max", "avg", "mulsum", NULL};
    char *words[MOST_WORDS + 8] = {NULL};
    int n = 0;
    for (char *word = NULL; n < MOST_WORDS && (word = strsep(&line, " \t\r")) != NULL;)
        if (*word != '\0')
            words[n++] = word;
    for (int i = 0; i + 2 < n; i++) {
        double count = 0;
        if (!is_whole(words[i], &r->bytes) || !is_whole(words[i + 1], &count) ||
            dsgd_find_word(types, words[i + 2]) < 0)
            continue;
        char **at = &words[i + 3];
        r->sums = *at != NULL && dsgd_find_word(sums, *at) >= 0;
        r->root = -1;
        at += *at != NULL && isalpha((unsigned char)**at);
        if (!is_timed(at, r) && (!is_number(*at, &r->root) || !is_timed(++at, r)))
            return 0;
        row in_place = *r;
        if (at[3] != NULL && is_timed(at + 4, &in_place))
            r->us = (r->us + in_place.us) / 2;
        return 1;
    }
    return -1;
}

/* --- tables of a log -------------------------------------------------------------------------- */

dsgd_nccl_log *dsgd_nccl_logs_add(dsgd_nccl_logs *logs, dsgd_nccl_log log)
{
    logs->v = dsgd_keep_more(logs->v, logs->n + 1, sizeof *logs->v);
    logs->v[logs->n] = log;
    return &logs->v[logs->n++];
}

void dsgd_nccl_log_add(dsgd_nccl_log *log, double bytes, double us, double line)
{
    const size_t n = log->table.us.n = ++log->table.bytes.n;
    double **const to[] = {&log->table.bytes.v, &log->table.us.v, &log->lines};
    const double values[] = {bytes, us, line};
    for (size_t i = 0; i < 3; i++) {
        *to[i] = dsgd_keep_more(*to[i], n, sizeof(double));
        (*to[i])[n - 1] = values[i];
    }
}

/**
 * Returns true if the rounded bandwidths of the table agree with the collective @p call and @p
 * ranks ranks.
 */
static bool fits(const state *s, int call, int64_t ranks)
{
    const double share = (double)(ranks - 1) / (double)ranks;
    const double ratio = call == DSGD_NCCL_ALLREDUCE ? 2 * share
                         : call == DSGD_NCCL_SHARES  ? share
                                                     : 1;
    return fabs(s->busbw - s->algbw * ratio) <= 0.0051 * (1 + ratio);
}

/**
 * Ends the present table: sets its collective and shape. Removes the table if they contradict its
 * bandwidths.
 */
static void end_table(state *s, dsgd_nccl_logs *logs)
{
    dsgd_nccl_log *const log = s->table;
    if (log == NULL)
        return;
    const bool is_sum = s->sums && !s->has_root && s->busbw >= 0.99 * s->algbw;
    const int seen = s->has_root ? DSGD_NCCL_BROADCAST
                     : is_sum    ? DSGD_NCCL_ALLREDUCE
                                 : DSGD_NCCL_SHARES;
    const bool complete = s->n_ranks > 0 && s->n_ranks == s->highest + 1;
    int call = s->call == NOT_NAMED ? seen : s->call;
    /* A script may print the names of other tests before it starts a test. */
    if (call >= 0 && complete && !fits(s, call, s->n_ranks))
        call = seen;
    s->table = NULL;
    logs->left_out += call < 0;
    logs->n -= call < 0;
    if (call < 0)
        return;
    log->table.call = (dsgd_nccl_call)call;
    log->gpu = s->gpu;
    log->sockets = s->sockets;
    log->ranks = complete ? s->n_ranks : s->said_ranks;
    log->table.nodes = complete ? s->n_hosts : s->said_nodes;
    for (int64_t n = 2, found = 0; log->table.nodes == 0 && n <= MOST_RANKS && found < 2; n++)
        if (fits(s, call, n))
            log->ranks = ++found == 1 ? n : 0;
    if (log->ranks <= 0 || fits(s, call, log->ranks))
        return;
    if (logs->n_refused++ == 0)
        logs->refused = dsgd_xprintf(
            "%s:%.0f: busbw (up to %g) and algbw (up to %g) of this table do not fit %s with %jd "
            "ranks, which the lines above it name",
            s->file, log->lines[0], s->busbw, s->algbw, dsgd_nccl_calls[call], log->ranks);
    logs->n--;
}

static void add_row(state *s, size_t line, const row *r, dsgd_nccl_logs *logs)
{
    if (s->table != NULL && r->bytes <= s->table->table.bytes.v[s->table->table.bytes.n - 1])
        end_table(s, logs);
    if (s->table == NULL) {
        s->table = dsgd_nccl_logs_add(logs, (dsgd_nccl_log){.file = s->file});
        s->algbw = s->busbw = 0;
    }
    dsgd_nccl_log_add(s->table, r->bytes, r->us, (double)line);
    s->sums = r->sums;
    s->has_root = r->root >= 0;
    s->algbw = fmax(s->algbw, r->algbw);
    s->busbw = fmax(s->busbw, r->busbw);
}

/* --- lines that are not rows ------------------------------------------------------------------ */

/**
 * Reads a line that describes a rank, such as `#  Rank  0 Group  0 Pid 7000 on node0 device  0
 * [0x07] NVIDIA H100`. Earlier versions of nccl-tests print less.
 */
static void note_rank(state *s, const char *rank)
{
    const char *const host = strstr(rank, " on ");
    char name[256];
    int at = 0;
    const int64_t number = strtoll(rank + strlen("Rank "), NULL, 10);
    if (host == NULL || sscanf(host, " on %255s device %*d [%*[^]]] %n", name, &at) != 1 || at == 0)
        return;
    if (host[at] > ' ')
        s->gpu = dsgd_xprintf("%.*s", (int)strcspn(host + at, "\r"), host + at);
    s->highest = number > s->highest ? number : s->highest;
    s->n_ranks++;
    for (int64_t i = 0; i < s->n_hosts; i++)
        if (strcmp(s->hosts[i], name) == 0)
            return;
    s->hosts = dsgd_keep_more(s->hosts, (size_t)s->n_hosts + 1, sizeof *s->hosts);
    s->hosts[s->n_hosts++] = dsgd_xstrdup(name);
}

static void note_line(state *s, const char *line, dsgd_nccl_logs *logs)
{
    const char *const mark = strchr(line, '#');
    const char *const rank = mark == NULL ? NULL : strstr(mark, "Rank ");
    const char *const said = strstr(line, " nRanks ");
    if (s->table != NULL &&
        (rank != NULL || strstr(line, "# nThread") != NULL || strstr(line, "_perf"))) {
        end_table(s, logs);
        *s = (state){.file = s->file, .call = s->call}; /* At this line, the log of another run
                                                         * starts. */
    }
    s->call = dsgd_nccl_call_of(line, s->call);
    if (rank != NULL)
        note_rank(s, rank);
    if (said != NULL &&
        (sscanf(said, " nRanks %jd nNodes %jd", &s->said_ranks, &s->said_nodes) < 2 ||
         s->said_ranks < 2 || s->said_nodes < 1))
        s->said_ranks = s->said_nodes = 0;
    s->sockets = s->sockets || strstr(line, "Using network Socket") != NULL;
}

void dsgd_nccl_log_read(const char *file, const char *text, dsgd_nccl_logs *logs)
{
    state s = {.file = file, .call = NOT_NAMED};
    char *rest = dsgd_xstrdup(text), *line = NULL;
    for (size_t number = 1; (line = strsep(&rest, "\n")) != NULL; number++) {
        row r = {0};
        blank_prefixes(line);
        note_line(&s, line, logs);
        const int found = row_of(line, &r);
        logs->left_out += found == 0;
        if (found == 1 && r.bytes >= 1)
            add_row(&s, number, &r, logs);
    }
    end_table(&s, logs);
}
