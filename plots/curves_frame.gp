# One frame of curves: cell b of $curves (a panel at a place), `quantity` against `along_x`; means over seeds, with bands of 95 % intervals. What
# lies before the first evaluation after the start is clipped: an untrained model would take most of the axis.
cx = nth(columns_of_curves, along_x)
cy = nth(columns_of_curves, quantity)
percent = quantity eq 'accuracy' ? 100 : 1
curve(i) = (b - 1) * n_series + i - 1
eval sprintf('low = low_%s[b]; high = high_%s[b]; far = high_%s[b]', quantity, quantity, along_x)
if (high < low || far <= 0) { low = 0; high = 1; far = 1 }
set autoscale
here(i) = strcol(4) eq along_x && strcol(6) eq quantity && $1 == i && $2 == p && $3 == j
do for [i = 0:n_series] { stats $points using (here(i) ? (low = lesser(low, $8), high = greater(high, $9), far = greater(far, $5), 0) : 0) nooutput }
margin = high > low ? 0.06 * (high - low) : 0.1 * abs(high) + 1e-3
has_target = exists('target') && target[1:strlen(quantity) + 1] eq quantity.'='
goal = has_target ? real(target[strlen(quantity) + 2:]) : NaN
if (has_target) { low = lesser(low, goal); high = greater(high, goal) }
as_log = low > 0 && (exists('log_y') || (quantity eq 'loss' && high > 4 * low))
unset logscale
set format y '%g'
set format x '%g'
set ytics step_in(percent * (low - margin), percent * (high + margin), @ticks_up)
if (as_log) {
    set logscale y
    eval 'set ytics '.log_ticks(percent * low / 1.05, percent * high * 1.05, @ticks_up)
    set yrange [percent * low / 1.05:percent * high * 1.05]
} else { set yrange [percent * (quantity eq 'accuracy' ? greater(0, low - margin) : low - margin):percent * (quantity eq 'accuracy' ? lesser(1, high + margin) : high + margin)] }
x_scale = grid ? common_scale : thousands(far)
set xrange [0:far / x_scale * 1.02]
set xtics norotate center nomirror scale 1 0, step_of(far / x_scale, @ticks_across)
if (grid && cell_width * W < 16 * letter) { set xtics norotate center nomirror scale 1 (tick_text(far / x_scale) far / x_scale) }
if (exists('log_x')) { set logscale x; set xrange [far / x_scale / 50:far / x_scale * 1.1]; eval 'set xtics '.log_ticks(far / x_scale / 50, far / x_scale * 1.1, @ticks_across) }
set xlabel (grid ? '' : title_of_x(x_scale))
set ylabel (grid ? (column_of(k) < n_quantities || n_quantities > 1 ? (quantity eq 'accuracy' ? tex('accuracy (%)') : 'loss') : '') : quantity eq 'accuracy' ? tex(18 * letter > cell_height * H - 6 * line ? 'accuracy (%)' : 'test accuracy (%)') : quantity eq 'loss' ? 'test loss' : quantity)
unset arrow 1
if (has_target) { set arrow 1 from graph 0, first percent * goal to graph 1, first percent * goal nohead back lc rgb pale dt 2 lw 1.4 }
# The lower edge of a band that passes zero has no place on a logarithmic axis.
edge(y) = as_log ? greater(y, low / 1.05) : y
# Failures stand where curves are not: of a loss above, of an accuracy below.
at_edge = percent * (quantity eq 'accuracy' ? (as_log ? low / 1.02 : greater(0, low - margin) + 0.3 * margin) : as_log ? 1.02 * high : high + 0.6 * margin)
plot for [i = 1:n_series] $curves index curve(i) using (banded ? column(cx) / x_scale : NaN):(percent * edge(column(cy) - column(cy + 1))):(percent * (column(cy) + column(cy + 1))) \
         with filledcurves lc rgb word(look[i], 1) fs transparent solid 0.18 noborder notitle, \
     for [i = 1:n_series] $curves index curve(i) using (column(cx) / x_scale):(percent * column(cy)) with linespoints lt i pi int(1 + most_evaluations / 10) notitle, \
     for [i = 0:n_series] $points using (here(i) && $9 > $8 ? $5 / x_scale : NaN):(percent * edge($8)):(0):(percent * ($9 - edge($8))) \
         with vectors heads size graph 0.008,90 lc rgb (i > 0 ? word(look[i], 1) : ink) lw 1.2 notitle, \
     for [i = 0:n_series] $points using (here(i) ? $5 / x_scale : NaN):(percent * $7) with points pt 12 ps 1.3 lw 1.6 lc rgb (i > 0 ? word(look[i], 1) : ink) notitle, \
     for [i = 1:n_series] $failures using (along_x eq 'virtual_s' && n_failures > 0 && $1 == curve(i) ? $2 / x_scale : NaN):(at_edge) \
         with points pt 2 ps 0.8 * point_size lw 1.2 lc rgb word(look[i], 1) notitle
unset arrow 1
