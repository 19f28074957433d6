/**
 * @file verdict.h
 * The winner at each place of a frame, and why other candidates cannot win: one rule for tables,
 * pages and figures.
 *
 * If models are evaluated, the candidate wins that reaches a target in the least time; the verdict
 * also names the candidates that take the fewest bytes, the least energy and the least money until
 * then. If nothing is learned, throughput decides. A candidate cannot win if it failed, diverged,
 * exchanged nothing, learned nothing, did not reach the target with every seed, or lost a tenth of
 * the progress to the target again. If its runs ended before the winner reached the target, that is
 * open. Differences below DSGD_TIE, and differences whose interval over seeds contains none, are
 * ties.
 *
 * A candidate *learned* if it made a tenth of the best's progress: in accuracy, or in the logarithm
 * of a loss (in the loss if one is not above 0). The default target is the value that all seeds of
 * the candidates with nine tenths of that progress reach, so that no candidate wins by ending
 * early.
 */
#pragma once

#include "command/analysis/comparison.h"

typedef struct dsgd_verdict {
    const dsgd_frame_point *at; /* any point of the place, which names it */
    const dsgd_frame_point *winner; /* NULL: no candidate can win */
    const char *name; /* of its series */
    const char *goal; /* the target; NULL: there is none */
    bool is_tied; /* with others, which the text names, or open */
    char *text; /* sentences */
    char *brief; /* the winner, outcomes and caveats, for a line below a figure */
} dsgd_verdict;

typedef struct dsgd_verdicts {
    dsgd_frame frame; /* of all runs, those without results too */
    size_t n;
    dsgd_verdict *v; /* [n] places in the order of the table, without variations of --sensitivity */
    const char *
        *out; /* [rows of runs.csv] why a run cannot win whatever the target; NULL: it can */
    const char *unvaried; /* names defaults that decide differences, and that no run varies; "":
                             there are none, or no candidate wins against others */
} dsgd_verdicts;

/**
 * Of runs.csv of a folder, which has been read, and its manifest (NULL: none). @p target as of
 * dsgd_target_parse(), NULL: what is said above.
 */
dsgd_status dsgd_verdicts_open(const dsgd_csv *runs, const char *folder,
                               const dsgd_framing *framing, const json_t *manifest,
                               const char *target, dsgd_verdicts *verdicts, dsgd_error *error);

/**
 * Whether a loss grew without end from the first evaluation to the last, whatever the status says.
 */
bool dsgd_loss_grew(double first, double last);

/** "Of 12 places wagma is first at 7 and allreduce is first at 5", for several places. */
const char *dsgd_verdicts_summary(const dsgd_verdicts *verdicts);

/* --- caveats ---------------------------------------------------------------------------------- */

/**
 * A sentence if algorithms at one place of runs.csv sum by different collectives; NULL: they do
 * not.
 */
const char *dsgd_mixed_collectives(const dsgd_csv *runs);

/** Prints that sentence. */
void dsgd_warn_of_mixed_collectives(FILE *stream, const dsgd_csv *runs);

/**
 * Whether another seed could give a run of a manifest another result: it learns, its steps,
 * failures, places or receivers are drawn, or nothing is known of it (NULL).
 */
bool dsgd_is_by_chance(const json_t *run);

/** A sentence if runs of a manifest are missing; "": all are done. */
const char *dsgd_partial_results(const dsgd_csv *runs, const json_t *manifest);
