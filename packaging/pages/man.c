/**
 * @file man.c
 * Man pages, in the macros of man(7), which every man reads.
 */
#include <stdlib.h>
#include <string.h>

#include "base/option.h"
#include "command/console/table.h"
#include "command/replay.h"
#include "packaging/pages/tables.h"

/** Text as roff reads it: `code` is bold, a minus is one that can be copied, no word is a macro. */
static void put_text(FILE *stream, const char *text)
{
    bool code = false;
    for (const char *c = text; *c != '\0'; c++) {
        if ((*c == '.' || *c == '\'') && (c == text || c[-1] == ' '))
            fputs("\\&", stream);
        if (*c == '\\')
            fputs("\\e", stream);
        else if (*c == '-')
            fputs("\\-", stream);
        else if (*c == '`')
            fputs((code = !code) ? "\\fB" : "\\fR", stream);
        else
            fputc(*c, stream);
    }
}

/** In lines of 80 columns, which those expect who read the source. */
static void put_paragraph(FILE *stream, const char *text)
{
    enum { WIDTH = 80 };
    char *roff = NULL;
    size_t n = 0;
    FILE *const memory = open_memstream(&roff, &n);
    DSGD_ASSERT(memory != NULL, "no memory for a paragraph");
    put_text(memory, text);
    fclose(memory);
    dsgd_print_wrapped(stream, "", 0, WIDTH, roff);
    free(roff);
}

static void put_bold(FILE *stream, const char *text)
{
    fputs("\\fB", stream);
    put_text(stream, text);
    fputs("\\fR", stream);
}

static void put_option(FILE *stream, const dsgd_argument *o)
{
    if (o->gone != NULL)
        return;
    char *const letter = dsgd_xprintf("-%c", o->letter);
    char *const name = dsgd_xprintf("--%s", o->name);
    fputs(".TP\n", stream);
    if (o->letter != 0) {
        put_bold(stream, letter);
        fputs(", ", stream);
    }
    put_bold(stream, name);
    if (o->value != NULL)
        fprintf(stream, o->implied != NULL ? "[=\\fI%s\\fR]" : "=\\fI%s\\fR", o->value);
    fputc('\n', stream);
    put_paragraph(stream, o->help);
    if (o->words != NULL) {
        char *const words = dsgd_listed(o->words, ", ");
        char *const sentence = dsgd_xprintf("(%s)", words);
        put_paragraph(stream, sentence);
        free(sentence);
        free(words);
    }
    free(name);
    free(letter);
}

static void put_options(FILE *stream, const dsgd_syntax *syntax)
{
    static const dsgd_argument common[] = {
        {.name = "help", .letter = '?', .help = "Prints this list of options"},
        {.name = "usage", .help = "Prints them in a few lines"},
        {.name = "version", .letter = 'V', .help = "Prints the version"},
        {.name = NULL},
    };
    for (const dsgd_argument *o = syntax->options; o != NULL && o->name != NULL; o++)
        put_option(stream, o);
    for (const dsgd_argument *o = common; o->name != NULL; o++)
        put_option(stream, o);
}

/** What the command does, its options, and what its help says behind them. */
static void put_syntax(FILE *stream, const dsgd_syntax *syntax)
{
    const size_t length = strcspn(syntax->help, "\v");
    char *const before = dsgd_xprintf("%.*s", (int)length, syntax->help);
    put_paragraph(stream, before);
    put_options(stream, syntax);
    if (syntax->help[length] != '\0') {
        fputs(".PP\n", stream);
        put_paragraph(stream, syntax->help + length + 1);
    }
    free(before);
}

static void put_head(FILE *stream, const char *program, const char *date, const char *purpose)
{
    char *const capitals = dsgd_xstrdup(program);
    for (char *c = capitals; *c != '\0'; c++)
        *c = (char)('a' <= *c && *c <= 'z' ? *c - 'a' + 'A' : *c);
    fprintf(stream, ".TH %s 1 %s \"dsgd " DSGD_VERSION "\" \"User Commands\"\n.SH NAME\n", capitals,
            date);
    put_text(stream, program);
    fprintf(stream, " \\- %s\n.SH SYNOPSIS\n", purpose);
    free(capitals);
}

static void put_exit_status(FILE *stream)
{
    fputs(".SH EXIT STATUS\n", stream);
#define X(name, exit_code, text)                                                                   \
    fprintf(stream, ".TP\n%d\n", exit_code);                                                       \
    put_paragraph(stream, text);
    DSGD_STATUS_LIST(X)
#undef X
}

void dsgd_print_man(FILE *stream, const char *date)
{
    put_head(stream, "dsgd", date, "simulate distributed SGD");
    fputs(".B dsgd\n.I COMMAND\n\\&...\n.SH DESCRIPTION\n", stream);
    put_paragraph(stream, "A discrete-event simulator of distributed stochastic gradient descent: "
                          "how long training takes on a cluster, and how well it learns.");
    for (size_t i = 0; dsgd_commands[i] != NULL; i++) {
        fputs(".TP\n", stream);
        put_bold(stream, dsgd_commands[i]->name);
        fprintf(stream, " \\fI%s\\fR\n", dsgd_commands[i]->usage);
        put_paragraph(stream, dsgd_commands[i]->summary);
    }
    fputs(".SH COMMANDS\n", stream);
    for (size_t i = 0; dsgd_commands[i] != NULL; i++) {
        const dsgd_syntax syntax = dsgd_syntax_of(dsgd_commands[i]);
        char *const heading =
            dsgd_xprintf("dsgd %s [OPTION...] %s", dsgd_commands[i]->name, syntax.operands);
        fputs(".SS ", stream);
        put_paragraph(stream, heading);
        put_syntax(stream, &syntax);
        free(heading);
    }
    put_exit_status(stream);
    fputs(".SH ENVIRONMENT\n.TP\n.B DSGD_DATA\n", stream);
    put_paragraph(stream, "Folder of the shipped platforms, workloads, imbalance and figures, in "
                          "place of that of the installation");
    fputs(".SH SEE ALSO\n.BR dsgd\\-replay (1)\n", stream);
}

void dsgd_print_replay_man(FILE *stream, const char *date)
{
    for (size_t i = 0; dsgd_commands[i] != NULL; i++) {
        if (dsgd_commands[i]->run != dsgd_command_replay_run)
            continue;
        const dsgd_syntax syntax = dsgd_syntax_of(dsgd_commands[i]);
        put_head(stream, "dsgd-replay", date, "compute the records of simulated training");
        fprintf(stream, ".B dsgd\\-replay\n[\\fIOPTION\\fR...] \\fI%s\\fR\n.SH DESCRIPTION\n",
                syntax.operands);
        put_syntax(stream, &syntax);
    }
    put_exit_status(stream);
    fputs(".SH SEE ALSO\n.BR dsgd (1)\n", stream);
}
