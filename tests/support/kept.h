/**
 * @file kept.h
 * Keeps allocated memory of a test until its process ends.
 */
#pragma once

/**
 * Registers @p memory, which malloc() or a similar function has returned, so that dsgd_drop()
 * (base/status.h) frees it. Returns @p memory.
 */
void *kept(void *memory);
