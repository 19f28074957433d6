/**
 * @file verdict.h
 * Determines the winner at each place of a frame, and why other candidates cannot win. Tables,
 * pages and figures all use this rule.
 *
 * If models are evaluated, the candidate that reaches a target in the least time wins. The verdict
 * also names the candidates that take the fewest bytes, the least energy and the least money up to
 * the target. If nothing is learned, throughput decides. A candidate cannot win if it failed,
 * diverged, exchanged nothing, learned nothing, did not reach the target with every seed, or lost a
 * tenth of the progress to the target again. If its runs ended before the winner reached the
 * target, the result is open. Differences below DSGD_TIE are ties. A difference is open if its
 * interval over seeds contains no difference.
 *
 * A candidate *learned* if it made a tenth of the progress of the best candidate. Progress is
 * measured in accuracy, or in the logarithm of a loss (in the loss itself if one is not above 0).
 * The default target is the value that all seeds of the candidates with nine tenths of that
 * progress reach, so that no candidate wins by ending early.
 */
#pragma once

#include "command/analysis/caveats.h"
#include "command/analysis/comparison.h"

typedef struct dsgd_verdict {
    const dsgd_frame_point *at; /* any point of the place; it identifies the place */
    const dsgd_frame_point *winner; /* NULL if no candidate can win */
    const char *name; /* name of the winner's series */
    const char *goal; /* the target; NULL if none exists */
    bool is_tied; /* the winner ties with others, which the text names, or the result is open */
    char *text; /* sentences */
    char *brief; /* the winner, outcomes and caveats, for a line below a figure */
} dsgd_verdict;

typedef struct dsgd_verdicts {
    dsgd_frame frame; /* contains all runs, including those without results */
    size_t n;
    dsgd_verdict *v; /* [n] places in the order of the table, without variations of --sensitivity */
    const char **out; /* [rows of runs.csv] why a run cannot win with any target, or NULL */
    const char *unvaried; /* dsgd_unvaried_defaults(); "" if no candidate wins against others */
} dsgd_verdicts;

/**
 * Judges all places of @p runs, the runs.csv of @p folder. @p manifest may be NULL. @p target is a
 * text for dsgd_target_parse(), or NULL for the default target.
 */
dsgd_status dsgd_verdicts_open(const dsgd_csv *runs, const char *folder,
                               const dsgd_framing *framing, const json_t *manifest,
                               const char *target, dsgd_verdicts *verdicts, dsgd_error *error);

/** Returns true if a loss grew without end from the first evaluation to the last. */
bool dsgd_loss_grew(double first, double last);

/** Returns sentences with the number of places at which each candidate wins. */
const char *dsgd_verdicts_summary(const dsgd_verdicts *verdicts);
