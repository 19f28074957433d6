/**
 * @file mixed_collectives.c
 * Whether a comparison of algorithms may be one of collectives.
 */
#include "command/analysis/compare.h"

#include <stdlib.h>
#include <string.h>

#include "command/console/table.h"

/** By which collective a run sums; "": it does not, or the table is of an earlier version. */
static const char *collective_of(const dsgd_csv *runs, size_t row)
{
    static const char *const columns[] = {"partial_collective", "collective"};
    const char *collective = "";
    for (size_t k = 0; k < 2 && *collective == '\0'; k++) {
        const size_t column = dsgd_csv_column(runs, columns[k]);
        if (column == runs->n_columns)
            return "";
        collective = dsgd_csv_field(runs, row, column);
    }
    return collective;
}

char *dsgd_mixed_collectives(const dsgd_csv *runs)
{
    const dsgd_framing framing = {.planned = true};
    dsgd_frame f;
    char *sentence = NULL;
    if (dsgd_frame_open(runs, &framing, &f, NULL) == DSGD_OK) {
        size_t *const first = dsgd_xcalloc(f.n[DSGD_PLACE] + 1, sizeof *first); /* row + 1 */
        for (size_t row = 0; row < runs->n_rows && sentence == NULL; row++) {
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
                sentence =
                    dsgd_xprintf("%s sums by %s, %s by %s, so that a difference between them may "
                                 "be one of collectives; exchange: {collective, "
                                 "partial_collective} sets them",
                                 names[0], other, names[1], collective);
        }
        free(first);
    }
    dsgd_frame_close(&f);
    return sentence;
}

void dsgd_warn_of_mixed_collectives(FILE *stream, const dsgd_csv *runs)
{
    char *const sentence = dsgd_mixed_collectives(runs);
    if (sentence != NULL)
        dsgd_print_wrapped(stream, "note:", 6, DSGD_TEXT_WIDTH, sentence);
    free(sentence);
}
