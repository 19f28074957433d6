/**
 * @file kept.h
 * Memory of a test that lives until the process of the test ends.
 */
#pragma once

/**
 * Registers @p memory (from malloc() and similar functions) so that dsgd_drop() frees it, and
 * returns it; see base/status.h.
 */
void *kept(void *memory);
