/**
 * @file messages.h
 * Pieces of vectors on their way between two workers.
 */
#ifndef DSGD_SIM_EXCHANGE_MESSAGES_H
#define DSGD_SIM_EXCHANGE_MESSAGES_H

#include "sim/engine/engine.h"

typedef struct dsgd_message {
    int from, channel; /* where an answer goes */
    int kind; /* of request, for who answers it */
    size_t piece;
    dsgd_piece content;
    double share; /* of the content, that the receiver gets */
    long version; /* of a server's piece */
    double sent_s;
} dsgd_message;

/** A message with piece @p k; holds a reference to the value of @p content. */
dsgd_message *dsgd_message_new(dsgd_worker *w, int channel, size_t k, dsgd_piece content);
void dsgd_message_free(dsgd_worker *w, dsgd_message *message);

/** Sleeps the cost of a received message: overhead + reduced_bytes * seconds per byte. */
void dsgd_message_cost(const dsgd_worker *w, double reduced_bytes);

/** The cost; and counts the time since both sides were ready as communication. */
void dsgd_message_received(dsgd_worker *w, const dsgd_message *message, double waiting_since_s,
                           double reduced_bytes);

#endif
