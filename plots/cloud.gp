# Final accuracy (or loss) against `quantity`, a point per algorithm with 95 % intervals over seeds, a frame per number of GPUs or swept
# value; of tradeoff and volume. `logarithmic`: the x axis is, unasked.
load plots.'/bars_range.gp'
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
load open_canvas
set rmargin 2
set xlabel (grid ? '' : beside_axis(x_title, cell_width * W - 9 * letter))
set ylabel (grid ? '' : ylabel_text)
x_of(k) = column(c) / scale
y_of(q) = percent * (q > 0 ? column(q) : NaN)
# No accuracy is above 100 %, and none below 0.
within(y) = percent == 100 ? greater(0, lesser(100, y)) : y
below(q) = within(y_of(q) - percent * column(q + 1))
spread(q) = within(y_of(q) + percent * column(q + 1)) - below(q)
# One y axis for all frames; no accuracy is above 100 %, none below 0.
y_least = 1e300
y_most = -1e300
if (value_column > 0 && lowest > 0) {
    stats $groups using (y_most = greater(y_most, greater(y_of(value_column) + 0, below(value_column) + spread(value_column))), y_least = lesser(y_least, below(value_column)), 0) nooutput
    if (local_column > 0) { stats $groups using (y_of(local_column) < y_least ? (y_least = y_of(local_column), 0) : 0) nooutput }
    y_margin = y_most > y_least ? 0.06 * (y_most - y_least) : greater(1e-3, 0.1 * abs(y_most))
    if (!exists('log_y') && y_most > -1e300) { set yrange [within(y_least - y_margin):within(y_most + y_margin)]; set ytics step_in(y_least - y_margin, y_most + y_margin, @ticks_up) }
}
set offsets graph 0.06, graph 0.06, 0, 0
x_low = lowest / scale / 1.1
x_high = highest / scale * 1.1
if ((exists('log_x') || logarithmic) && lowest > 0 && highest > 0) {
    set logscale x
    eval 'set xtics '.(x_high < 4 * x_low ? '('.even_from(x_low, x_high, step_of(x_high - x_low, 2)).sprintf('%g)', 10 * x_high) : log_ticks(x_low, x_high))
} else { set xtics step_of(1.2 * (highest - lowest) / scale, @ticks_across) }
if (exists('log_y')) { set logscale y }
# Where all runs diverged there is no point, and no range to find.
if (value_column == 0 || lowest == 0) { set xrange [0:1]; set yrange [0:1]; set label 1 'no final accuracy or loss' at graph 0.5, graph 0.5 center }
do for [k = 1:n_frames] {
    eval frame(k)
    p = (k - 1) / n_places + 1
    j = (k - 1) % n_places + 1
    set title title_of_cell(p, j) offset 0, -0.6
    # gnuplot finds no range of a single point.
    middle = top[(p - 1) * n_places + j] / scale
    if (n_series == 1 && middle > 0) { set xrange [0.99 * middle:1.01 * middle] }
    plot for [i = 1:n_series] $groups index (p - 1) * n_series + i - 1 every ::j - 1::j - 1 using (x_of(c)):(y_of(value_column)):(0):(y_of(local_column) - y_of(value_column)) \
             with vectors nohead lc rgb word(look[i], 1) dt 3 lw 0.8 notitle, \
         for [i = 1:n_series] $groups index (p - 1) * n_series + i - 1 every ::j - 1::j - 1 using (x_of(c)):(below(value_column)):(0):(spread(value_column)) \
             with vectors nohead lc rgb word(look[i], 1) dt 1 lw 1 notitle, \
         for [i = 1:n_series] $groups index (p - 1) * n_series + i - 1 every ::j - 1::j - 1 using (x_of(c) - column(c + 1) / scale):(y_of(value_column)):(2 * column(c + 1) / scale):(0) \
             with vectors nohead lc rgb word(look[i], 1) dt 1 lw 1 notitle, \
         for [i = 1:n_series] $groups index (p - 1) * n_series + i - 1 every ::j - 1::j - 1 using (x_of(c)):(y_of(local_column)) \
             with points pt 6 ps 0.9 * point_size lw 1.2 lc rgb word(look[i], 1) notitle, \
         for [i = 1:n_series] $groups index (p - 1) * n_series + i - 1 every ::j - 1::j - 1 using (x_of(c)):(y_of(value_column)) with points lt i ps 1.5 * point_size notitle
    eval legend_drawn
}
eval canvas_closed
