/**
 * @file replay.h
 * `dsgd replay`, also the program dsgd-replay, which needs no simulator.
 */
#ifndef DSGD_COMMAND_REPLAY_H
#define DSGD_COMMAND_REPLAY_H

#include "base/status.h"

#define DSGD_REPLAY_SUMMARY "computes what `dsgd run --record` wrote down, and writes curves.csv"

/** @p words begin with the name of the command. */
dsgd_status dsgd_command_replay_run(int count, char **words, dsgd_error *error);

#endif
