/**
 * @file shares.c
 * Shares of a vector by bandwidth, for averages that one peer makes of a part, another of the next.
 */
#include "sim/engine/engine.h"
#include "sim/verbs/point_to_point.h"

double dsgd_bandwidth(dsgd_node *self)
{
    const dsgd_worker *const w = dsgd_worker_of(self);
    const dsgd_platform *const platform = w->engine->config->platform;
    double most =
        dsgd_platform_nic_bytes_per_s(platform, w->place / dsgd_platform_nic_hosts(platform));
    for (int i = 0; i < w->engine->n_workers && !dsgd_platform_has_numbers(platform); i++)
        if (i != w->host)
            most = fmax(most, dsgd_route_of(w->host, i).bytes_per_s);
    return most;
}

/** Vectors over the bandwidth: what the busier direction of its link carries. */
static double cost(const dsgd_reducer *r, double share, int n, int n_contributing)
{
    const double up = r->contributes ? 1 + (n - 2) * share : (n - 1) * share;
    const double down = 1 + (n_contributing - (r->contributes ? 2 : 1)) * share;
    return fmax(up, down) / r->bandwidth;
}

/*
 * Piece by piece to whom it raises the maximum least, among equals to whom fewest are for the
 * bandwidth. A piece can be placed without passing the least maximum as long as some have room
 * below it, so that this is optimal.
 */
void dsgd_share_out(dsgd_reducer *reducers, int n, int64_t n_pieces)
{
    int n_contributing = 0;
    for (int i = 0; i < n; i++)
        n_contributing += reducers[i].contributes;
    double most = 0;
    for (int i = 0; i < n; i++) {
        reducers[i].pieces = 0;
        most = fmax(most, cost(&reducers[i], 0, n, n_contributing));
    }
    for (int64_t k = 0; k < n_pieces; k++) {
        dsgd_reducer *best = reducers;
        double least = INFINITY, fewest = INFINITY;
        for (dsgd_reducer *r = reducers; r < reducers + n; r++) {
            const double pieces = (double)r->pieces + 1, load = pieces / r->bandwidth;
            const double then = fmax(most, cost(r, pieces / (double)n_pieces, n, n_contributing));
            if (then > least || (then == least && load >= fewest))
                continue;
            best = r;
            least = then;
            fewest = load;
        }
        best->pieces++;
        most = least;
    }
}
