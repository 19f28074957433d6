# One frame of bars: panel p, places `first` to `last`, column c of $groups in units of `scale`. Bars of a group stand beside each other;
# with one place alone each bar has its algorithm's name below. Many places, or a logarithmic y axis, have points and lines.
plots_of_series = (as_lines ? 3 : 5) * n_series # and then the ideal
block(i) = (p - 1) * n_series + i - 1
wide = named_bars ? 0.7 : 0.84 / n_series
at(place, i) = named_bars ? i : place + (i - 0.5 * (n_series + 1)) * wide
unset xtics
unset logscale
set autoscale
set format y '%g'
set ytics autofreq
if (as_lines) {
    set xtics nomirror scale 0.5 ()
    do for [j = 1:n_places] { set xtics add (tick(place[j]) place_value[j]) }
    if (log_places) { set logscale x; set xrange [place_value[1] / 1.2:place_value[n_places] * 1.2] }
    else { spread = 0.05 * (place_value[n_places] - place_value[1]); set xrange [place_value[1] - spread:place_value[n_places] + spread] }
    if (exists('log_y') && lowest > 0) { set logscale y; set yrange [lowest / scale / 1.15:highest / scale * 1.15]; eval 'set ytics '.log_ticks(lowest / scale / 1.15, highest / scale * 1.15) } else { set yrange [0:highest / scale * 1.08] }
    plot for [i = 1:n_series] $groups index block(i) using (place_value[int($1)]):((column(c) - column(c + 1)) / scale):((column(c) + column(c + 1)) / scale) \
             with filledcurves lt i fs transparent solid 0.2 noborder notitle, \
         for [i = 1:n_series] $groups index block(i) using (place_value[int($1)]):(column(c) / scale) with linespoints lt i notitle, \
         for [i = 1:n_series] $groups index block(i) using (place_value[int($1)]):(has_published ? column(c + 2) / scale : NaN) \
             with points pt 12 ps 1.3 lw 1.6 lc rgb word(look[i], 1) notitle, \
         $groups index block(1) using (place_value[int($1)]):(has_ideal ? column(ideal_column) / scale : NaN) with lines lc rgb ideal_colour dt 1 lw 1.6 notitle
} else {
    set xrange [(named_bars ? 0.4 : first - 0.5):(named_bars ? n_series + 0.6 : last + 0.5)]
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
    set ytics 0, step_of(tallest / scale * 1.08, @ticks_up)
    plot for [i = 1:n_series] $groups index block(i) every ::first - 1::last - 1 using (at($1, i)):(column(c) / scale) \
             with boxes lc rgb word(look[i], 1) dt 1 lw 0.7 fs pattern fill[i] border lc rgb word(look[i], 1) notitle, \
         for [i = 1:n_series] $groups index block(i) every ::first - 1::last - 1 using (column(c + 1) > 0 ? at($1, i) : NaN): \
             (greater(0, (column(c) - column(c + 1)) / scale)):(0):((column(c) + column(c + 1)) / scale - greater(0, (column(c) - column(c + 1)) / scale)) \
             with vectors heads size graph 0.008,90 lc rgb '#ffffff' dt 1 lw 2.6 notitle, \
         for [i = 1:n_series] $groups index block(i) every ::first - 1::last - 1 using (column(c + 1) > 0 ? at($1, i) : NaN): \
             (greater(0, (column(c) - column(c + 1)) / scale)):(0):((column(c) + column(c + 1)) / scale - greater(0, (column(c) - column(c + 1)) / scale)) \
             with vectors heads size graph 0.008,90 lc rgb ink dt 1 lw 1.2 notitle, \
         for [i = 1:n_series] $groups index block(i) every ::first - 1::last - 1 using (has_published ? at($1, i) : NaN):(column(c + 2) / scale) \
             with points pt 13 ps 1.5 lc rgb ink notitle, \
         for [i = 1:n_series] $groups index block(i) every ::first - 1::last - 1 using (has_published ? at($1, i) : NaN):(column(c + 2) / scale) \
             with points pt 13 ps 0.9 lc rgb '#ffffff' notitle, \
         $groups index block(1) every ::first - 1::last - 1 using (has_ideal ? (named_bars ? 0.5 : $1 - 0.45) : NaN):(column(ideal_column) / scale): \
             (named_bars ? n_series : 0.9):(0) with vectors nohead lc rgb ideal_colour dt 1 lw 1.6 notitle
}
