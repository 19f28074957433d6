/**
 * @file crossbars.h
 * Declares functions that write SimGrid XML for one crossbar and for groups of crossbars.
 */
#pragma once

#include "traces/shapes/shape.h"

void dsgd_switch_write(FILE *xml, const dsgd_platform *platform, int n_hosts);
void dsgd_groups_write(FILE *xml, const dsgd_platform *platform, int n_hosts);

/**
 * Writes a link called @p name followed by the number @p i. @p sharing is SimGrid's sharing policy.
 */
void dsgd_xml_link(FILE *xml, const char *name, int i, double bytes_per_s, double latency_s,
                   const char *sharing);
