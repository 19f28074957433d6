/**
 * @file cluster.h
 * The simulated cluster: hosts, actors, messages and virtual time, on one of two networks.
 *
 * Actors are coroutines of one thread: another one can run only inside a function declared here.
 * All actors but the clock are daemons: when the clock's function returns, the simulation ends at
 * that virtual instant.
 */
#pragma once

#include "base/option.h"
#include "base/status.h"
#include "traces/platform.h"

/** The words of `network`. */
typedef enum dsgd_network_kind {
    DSGD_NETWORK_FLOWS, /* flows share every link of their paths max-min fairly (maxmin.c) */
    DSGD_NETWORK_SIMGRID /* SimGrid times each message */
} dsgd_network_kind;

extern const char *const dsgd_network_names[]; /* by dsgd_network_kind; NULL-terminated */

/** A platform and what a run needs of it. */
typedef struct dsgd_machine {
    const dsgd_platform *platform;
    int network; /* dsgd_network_kind */
    int n_hosts; /* of workers and servers */
    int n_workers, hosts_each; /* of one worker; 0: as 1 */
    bool links_change; /* their bandwidths, in the run */
    dsgd_lines placement; /* dsgd_placement_places() */
    uint64_t seed;
} dsgd_machine;

/** Words of a placement that stand for an order; other lines list hosts. */
#define DSGD_PLACEMENT_NATURAL "natural"
#define DSGD_PLACEMENT_RANDOM "random"
#define DSGD_PLACEMENT_OUTER "outer"

/** Whether the hosts are listed, one by one. (placement.c) */
bool dsgd_placement_is_given(const dsgd_lines *placement);

/**
 * Fills places[machine->n_hosts] with indices of hosts in natural order, for the workers, then the
 * servers. A listed host is an index or a name; the list may be longer. An empty placement is the
 * natural order; it and a random one are of hosts that are there. Where a worker is a group of
 * hosts, its hosts follow each other, before the next worker's; "outer" has the first hosts of all
 * workers before their second ones. (placement.c)
 *
 * @param names [n_hosts] of the hosts in natural order; NULL: n0, n1, ...
 */
dsgd_status dsgd_placement_places(const dsgd_machine *machine, int n_hosts,
                                  const char *const *names, int *places, dsgd_error *error);

/** What a link has carried in one direction. */
typedef struct dsgd_load {
    /* nic3_UP: out of NIC 3; island3_DOWN: into host 3 from its island; others as SimGrid or the
     * user's file calls them. Kept. */
    char *link;
    double bytes, bytes_per_s; /* carried; at most */
} dsgd_load;

/** Says which hosts dsgd_cluster_host() is of. (placement.c) */
void dsgd_placement_open(const dsgd_machine *machine);

/**
 * Opens a cluster of @p n_hosts hosts, or of the XML's at @p path, and takes hosts, first
 * for the workers, then for the servers, as the placement says. Hosts of XML are in the order of
 * their names, n2 before n10. With SimGrid once per process, else again when the last has run.
 *
 * @param path of the platform's XML; NULL: there is none
 */
dsgd_status dsgd_cluster_open(const dsgd_machine *machine, int n_hosts, const char *path,
                              dsgd_error *error);

/**
 * Why SimGrid ends this process, in a line that it wrote to stderr: a place in the line; NULL where
 * it says something else.
 */
const char *dsgd_cluster_reason(const char *line);

/**
 * Workers of several hosts are one host each to all functions here, and servers behind them, but
 * what a worker sends on a lane goes from its host of that number to the receiver's: see
 * dsgd_steps.lane. This is the host's number; of lane 0, and of a server, it is the worker's or
 * server's own. (placement.c)
 */
int dsgd_cluster_host(int host, int lane);

/** By such a number its index among the platform's hosts in natural order; until the cluster has
 * run. */
const int *dsgd_cluster_places(void);

/** Runs the simulation until the actor clock(argument) returns. False: deadlock. */
bool dsgd_cluster_run(void (*clock)(void *argument), void *argument);

/** Starts an actor on a host. */
void dsgd_actor_start(int host, void (*body)(void *argument), void *argument);

/** Returns what distinguishes the calling actor from others. */
const void *dsgd_actor_self(void);

/** The calling actor sends on that lane from now on. */
void dsgd_use_lane(int lane);

/** Virtual seconds since the start. */
double dsgd_now_s(void);
void dsgd_sleep(double seconds);

/** Nominal, in flop/s. */
double dsgd_cluster_speed(int host);

/** A counting semaphore, first come, first served; there until the run has ended. */
typedef struct dsgd_semaphore dsgd_semaphore;

dsgd_semaphore *dsgd_semaphore_new(void);
void dsgd_semaphore_wait(dsgd_semaphore *semaphore);
/** False: @p seconds passed first. */
bool dsgd_semaphore_wait_for(dsgd_semaphore *semaphore, double seconds);
void dsgd_semaphore_post(dsgd_semaphore *semaphore);

/** A first-in, first-out queue. A transfer begins when sender and receiver are ready. */
typedef struct dsgd_mailbox dsgd_mailbox;

/** A send or a receive under way. */
typedef struct dsgd_transfer dsgd_transfer;

/** What a message meets that is alone on its way. */
typedef struct dsgd_route {
    double latency_s, bytes_per_s;
} dsgd_route;

/** Between two dsgd_cluster_host(). */
dsgd_route dsgd_route_of(int from, int to);

/** Kinds of messages. */
typedef enum dsgd_port {
    DSGD_PORT_COLLECTIVE = 'c',
    DSGD_PORT_ACTIVATION = 'a', /* of a partial collective */
    DSGD_PORT_GOSSIP = 'g',
    DSGD_PORT_PAIR_QUESTION = 'q',
    DSGD_PORT_PAIR_REPLY = 'r',
    DSGD_PORT_SERVER_REQUEST = 's',
    DSGD_PORT_SERVER_REPLY = 'p', /* of a fetch */
    DSGD_PORT_SERVER_ANSWER = 'b', /* of a push and fetch */
    DSGD_PORT_SERVER_ACK = 'k', /* of a push, which overtakes replies */
    DSGD_PORT_MESSAGE = 'l',
    DSGD_PORT_STATE = 't', /* of a worker that comes back */
    DSGD_PORT_MEASUREMENT = 'm'
} dsgd_port;

/** For messages from host @p from (-1: any) to host @p to, by port and channel, below 65,536. */
dsgd_mailbox *dsgd_mailbox_of(int from, int to, dsgd_port port, int channel);

/** Returns a place where the user of a mailbox can keep a pointer; it is NULL at first. */
void **dsgd_mailbox_data(dsgd_mailbox *mailbox);

/** The calling actor becomes the only receiver; transfers begin when they are sent (eager). */
void dsgd_mailbox_own(dsgd_mailbox *mailbox);

/** Like MPI_Sendrecv; a mailbox may be NULL. Returns the time at which both were ready. */
double dsgd_sendrecv(dsgd_mailbox *out, double out_bytes, dsgd_mailbox *in);

/** Like MPI_Ssend. */
void dsgd_mailbox_send(dsgd_mailbox *mailbox, void *payload, double bytes);

/** Sends and does not wait. */
void dsgd_mailbox_send_detached(dsgd_mailbox *mailbox, void *payload, double bytes);

void *dsgd_mailbox_recv(dsgd_mailbox *mailbox);

/** Like MPI_Irecv; *payload is set when the transfer ends. Only the calling actor waits for it. */
dsgd_transfer *dsgd_irecv(dsgd_mailbox *mailbox, void **payload);

/** Like MPI_Isend. Only the calling actor waits for it. */
dsgd_transfer *dsgd_isend(dsgd_mailbox *mailbox, void *payload, double bytes);

/** Like MPI_Wait; frees the transfer. */
void dsgd_transfer_wait(dsgd_transfer *transfer);

/** Sends bytes that nobody awaits, between two dsgd_cluster_host(). */
void dsgd_pass_bytes(int from, int to, double bytes);

/* --- actors in steps -------------------------------------------------------------------------- */

/** What an actor waits for between two steps. */
typedef struct dsgd_await {
    enum {
        DSGD_AWAIT_NOTHING, /* of a part of a step: it is over */
        DSGD_AWAIT_POST, /* dsgd_semaphore_wait() */
        DSGD_AWAIT_SECONDS, /* dsgd_sleep() */
        DSGD_AWAIT_FLOPS, /* computes on the actor's host */
        DSGD_AWAIT_TRANSFER, /* dsgd_transfer_wait() */
        DSGD_AWAIT_SENDRECV, /* dsgd_sendrecv() */
        DSGD_AWAIT_CALL /* the return of a function, which may wait for anything */
    } kind;
    double amount; /* seconds, flops, or bytes to send */
    union {
        dsgd_semaphore *semaphore;
        dsgd_transfer *transfer;
        struct {
            dsgd_mailbox *out, *in;
            double *started_s; /* becomes what dsgd_sendrecv() returns */
        } exchange;
        struct {
            void (*function)(void *argument);
            void *argument;
        } call;
    };
} dsgd_await;

/**
 * An actor as steps between its waits; no step waits itself. It needs no stack, and no
 * switch to one, until it awaits a call.
 */
typedef struct dsgd_steps {
    dsgd_await (*next)(void *argument);
    void *argument;
    int lane; /* on which it sends: of its worker's hosts, and of the receiver's; 0: the first */
} dsgd_steps;

/** Starts one on a host. @p steps stays where it is. */
void dsgd_steps_start(int host, dsgd_steps *steps);

/** For actors of their own: waits here. */
void dsgd_await_here(dsgd_await await);
