# Where the workers' time goes: computing, waiting for others, communicating. Mean over workers and seeds, a frame per number of GPUs or swept value.
# needs: runs.csv
load common
numbered = 1
shares = 'compute wait comm'
kinds = 'compute wait communicate'
n_frames = n_panels * n_places
legend_list = cut_names
legend_series = words(cut_names)
legend_kind = 'names'
extras = kinds
frame_width = greater(2, 0.24 * n_series + 0.6)
if (n_frames > 1) { slanted = slanted && have_room(frame_width, n_series) && n_panels == 1 }
frame_height = slanted ? 2.7 : 2.3 + letter * longest_name
if (slanted) { least_height = least_height + 0.6 * letter * longest_name }
if (!slanted) { least_height = greater(2, 7.5 * line) + letter * longest_name }
ylabel_text = tex('share of time (%)')
least_grid_width = greater(least_grid_width, 1.2 * n_series * line + 9 * letter) # names below stand apart
load open_canvas
set yrange [0:100]
set xrange [0.4:n_series + 0.6]
set boxwidth 0.7
set rmargin 1.5
first_column(k) = nth(columns_of_groups, word(shares, k).'_share')
up_to(k) = k == 0 ? 0 : up_to(k - 1) + 100 * column(first_column(k))
part(s) = sprintf("for [i = 1:n_series] $groups index (p - 1) * n_series + i - 1 every ::j - 1::j - 1 using (i):(up_to(%d)) with boxes \
    lc rgb '%s' lw 0.7 dt 1 fs %s border lc rgb ink notitle", s, word(value('look_'.word(kinds, s)), 1), fill_style(int(word(value('look_'.word(kinds, s)), 2))))
set ytics 0, step_of(100, greater(2, (cell_height * H - 0.8 - (slanted ? 0.6 : 1) * letter * longest_name) / line / 1.6))
do for [k = 1:n_frames] {
    eval frame(k)
    p = (k - 1) / n_places + 1
    j = (k - 1) % n_places + 1
    set title title_of_cell(p, j) offset 0, -0.6
    set ylabel (!grid && (k - 1) % across == 0 ? tex('share of time (%)') : '')
    eval names_below
    eval 'plot '.part(3).', '.part(2).', '.part(1)
    eval legend_drawn
}
unset multiplot; unset output
