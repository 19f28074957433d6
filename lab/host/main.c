/**
 * @file main.c
 * Calls the program's main() for each command of an instance. Stores the exit status, because
 * Emscripten loses the exit status if fibers have run.
 */
#include <emscripten.h>

#include "base/status.h"

int dsgd_main(int count, char **words);

static int status; /* exit status of the command; -1 while the command runs or after a call of
                    * exit() */

EMSCRIPTEN_KEEPALIVE int dsgd_ended(void);
int dsgd_ended(void)
{
    return status;
}

int main(int count, char **words)
{
    dsgd_drop(NULL); /* Free the memory of the previous command, because that command may have ended
                      * by exit(). */
    status = -1;
    status = dsgd_main(count, words);
    return status;
}
