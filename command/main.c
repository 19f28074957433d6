/**
 * @file main.c
 * main(): selects the sub-command. The only place that prints errors and exits.
 */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/option.h"
#include "base/program.h"
#include "command/commands.h"
#include "command/console/table.h"

const char *argp_program_version = "dsgd " DSGD_VERSION;

static void print_help(FILE *stream)
{
    enum { INDENT = 28, WIDTH = 80 };
    fputs(
        "Usage: dsgd COMMAND ...\nSimulates distributed SGD: how long training takes on a cluster, "
        "and how well\nit learns. `dsgd COMMAND --help` has the options of a command.\n\n",
        stream);
    for (size_t i = 0; dsgd_commands[i] != NULL; i++) {
        char *const heading =
            dsgd_xprintf("  %s %s", dsgd_commands[i]->name, dsgd_commands[i]->usage);
        dsgd_print_wrapped(stream, heading, INDENT, WIDTH, dsgd_commands[i]->summary);
    }
    fputs("\nExit status:\n", stream);
#define X(name, exit_code, text) fprintf(stream, "  %d  %s\n", exit_code, text);
    DSGD_STATUS_LIST(X)
#undef X
}

int main(int count, char **words)
{
    dsgd_program_begin();
    dsgd_error error = {""};
    if (count < 2 || strcmp(words[1], "--help") == 0 || strcmp(words[1], "help") == 0) {
        print_help(count < 2 ? stderr : stdout);
        return dsgd_program_end("dsgd", count < 2 ? DSGD_EUSAGE : DSGD_OK, &error);
    }
    if (strcmp(words[1], "--version") == 0) {
        puts(argp_program_version);
        return dsgd_program_end("dsgd", DSGD_OK, &error);
    }
    if (count == 2 && strcmp(words[1], "--help=json") == 0) {
        dsgd_tables_print();
        return dsgd_program_end("dsgd", DSGD_OK, &error);
    }
    argp_err_exit_status = DSGD_EUSAGE;
    dsgd_status status = DSGD_EUSAGE;
    const dsgd_command *command = NULL;
    for (size_t i = 0; dsgd_commands[i] != NULL; i++)
        command = strcmp(dsgd_commands[i]->name, words[1]) == 0 ? dsgd_commands[i] : command;
    if (command == NULL) {
        const char *names[DSGD_MOST_COMMANDS] = {NULL};
        for (size_t i = 0; dsgd_commands[i] != NULL; i++)
            names[i] = dsgd_commands[i]->name;
        const char *const hint = dsgd_hint(words[1], names);
        dsgd_refuse(&error, "`%s` is no command%s; `dsgd --help` lists them", words[1], hint);
    } else {
        char *const name = dsgd_xprintf("dsgd %s", words[1]); /* for --help */
        words[1] = name;
        status = command->run(count - 1, words + 1, &error);
    }
    return dsgd_program_end("dsgd", status, &error);
}
