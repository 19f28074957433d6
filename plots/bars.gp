# Bars of `quantity`, grouped by place, a row of frames per panel; a script may set ylabel_text, xlabel_text and has_ideal before.
load plots.'/bars_range.gp'
numbered = named_bars
note = both(note, of_two_seeds)
# Where weak scaling makes some groups much higher than others, each has a frame with an axis of its own.
split = !as_lines && n_places > 1 && least_top > 0 && highest > 3 * least_top && along eq 'workers'
frames_per_panel = split ? n_places : 1
n_frames = n_panels * frames_per_panel
# Of a group by itself the margins below, and the bars.
frame_width = split ? greater(greater(0.16 * n_series, 0.36 * W / 1.45) * 0.55, 12.5 * letter + 0.05 * n_series) : as_lines ? 2.8 : lesser(W, greater(2.6, 0.11 * n_series * n_places))
# Titles are centred above bars that begin right of an axis.
if (split && n_panels > 1) { frame_width = greater(frame_width, letter * (9.5 + greater(strlen(part_before(tail_of_panel(1))), strlen(part_at_end(panel[1]))))) }
if (n_panels > 1) { least_height = greater(least_height, letter * 19) } # for the y axis's title
beside_each_other = 9
do for [j = 1:n_places] { beside_each_other = beside_each_other + strlen(place[j]) + 0.8 }
if (!as_lines && !named_bars && !split) {
    least_grid_width = greater(least_grid_width, letter * beside_each_other)
    frame_width = lesser(W, greater(frame_width, letter * beside_each_other))
    least_width = greater(least_width, letter * beside_each_other)
}
if (named_bars && !slanted) { frame_height = frame_height + letter * longest_name; least_height = height_of_axis(ylabel_text) + letter * longest_name }
legend_kind = as_lines ? 'lines' : 'boxes'
if (named_bars) { legend_list = cut_names }
legend_series = named_bars ? words(cut_names) : n_series
if (dropped > 0) {
    kept = named_bars ? cut_names : ''
    if (!named_bars) { do for [i = 1:n_series] { kept = kept.sprintf('%d ', i) } }
    legend_list = ''
    do for [i in kept] { if (int(i) != dropped) { legend_list = legend_list.i.' ' } }
    legend_series = words(legend_list)
}
extras = (has_ideal ? 'ideal ' : '').(has_published ? 'published' : '')
if (split) { do for [j = 1:n_places] { place_title[j] = swap(place_title[j], place[j], place[j].' GPUs') } }
load open_canvas
set rmargin (as_lines ? 4 : 1.5)
if (split && has_predicted) { set bmargin 3 } # two lines below that frame
do for [k = 1:n_frames] {
    eval frame(k)
    p = (k - 1) / frames_per_panel + 1
    first = split ? (k - 1) % frames_per_panel + 1 : 1
    last = split ? first : n_places
    set title (grid ? '' : broken(tex(panel[p]))) offset 0, -0.6
    title_of_y = beside_axis(ylabel_text, cell_height * H - (named_bars ? (slanted ? 0.7 : 1) * longest_name * letter : 0.6))
    left = !grid && (k - 1) % across == 0 && strstrt(title_of_y, "\n") > 0 ? 11 : grid ? 6 : 8
    set lmargin (as_lines && left == 8 ? -1 : left)
    set ylabel (!grid && (k - 1) % across == 0 ? title_of_y : '') offset (left > 8 ? -2 : 0), 0
    set xlabel (named_bars || split ? '' : xlabel_text)
    if (quantity eq 'speedup') { set arrow 1 from graph 0, first 1 to graph 1, first 1 nohead back lc rgb ideal_colour lw 1.6 }
    if (as_lines && along eq 'failures.checkpoint.interval_s' && nth(columns_of_groups, 'daly_s') > 0) {
        stats $groups index (p - 1) * n_series using (column(nth(columns_of_groups, 'daly_s'))) name 'daly' nooutput
        set arrow 1 from first daly_mean, graph 0 to first daly_mean, graph 1 nohead back lc rgb ideal_colour dt 2 lw 1.6
        set label 1 ' Daly' at first daly_mean, graph 0.06 left textcolor rgb ink
    }
    load plots.'/bars_frame.gp'
    eval legend_drawn
}
unset multiplot; unset output
