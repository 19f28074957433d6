/**
 * @file alarms.c
 * The agenda of alarms and its actor.
 */
#include "sim/exchange/alarms.h"

#include <math.h>
#include <stdlib.h>

#include "sim/network/events.h"

struct dsgd_alarms {
    dsgd_agenda set; /* of dsgd_alarm */
    uint64_t n_set; /* ever */
    dsgd_semaphore *semaphore; /* posted for what is earlier than ... */
    double waits_until_s; /* -INFINITY: the actor does not wait */
};

/** Waits for a time, or without end. False: something earlier was set. */
static bool wait_until(struct dsgd_alarms *alarms, double time_s)
{
    const double left_s = time_s - dsgd_now_s();
    if (left_s <= 0)
        return true;
    bool earlier = true;
    alarms->waits_until_s = time_s;
    if (time_s < INFINITY)
        earlier = dsgd_semaphore_wait_for(alarms->semaphore, left_s);
    else
        dsgd_semaphore_wait(alarms->semaphore);
    alarms->waits_until_s = -INFINITY;
    return !earlier;
}

static void alarms_main(void *argument)
{
    dsgd_engine *const engine = argument;
    struct dsgd_alarms *const alarms = engine->alarms;
    for (;;) {
        const double until_s =
            dsgd_agenda_is_empty(&alarms->set) ? INFINITY : dsgd_agenda_time(&alarms->set);
        if (!wait_until(alarms, until_s))
            continue;
        while (!dsgd_agenda_is_empty(&alarms->set) && dsgd_agenda_time(&alarms->set) <= until_s) {
            uint64_t number = 0;
            dsgd_alarm *const alarm = dsgd_agenda_take(&alarms->set, &number);
            alarm->happen(engine, alarm);
        }
    }
}

void dsgd_alarm_set(dsgd_engine *engine, dsgd_alarm *alarm, double at_s)
{
    if (engine->alarms == NULL) {
        engine->alarms = dsgd_run_alloc(engine, sizeof *engine->alarms);
        engine->alarms->semaphore = dsgd_semaphore_new();
        engine->alarms->waits_until_s = -INFINITY;
        dsgd_actor_start(0, "alarms", alarms_main, engine);
    }
    struct dsgd_alarms *const alarms = engine->alarms;
    dsgd_agenda_add(&alarms->set, at_s, alarms->n_set++, alarm);
    if (at_s >= alarms->waits_until_s)
        return;
    alarms->waits_until_s = -INFINITY;
    dsgd_semaphore_post(alarms->semaphore);
}

void dsgd_alarms_free(dsgd_engine *engine)
{
    if (engine->alarms == NULL)
        return;
    dsgd_agenda_close(&engine->alarms->set);
    dsgd_semaphore_free(engine->alarms->semaphore);
}
