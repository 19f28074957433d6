/**
 * @file kept.h
 * Memory of a test that lives as long as the test's process.
 */
#pragma once

/** @p memory (of malloc() and its kin), which dsgd_drop() frees; see base/status.h. */
void *kept(void *memory);
