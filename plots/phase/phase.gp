# Who is fastest over two swept numbers, and by how much: a colour per algorithm, the darker the larger its lead over the second; the
# contour of equality; cells whose 95 % interval includes 1 hatched, cells that were simulated (not interpolated) marked by a dot.
# needs: phase.csv
load style
phase = dir.'/phase.csv'
x_name = ''
y_name = ''
stats phase using (x_name = columnhead(1), y_name = columnhead(2), 0) nooutput
n_leads = int(STATS_columns) - 9
n_uncertain = 0
stats phase using (n_uncertain = n_uncertain + $4, 0) nooutput

# Cells reach half way to their neighbours, on the scale of each side.
xs = ' '
ys = ' '
stats phase using (xs = add(xs, strcol(1)), ys = add(ys, strcol(2)), 0) nooutput
log_x = real(word(xs, 1)) > 0
log_y = real(word(ys, 1)) > 0
to_x(v) = log_x ? log(v) : v
to_y(v) = log_y ? log(v) : v
of_x(v) = log_x ? exp(v) : v
of_y(v) = log_y ? exp(v) : v
place(list, text) = words(substr(list, 1, strstrt(list, ' '.text.' '))) + 1
x_at(i) = to_x(real(word(xs, i)))
y_at(i) = to_y(real(word(ys, i)))
x_edge(i) = i < 1 ? 1.5 * x_at(1) - 0.5 * x_at(2) : i >= words(xs) ? 1.5 * x_at(words(xs)) - 0.5 * x_at(words(xs) - 1) : 0.5 * (x_at(i) + x_at(i + 1))
y_edge(i) = i < 1 ? 1.5 * y_at(1) - 0.5 * y_at(2) : i >= words(ys) ? 1.5 * y_at(words(ys)) - 0.5 * y_at(words(ys) - 1) : 0.5 * (y_at(i) + y_at(i + 1))
low_x(t) = of_x(x_edge(place(xs, t) - 1))
high_x(t) = of_x(x_edge(place(xs, t)))
low_y(t) = of_y(y_edge(place(ys, t) - 1))
high_y(t) = of_y(y_edge(place(ys, t)))

# Half as light at twice the second's throughput.
hues = 'x0072B2 xD55E00 x009E73 xCC79A7 xE69F00 x56B4E9 x000000 xF0E442'
hue(i) = int('0'.word(hues, (i - 1) % 8 + 1))
number_of(name) = words(substr(algorithms, 1, strstrt(algorithms, ' '.name.' '))) + 1
part(c, shift) = int(c / shift) % 256
mixed(c, shift, share) = int(255 - share * (255 - part(c, shift)))
shade(c, share) = mixed(c, 65536, share) * 65536 + mixed(c, 256, share) * 256 + mixed(c, 1, share)
strength(ratio) = 0.25 + 0.6 * (1 - 1 / ratio)
colour(name, ratio) = shade(hue(number_of(name)), strength(ratio))

# A column's name ends in its unit; numbers of bytes and of bytes per second are read in powers of 1,000.
ends(name, end) = strlen(name) > strlen(end) && name[strlen(name) - strlen(end) + 1:] eq end
last_key(name) = strstrt(name, '.') == 0 ? name : last_key(name[strstrt(name, '.') + 1:])
cut(name, end) = name[1:strlen(name) - strlen(end)]
spaced(name) = strstrt(name, '_') == 0 ? name : spaced(name[1:strstrt(name, '_') - 1].' '.name[strstrt(name, '_') + 1:])
title_of_side(name) = ends(name, '_bytes_per_s') ? spaced(cut(name, '_bytes_per_s')).' (B/s)' : ends(name, '_bytes') ? spaced(cut(name, '_bytes')).' (B)' : \
                      ends(name, '_s') ? spaced(cut(name, '_s')).' (s)' : spaced(name)
in_thousands(v) = v >= 1e12 ? sprintf('%.3g T', v / 1e12) : v >= 1e9 ? sprintf('%.3g G', v / 1e9) : v >= 1e6 ? sprintf('%.3g M', v / 1e6) : v >= 1e3 ? sprintf('%.3g k', v / 1e3) : sprintf('%.3g', v)
tick_of(name, v) = ends(name, 'bytes_per_s') || ends(name, 'bytes') ? in_thousands(v) : sprintf('%.2g', v)

set table $contours
unset surface
set contour base
set cntrparam levels discrete 0
splot for [i = 1:n_leads] phase using (to_x($1)):(to_y($2)):(column(9 + i)) with lines
unset contour
set surface
unset table
# With a header and commas, as all tables here.
set print $borders
print 'x,y'
has_border = 0
do for [k = 1:|$contours|] {
    is_point = words($contours[k]) == 3 && word($contours[k], 1) ne '#'
    has_border = has_border || is_point
    print is_point ? word($contours[k], 1).','.word($contours[k], 2) : ''
}
if (!has_border) { print sprintf('%g,%g', x_at(1), y_at(1)) } # a line of one point is none
unset print

if (log_x) { set logscale x }
if (log_y) { set logscale y }
set xrange [of_x(x_edge(0)):of_x(x_edge(words(xs)))]
set yrange [of_y(y_edge(0)):of_y(y_edge(words(ys)))]
set xlabel title_of_side(last_key(x_name)) noenhanced
set ylabel title_of_side(last_key(y_name)) noenhanced
# Ticks are swept values.
every_other(n) = n > 24 ? 6 : n > 8 ? 3 : 1
set xtics scale 0.5 ()
set ytics scale 0.5 ()
do for [i = 1:words(xs):every_other(words(xs))] { set xtics add (tick_of(x_name, real(word(xs, i))) real(word(xs, i))) }
do for [i = 1:words(ys):every_other(words(ys))] { set ytics add (tick_of(y_name, real(word(ys, i))) real(word(ys, i))) }
unset grid
set key outside top center horizontal
do for [output in 'svg png pdf'] {
    if (output eq 'svg') { set terminal svg size 760,520 font 'Helvetica,14' background '#ffffff' }
    if (output eq 'png') { set terminal pngcairo size 1520,1040 font 'Helvetica,14' fontscale 1.8 linewidth 2 }
    if (output eq 'pdf') { set terminal pdfcairo size 6.3in,4.4in font 'Helvetica,11' }
    set output dir.'/figures/phase.'.output
    plot phase using 1:2:(low_x(strcol(1))):(high_x(strcol(1))):(low_y(strcol(2))):(high_y(strcol(2))):(colour(strcol('winner'), column('ratio'))) with boxxyerror lc rgb variable fs solid noborder notitle, \
         for [k in n_uncertain > 0 ? 'them' : ''] phase using 1:($4 == 1 ? $2 : NaN):(low_x(strcol(1))):(high_x(strcol(1))):(low_y(strcol(2))):(high_y(strcol(2))) with boxxyerror lc rgb '#222222' lw 0.5 fs transparent pattern 4 noborder title 'uncertain', \
         phase using 1:($3 == 1 ? $2 : NaN) with points pt 7 ps 0.25 lc rgb '#222222' title 'simulated', \
         $borders using (of_x($1)):(of_y($2)) with lines lc rgb '#000000' lw 2.5 title has_border ? 'equally fast' : '', \
         for [i = 1:n_algorithms] '+' using (0):(NaN) every ::::0 with boxes fs solid 1 noborder lc rgb shade(hue(i), 0.7) title title_of(algorithm(i))
    unset output
}
