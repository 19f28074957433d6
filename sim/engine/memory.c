/**
 * @file memory.c
 * Memory of the run.
 */
#include "sim/engine/memory.h"

#include <stdlib.h>

/** The run's blocks are a doubly linked ring. */
struct dsgd_block {
    struct dsgd_block *before, *after;
    _Alignas(max_align_t) unsigned char memory[];
};

void *dsgd_run_alloc(dsgd_engine *engine, size_t bytes)
{
    if (engine->blocks == NULL) {
        engine->blocks = dsgd_xcalloc(1, sizeof *engine->blocks);
        engine->blocks->before = engine->blocks->after = engine->blocks;
    }
    struct dsgd_block *block = dsgd_xcalloc(1, sizeof *block + bytes);
    block->before = engine->blocks;
    block->after = engine->blocks->after;
    block->before->after = block->after->before = block;
    return block->memory;
}

void dsgd_run_free(void *memory)
{
    if (memory == NULL)
        return;
    struct dsgd_block *block =
        (struct dsgd_block *)((unsigned char *)memory - offsetof(struct dsgd_block, memory));
    block->before->after = block->after;
    block->after->before = block->before;
    free(block);
}

void dsgd_run_free_all(dsgd_engine *engine)
{
    while (engine->blocks != NULL && engine->blocks->after != engine->blocks)
        dsgd_run_free(engine->blocks->after->memory);
    free(engine->blocks);
    engine->blocks = NULL;
}
