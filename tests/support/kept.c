/**
 * @file kept.c
 * What a test keeps.
 */
#include "tests/support/kept.h"

#include "base/status.h"

void *kept(void *memory)
{
    dsgd_keep_for(free, memory);
    return memory;
}
