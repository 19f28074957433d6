# Who is fastest over two swept numbers, and by how much: a colour per algorithm, the darker the larger its lead over the second; the
# contour of equality; cells with a lead below 2 %, or within noise, crossed; those that were simulated (not interpolated) marked by a dot.
# needs: runs.csv phase.csv
load common
# Of several series of an algorithm, whose sweep is a side here, the first has its look; one that --only leaves out has no cells.
array of[|racer| + 1] # the last is nobody
do for [r = 1:|racer| + 1] { of[r] = 0 }
legend_series = 0
do for [i = 1:n_series] {
    name = head_of(series[i])
    do for [r = 1:|racer|] {
        if (racer[r] ne name || exists('seen_'.r)) { continue }
        eval sprintf('seen_%d = 1', r)
        legend_series = legend_series + 1
        of[r] = legend_series
        title[legend_series] = label[i] eq '' ? title_of(name) : title[i]
        look[legend_series] = exists('look_'.name) ? value('look_'.name) : look[i]
        fill[legend_series] = int(word(look[legend_series], 4))
    }
}
# Half as light at twice the second's throughput.
part(i, k) = int('0x'.look[i][2 * k:2 * k + 1])
mixed(i, k, share) = int(255 - share * (255 - part(i, k)))
shade(i, share) = mixed(i, 1, share) * 65536 + mixed(i, 2, share) * 256 + mixed(i, 3, share)
colour(i, ratio) = shade(i, 0.25 + 0.6 * (1 - 1 / ratio))

set table $contours
unset surface
set contour base
set cntrparam levels discrete 0
splot for [r = 1:|racer|] $cells using (x_is_log ? log($1) : $1):(y_is_log ? log($2) : $2):(of[r] > 0 ? column(10 + r) : 1) with lines
unset contour
unset table
# With commas, as all tables here; a line of one point is none.
set print $borders
print sprintf('%g,%g', x_is_log ? log(x_value[1]) : x_value[1], y_is_log ? log(y_value[1]) : y_value[1])."\n"
do for [k = 1:|$contours|] {
    is_point = words($contours[k]) == 3 && word($contours[k], 1) ne '#'
    print is_point ? word($contours[k], 1).','.word($contours[k], 2) : ''
}
unset print

stats $cells using 8 nooutput
extras = 'simulated equally_fast'.(STATS_sum > 0 ? ' uncertain' : '')
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
# A value has a tick where its text keeps clear of the one before.
along(is_log, v, low, high) = is_log ? log(v / low) / log(high / low) : (v - low) / (high - low)
end = -letter
do for [i = 1:|x_value|] {
    at = along(x_is_log, x_value[i], x_low, x_high) * (cell_width * W - 12 * letter)
    half = 0.5 * letter * strlen(x_text[i])
    if (at - half >= end + letter || i == 1) { set xtics add (tick(x_text[i]) x_value[i]); end = at + half }
}
end = -line
do for [i = 1:|y_value|] {
    at = along(y_is_log, y_value[i], y_low, y_high) * (cell_height * H - 0.8)
    if (at >= end + 1.2 * line) { set ytics add (tick(y_text[i]) y_value[i]); end = at }
}
unset grid
eval frame(1)
plot for [i = 1:legend_series] $cells using 1:(of[int($9)] == i ? $2 : NaN):3:4:5:6:(colour(i, $10)) with boxxyerror lc rgb variable fs pattern fill[i] noborder notitle, \
     $cells using 1:($8 == 1 && of[int($9)] > 0 ? $2 : NaN):3:4:5:6 with boxxyerror lc rgb ink lw 0.5 fs transparent pattern 2 noborder notitle, \
     $cells using 1:($7 == 1 && of[int($9)] > 0 ? $2 : NaN) with points pt 7 ps 0.25 * point_size lc rgb ink notitle, \
     $borders using (x_is_log ? exp($1) : $1):(y_is_log ? exp($2) : $2) with lines lc rgb ink dt 1 lw 2.5 notitle
unset multiplot
unset output
