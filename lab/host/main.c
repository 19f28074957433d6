/**
 * @file main.c
 * Around the program's main(), whose status Emscripten loses where fibers have run. One instance
 * runs many commands.
 */
#include <emscripten.h>

#include "base/status.h"

int dsgd_main(int count, char **words);

static int status; /* -1: the program is not at its end, or ended by exit() */

EMSCRIPTEN_KEEPALIVE int dsgd_ended(void);
int dsgd_ended(void)
{
    return status;
}

int main(int count, char **words)
{
    dsgd_drop(NULL); /* what the command before has kept, also where it ended by exit() */
    status = -1;
    status = dsgd_main(count, words);
    return status;
}
