/**
 * @file argp.c
 * Implements argp with getopt_long(). The option --usage prints the same text as --help. Lines are
 * not wrapped.
 */
#include <argp.h>
#include <getopt.h>
#include <stdarg.h>

#include "base/status.h"

enum { HELP = 1 }; /* key of the options --help and --usage, which have no short form */

int argp_err_exit_status = 64;

void argp_error(const struct argp_state *state, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    fprintf(stderr, "%s: ", state->argv[0]);
    vfprintf(stderr, format, values);
    fputc('\n', stderr);
    va_end(values);
    exit(argp_err_exit_status);
}

static void print_help(const struct argp *argp, const char *name)
{
    printf("Usage: %s [OPTION...] %s\n%s\n\n", name, argp->args_doc == NULL ? "" : argp->args_doc,
           argp->doc == NULL ? "" : argp->doc);
    for (const struct argp_option *o = argp->options; o->name != NULL; o++) {
        if ((o->flags & OPTION_HIDDEN) != 0)
            continue;
        const char *const argument = o->arg == NULL ? ""
                                     : (o->flags & OPTION_ARG_OPTIONAL) != 0
                                         ? dsgd_xprintf("[=%s]", o->arg)
                                         : dsgd_xprintf("=%s", o->arg);
        printf(o->key < 256 ? "  -%c, " : "      ", o->key);
        printf("%-22s %s\n", dsgd_xprintf("--%s%s", o->name, argument), o->doc);
    }
    exit(0);
}

error_t argp_parse(const struct argp *argp, int count, char **words, unsigned flags, int *end,
                   void *input)
{
    size_t n = 0;
    while (argp->options[n].name != NULL)
        n++;
    struct option *const options = dsgd_keep(n + 3, sizeof *options);
    char *const letters = dsgd_keep(3 * n + 1, 1);
    for (size_t i = 0; i < n; i++) {
        const struct argp_option *const o = &argp->options[i];
        const int has = o->arg == NULL ? 0 : (o->flags & OPTION_ARG_OPTIONAL) != 0 ? 2 : 1;
        options[i] = (struct option){o->name, has, NULL, o->key};
        if (o->key < 256)
            sprintf(letters + strlen(letters), "%c%.*s", o->key, has, "::");
    }
    options[n] = (struct option){.name = "help", .val = HELP};
    options[n + 1] = (struct option){.name = "usage", .val = HELP};
    struct argp_state state = {count, words, 1, input};
    optind = 0; /* Make getopt_long() start at the first word again in the next call. */
    for (int key = 0; (key = getopt_long(count, words, letters, options, NULL)) != -1;) {
        if (key == '?')
            exit(argp_err_exit_status);
        if (key == HELP)
            print_help(argp, words[0]);
        argp->parser(key, optarg, &state);
    }
    state.next = optind;
    argp->parser(ARGP_KEY_ARGS, NULL, &state);
    return 0;
}
