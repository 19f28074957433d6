/**
 * @file kept.c
 * A list of what is kept.
 */
#include "tests/support/kept.h"

#include <stdlib.h>

typedef struct allocation {
    struct allocation *next;
    void *memory;
} allocation;

static allocation *allocations;

void *kept(void *memory)
{
    allocation *const a = malloc(sizeof *a);
    if (a == NULL)
        abort();
    *a = (allocation){allocations, memory};
    allocations = a;
    return memory;
}

void free_kept(void)
{
    while (allocations != NULL) {
        allocation *const a = allocations;
        allocations = a->next;
        free(a->memory);
        free(a);
    }
}
