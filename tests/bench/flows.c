/**
 * @file flows.c
 * The messages of allreduces by recursive doubling, on SimGrid and nothing else: what a simulation
 * of them costs at least. `dsgd_bench_flows XML ACTORS ROUNDS BYTES` prints the virtual seconds.
 */
#include <simgrid/actor.h>
#include <simgrid/comm.h>
#include <simgrid/engine.h>
#include <simgrid/host.h>
#include <simgrid/mailbox.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static int n_actors, n_rounds;
static long bytes;
static const double step_s = 0.35;

static sg_mailbox_t mailbox_of(int to, int bit)
{
    char name[32];
    snprintf(name, sizeof name, "%d:%d", to, bit);
    return sg_mailbox_by_name(name);
}

static void double_recursively(int count, char *words[])
{
    (void)count;
    (void)words;
    enum { MOST_BITS = 20 };
    sg_mailbox_t in[MOST_BITS];
    sg_mailbox_t out[MOST_BITS];
    const int rank = (int)(intptr_t)sg_actor_get_data(sg_actor_self());
    for (int bit = 0; 1 << bit < n_actors; bit++) {
        in[bit] = mailbox_of(rank, bit);
        out[bit] = mailbox_of(rank ^ (1 << bit), bit);
    }
    for (int round = 0; round < n_rounds; round++) {
        sg_actor_sleep_for(step_s);
        for (int bit = 0; 1 << bit < n_actors; bit++) {
            void *payload = NULL;
            sg_comm_t put = sg_mailbox_put_async(out[bit], &n_actors, bytes);
            sg_comm_wait(sg_mailbox_get_async(in[bit], &payload));
            sg_comm_wait(put);
        }
    }
}

int main(int count, char **words)
{
    simgrid_init(&count, words);
    if (count != 5) {
        fprintf(stderr, "usage: %s XML ACTORS ROUNDS BYTES [--cfg=...]\n", words[0]);
        return 2;
    }
    simgrid_load_platform(words[1]);
    n_actors = atoi(words[2]);
    n_rounds = atoi(words[3]);
    bytes = atol(words[4]);
    for (int i = 0; i < n_actors; i++) {
        char name[16];
        snprintf(name, sizeof name, "n%d", i);
        sg_actor_t actor = sg_actor_init(name, sg_host_by_name(name));
        sg_actor_set_data(actor, (void *)(intptr_t)i);
        sg_actor_start_(actor, double_recursively, 0, NULL);
    }
    simgrid_run();
    printf("%.10g\n", simgrid_get_clock());
    return 0;
}
