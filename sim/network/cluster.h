/**
 * @file cluster.h
 * The simulated cluster: its hosts, actors, messages and virtual time, on one of two networks.
 *
 * Actors are coroutines of one thread. Another actor can run only while a function of this header
 * executes. All actors except the clock are daemons: when the function of the clock returns, the
 * simulation ends at that virtual instant.
 */
#pragma once

#include "base/option.h"
#include "base/status.h"
#include "traces/platform.h"

/** The values of the key `network` of an experiment. */
typedef enum dsgd_network_kind {
    DSGD_NETWORK_FLOWS, /* Messages share every link of their paths in a max-min fair way
                         * (maxmin.c). */
    /* SimGrid computes the time of each message. */
    DSGD_NETWORK_SIMGRID
} dsgd_network_kind;

extern const char *const dsgd_network_names[]; /* names of networks, with a dsgd_network_kind as
                                                * index; NULL-terminated */

/** A platform, and the part of the platform that a run uses. */
typedef struct dsgd_machine {
    const dsgd_platform *platform;
    int network; /* kind of the network, a dsgd_network_kind */
    int n_hosts; /* number of hosts that the workers and servers of the run use */
    int n_workers, hosts_each; /* number of workers, and number of hosts per worker (0 means 1) */
    bool links_change; /* true if bandwidths of links change during the run */
    dsgd_lines placement; /* placement of the workers, as dsgd_placement_places() explains */
    uint64_t seed;
} dsgd_machine;

/**
 * Words that a placement can consist of, instead of a list of hosts. Each word means an order of
 * hosts.
 */
#define DSGD_PLACEMENT_NATURAL "natural"
#define DSGD_PLACEMENT_RANDOM "random"
#define DSGD_PLACEMENT_OUTER "outer"

/** Returns whether a placement lists the hosts one by one. (placement.c) */
bool dsgd_placement_is_given(const dsgd_lines *placement);

/**
 * Stores the hosts of the workers, and then the hosts of the servers, in places[machine->n_hosts].
 * A host is stored as its index in natural order. A placement lists hosts by index or by name, and
 * may list more hosts than are needed. An empty placement means the natural order. The natural
 * order and a random order contain only hosts that exist in the platform. If a worker is a group of
 * hosts, its hosts are consecutive in the order. With the word "outer", the first hosts of all
 * workers come before the second hosts of all workers, and so on. (placement.c)
 *
 * @param names [n_hosts] names of the hosts in natural order; NULL if the names are n0, n1, ...
 */
dsgd_status dsgd_placement_places(const dsgd_machine *machine, int n_hosts,
                                  const char *const *names, int *places, dsgd_error *error);

/** The number of bytes that a link has carried in one direction. */
typedef struct dsgd_load {
    /*
     * Name of the link. nic3_UP is the direction out of NIC 3. island3_DOWN is the direction from
     * the NVLink domain into host 3. Other names come from SimGrid or from the user's file. The
     * name exists until the program ends.
     */
    char *link;
    double bytes, bytes_per_s; /* number of bytes that the link has carried, and bandwidth of the
                                * link */
} dsgd_load;

/** Sets the numbers of workers and servers that dsgd_cluster_host() uses. (placement.c) */
void dsgd_placement_open(const dsgd_machine *machine);

/**
 * Opens a cluster of @p n_hosts hosts, or of the hosts in an XML file. Assigns hosts to the workers
 * and then to the servers, in the order of the placement. The hosts of an XML file are sorted by
 * name, with n2 before n10. SimGrid can open only one cluster per process. Without SimGrid, a
 * process can open another cluster after the last one has run.
 *
 * @param path path of the platform's XML file; NULL if the platform has none
 */
dsgd_status dsgd_cluster_open(const dsgd_machine *machine, int n_hosts, const char *path,
                              dsgd_error *error);

/**
 * Returns the reason for which SimGrid ends this process, or NULL if @p line contains no such
 * reason. @p line is a line that SimGrid wrote to stderr. The result points into @p line.
 */
const char *dsgd_cluster_reason(const char *line);

/**
 * Returns the number of the host with index @p lane in a worker that is a group of hosts. All other
 * functions of this header treat such a worker as one host, with the number @p host. The numbers of
 * servers follow the numbers of workers. A message that a worker sends on lane i travels from its
 * host i to host i of the receiver (dsgd_steps.lane). For lane 0 and for a server, returns @p host.
 * (placement.c)
 */
int dsgd_cluster_host(int host, int lane);

/**
 * Returns the places of all hosts: places[number] is the index of a host among the platform's hosts
 * in natural order, where number is a result of dsgd_cluster_host(). The array is valid until the
 * cluster has run.
 */
const int *dsgd_cluster_places(void);

/**
 * Runs the simulation until the actor clock(@p argument) returns. Returns false if the simulation
 * ends in a deadlock.
 */
bool dsgd_cluster_run(void (*clock)(void *argument), void *argument);

/** Starts an actor that executes @p body on a host. */
void dsgd_actor_start(int host, void (*body)(void *argument), void *argument);

/** Returns a pointer that identifies the calling actor. */
const void *dsgd_actor_self(void);

/** Sets the lane on which the calling actor sends its next messages. */
void dsgd_use_lane(int lane);

/** Returns the virtual time since the start of the run, in seconds. */
double dsgd_now_s(void);
void dsgd_sleep(double seconds);

/** Returns the nominal speed of a host, in flop/s. */
double dsgd_cluster_speed(int host);

/**
 * A counting semaphore. Actors get the semaphore in the order in which they started to wait. It
 * exists until the run has ended.
 */
typedef struct dsgd_semaphore dsgd_semaphore;

dsgd_semaphore *dsgd_semaphore_new(void);
void dsgd_semaphore_wait(dsgd_semaphore *semaphore);
/** Waits for a post, but at most @p seconds. Returns false if this time passed before a post. */
bool dsgd_semaphore_wait_for(dsgd_semaphore *semaphore, double seconds);
void dsgd_semaphore_post(dsgd_semaphore *semaphore);

/**
 * A queue of messages in first-in, first-out order. A transfer starts when both its sender and its
 * receiver are ready.
 */
typedef struct dsgd_mailbox dsgd_mailbox;

/** A send or a receive that has not ended. */
typedef struct dsgd_transfer dsgd_transfer;

/**
 * Latency and bandwidth of the path between two hosts, for a message that meets no other message.
 */
typedef struct dsgd_route {
    double latency_s, bytes_per_s;
} dsgd_route;

/** Returns the route between two hosts, whose numbers are results of dsgd_cluster_host(). */
dsgd_route dsgd_route_of(int from, int to);

/** Kinds of messages. Messages of different kinds use different mailboxes. */
typedef enum dsgd_port {
    DSGD_PORT_COLLECTIVE = 'c',
    DSGD_PORT_ACTIVATION = 'a', /* activation of a partial collective */
    DSGD_PORT_GOSSIP = 'g',
    DSGD_PORT_PAIR_QUESTION = 'q',
    DSGD_PORT_PAIR_REPLY = 'r',
    DSGD_PORT_SERVER_REQUEST = 's',
    DSGD_PORT_SERVER_REPLY = 'p', /* answer of a server to a fetch */
    DSGD_PORT_SERVER_ANSWER = 'b', /* answer of a server to a push and fetch */
    DSGD_PORT_SERVER_ACK = 'k', /* answer of a server to a push; it overtakes other answers */
    DSGD_PORT_MESSAGE = 'l',
    DSGD_PORT_STATE = 't', /* state that a worker copies when it rejoins */
    DSGD_PORT_MEASUREMENT = 'm'
} dsgd_port;

/**
 * Returns the mailbox for messages from host @p from to host @p to. If @p from is -1, messages from
 * any host use the mailbox. @p channel must be less than 65,536.
 */
dsgd_mailbox *dsgd_mailbox_of(int from, int to, dsgd_port port, int channel);

/**
 * Returns the address of a pointer that the user of a mailbox can set. The pointer is NULL at
 * first.
 */
void **dsgd_mailbox_data(dsgd_mailbox *mailbox);

/**
 * Makes the calling actor the only receiver of a mailbox. Transfers then start when they are sent,
 * before the receiver is ready (eager).
 */
void dsgd_mailbox_own(dsgd_mailbox *mailbox);

/**
 * Sends and receives at the same time, like MPI_Sendrecv(). If @p out or @p in is NULL, only
 * receives or only sends. Returns the time at which both sides were ready.
 */
double dsgd_sendrecv(dsgd_mailbox *out, double out_bytes, dsgd_mailbox *in);

/** Sends a message and waits until it has arrived, like MPI_Ssend(). */
void dsgd_mailbox_send(dsgd_mailbox *mailbox, void *payload, double bytes);

/** Sends a message and returns at once. The sender cannot wait for the arrival of the message. */
void dsgd_mailbox_send_detached(dsgd_mailbox *mailbox, void *payload, double bytes);

/** Waits for a message and returns its payload. */
void *dsgd_mailbox_recv(dsgd_mailbox *mailbox);

/**
 * Starts to receive a message, like MPI_Irecv(). *payload is set when the transfer ends. Only the
 * calling actor may wait for the transfer.
 */
dsgd_transfer *dsgd_irecv(dsgd_mailbox *mailbox, void **payload);

/** Starts to send a message, like MPI_Isend(). Only the calling actor may wait for the transfer. */
dsgd_transfer *dsgd_isend(dsgd_mailbox *mailbox, void *payload, double bytes);

/** Waits for a transfer, like MPI_Wait(), and frees it. */
void dsgd_transfer_wait(dsgd_transfer *transfer);

/**
 * Sends bytes between two hosts without a receiving actor. The numbers of the hosts are results of
 * dsgd_cluster_host().
 */
void dsgd_pass_bytes(int from, int to, double bytes);

/* --- step actors ------------------------------------------------------------------------------ */

/** A condition that a step actor waits for between two steps. */
typedef struct dsgd_await {
    enum {
        DSGD_AWAIT_NOTHING, /* no wait, because the steps of a job have ended */
        DSGD_AWAIT_POST, /* a wait for a post of the semaphore, like dsgd_semaphore_wait() */
        DSGD_AWAIT_SECONDS, /* a wait for some seconds, like dsgd_sleep() */
        DSGD_AWAIT_FLOPS, /* a wait for the end of a computation on the actor's host */
        DSGD_AWAIT_TRANSFER, /* a wait for the end of a transfer, like dsgd_transfer_wait() */
        DSGD_AWAIT_SENDRECV, /* a wait for the end of a send and a receive, like dsgd_sendrecv() */
        /* a wait for the return of a function, which may itself wait */
        DSGD_AWAIT_CALL
    } kind;
    double amount; /* number of seconds, of floating-point operations, or of bytes to send */
    union {
        dsgd_semaphore *semaphore;
        dsgd_transfer *transfer;
        struct {
            dsgd_mailbox *out, *in;
            double *started_s; /* address that receives the time at which both sides were ready,
                                * as dsgd_sendrecv() returns it */
        } exchange;
        struct {
            void (*function)(void *argument);
            void *argument;
        } call;
    };
} dsgd_await;

/**
 * A step actor: a function that executes one step, and returns what the actor waits for next. A
 * step itself never waits. The actor therefore has no stack until a step returns DSGD_AWAIT_CALL.
 */
typedef struct dsgd_steps {
    dsgd_await (*next)(void *argument);
    void *argument;
    int lane; /* index of the sending host in its worker, and of the receiving host in its worker;
               * the first index is 0 */
} dsgd_steps;

/** Starts a step actor on a host. The struct @p steps must exist until the run ends. */
void dsgd_steps_start(int host, dsgd_steps *steps);

/** Waits for a condition that a step has returned. The calling actor must have a stack. */
void dsgd_await_here(dsgd_await await);
