# One frame of bars: panel p, places `first` to `last`, column c of $groups in units of `scale`. Bars of a group stand beside each other;
# with one place alone each bar has its algorithm's name below. Many places, or a logarithmic y axis, have points and lines.
block(i) = (p - 1) * n_series + i - 1
wide = named_bars ? 0.7 : 0.84 / n_bars
slot(i) = i - (dropped > 0 && i > dropped)
at(place, i) = named_bars ? slot(i) : place + (slot(i) - 0.5 * (n_bars + 1)) * wide
# Of points of no algorithm the middle of the group.
here(i) = is_point(quantity) && $1 == i && $2 == p && $3 >= first && $3 <= last
point_at(i) = as_lines ? place_value[int($3)] : i > 0 ? at($3, i) : named_bars ? 0.5 * (n_bars + 1) : $3
point_colour(i) = i > 0 && as_lines ? word(look[i], 1) : ink
points_intervals = "for [i = 0:n_series] $points using (here(i) && $9 > $8 ? point_at(i) : NaN):($8 / scale):(0):(($9 - $8) / scale) \
    with vectors heads size graph 0.008,90 lc rgb point_colour(i) dt 1 lw 1.2 notitle"
unset xtics
unset logscale
set autoscale
set format y '%g'
set ytics autofreq
if (as_lines) {
    set xtics nomirror scale 0.5 ()
    end = 0
    tick_at(j) = (log_places ? log(place_value[j] / place_value[1]) / log(place_value[n_places] / place_value[1]) : \
                  (place_value[j] - place_value[1]) / (place_value[n_places] - place_value[1])) * 0.9 * (cell_width * W - 12 * letter)
    half(j) = 0.5 * letter * strlen(place[j])
    do for [j = 1:n_places] {
        if (clear(j, n_places, tick_at(j), half(j), end, tick_at(n_places) - half(n_places), letter)) { set xtics add (tick(place[j]) place_value[j]); end = tick_at(j) + half(j) }
    }
    if (log_places) { set logscale x; set xrange [place_value[1] / 1.2:place_value[n_places] * 1.2] }
    else { spread = 0.05 * (place_value[n_places] - place_value[1]); set xrange [place_value[1] - spread:place_value[n_places] + spread] }
    if (exists('log_y') && lowest > 0) { set logscale y; set yrange [lowest / scale / 1.15:highest / scale * 1.15]; eval 'set ytics '.log_ticks(lowest / scale / 1.15, highest / scale * 1.15, @ticks_up) } else { set yrange [0:highest / scale * 1.08] }
    plot $groups index block(1) using (place_value[int($1)]):(has_ideal ? column(ideal_column) / scale : NaN) with lines lc rgb ideal_colour dt 1 lw 1.6 notitle, \
         for [i = 1:n_series] $groups index block(i) using (place_value[int($1)]):((column(c) - column(c + 1)) / scale):((column(c) + column(c + 1)) / scale) \
             with filledcurves lt i fs transparent solid 0.2 noborder notitle, \
         for [i = 1:n_series] $groups index block(i) using (place_value[int($1)]):(column(c) / scale) with linespoints lt i notitle, \
         @points_intervals, \
         for [i = 0:n_series] $points using (here(i) ? point_at(i) : NaN):($7 / scale) with points pt 12 ps 1.3 lw 1.6 lc rgb point_colour(i) notitle
} else {
    set xrange [(named_bars ? 0.4 : first - 0.5):(named_bars ? n_bars + 0.6 : last + 0.5)]
    if (named_bars) {
        eval names_below
    } else {
        set xtics norotate center nomirror scale 0 ()
        do for [j = first:last] { set xtics add (tick(place_title[j]) j) }
    }
    set boxwidth wide * 0.94
    tallest = 0
    do for [k_top = grid ? 1 : p:grid ? n_panels : p] { do for [j = first:last] { tallest = greater(tallest, top[(k_top - 1) * n_places + j]) } }
    if (tallest == 0) { tallest = 1 }
    set yrange [0:tallest / scale * 1.08]
    set ytics 0, step_of(tallest / scale * 1.08, greater(2, @ticks_up - (named_bars ? int((slanted ? 0.6 : 1) * letter * longest_name / line / 2.2) : 0)))
    plot for [i = 1:n_series] $groups index block(i) every ::first - 1::last - 1 using (at($1, i)):(full(i, column(c) / scale)) \
             with boxes lc rgb word(look[i], 1) dt 1 lw 0.7 fs solid 1 border lc rgb word(look[i], 1) notitle, \
         for [i = 1:n_series] $groups index block(i) every ::first - 1::last - 1 using (at($1, i)):(hatched(i, column(c) / scale)) \
             with boxes lc rgb word(look[i], 1) dt 1 lw 0.7 fs pattern fill[i] border lc rgb word(look[i], 1) notitle, \
         for [j = first:last] for [i = 1:n_series] $groups index block(i) every ::j - 1::j - 1 using (column(c + 1) > 0 ? at($1, i) : NaN): \
             (greater(0, (column(c) - column(c + 1)) / scale)):(0):((column(c) + column(c + 1)) / scale - greater(0, (column(c) - column(c + 1)) / scale)) \
             with vectors heads size graph 0.008,90 lc rgb '#ffffff' dt 1 lw 2.6 notitle, \
         for [j = first:last] for [i = 1:n_series] $groups index block(i) every ::j - 1::j - 1 using (column(c + 1) > 0 ? at($1, i) : NaN): \
             (greater(0, (column(c) - column(c + 1)) / scale)):(0):((column(c) + column(c + 1)) / scale - greater(0, (column(c) - column(c + 1)) / scale)) \
             with vectors heads size graph 0.008,90 lc rgb ink dt 1 lw 1.2 notitle, \
         for [j = first:last] $groups index block(1) every ::j - 1::j - 1 using (has_ideal ? (named_bars ? 0.5 : $1 - 0.45) : NaN):(column(ideal_column) / scale): \
             (named_bars ? n_bars : 0.9):(0) with vectors nohead lc rgb ideal_colour dt 1 lw 1.6 notitle, \
         @points_intervals, \
         for [i = 0:n_series] $points using (here(i) ? point_at(i) : NaN):($7 / scale) with points pt 13 ps 1.5 lc rgb ink notitle, \
         for [i = 0:n_series] $points using (here(i) ? point_at(i) : NaN):($7 / scale) with points pt 13 ps 0.9 lc rgb '#ffffff' notitle
}
