# Who is fastest over two swept numbers, and by how much. A colour per algorithm, the darker the larger its lead over the second, as the scale
# beside it says; contours of the lead, and of equality; cells with a lead below 2 %, or within noise, crossed; those that were simulated
# (not interpolated) marked by a dot.
# needs: runs.csv phase.csv
load common
# Of several series of an algorithm, whose sweep is a side here, the first has its look. Who wins nowhere is not
# in the legend; one that --only leaves out has no cells.
array of[|racer| + 1] # the last is nobody
do for [r = 1:|racer| + 1] { of[r] = 0 }
legend_series = 0
won = ' '
stats $cells using (won = nth(won, sprintf('%d', $9)) ? won : won.sprintf('%d ', $9), 0) nooutput
do for [i = 1:n_series] {
    name = head_of(series[i])
    do for [r = 1:|racer|] {
        if (racer[r] ne name || exists('seen_'.r) || !nth(won, sprintf('%d', r))) { continue }
        eval sprintf('seen_%d = 1', r)
        legend_series = legend_series + 1
        of[r] = legend_series
        title[legend_series] = label[i] eq '' ? title_of(name) : title[i]
        look[legend_series] = exists('look_'.name) ? value('look_'.name) : look[i]
        fill[legend_series] = int(word(look[legend_series], 4))
    }
}
# The scale: logarithmic, from 1 to the largest lead; contours at a few round leads below.
stats $cells using ($10 < 1000 ? $10 : 1) nooutput # who can win alone has a lead of 1024: darkest, and no part of the scale
top_ratio = greater(1.1, STATS_max)
depth(ratio) = lesser(1, log(ratio) / log(top_ratio))
part(i, k) = int('0x'.look[i][2 * k:2 * k + 1])
mixed(i, k, share) = int(255 - share * (255 - part(i, k)))
colour_at(i, share) = mixed(i, 1, share) * 65536 + mixed(i, 2, share) * 256 + mixed(i, 3, share)
share_at(part) = 0.15 + 0.65 * part
colour(i, ratio) = colour_at(i, share_at(depth(ratio)))
levels = ''
last_depth = 0.9
do for [level in '1000 500 200 100 50 20 10 5 3 2 1.5 1.2 1.1 1.05 1.02'] {
    if (depth(1. * level) <= last_depth - 0.15 && depth(1. * level) >= 0.15) { levels = level.' '.levels; last_depth = depth(1. * level) }
}

set table $contours
unset surface
set contour base
list = '0'
do for [level in levels] { list = list.sprintf(', %g', log(1. * level) / log(2)) }
eval 'set cntrparam levels discrete '.list
splot for [r = 1:|racer|] $cells using (x_is_log ? log($1) : $1):(y_is_log ? log($2) : $2):(of[r] > 0 ? column(10 + r) : -1) with lines
unset contour
unset table
# With commas, as all tables here; a line of one point is none. On each contour stands its lead.
set print $borders
print sprintf('%g,%g,0', x_is_log ? log(x_value[1]) : x_value[1], y_is_log ? log(y_value[1]) : y_value[1])."\n"
first_point = 0
ends = '' # first and last points of contours
do for [k = 1:|$contours|] {
    is_point = words($contours[k]) == 3 && word($contours[k], 1) ne '#'
    print is_point ? word($contours[k], 1).','.word($contours[k], 2).','.word($contours[k], 3) : ''
    if (is_point && first_point == 0) { first_point = k }
    if (first_point > 0 && (!is_point || k == |$contours|)) {
        if (k - first_point > 2) { ends = ends.sprintf('%d %d ', first_point, is_point ? k : k - 1) }
        first_point = 0
    }
}
unset print

stats $cells using 8 nooutput
extras = 'simulated'.(legend_series > 1 ? ' equally_fast' : '').(STATS_sum > 0 ? ' uncertain' : '')
legend_kind = 'boxes'
frame_height = 4.2
load open_canvas
if (x_is_log) { set logscale x }
if (y_is_log) { set logscale y }
set xrange [x_low:x_high]
set yrange [y_low:y_high]
set xlabel tex(x_title)
set ylabel tex(y_title)
set xtics scale 0.5 ()
set ytics scale 0.5 ()
# The scale, at the right: a strip for each algorithm.
scale_letters = 10 + 1.5 * legend_series
set rmargin scale_letters
n_shades = 24
per_letter = letter / (cell_width * W - (10 + scale_letters) * letter)
do for [i = 1:legend_series] {
    do for [k = 0:n_shades - 1] {
        eval sprintf("set object rectangle from graph %g, graph %g to graph %g, graph %g noclip fc rgb '#%06x' fs solid 1 noborder", 1 + (1.5 * i - 0.5) * per_letter, \
            1. * k / n_shades, 1 + (1.5 * i + 0.9) * per_letter, (k + 1.) / n_shades, colour_at(i, share_at((k + 0.5) / n_shades)))
    }
    if (fill[i] != 3) {
        eval sprintf("set object rectangle from graph %g, graph 0 to graph %g, graph 1 noclip fc rgb '%s' fs transparent pattern %d noborder", \
            1 + (1.5 * i - 0.5) * per_letter, 1 + (1.5 * i + 0.9) * per_letter, word(look[i], 1), fill[i])
    }
}
scale_at = 1 + (1.5 * legend_series + 1.4) * per_letter
do for [level in '1 '.levels.sprintf(top_ratio < 100 ? '%.2g' : '%.0f', top_ratio)] { set label level.'×' at graph scale_at, graph lesser(1, depth(1. * level)) left textcolor rgb ink }
set label "lead over the second" at graph scale_at + 6.8 * per_letter, graph 0.5 center rotate by 90 textcolor rgb ink
along(is_log, v, low, high) = is_log ? log(v / low) / log(high / low) : (v - low) / (high - low)
x_at(i) = along(x_is_log, x_value[i], x_low, x_high) * (cell_width * W - (10 + scale_letters) * letter)
y_at(i) = along(y_is_log, y_value[i], y_low, y_high) * (cell_height * H - 0.8)
half(i) = 0.5 * letter * strlen(x_text[i])
end = 0
do for [i = 1:|x_value|] {
    if (clear(i, |x_value|, x_at(i), half(i), end, x_at(|x_value|) - half(|x_value|), letter)) { set xtics add (tick(x_text[i]) x_value[i]); end = x_at(i) + half(i) }
}
do for [i = 1:|y_value|] {
    if (clear(i, |y_value|, y_at(i), 0.5 * line, end, y_at(|y_value|) - 0.5 * line, 0.2 * line)) { set ytics add (tick(y_text[i]) y_value[i]); end = y_at(i) + 0.5 * line }
}
unset grid
eval frame(1)
free(x, y) = x > 0.04 && x < 0.96 && y > 0.03 && y < 0.97
set style textbox opaque noborder margins 0.5, 0.3
array mark_x[1 + words(ends)]
array mark_y[1 + words(ends)]
n_marks = 0
# In the middle, or where else no other label is.
do for [c = 1:words(ends) / 2] {
    first_point = int(word(ends, 2 * c - 1))
    n_points = int(word(ends, 2 * c)) - first_point
    is_marked = 0
    do for [share in '0.5 0.3 0.7 0.1 0.9 0 1'] {
        point = $contours[first_point + int(share * n_points + 0.5)]
        mx = along(0, 1. * word(point, 1), x_is_log ? log(x_low) : x_low, x_is_log ? log(x_high) : x_high)
        my = along(0, 1. * word(point, 2), y_is_log ? log(y_low) : y_low, y_is_log ? log(y_high) : y_high)
        keeps_clear = !is_marked && 1. * word(point, 3) > 0 && free(mx, my)
        do for [k = 1:n_marks] { if (abs(mx - mark_x[k]) < 6 * per_letter && abs(my - mark_y[k]) < 1.5 * line / (cell_height * H - 0.8)) { keeps_clear = 0 } }
        if (keeps_clear) {
            is_marked = 1
            n_marks = n_marks + 1
            mark_x[n_marks] = mx
            mark_y[n_marks] = my
            set label sprintf('%.3g×', 2**(1. * word(point, 3))) at graph mx, graph my center front boxed textcolor rgb ink
        }
    }
}
plot for [i = 1:legend_series] $cells using 1:(of[int($9)] == i ? $2 : NaN):3:4:5:6:(colour(i, $10)) with boxxyerror lc rgb variable fs solid 1 noborder notitle, \
     for [i = 1:legend_series] $cells using 1:(of[int($9)] == i ? hatched(i, $2) : NaN):3:4:5:6 with boxxyerror lc rgb word(look[i], 1) fs transparent pattern fill[i] noborder notitle, \
     $cells using 1:($8 == 1 && of[int($9)] > 0 ? $2 : NaN):3:4:5:6 with boxxyerror lc rgb ink lw 0.5 fs transparent pattern 2 noborder notitle, \
     $cells using 1:($7 == 1 && of[int($9)] > 0 ? $2 : NaN) with points pt 7 ps 0.25 * point_size lc rgb ink notitle, \
     for [edge = 0:1] $borders using (x_is_log ? exp($1) : $1):((abs($3) < 1e-9) == edge ? (y_is_log ? exp($2) : $2) : NaN) \
         with lines lc rgb ink dt 1 lw (edge ? 2.5 : 0.8) notitle
unset multiplot
unset output
