/**
 * @file draw.c
 * Philox4x32-10 of Random123, and numbers and permutations from its bits.
 */
#include "base/draw.h"

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

/** A permutation of [0, 2^(2 half)): each round adds a function of one half to the other. */
static uint32_t feistel(dsgd_draw at, int half, uint32_t i)
{
    const uint32_t mask = (uint32_t)((1ull << half) - 1);
    uint32_t left = i >> half;
    uint32_t right = i & mask;
    for (uint32_t round = 0; round < FEISTEL_ROUNDS; round++) {
        /* Below 2^16, so that round and value share the index. */
        at.index = round << 16 | right;
        const uint32_t next = left ^ ((uint32_t)draw_bits(at) & mask);
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
        at.index = round << 16 | left;
        const uint32_t before = right ^ ((uint32_t)draw_bits(at) & mask);
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
