/**
 * @file contest.c
 * Who competes at a place, by name and numbers.
 */
#include "command/analysis/contest.h"

#include "base/option.h"
#include "command/runs/swept.h"

const char *const dsgd_fate_reasons[N_FATES] = {
    [FATE_FAILED] = "failed",           [FATE_TIMEOUT] = "ran into the time limit",
    [FATE_DIVERGED] = "diverged",       [FATE_SILENT] = "exchanged nothing in these runs",
    [FATE_UNLEARNED] = "did not learn", [FATE_FORGOT] = "learned and lost it again",
};

double dsgd_contest_number(const dsgd_contest *at, const dsgd_contestant *c, size_t m)
{
    return at->of->numbers[m] == NULL ? NAN : dsgd_frame_mean(c->point, at->of->numbers[m]).mean;
}

const char *dsgd_contest_name(const dsgd_contest *at, const dsgd_contestant *c)
{
    const dsgd_frame *const f = at->of->frame;
    const char *const own = dsgd_frame_settings(f, c->point, 1 << DSGD_SERIES, f->by, " with ");
    return dsgd_xprintf(
        "%s%s%s", dsgd_swept_value(dsgd_frame_key(f, f->by), dsgd_frame_value(f, c->point, f->by)),
        *own == '\0' ? "" : " with ", own);
}

const dsgd_contestant *dsgd_contest_best(const dsgd_contest *at, size_t m)
{
    const dsgd_contestant *best = NULL;
    for (const dsgd_contestant *c = at->v; c < at->v + at->n; c++) {
        const double x = dsgd_contest_number(at, c, m),
                     least = best == NULL ? NAN : dsgd_contest_number(at, best, m);
        if (c->fate == FATE_ABLE && !isnan(x) &&
            (best == NULL || (m == DSGD_THROUGHPUT ? x > least : x < least)))
            best = c;
    }
    return best;
}

dsgd_ratio dsgd_contest_lead(const dsgd_contest *at, const dsgd_contestant *c,
                             const dsgd_contestant *other, size_t m)
{
    const bool more = m == DSGD_THROUGHPUT;
    return dsgd_frame_ratio(at->of->frame, more ? c->point : other->point,
                            more ? other->point : c->point, at->of->numbers[m]);
}
