/**
 * @file timeline.h
 * An example of a timeline.
 */
#ifndef DSGD_COMMAND_INSIDE_TIMELINE_TIMELINE_H
#define DSGD_COMMAND_INSIDE_TIMELINE_TIMELINE_H

#include "base/status.h"

/**
 * Prints what four workers do under an algorithm, one of them slow, by the run of it in
 * plots/timeline/timeline.yaml; nothing where it refuses them. Simulates.
 */
void dsgd_timeline_print_example(const char *algorithm);

#endif
