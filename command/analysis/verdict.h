/**
 * @file verdict.h
 * Determines the winner in each setting (place) of a frame, and the reasons why other candidates
 * cannot win. Tables, pages and figures all use this rule.
 *
 * If models are evaluated, the candidate that reaches a target in the least time wins. The verdict
 * also names the candidates that need the fewest bytes, the least energy and the lowest cost up to
 * the target. If nothing is learned, throughput decides. A candidate cannot win if it failed,
 * diverged, exchanged nothing, learned nothing, or did not reach the target with every seed. A
 * candidate cannot win either if it reached the target but later lost a tenth of this progress. If
 * the runs of a candidate ended before the winner reached the target, the result is open.
 * Differences below DSGD_TIE are ties. A difference is open if the interval of its ratio over seeds
 * includes 1.
 *
 * A candidate *learned* if it made at least a tenth of the progress of the best candidate. Progress
 * is measured in accuracy, or in the logarithm of a loss (in the loss itself if a loss is not above
 * 0). The default target is the value that all seeds of the best candidates reach, so that no
 * candidate wins by ending early. The best candidates are those with nine tenths of the best
 * progress.
 */
#pragma once

#include "command/analysis/caveats.h"
#include "command/analysis/comparison.h"

typedef struct dsgd_verdict {
    const dsgd_frame_point *at; /* any point of the setting; the point identifies the setting */
    const dsgd_frame_point *winner; /* point of the winner; NULL if no candidate can win */
    const char *name; /* name of the winner's series */
    const char *goal; /* text of the target; NULL if there is no target */
    bool is_tied; /* true if the result is open or if the winner ties with candidates that the text
                   * names */
    char *text; /* sentences of the verdict */
    char *brief; /* short verdict for a line below a figure: the winner, outcomes and caveats */
} dsgd_verdict;

typedef struct dsgd_verdicts {
    dsgd_frame frame; /* frame of all runs, including runs without results */
    size_t n;
    dsgd_verdict *v; /* array of n verdicts, one per setting in the order of the table; variations
                      * of --sensitivity are excluded */
    const char **out; /* array [rows of runs.csv]: why each run cannot win with any target, or NULL
                       * if it can win */
    const char *unvaried; /* sentence of dsgd_unvaried_defaults(); "" if no candidate wins against
                           * other candidates */
} dsgd_verdicts;

/**
 * Determines the verdicts of all settings of @p runs, the table runs.csv of @p folder. @p manifest
 * may be NULL. @p target is a text for dsgd_target_parse(); NULL selects the default target.
 */
dsgd_status dsgd_verdicts_open(const dsgd_csv *runs, const char *folder,
                               const dsgd_framing *framing, const json_t *manifest,
                               const char *target, dsgd_verdicts *verdicts, dsgd_error *error);

/** Returns true if a loss grew without bound from the first evaluation to the last evaluation. */
bool dsgd_loss_grew(double first, double last);

/** Returns sentences with the number of settings in which each candidate wins. */
const char *dsgd_verdicts_summary(const dsgd_verdicts *verdicts);
