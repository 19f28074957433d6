/**
 * @file cluster.h
 * The simulated cluster: hosts, actors, messages and virtual time. cluster.c is the only file that includes a SimGrid header, and
 * the place where SimGrid 3.32 and 4.x differ, if they do.
 *
 * All actors are daemons but one, the clock: when the clock's function returns, the simulation ends at that virtual instant,
 * whatever the others wait for. Actors are coroutines of one thread: state may change only where one of these functions is called.
 */
#ifndef DSGD_SIM_CLUSTER_H
#define DSGD_SIM_CLUSTER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/option.h"
#include "base/status.h"

/** "SimGrid 3.32.0, CM02, ...": the library and the network model, for the manifest. */
const char *dsgd_simgrid_version(void);

/**
 * Loads the platform and takes n_hosts of its hosts, one for each worker and then for each server, as @p placement says
 * (sim/network/placement.h). Their natural order is that of the names, n2 before n10. Hosts with the property DSGD_PLATFORM_GATEWAY are none.
 * Once per process.
 */
dsgd_status dsgd_cluster_open(const char *path, int n_hosts, const dsgd_lines *placement,
                              uint64_t seed, dsgd_error *error);

/** Tries the like in a process of its own, because SimGrid ends the process on bad XML. */
dsgd_status dsgd_cluster_probe(const char *path, int n_hosts, const dsgd_lines *placement,
                               uint64_t seed, dsgd_error *error);

/** Before the simulation begins: offers the bandwidth and latency of each link, by its name, to be changed. */
void dsgd_cluster_each_link(void (*change)(void *argument, const char *name, double *bytes_per_s,
                                           double *latency_s),
                            void *argument);

/** Which of the platform's hosts, in natural order, a host is. */
int dsgd_cluster_place(int host);

/** Nominal speed of a host, in flop/s. */
double dsgd_cluster_speed(int host);

/** Starts an actor on a host. */
void dsgd_actor_start(int host, const char *name, void (*body)(void *argument), void *argument);

/** Runs the simulation until clock(argument), an actor too, returns. False if everything waited for everything (deadlock). */
bool dsgd_cluster_run(void (*clock)(void *argument), void *argument);

/**
 * For the clock: no other actor goes on from now on. Returns when the first of them would have; if none ever would, that is a deadlock, and
 * dsgd_cluster_run() says so.
 */
void dsgd_cluster_halt(void);

/** Virtual seconds since the start. */
double dsgd_now_s(void);
void dsgd_sleep(double seconds);

/** Computes on the actor's host. */
void dsgd_compute(double flops);

/** A semaphore: one actor waits, another rings. Rings are counted. */
typedef struct dsgd_semaphore dsgd_semaphore;

dsgd_semaphore *dsgd_semaphore_new(void);
void dsgd_semaphore_free(dsgd_semaphore *semaphore);
void dsgd_semaphore_wait(dsgd_semaphore *semaphore);
/** False when @p seconds passed first. */
bool dsgd_semaphore_wait_for(dsgd_semaphore *semaphore, double seconds);
void dsgd_semaphore_post(dsgd_semaphore *semaphore);

/** Where messages meet: first in, first out. A transfer begins when both sides are there. */
typedef struct dsgd_mailbox dsgd_mailbox;

/** The mailbox of messages of kind @p port and number @p channel from @p from to @p to; from = -1 for messages of anyone. */
dsgd_mailbox *dsgd_mailbox_of(int from, int to, char port, int channel);

/** From now on the calling actor alone receives here, and transfers begin when they are sent. */
void dsgd_mailbox_own(dsgd_mailbox *mailbox);

/** Sends and receives at once, and waits for both. Either mailbox may be NULL. Returns when both sides were there. */
double dsgd_sendrecv(dsgd_mailbox *out, double out_bytes, dsgd_mailbox *in);

/** Sends @p payload (not NULL) and waits until it has arrived. */
void dsgd_send(dsgd_mailbox *mailbox, void *payload, double bytes);

/** A transfer under way. */
typedef struct dsgd_transfer dsgd_transfer;

/** Starts to receive; *payload is set when the transfer has ended. */
dsgd_transfer *dsgd_irecv(dsgd_mailbox *mailbox, void **payload);
/** Waits for the end of a transfer, which is used up. */
void dsgd_transfer_wait(dsgd_transfer *transfer);

/** Sends @p payload (not NULL) and goes on; nobody waits for its end. */
void dsgd_send_detached(dsgd_mailbox *mailbox, void *payload, double bytes);

void *dsgd_recv(dsgd_mailbox *mailbox);

#endif
