/**
 * @file tables.h
 * The command lines of dsgd as tables: what the program reads them by.
 */
#ifndef DSGD_PACKAGING_PAGES_TABLES_H
#define DSGD_PACKAGING_PAGES_TABLES_H

#include <stdio.h>

#include "base/option.h"
#include "command/commands.h"
#include "command/console/arguments.h"

/** The syntax of a sub-command, as it hands it to dsgd_parse(). Its texts live as long as the program. */
dsgd_syntax dsgd_syntax_of(const dsgd_command *command);

/** Whether an option's value may stand in the next word. */
bool dsgd_takes_word(const dsgd_argument *option);

/** Writes dsgd.1 or, of that program alone, dsgd-replay.1. @p date: 2026-11-23. */
void dsgd_print_man(FILE *stream, const char *date);
void dsgd_print_replay_man(FILE *stream, const char *date);

/** Write what a shell completes of every command, for the functions in packaging/completions/. */
void dsgd_print_bash(FILE *stream);
void dsgd_print_zsh(FILE *stream);
void dsgd_print_fish(FILE *stream);

/**
 * What may stand at a place of a command line, as words for those functions: `files`, `folders`,
 * `word:WORD`, `list:KIND` (names that `dsgd list KIND` has), `named` (those of the kind in the word
 * before), `sets` (KEY=VALUE of an experiment). The caller frees them.
 */
char *dsgd_sources_of_option(const dsgd_argument *option);
/** Of operand @p i < dsgd_operand_places(). */
char *dsgd_sources_of_operand(const dsgd_command *command, size_t i);
/** Of the value of a key of an experiment, or of a key below it. */
char *dsgd_sources_of_key(const dsgd_option *key);

/** How many operands a command has by its syntax; the last may come more than once if *repeats. */
size_t dsgd_operand_places(const dsgd_command *command, bool *repeats);

/** Calls @p visit with every key that `--set` is completed with, such as `exchange.pieces`. */
void dsgd_visit_keys(FILE *stream,
                     void (*visit)(FILE *stream, const char *name, const dsgd_option *key));

#endif
