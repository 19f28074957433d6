/**
 * @file graph.c
 * Defines the kinds of graphs for gossip. The distances of exponential graphs follow A. Nedic, A.
 * Olshevsky, M. Rabbat, "Network topology and communication-computation tradeoffs in decentralized
 * optimization" (2018), M. Assran et al., "Stochastic gradient push" (ICML 2019), and the code that
 * Assran et al. released.
 */
#include "sim/graph.h"

#include "base/draw.h"
#include "sim/algorithm.h"

/* --- lists of ranks --------------------------------------------------------------------------- */

static int modulo(int64_t a, int n)
{
    const int r = (int)(a % n);
    return r < 0 ? r + n : r;
}

/**
 * Inserts @p rank into an ascending list of @p n ranks, unless the list contains @p rank already or
 * @p rank equals @p self. Returns the new length of the list.
 */
static int insert(int *list, int n, int rank, int self)
{
    int at = n;
    while (at > 0 && list[at - 1] > rank)
        at--;
    if (rank == self || (at > 0 && list[at - 1] == rank))
        return n;
    memmove(list + at + 1, list + at, (size_t)(n - at) * sizeof *list);
    list[at] = rank;
    return n + 1;
}

/* --- kind ring -------------------------------------------------------------------------------- */

/**
 * Stores the neighbours of a rank in a torus with @p rows rows, and returns their number. The
 * number is 4, or less if the torus has fewer than three rows or columns.
 */
static int beside(int n_workers, int rows, int rank, int *to)
{
    const int columns = n_workers / rows;
    const int row = rank / columns;
    const int column = rank % columns;
    int n = insert(to, 0, row * columns + modulo(column - 1, columns), rank);
    n = insert(to, n, row * columns + modulo(column + 1, columns), rank);
    n = insert(to, n, modulo(row - 1, rows) * columns + column, rank);
    return insert(to, n, modulo(row + 1, rows) * columns + column, rank);
}

static int ring_to(const dsgd_graph *graph, int rank, int64_t round, int *to)
{
    (void)round;
    return beside(graph->n_workers, 1, rank, to);
}

static const dsgd_graph_kind ring = {
    .about = {.name = "ring", .summary = "each worker and its two neighbours"},
    .to = ring_to,
};

/* --- kind torus ------------------------------------------------------------------------------- */

typedef struct torus_params {
    int64_t rows; /* number of rows; -1 means auto */
} torus_params;

/**
 * Returns the number of rows of a torus. For `auto`, this is the largest divisor of P that is at
 * most the square root of P.
 */
static int torus_rows(const dsgd_graph *graph)
{
    const torus_params *const params = graph->params;
    if (params->rows > 0)
        return (int)params->rows;
    int rows = 1;
    for (int r = 1; r * r <= graph->n_workers; r++)
        rows = graph->n_workers % r == 0 ? r : rows;
    return rows;
}

static dsgd_status torus_check(const dsgd_graph *graph, const char *who, dsgd_error *error)
{
    const int p = graph->n_workers;
    const int rows = torus_rows(graph);
    if (p == 1)
        return DSGD_OK;
    if (p % rows != 0 || (rows > 1 && p / rows == 1))
        return dsgd_refuse(error,
                           "%s: graph: a torus with %d rows needs a multiple of %d workers, at "
                           "least %d, but there are %d. Change rows or workers, or use graph: ring",
                           who, rows, rows, 2 * rows, p);
    if (rows == 1 && p > 3)
        return dsgd_refuse(
            error,
            "%s: graph: %d workers do not form a rectangle with two or more rows. Use graph: ring",
            who, p);
    return DSGD_OK;
}

static int torus_to(const dsgd_graph *graph, int rank, int64_t round, int *to)
{
    (void)round;
    return beside(graph->n_workers, torus_rows(graph), rank, to);
}

static const char *const auto_word[] = {"auto", NULL};

static const dsgd_option torus_options[] = {
    DSGD_OPTION_LONG(torus_params, rows, -1, 1, 1 << 20, NULL,
                     "rows of the rectangle; auto takes the largest divisor up to the square root",
                     .words = auto_word),
    DSGD_OPTION_END,
};

static const dsgd_graph_kind torus = {
    .about = {.name = "torus",
              .summary = "a rectangle with wrap-around; four neighbours",
              DSGD_PARAMS(torus_params, torus_options)},
    .check = torus_check,
    .to = torus_to,
};

/* --- kind exponential ------------------------------------------------------------------------- */

typedef struct exponential_params {
    int64_t peers;
    int schedule;
} exponential_params;

enum { FORWARD, ALTERNATING, ADJACENT, BIPARTITE };

static const char *const schedule_words[] = {"forward", "alternating", "adjacent", "bipartite",
                                             NULL};

/**
 * Returns the number of different exponents m in the distances of schedule forward: ceil(log P /
 * log(peers + 1)), but at least 1.
 */
static int forward_exponents(const dsgd_graph *graph)
{
    const exponential_params *const params = graph->params;
    int n = 0;
    for (int64_t reach = 1; reach < graph->n_workers; reach *= params->peers + 1)
        n++;
    return n > 0 ? n : 1;
}

/**
 * Returns the length of the list of distances. The list is +1 -1 +2 -2 +4 ... With schedule
 * bipartite, it is +1 -1 +3 -3 +5 -5 +9 ...
 */
static int list_length(const dsgd_graph *graph)
{
    return graph->n_workers > 2 ? 2 * (dsgd_log2(graph->n_workers - 1) + 1) : 1;
}

/**
 * Returns the i-th peer of a rank in a round: its receiver, or its sender if graph->senders is
 * true.
 */
static int exponential_peer(const dsgd_graph *graph, int rank, int64_t round, int i)
{
    const exponential_params *const params = graph->params;
    const int p = graph->n_workers;
    int64_t distance = 0;
    if (params->schedule == FORWARD) {
        int64_t step = 1;
        for (int m = modulo(round, forward_exponents(graph)); m > 0; m--)
            step *= params->peers + 1;
        distance = (i + 1) * step;
    } else if (params->schedule == ADJACENT) {
        const int exponents = dsgd_log2(p) > 0 ? dsgd_log2(p) : 1;
        distance = 1L << modulo(round + i, exponents);
    } else {
        const int at = modulo(round * params->peers + i, list_length(graph));
        const int64_t power = 1L << (at / 2);
        distance = params->schedule == BIPARTITE && power > 1 ? power + 1 : power;
        distance = at % 2 == 0 ? distance : -distance;
        /*
         * Odd ranks use the opposite direction, so that the two workers of a pair choose each
         * other.
         */
        if (params->schedule == BIPARTITE && rank % 2 == 1)
            distance = -distance;
    }
    return modulo(
        graph->senders && params->schedule != BIPARTITE ? rank - distance : rank + distance, p);
}

static int exponential_to(const dsgd_graph *graph, int rank, int64_t round, int *to)
{
    const exponential_params *const params = graph->params;
    int n = 0;
    for (int i = 0; i < params->peers; i++)
        n = insert(to, n, exponential_peer(graph, rank, round, i), rank);
    return n;
}

static int64_t exponential_period(const dsgd_graph *graph)
{
    const exponential_params *const params = graph->params;
    if (params->schedule == FORWARD)
        return forward_exponents(graph);
    if (params->schedule == ADJACENT)
        return graph->n_workers > 1 ? dsgd_log2(graph->n_workers) : 1;
    int64_t rounds = 1;
    while (rounds * params->peers % list_length(graph) != 0)
        rounds++;
    return rounds;
}

static dsgd_status exponential_check(const dsgd_graph *graph, const char *who, dsgd_error *error)
{
    const exponential_params *const params = graph->params;
    const int p = graph->n_workers;
    if (p > 1 && params->peers >= p)
        return dsgd_refuse(error, "%s: graph: peers must be at most %d with %d workers, got %jd",
                           who, p - 1, p, params->peers);
    if (params->schedule == BIPARTITE && p % 2 == 1 && p > 1)
        return dsgd_refuse(
            error,
            "%s: graph: schedule: bipartite needs an even number of workers, such as %d, got %d",
            who, p + 1, p);
    return DSGD_OK;
}

static const dsgd_option exponential_options[] = {
    DSGD_OPTION_LONG(exponential_params, peers, 1, 1, 1 << 20, NULL,
                     "number of workers that a worker sends to in a round"),
    DSGD_OPTION_CHOICE(
        exponential_params, schedule, schedule_words,
        "distances: forward 1 2 4 ..., with n peers j (n+1)^m; alternating +1 -1 +2 -2 ... (SGP's "
        "released scripts); adjacent powers of two (SGP(2n) of WAGMA's released code); bipartite, "
        "even and odd ranks in pairs +1 -1 +3 -3 +5 ... (D-PSGD in SGP's released code)"),
    DSGD_OPTION_END,
};

static const dsgd_graph_kind exponential = {
    .about = {.name = "exponential",
              .summary = "distances that double from round to round; few messages, fast mixing",
              .reference = "Assran et al., ICML 2019, and its released code",
              DSGD_PARAMS(exponential_params, exponential_options)},
    .check = exponential_check,
    .to = exponential_to,
    .directed = true,
    .period = exponential_period,
};

static exponential_params pairs_params = {.peers = 1, .schedule = BIPARTITE};

const dsgd_spec dsgd_graph_exponential_pairs = {&exponential.about, &pairs_params};

/* --- kind matching ---------------------------------------------------------------------------- */

/**
 * Stores the partner of a rank. Positions 2i and 2i + 1 of a random order are a pair. If P is odd,
 * the worker at the last position has no partner.
 */
static int matching_to(const dsgd_graph *graph, int rank, int64_t round, int *to)
{
    const uint32_t p = (uint32_t)graph->n_workers;
    const dsgd_draw at = {.seed = graph->seed, .purpose = DSGD_DRAW_GRAPH, .step = (uint32_t)round};
    const uint32_t other = dsgd_draw_place(at, p, (uint32_t)rank) ^ 1;
    if (other >= p)
        return 0;
    to[0] = (int)dsgd_draw_permuted(at, p, other);
    return 1;
}

static const dsgd_graph_kind matching = {
    .about = {.name = "matching", .summary = "random pairs, new ones in every round"},
    .to = matching_to,
    .random = true,
};

/* --- kind complete ---------------------------------------------------------------------------- */

static int complete_to(const dsgd_graph *graph, int rank, int64_t round, int *to)
{
    (void)round;
    int n = 0;
    for (int i = 0; i < graph->n_workers; i++)
        if (i != rank)
            to[n++] = i;
    return n;
}

static const dsgd_graph_kind complete = {
    .about = {.name = "complete", .summary = "all other workers"},
    .to = complete_to,
};

/* --- kind edges ------------------------------------------------------------------------------- */

typedef struct edges_params {
    dsgd_pairs edges;
} edges_params;

static int edges_to(const dsgd_graph *graph, int rank, int64_t round, int *to)
{
    (void)round;
    const dsgd_pairs *const edges = &((const edges_params *)graph->params)->edges;
    int n = 0;
    for (size_t i = 0; i < edges->n; i++) {
        if (edges->v[i][0] == rank)
            n = insert(to, n, (int)edges->v[i][1], rank);
        else if (edges->v[i][1] == rank)
            n = insert(to, n, (int)edges->v[i][0], rank);
    }
    return n;
}

/**
 * Returns the representative of worker @p i (union-find). All workers that edges connect with
 * worker @p i have the same representative.
 */
static int64_t head_of(int64_t *head, int64_t i)
{
    for (; head[i] != i; i = head[i])
        head[i] = head[head[i]];
    return i;
}

/**
 * Returns the lowest rank that no path of edges connects with worker 0, or -1 if all workers are
 * connected.
 */
static int unreached(const dsgd_graph *graph)
{
    const dsgd_pairs *const edges = &((const edges_params *)graph->params)->edges;
    int64_t *const head = dsgd_xcalloc((size_t)graph->n_workers, sizeof *head);
    for (int i = 0; i < graph->n_workers; i++)
        head[i] = i;
    for (size_t i = 0; i < edges->n; i++) {
        const int64_t a = head_of(head, edges->v[i][0]), b = head_of(head, edges->v[i][1]);
        head[a > b ? a : b] = a > b ? b : a;
    }
    int lost = 0;
    while (lost < graph->n_workers && head_of(head, lost) == 0)
        lost++;
    free(head);
    return lost < graph->n_workers ? lost : -1;
}

static dsgd_status edges_check(const dsgd_graph *graph, const char *who, dsgd_error *error)
{
    const dsgd_pairs *const edges = &((const edges_params *)graph->params)->edges;
    const int p = graph->n_workers;
    for (size_t i = 0; i < edges->n; i++) {
        const int64_t a = edges->v[i][0];
        const int64_t b = edges->v[i][1];
        if (a < 0 || b < 0 || a >= p || b >= p)
            return dsgd_refuse(error,
                               "%s: edge %jd %jd is not valid: with %d workers, ranks are 0 to %d",
                               who, a, b, p, p - 1);
        if (a == b)
            return dsgd_refuse(error, "%s: edge %jd %jd connects a worker to itself", who, a, b);
    }
    const int lost = unreached(graph);
    if (lost >= 0)
        return dsgd_refuse(
            error, "%s: the edges must connect all workers, but no path leads from worker 0 to %d",
            who, lost);
    return DSGD_OK;
}

static const dsgd_option edges_options[] = {
    DSGD_OPTION_PAIRS(
        edges_params, edges, 0, 1 << 20,
        "pairs of ranks that exchange models: [[0, 1], [1, 2]], or a file with two per line",
        .required = true),
    DSGD_OPTION_END,
};

static const dsgd_graph_kind edges_kind = {
    .about = {.name = "edges",
              .summary = "edges that you list",
              DSGD_PARAMS(edges_params, edges_options)},
    .check = edges_check,
    .to = edges_to,
    .irregular = true,
};

/* --- list of all kinds, and functions for all kinds ------------------------------------------- */

const dsgd_entry *const dsgd_graph_kinds[] = {
    &ring.about,       &torus.about, &exponential.about, &matching.about, &complete.about,
    &edges_kind.about, NULL,
};

static const dsgd_graph_kind *kind_of(const dsgd_spec *pick)
{
    return (const dsgd_graph_kind *)pick->about;
}

/** Rejects a graph that connects two even ranks or two odd ranks in any round. */
static dsgd_status check_bipartite(const dsgd_spec *pick, int n_workers, const char *who,
                                   dsgd_error *error)
{
    const dsgd_graph graph = {pick->params, n_workers, 0};
    const int64_t period = dsgd_graph_period(pick, n_workers);
    /*
     * A random graph has no period. Some round of it connects ranks 0 and 2, so it is not
     * bipartite.
     */
    int other = period == 0 && n_workers > 2 ? 2 : -1;
    int rank = 0;
    int *const to = dsgd_xcalloc((size_t)n_workers, sizeof *to);
    for (int64_t i = 0; other < 0 && i < period * n_workers; i++) {
        rank = (int)(i % n_workers);
        for (int n = kind_of(pick)->to(&graph, rank, i / n_workers, to); n > 0; n--)
            other =
                /* true if the edge connects two even or two odd ranks */
                to[n - 1] % 2 == rank % 2 ? to[n - 1] : other;
    }
    free(to);
    if (other < 0)
        return DSGD_OK;
    return dsgd_refuse(
        error,
        "%s: graph: every edge must connect an even and an odd rank, but %s connects workers %d "
        "and %d. Use {kind: exponential, schedule: bipartite}, or a ring of an even number of "
        "workers",
        who, pick->about->name, rank, other);
}

dsgd_status dsgd_graph_check(const dsgd_spec *pick, int n_workers, bool bipartite, const char *who,
                             dsgd_error *error)
{
    const dsgd_graph graph = {pick->params, n_workers, 0};
    if (kind_of(pick)->check != NULL)
        DSGD_TRY(kind_of(pick)->check(&graph, who, error));
    return bipartite ? check_bipartite(pick, n_workers, who, error) : DSGD_OK;
}

int64_t dsgd_graph_period(const dsgd_spec *pick, int n_workers)
{
    const dsgd_graph_kind *const kind = kind_of(pick);
    const dsgd_graph graph = {pick->params, n_workers, 0};
    return kind->random ? 0 : kind->period == NULL ? 1 : kind->period(&graph);
}

dsgd_neighbours dsgd_graph_neighbours(const dsgd_spec *pick, int n_workers, uint64_t seed, int rank,
                                      int64_t round, bool doubly_stochastic,
                                      const dsgd_neighbour_room *room)
{
    const dsgd_graph_kind *const kind = kind_of(pick);
    const dsgd_graph graph = {pick->params, n_workers, seed};
    dsgd_neighbours n = {.to = room->to, .from = room->to, .share = room->share, .keep = 1};
    n.n_from = n.n_to = kind->to(&graph, rank, round, room->to);
    if (kind->directed) {
        const dsgd_graph back = {pick->params, n_workers, seed, true};
        n.n_from = kind->to(&back, rank, round, room->from);
        n.from = room->from;
    }
    bool alike = n.n_to > 0; /* true if all shares of this worker are equal */
    for (int i = 0; i < n.n_to; i++) {
        int most = n.n_to;
        if (doubly_stochastic && kind->irregular) {
            const int theirs = kind->to(&graph, room->to[i], round, room->other);
            most = theirs > most ? theirs : most;
        }
        alike = alike && most == n.n_to;
        room->share[i] = 1.0 / (most + 1);
        n.keep -= room->share[i];
    }
    /* makes `keep` exactly equal to the shares */
    if (alike)
        n.keep = room->share[0];
    return n;
}
