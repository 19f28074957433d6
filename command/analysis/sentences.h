/**
 * @file sentences.h
 * What a verdict says: each appends to verdict->text, and to ->brief what a figure has room for.
 */
#pragma once

#include "command/analysis/contest.h"

/** What was reached, or how fast, and by how much before whom. Sets winner, name, is_tied and
 * brief. */
void dsgd_say_winner(const dsgd_contest *at, dsgd_verdict *verdict, const dsgd_contestant *best,
                     size_t m);

/** Who takes the least of what is not time, where it is somebody else. */
void dsgd_say_expenses(const dsgd_contest *at, dsgd_verdict *verdict, const dsgd_contestant *best);

/** "a and b failed": who cannot win, by reason. */
void dsgd_say_fates(const dsgd_contest *at, dsgd_verdict *verdict);

/** Seeds, learning rates and evaluations that let one doubt it. @p best NULL: nobody wins. */
void dsgd_say_doubts(const dsgd_contest *at, dsgd_verdict *verdict, const dsgd_contestant *best,
                     size_t m);
