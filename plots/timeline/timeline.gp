# What workers do in a window of a run. As `dsgd timeline --format svg` draws it: a row per worker, the straggler marked by *; the number of
# a step where it begins, white lines where its backward pass does; arrows from who was waited for; what is late in a partial collective; who
# has failed, and lines where all stand still for a failure or a checkpoint.
# needs: timeline.csv
no_data = 1
load common
file = dir.'/timeline.csv'
set datafile columnheaders
is(kind) = strcol(1) eq kind
stats file using (is('window') ? $2 : NaN) name 'begin' nooutput
stats file using (is('window') ? $3 : NaN) name 'end' nooutput
stats file using (is('window') ? $5 : NaN) name 'last' nooutput
n_rows = int(last_max) + 1
stats file using (is('message') ? 1 : 0) name 'messages' nooutput
stats file using (is('held') ? 1 : 0) name 'holds' nooutput
stats file using (is('late') ? 1 : 0) name 'lates' nooutput
stats file using (is('name') ? strlen(strcol(6)) : 0) name 'names' nooutput
stats file using (is('name') && strcol(6)[strlen(strcol(6)):] eq '*' ? 1 : 0) name 'stragglers' nooutput
array row_name[n_rows]
stats file using (is('name') ? (row_name[int($4) + 1] = strcol(6), 0) : 0) nooutput
shown = ''
stats file using (is('window') ? (shown = strcol(6), 0) : 0) nooutput
legend_series = 0
stats file using (is('away') ? 1 : 0) name 'aways' nooutput
stats file using (is('stop') ? 1 : 0) name 'stops' nooutput
extras = 'compute wait communicate'.(aways_max > 0 ? ' away' : '').(stops_max > 0 ? ' stop' : '').(holds_max > 0 ? ' held_up_by' : '').(messages_max > 0 ? ' message' : '').(lates_max > 0 ? ' late' : '').(stragglers_max > 0 ? ' straggler' : '').' backward'
frame_height = (lates_max > 0 ? 2.6 : 2) * line * n_rows + 3.5 * line
least_height = frame_height
if (!asked) { H = 1; W = greater(W, 7) }
load open_canvas
eval frame(1)
set xrange [begin_min:end_max]
set yrange [n_rows - 0.4:-0.6]
set xlabel 'time (s)'.(shown eq 'all' ? '' : '; '.shown)
set xtics 0, step_of(end_max - begin_min, @ticks_across)
set ytics scale 0 ()
do for [i = 1:n_rows] { set ytics add (tick(row_name[i]) i - 1) }
unset grid
set lmargin names_max + 2
set rmargin 3
half = lates_max > 0 ? 0.24 : 0.34
colour_of(kind) = word(value('look_'.kind), 1)
fill_of(kind) = fill_style(int(word(value('look_'.kind), 2)))
part(kind, is_it) = sprintf("file using 2:(%s ? $4 : NaN):2:3:($4 - half):($4 + half) with boxxyerror lc rgb '%s' fs %s noborder notitle", is_it, colour_of(kind), fill_of(kind))
# A number that would touch the one before is left out.
letters = 1.3 * letter / (W - (names_max + 6) * letter) * (end_max - begin_min)
array free_from[2 * n_rows]
do for [i = 1:2 * n_rows] { free_from[i] = begin_min - 1 }
fits(at, place, n) = at < free_from[place] || at + n * letters > end_max + letters ? 0 : (free_from[place] = at + (n + 0.3) * letters, 1)
parts = part('wait', "is('wait')").', '.part('compute', "is('forward') || is('backward')").', '.part('communicate', "is('communicate')").', '.part('away', "is('away')")
plot @parts, \
     file using 2:(is('backward') ? $4 - half : NaN):(0):(2 * half) with vectors nohead lc rgb '#ffffff' lw 0.8 notitle, \
     file using 2:(is('step') ? $4 - half : NaN):(0):(2 * half) with vectors nohead lc rgb ink lw 1.2 notitle, \
     file using 2:(is('stop') ? -0.6 : NaN):(0):(n_rows + 0.2) with vectors nohead lc rgb held_colour dt 2 lw 1.2 notitle, \
     file using 2:(is('message') ? $4 : NaN):($3 - $2):($5 - $4) with vectors head size screen 0.006,20 lc rgb message_colour lw 0.7 notitle, \
     file using 2:(is('held') ? $4 : NaN):($3 - $2):($5 - $4) with vectors head filled size screen 0.012,18 lc rgb held_colour lw 1.4 notitle, \
     file using 2:(is('step') && fits($2, 1 + $4, strlen(strcol(6))) ? $4 : NaN):6 with labels left offset 0.2, 0 textcolor rgb '#ffffff' notitle, \
     file using 2:(is('late') && fits($2, 1 + n_rows + $4, strlen(strcol(6))) ? $4 + half + 0.18 : NaN):6 with labels left textcolor rgb ink notitle
eval legend_drawn
unset multiplot
unset output
