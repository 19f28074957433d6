/**
 * @file arguments.c
 * Parses command lines with argp, from tables of options.
 */
#include "command/console/arguments.h"

#include <argp.h>
#include <jansson.h>

#include "base/option.h"

const char *const dsgd_numerics_words[] = {"auto", "cpu", "cuda", "off", NULL};
const char *const dsgd_computing_words[] = {"auto", "cpu", "cuda", NULL};

typedef struct parser {
    const dsgd_syntax *syntax;
    char *arguments;
} parser;

enum {
    /*
     * argp key of the first option in a table; an option with a letter uses this letter as its key
     */
    FIRST_KEY = 256
};

static int key_of(const dsgd_argument *options, size_t i)
{
    return options[i].letter != 0 ? options[i].letter : FIRST_KEY + (int)i;
}

static void store(const dsgd_argument *o, void *field, const char *text, struct argp_state *state)
{
    if (o->gone != NULL)
        argp_error(state, "--%s: %s", o->name, o->gone);
    switch (o->kind) {
    case DSGD_ARGUMENT_FLAG:
        *(bool *)field = true;
        break;
    case DSGD_ARGUMENT_TEXT:
        *(const char **)field = text == NULL ? o->implied : text;
        break;
    case DSGD_ARGUMENT_TEXTS: {
        dsgd_texts *const texts = field;
        if (texts->n == DSGD_MOST_TEXTS)
            argp_error(state, "--%s can be repeated at most %d times", o->name, DSGD_MOST_TEXTS);
        texts->v[texts->n++] = text;
        break;
    }
    case DSGD_ARGUMENT_COUNT: {
        char *end = NULL;
        const int64_t number = strtoll(text, &end, 10);
        if (*text == '\0' || *end != '\0' || number < 1 || number > 1000000)
            argp_error(state, "--%s must be a whole number between 1 and 1000000, got %s", o->name,
                       text);
        *(int64_t *)field = number;
        break;
    }
    case DSGD_ARGUMENT_SECONDS:
        if (!dsgd_parse_number(text, "s", field) || !(*(double *)field > 0))
            argp_error(state, "--%s must be a duration above 0, such as 90s, 30min or 2h, got %s",
                       o->name, text);
        break;
    case DSGD_ARGUMENT_WORD:
        *(int *)field = dsgd_find_word(o->words, text);
        if (*(int *)field < 0)
            argp_error(state, "--%s must be %s, got %s", o->name, dsgd_listed(o->words, " or "),
                       text);
    }
}

static error_t parse(int key, char *text, struct argp_state *state)
{
    const parser *const p = state->input;
    const dsgd_argument *const options = p->syntax->options;
    if (key == ARGP_KEY_ARGS) {
        *(dsgd_operands *)(void *)p->arguments =
            (dsgd_operands){(size_t)(state->argc - state->next), state->argv + state->next};
        return 0;
    }
    for (size_t i = 0; options != NULL && options[i].name != NULL; i++)
        if (key == key_of(options, i)) {
            store(&options[i], p->arguments + options[i].offset, text, state);
            return 0;
        }
    return ARGP_ERR_UNKNOWN;
}

/** Prints the options of a sub-command as JSON. Omits options of earlier versions. */
static void print_json(const dsgd_syntax *syntax)
{
    json_t *const options = json_array();
    for (const dsgd_argument *o = syntax->options; o != NULL && o->name != NULL; o++) {
        json_t *const words = json_array();
        for (size_t i = 0; o->words != NULL && o->words[i] != NULL; i++)
            json_array_append_new(words, json_string(o->words[i]));
        json_t *const option =
            json_pack("{s:s, s:s#, s:s?, s:s?, s:s?, s:b, s:o}", "name", o->name, "letter",
                      &o->letter, o->letter != 0, "value", o->value, "implied", o->implied, "help",
                      o->help, "repeats", o->kind == DSGD_ARGUMENT_TEXTS, "words", words);
        if (o->gone == NULL)
            json_array_append(options, option);
    }
    json_t *const json = json_pack("{s:s, s:s, s:o}", "operands", syntax->operands, "help",
                                   syntax->help, "options", options);
    json_dumpf(json, stdout, JSON_INDENT(1));
    putchar('\n');
}

dsgd_status dsgd_parse(int count, char **words, const dsgd_syntax *syntax, void *arguments,
                       dsgd_error *error)
{
    if (count == 2 && strcmp(words[1], "--help=json") == 0) {
        print_json(syntax);
        exit(DSGD_OK);
    }
    size_t n = 0;
    while (syntax->options != NULL && syntax->options[n].name != NULL)
        n++;
    struct argp_option *const options = dsgd_keep(n + 1, sizeof *options);
    for (size_t i = 0; i < n; i++) {
        const dsgd_argument *const o = &syntax->options[i];
        options[i] = (struct argp_option){.name = o->name,
                                          .key = key_of(syntax->options, i),
                                          .arg = o->value,
                                          .flags = (o->implied == NULL ? 0 : OPTION_ARG_OPTIONAL) |
                                                   (o->gone == NULL ? 0 : OPTION_HIDDEN),
                                          .doc = o->help};
    }
    const struct argp argp = {
        .options = options, .parser = parse, .args_doc = syntax->operands, .doc = syntax->help};
    parser p = {syntax, arguments};
    argp_parse(&argp, count, words, 0, NULL, &p);
    const size_t n_operands = ((const dsgd_operands *)arguments)->n;
    if (n_operands < syntax->least || n_operands > syntax->most)
        return dsgd_refuse(error, "%s", syntax->expected);
    return DSGD_OK;
}
