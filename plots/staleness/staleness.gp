# How old what workers use is. Shares of ages in steps, of values and of gradients; mean over seeds, a row of frames per number of GPUs or swept value.
# needs: staleness.csv runs.csv
load common
# Of many places the mean ages, along their axis: histograms would be small, and alike.
of_means = n_places > 3 && nth(columns_of_groups, 'staleness_mean') > 0 && nth(columns_of_groups, 'gradient_staleness_mean') > 0
n_frames = 2 * n_panels * (of_means ? 1 : n_places)
frame_width = 2.8
if (of_means) {
    quantity = 'gradient_staleness_mean'
    load plots.'/bars_range.gp'
    beside_each_other = 9
    do for [j = 1:n_places] { beside_each_other = beside_each_other + strlen(place[j]) + 0.8 }
    least_grid_width = W # each frame has a title of y
    if (!as_lines) { frame_width = lesser(W, greater(frame_width, letter * beside_each_other)); least_width = frame_width }
}
legend_kind = of_means && as_lines ? 'lines' : 'boxes'
# Up to the oldest age that makes a hundredth of any bar.
array oldest[2] = [2, 2]
do for [m = 1:2] { stats $staleness using (column(m + 1) >= 0.01 ? (oldest[m] = greater(oldest[m], $1), 0) : 0) nooutput }
undefine ylabel_text
if (!of_means) { ylabel_text = tex('share (%)') }
if (!of_means) { x_title = 'age of values, and of gradients (steps)' }
least_width = greater(least_width, 27 * letter)
if (asked) { frame_width = lesser(W, greater(frame_width, least_width)) }
load open_canvas
array kind_of[2] = ['age of values (steps)', 'age of gradients (steps)']
if (grid) { kind_of[1] = 'values'; kind_of[2] = 'gradients' }
set rmargin 1.5
set yrange [0:105]
set ytics 0, step_of(100, @ticks_up)
if (of_means) { do for [k = 1:n_frames] {
    eval frame(k)
    p = (k - 1) / 2 + 1
    first = 1
    last = n_places
    quantity = word('staleness_mean gradient_staleness_mean', (k - 1) % 2 + 1)
    undefine ylabel_text
    load plots.'/bars_range.gp'
    set title (grid ? '' : broken(tex(panel[p]))) offset 0, -0.6
    title_of_y = beside_axis(ylabel_text, cell_height * H - 0.6)
    set lmargin (as_lines ? -1 : strstrt(title_of_y, "\n") > 0 ? 11 : left)
    set ylabel title_of_y offset (!as_lines && strstrt(title_of_y, "\n") > 0 ? -2 : 0), 0
    set xlabel axis
    load plots.'/bars_frame.gp'
    eval legend_drawn
} }
if (!of_means) { do for [k = 1:n_frames] {
    eval frame(k)
    m = (k - 1) % 2 + 1
    b = (k - 1) / 2
    p = b / n_places + 1
    j = b % n_places + 1
    set title title_of_cell(p, j) offset 0, -0.6
    set xlabel kind_of[m]
    set ylabel (!grid && m == 1 ? tex('share (%)') : '')
    set xrange [-0.6:oldest[m] + 0.6]
    set xtics norotate center nomirror scale 0.5 0, int(greater(1, ceil(oldest[m] / lesser(8., (cell_width * W - 10 * letter) / (3 * letter)))))
    wide = 0.84 / n_series
    set boxwidth wide * 0.94
    plot for [i = 1:n_series] $staleness index b * n_series + i - 1 using ($1 + (i - 0.5 * (n_series + 1)) * wide):(full(i, 100 * column(m + 1))) \
             with boxes lc rgb word(look[i], 1) dt 1 lw 0.7 fs solid 1 border lc rgb word(look[i], 1) notitle, \
         for [i = 1:n_series] $staleness index b * n_series + i - 1 using ($1 + (i - 0.5 * (n_series + 1)) * wide):(hatched(i, 100 * column(m + 1))) \
             with boxes lc rgb word(look[i], 1) dt 1 lw 0.7 fs pattern fill[i] border lc rgb word(look[i], 1) notitle
    eval legend_drawn
} }
unset multiplot; unset output
