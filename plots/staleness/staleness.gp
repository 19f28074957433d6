# How old what workers use is: shares of ages in steps, of values and of gradients; mean over seeds, a row of frames per number of GPUs or swept value.
# needs: staleness.csv runs.csv
load common
array kind_of[2] = ['age of values (steps)', 'age of gradients (steps)']
n_frames = 2 * n_panels * n_places
legend_kind = 'boxes'
frame_width = 2.8
# Up to the oldest age that makes a hundredth of any bar.
array oldest[2] = [2, 2]
do for [m = 1:2] { stats $staleness using (column(m + 1) >= 0.01 ? (oldest[m] = greater(oldest[m], $1), 0) : 0) nooutput }
ylabel_text = tex('share (%)')
load open_canvas
set rmargin 1.5
set yrange [0:105]
set ytics 0, step_of(100, @ticks_up)
do for [k = 1:n_frames] {
    eval frame(k)
    m = (k - 1) % 2 + 1
    b = (k - 1) / 2
    p = b / n_places + 1
    j = b % n_places + 1
    set title title_of_cell(p, j) offset 0, -0.6
    set xlabel kind_of[m]
    set ylabel (!grid && m == 1 ? tex('share (%)') : '')
    set xrange [-0.6:oldest[m] + 0.6]
    set xtics norotate center nomirror scale 0.5 0, int(greater(1, ceil(oldest[m] / 8.)))
    wide = 0.84 / n_series
    set boxwidth wide * 0.94
    plot for [i = 1:n_series] $staleness index b * n_series + i - 1 using ($1 + (i - 0.5 * (n_series + 1)) * wide):(100 * column(m + 1)) \
        with boxes lc rgb word(look[i], 1) dt 1 lw 0.7 fs pattern fill[i] border lc rgb word(look[i], 1) notitle
    eval legend_drawn
}
eval canvas_closed
