/**
 * @file verdict.h
 * Who wins at each place of a frame, and why others cannot: one rule for tables, pages and figures.
 *
 * Where models are evaluated, winning is to reach a target: in the least time, and beside it with
 * the fewest bytes, joules and for the least money. Where nothing is learned it is throughput. Who
 * failed, diverged, exchanged nothing, did not learn, did not always reach the target, or lost a
 * tenth of the progress to it again cannot win, and is named with the reason; whose runs ended
 * before the winner was there is open. Differences of less than DSGD_TIE, and those whose interval
 * over seeds holds none, are ties.
 *
 * *Learned* has who made a tenth of the best's progress: in accuracy, or in the logarithm of a loss
 * (in the loss where one is not above 0). A target that nobody named is what all seeds reach of
 * those who made nine tenths of it, so that nobody wins by ending early.
 */
#pragma once

#include "command/analysis/comparison.h"

typedef struct dsgd_verdict {
    const dsgd_frame_point *at; /* any point of the place, which names it */
    const dsgd_frame_point *winner; /* NULL: nobody can win */
    const char *name; /* of its series */
    const char *goal; /* the target; NULL: there is none */
    bool is_tied; /* with others, whom the text names, or open */
    char *text; /* sentences */
    char *brief; /* who is first, and who cannot be, for a line below a figure */
} dsgd_verdict;

typedef struct dsgd_verdicts {
    dsgd_frame frame; /* of all runs, those without results too */
    size_t n;
    dsgd_verdict *v; /* [n] places in the order of the table, without variations of --sensitivity */
    const char *
        *out; /* [rows of runs.csv] why it cannot win, even without a target; NULL: it can */
    const char *unvaried; /* dsgd_unvaried(), where somebody wins against others */
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

/** "Of 12 places wagma is first at 7 and allreduce is first at 5": who wins where there are several
 * places. */
const char *dsgd_verdicts_summary(const dsgd_verdicts *verdicts);
