/**
 * @file doubts.c
 * What differences may come from that nobody asked for: collectives, and defaults that were not
 * varied.
 */
#include "base/option.h"
#include "command/analysis/comparison.h"
#include "command/analysis/verdict.h"
#include "command/console/table.h"

/* --- collectives ------------------------------------------------------------------------------ */

/** By which collective a run sums; "": it does not, or the table is of an earlier version. */
static const char *collective_of(const dsgd_csv *runs, size_t row)
{
    if (dsgd_csv_column(runs, "partial_collective") == runs->n_columns)
        return "";
    const char *const partial = dsgd_field_of(runs, row, "partial_collective");
    return *partial == '\0' ? dsgd_field_of(runs, row, "collective") : partial;
}

const char *dsgd_mixed_collectives(const dsgd_csv *runs)
{
    dsgd_frame f;
    if (dsgd_frame_open(runs, &(dsgd_framing){.planned = true}, &f, NULL) != DSGD_OK)
        return NULL;
    size_t *const first = dsgd_keep(f.n[DSGD_PLACE] + 1, sizeof *first); /* row + 1 */
    for (size_t row = 0; row < runs->n_rows; row++) {
        const dsgd_frame_point *const p = &f.points[f.point_of[row]];
        size_t *const at = &first[p->at[DSGD_PLACE]];
        const char *const collective = collective_of(runs, row);
        if (p->at[DSGD_VARIATION] > 0 || *collective == '\0')
            continue;
        if (*at == 0)
            *at = row + 1;
        const char *const other = collective_of(runs, *at - 1);
        const char *const names[] = {dsgd_csv_field(runs, *at - 1, f.keys[0]),
                                     dsgd_csv_field(runs, row, f.keys[0])};
        if (strcmp(collective, other) != 0 && strcmp(names[0], names[1]) != 0) /* not swept */
            return dsgd_xprintf("%s sums by %s, %s by %s, so that a difference between them may "
                                "be one of collectives; exchange: {collective, "
                                "partial_collective} sets them",
                                names[0], other, names[1], collective);
    }
    return NULL;
}

void dsgd_warn_of_mixed_collectives(FILE *stream, const dsgd_csv *runs)
{
    const char *const sentence = dsgd_mixed_collectives(runs);
    if (sentence != NULL)
        dsgd_print_wrapped(stream, "note:", 6, DSGD_TEXT_WIDTH, sentence);
}

/* --- what was not varied ---------------------------------------------------------------------- */

/**
 * Whether some run has another value of an option, as a sweep or as a parameter of --sensitivity.
 */
static bool is_varied(const dsgd_frame *f, const char *option)
{
    for (size_t k = 0; k < f->n_keys; k++) {
        const char *const key = dsgd_frame_key(f, k);
        const bool names = strcmp(key, "parameter") == 0;
        if (!names && f->n_values[k] > 1 && strstr(key, option) != NULL)
            return true;
        for (size_t i = 0; names && i < f->n_points; i++)
            if (strncmp(dsgd_frame_value(f, &f->points[i], k), option, strlen(option)) == 0)
                return true;
    }
    return false;
}

/** Whether a member of a run's configuration is this word. */
static bool is_word(const json_t *run, const char *part, const char *key, const char *word)
{
    const char *const text = json_string_value(dsgd_run_option(run, part, key));
    return text != NULL && strcmp(text, word) == 0;
}

/** Whether a run encodes, by options of algorithms and exchanges that say how, at a speed that
 * nobody stated. */
static bool guesses_encoder(const json_t *run)
{
    const json_t *const algorithm = json_object_get(run, "algorithm");
    return is_word(run, "platform", "encoding", "memory") &&
           (json_is_object(dsgd_run_option(run, "exchange", "encoding")) ||
            json_object_get(algorithm, "encoding") != NULL ||
            json_object_get(algorithm, "density") != NULL ||
            json_object_get(algorithm, "rank") != NULL);
}

/** The name of a member: a word, or what a table of options has chosen. */
static const char *name_in(const json_t *object, const char *key)
{
    const json_t *const member = json_object_get(object, key);
    const char *const name =
        json_string_value(json_is_string(member) ? member : json_object_get(member, "name"));
    return name == NULL ? "" : name;
}

/** Whether some entry of an imbalance is drawn. */
static bool is_drawn(const json_t *manifest, const json_t *entries)
{
    const json_t *const kinds = json_object_get(manifest, "imbalance_draws");
    bool any = false;
    size_t i = 0;
    const json_t *entry = NULL;
    json_array_foreach(entries, i, entry) any =
        any || !json_is_false(json_object_get(kinds, name_in(entry, "name"))) ||
        json_is_true(json_object_get(entry, "resample"));
    return any;
}

bool dsgd_is_by_chance(const json_t *manifest, const json_t *run)
{
    const json_t *const draws =
        json_object_get(json_object_get(manifest, "draws"), name_in(run, "algorithm"));
    const bool inherent = json_is_true(json_object_get(run, "inherent"));
    const json_t *const failures = json_object_get(run, "failures");
    bool any = !json_is_false(draws) || json_is_object(json_object_get(run, "learn")) ||
               strcmp(name_in(json_object_get(run, "algorithm"), "graph"), "matching") == 0 ||
               is_drawn(manifest, json_object_get(run, "imbalance")) ||
               json_number_value(json_object_get(failures, "mtbf")) > 0 ||
               json_is_true(json_object_get(failures, "repair_varies")) ||
               (inherent && is_drawn(manifest, dsgd_run_option(run, "workload", "inherent")));
    size_t i = 0;
    const json_t *place = NULL;
    json_array_foreach(json_object_get(run, "placement"), i, place) any =
        any || (json_is_string(place) && strcmp(json_string_value(place), "random") == 0);
    return any;
}

/** Labels of which no run is in the table. */
static dsgd_names labels_to_come(const dsgd_csv *runs, const json_t *all)
{
    dsgd_names seen = {.n = 0}, to_come = {.n = 0};
    const size_t column = dsgd_csv_column(runs, "algorithm");
    size_t i = 0;
    const json_t *run = NULL;
    dsgd_names_add(&seen, "");
    for (size_t row = 0; row < runs->n_rows; row++)
        if (dsgd_find_word(seen.v, dsgd_csv_field(runs, row, column)) < 0)
            dsgd_names_add(&seen, dsgd_csv_field(runs, row, column));
    json_array_foreach(all, i, run) if (dsgd_find_word(seen.v, name_in(run, "label")) < 0)
    {
        dsgd_names_add(&seen, name_in(run, "label"));
        dsgd_names_add(&to_come, name_in(run, "label"));
    }
    return to_come;
}

const char *dsgd_partial_results(const dsgd_csv *runs, const json_t *manifest)
{
    const json_t *const all = json_object_get(manifest, "runs");
    const size_t n_planned = json_array_size(all);
    if (runs->n_rows >= n_planned)
        return "";
    const dsgd_names to_come = labels_to_come(runs, all);
    return dsgd_xprintf("Partial results: %zu of %zu runs are done. The same command, without "
                        "--only or --shard, does the rest.%s",
                        runs->n_rows, n_planned,
                        to_come.n == 0 ? ""
                                       : dsgd_xprintf(" Who wins is open, without a run of %s yet.",
                                                      dsgd_listed(to_come.v, " or ")));
}

const char *dsgd_unvaried(const dsgd_frame *f, const json_t *manifest)
{
    bool cuts = false, encodes = false;
    for (size_t row = 0; row < f->csv->n_rows; row++) {
        const json_t *const run = dsgd_run_of(manifest, f->csv, row);
        cuts = cuts || (is_word(run, "exchange", "pieces", "buckets") &&
                        dsgd_csv_value(f->csv, row, dsgd_csv_column(f->csv, "pieces")) > 1);
        encodes = encodes || guesses_encoder(run);
    }
    const struct {
        bool is_open;
        const char *option, *text;
    } all[] = {{cuts, "exchange.pieces", "how vectors are cut for their exchange (buckets)"},
               {encodes, "platform.encoding", "the encoder's speed (a guess)"},
               {dsgd_mixed_collectives(f->csv) != NULL, "exchange.collective",
                "one collective against another"}};
    const char *const file = json_string_value(json_object_get(manifest, "file"));
    const char *const given = json_string_value(json_object_get(manifest, "command"));
    static const char run[] = "dsgd run ";
    dsgd_names names = {.n = 0};
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++)
        if (all[k].is_open && !is_varied(f, all[k].option))
            dsgd_names_add(&names, all[k].text);
    if (names.n == 0)
        return "";
    return dsgd_xprintf(
        "Not varied here, though it may decide: %s; `%s` with --sensitivity=choices and another "
        "folder (-o) varies it.",
        dsgd_listed(names.v, ", "),
        given != NULL && strncmp(given, run, strlen(run)) == 0
            ? given
            : dsgd_xprintf("%s%s", run, file == NULL ? "FILE" : file));
}
