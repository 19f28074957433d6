/**
 * @file draw.c
 * Philox4x32-10 of Random123, and numbers and permutations from its bits.
 */
#include "base/draw.h"

#include <stdlib.h>

#include "base/philox.h"
#include "base/status.h"

static uint64_t draw_bits(dsgd_draw at)
{
    return dsgd_philox_bits(at.seed, at.purpose, at.worker, at.step, at.index);
}

double dsgd_draw_uniform(dsgd_draw at)
{
    return dsgd_philox_uniform(at.seed, at.purpose, at.worker, at.step, at.index);
}

/** floor(bits * n / 2^64) without a wider type. */
static uint64_t scale(uint64_t bits, uint64_t n)
{
    const uint64_t low = (bits & UINT32_MAX) * (n & UINT32_MAX);
    const uint64_t cross_a = (bits >> 32) * (n & UINT32_MAX) + (low >> 32);
    const uint64_t cross_b = (bits & UINT32_MAX) * (n >> 32) + (cross_a & UINT32_MAX);
    return (bits >> 32) * (n >> 32) + (cross_a >> 32) + (cross_b >> 32);
}

uint64_t dsgd_draw_below(dsgd_draw at, uint64_t n)
{
    DSGD_ASSERT(n >= 1, "a draw out of nothing");
    return scale(draw_bits(at), n);
}

enum { FEISTEL_ROUNDS = 4 };

/** What a round of a Feistel network adds to one half, of which only the lowest bits count. */
static uint32_t round_bits(dsgd_draw at, uint32_t round, uint32_t other_half)
{
    at.index = round << 16 | other_half; /* a half is below 2^16 */
    return (uint32_t)draw_bits(at);
}

/** A permutation of [0, 2^(2 half)): each round adds a function of one half to the other. */
static uint32_t feistel(dsgd_draw at, int half, uint32_t i)
{
    const uint32_t mask = (uint32_t)((1ull << half) - 1);
    uint32_t left = i >> half;
    uint32_t right = i & mask;
    for (uint32_t round = 0; round < FEISTEL_ROUNDS; round++) {
        const uint32_t next = left ^ (round_bits(at, round, right) & mask);
        left = right;
        right = next;
    }
    return left << half | right;
}

/** The inverse of feistel(). */
static uint32_t feistel_back(dsgd_draw at, int half, uint32_t i)
{
    const uint32_t mask = (uint32_t)((1ull << half) - 1);
    uint32_t left = i >> half;
    uint32_t right = i & mask;
    for (uint32_t round = FEISTEL_ROUNDS; round-- > 0;) {
        const uint32_t before = right ^ (round_bits(at, round, left) & mask);
        right = left;
        left = before;
    }
    return left << half | right;
}

/** The least half with n <= 2^(2 half). */
static int half_bits(uint32_t n)
{
    int half = 1;
    while (1ull << (2 * half) < n)
        half++;
    return half;
}

uint32_t dsgd_draw_permuted(dsgd_draw at, uint32_t n, uint32_t i)
{
    DSGD_ASSERT(i < n, "%u is not below %u", i, n);
    /* The orbit of i is a cycle, so it returns to [0, n). */
    do
        i = feistel(at, half_bits(n), i);
    while (i >= n);
    return i;
}

uint32_t dsgd_draw_place(dsgd_draw at, uint32_t n, uint32_t image)
{
    DSGD_ASSERT(image < n, "%u is not below %u", image, n);
    do
        image = feistel_back(at, half_bits(n), image);
    while (image >= n);
    return image;
}

/* --- many images ------------------------------------------------------------------------------ */

/** Permutations whose rounds are kept at the same time: workers are not all in the same epoch. */
enum { KEPT = 4 };

/**
 * A round is a function of one half of the bits, and 2^half is about the root of n: so a few
 * hundred draws per permutation are all that it needs.
 */
struct dsgd_permuter {
    dsgd_draw at;
    uint32_t n;
    int half;
    /* [KEPT][FEISTEL_ROUNDS][2^half]: (step + 1) << 16 | the lowest 16 bits of the round, drawn when
     * they are first asked for; another step's are overwritten */
    uint64_t *rounds;
};

dsgd_permuter *dsgd_permuter_new(dsgd_draw at, uint32_t n)
{
    dsgd_permuter *const p = dsgd_xcalloc(1, sizeof *p);
    const int half = half_bits(n);
    *p = (dsgd_permuter){at, n, half, NULL};
    p->rounds = dsgd_xcalloc((size_t)KEPT * FEISTEL_ROUNDS << half, sizeof *p->rounds);
    return p;
}

void dsgd_permuter_free(dsgd_permuter *permuter)
{
    if (permuter == NULL)
        return;
    free(permuter->rounds);
    free(permuter);
}

/** Draws what the look-up of one round has not found. Rare, and out of the way of the others. */
__attribute__((noinline, cold)) static uint64_t keep_round(const dsgd_permuter *p, uint64_t *kept,
                                                           uint32_t step, uint32_t round,
                                                           uint32_t other_half)
{
    dsgd_draw at = p->at;
    at.step = step;
    *kept = ((uint64_t)step + 1) << 16 | (round_bits(at, round, other_half) & UINT16_MAX);
    return *kept;
}

/** feistel() at @p step. */
static inline uint32_t kept_feistel(const dsgd_permuter *p, uint32_t step, uint32_t i)
{
    const int half = p->half;
    const uint32_t mask = (uint32_t)((1ull << half) - 1);
    uint64_t *rounds = p->rounds + ((size_t)(step % KEPT) * FEISTEL_ROUNDS << half);
    uint32_t left = i >> half;
    uint32_t right = i & mask;
    for (uint32_t round = 0; round < FEISTEL_ROUNDS; round++, rounds += (size_t)1 << half) {
        uint64_t kept = rounds[right];
        if (kept >> 16 != (uint64_t)step + 1)
            kept = keep_round(p, &rounds[right], step, round, right);
        const uint32_t next = left ^ ((uint32_t)kept & mask);
        left = right;
        right = next;
    }
    return left << half | right;
}

void dsgd_permuter_images(const dsgd_permuter *permuter, uint32_t step, uint32_t first, uint32_t n,
                          uint32_t *images)
{
    const dsgd_permuter p = *permuter;
    DSGD_ASSERT(first <= p.n && n <= p.n - first, "%u images from %u, but %u in all", n, first,
                p.n);
    for (uint32_t k = 0; k < n; k++) {
        uint32_t i = first + k;
        do
            i = kept_feistel(&p, step, i);
        while (i >= p.n);
        images[k] = i;
    }
}
