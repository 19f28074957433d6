/**
 * @file completion.c
 * What each command takes, as functions of the three shells: the table in a completion script.
 */
#include <stdlib.h>
#include <string.h>

#include "packaging/pages/tables.h"

/** For single quotes of zsh: within a description of _arguments and _describe. */
static void put_zsh_text(FILE *stream, const char *text)
{
    for (; *text != '\0'; text++) {
        if (strchr("[]:\\", *text) != NULL)
            fputc('\\', stream);
        if (*text == '\'')
            fputs("'\\''", stream); /* out of the quotes, a quote, and into them again */
        else
            fputc(*text, stream);
    }
}

/** For single quotes of fish. */
static void put_fish_text(FILE *stream, const char *text)
{
    for (; *text != '\0'; text++) {
        if (strchr("'\\", *text) != NULL)
            fputc('\\', stream);
        fputc(*text, stream);
    }
}

static const dsgd_argument common[] = {
    {.name = "help", .help = "Prints the options of the command"},
    {.name = "usage", .help = "Prints them in a few lines"},
    {.name = "version", .help = "Prints the version"},
    {.name = NULL},
};

typedef void put_option(FILE *stream, const dsgd_command *command, const dsgd_argument *option);

/** The options of a command that it does not refuse, and every command's. */
static void visit_options(FILE *stream, const dsgd_command *command, put_option *put)
{
    const dsgd_syntax syntax = dsgd_syntax_of(command);
    for (const dsgd_argument *o = syntax.options; o != NULL && o->name != NULL; o++)
        if (o->gone == NULL)
            put(stream, command, o);
    for (const dsgd_argument *o = common; o->name != NULL; o++)
        put(stream, command, o);
}

static void visit_all(FILE *stream, put_option *put)
{
    for (size_t i = 0; dsgd_commands[i] != NULL; i++)
        visit_options(stream, dsgd_commands[i], put);
}

/* --- bash: functions of a case each; a pattern of a case needs no quotes where it has no blanks ------- */

static void put_bash_words(FILE *stream, const dsgd_command *command, const dsgd_argument *o)
{
    (void)command;
    if (o->letter != 0)
        fprintf(stream, " -%c", o->letter);
    fprintf(stream, " --%s%s", o->name, o->implied != NULL ? "=" : "");
}

static void put_bash_value(FILE *stream, const dsgd_command *command, const dsgd_argument *o)
{
    if (!dsgd_takes_word(o))
        return;
    char *const sources = dsgd_sources_of_option(o);
    fputs("    ", stream);
    if (o->letter != 0)
        fprintf(stream, "'%s -%c' | ", command->name, o->letter);
    fprintf(stream, "'%s --%s') sources='%s' ;;\n", command->name, o->name, sources);
    free(sources);
}

static void put_bash_key(FILE *stream, const char *name, const dsgd_option *key)
{
    char *const sources = dsgd_sources_of_key(key);
    fprintf(stream, "    %s) sources='%s' ;;\n", name, sources);
    free(sources);
}

static void put_key_name(FILE *stream, const char *name, const dsgd_option *key)
{
    (void)key;
    fprintf(stream, " %s", name);
}

/** Of bash and zsh: the keys that --set may change, and what their values may be. */
static void put_keys(FILE *stream)
{
    fputs("_dsgd_keys='", stream);
    dsgd_visit_keys(stream, put_key_name);
    fputs("'\n\n_dsgd_value_of_key()\n{\n    case $1 in\n", stream);
    dsgd_visit_keys(stream, put_bash_key);
    fputs("    *) sources='' ;;\n    esac\n}\n", stream);
}

static void put_bash_operands(FILE *stream, const dsgd_command *command)
{
    bool repeats = false;
    const size_t n = dsgd_operand_places(command, &repeats);
    for (size_t i = 0; i < n; i++) {
        char *const sources = dsgd_sources_of_operand(command, i);
        if (repeats && i + 1 == n)
            fprintf(stream, "    '%s '*) sources='%s' ;;\n", command->name, sources);
        else
            fprintf(stream, "    '%s %zu') sources='%s' ;;\n", command->name, i, sources);
        free(sources);
    }
}

void dsgd_print_bash(FILE *stream)
{
    fputs("_dsgd_commands='", stream);
    for (size_t i = 0; dsgd_commands[i] != NULL; i++)
        fprintf(stream, " %s", dsgd_commands[i]->name);
    fputs("'\n\n_dsgd_options()\n{\n    case $1 in\n", stream);
    for (size_t i = 0; dsgd_commands[i] != NULL; i++) {
        fprintf(stream, "    %s) sources='", dsgd_commands[i]->name);
        visit_options(stream, dsgd_commands[i], put_bash_words);
        fputs("' ;;\n", stream);
    }
    fputs("    *) sources='' ;;\n    esac\n}\n\n_dsgd_value()\n{\n    case \"$1 $2\" in\n", stream);
    visit_all(stream, put_bash_value);
    fputs("    *) return 1 ;;\n    esac\n}\n\n_dsgd_operand()\n{\n    case \"$1 $2\" in\n", stream);
    for (size_t i = 0; dsgd_commands[i] != NULL; i++)
        put_bash_operands(stream, dsgd_commands[i]);
    fputs("    *) sources='' ;;\n    esac\n}\n\n", stream);
    put_keys(stream);
}

/* --- zsh: a function of _arguments per command --------------------------------------------------------- */

static void put_zsh_option(FILE *stream, const dsgd_command *command, const dsgd_argument *o)
{
    (void)command;
    char *const sources = dsgd_sources_of_option(o);
    const char *const many = o->kind == DSGD_ARGUMENT_TEXTS ? "*" : "";
    const char *const value = o->value == NULL ? "" : o->implied != NULL ? "=-" : "=";
    fputs(" \\\n        ", stream);
    if (o->letter != 0 && *many == '\0')
        fprintf(stream, "'(-%c --%s)'{-%c%s,--%s%s}'[", o->letter, o->name, o->letter,
                o->value != NULL ? "+" : "", o->name, value);
    else
        fprintf(stream, "'%s--%s%s[", many, o->name, value);
    put_zsh_text(stream, o->help);
    fputc(']', stream);
    if (o->value != NULL) {
        fputs(o->implied != NULL ? "::" : ":", stream);
        put_zsh_text(stream, o->value);
        fputs(": _dsgd_any ", stream);
        put_zsh_text(stream, sources); /* a colon would begin a second value of the option */
    }
    fputc('\'', stream);
    free(sources);
}

static void put_zsh_command(FILE *stream, const dsgd_command *command)
{
    bool repeats = false;
    const size_t n = dsgd_operand_places(command, &repeats);
    fprintf(stream, "_dsgd_%s()\n{\n    _arguments -s -S", command->name);
    visit_options(stream, command, put_zsh_option);
    for (size_t i = 0; i < n; i++) {
        char *const sources = dsgd_sources_of_operand(command, i);
        if (repeats && i + 1 == n)
            fprintf(stream, " \\\n        '*:operand: _dsgd_any %s'", sources);
        else
            fprintf(stream, " \\\n        '%zu:operand: _dsgd_any %s'", i + 1, sources);
        free(sources);
    }
    fputs("\n}\n\n", stream);
}

void dsgd_print_zsh(FILE *stream)
{
    fputs("_dsgd_commands=(\n", stream);
    for (size_t i = 0; dsgd_commands[i] != NULL; i++) {
        fprintf(stream, "    '%s:", dsgd_commands[i]->name);
        put_zsh_text(stream, dsgd_commands[i]->summary);
        fputs("'\n", stream);
    }
    fputs(")\n\n", stream);
    for (size_t i = 0; dsgd_commands[i] != NULL; i++)
        put_zsh_command(stream, dsgd_commands[i]);
    put_keys(stream);
}

/* --- fish: a line per command, option and operand ------------------------------------------------------ */

static void put_fish_option(FILE *stream, const dsgd_command *command, const dsgd_argument *o)
{
    fprintf(stream, "complete -c dsgd -n '__dsgd_in %s' -l %s", command->name, o->name);
    if (o->letter != 0)
        fprintf(stream, " -s %c", o->letter);
    if (dsgd_takes_word(o)) {
        char *const sources = dsgd_sources_of_option(o);
        fprintf(stream, " -x -a '(__dsgd_any %s)'", sources);
        free(sources);
    }
    fputs(" -d '", stream);
    put_fish_text(stream, o->help);
    fputs("'\n", stream);
}

static void put_fish_valued(FILE *stream, const dsgd_command *command, const dsgd_argument *o)
{
    (void)command;
    if (dsgd_takes_word(o) && o->letter != 0)
        fprintf(stream, " -%c", o->letter);
    if (dsgd_takes_word(o))
        fprintf(stream, " --%s", o->name);
}

static void put_fish_operands(FILE *stream, const dsgd_command *command)
{
    bool repeats = false;
    const size_t n = dsgd_operand_places(command, &repeats);
    for (size_t i = 0; i < n; i++) {
        char *const sources = dsgd_sources_of_operand(command, i);
        fprintf(stream, "complete -c dsgd -n '__dsgd_operand %s %zu %s' -a '(__dsgd_any %s)'\n",
                command->name, i, repeats && i + 1 == n ? "many" : "one", sources);
        free(sources);
    }
}

static void put_fish_key(FILE *stream, const char *name, const dsgd_option *key)
{
    char *const sources = dsgd_sources_of_key(key);
    fprintf(stream, "        case %s\n            echo '%s'\n", name, sources);
    free(sources);
}

void dsgd_print_fish(FILE *stream)
{
    fputs("function __dsgd_valued\n    switch $argv[1]\n", stream);
    for (size_t i = 0; dsgd_commands[i] != NULL; i++) {
        fprintf(stream, "        case %s\n            string split ' ' -- '",
                dsgd_commands[i]->name);
        visit_options(stream, dsgd_commands[i], put_fish_valued);
        fputs("'\n", stream);
    }
    fputs("    end\nend\n\nfunction __dsgd_keys\n    string split ' ' -- '", stream);
    dsgd_visit_keys(stream, put_key_name);
    fputs("'\nend\n\nfunction __dsgd_value_of_key\n    switch $argv[1]\n", stream);
    dsgd_visit_keys(stream, put_fish_key);
    fputs("    end\nend\n\ncomplete -c dsgd -f\n", stream);
    for (size_t i = 0; dsgd_commands[i] != NULL; i++) {
        fprintf(stream, "complete -c dsgd -n '__dsgd_in \"\"' -a %s -d '", dsgd_commands[i]->name);
        put_fish_text(stream, dsgd_commands[i]->summary);
        fputs("'\n", stream);
    }
    for (size_t i = 0; dsgd_commands[i] != NULL; i++) {
        visit_options(stream, dsgd_commands[i], put_fish_option);
        put_fish_operands(stream, dsgd_commands[i]);
    }
}
