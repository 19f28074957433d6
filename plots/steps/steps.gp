# How long steps take. The share of all steps that take no longer, each from a worker's begin of a step to its begin of the next; all seeds
# together, a frame per number of GPUs or swept value.
# needs: steps.csv runs.csv
load common
n_frames = n_panels * n_places
frame_width = 3
least_height = greater(least_height, 1 + 4 * line)
least_grid_width = 20 * letter
ylabel_text = tex('share of steps (%)')
load open_canvas
set rmargin 2
set yrange [0:103]
set ytics 0, step_of(100, @ticks_up)
# One axis for all frames, unless some have much longer steps than others.
nearest = shortest_step[1]
farthest = longest_step[1]
least_far = longest_step[1]
do for [k = 1:n_frames] { nearest = lesser(nearest, shortest_step[k]); farthest = greater(farthest, longest_step[k]); least_far = lesser(least_far, longest_step[k]) }
alike = farthest <= 4 * least_far
do for [k = 1:n_frames] {
    eval frame(k)
    p = (k - 1) / n_places + 1
    j = (k - 1) % n_places + 1
    set title title_of_cell(p, j) offset 0, -0.6
    set ylabel (!grid && (k - 1) % across == 0 ? tex('share of steps (%)') : '')
    near = alike ? nearest : shortest_step[k]
    far = alike ? farthest : longest_step[k]
    if (far == 0) { far = near } # no step
    unit_s = far < 0.5 ? 1e-3 : far >= 1e4 ? 3600 : 1
    set xlabel 'step time ('.(unit_s == 1e-3 ? 'ms' : unit_s == 1 ? 's' : 'h').')'
    near = near / unit_s
    far = far / unit_s
    unset logscale
    set format x '%g'
    if (exists('log_x') || far > 5 * near) {
        set logscale x
        set xrange [near / 1.1:far * 1.1]
        eval 'set xtics norotate center nomirror scale 1 '.log_ticks(near / 1.1, far * 1.1, @ticks_across)
    } else {
        margin = far > near ? 0.05 * (far - near) : 0.05 * far
        step = step_of(far - near + 2 * margin, greater(3, @ticks_across))
        # One tick alone is no scale.
        left_end = floor((far + margin) / step) > ceil((near - margin) / step) ? near - margin : step * floor((near - margin) / step)
        set xrange [left_end:far + margin]
        set xtics norotate center nomirror scale 1 autofreq step
    }
    plot for [i = 1:n_series] $steps index (k - 1) * n_series + i - 1 using ($1 / unit_s):(100 * $2) with steps lt i notitle, \
         for [i = 1:n_series] $step_marks index (k - 1) * n_series + i - 1 using ($1 / unit_s):(100 * $2) with points lt i notitle
    eval legend_drawn
}
unset multiplot; unset output
