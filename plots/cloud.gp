# Final accuracy (or loss) against `quantity`, a point per algorithm with 95 % intervals over seeds, a frame per number of GPUs or swept
# value; of tradeoff and volume. `logarithmic`: the x axis is, unasked.
load plots.'/bars_range.gp'
note = both(note, of_two_seeds)
value_column = nth(columns_of_groups, 'final_accuracy')
percent = value_column > 0 ? 100 : 1
if (value_column == 0) { value_column = nth(columns_of_groups, 'final_loss') }
local_column = nth(columns_of_groups, percent == 100 ? 'local_accuracy' : 'local_loss')
n_frames = n_panels * n_places
frame_width = 3
frame_height = 3.2
legend_kind = 'points'
extras = local_column > 0 ? 'local_models' : ''
x_title = label_of(quantity, scale)
ylabel_text = percent == 100 ? tex('final accuracy (%)') : 'final loss'
least_grid_width = 22 * letter
least_height = greater(least_height, 10 * line)
none_sent = ''
unlearned = ''
if (value_column > 0) { do for [i = 1:n_series] {
    learned = 0
    do for [p = 1:n_panels] { stats $groups index (p - 1) * n_series + i - 1 using (strcol(value_column) eq 'NaN' ? 0 : (learned = 1, 0)) nooutput }
    if (!learned) { unlearned = unlearned.(unlearned eq '' ? '' : ', ').title[i] }
} }
if (unlearned ne '') { note = both('not drawn, as they diverged: '.unlearned, note) }
if (logarithmic) { do for [i = 1:n_series] {
    stats $groups index i - 1 using (column(c) == 0 ? 1 : 0) name 'zero' nooutput
    if (zero_max > 0) { none_sent = none_sent.(none_sent eq '' ? '' : ', ').title[i] }
} }
if (none_sent ne '') { note = both('not drawn, as 0 bytes were sent: '.none_sent, note) }
load open_canvas
set rmargin 2
set xlabel (grid ? '' : beside_axis(x_title, cell_width * W - 9 * letter))
set ylabel (grid ? '' : ylabel_text)
x_of(k) = column(c) / scale
y_of(q) = percent * (q > 0 ? column(q) : NaN)
# No accuracy is above 100 %, and nothing below 0.
within(y) = percent == 100 ? greater(0, lesser(100, y)) : greater(0, y)
below(q) = within(y_of(q) - percent * column(q + 1))
spread(q) = within(y_of(q) + percent * column(q + 1)) - below(q)
is_given = "(strcol(4) eq quantity && strcol(6) eq (percent == 100 ? 'final_accuracy' : 'final_loss'))"
log_x = exists('log_x') || logarithmic
array least_x[n_frames]
array most_x[n_frames]
do for [k = 1:n_frames] {
    x_least = 1e300
    x_most = 0
    do for [i = 1:n_series] {
        stats $groups index (k - 1) / n_places * n_series + i - 1 every ::(k - 1) % n_places::(k - 1) % n_places using \
            (x_of(c) > 0 ? (x_most = greater(x_most, x_of(c) + column(c + 1) / scale), \
             x_least = lesser(x_least, x_of(c) > column(c + 1) / scale || !log_x ? x_of(c) - column(c + 1) / scale : x_of(c)), 0) : 0) nooutput
    }
    stats $points using (@is_given && $2 == (k - 1) / n_places + 1 && $3 == (k - 1) % n_places + 1 ? (x_most = greater(x_most, $5 / scale), x_least = lesser(x_least, $5 / scale), 0) : 0) nooutput
    least_x[k] = x_least
    most_x[k] = x_most
}
# One y axis for all frames; logarithmic, without intervals, where a loss is far above the others.
y_least = 1e300
y_most = -1e300
least_loss = 1e300
if (value_column > 0 && lowest > 0) {
    stats $groups using (y_of(value_column) == y_of(value_column) ? (y_most = greater(y_most, greater(y_of(value_column), below(value_column) + spread(value_column))), \
                         y_least = lesser(y_least, below(value_column)), least_loss = lesser(least_loss, y_of(value_column)), 0) : 0) nooutput
    if (local_column > 0) { stats $groups using (y_of(local_column) < y_least ? (y_least = y_of(local_column), 0) : 0) nooutput }
    stats $points using (@is_given ? (y_least = lesser(y_least, percent * $8), y_most = greater(y_most, percent * $9), 0) : 0) nooutput
    log_y = exists('log_y') || (percent == 1 && least_loss > 0 && y_most > 50 * least_loss)
    y_margin = y_most > y_least ? 0.06 * (y_most - y_least) : greater(1e-3, 0.1 * abs(y_most))
    if (log_y && least_loss > 0) { set logscale y; set yrange [least_loss / 1.5:y_most * 1.5]; eval 'set ytics '.log_ticks(least_loss / 1.5, y_most * 1.5, @ticks_up) }
    if (!log_y && y_most > -1e300) { set yrange [within(y_least - y_margin):within(y_most + y_margin)]; set ytics step_in(y_least - y_margin, y_most + y_margin, @ticks_up) }
}
# Where all runs diverged there is no point, and no range to find.
if (value_column == 0 || lowest == 0) { set xrange [0:1]; set yrange [0:1]; set label 1 'no final accuracy or loss' at graph 0.5, graph 0.5 center }
do for [k = 1:n_frames] {
    eval frame(k)
    p = (k - 1) / n_places + 1
    j = (k - 1) % n_places + 1
    set title title_of_cell(p, j) offset 0, -0.6
    x_least = least_x[k]
    x_most = most_x[k]
    if (x_most > 0) {
        unset logscale x
        x_margin = x_most > 1.02 * x_least ? 0.06 * (x_most - x_least) : 0.02 * x_most
        x_low = log_x ? x_least / 1.3 : greater(0, x_least - x_margin)
        x_high = log_x ? x_most * 1.3 : x_most + x_margin
        set xrange [x_low:x_high]
        if (log_x) { set logscale x; eval 'set xtics '.log_ticks(x_low, x_high, @ticks_across) } else { set xtics step_in(x_low, x_high, @ticks_across) }
    }
    plot for [i = 1:n_series] $groups index (p - 1) * n_series + i - 1 every ::j - 1::j - 1 using (x_of(c)):(y_of(value_column)):(0):(y_of(local_column) - y_of(value_column)) \
             with vectors nohead lc rgb word(look[i], 1) dt 3 lw 0.8 notitle, \
         for [i = 1:n_series] $groups index (p - 1) * n_series + i - 1 every ::j - 1::j - 1 using (x_of(c)):(below(value_column)):(0):(spread(value_column)) \
             with vectors nohead lc rgb word(look[i], 1) dt 1 lw 1 notitle, \
         for [i = 1:n_series] $groups index (p - 1) * n_series + i - 1 every ::j - 1::j - 1 using (x_of(c) - column(c + 1) / scale):(y_of(value_column)):(2 * column(c + 1) / scale):(0) \
             with vectors nohead lc rgb word(look[i], 1) dt 1 lw 1 notitle, \
         for [i = 1:n_series] $groups index (p - 1) * n_series + i - 1 every ::j - 1::j - 1 using (x_of(c)):(y_of(local_column)) \
             with points pt 6 ps 0.9 * point_size lw 1.2 lc rgb word(look[i], 1) notitle, \
         for [i = 1:n_series] $groups index (p - 1) * n_series + i - 1 every ::j - 1::j - 1 using (x_of(c)):(y_of(value_column)) with points lt i ps 1.5 * point_size notitle, \
         for [i = 0:n_series] $points using (@is_given && $1 == i && $2 == p && $3 == j ? $5 / scale : NaN):(percent * $8):(0):(percent * ($9 - $8)) \
             with vectors heads size graph 0.008,90 lc rgb (i > 0 ? word(look[i], 1) : ink) lw 1.2 notitle, \
         for [i = 0:n_series] $points using (@is_given && $1 == i && $2 == p && $3 == j ? $5 / scale : NaN):(percent * $7) \
             with points pt 12 ps 1.3 lw 1.6 lc rgb (i > 0 ? word(look[i], 1) : ink) notitle
    eval legend_drawn
}
unset multiplot; unset output
