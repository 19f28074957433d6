/**
 * @file kept.h
 * Memory of a test that lives as long as the test's process.
 */
#ifndef DSGD_TESTS_SUPPORT_KEPT_H
#define DSGD_TESTS_SUPPORT_KEPT_H

/** @p memory (of malloc() and its kin), which stays reachable: a leak checker reports others alone. */
void *kept(void *memory);

/** Ends that, for a tear_down of tests that share a process. */
void free_kept(void);

#endif
