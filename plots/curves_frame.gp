# One frame of curves: cell b of $curves (a panel at a place), `quantity` against `along_x`; means over seeds, with bands of 95 % intervals. What
# lies before the first evaluation after the start is clipped: an untrained model would take most of the axis.
cx = nth(columns_of_curves, along_x)
cy = nth(columns_of_curves, quantity)
percent = quantity eq 'accuracy' ? 100 : 1
curve(i) = (b - 1) * n_series + i - 1
eval sprintf('low = low_%s[b]; high = high_%s[b]; far = high_%s[b]', quantity, quantity, along_x)
if (high < low || far <= 0) { low = 0; high = 1; far = 1 }
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
    eval 'set ytics '.log_ticks(percent * low / 1.05, percent * high * 1.05)
    set yrange [percent * low / 1.05:percent * high * 1.05]
} else { set yrange [percent * (quantity eq 'accuracy' ? greater(0, low - margin) : low - margin):percent * (quantity eq 'accuracy' ? lesser(1, high + margin) : high + margin)] }
x_scale = grid ? common_scale : thousands(far)
set xrange [0:far / x_scale * 1.02]
set xtics norotate center nomirror scale 1 0, step_of(far / x_scale, @ticks_across)
if (exists('log_x')) { set logscale x; set xrange [far / x_scale / 50:far / x_scale * 1.1]; eval 'set xtics '.log_ticks(far / x_scale / 50, far / x_scale * 1.1) }
set xlabel (grid ? '' : title_of_x(x_scale))
set ylabel (grid ? (column_of(k) < n_quantities || n_quantities > 1 ? (quantity eq 'accuracy' ? tex('accuracy (%)') : 'loss') : '') : quantity eq 'accuracy' ? tex('test accuracy (%)') : quantity eq 'loss' ? 'test loss' : quantity)
unset arrow 1
if (has_target) { set arrow 1 from graph 0, first percent * goal to graph 1, first percent * goal nohead back lc rgb pale dt 2 lw 1.4 }
# The lower edge of a band that passes zero has no place on a logarithmic axis.
edge(y) = as_log ? greater(y, low / 1.05) : y
plot for [i = 1:n_series] $curves index curve(i) using (banded ? column(cx) / x_scale : NaN):(percent * edge(column(cy) - column(cy + 1))):(percent * (column(cy) + column(cy + 1))) \
         with filledcurves lc rgb word(look[i], 1) fs transparent solid 0.18 noborder notitle, \
     for [i = 1:n_series] $curves index curve(i) using (column(cx) / x_scale):(percent * column(cy)) with linespoints lt i pi int(1 + most_evaluations / 10) notitle
unset arrow 1
