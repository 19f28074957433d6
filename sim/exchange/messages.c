/**
 * @file messages.c
 * Messages and their cost.
 */
#include "sim/exchange/messages.h"

#include "sim/engine/accounting.h"
#include "sim/engine/memory.h"

dsgd_message *dsgd_message_new(dsgd_worker *w, int channel, size_t k, dsgd_piece content)
{
    dsgd_message *const message = dsgd_run_alloc(w->engine, sizeof *message);
    dsgd_value_retain(content.value);
    *message = (dsgd_message){.from = w->node.rank,
                              .channel = channel,
                              .piece = k,
                              .content = content,
                              .share = 1,
                              .sent_s = dsgd_now_s()};
    return message;
}

void dsgd_message_free(dsgd_worker *w, dsgd_message *message)
{
    dsgd_value_release(w->engine->values, message->content.value);
    dsgd_run_free(message);
}

void dsgd_message_cost(const dsgd_worker *w, double reduced_bytes)
{
    const dsgd_platform *const platform = w->engine->config->platform;
    const double cost_s =
        platform->message_overhead_s + reduced_bytes * platform->reduction_s_per_byte;
    if (cost_s > 0)
        dsgd_sleep(cost_s);
}

void dsgd_message_received(dsgd_worker *w, const dsgd_message *message, double waiting_since_s,
                           double reduced_bytes)
{
    const double started_s = message->sent_s > waiting_since_s ? message->sent_s : waiting_since_s;
    dsgd_message_cost(w, reduced_bytes);
    dsgd_count_communication(w, started_s);
}
