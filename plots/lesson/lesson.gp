# Paths of the workers' models on the contours of the loss. As `dsgd explain ALGORITHM --format svg` draws them: a point per model that a
# worker has had, the slow worker marked by *; arrows from where a stale gradient was taken to the model that it was applied to, and
# from a late model of a group's sum to those that are averaged with it.
# needs: lesson.csv
no_data = 1
load common
file = dir.'/lesson.csv'
set datafile columnheaders
is(kind) = strcol(1) eq kind
shown(x) = is('path') || is('server') || is('stale') || is('minimum') ? x : NaN
stats file using (is('workers') ? $3 : NaN) name 'workers' nooutput
stats file using (is('workers') ? $4 : NaN) name 'slow' nooutput
stats file using (is('server') ? 1 : 0) name 'servers' nooutput
stats file using (is('stale') ? 1 : 0) name 'stales' nooutput
stats file using (is('late') ? 1 : 0) name 'lates' nooutput
stats file using (shown($3)) name 'a' nooutput
stats file using (shown($4)) name 'b' nooutput
n_series = int(workers_max)
n_panels = 1
array title[n_series]
array fill[n_series]
spare = "#0600BE #1B7A63 #FD8835 #6188D7 #2F0552 #7BD1F8 #999999"
thin = W < 4 ? 0.6 : 1 # in a column, where paths are close
do for [i = 1:n_series] {
    title[i] = sprintf('worker %d%s', i - 1, i - 1 == slow_max ? ' *' : '')
    # Those who have one path lie on one another: the first are the widest.
    wide_by = 1.6 * (n_series - i) / greater(1, n_series - 1)
    set linetype i lc rgb (i - 1 == slow_max ? held_colour : word(spare, (i - 1) % 7 + 1)) pt 7 dt 1 lw thin * line_width * (1 + wide_by) ps thin * 0.7 * point_size * (1 + 0.5 * wide_by)
    longest_title = greater(longest_title, strlen(title[i]))
}
legend_series = n_series
extras = 'least_loss'.(servers_max > 0 ? ' server' : '').(stales_max > 0 ? ' stale' : '').(lates_max > 0 ? ' late_model' : '')
frame_height = 3.6
least_height = 1.8
load open_canvas
eval frame(1)
# Heads of arrows that can be told from a line, also in a column.
head = greater(0.014, 1.2 * letter / W)
# One scale for both, so that contours have their shape; the plot is within some 9 letters and 3.5 lines.
across_in = cell_width * W - 12 * letter
up_in = cell_height * H - 3.5 * line
per_in = greater(1.14 * (a_max - a_min) / across_in, 1.14 * (b_max - b_min) / up_in) + 1e-6
middle(low, high) = 0.5 * (low + high)
set xrange [middle(a_min, a_max) - 0.5 * per_in * across_in:middle(a_min, a_max) + 0.5 * per_in * across_in]
set yrange [middle(b_min, b_max) - 0.5 * per_in * up_in:middle(b_min, b_max) + 0.5 * per_in * up_in]
set xlabel 'slope a'
set ylabel 'intercept b'
set xtics step_of(per_in * across_in, @ticks_across)
set ytics step_of(per_in * up_in, @ticks_up)
unset grid
plot for [c = 1:12] file using (is('contour') && $2 == c ? $3 : NaN):4 with lines lc rgb grid_colour lw 1.2 notitle, \
     file using (is('minimum') ? $3 : NaN):4 with points pt 2 ps 1.6 * point_size lw 2 lc rgb ink notitle, \
     file using (is('server') ? $3 : NaN):4 with linespoints lc rgb pale lw line_width pt 6 ps 0.8 * point_size notitle, \
     for [w = 1:n_series] file using (is('path') && $2 == w - 1 ? $3 : NaN):4 with linespoints lt w notitle, \
     file using (is('stale') ? $3 : NaN):4:($5 - $3):($6 - $4) with vectors head filled size screen head,20 lc rgb ink dt 2 lw 1.3 notitle, \
     file using (is('late') ? $3 : NaN):4:($5 - $3):($6 - $4) with vectors head filled size screen 0.85 * head,18 lc rgb ink lw 0.8 notitle
eval legend_drawn
unset multiplot
unset output
