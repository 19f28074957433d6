# Throughput, loss and accuracy in one row. Throughput beside the ideal, test loss (or accuracy, where --target is one) of the algorithm's output against virtual time, and final accuracy of the output and of
# the workers' own; means over seeds with 95 % intervals. Of several numbers of GPUs or swept values along an axis the last, of others the first.
# needs: runs.csv curves.csv
load common
numbered = 1
quantity = 'throughput_samples_per_s'
has_ideal = 1
load plots.'/bars_range.gp'
undefine $points
$points << EOD
0,0,0,,NaN,,NaN,NaN,NaN
EOD
as_lines = 0
named_bars = 1
p = 1
k = 1
first = n_places
last = n_places
mean_column = nth(columns_of_groups, 'final_accuracy')
local_column = nth(columns_of_groups, 'local_accuracy')
worst_column = nth(columns_of_groups, 'local_accuracy_min')
n_frames = mean_column > 0 ? 3 : 2
if (!asked) { W = 3.6 * n_frames }
slanted = slanted && have_room(W / n_frames, n_series)
if (!slanted) { least_width = greater(least_width, 1.2 * n_series * line + 9 * letter) }
frame_width = greater(W / n_frames, slanted ? 0 : lesser(W, least_width))
frame_height = slanted ? 3 : 2.4 + letter * longest_name
extras = 'ideal'.(exists('target') ? ' target' : '').(mean_column > 0 ? ' mean_model' : '').(local_column > 0 ? ' local_models' : '').(worst_column > 0 ? ' worst_model' : '')
note = both(note, (n_places > 1 || n_panels > 1 ? both(title_of_place(n_places), panel[1]) : workers.' GPUs'))
if (exists('target')) { note = both(note, 'target: '.swap(target, '=', ' ')) }
note = both(both(note, verdict[n_places]), of_two_seeds)
if (!slanted) { least_height = height_of_axis(ylabel_text) + letter * longest_name; frame_height = greater(frame_height, least_height) }
load open_canvas
set rmargin 2
eval frame(1)
ylabel_text = beside_axis(ylabel_text, cell_height * H - (slanted ? 0.7 : 1) * longest_name * letter)
if (strstrt(ylabel_text, "\n") > 0) { left = 11 }
set ylabel ylabel_text offset (left > 8 ? -2 : 0), 0
load plots.'/bars_frame.gp'
eval legend_drawn
eval frame(2)
left = across == 1 ? 10 : 8
set ylabel offset 0, 0
set lmargin left
b = n_places
along_x = 'virtual_s'
quantity = mean_column > 0 && exists('target') && target[1:9] eq 'accuracy=' ? 'accuracy' : 'loss'
load plots.'/curves_frame.gp'
if (n_frames == 3) {
    eval frame(3)
    unset logscale
    set autoscale
    set xlabel ''
    set ylabel tex(19 * letter > cell_height * H - 2.5 * line - (slanted ? 0.6 : 1) * letter * longest_name ? 'accuracy (%)' : 'final accuracy (%)')
    set xrange [0.4:n_series + 0.6]
    set yrange [0:100]
    set ytics 0, step_of(100, @ticks_up)
    eval names_below
    if (exists('target') && target[1:9] eq 'accuracy=') { set arrow 1 from graph 0, first 100 * real(target[10:]) to graph 1, first 100 * real(target[10:]) nohead back lc rgb pale dt 2 lw 1.4 }
    accuracy(q) = 100 * (q > 0 ? column(q) : NaN)
    below(q) = greater(0, accuracy(q) - 100 * column(q + 1))
    spread(q) = lesser(100, accuracy(q) + 100 * column(q + 1)) - below(q)
    plot for [i = 1:n_series] $groups index i - 1 every ::last - 1::last - 1 using (i - 0.15):(mean_column > 0 ? below(mean_column) : NaN):(0):(mean_column > 0 ? spread(mean_column) : NaN) \
             with vectors heads size graph 0.008,90 lc rgb word(look[i], 1) dt 1 lw 1.2 notitle, \
         for [i = 1:n_series] $groups index i - 1 every ::last - 1::last - 1 using (i - 0.15):(accuracy(mean_column)) with points pt 7 ps 1.1 lc rgb word(look[i], 1) notitle, \
         for [i = 1:n_series] $groups index i - 1 every ::last - 1::last - 1 using (i + 0.15):(local_column > 0 ? below(local_column) : NaN):(0):(local_column > 0 ? spread(local_column) : NaN) \
             with vectors heads size graph 0.008,90 lc rgb word(look[i], 1) dt 1 lw 1.2 notitle, \
         for [i = 1:n_series] $groups index i - 1 every ::last - 1::last - 1 using (i + 0.15):(accuracy(local_column)) with points pt 6 ps 1.1 lc rgb word(look[i], 1) notitle, \
         for [i = 1:n_series] $groups index i - 1 every ::last - 1::last - 1 using (i + 0.15):(accuracy(worst_column)) with points pt 10 ps 1.1 lc rgb word(look[i], 1) notitle
}
unset multiplot; unset output
