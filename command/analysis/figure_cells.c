/**
 * @file figure_cells.c
 * Writes the cells of a phase diagram. The edge between two cells is half-way between their values,
 * measured on the scale of the axis.
 */
#include "command/analysis/figure_data.h"

#include "base/csv.h"
#include "base/option.h"
#include "command/runs/swept.h"

/* index of the first column of phase.csv that contains the lead of an algorithm */
enum { FIRST_LEAD = 9 };

/** An axis of a phase diagram: the distinct values of a swept column. */
typedef struct side {
    double *values; /* array of n values in ascending order */
    const char **texts; /* array of the texts of the n values in phase.csv */
    size_t n;
    bool is_log;
} side;

/**
 * Reads the values of an axis of phase.csv. The values ascend in the file, so a new value is larger
 * than all previous values.
 */
static side read_side(const dsgd_csv *csv, size_t column)
{
    side s = {dsgd_keep(csv->n_rows, sizeof *s.values), dsgd_keep(csv->n_rows, sizeof *s.texts), 0,
              false};
    for (size_t row = 0; row < csv->n_rows; row++) {
        const double x = dsgd_csv_value(csv, row, column);
        if (s.n > 0 && !(x > s.values[s.n - 1]))
            continue;
        s.values[s.n] = x;
        s.texts[s.n++] = dsgd_csv_field(csv, row, column);
    }
    s.is_log = s.n > 0 && s.values[0] > 0;
    return s;
}

/**
 * Returns the edge between the values i - 1 and i of an axis. The value of the first or last cell
 * is half-way between the two edges of this cell.
 */
static double edge(const side *s, size_t i)
{
    const size_t low = i == 0 ? 0 : i < s->n ? i - 1 : s->n - 2;
    const double a = s->is_log ? log(s->values[low]) : s->values[low];
    const double b = s->is_log ? log(s->values[low + 1]) : s->values[low + 1];
    const double x = a + (b - a) * (i == 0 ? -0.5 : i < s->n ? 0.5 : 1.5);
    return s->is_log ? exp(x) : x;
}

/** Returns true if a value such as "0.07071" has too many digits for a label on an axis. */
static bool is_odd(const char *text)
{
    enum { MOST_DIGITS = 3 };
    size_t n = 0;
    for (const char *c = text; *c != '\0'; c++)
        n += *c >= '0' && *c <= '9' && (n > 0 || *c != '0');
    return n > MOST_DIGITS;
}

/**
 * Returns the ticks of an axis. Usually, its values are the ticks. If a value has too many digits,
 * the ticks are 1, 2 and 5 of each decade. If the axis is shorter than a decade, the ticks have
 * equal distances instead.
 */
static side ticks_of(const side *s, const char *column)
{
    enum { MOST = 64 };
    static const double digits[] = {1, 2, 5};
    const double low = edge(s, 0), high = edge(s, s->n);
    const bool by_decade = s->is_log && high >= 8 * low;
    bool any_odd = false;
    for (size_t i = 0; i < s->n; i++)
        any_odd = any_odd || is_odd(dsgd_swept_value(column, s->texts[i]));
    side t = {dsgd_keep(MOST, sizeof *t.values), dsgd_keep(MOST, sizeof *t.texts), 0, s->is_log};
    if (!any_odd)
        return *s;
    const double ten = pow(10, floor(log10(by_decade ? low : (high - low) / 4)));
    /* Increase the step to 2, 5 or 10 times `ten` until the axis has at most about four steps. */
    double step = ten;
    for (size_t k = 0; k < 3 && step < (high - low) / 4; k++)
        step = ten * (k < 2 ? digits[k + 1] : 10);
    for (size_t k = 0; t.n < MOST; k++) {
        const size_t decade = k / 3;
        const double x = by_decade ? ten * pow(10, (double)decade) * digits[k % 3]
                                   : step * (ceil(low / step) + (double)k);
        if (x > high)
            break;
        if (x < low)
            continue;
        t.values[t.n] = x;
        t.texts[t.n++] = dsgd_xprintf("%.12g", x);
    }
    return t;
}

static void put_side(FILE *out, const side *s, const char *axis, const char *column)
{
    const side ticks = ticks_of(s, column);
    const char **const texts = dsgd_keep(ticks.n + 1, sizeof *texts);
    for (size_t i = 0; i < ticks.n; i++)
        texts[i] = dsgd_swept_value(column, ticks.texts[i]);
    dsgd_gnuplot_variable(out, dsgd_xprintf("%s_title", axis), dsgd_swept_title(column));
    fprintf(out, "%s_is_log = %d\n%s_low = %.9g\n%s_high = %.9g\n", axis, s->is_log, axis,
            edge(s, 0), axis, edge(s, s->n));
    dsgd_gnuplot_numbers(out, dsgd_xprintf("%s_value", axis), ticks.values, ticks.n);
    dsgd_gnuplot_texts(out, dsgd_xprintf("%s_text", axis), texts, ticks.n);
}

static void put_cells(FILE *out, const dsgd_csv *csv, const side *x, const side *y,
                      const char *const *racers, size_t n)
{
    const size_t ratio = dsgd_csv_column(csv, "ratio"), winner = dsgd_csv_column(csv, "winner");
    fputs("columns_of_cells = ' x y x_low x_high y_low y_high simulated uncertain winner ratio '\n"
          "$cells << EOD\n",
          out);
    for (size_t row = 0; row < csv->n_rows; row++) {
        const size_t i = row % x->n, j = row / x->n;
        const int racer = dsgd_find_word(racers, dsgd_csv_field(csv, row, winner));
        fprintf(out, "%s%.9g", row > 0 && i == 0 ? "\n" : "", x->values[i]);
        dsgd_csv_numbers(out,
                         (double[]){y->values[j], edge(x, i), edge(x, i + 1), edge(y, j),
                                    edge(y, j + 1), dsgd_csv_value(csv, row, 2),
                                    dsgd_csv_value(csv, row, 3),
                                    1 + (racer < 0 ? (double)n : racer),
                                    *dsgd_csv_field(csv, row, ratio) == '\0'
                                        /*
                                         * If no other algorithm can win, use a large ratio for the
                                         * lead.
                                         */
                                        ? 1024
                                        : dsgd_csv_value(csv, row, ratio)},
                         9);
        for (size_t c = FIRST_LEAD; c < csv->n_columns; c++) {
            double lead = dsgd_csv_value(csv, row, c);
            /*
             * If the lead is unknown, use a large lead for the winner, and a large negative lead
             * for the others.
             */
            if (isnan(lead))
                lead = (int)(c - FIRST_LEAD) == racer ? 10 : -10;
            dsgd_csv_numbers(out, &lead, 1);
        }
        fputc('\n', out);
    }
    fputs("EOD\n", out);
}

/** Returns true if `dsgd run --refine` wrote the table phase.csv. */
static bool is_phase(const dsgd_csv *csv)
{
    bool is = csv->n_rows > 0 && csv->n_columns > FIRST_LEAD &&
              strcmp(csv->fields[FIRST_LEAD - 1], "ratio_high") == 0;
    for (size_t c = FIRST_LEAD; is && c < csv->n_columns; c++)
        is = strncmp(csv->fields[c], "lead_", strlen("lead_")) == 0;
    return is;
}

void dsgd_figure_cells(FILE *out, const char *folder)
{
    dsgd_csv csv;
    if (dsgd_csv_read(&csv, NULL, "%s/phase.csv", folder) != DSGD_OK || !is_phase(&csv))
        return;
    const side x = read_side(&csv, 0), y = read_side(&csv, 1);
    if (x.n < 2 || y.n < 2 || csv.n_rows != x.n * y.n)
        return;
    const size_t n = csv.n_columns - FIRST_LEAD;
    const char **const racers = dsgd_keep(n + 1, sizeof *racers);
    for (size_t i = 0; i < n; i++)
        racers[i] = csv.fields[FIRST_LEAD + i] + strlen("lead_");
    dsgd_gnuplot_texts(out, "racer", racers, n);
    put_side(out, &x, "x", csv.fields[0]);
    put_side(out, &y, "y", csv.fields[1]);
    put_cells(out, &csv, &x, &y, racers, n);
}
