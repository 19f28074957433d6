/**
 * @file placement.c
 * Orders of hosts: natural, random, or as listed.
 */
#include "sim/network/placement.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/draw.h"

static bool is_word(const dsgd_lines *placement, const char *word)
{
    return placement->n == 1 && strcmp(placement->v[0], word) == 0;
}

bool dsgd_placement_is_given(const dsgd_lines *placement)
{
    return placement->n > 0 && !is_word(placement, DSGD_PLACEMENT_NATURAL) &&
           !is_word(placement, DSGD_PLACEMENT_RANDOM);
}

/** The index that @p text is; -1: none below @p n. */
static int index_of(const char *text, int n)
{
    char *end = NULL;
    const unsigned long i = strtoul(text, &end, 10);
    const bool digits = *text != '\0' && text[strspn(text, "0123456789")] == '\0';
    return digits && i < (unsigned long)n ? (int)i : -1;
}

static int find(const char *text, int n_hosts, const char *const *names)
{
    if (names == NULL)
        return index_of(text[0] == 'n' ? text + 1 : text, n_hosts);
    for (int i = 0; i < n_hosts; i++)
        if (strcmp(text, names[i]) == 0)
            return i;
    return index_of(text, n_hosts);
}

static dsgd_status list(const dsgd_lines *placement, int n_hosts, const char *const *names,
                        int n_wanted, int *places, dsgd_error *error)
{
    char first[24] = "n0";
    char last[24];
    snprintf(last, sizeof last, "n%d", n_hosts - 1);
    if (placement->n < (size_t)n_wanted)
        return dsgd_fail(
            error, DSGD_EUSAGE,
            "placement: %zu hosts are listed, but %d workers and servers need one each",
            placement->n, n_wanted);
    size_t *const listed = dsgd_xcalloc((size_t)n_hosts, sizeof *listed); /* 1 + position */
    dsgd_status status = DSGD_OK;
    for (size_t i = 0; status == DSGD_OK && i < placement->n; i++) {
        const char *const text = placement->v[i];
        const int host = find(text, n_hosts, names);
        if (host < 0)
            status =
                dsgd_fail(error, DSGD_EUSAGE,
                          "placement: entry %zu is `%.60s`, but the platform's hosts are 0 to %d, "
                          "or %.60s to %.60s",
                          i + 1, text, n_hosts - 1, names == NULL ? first : names[0],
                          names == NULL ? last : names[n_hosts - 1]);
        else if (listed[host] > 0)
            status = dsgd_fail(error, DSGD_EUSAGE,
                               "placement: entry %zu is `%.60s`, which is entry %zu too; a host "
                               "takes one worker",
                               i + 1, text, listed[host]);
        else
            listed[host] = i + 1;
        if (status == DSGD_OK && i < (size_t)n_wanted)
            places[i] = host;
    }
    free(listed);
    return status;
}

dsgd_status dsgd_placement_places(const dsgd_lines *placement, uint64_t seed, int n_hosts,
                                  const char *const *names, int n_wanted, int *places,
                                  dsgd_error *error)
{
    if (dsgd_placement_is_given(placement))
        return list(placement, n_hosts, names, n_wanted, places, error);
    const dsgd_draw at = {.seed = seed, .purpose = DSGD_DRAW_PLACEMENT};
    const bool random = is_word(placement, DSGD_PLACEMENT_RANDOM);
    for (int i = 0; i < n_wanted; i++)
        places[i] = random ? (int)dsgd_draw_permuted(at, (uint32_t)n_hosts, (uint32_t)i) : i;
    return DSGD_OK;
}
