/**
 * @file kept.c
 * Keeps allocated memory until the test's process ends.
 */
#include "tests/support/kept.h"

#include "base/status.h"

void *kept(void *memory)
{
    dsgd_keep_for(free, memory);
    return memory;
}
