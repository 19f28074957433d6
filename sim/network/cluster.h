/**
 * @file cluster.h
 * The simulated cluster: hosts, actors, messages and virtual time, on one of two networks.
 *
 * Actors are coroutines of one thread. Another actor can run only inside a function declared here.
 * All actors except the clock are daemons: when the function of the clock returns, the simulation
 * ends at that virtual instant.
 */
#pragma once

#include "base/option.h"
#include "base/status.h"
#include "traces/platform.h"

/** The values of the key `network`. */
typedef enum dsgd_network_kind {
    DSGD_NETWORK_FLOWS, /* messages share every link of their paths max-min fairly (maxmin.c) */
    DSGD_NETWORK_SIMGRID /* SimGrid computes the time of each message */
} dsgd_network_kind;

extern const char *const dsgd_network_names[]; /* by dsgd_network_kind; NULL-terminated */

/** A platform, and the part of it that a run uses. */
typedef struct dsgd_machine {
    const dsgd_platform *platform;
    int network; /* dsgd_network_kind */
    int n_hosts; /* number of hosts of workers and servers */
    int n_workers, hosts_each; /* number of workers, and hosts per worker; 0 means 1 */
    bool links_change; /* true if bandwidths change during the run */
    dsgd_lines placement; /* dsgd_placement_places() */
    uint64_t seed;
} dsgd_machine;

/** Words of a placement that mean an order of hosts; other lines list hosts. */
#define DSGD_PLACEMENT_NATURAL "natural"
#define DSGD_PLACEMENT_RANDOM "random"
#define DSGD_PLACEMENT_OUTER "outer"

/** Returns whether a placement lists the hosts one by one. (placement.c) */
bool dsgd_placement_is_given(const dsgd_lines *placement);

/**
 * Stores the hosts of the workers, then those of the servers, in places[machine->n_hosts]. A host
 * is given by its index in natural order. A placement lists hosts by index or name; the list may be
 * longer than needed. An empty placement means the natural order. The natural order and a random
 * order contain only hosts that exist in the platform. If a worker is a group of hosts, its hosts
 * are consecutive. With "outer", the first hosts of all workers come before their second hosts.
 * (placement.c)
 *
 * @param names [n_hosts] names of the hosts in natural order; NULL if they are n0, n1, ...
 */
dsgd_status dsgd_placement_places(const dsgd_machine *machine, int n_hosts,
                                  const char *const *names, int *places, dsgd_error *error);

/** The bytes that a link has carried in one direction. */
typedef struct dsgd_load {
    /* Name. nic3_UP is the direction out of NIC 3. island3_DOWN is the direction from the NVLink
     * domain into host 3. Other names are those of SimGrid or of the user's file. Kept until the
     * program ends. */
    char *link;
    double bytes, bytes_per_s; /* bytes carried, and bandwidth */
} dsgd_load;

/** Sets the workers and servers for dsgd_cluster_host(). (placement.c) */
void dsgd_placement_open(const dsgd_machine *machine);

/**
 * Opens a cluster of @p n_hosts hosts, or of the hosts of an XML file, and assigns hosts to the
 * workers and then to the servers, in the order of the placement. Hosts of XML are sorted by name,
 * n2 before n10. SimGrid can open one cluster per process. Without SimGrid, a process can open
 * another cluster after the last one has run.
 *
 * @param path of the platform's XML file; NULL if there is none
 */
dsgd_status dsgd_cluster_open(const dsgd_machine *machine, int n_hosts, const char *path,
                              dsgd_error *error);

/**
 * Returns the reason for which SimGrid ends this process, as a pointer into @p line, which SimGrid
 * wrote to stderr. Returns NULL if the line contains no such reason.
 */
const char *dsgd_cluster_reason(const char *line);

/**
 * Returns the number of a host of a worker that is a group of hosts. For all other functions here,
 * such a worker is one host, and the servers' numbers follow those of the workers. A message that
 * a worker sends on lane i travels from its host i to host i of the receiver (dsgd_steps.lane).
 * For lane 0 and for a server, returns @p host. (placement.c)
 */
int dsgd_cluster_host(int host, int lane);

/**
 * Returns places[number]: the index of a host among the platform's hosts in natural order, where
 * number is that of dsgd_cluster_host(). Valid until the cluster has run.
 */
const int *dsgd_cluster_places(void);

/** Runs the simulation until the actor clock(argument) returns. Returns false after a deadlock. */
bool dsgd_cluster_run(void (*clock)(void *argument), void *argument);

/** Starts an actor on a host. */
void dsgd_actor_start(int host, void (*body)(void *argument), void *argument);

/** Returns a pointer that identifies the calling actor. */
const void *dsgd_actor_self(void);

/** Sets the lane on which the calling actor sends from now on. */
void dsgd_use_lane(int lane);

/** Returns the virtual seconds since the start. */
double dsgd_now_s(void);
void dsgd_sleep(double seconds);

/** Returns the nominal speed of a host in flop/s. */
double dsgd_cluster_speed(int host);

/** A counting semaphore, first come, first served. It exists until the run has ended. */
typedef struct dsgd_semaphore dsgd_semaphore;

dsgd_semaphore *dsgd_semaphore_new(void);
void dsgd_semaphore_wait(dsgd_semaphore *semaphore);
/** Waits at most @p seconds. Returns false if that time passed first. */
bool dsgd_semaphore_wait_for(dsgd_semaphore *semaphore, double seconds);
void dsgd_semaphore_post(dsgd_semaphore *semaphore);

/** A first-in, first-out queue of messages. A transfer starts when sender and receiver are ready.
 */
typedef struct dsgd_mailbox dsgd_mailbox;

/** A send or a receive under way. */
typedef struct dsgd_transfer dsgd_transfer;

/** Latency and bandwidth of a message that meets no other message. */
typedef struct dsgd_route {
    double latency_s, bytes_per_s;
} dsgd_route;

/** Returns the route between two hosts (numbers of dsgd_cluster_host()). */
dsgd_route dsgd_route_of(int from, int to);

/** Kinds of messages. */
typedef enum dsgd_port {
    DSGD_PORT_COLLECTIVE = 'c',
    DSGD_PORT_ACTIVATION = 'a', /* of a partial collective */
    DSGD_PORT_GOSSIP = 'g',
    DSGD_PORT_PAIR_QUESTION = 'q',
    DSGD_PORT_PAIR_REPLY = 'r',
    DSGD_PORT_SERVER_REQUEST = 's',
    DSGD_PORT_SERVER_REPLY = 'p', /* answer to a fetch */
    DSGD_PORT_SERVER_ANSWER = 'b', /* answer to a push and fetch */
    DSGD_PORT_SERVER_ACK = 'k', /* answer to a push, which overtakes other answers */
    DSGD_PORT_MESSAGE = 'l',
    DSGD_PORT_STATE = 't', /* state that a rejoining worker copies */
    DSGD_PORT_MEASUREMENT = 'm'
} dsgd_port;

/**
 * Returns the mailbox for messages from host @p from (-1: any host) to host @p to, with a port and
 * a channel number below 65,536.
 */
dsgd_mailbox *dsgd_mailbox_of(int from, int to, dsgd_port port, int channel);

/** Returns a place where the user of a mailbox can keep a pointer; it is NULL at first. */
void **dsgd_mailbox_data(dsgd_mailbox *mailbox);

/** Makes the calling actor the only receiver. Transfers then start when they are sent (eager). */
void dsgd_mailbox_own(dsgd_mailbox *mailbox);

/** Like MPI_Sendrecv(); a mailbox may be NULL. Returns the time at which both sides were ready. */
double dsgd_sendrecv(dsgd_mailbox *out, double out_bytes, dsgd_mailbox *in);

/** Like MPI_Ssend(). */
void dsgd_mailbox_send(dsgd_mailbox *mailbox, void *payload, double bytes);

/** Sends a message and returns at once. */
void dsgd_mailbox_send_detached(dsgd_mailbox *mailbox, void *payload, double bytes);

/** Waits for a message and returns its payload. */
void *dsgd_mailbox_recv(dsgd_mailbox *mailbox);

/** Like MPI_Irecv(). *payload is set when the transfer ends. Only the calling actor may wait for
 * the transfer. */
dsgd_transfer *dsgd_irecv(dsgd_mailbox *mailbox, void **payload);

/** Like MPI_Isend(). Only the calling actor may wait for the transfer. */
dsgd_transfer *dsgd_isend(dsgd_mailbox *mailbox, void *payload, double bytes);

/** Waits for a transfer, like MPI_Wait(), and frees it. */
void dsgd_transfer_wait(dsgd_transfer *transfer);

/** Sends bytes between two hosts (numbers of dsgd_cluster_host()), without a receiver. */
void dsgd_pass_bytes(int from, int to, double bytes);

/* --- actors in steps -------------------------------------------------------------------------- */

/** What an actor waits for between two steps. */
typedef struct dsgd_await {
    enum {
        DSGD_AWAIT_NOTHING, /* the part of the step is over */
        DSGD_AWAIT_POST, /* dsgd_semaphore_wait() */
        DSGD_AWAIT_SECONDS, /* dsgd_sleep() */
        DSGD_AWAIT_FLOPS, /* a computation on the actor's host */
        DSGD_AWAIT_TRANSFER, /* dsgd_transfer_wait() */
        DSGD_AWAIT_SENDRECV, /* dsgd_sendrecv() */
        DSGD_AWAIT_CALL /* the return of a function, which may itself wait */
    } kind;
    double amount; /* seconds, flop, or bytes to send */
    union {
        dsgd_semaphore *semaphore;
        dsgd_transfer *transfer;
        struct {
            dsgd_mailbox *out, *in;
            double *started_s; /* *started_s is set to the return value of dsgd_sendrecv() */
        } exchange;
        struct {
            void (*function)(void *argument);
            void *argument;
        } call;
    };
} dsgd_await;

/**
 * A step actor: a function that executes one step and returns what the actor waits for next. A step
 * itself never waits. The actor therefore has no stack until it returns DSGD_AWAIT_CALL.
 */
typedef struct dsgd_steps {
    dsgd_await (*next)(void *argument);
    void *argument;
    int lane; /* index of the sending host in its worker, and of the receiving host; 0: the first */
} dsgd_steps;

/** Starts a step actor on a host. @p steps must exist until the run ends. */
void dsgd_steps_start(int host, dsgd_steps *steps);

/** Waits for what a step returned. For actors that have a stack. */
void dsgd_await_here(dsgd_await await);
