/**
 * @file replay_main.c
 * dsgd-replay: `dsgd replay` as a program of its own, for machines without SimGrid.
 */
#include <argp.h>
#include <stdio.h>

#include "command/run/replay.h"

const char *argp_program_version = "dsgd-replay " DSGD_VERSION;

int main(int count, char **words)
{
    argp_err_exit_status = DSGD_EUSAGE;
    dsgd_error error = {""};
    const dsgd_status status = dsgd_command_replay_run(count, words, &error);
    if (status != DSGD_OK && error.text[0] != '\0')
        fprintf(stderr, "dsgd-replay: %s\n", error.text);
    return status;
}
