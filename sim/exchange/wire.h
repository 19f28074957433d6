/**
 * @file wire.h
 * The exchanges of a worker: state of channels.c, except fields whose comment names another file.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Times at which the copy engines and the encoder of one host are free. */
typedef struct dsgd_copies {
    double out_s, in_s; /* copies out of device memory, and into device memory */
    double encoded_s; /* the encoder (encodings.c) */
} dsgd_copies;

/** The exchanges of a worker or server. A struct that is not defined here is defined by its file.
 */
typedef struct dsgd_wire {
    struct dsgd_channel *channels; /* [n_channels] */
    struct dsgd_channel *side_channels; /* [n_channels]; NULL before first use */
    dsgd_copies *copies; /* [n_lanes] one per host; a server has one */
    double reduction_s_per_byte; /* seconds to add a received byte (run.c) */
    struct dsgd_request *requests; /* requests that have not ended, the newest first */
    struct dsgd_request *ended[18]; /* the last requests, so that their addresses are not reused */
    size_t n_ended;
    double polled_s; /* time of the last poll that found nothing */
    int64_t polls; /* number of such polls at that instant */
    bool unsent; /* messages.c: the last message was not sent, because the worker had failed */
    int answers; /* pair.c: DSGD_ANYONE; 1 for given workers; 0 before the first answer */
    int64_t collectives; /* collectives.c: number of collectives that the worker has started */
    struct dsgd_reduction *gathered; /* collectives.c: control data that the worker may read */
    struct dsgd_partial *partial; /* partial.c: the only one; two would need an order */
    struct dsgd_activation *early; /* partial.c: activations that came before `partial` existed */
    struct dsgd_turns *inlet; /* turns.c: messages into a server; NULL before first use */
    struct dsgd_inbound {
        struct dsgd_channel *first, *last; /* queue of channels that want to send to this host */
        double instant_s; /* arrival of the first channel of those that arrived at one instant */
    } inbound; /* turns.c */
} dsgd_wire;

/** The state of each family of exchanges in a run. Only the file of that name uses it. */
typedef struct dsgd_exchanges {
    struct dsgd_comms *comms; /* communicators.c */
    struct dsgd_reductions *reductions;
    struct dsgd_alarms *alarms; /* partial.c */
    struct dsgd_analytic *analytic;
    struct dsgd_fusion_state *fusion;
    struct dsgd_gossip_state *gossip;
    struct dsgd_server_state *servers;
    struct dsgd_inbox *inboxes; /* messages.c */
} dsgd_exchanges;
