/**
 * @file pair.c
 * Averaging of two workers' vectors, exact under message delay (AD-PSGD, Lian et al. 2018, Algorithm 1, step 5).
 */
#include "sim/engine.h"

/** A piece on its way, together with when it was sent. Lives until it was used. */
typedef struct letter {
    int from;
    size_t piece;
    dsgd_piece content;
    double posted_s;
} letter;

static letter *letter_new(dsgd_worker *w, const dsgd_vector *x, size_t k)
{
    letter *l = dsgd_run_alloc(w->engine, sizeof *l);
    *l = (letter){
        w->node.rank, k, {dsgd_value_retain(x->piece[k].value), x->piece[k].stamp}, dsgd_now_s()};
    return l;
}

static void send(dsgd_worker *w, int to, char port, letter *l)
{
    const double bytes = w->engine->piece_bytes[l->piece];
    w->engine->result->messages++;
    w->engine->result->bytes += bytes;
    dsgd_send(dsgd_mailbox_of(port == 'q' ? -1 : w->node.rank, to, port), l, bytes);
}

/** Receives, pays for it, and counts the time from when both sides were there. */
static letter *receive(dsgd_worker *w, dsgd_mailbox *mailbox)
{
    const double waiting_since_s = dsgd_now_s();
    letter *const l = dsgd_receive(mailbox);
    const double started_s = l->posted_s > waiting_since_s ? l->posted_s : waiting_since_s;
    dsgd_message_cost(w, w->engine->piece_bytes[l->piece]);
    dsgd_count_communication(w, started_s);
    return l;
}

static void letter_free(dsgd_worker *w, letter *l)
{
    dsgd_value_release(w->engine->values, l->content.value);
    dsgd_run_free(l);
}

/**
 * x[k] <- x[k] + (theirs - mine) / 2, in whatever state x[k] is. The one who asked stands first in the sum at both ends, so that
 * the average is one value, computed once, where nobody moved in between.
 */
static void move_half_way(dsgd_worker *w, dsgd_vector *x, const letter *theirs, dsgd_value mine,
                          bool i_asked)
{
    const size_t k = theirs->piece;
    const dsgd_value x_k = x->piece[k].value;
    const dsgd_value operands[3] = {i_asked ? x_k : theirs->content.value,
                                    i_asked ? theirs->content.value : x_k, mine};
    const double weights[3] = {i_asked ? 2 : 1, i_asked ? 1 : 2, -1};
    const dsgd_origin where = {(uint32_t)w->node.rank,
                               (uint64_t)(w->node.step < 0 ? 0 : w->node.step)};
    const dsgd_value moved =
        dsgd_values_combine(w->engine->values, where, k, 3, operands, weights, 2);
    dsgd_piece_set(w->engine, &x->piece[k], moved, dsgd_gradients_computed(w, k));
    dsgd_count_staleness(w, theirs->from, k, theirs->content.stamp,
                         w->engine->piece_bytes[k] / w->engine->bytes);
}

void dsgd_pair_average(dsgd_node *self, dsgd_vector *x, int peer)
{
    dsgd_worker *const w = dsgd_worker_of(self);
    dsgd_mailbox *const replies = dsgd_mailbox_of(peer, self->rank, 'r');
    for (size_t k = 0; k < w->engine->n_pieces; k++) {
        dsgd_piece_wait(x, k);
        const dsgd_value mine = dsgd_value_retain(x->piece[k].value);
        send(w, peer, 'q', letter_new(w, x, k));
        letter *const reply = receive(w, replies);
        move_half_way(w, x, reply, mine, true);
        letter_free(w, reply);
        dsgd_value_release(w->engine->values, mine);
    }
}

void dsgd_pair_answer(dsgd_node *self, dsgd_vector *x)
{
    dsgd_worker *const w = dsgd_worker_of(self);
    letter *const request = receive(w, dsgd_mailbox_of(-1, self->rank, 'q'));
    letter *const reply = letter_new(w, x, request->piece);
    /* Between reading x for the reply and moving it nothing else runs, so that no update is lost. */
    move_half_way(w, x, request, reply->content.value, false);
    const int to = request->from;
    letter_free(w, request);
    send(w, to, 'r', reply);
}
