/**
 * @file wire.h
 * What a worker sends and receives: state of channels.c, but for members that name another file.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** When the engines of one host are free. */
typedef struct dsgd_copies {
    double out_s, in_s; /* copies out of the device's memory, and into it */
    double encoded_s; /* the encoder; encodings.c's */
} dsgd_copies;

/** The exchanges of a worker or server. Structs without a type here are defined by their files. */
typedef struct dsgd_wire {
    struct dsgd_channel *channels; /* [n_channels] */
    struct dsgd_channel *side_channels; /* [n_channels]; NULL before first use */
    dsgd_copies *copies; /* [n_lanes] of each host; a server has one */
    double reduction_s_per_byte; /* of received bytes; run.c's */
    struct dsgd_request *requests; /* begun and not ended, the newest first */
    struct dsgd_request *ended[18]; /* the last ones, whose addresses no other gets */
    size_t n_ended;
    double polled_s; /* when it last asked for a request that was not done, ... */
    int64_t polls; /* ... and how often at that instant */
    bool unsent; /* its last message was not sent, because it had failed; messages.c's */
    int answers; /* DSGD_ANYONE; 1: workers by name; 0: no worker yet; pair.c's */
    int64_t collectives; /* begun, of all workers or of a communicator; collectives.c's */
    struct dsgd_reduction *gathered; /* whose numbers it may still read; NULL: none; likewise */
    struct dsgd_partial *partial; /* partial.c's; at most one: two would need an order */
    struct dsgd_activation *early; /* partial.c's: the first activation that came before it */
    struct dsgd_turns *inlet; /* turns.c's, of a server; NULL before first use */
    struct dsgd_inbound {
        struct dsgd_channel *first, *last; /* that want to send to this host, in order */
        double instant_s; /* when the first of those came that came last, at one instant */
    } inbound; /* turns.c's */
} dsgd_wire;

/** The state of each family of exchanges, of a run; the file of that name alone uses it. */
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
