/**
 * @file attribution.h
 * Where the time of an experiment's runs went, and what would be gained without what took it.
 */
#ifndef DSGD_COMMAND_EXPLAIN_ATTRIBUTION_H
#define DSGD_COMMAND_EXPLAIN_ATTRIBUTION_H

#include "command/explain/explain.h"

/** Simulates; prints a table per algorithm, or writes a figure. Plug-ins are loaded. */
dsgd_status dsgd_attribution(const dsgd_explain_options *options, dsgd_error *error);

#endif
