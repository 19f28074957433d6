# Opens the canvas that common.gp describes: terminal and output, the grid of frames, the legend, and the note at the foot.
n_extras = words(extras)
in_legend(e) = legend_list eq '' ? e : int(word(legend_list, e))
n_entries = where eq 'off' ? 0 : legend_series + n_extras
named_in_full(i) = numbered && strlen(title[i]) > most_letters ? with_number(i) : title[i]
most_of_entry = floor((W - 0.25) / (0.9 * letter) - 5.8)
longest_entry = 0
told_below = ''
do for [e = 1:(where eq 'off' ? 0 : legend_series)] {
    longest_entry = greater(longest_entry, lesser(most_of_entry, strlen(named_in_full(in_legend(e)))))
    if (strlen(named_in_full(in_legend(e))) > most_of_entry) { told_below = both(told_below, with_number(in_legend(e))) }
}
note = both(told_below, note)
entry_text(i) = strlen(named_in_full(i)) <= most_of_entry ? named_in_full(i) : cut(with_number(i), most_of_entry)
do for [k = 1:n_extras] { longest_entry = greater(longest_entry, strlen(extra_title(word(extras, k)))) }
# Short names are capitals, which are wide.
entry = letter * (longest_entry + (longest_entry < 15 ? 5.2 + 0.2 * longest_entry : 5.2))
beside = n_entries > 0 && where eq 'right'
above = n_entries > 0 && !beside
legend_across = beside ? 1 : int(greater(1, lesser(n_entries, floor((W - 0.2) / entry))))
legend_down = int(ceil(n_entries / (1. * legend_across)))
legend_across = beside ? 1 : int(greater(1, ceil(n_entries / (1. * greater(1, legend_down)))))
legend_height = above ? (legend_down + 0.6) * line : 0
legend_width = beside ? entry + 0.1 : 0
note = wrapped(note, floor((W - 0.2) / letter))
foot = note eq '' ? 0 : line * lines_of(note)
if (!asked && n_series > 0 && n_panels > 1) { frame_width = greater(frame_width, lesser(W - legend_width, letter * longest_part(panel[1]) + 0.6)) }
across = int(greater(1, lesser(n_frames, floor((W - legend_width) / frame_width))))
down = int(ceil(n_frames / (1. * across)))
# A grid has its titles in a margin: of the y axis, of the rows' names and values at the left, of the columns above. Where a panel has frames of
# several places they are beside each other, or where they would be too narrow below.
grid_left = 0
grid_top = 0
fold = 0
if (panels_across > 0 && n_frames % n_panels == 0) {
    per_panel = n_frames / n_panels
    do for [below in '1 '.n_places] {
        if (!fold && per_panel % below == 0 && (W - legend_width - 3.7 * line) / (panels_across * per_panel / below) >= least_grid_width) { fold = int(below) }
    }
}
grid = fold > 0
if (grid) {
    per_row = per_panel / fold
    across = panels_across * per_row
    down = n_panels / panels_across * fold
    grid_left = 3.7 * line / W
    # A group of bars by itself has its place below.
    has_place_above = fold == 1 && n_places > 1 && per_panel % n_places == 0 && !(exists('split') && split)
    grid_top = (has_place_above ? 2.2 : 1.2) * line
    place_below(k) = fold > 1 ? ', '.place[(k - 1) % fold + 1].(along eq 'workers' ? ' GPUs' : '') : ''
    title_of_row(k) = values_in(head_of_panel((k - 1) / fold * panels_across + 1)).place_below(k)
    least_height = greater(least_height, 5.5 * line)
    do for [k = 1:down] { least_height = greater(least_height, letter * (strlen(title_of_row(k)) + 2)) }
    if (!asked && down > 2) { frame_height = greater(least_height, 0.7 * frame_height) }
    if (exists('x_title')) { foot = foot + 1.3 * line }
}
column_of(k) = grid ? ((k - 1) / per_panel) % panels_across * per_row + (k - 1) % per_row : (k - 1) % across
row_of(k) = grid ? (k - 1) / per_panel / panels_across * fold + (k - 1) % per_panel / per_row : (k - 1) / across
if (asked && !grid) {
    while (across < n_frames && (H - legend_height - foot) / down < least_height && (W - legend_width) / (across + 1) >= least_width) { across = across + 1; down = int(ceil(n_frames / (1. * across))) }
}
if (!grid) { across = int(ceil(n_frames / (1. * down))) }
# Titles that break make frames higher.
if (n_series > 0 && n_frames > 1 && n_panels > 1 && !grid) {
    if ((longest_panel + longest_place + 2) * letter > (W - legend_width) / across - 0.5) {
        frame_height = frame_height + line * (breaks(panel[1]) + 1)
        least_height = least_height + line * (breaks(panel[1]) + 1)
    }
}
H = greater(H, legend_height + grid_top + foot + down * (asked ? lesser(least_height, frame_height) : frame_height))
if (H > 150) {
    set print '-'
    print sprintf("%-12s skipped: %d frames are more than a page holds; --only and fewer swept values make fewer", figure, n_frames)
    exit status 4
}
cell_width = ((W - legend_width) / W - grid_left) / across
cell_height = (H - legend_height - grid_top - foot) / H / down
bottom = (foot + (where eq 'bottom' ? legend_height : 0)) / H

terminal = terminal_of(W, H)
eval 'set terminal '.terminal
set output into.'/'.figure.'.'.(format eq 'tikz' ? 'tex' : format)
set multiplot
unset key

# The legend, in inches from the upper left corner; it is drawn with the first frame.
legend_left = beside ? W - entry : 0.5 * (W - legend_across * entry)
legend_top = where eq 'bottom' ? H - legend_height - foot : beside ? 0.3 * line : 0
box_of(colour, pattern, edge) = sprintf("set object %d rectangle from screen %g, screen %g to screen %g, screen %g fc rgb '%s' fs %s border lc rgb '%s' lw 0.7", \
    500 + e, ex, ey - 0.3 * line / H, ex + sample, ey + 0.3 * line / H, colour, fill_style(pattern), edge)
do for [e = 1:n_entries] {
    row = beside || legend_across == 0 ? e - 1 : (e - 1) % legend_down
    col = beside ? 0 : (e - 1) / legend_down
    ex = (legend_left + col * entry) / W
    ey = 1 - (legend_top + (row + 0.8) * line) / H
    sample = 3 * letter / W
    kind = e <= legend_series ? legend_kind : word(extras, e - legend_series)
    set label 500 + e ''.(e <= legend_series ? entry_text(in_legend(e)) : extra_title(kind)) at screen ex + 1.3 * sample, screen ey left textcolor rgb ink
    i = e <= legend_series ? in_legend(e) : 0
    if (kind eq 'boxes') { eval box_of(word(look[i], 1), fill[i], word(look[i], 1)) }
    if (kind eq 'lines') { set arrow 500 + e from screen ex, screen ey to screen ex + sample, screen ey nohead lt i }
    if (kind eq 'lines' || kind eq 'points') { set label 600 + e '' at screen ex + 0.5 * sample, screen ey point lt i }
    if (kind eq 'ideal') { set arrow 500 + e from screen ex, screen ey to screen ex + sample, screen ey nohead lc rgb ideal_colour lw 1.6 }
    if (kind eq 'target') { set arrow 500 + e from screen ex, screen ey to screen ex + sample, screen ey nohead lc rgb pale dt 2 lw 1.6 }
    if (kind eq 'published') { set label 600 + e '' at screen ex + 0.5 * sample, screen ey point pt 12 ps 1.3 lw 1.6 lc rgb ink }
    if (kind eq 'mean_model') { set label 600 + e '' at screen ex + 0.5 * sample, screen ey point pt 7 ps 1.1 lc rgb ink }
    if (kind eq 'local_models') { set label 600 + e '' at screen ex + 0.5 * sample, screen ey point pt 6 ps 1.1 lc rgb ink }
    if (kind eq 'worst_model') { set label 600 + e '' at screen ex + 0.5 * sample, screen ey point pt 10 ps 1.1 lc rgb ink }
    if (kind eq 'simulated') { set label 600 + e '' at screen ex + 0.5 * sample, screen ey point pt 7 ps 0.25 * point_size lc rgb ink }
    if (kind eq 'equally_fast') { set arrow 500 + e from screen ex, screen ey to screen ex + sample, screen ey nohead lc rgb ink lw 2.5 }
    if (kind eq 'message') { set arrow 500 + e from screen ex, screen ey to screen ex + sample, screen ey head size screen 0.006,20 lc rgb message_colour lw 0.7 }
    if (kind eq 'stop') { set arrow 500 + e from screen ex, screen ey to screen ex + sample, screen ey nohead dt 2 lw 1.2 lc rgb held_colour front }
    if (kind eq 'held_up_by') { set arrow 500 + e from screen ex, screen ey to screen ex + sample, screen ey head filled size screen 0.012,18 lc rgb held_colour lw 1.4 }
    if (kind eq 'failure') { set label 600 + e '' at screen ex + 0.5 * sample, screen ey point pt 2 ps 0.8 * point_size lw 1.2 lc rgb ink }
    if (kind eq 'least_loss') { set label 600 + e '' at screen ex + 0.5 * sample, screen ey point pt 2 ps 1.6 * point_size lw 2 lc rgb ink }
    if (kind eq 'server') { set arrow 500 + e from screen ex, screen ey to screen ex + sample, screen ey nohead lc rgb pale lw line_width; \
        set label 600 + e '' at screen ex + 0.5 * sample, screen ey point pt 6 ps 0.8 * point_size lc rgb pale }
    if (kind eq 'stale') { set arrow 500 + e from screen ex, screen ey to screen ex + sample, screen ey head filled size screen 0.014,20 lc rgb ink dt 2 lw 1.3 }
    if (kind eq 'late_model') { set arrow 500 + e from screen ex, screen ey to screen ex + sample, screen ey head filled size screen 0.012,18 lc rgb ink lw 0.8 }
    if (kind eq 'uncertain') { eval box_of(ink, 2, ink) }
    if (kind eq 'compute' || kind eq 'wait' || kind eq 'communicate' || kind eq 'away') { eval box_of(word(value('look_'.kind), 1), int(word(value('look_'.kind), 2)), ink) }
}
if (grid) {
    set label 798 tex(names_in(head_of_panel(1)).(fold > 1 && along ne 'workers' ? ', '.axis : '')) at screen 1.9 * line / W, screen bottom + 0.5 * down * cell_height center rotate by 90 textcolor rgb ink
    if (exists('ylabel_text')) { set label 799 ylabel_text at screen 0.8 * line / W, screen bottom + 0.5 * down * cell_height center rotate by 90 textcolor rgb ink }
    if (exists('x_title')) { set label 797 x_title at screen grid_left + 0.5 * across * cell_width, screen bottom - 0.6 * line / H center textcolor rgb ink }
    do for [k = 1:across] {
        set label 700 + k ''.(has_place_above ? title_of_place((k - 1) % per_row / (per_row / n_places) + 1)."\n" : '').tex(tail_of_panel((k - 1) / per_row + 1)) \
            at screen grid_left + (k - 0.4) * cell_width, screen bottom + down * cell_height + (grid_top - 0.7 * line) / H center textcolor rgb ink
    }
    do for [k = 1:down] { set label 800 + k tex(title_of_row(k)) at screen 3 * line / W, screen bottom + (down - k + 0.55) * cell_height center rotate by 90 textcolor rgb ink }
    set tmargin 0.8
}
if (note ne '') { set label 499 tex(note) at screen 1 - 0.08 / W, screen (lines_of(note) - 0.5) * line / H right textcolor rgb ink }
# After the first frame: what is in screen coordinates would be drawn again with each.
legend_drawn = 'if (n_entries > 0) { do for [e = 1:n_entries] { unset label 500 + e; unset label 600 + e; unset arrow 500 + e; unset object 500 + e } }; if (grid) { do for [e = 1:across] { unset label 700 + e }; do for [e = 1:down] { unset label 800 + e }; unset label 797; unset label 798; unset label 799 }; unset label 499'
