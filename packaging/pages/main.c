/**
 * @file main.c
 * dsgd-pages: writes the man pages and shell completions of dsgd, out of the tables by which it reads
 * its command lines. Built on the way; not installed.
 */
#include <stdio.h>
#include <string.h>

#include "packaging/pages/tables.h"

const char *argp_program_version = "dsgd-pages"; /* which command/console/arguments.c refers to */

/** Copies a file, with the table in place of its line `@table@`. */
static bool fill(FILE *page, const char *template, void (*print_table)(FILE *stream))
{
    FILE *const file = fopen(template, "r");
    if (file == NULL)
        return false;
    char line[256];
    while (fgets(line, sizeof line, file) != NULL) {
        if (strcmp(line, "@table@\n") == 0)
            print_table(page);
        else
            fputs(line, page);
    }
    return fclose(file) == 0;
}

/** Writes a page; @p of is the date of a man page, or the file that a completion is made of. */
static bool write_page(FILE *page, const char *what, const char *of)
{
    if (strcmp(what, "bash") == 0)
        return fill(page, of, dsgd_print_bash);
    if (strcmp(what, "zsh") == 0)
        return fill(page, of, dsgd_print_zsh);
    if (strcmp(what, "fish") == 0)
        return fill(page, of, dsgd_print_fish);
    if (strcmp(what, "man") == 0)
        dsgd_print_man(page, of);
    else
        dsgd_print_replay_man(page, of);
    return true;
}

int main(int count, char **words)
{
    if (count != 4) {
        fputs("Usage: dsgd-pages man|replay-man DATE PAGE, or bash|zsh|fish TEMPLATE PAGE\n",
              stderr);
        return 2;
    }
    FILE *const page = fopen(words[3], "w");
    const bool written = page != NULL && write_page(page, words[1], words[2]);
    if (!written || fclose(page) != 0) {
        perror(words[3]);
        return 3;
    }
    return 0;
}
