# What algorithms give for what they cost: final accuracy (or loss) against throughput, a numbered point per group of runs, 95 % intervals over seeds.
# needs: runs.csv curves.csv compare.csv
load style
groups = dir.'/compare.csv'
stats groups using 0 nooutput
n = STATS_records
columns = STATS_columns
head = ' '
do for [k = 1:columns] { stats groups using (head = add(head, columnhead(k)), 0) every ::::0 nooutput }
# Without any accuracy it is the loss; local models are not in every runs.csv.
stats groups using (column('final_accuracy_n')) name 'A' nooutput
measure = A_max > 0 ? 'accuracy' : 'loss'
scale = A_max > 0 ? 100. : 1.
has_local = has(head, 'local_'.measure.'_mean')
local = has_local ? 'local_'.measure : 'final_'.measure
array label_of[n]
array rate[n]
array final[n]
array local_y[n]
array x_ci[n]
array y_ci[n]
array local_ci[n]
# An empty field is no number, and an interval that is not known has no width.
number(text) = text eq '' ? NaN : real(text)
width(text) = text eq '' ? 0 : real(text)
mean_of(what) = number(strcol(what.'_mean'))
ci_of(what) = width(strcol(what.'_ci'))
i = 0
stats groups using (i = i + 1, label_of[i] = strcol('label'), rate[i] = mean_of('throughput_samples_per_s'), x_ci[i] = ci_of('throughput_samples_per_s'), \
                    final[i] = scale * mean_of('final_'.measure), y_ci[i] = scale * ci_of('final_'.measure), \
                    local_y[i] = has_local ? scale * mean_of(local) : NaN, local_ci[i] = scale * ci_of(local), 0) nooutput
has_point(i) = rate[i] == rate[i] && final[i] == final[i]
has_local_point(i) = rate[i] == rate[i] && local_y[i] == local_y[i]

# The ranges: all intervals, and a margin for numbers at the edge.
low_x = 1e300
high_x = -1e300
low_y = 1e300
high_y = -1e300
least(a, b) = a < b ? a : b
most(a, b) = a > b ? a : b
do for [i = 1:n] {
    if (has_point(i)) {
        low_x = least(low_x, rate[i] - x_ci[i])
        high_x = most(high_x, rate[i] + x_ci[i])
        low_y = least(low_y, final[i] - y_ci[i])
        high_y = most(high_y, final[i] + y_ci[i])
    }
    if (has_local_point(i)) {
        low_y = least(low_y, local_y[i] - local_ci[i])
        high_y = most(high_y, local_y[i] + local_ci[i])
    }
}
empty = low_x > high_x
if (empty) { low_x = 1; high_x = 2; low_y = 0; high_y = 1 }
wide = low_x > 0 && high_x > 20 * low_x # several numbers of GPUs: decades
margin_x = high_x > low_x ? 0.06 * (high_x - low_x) : 0.1 * abs(high_x) + 1e-9
margin_y = high_y > low_y ? 0.06 * (high_y - low_y) : 0.1 * abs(high_y) + 1e-9
if (wide) { low_x = low_x / 1.3; high_x = high_x * 1.3 } else { low_x = low_x - margin_x; high_x = high_x + margin_x }
low_y = low_y - margin_y
high_y = high_y + margin_y

# Room for the names beside the plot.
end(text) = strstrt(text, ';')
name_of(text) = end(text) > 0 ? title_of(text[1:end(text) - 1]).text[end(text):strlen(text)] : title_of(text)
longest = 0
do for [i = 1:n] { longest = most(longest, strlen(name_of(label_of[i]))) }
edge = 0.93 - 0.0088 * most(least(longest, 56), 22)

# Places for the numbers, in points of a frame as wide as the plot is, and 400 high: near the own point, away from all others, their bars, and other numbers.
frame_x = 725 * (edge - 0.07)
frame_y = 400.
u_of(v) = frame_x * (wide ? log(v / low_x) / log(high_x / low_x) : (v - low_x) / (high_x - low_x))
v_of(v) = frame_y * (v - low_y) / (high_y - low_y)
array at_u[n]
array at_v[n]
array half_u[n]
array half_v[n]
array local_v[n]
array number_u[n]
array number_v[n]
array far[n]
do for [i = 1:n] {
    at_u[i] = has_point(i) ? u_of(rate[i]) : -1e6
    at_v[i] = has_point(i) ? v_of(final[i]) : -1e6
    half_u[i] = has_point(i) ? u_of(rate[i] + x_ci[i]) - at_u[i] : 0
    half_v[i] = has_point(i) ? v_of(final[i] + y_ci[i]) - at_v[i] : 0
    local_v[i] = has_local_point(i) ? v_of(local_y[i]) : -1e6
    number_u[i] = -1e6
    number_v[i] = -1e6
    far[i] = 0
}
near(a, b, room) = abs(a - b) < room ? 1 : 0
outside(a, b) = a < 6 || a > frame_x - 6 || b < 6 || b > frame_y - 6 ? 1 : 0
# Points and numbers cost most, then bars and the lines to the local models.
cost(a, b, j) = 10 * near(a, at_u[j], 13) * near(b, at_v[j], 11) + 10 * near(a, at_u[j], 13) * near(b, local_v[j], 11) \
    + 12 * near(a, number_u[j], 18) * near(b, number_v[j], 13) \
    + near(a, at_u[j], half_u[j] + 8) * near(b, at_v[j], 6) + near(a, at_u[j], 11) * near(b, at_v[j], half_v[j] + 6) \
    + (local_v[j] < -1e5 ? 0 : near(a, at_u[j], 11) * near(b, (at_v[j] + local_v[j]) / 2, abs(at_v[j] - local_v[j]) / 2 + 6))
do for [i = 1:n] {
    if (!has_point(i)) { continue }
    best = 1e9
    do for [ring = 1:3] {
        do for [k = 0:11] {
            if (best < 1) { break }
            a = at_u[i] + (5 + 11 * ring) * cos(pi * (k + 1) / 6)
            b = at_v[i] + (5 + 11 * ring) * sin(pi * (k + 1) / 6)
            price = 30 * outside(a, b) + 0.3 * (ring - 1)
            do for [j = 1:n] { price = price + cost(a, b, j) }
            if (price < best) { best = price; best_u = a; best_v = b; best_ring = ring }
        }
    }
    number_u[i] = best_u
    number_v[i] = best_v
    far[i] = best_ring > 1
}

# Colours and shapes have no common period short of 42 groups; a filled shape has its hollow one before it.
colours = '#0072B2 #D55E00 #009E73 #CC79A7 #E69F00 #56B4E9 #000000'
shapes = '7 5 9 11 13 15'
colour_of(i) = word(colours, (i - 1) % 7 + 1)
shape_of(i) = int(word(shapes, (i - 1) % 6 + 1))
size_of(i) = shape_of(i) == 5 || shape_of(i) == 7 ? 1.3 : 1.6
row = least(0.055, 1.0 / (n + (has_local ? 4 : 2)))

set xlabel 'throughput (samples/s)'
set ylabel measure eq 'accuracy' ? 'final accuracy (%)' : 'final loss'
set format x '%.1s %c'
set xrange [low_x:high_x]
set yrange [low_y:high_y]
if (wide) { set logscale x }
unset key
set rmargin at screen edge
# The key beside the plot: number, point, name.
do for [i = 1:n] {
    height = 1 - (i - 0.5) * row
    set label 4 * i sprintf('%d', i) at screen edge + 0.04, graph height right textcolor rgb '#222222'
    set label 4 * i + 1 '' at screen edge + 0.055, graph height point pt shape_of(i) ps size_of(i) lc rgb colour_of(i)
    set label 4 * i + 2 name_of(label_of[i]).(has_point(i) ? '' : ' (no value)') at screen edge + 0.07, graph height textcolor rgb '#222222' noenhanced
    if (has_point(i)) {
        set label 4 * i + 3 sprintf('%d', i) at graph number_u[i] / frame_x, graph number_v[i] / frame_y center front textcolor rgb '#222222'
        if (far[i]) { set arrow i from graph at_u[i] / frame_x, graph at_v[i] / frame_y to graph (at_u[i] + 2 * number_u[i]) / 3 / frame_x, graph (at_v[i] + 2 * number_v[i]) / 3 / frame_y nohead back lc rgb '#999999' lw 0.7 }
    }
}
set label 1 'bars: 95 % intervals' at screen edge + 0.02, graph 1 - (n + 1) * row textcolor rgb '#222222'
if (has_local) {
    set label 2 'filled: mean model' at screen edge + 0.02, graph 1 - (n + 2) * row textcolor rgb '#222222'
    set label 3 'hollow: local models' at screen edge + 0.02, graph 1 - (n + 3) * row textcolor rgb '#222222'
}
if (empty) { set label 4 * n + 4 'no final accuracy or loss' at graph 0.5, graph 0.5 center }

do for [output in 'svg png pdf'] {
    if (output eq 'svg') { set terminal svg size 1000,600 font 'Helvetica,13' background '#ffffff' }
    if (output eq 'png') { set terminal pngcairo size 2000,1200 font 'Helvetica,13' fontscale 1.8 linewidth 2 }
    if (output eq 'pdf') { set terminal pdfcairo size 8.3in,5in font 'Helvetica,10' }
    set output dir.'/figures/tradeoff.'.output
    plot for [i = 1:n] '+' using (rate[i]):(final[i]):(0):(local_y[i] - final[i]) every ::::0 with vectors nohead lc rgb colour_of(i) lw 0.7 dt 3 notitle, \
         for [i = 1:n] '+' using (x_ci[i] + local_ci[i] > 0 ? rate[i] : NaN):(local_y[i]):(x_ci[i]):(local_ci[i]) every ::::0 with xyerrorbars lc rgb colour_of(i) lw 1 pt 0 notitle, \
         for [i = 1:n] '+' using (x_ci[i] + y_ci[i] > 0 ? rate[i] : NaN):(final[i]):(x_ci[i]):(y_ci[i]) every ::::0 with xyerrorbars lc rgb colour_of(i) lw 1 pt 0 notitle, \
         for [i = 1:n] '+' using (rate[i]):(local_y[i]) every ::::0 with points pt shape_of(i) ps size_of(i) lc rgb '#ffffff' notitle, \
         for [i = 1:n] '+' using (rate[i]):(local_y[i]) every ::::0 with points pt shape_of(i) - 1 ps size_of(i) lc rgb colour_of(i) lw 1.3 notitle, \
         for [i = 1:n] '+' using (rate[i]):(final[i]) every ::::0 with points pt shape_of(i) ps size_of(i) lc rgb colour_of(i) notitle
    unset output
}
