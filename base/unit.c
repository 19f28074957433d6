/**
 * @file unit.c The table of units and their suffixes.
 */
#include "base/unit.h"

#include "base/status.h"

static const dsgd_suffix seconds[] = {{"s", 1},     {"ms", 1e-3}, {"us", 1e-6},
                                      {"µs", 1e-6}, {"ns", 1e-9}, {"min", 60},
                                      {"h", 3600},  {"d", 86400}, {NULL, 0}};
static const dsgd_suffix bytes[] = {
    {"k", 1e3},      {"M", 1e6},     {"G", 1e9},    {"T", 1e12},     {"B", 1},
    {"kB", 1e3},     {"MB", 1e6},    {"GB", 1e9},   {"TB", 1e12},    {"Ki", 1024},
    {"Mi", 0x1p20},  {"Gi", 0x1p30}, {"KiB", 1024}, {"MiB", 0x1p20}, {"GiB", 0x1p30},
    {"TiB", 0x1p40}, {NULL, 0}};
static const dsgd_suffix bytes_per_s[] = {
    {"kBps", 1e3},     {"MBps", 1e6},     {"GBps", 1e9},   {"kB/s", 1e3},     {"MB/s", 1e6},
    {"GB/s", 1e9},     {"B/s", 1},        {"TB/s", 1e12},  {"MiB/s", 0x1p20}, {"GiB/s", 0x1p30},
    {"Mb/s", 125e3},   {"Gb/s", 125e6},   {"Tb/s", 125e9}, {"Mbps", 125e3},   {"Gbps", 125e6},
    {"Mbit/s", 125e3}, {"Gbit/s", 125e6}, {NULL, 0}};
static const dsgd_suffix flops[] = {{"Mf", 1e6},       {"Gf", 1e9},      {"Tf", 1e12},
                                    {"flop/s", 1},     {"Gflop/s", 1e9}, {"Tflop/s", 1e12},
                                    {"Pflop/s", 1e15}, {"GFLOPS", 1e9},  {"TFLOPS", 1e12},
                                    {"PFLOPS", 1e15},  {NULL, 0}};
static const dsgd_suffix watts[] = {{"W", 1}, {"kW", 1e3}, {NULL, 0}};
static const dsgd_suffix s_per_byte[] = {{"ps", 1e-12},  {"ns", 1e-9},    {"us", 1e-6},
                                         {"s/B", 1},     {"ps/B", 1e-12}, {"ns/B", 1e-9},
                                         {"us/B", 1e-6}, {NULL, 0}};
static const dsgd_suffix per_s[] = {{"/s", 1},         {"Hz", 1},         {"kHz", 1e3},
                                    {"/min", 1 / 60.}, {"/h", 1 / 3600.}, {NULL, 0}};
static const dsgd_suffix parameters[] = {
    {"k", 1e3}, {"M", 1e6}, {"B", 1e9}, {"T", 1e12}, {NULL, 0}};
static const dsgd_suffix shares[] = {{"%", 0.01}, {NULL, 0}};

/*
 * All units. A column has the first unit that fits the end of its name. Rates therefore precede the
 * unit of time: the end of their names is also the name of the unit of time.
 */
static const dsgd_unit units[] = {
    {"bytes/s", "bytes_per_s", "bytes_per_s", "B/s", bytes_per_s},
    {"flop/s", "flop_per_s", "flop_per_s", "f", flops},
    {"bytes", "bytes", "bytes", "B", bytes},
    {"s", "s", "seconds", "s", seconds},
    {"W", "w", "_w", "W", watts},
    {"s/B", NULL, NULL, NULL, s_per_byte},
    {"1/s", NULL, NULL, NULL, per_s},
    {"share", NULL, NULL, NULL, shares},
    {"parameters", NULL, NULL, NULL, parameters},
};

enum { N_UNITS = sizeof units / sizeof units[0] };

const dsgd_unit *dsgd_unit_named(const char *name)
{
    for (size_t k = 0; name != NULL && k < N_UNITS; k++)
        if (strcmp(units[k].name, name) == 0)
            return &units[k];
    return NULL;
}

const dsgd_unit *dsgd_unit_of_column(const char *column, size_t *stem)
{
    const size_t length = strlen(column);
    for (size_t k = 0; k < N_UNITS && units[k].column != NULL; k++) {
        /* number of bytes of the column's ending, including the `_` */
        const size_t n = strlen(units[k].column) + 1;
        const bool behind =
            length >= n && column[length - n] == '_' && dsgd_ends_with(column, units[k].column);
        *stem = behind ? length - n : length;
        if (behind || dsgd_ends_with(column, units[k].word))
            return &units[k];
    }
    *stem = length;
    return NULL;
}

const dsgd_suffix dsgd_time_words[] = {{"s", 1},
                                       {"sec", 1},
                                       {"secs", 1},
                                       {"second", 1},
                                       {"seconds", 1},
                                       {"ms", 1e-3},
                                       {"msec", 1e-3},
                                       {"milliseconds", 1e-3},
                                       {"us", 1e-6},
                                       {"usec", 1e-6},
                                       {"microseconds", 1e-6},
                                       {"ns", 1e-9},
                                       {"nanoseconds", 1e-9},
                                       {"min", 60},
                                       {"minutes", 60},
                                       {NULL, 0}};
