/**
 * @file test_option.c
 * Tests how option values are read. Numbers have units. For an unknown name, the program suggests
 * the nearest known name.
 */
#include "base/option.h"
#include "base/unit.h"
#include "models/data/data.h"
#include "models/encodings/params.h"
#include "models/zoo/model.h"
#include "sim/graph.h"
#include "sim/registry.h"
#include "tests/support/suite.h"
#include "traces/imbalance.h"

static const struct {
    const char *text, *unit;
    double number; /* expected value, or NAN if the text must be rejected */
} numbers[] = {
    {"320ms", "s", 0.32},
    {"25us", "s", 25e-6},
    {"2min", "s", 120},
    {"1.5", "s", 1.5},
    {"16M", "bytes", 16e6},
    {"4KiB", "bytes", 4096},
    {"10GB/s", "bytes/s", 1e10},
    {"1e-9", NULL, 1e-9},
    {"0.1ns", "s/B", 1e-10},
    {"10ps/B", "s/B", 1e-11},
    {"3GB", "s/B", NAN},
    {"", "s", NAN},
    {" 1", "s", NAN},
    {"1 s", "s", 1},
    {"1  s", "s", NAN},
    {"25 %", "share", 0.25},
    {"5 apples", "s", NAN},
    {"nan", NULL, NAN},
    {"inf", "s", NAN},
    {"0x10", NULL, NAN},
    {"1e999", NULL, NAN},
    {"3ms", "bytes", NAN},
    {"3ms", NULL, NAN},
    {"-2", NULL, -2},
};

SUITE(option, "option");

TEST_ROWS(numbers_are_read_with_their_units, numbers)
{
    double got = 0;
    const bool read = dsgd_parse_number(numbers[_i].text, numbers[_i].unit, &got);
    ck_assert_msg(read == !isnan(numbers[_i].number), "\"%s\"", numbers[_i].text);
    if (read)
        ck_assert_double_eq_tol(got, numbers[_i].number, 1e-15 * fabs(got));
}

/* The name of a column, its unit, and the part of the name before the unit. */
static const struct {
    const char *column, *unit, *stem;
} columns[] = {
    {"latency_s", "s", "latency"},
    {"encoding_bytes_per_s", "bytes/s", "encoding"},
    {"piece_bytes", "bytes", "piece"},
    {"bytes", "bytes", "bytes"},
    {"wait_seconds", "s", "wait_seconds"},
    {"node_flop_per_s", "flop/s", "node"},
    {"idle_w", "W", "idle"},
    {"workers", NULL, "workers"},
    {"s", NULL, "s"},
};

TEST_ROWS(columns_end_with_their_units, columns)
{
    size_t stem = 0;
    const dsgd_unit *const unit = dsgd_unit_of_column(columns[_i].column, &stem);
    ck_assert_pstr_eq(unit == NULL ? NULL : unit->name, columns[_i].unit);
    ck_assert_uint_eq(stem, strlen(columns[_i].stem));
}

TEST(the_nearest_name_is_the_intended_one)
{
    static const char *const names[] = {"allreduce", "eager_solo", "wagma", "ad_psgd", NULL};
    ck_assert_str_eq(dsgd_nearest("wagam", names), "wagma");
    ck_assert_str_eq(dsgd_nearest("allredcue", names), "allreduce");
    ck_assert_str_eq(dsgd_nearest("AD_PSGD", names), "ad_psgd");
    ck_assert_str_eq(dsgd_nearest("psgd", names), "ad_psgd");
    ck_assert_ptr_null(dsgd_nearest("zookeeper", names));
    ck_assert_ptr_null(dsgd_nearest("o", names));
    const char *const texts[] = {dsgd_hint("wagam", names), dsgd_hint("zookeeper", names),
                                 dsgd_listed((const char *const[]){"a", "b", "c", NULL}, " or "),
                                 dsgd_listed(NULL, ", ")};
    const char *const expected[] = {" (did you mean `wagma`?)", "", "a, b or c", ""};
    for (size_t k = 0; k < sizeof texts / sizeof texts[0]; k++) {
        ck_assert_str_eq(texts[k], expected[k]);
    }
}

/* --- tables ----------------------------------------------------------------------------------- */

TEST(all_shipped_tables_are_valid)
{
    const dsgd_entry *const *const registries[] = {dsgd_algorithms,     dsgd_graph_kinds,
                                                   dsgd_encoding_kinds, dsgd_model_kinds,
                                                   dsgd_data_sources,   dsgd_imbalance_kinds};
    for (size_t r = 0; r < sizeof registries / sizeof *registries; r++)
        for (const dsgd_entry *const *about = registries[r]; *about != NULL; about++) {
            dsgd_error why = {""};
            ck_assert_msg(dsgd_entry_check(*about, &why) == DSGD_OK, "%s: %s", (*about)->name,
                          why.text);
            ck_assert_msg((*about)->options == NULL || (*about)->n_options > 0, "%s",
                          (*about)->name);
        }
}

typedef struct row_params {
    int way;
    dsgd_spec graph;
} row_params;

static const char *const ways[] = {"here", "there", NULL};

static const struct {
    dsgd_option row;
    size_t bytes;
    const char *sentence;
} wrong_rows[] = {
    {DSGD_OPTION_CHOICE(row_params, way, ways, "a way", .init = 2), sizeof(row_params),
     "the default of option `way` must be the index of one of its 2 words, got 2"},
    {DSGD_OPTION_CHOICE(row_params, way, ways, NULL), sizeof(row_params), "`way` has no help"},
    {DSGD_OPTION_CHOICE(row_params, way, ways, "a way"), sizeof(int) - 1, "of a struct of 3"},
    {DSGD_OPTION_GRAPH(row_params, graph, "rink", "a graph"), sizeof(row_params),
     "the default of option `graph` must be a name in its registry, got `rink`"},
    {{.name = (const char *)8, .kind = (dsgd_option_kind)99}, 0, "DSGD_OPTION_END is missing"},
    {{.name = (const char *)8, .kind = DSGD_LONG, .offset = 64},
     8,
     "at byte 64 of a struct of 8 bytes"},
    {{.name = NULL}, 8, "DSGD_OPTION_END is missing after row 0"},
};

TEST_ROWS(a_wrong_row_costs_a_sentence, wrong_rows)
{
    const dsgd_option table[] = {wrong_rows[_i].row, DSGD_OPTION_END};
    const dsgd_entry about = {
        .name = "x", .summary = "y", .params_size = wrong_rows[_i].bytes, .options = table};
    dsgd_error why = {""};
    ck_assert_int_eq(dsgd_entry_check(&about, &why), DSGD_EUSAGE);
    ck_assert_msg(strstr(why.text, wrong_rows[_i].sentence) != NULL, "%s", why.text);
}
