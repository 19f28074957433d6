/**
 * @file network.h
 * One way to simulate a cluster: what stands behind the functions of cluster.h. simgrid.c and
 * nics.c have one each; cluster.c calls that of the run.
 */
#ifndef DSGD_SIM_NETWORK_H
#define DSGD_SIM_NETWORK_H

#include "sim/network/cluster.h"

/**
 * A message of as many bytes travels in less than SimGrid's precision: others do not notice it, and
 * it does not count as one that a host sends at once.
 */
enum { DSGD_NOTHING_BYTES = 8 };

/** A function without a comment is what stands behind cluster.h's of that name. */
typedef struct dsgd_network {
    /** Library and model, in one line. */
    const char *(*version)(void);
    /** Fills places[machine->n_hosts]; @p n_hosts are to be had, or the XML at @p path says it. */
    dsgd_status (*open)(const dsgd_machine *machine, int n_hosts, const char *path, int *places,
                        dsgd_error *error);
    double (*speed)(int host);
    /** Both may be NULL: it counts none. */
    void (*carry)(int from, int to, double bytes);
    size_t (*loads)(dsgd_load **loads);
    /** Of all actors only the clock is no daemon. */
    void (*start)(int host, const char *name, bool daemon, void (*body)(void *argument),
                  void *argument);
    /** Calls on_a_stack(steps) when the steps await a call. NULL: that is started at once. */
    void (*start_steps)(int host, dsgd_steps *steps, void (*on_a_stack)(void *steps));
    const void *(*self)(void);
    /** Until the actor that is no daemon has returned, or nothing can happen any more. */
    void (*run)(void);
    double (*now_s)(void);
    void (*sleep)(double seconds);
    void (*compute)(double flops);
    dsgd_semaphore *(*semaphore_new)(void);
    void (*semaphore_free)(dsgd_semaphore *semaphore);
    void (*semaphore_wait)(dsgd_semaphore *semaphore);
    bool (*semaphore_wait_for)(dsgd_semaphore *semaphore, double seconds);
    void (*semaphore_post)(dsgd_semaphore *semaphore);
    /** The mailbox with these ends; cluster.c remembers it. */
    dsgd_mailbox *(*mailbox)(int from, int to, dsgd_port port, int channel);
    void (*own)(dsgd_mailbox *mailbox);
    double (*sendrecv)(dsgd_mailbox *out, double out_bytes, dsgd_mailbox *in);
    void (*send)(dsgd_mailbox *mailbox, void *payload, double bytes);
    dsgd_transfer *(*irecv)(dsgd_mailbox *mailbox, void **payload);
    void (*wait)(dsgd_transfer *transfer);
    void (*send_detached)(dsgd_mailbox *mailbox, void *payload, double bytes);
    void *(*recv)(dsgd_mailbox *mailbox);
} dsgd_network;

extern const dsgd_network dsgd_network_simgrid, dsgd_network_nics;

#endif
