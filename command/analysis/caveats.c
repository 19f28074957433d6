/**
 * @file caveats.c
 * Finds facts that limit a comparison: different collectives, defaults that no run varies, random
 * runs, and missing runs.
 */
#include "command/analysis/caveats.h"

#include "base/option.h"
#include "command/analysis/run_table.h"
#include "command/console/table.h"

/**
 * Returns the collective that a run uses. Returns "" if the run uses no collective, or if an
 * earlier version of dsgd wrote the table.
 */
static const char *collective_of(const dsgd_csv *runs, size_t row)
{
    const char *const partial = dsgd_field_of(runs, row, "partial_collective");
    return dsgd_csv_column(runs, "partial_collective") == runs->n_columns ? ""
           : *partial == '\0' ? dsgd_field_of(runs, row, "collective")
                              : partial;
}

const char *dsgd_mixed_collectives(const dsgd_csv *runs)
{
    dsgd_frame f;
    if (dsgd_frame_open(runs, &(dsgd_framing){.planned = true}, &f, NULL) != DSGD_OK)
        return NULL;
    /*
     * for each setting, 1 + the index of its first row with a collective; 0 if no such row was
     * found
     */
    size_t *const first = dsgd_keep(f.n[DSGD_PLACE] + 1, sizeof *first);
    for (size_t row = 0; row < runs->n_rows; row++) {
        const dsgd_frame_point *const p = &f.points[f.point_of[row]];
        size_t *const at = &first[p->at[DSGD_PLACE]];
        if (p->at[DSGD_VARIATION] > 0 || *collective_of(runs, row) == '\0')
            continue;
        *at = *at == 0 ? row + 1 : *at;
        const char *const by[] = {collective_of(runs, *at - 1), collective_of(runs, row)};
        const char *const names[] = {dsgd_csv_field(runs, *at - 1, f.keys[0]),
                                     dsgd_csv_field(runs, row, f.keys[0])};
        /* The algorithms of the two rows also differ, so the collective is not a swept value. */
        if (strcmp(by[0], by[1]) != 0 && strcmp(names[0], names[1]) != 0)
            return dsgd_xprintf(
                "%s uses the collective %s, but %s uses %s, so a difference between "
                "them may come from the collectives; exchange: {collective, "
                "partial_collective} sets both",
                names[0], by[0], names[1], by[1]);
    }
    return NULL;
}

void dsgd_warn_of_mixed_collectives(FILE *stream, const dsgd_csv *runs)
{
    const char *const sentence = dsgd_mixed_collectives(runs);
    if (sentence != NULL)
        dsgd_print_wrapped(stream, "note:", 6, DSGD_TEXT_WIDTH, sentence);
}

bool dsgd_is_by_chance(const json_t *run)
{
    return !json_is_false(json_object_get(run, "by_chance"));
}

double dsgd_run_learning_rate(const json_t *run)
{
    const json_t *const rate = json_object_get(dsgd_run_option(run, "learn", "optimizer"), "lr");
    return json_is_number(rate) ? json_number_value(rate) : NAN;
}

const char *dsgd_partial_results(const dsgd_csv *runs, const json_t *manifest)
{
    const size_t n = json_array_size(json_object_get(manifest, "runs"));
    return runs->n_rows >= n
               ? ""
               : dsgd_xprintf("Partial results: %zu of %zu runs are done, so the winner is open. "
                              "The same command, without --only or --shard, does the rest.",
                              runs->n_rows, n);
}

/* --- defaults --------------------------------------------------------------------------------- */

/** Returns true if a sweep or --sensitivity varies the value of an option. */
static bool is_varied(const dsgd_frame *f, const char *option)
{
    for (size_t k = 0; k < f->n_keys; k++)
        if (f->n_values[k] > 1 && strstr(dsgd_frame_key(f, k), option) != NULL)
            return true;
    return f->n[DSGD_VARIATION] > 1;
}

/**
 * Returns true if a key in a part of a run's configuration has the value @p name. The value is a
 * word, or an object whose name is compared.
 */
static bool is_named(const json_t *run, const char *part, const char *key, const char *name)
{
    const json_t *const member = dsgd_run_option(run, part, key);
    const char *const text =
        json_string_value(json_is_string(member) ? member : json_object_get(member, "name"));
    return text != NULL && strcmp(text, name) == 0;
}

/** Returns true if a run compresses gradients at a speed that the program only estimates. */
static bool guesses_compression_speed(const json_t *run)
{
    return is_named(run, "platform", "encoding", "memory") &&
           (json_is_object(dsgd_run_option(run, "exchange", "encoding")) ||
            dsgd_run_option(run, "algorithm", "encoding") != NULL ||
            dsgd_run_option(run, "algorithm", "density") != NULL ||
            dsgd_run_option(run, "algorithm", "rank") != NULL);
}

const char *dsgd_unvaried_defaults(const dsgd_frame *f, const json_t *manifest)
{
    bool cuts = false, compresses = false;
    for (size_t row = 0; row < f->csv->n_rows; row++) {
        const json_t *const run = dsgd_run_of(manifest, f->csv, row);
        cuts = cuts || (is_named(run, "exchange", "pieces", "buckets") &&
                        dsgd_csv_value(f->csv, row, dsgd_csv_column(f->csv, "pieces")) > 1);
        compresses = compresses || guesses_compression_speed(run);
    }
    const struct {
        bool is_open;
        const char *option, *text;
    } all[] = {{cuts, "exchange.pieces", "how vectors are cut into chunks (buckets)"},
               {compresses, "platform.encoding", "the speed of gradient compression (a guess)"}};
    const char *const file = json_string_value(json_object_get(manifest, "file"));
    const char *const given = json_string_value(json_object_get(manifest, "command"));
    dsgd_names names = {.n = 0};
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++)
        if (all[k].is_open && !is_varied(f, all[k].option))
            dsgd_names_add(&names, all[k].text);
    if (names.n == 0)
        return "";
    return dsgd_xprintf(
        "These defaults may decide the result and were not varied: %s. To vary them, run `%s` with "
        "--sensitivity=choices and another folder (-o).",
        dsgd_listed(names.v, ", "),
        given != NULL && strncmp(given, "dsgd run ", strlen("dsgd run ")) == 0
            ? given
            : dsgd_xprintf("dsgd run %s", file == NULL ? "FILE" : file));
}
