# Time, energy, cost and megabytes per worker until --target is reached. With 95 % intervals over seeds. No bar where a seed never
# reaches it: the mean would be that of the lucky ones.
# needs: runs.csv curves.csv --target
load common
quantities = ''
do for [q in 'time_to_target_s energy_to_target_j cost_to_target sent_to_target_bytes'] { if (value('least_'.q) > 0) { quantities = quantities.' '.q } }
if (quantities eq '') { quantities = 'time_to_target_s' } # nobody reaches it: empty axes
n_quantities = words(quantities)
quantity = word(quantities, 1)
load plots.'/bars_range.gp'
n_frames = n_panels * n_quantities
# Names of many algorithms have no room below narrow frames.
with_names = named_bars && n_series <= 5
named_bars = with_names
numbered = named_bars
frame_width = as_lines ? 2.8 : lesser(W, greater(2.6, 0.11 * n_series * n_places))
beside_each_other = 9
do for [j = 1:n_places] { beside_each_other = beside_each_other + strlen(place[j]) + 0.8 }
if (!as_lines && !named_bars) { least_width = greater(least_width, letter * beside_each_other) }
if (asked) { frame_width = greater(frame_width, least_width); least_height = greater(least_height, 1 + 4 * line) }
if (named_bars && !slanted) { frame_height = frame_height + letter * longest_name; least_height = height_of_axis(ylabel_text) + letter * longest_name }
legend_kind = as_lines ? 'lines' : 'boxes'
if (named_bars) { legend_list = cut_names }
legend_series = named_bars ? words(cut_names) : n_series
missed = 0
time = nth(columns_of_groups, 'time_to_target_s')
undefine ylabel_text
stats $groups using (strcol(time) eq 'NaN' ? (missed = 1, 0) : 0) nooutput
note = both('until '.target.(missed ? '; nothing where not all seeds reach it' : ''), both(note, of_two_seeds))
load open_canvas
set rmargin (as_lines ? 4 : 1.5)
do for [k = 1:n_frames] {
    eval frame(k)
    p = (k - 1) / n_quantities + 1
    first = 1
    last = n_places
    quantity = word(quantities, (k - 1) % n_quantities + 1)
    undefine ylabel_text
    load plots.'/bars_range.gp'
    named_bars = with_names
    set title (grid ? '' : broken(tex(panel[p]))) offset 0, -0.6
    set lmargin (as_lines ? -1 : left)
    set ylabel beside_axis(ylabel_text, cell_height * H)
    set xlabel (named_bars ? '' : xlabel_text)
    nobody = 1
    do for [j = 1:n_places] { if (top[(p - 1) * n_places + j] > 0) { nobody = 0 } }
    unset label 1
    if (nobody) { set label 1 "nobody reaches it\nwith all seeds" at graph 0.5, graph 0.6 center textcolor rgb ink }
    load plots.'/bars_frame.gp'
    eval legend_drawn
}
unset multiplot; unset output
