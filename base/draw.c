/**
 * @file draw.c Random numbers and random permutations, which are computed from the bits of
 * Philox4x32-10 (Random123).
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

void dsgd_draw_uniforms(dsgd_draw at, size_t n, double *u)
{
    for (const double *const end = u + n; u < end; at.index++)
        *u++ = dsgd_philox_uniform(at.seed, at.purpose, at.worker, at.step, at.index);
}

uint64_t dsgd_draw_below(dsgd_draw at, uint64_t n)
{
    DSGD_ASSERT(n >= 1, "a draw out of nothing");
    /* Computes the upper 64 bits of bits * n without a 128-bit type. */
    const uint64_t bits = draw_bits(at);
    const uint64_t low = (bits & UINT32_MAX) * (n & UINT32_MAX);
    const uint64_t cross_a = (bits >> 32) * (n & UINT32_MAX) + (low >> 32);
    const uint64_t cross_b = (bits & UINT32_MAX) * (n >> 32) + (cross_a & UINT32_MAX);
    return (bits >> 32) * (n >> 32) + (cross_a >> 32) + (cross_b >> 32);
}

enum { FEISTEL_ROUNDS = 4 };

/**
 * Returns the output of the round function of a Feistel network. The network combines it with one
 * half of the bits by exclusive or, and uses only its lowest bits.
 */
static uint32_t round_bits(dsgd_draw at, uint32_t round, uint32_t other_half)
{
    /* other_half is below 2^16, so it does not overlap the bits of the round number */
    at.index = round << 16 | other_half;
    return (uint32_t)draw_bits(at);
}

/**
 * Permutes [0, 2^(2 half)). Each round changes one half of the bits by a function of the other
 * half. If @p back is true, computes the inverse permutation, with exchanged halves and the rounds
 * in reverse order.
 */
static uint32_t feistel(dsgd_draw at, int half, uint32_t i, bool back)
{
    const uint32_t mask = (uint32_t)((1ull << half) - 1);
    /* a is the half of the bits that the next round changes */
    uint32_t a = back ? i & mask : i >> half;
    uint32_t b = back ? i >> half : i & mask;
    for (uint32_t k = 0; k < FEISTEL_ROUNDS; k++) {
        const uint32_t round = back ? FEISTEL_ROUNDS - 1 - k : k;
        const uint32_t next = a ^ (round_bits(at, round, b) & mask);
        a = b;
        b = next;
    }
    return back ? b << half | a : a << half | b;
}

/** Returns the smallest number `half` with n <= 2^(2 half). */
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
    /* The iteration runs through a cycle that contains i, so it returns to [0, n). */
    do
        i = feistel(at, half_bits(n), i, false);
    while (i >= n);
    return i;
}

uint32_t dsgd_draw_place(dsgd_draw at, uint32_t n, uint32_t image)
{
    DSGD_ASSERT(image < n, "%u is not below %u", image, n);
    do
        image = feistel(at, half_bits(n), image, true);
    while (image >= n);
    return image;
}

/* --- functions that compute the images of many numbers ---------------------------------------- */

/**
 * Number of permutations whose rounds are stored at the same time. Several are needed, because
 * workers may be in different epochs.
 */
enum { KEPT = 4 };

/**
 * The stored rounds of one permutation. A round is a function of one half of the bits. Its table
 * therefore has 2^half entries, about the square root of n. So a few hundred draws are enough for a
 * permutation.
 */
typedef struct kept_rounds {
    uint64_t step; /* step of the permutation, plus 1; 0 if no rounds are stored */
    /* number of images requested so far; the rounds are stored once it reaches 2^half */
    uint64_t n_images;
} kept_rounds;

struct dsgd_permuter {
    dsgd_draw at;
    uint32_t n;
    int half;
    kept_rounds kept[KEPT];
    uint32_t rounds[]; /* [KEPT][FEISTEL_ROUNDS][2^half] tables of the rounds */
};

dsgd_permuter *dsgd_permuter_new(dsgd_draw at, uint32_t n)
{
    const int half = half_bits(n);
    dsgd_permuter *const p =
        dsgd_xcalloc(1, sizeof *p + ((KEPT * FEISTEL_ROUNDS * sizeof p->rounds[0]) << half));
    *p = (dsgd_permuter){.at = at, .n = n, .half = half};
    return p;
}

/**
 * Returns the same number as feistel(), computed by table look-ups only. The processor can then
 * compute several images at the same time.
 */
static inline uint32_t known_feistel(const uint32_t *v, int half, uint32_t a, uint32_t b)
{
    const size_t n = (size_t)1 << half;
    const uint32_t c = a ^ v[b];
    const uint32_t d = b ^ v[n + c];
    const uint32_t e = c ^ v[2 * n + d];
    const uint32_t f = d ^ v[3 * n + e];
    return e << half | f;
}

/** Computes the images of the numbers first, first + 1, ... from the stored rounds @p v. */
static void known_images(const dsgd_permuter *p, const uint32_t *v, uint32_t first, uint32_t n,
                         uint32_t *images)
{
    const int half = p->half;
    const uint32_t below = p->n;
    const uint32_t mask = (uint32_t)((1ull << half) - 1);
    /* each iteration handles numbers that have the same left half and consecutive right halves */
    while (n > 0) {
        const uint32_t left = first >> half;
        const uint32_t right = first & mask;
        const uint32_t here = n - 1 <= mask - right ? n : mask - right + 1;
        for (uint32_t k = 0; k < here; k++) {
            uint32_t image = known_feistel(v, half, left, right + k);
            while (image >= below)
                image = known_feistel(v, half, image >> half, image & mask);
            images[k] = image;
        }
        first += here;
        images += here;
        n -= here;
    }
}

void dsgd_permuter_images(dsgd_permuter *permuter, uint32_t step, uint32_t first, uint32_t n,
                          uint32_t *images)
{
    const dsgd_permuter *const p = permuter;
    DSGD_ASSERT(first <= p->n && n <= p->n - first, "%u images from %u, but %u in all", n, first,
                p->n);
    kept_rounds *const kept = &permuter->kept[step % KEPT];
    if (kept->step != (uint64_t)step + 1)
        *kept = (kept_rounds){.step = (uint64_t)step + 1};
    const size_t n_numbers = (size_t)FEISTEL_ROUNDS << p->half;
    uint32_t *const rounds = permuter->rounds + step % KEPT * n_numbers;
    dsgd_draw at = p->at;
    at.step = step;
    const uint64_t before = kept->n_images;
    /* Number of images for which the direct computation takes as long as storing all rounds. */
    const uint64_t enough = 1ull << p->half;
    const uint32_t mask = (uint32_t)(enough - 1);
    kept->n_images += n;
    for (size_t i = 0; before < enough && kept->n_images >= enough && i < n_numbers; i++)
        rounds[i] = round_bits(at, (uint32_t)(i >> p->half), (uint32_t)i & mask) & mask;
    if (kept->n_images >= enough)
        known_images(p, rounds, first, n, images);
    else
        for (uint32_t k = 0; k < n; k++)
            images[k] = dsgd_draw_permuted(at, p->n, first + k);
}
