/**
 * @file main.c
 * Executes the sub-command of the command line. Only main() prints errors and exits.
 */
#include <argp.h>

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
        "and how well\nthe model learns. `dsgd COMMAND --help` lists the options of a command.\n\n",
        stream);
    for (size_t i = 0; dsgd_commands[i] != NULL; i++) {
        const dsgd_command *const c = dsgd_commands[i];
        dsgd_print_wrapped(stream, dsgd_xprintf("  %s %s", c->name, c->usage), INDENT, WIDTH,
                           c->summary);
    }
    fputs("\nExit status:\n", stream);
#define X(name, exit_code, text) fprintf(stream, "  %d  %s\n", exit_code, text);
    DSGD_STATUS_LIST(X)
#undef X
}

static dsgd_status obey(int count, char **words, dsgd_error *error)
{
    if (count < 2 || strcmp(words[1], "--help") == 0 || strcmp(words[1], "help") == 0) {
        print_help(count < 2 ? stderr : stdout);
        return count < 2 ? DSGD_EUSAGE : DSGD_OK;
    }
    if (strcmp(words[1], "--version") == 0) {
        puts(argp_program_version);
        return DSGD_OK;
    }
    if (count == 2 && strcmp(words[1], "--help=json") == 0) {
        dsgd_tables_print();
        return DSGD_OK;
    }
    const char *names[DSGD_MOST_COMMANDS] = {NULL};
    for (size_t i = 0; dsgd_commands[i] != NULL; i++)
        names[i] = dsgd_commands[i]->name;
    const int command = dsgd_find_word(names, words[1]);
    if (command < 0)
        return dsgd_refuse(error, "unknown command `%s`%s; see `dsgd --help`", words[1],
                           dsgd_hint(words[1], names));
    argp_err_exit_status = DSGD_EUSAGE;
    words[1] = dsgd_xprintf("dsgd %s", words[1]); /* argp prints this name in `--help`. */
    return dsgd_commands[command]->run(count - 1, words + 1, error);
}

int main(int count, char **words)
{
    dsgd_program_begin();
    dsgd_error error = {""};
    const dsgd_status status = obey(count, words, &error);
    return dsgd_program_end("dsgd", status, &error);
}
