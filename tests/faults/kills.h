/**
 * @file kills.h
 * Runs that are ended at random moments, and taken up by the same command.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/** Whether this machine gives terminals to its programs: /dev/pts is there. */
bool kills_have_terminals(void);

/** Tries @p n of them; what is wrong is printed. The number of bugs. */
int kills_try(int n, uint64_t seed);
