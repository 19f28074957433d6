/**
 * @file main.c
 * Calls the program's main() and keeps its status, which Emscripten loses if fibers have run. One
 * instance runs many commands.
 */
#include <emscripten.h>

#include "base/status.h"

int dsgd_main(int count, char **words);

static int status; /* -1: the program has not ended, or has ended by exit() */

EMSCRIPTEN_KEEPALIVE int dsgd_ended(void);
int dsgd_ended(void)
{
    return status;
}

int main(int count, char **words)
{
    dsgd_drop(NULL); /* frees the memory of the previous command, also if it ended by exit() */
    status = -1;
    status = dsgd_main(count, words);
    return status;
}
