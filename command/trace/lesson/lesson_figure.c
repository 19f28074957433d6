/**
 * @file lesson_figure.c
 * Writes a lesson as the table of the figure `lesson` (plots/lesson/lesson.gp). The coordinates of
 * a point in this figure are the two parameters of a model.
 */
#include "base/csv.h"
#include "command/trace/lesson/lesson.h"

enum { CONTOURS = 12, POINTS = 90 };

static void write_line(FILE *stream, const char *kind, int64_t number, const double *at,
                       const double *to)
{
    fprintf(stream, "%s,%jd", kind, number);
    dsgd_csv_numbers(stream, at, 2);
    dsgd_csv_numbers(stream, to, 2);
    fputc('\n', stream);
}

/** Writes contours of the loss. Their distances between the minimum and the start are equal. */
static void write_contours(const dsgd_lesson_run *run, FILE *stream)
{
    static const double pi = 3.14159265358979323846;
    const double top =
        dsgd_quadratic_at(&run->quadratic, dsgd_lesson_x(run, 1)) - run->quadratic.least;
    for (int i = 1; i <= CONTOURS; i++)
        for (int k = 0; k <= POINTS; k++) {
            double x[2];
            const double part = 1.5 * i / CONTOURS; /* distance from the minimum, as a share of the
                                                     * distance between the minimum and the start */
            dsgd_quadratic_contour(&run->quadratic, run->quadratic.least + part * part * top,
                                   2 * pi * k / POINTS, x);
            write_line(stream, "contour", i, x, x);
        }
}

static void write_path(const dsgd_lesson_run *run, int host, FILE *stream)
{
    const char *const kind = dsgd_lesson_is_server(run, host) ? "server" : "path";
    for (size_t i = 0; i < run->ledger.n_entries; i++) {
        const dsgd_ledger_entry *const e = &run->ledger.entries[i];
        const size_t before = run->before[i];
        if (e->kind != DSGD_ENTRY_MODEL || e->host != host || e->value == before)
            continue;
        const double *const x = dsgd_lesson_x(run, e->value);
        write_line(stream, kind, host, x, before == 0 ? x : dsgd_lesson_x(run, before));
    }
}

/**
 * Writes the lines of a late contribution, if the model that one member contributes to a sum is
 * older than the models of the other members. The lines go from the older model to the models that
 * the other members have when they use the sum.
 */
static void write_late(const dsgd_lesson_run *run, const dsgd_ledger_entry *sampled, FILE *stream)
{
    const dsgd_ledger *const ledger = &run->ledger;
    const dsgd_ledger_entry *const end = ledger->entries + ledger->n_entries;
    bool is_old = false, is_model = false;
    for (const dsgd_ledger_entry *e = ledger->entries; e < end; e++) {
        const bool same_sum = e->scope == sampled->scope && e->number == sampled->number;
        is_old = is_old || (e->kind == DSGD_ENTRY_SAMPLED && same_sum && e->stamp > sampled->stamp);
        is_model = is_model || (e->kind == DSGD_ENTRY_MODEL && e->value == sampled->value);
    }
    if (!dsgd_scope_is_of_versions(sampled->scope) || sampled->stamp < 0 || !is_old || !is_model)
        return;
    for (const dsgd_ledger_entry *e = ledger->entries; e < end; e++)
        if (e->kind == DSGD_ENTRY_USED && e->scope == sampled->scope &&
            e->number == sampled->number && e->host != sampled->host)
            write_line(stream, "late", sampled->host, dsgd_lesson_x(run, sampled->value),
                       dsgd_lesson_x(run, run->before[e - ledger->entries]));
}

void dsgd_lesson_write_csv(const dsgd_lesson_run *run, FILE *stream)
{
    fputs("kind,number,a,b,to_a,to_b\n", stream);
    const double *const minimum = run->quadratic.minimum;
    const double about[2] = {run->n_workers, run->view.straggler};
    write_line(stream, "minimum", 0, minimum, minimum);
    write_line(stream, "workers", 0, about, about);
    write_contours(run, stream);
    for (int host = 0; host < run->n_hosts; host++)
        write_path(run, host, stream);
    for (size_t i = 0; i < run->n_applications; i++) {
        const dsgd_application *const a = &run->applications[i];
        const dsgd_made *const g = &run->ledger.values[a->gradient];
        const double *const from = dsgd_lesson_x(run, g->from[0]);
        const double *const to = dsgd_lesson_x(run, a->to);
        if (a->age > 0 && hypot(to[0] - from[0], to[1] - from[1]) > 0)
            write_line(stream, "stale", g->worker, from, to);
    }
    for (size_t i = 0; i < run->ledger.n_entries; i++) {
        const dsgd_ledger_entry *const e = &run->ledger.entries[i];
        if (e->kind == DSGD_ENTRY_SAMPLED)
            write_late(run, e, stream);
    }
}
