/**
 * @file wire.h
 * The state of a worker's exchanges. channels.c uses all fields, except those whose comment names
 * another file.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Times at which the copy engines and the encoder of one host become free. */
typedef struct dsgd_copies {
    double out_s, in_s; /* end of the last copy out of device memory, and end of the last copy into
                         * device memory */
    double encoded_s; /* time at which the encoder has compressed its last chunk (encodings.c) */
} dsgd_copies;

/**
 * The exchanges of a worker or server. Each struct that this header does not define is defined in
 * the file that uses it.
 */
typedef struct dsgd_wire {
    struct dsgd_channel *channels; /* [n_channels] channels of the worker */
    struct dsgd_channel *side_channels; /* [n_channels] side channels of the worker; NULL before
                                         * their first use */
    dsgd_copies *copies; /* [n_lanes] one entry per host of a worker; a server has one entry */
    double reduction_s_per_byte; /* seconds to add one received byte to a sum (run.c) */
    struct dsgd_request *requests; /* list of the requests that have not ended, newest first */
    struct dsgd_request *ended[18]; /* the requests that ended last; they are freed late, so that a
                                     * new request does not get the address of an old request */
    size_t n_ended;
    double polled_s; /* time of the last poll that found nothing */
    int64_t polls; /* number of polls that found nothing at the instant polled_s */
    bool unsent; /* messages.c: true if the last message was not sent, because the worker had
                  * failed */
    int answers; /* pair.c: workers whose requests this worker answers: DSGD_ANYONE, 1 for given
                  * workers, or 0 before the first answer */
    int64_t collectives; /* collectives.c: number of collectives that the worker has started */
    struct dsgd_reduction *gathered; /* collectives.c: control data of the last dsgd_allgather(),
                                      * which the worker may still read */
    struct dsgd_partial *partial; /* partial.c: partial collective of the worker, which has at
                                   * most one */
    struct dsgd_activation *early; /* partial.c: activations that came before `partial` existed */
    struct dsgd_turns *inlet; /* turns.c: queue of messages into a server; NULL before first use */
    struct dsgd_inbound {
        struct dsgd_channel *first, *last; /* first and last channel in the queue of channels
                                            * that want to send to this host */
        double instant_s; /* arrival time of the first channel of the present instant; channels
                           * that arrive within 5 ps of it arrive at the same instant */
    } inbound; /* turns.c: state of the queue of senders */
} dsgd_wire;

/**
 * The state that each family of exchanges has once per run. A field is used only by the file with
 * the name of the field, or by the file in the field's comment.
 */
typedef struct dsgd_exchanges {
    struct dsgd_comms *comms; /* used in communicators.c */
    struct dsgd_reductions *reductions;
    struct dsgd_alarms *alarms; /* used in partial.c */
    struct dsgd_analytic *analytic;
    struct dsgd_fusion_state *fusion;
    struct dsgd_gossip_state *gossip;
    struct dsgd_server_state *servers;
    struct dsgd_inbox *inboxes; /* used in messages.c */
} dsgd_exchanges;
