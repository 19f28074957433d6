/**
 * @file replay_main.c
 * dsgd-replay: `dsgd replay` as a program of its own, for machines without SimGrid.
 */
#include <argp.h>

#include "base/program.h"
#include "command/commands.h"

const char *argp_program_version = "dsgd-replay " DSGD_VERSION;

int main(int count, char **words)
{
    dsgd_program_begin();
    argp_err_exit_status = DSGD_EUSAGE;
    dsgd_error error = {""};
    const dsgd_status status = dsgd_command_replay.run(count, words, &error);
    return dsgd_program_end("dsgd-replay", status, &error);
}
