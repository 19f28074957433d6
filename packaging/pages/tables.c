/**
 * @file tables.c
 * Has every sub-command show its table, and says what may stand where in a command line.
 */
#include "packaging/pages/tables.h"

#include <stdlib.h>
#include <string.h>

#include "base/option.h"
#include "command/experiment/experiment.h"

static const dsgd_syntax *shown; /* that of the last command that was run */

/* In place of that of command/console/arguments.c: a sub-command parses before it does anything else, so this is where it ends. */
dsgd_status dsgd_parse(int count, char **words, const dsgd_syntax *syntax, void *arguments,
                       dsgd_error *error)
{
    (void)count, (void)words, (void)arguments;
    shown = syntax;
    return dsgd_fail(error, DSGD_EUSAGE, "only the table is wanted");
}

dsgd_syntax dsgd_syntax_of(const dsgd_command *command)
{
    char *const name = dsgd_xprintf("dsgd %s", command->name);
    char *words[] = {name, NULL};
    dsgd_error error = {""};
    shown = NULL;
    const dsgd_status status = command->run(1, words, &error);
    DSGD_ASSERT(status == DSGD_EUSAGE && shown != NULL, "%s did not parse: %s", name, error.text);
    free(name);
    return *shown;
}

bool dsgd_takes_word(const dsgd_argument *option)
{
    return option->value != NULL && option->implied == NULL;
}

static void add(char **sources, const char *kind, const char *what)
{
    dsgd_append(sources, "%s%s%s", **sources == '\0' ? "" : " ", kind, what);
}

char *dsgd_sources_of_option(const dsgd_argument *option)
{
    char *sources = dsgd_xstrdup("");
    for (size_t i = 0; option->words != NULL && option->words[i] != NULL; i++)
        add(&sources, "word:", option->words[i]);
    if (option->value != NULL && strcmp(option->value, "FILE") == 0)
        add(&sources, "files", "");
    if (option->value != NULL &&
        (strcmp(option->value, "DIR") == 0 || strcmp(option->value, "FOLDER") == 0))
        add(&sources, "folders", "");
    if (option->value != NULL && strcmp(option->value, "A.B=C") == 0)
        add(&sources, "sets", "");
    return sources;
}

/** The kind whose singular this is, as `dsgd list` has it; NULL: none. */
static const char *kind_of(const char *word)
{
    const char *plural = NULL;
    const char *singular = NULL;
    for (size_t i = 0; dsgd_kind_at(i, &plural, &singular); i++)
        if (singular != NULL && strcmp(word, singular) == 0)
            return plural;
    return NULL;
}

static void add_kinds(char **sources, bool described)
{
    const char *plural = NULL;
    const char *singular = NULL;
    for (size_t i = 0; dsgd_kind_at(i, &plural, &singular); i++)
        if (!described || singular != NULL)
            add(sources, "word:", described ? singular : plural);
}

/** What `dsgd describe` takes alone, besides kinds: files, and keys that have keys of their own. */
static void add_keys(char **sources)
{
    static const char *const files[] = {"experiment", "results", "task", NULL};
    for (size_t i = 0; files[i] != NULL; i++)
        add(sources, "word:", files[i]);
    for (const dsgd_option *o = dsgd_experiment_options; o->name != NULL; o++)
        if (o->fields != NULL && o->kind != DSGD_PICK && kind_of(o->name) == NULL)
            add(sources, "word:", o->name);
}

static void add_name(char **sources, const dsgd_command *command, const char *before)
{
    const char *const of_word = kind_of(before);
    const char *const of_command = kind_of(command->name);
    if (strcmp(before, "KIND") == 0)
        add(sources, "named", "");
    else if (of_word != NULL || of_command != NULL)
        add(sources, "list:", of_word != NULL ? of_word : of_command);
}

/** The kind that a word in capitals is one of, such as ALGORITHM; NULL: none. */
static const char *kind_in_capitals(const char *word)
{
    char *const small = dsgd_xstrdup(word);
    for (char *c = small; *c != '\0'; c++)
        *c = (char)('A' <= *c && *c <= 'Z' ? *c - 'A' + 'a' : *c);
    const char *const kind = kind_of(small);
    free(small);
    return kind;
}

/** One of the alternatives at a place; in small letters, a word as it is. */
static void add_alternative(char **sources, const dsgd_command *command, const char *before,
                            const char *word)
{
    if ('a' <= word[0] && word[0] <= 'z')
        add(sources, "word:", word);
    else if (strcmp(word, "KIND") == 0)
        add_kinds(sources, command == &dsgd_command_describe);
    else if (strcmp(word, "NAME") == 0)
        add_name(sources, command, before);
    else if (strcmp(word, "DIR") == 0)
        add(sources, "folders", "");
    else if (kind_in_capitals(word) != NULL)
        add(sources, "list:", kind_in_capitals(word));
    else
        add(sources, "files", "");
}

/** The words of a syntax's operands, each without [] and ..., NULL at the end; the last may repeat. */
static size_t split(char *text, char **words, size_t most, bool *repeats)
{
    size_t n = 0;
    *repeats = strstr(text, "...") != NULL;
    for (char *rest = text, *word = NULL; n < most && (word = strsep(&rest, " []")) != NULL;) {
        word[strcspn(word, ".")] = '\0'; /* FILE.csv, NAME... */
        if (*word != '\0')
            words[n++] = word;
    }
    return n;
}

enum { MOST_PLACES = 8 };

size_t dsgd_operand_places(const dsgd_command *command, bool *repeats)
{
    char *words[MOST_PLACES];
    char *const text = dsgd_xstrdup(dsgd_syntax_of(command).operands);
    const size_t n = split(text, words, MOST_PLACES, repeats);
    free(text);
    return n;
}

char *dsgd_sources_of_operand(const dsgd_command *command, size_t i)
{
    char *words[MOST_PLACES] = {NULL};
    bool repeats = false;
    char *const text = dsgd_xstrdup(dsgd_syntax_of(command).operands);
    const size_t n = split(text, words, MOST_PLACES, &repeats);
    /* `KIND NAME|KEYS`: KEYS stand in place of both. */
    char *const keys = n > 1 ? strstr(words[n - 1], "|KEYS") : NULL;
    if (keys != NULL)
        *keys = '\0';
    char *sources = dsgd_xstrdup("");
    for (char *rest = words[i], *word = NULL; (word = strsep(&rest, "|")) != NULL;)
        add_alternative(&sources, command, i > 0 ? words[i - 1] : "", word);
    if (i == 0 && keys != NULL)
        add_keys(&sources);
    free(text);
    return sources;
}

char *dsgd_sources_of_key(const dsgd_option *key)
{
    char *sources = dsgd_xstrdup("");
    if (key->kind == DSGD_BOOL) {
        add(&sources, "word:", "true");
        add(&sources, "word:", "false");
    }
    for (size_t i = 0; key->words != NULL && key->words[i] != NULL; i++)
        add(&sources, "word:", key->words[i]);
    for (size_t i = 0; key->registry != NULL && key->registry[i] != NULL; i++)
        add(&sources, "word:", key->registry[i]->name);
    if (key->shipped != NULL)
        add(&sources, "list:", key->shipped);
    return sources;
}

void dsgd_visit_keys(FILE *stream,
                     void (*visit)(FILE *stream, const char *name, const dsgd_option *key))
{
    for (const dsgd_option *o = dsgd_experiment_options; o->name != NULL; o++) {
        const bool section = o->kind == DSGD_RECORD && o->shipped == NULL;
        if (!section)
            visit(stream, o->name, o);
        for (const dsgd_option *below = section ? o->fields : NULL;
             below != NULL && below->name != NULL; below++) {
            char *const name = dsgd_xprintf("%s.%s", o->name, below->name);
            visit(stream, name, below);
            free(name);
        }
    }
}
