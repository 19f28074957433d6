/**
 * @file quorum.c Collectives of the running workers, with `failures: policy: quorum`. When the
 * first message of a collective begins, the members of the collective are decided: all workers
 * except those whose failure has been detected.
 *
 * A failed worker follows the other workers step by step. It computes and contributes nothing, but
 * gets the sums. So when it rejoins, it has the state that it would copy from a running worker. The
 * other workers wait for it until its failure is detected. After the detection its part of a
 * collective is performed with no data, which takes as long as a restart of the collective without
 * it. If a worker fails after its part of a collective has begun, its data has been sent.
 */
#include "sim/exchange/channels.h"
#include "sim/exchange/reductions.h"
#include "sim/failures/failures.h"

static bool takes_part(const dsgd_worker *w, const dsgd_reduction *r, int index)
{
    return r->contribution[index].queued || w->presence.state != DSGD_DOWN ||
           dsgd_now_s() < dsgd_failure_detected_s(w);
}

void dsgd_quorum_decide(dsgd_engine *engine, dsgd_reduction *r)
{
    if (!engine->failures.by_quorum || r->decided)
        return;
    r->decided = true;
    int *const ranks = dsgd_xcalloc((size_t)r->n_members, sizeof *ranks);
    int n = 0;
    for (int i = 0; i < r->n_members; i++) {
        const int rank = dsgd_members_rank(&r->members, i);
        if (takes_part(&engine->workers[rank], r, i))
            ranks[n++] = rank;
    }
    if (n < r->n_members)
        r->quorum = dsgd_comm_among(engine, ranks, n);
    for (int i = 0; i < n; i++) {
        dsgd_contribution *const c = &r->contribution[dsgd_members_index(&r->members, ranks[i])];
        if (c->held != NULL)
            dsgd_channel_add(&engine->workers[ranks[i]], c->held);
        c->held = NULL;
    }
    free(ranks);
}

bool dsgd_quorum_holds(dsgd_worker *w, dsgd_reduction *r, dsgd_job *job)
{
    if (!w->engine->failures.by_quorum)
        return false;
    const bool takes = r->decided
                           ? r->quorum == NULL || dsgd_comm_index(r->quorum, w->node.rank) >= 0
                           : w->presence.state != DSGD_DOWN;
    dsgd_contribution *const c = &r->contribution[dsgd_members_index(&r->members, w->node.rank)];
    c->queued = takes;
    if (takes)
        return false;
    c->held = job;
    r->n_held++;
    /* all members are held, so no member performs the collective */
    if (r->over || r->n_held == r->n_members) {
        r->over = false;
        dsgd_quorum_over(w->engine, r);
    }
    return true;
}

bool dsgd_quorum_gave_nothing(const dsgd_engine *engine, const dsgd_reduction *r)
{
    return engine->failures.by_quorum && r->n_counting == 0;
}

double dsgd_quorum_left_s(dsgd_worker *w, dsgd_reduction *r)
{
    if (w->presence.state == DSGD_HERE || !w->engine->failures.by_quorum)
        return 0;
    dsgd_contribution *const c = &r->contribution[dsgd_members_index(&r->members, w->node.rank)];
    const bool away = !c->counts && !c->started;
    const double known_s = away && w->presence.state == DSGD_DOWN ? dsgd_failure_detected_s(w) : 0;
    if (known_s > dsgd_now_s())
        return known_s - dsgd_now_s();
    if (away) {
        int *const ranks = dsgd_xcalloc((size_t)r->n_members, sizeof *ranks);
        for (int i = 0; i < r->n_members; i++)
            ranks[i] = dsgd_members_rank(&r->members, i);
        dsgd_quorum_count_wait(w, ranks, r->n_members);
        free(ranks);
    }
    return 0;
}

void dsgd_quorum_over(dsgd_engine *engine, dsgd_reduction *r)
{
    if (!engine->failures.by_quorum || r->over)
        return;
    r->over = true;
    for (int i = 0; i < r->n_members; i++) {
        dsgd_contribution *const c = &r->contribution[i];
        if (c->held == NULL)
            continue;
        dsgd_worker *const w = &engine->workers[dsgd_members_rank(&r->members, i)];
        if (c->held->again)
            dsgd_channel_add(w, c->held);
        else
            dsgd_job_finish(c->held);
        c->held = NULL;
        dsgd_work_wake(w);
    }
}
