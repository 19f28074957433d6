/**
 * @file lesson_text.c
 * Prints a lesson as lines of text, in the order of time.
 */
#include "command/console/table.h"
#include "command/trace/lesson/lesson.h"

enum { HEAD_WIDTH = 16 }; /* width of the columns for time and worker together, in characters */

/** Prints the events that have the same printed time. Hosts with equal events share a line. */
static void print_instant(const dsgd_lesson_run *run, FILE *stream, const dsgd_lesson_event *events,
                          size_t n)
{
    uint32_t *const hosts = dsgd_keep(n, sizeof *hosts);
    size_t last_of[32] = {0}; /* for each host, the number of its last line (from 1); the lines of a
                               * host must stay in order */
    for (size_t i = 0; i < n; i++) {
        size_t at = i;
        for (size_t k = last_of[events[i].host]; k < i; k++)
            if (at == i && hosts[k] != 0 && strcmp(events[k].text, events[i].text) == 0)
                at = k;
        hosts[at] |= 1u << events[i].host;
        last_of[events[i].host] = at + 1;
    }
    bool first = true;
    for (size_t i = 0; i < n; i++) {
        if (hosts[i] == 0)
            continue;
        const bool server = hosts[i] >> run->n_workers != 0;
        const char *const when = first ? dsgd_xprintf("%7.3f", events[0].at_s) : "";
        const char *const who = server ? "server" : dsgd_lesson_ranks(hosts[i]);
        dsgd_print_wrapped(stream, dsgd_xprintf("%7s  %-6s ", when, who), HEAD_WIDTH,
                           DSGD_TEXT_WIDTH, events[i].text);
        first = false;
    }
}

static void print_events(const dsgd_lesson_run *run, FILE *stream)
{
    size_t n_events = 0;
    dsgd_lesson_event *const events = dsgd_lesson_events(run, &n_events);
    fputs("\n   time  worker\n", stream);
    for (size_t i = 0, n = 0; i < n_events; i += n) {
        n = 1; /* number of events that have the same printed time */
        while (i + n < n_events &&
               llround(events[i].at_s * 1000) == llround(events[i + n].at_s * 1000))
            n++;
        print_instant(run, stream, events + i, n);
    }
}

static void print_head(const dsgd_lesson_run *run, FILE *stream)
{
    const dsgd_entry *const about = run->view.run->algorithm.about;
    const dsgd_quadratic *const quadratic = &run->quadratic;
    const double *const x = dsgd_lesson_x(run, 1);
    dsgd_print_wrapped(stream, "", 0, DSGD_TEXT_WIDTH,
                       dsgd_xprintf("%s: %s", about->name, about->summary));
    char *text =
        dsgd_xprintf("%d workers fit a line a u + b to %u points (u, v): x = (a, b), loss F(x) = "
                     "mean of (a u + b - v)^2 / 2, least at (%.3f, %.3f), where F = %.3f. "
                     "All workers start at %s, F = %.3f. "
                     "Gradient t of a worker is over its %jd points of step t. ",
                     run->n_workers, quadratic->n_points, quadratic->minimum[0],
                     quadratic->minimum[1], quadratic->least, dsgd_lesson_x_text(x),
                     dsgd_quadratic_at(quadratic, x), run->view.run->learning.batch);
    const dsgd_optimizer by = dsgd_optimizer_resolved(&run->view.run->learning.optimizer);
    if (dsgd_optimizer_states(&by) == 0 && by.weight_decay == 0)
        dsgd_append(&text, "A local step is x <- x - %g g.", by.lr);
    else
        dsgd_append(&text, "Local steps are by %s.", dsgd_optimizer_kinds[by.kind]);
    if (run->view.straggler >= 0)
        dsgd_append(&text, " Worker %d is slow.", run->view.straggler);
    dsgd_append(&text, " Parentheses show the call in the algorithm's source.");
    dsgd_print_wrapped(stream, "", 0, DSGD_TEXT_WIDTH, text);
}

/** Prints the mean staleness and the largest staleness of the gradients that a host has applied. */
static void print_ages(const dsgd_lesson_run *run, FILE *stream, int host)
{
    double sum = 0, n = 0;
    int64_t oldest = 0;
    for (size_t i = 0; i < run->n_applications; i++) {
        const dsgd_application *const a = &run->applications[i];
        if (run->ledger.entries[a->entry].host != host)
            continue;
        sum += (double)a->age;
        n++;
        oldest = a->age > oldest ? a->age : oldest;
    }
    if (n > 0)
        fprintf(stream, "%6.2f %4jd", sum / n, oldest);
    else
        fprintf(stream, "%6s %4s", "-", "-");
}

static void print_end(const dsgd_lesson_run *run, FILE *stream)
{
    const dsgd_timeline *const timeline = run->view.timeline;
    const dsgd_algorithm *const algorithm = (const dsgd_algorithm *)run->view.run->algorithm.about;
    const bool served = (algorithm->traits & DSGD_OUTPUT_SERVERS) && run->n_hosts > run->n_workers;
    double output[2] = {0, 0};
    fprintf(stream,
            "\nafter %.3f s                                  staleness\n"
            "              x                      F  steps   mean  max waiting\n",
            timeline->end_s);
    for (size_t i = 0; i < run->view.n_rows; i++) {
        const dsgd_row *const row = &run->view.rows[i];
        const double *const x = dsgd_lesson_x(run, run->models[row->host]);
        const bool server = dsgd_lesson_is_server(run, row->host);
        int n_steps = 0; /* number of gradients that the worker has computed */
        for (size_t k = 0; k < row->n_spans; k++)
            n_steps += dsgd_ends_gradient(row->spans[k]) && row->spans[k]->end_s <= timeline->end_s;
        fprintf(stream, "%-10s %-20s %7.3f", dsgd_lesson_hosts(run, 1u << row->host),
                dsgd_lesson_x_text(x), dsgd_quadratic_at(&run->quadratic, x));
        if (server)
            fprintf(stream, "%7s ", "");
        else
            fprintf(stream, "%7d ", n_steps);
        print_ages(run, stream, row->host);
        if (!server)
            fprintf(stream, "%5.0f %%", 100 * row->wait_s / (timeline->end_s - timeline->since_s));
        fputc('\n', stream);
        /*
         * Add each worker's share of the output, or the model of the server. A lesson has at most
         * one server.
         */
        for (int k = 0; k < 2 && server == served; k++)
            output[k] += x[k] / (served ? 1 : run->n_workers);
    }
    fprintf(stream, "%-10s %-20s %7.3f\n", served ? "evaluated" : "mean x",
            dsgd_lesson_x_text(output), dsgd_quadratic_at(&run->quadratic, output));
}

void dsgd_lesson_print(const dsgd_lesson_run *run, FILE *stream)
{
    print_head(run, stream);
    print_events(run, stream);
    print_end(run, stream);
}
