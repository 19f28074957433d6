/**
 * @file oracle_encoded.c
 * Emulates algorithms that compress their messages, with all workers in lock-step.
 */
#include "tests/support/oracle_encoded.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/lockstep.h"

/* --- encodings -------------------------------------------------------------------------------- */

void oracle_identity(const oracle_encoding *e, oracle_place at, size_t n, const double *v,
                     double *q)
{
    memcpy(q, v, n * sizeof *v);
}

static size_t count_of(double density, size_t n)
{
    const size_t k = (size_t)floor((double)n * density);
    return k < 1 && n > 0 ? 1 : k;
}

/** Returns the position of value i when values are sorted by decreasing absolute value. */
static size_t rank_of(const double *v, size_t n, size_t i)
{
    size_t before = 0;
    for (size_t j = 0; j < n; j++)
        before += fabs(v[j]) > fabs(v[i]) || (fabs(v[j]) == fabs(v[i]) && j < i);
    return before;
}

void oracle_top_k(const oracle_encoding *e, oracle_place at, size_t n, const double *v, double *q)
{
    const size_t k = count_of(e->density, n);
    for (size_t i = 0; i < n; i++)
        q[i] = rank_of(v, n, i) < k ? v[i] : 0;
}

void oracle_random_k(const oracle_encoding *e, oracle_place at, size_t n, const double *v,
                     double *q)
{
    double *const drawn = lockstep_zeros(n);
    for (size_t i = 0; i < n; i++)
        drawn[i] = e->draw(at, i);
    for (size_t i = 0; i < n; i++)
        q[i] = rank_of(drawn, n, i) < count_of(e->density, n) ? v[i] : 0;
}

void oracle_threshold(const oracle_encoding *e, oracle_place at, size_t n, const double *v,
                      double *q)
{
    for (size_t i = 0; i < n; i++)
        q[i] = fabs(v[i]) > e->at ? v[i] : 0;
}

void oracle_uniform(const oracle_encoding *e, oracle_place at, size_t n, const double *v, double *q)
{
    double most = 0;
    for (size_t i = 0; i < n; i++)
        most = fmax(most, fabs(v[i]));
    for (size_t i = 0; i < n; i++)
        q[i] = most == 0 ? 0 : rint(v[i] / most * (double)e->levels) / (double)e->levels * most;
}

void oracle_low_rank(const oracle_encoding *e, oracle_place at, size_t n, const double *v,
                     double *q)
{
    const size_t rows = (size_t)sqrt((double)n);
    const size_t columns = (n + rows - 1) / rows;
    double *const p = lockstep_zeros(rows);
    double *const z = lockstep_zeros(columns);
    double square = 0;
    at.worker = -1;
    for (size_t i = 0; i < n; i++)
        p[i / columns] += v[i] * (2 * e->draw(at, i % columns) - 1);
    for (size_t r = 0; r < rows; r++)
        square += p[r] * p[r];
    for (size_t i = 0; i < n; i++)
        z[i % columns] += v[i] * p[i / columns];
    for (size_t i = 0; i < n; i++)
        q[i] = square == 0 ? 0 : p[i / columns] * z[i % columns] / square;
}

void oracle_sign(const oracle_encoding *e, oracle_place at, size_t n, const double *v, double *q)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += fabs(v[i]);
    for (size_t i = 0; i < n; i++)
        q[i] = v[i] < 0 ? -sum / (double)n : sum / (double)n;
}

void oracle_qsgd(const oracle_encoding *e, oracle_place at, size_t n, const double *v, double *q)
{
    const double levels = (double)e->levels;
    double norm = 0;
    for (size_t i = 0; i < n; i++)
        norm += v[i] * v[i];
    norm = sqrt(norm);
    for (size_t i = 0; i < n; i++) {
        const double l = norm == 0 ? 0 : levels * fabs(v[i]) / norm;
        const double level = floor(l) + (e->draw(at, i) < l - floor(l));
        q[i] = norm * (v[i] < 0 ? -level : level) / levels;
    }
}

/**
 * Compresses a vector piece by piece: q <- Q(v). If @p worker is -1, v is the sum of all workers'
 * vectors, and each worker compresses its own share of each piece.
 */
static void encode_all(const oracle_problem *p, const oracle_encoding *e, size_t pieces, int worker,
                       long step, const double *v, double *q)
{
    for (size_t k = 0; k < pieces; k++) {
        const size_t first = lockstep_cut(p->n, k, pieces);
        const size_t n = lockstep_cut(p->n, k + 1, pieces) - first;
        const size_t workers = (size_t)p->workers;
        const size_t share = worker < 0 ? (n + workers - 1) / workers : n;
        for (size_t i = 0; i < n; i += share) {
            oracle_place at = {worker, step, worker < 0, k, first + i};
            if (at.sum)
                at.step = step * (long)pieces + (long)k;
            e->encode(e, at, i + share < n ? share : n - i, v + first + i, q + first + i);
        }
    }
}

/**
 * Compresses the mean gradient u in row 0 of s->g: u <- Q(u + d). With feedback, d <- u + d - Q(u +
 * d); else d <- 0. Then copies u to all rows of s->g.
 */
static void encode_again(const lockstep *s, const oracle_encoding *e, size_t pieces, bool feedback,
                         long step, double *d)
{
    for (size_t i = 0; i < s->p->n; i++)
        d[i] += s->g[i];
    encode_all(s->p, e, pieces, -1, step, d, s->g);
    for (size_t i = 0; i < s->p->n; i++)
        d[i] = feedback ? d[i] - s->g[i] : 0;
    for (size_t i = s->p->n; i < s->count; i++)
        s->g[i] = s->g[i - s->p->n];
}

/* --- error feedback --------------------------------------------------------------------------- */

void oracle_feedback(const oracle_problem *p, const oracle_encoding *encoding, size_t pieces,
                     bool feedback, bool again, double *x)
{
    lockstep s = lockstep_begin(p, x);
    double *const d = lockstep_zeros(p->n);
    double *const e = lockstep_zeros(s.count);
    double *const sent = lockstep_zeros(s.count);
    for (long t = 0; t < p->steps; t++) {
        lockstep_gradients(&s, t, x);
        for (size_t i = 0; i < s.count; i++)
            e[i] += s.g[i];
        for (int w = 0; w < p->workers; w++)
            encode_all(p, encoding, pieces, w, t, e + (size_t)w * p->n, sent + (size_t)w * p->n);
        for (size_t i = 0; i < s.count; i++)
            e[i] = feedback ? e[i] - sent[i] : 0;
        memcpy(s.g, sent, s.count * sizeof *sent);
        lockstep_average(p, s.g);
        if (again)
            encode_again(&s, encoding, pieces, feedback, t, d);
        lockstep_descend(&s);
    }
}

void oracle_ef21(const oracle_problem *p, const oracle_encoding *encoding, size_t pieces, double *x)
{
    lockstep s = lockstep_begin(p, x);
    double *const h = lockstep_zeros(s.count);
    double *const c = lockstep_zeros(s.count);
    for (long t = 0; t < p->steps; t++) {
        lockstep_gradients(&s, t, x);
        for (size_t i = 0; i < s.count; i++)
            s.g[i] -= h[i];
        for (int w = 0; w < p->workers; w++)
            encode_all(p, encoding, pieces, w, t, s.g + (size_t)w * p->n, c + (size_t)w * p->n);
        for (size_t i = 0; i < s.count; i++)
            s.g[i] = h[i] += c[i];
        lockstep_average(p, s.g);
        lockstep_descend(&s);
    }
}

void oracle_momentum_correction(const oracle_problem *p, const oracle_encoding *top_k,
                                size_t pieces, double mu, double *x)
{
    lockstep s = lockstep_begin(p, x);
    double *const m = lockstep_zeros(s.count);
    double *const v = lockstep_zeros(s.count);
    for (long t = 0; t < p->steps; t++) {
        lockstep_gradients(&s, t, x);
        for (size_t i = 0; i < s.count; i++) {
            m[i] = mu * m[i] + s.g[i];
            v[i] += m[i];
        }
        for (int w = 0; w < p->workers; w++)
            encode_all(p, top_k, pieces, w, t, v + (size_t)w * p->n, s.g + (size_t)w * p->n);
        for (size_t i = 0; i < s.count; i++)
            if (s.g[i] != 0)
                m[i] = v[i] = 0;
        lockstep_average(p, s.g);
        lockstep_descend(&s);
    }
}

/* --- Ok-Topk ---------------------------------------------------------------------------------- */

static int descending(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x < y) - (x > y);
}

/**
 * Returns the k-th largest non-zero |v|. If fewer than k values are not zero, returns the smallest
 * non-zero |v|.
 */
static double threshold_of(const double *v, size_t n, size_t k)
{
    double *const size = lockstep_zeros(n + 1);
    size_t found = 0;
    for (size_t i = 0; i < n; i++)
        if (v[i] != 0)
            size[found++] = fabs(v[i]);
    qsort(size, found, sizeof *size, descending);
    const double th = found == 0 ? 0 : size[(k < found ? k : found) - 1];
    return th;
}

/**
 * Makes one Ok-Topk step of a piece of n values. @p e [workers][n] contains the sum of old error
 * and gradient, and contains the new error afterwards. The function stores the mean update in @p u
 * [n].
 */
static void ok_step(const oracle_problem *p, size_t n, size_t k, double *e, double *u)
{
    double *const local = lockstep_zeros((size_t)p->workers); /* selection thresholds */
    for (int w = 0; w < p->workers; w++)
        local[w] = threshold_of(e + (size_t)w * p->n, n, k);
    for (size_t i = 0; i < n; i++) {
        u[i] = 0;
        for (int w = 0; w < p->workers; w++) {
            const double a = e[(size_t)w * p->n + i];
            u[i] += fabs(a) >= local[w] ? a : 0;
        }
    }
    const double global = threshold_of(u, n, k); /* selection threshold of the sum (gth) */
    for (size_t i = 0; i < n; i++) {
        const bool everywhere = u[i] != 0 && fabs(u[i]) >= global;
        for (int w = 0; w < p->workers && everywhere; w++) {
            double *const a = &e[(size_t)w * p->n + i];
            if (fabs(*a) >= local[w])
                *a = 0;
        }
        u[i] = everywhere ? u[i] / p->workers : 0;
    }
}

void oracle_ok_topk(const oracle_problem *p, double density, size_t pieces, double *x)
{
    lockstep s = lockstep_begin(p, x);
    double *const e = lockstep_zeros(s.count);
    double *const u = lockstep_zeros(p->n);
    for (long t = 0; t < p->steps; t++) {
        lockstep_gradients(&s, t, x);
        for (size_t i = 0; i < s.count; i++)
            e[i] += s.g[i];
        for (size_t k = 0; k < pieces; k++) {
            const size_t first = lockstep_cut(p->n, k, pieces);
            const size_t n = lockstep_cut(p->n, k + 1, pieces) - first;
            ok_step(p, n, count_of(density, n), e + first, u + first);
        }
        lockstep_set_all(p, u, s.g);
        lockstep_descend(&s);
    }
}

/* --- CHOCO-SGD -------------------------------------------------------------------------------- */

/**
 * Makes the gossip step of CHOCO-SGD: x <- x + gamma (W xhat - xhat), where xhat are the public
 * copies.
 */
static void choco_mix(lockstep *s, const oracle_choco_options *o, const double *public, double *sum)
{
    memcpy(sum, public, s->count * sizeof *sum);
    lockstep_mix(s->p->workers, s->p->n, o->mixing, sum);
    for (size_t i = 0; i < s->count; i++)
        s->x[i] += o->gamma * (sum[i] - public[i]);
}

void oracle_choco(const oracle_problem *p, oracle_choco_options options, double *x)
{
    lockstep s = lockstep_begin(p, x);
    double *const public = lockstep_zeros(s.count);
    double *const q = lockstep_zeros(s.count);
    double *const room = lockstep_zeros(s.count);
    for (long t = 0; t < p->steps; t++) {
        lockstep_step(&s, t);
        for (size_t i = 0; i < s.count; i++)
            room[i] = x[i] - public[i];
        for (int w = 0; w < p->workers; w++)
            encode_all(p, options.encoding, options.pieces, w, t, room + (size_t)w * p->n,
                       q + (size_t)w * p->n);
        for (size_t i = 0; i < s.count; i++)
        public[i] += q[i];
        choco_mix(&s, &options, public, room);
    }
}
