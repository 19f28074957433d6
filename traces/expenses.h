/**
 * @file expenses.h
 * What a platform's GPUs draw and cost while they run.
 */
#ifndef DSGD_TRACES_EXPENSES_H
#define DSGD_TRACES_EXPENSES_H

#include <stdbool.h>

#include "traces/platform.h"

/**
 * Joules of @p n_gpus GPUs in @p virtual_s seconds; each computes the share @p compute_share of them:
 * busy_power while it computes, idle_power while it waits or communicates. NAN: the platform does
 * not say. Without processors, servers, network and cooling.
 */
double dsgd_platform_energy_j(const dsgd_platform *platform, int n_gpus, double virtual_s,
                              double compute_share);

enum { DSGD_MOST_CURRENCY = 15 };

/** Of one GPU for an hour. */
typedef struct dsgd_price {
    double per_hour;
    char currency[DSGD_MOST_CURRENCY + 1];
} dsgd_price;

/** Reads the platform's price; false where it has none, or what it has is no price. */
bool dsgd_platform_price(const dsgd_platform *platform, dsgd_price *price);

/** DSGD_EUSAGE with a sentence where powers or price mean nothing. */
dsgd_status dsgd_platform_check_expenses(const dsgd_platform *platform, dsgd_error *error);

#endif
