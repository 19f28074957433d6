# What a simulation costs against the number of workers. Messages and CPU seconds per step, and memory per worker, a row per network.
# needs: runs.csv:memory_kib
load common
quantities = '"messages per step" "CPU seconds per step" "KiB per worker"'
of(name) = column(nth(columns_of_groups, name))
quantity(j) = j == 1 ? of('messages') / of('steps') : j == 2 ? of('cpu_s') / of('steps') : of('memory_kib') / $2
least(j) = j == 1 ? 10 : j == 2 ? 1e-3 : 1
n_frames = 3 * n_panels
if (!asked) { W = 9.0 }
frame_width = lesser(W, greater(2, W / 3.5))
note = ''
load open_canvas
set logscale xy
set xrange [place_value[1] / 1.3:place_value[n_places] * 1.3]
set xtics scale 0.5 ()
at(j) = log(place_value[j] / place_value[1]) / log(place_value[n_places] / place_value[1]) * 0.9 * (cell_width * W - 12 * letter)
half(j) = 0.5 * letter * strlen(place[j])
end = 0
do for [j = 1:n_places] {
    has_text = clear(j, n_places, at(j), half(j), end, at(n_places) - half(n_places), letter)
    set xtics add ((has_text ? tick(place[j]) : '') place_value[j])
    if (has_text) { end = at(j) + half(j) }
}
set grid xtics
set xlabel 'workers'
do for [k = 1:n_frames] {
    eval frame(k)
    p = (k - 1) / 3 + 1
    j = (k - 1) % 3 + 1
    set title tex(both(word(quantities, j), panel[p])) offset 0, -0.6
    set format y (j == 1 ? '%.0s%c' : '%g')
    set ytics least(j), (j < 3 && cell_height * H < 2 ? 100 : 10)
    set yrange [least(j):least(j) * (j == 3 ? 1e3 : 1e6)]
    plot for [i = 1:n_series] $groups index (p - 1) * n_series + i - 1 using 2:(quantity(j) > 0 ? quantity(j) : NaN) with linespoints lt i notitle
    eval legend_drawn
}
unset multiplot
unset output
