# Fitted against measured quantiles of step times, as `dsgd imbalance fit FILE -o DIR` leaves them: a fit that is right lies on the diagonal.
# needs: quantiles.csv
set datafile separator comma
set datafile columnheaders
set encoding utf8
set border 3 lc rgb '#444444'
set tics nomirror textcolor rgb '#222222'
set grid lc rgb '#dddddd' lw 1 dt 1
set key noenhanced bottom right
file = dir.'/quantiles.csv'
stats file using 'measured' name 'M' nooutput
margin = 0.04 * (M_max - M_min)
set xrange [M_min - margin:M_max + margin]
set yrange [M_min - 3 * margin:M_max + 3 * margin]
set xlabel 'measured (s)'
set ylabel 'fitted (s)'
array colours[5] = ['#0072B2', '#D55E00', '#009E73', '#CC79A7', '#E69F00']
array points[5] = [7, 5, 9, 11, 13]
do for [output in 'svg png pdf'] {
    if (output eq 'svg') { set terminal svg size 760,560 font 'Helvetica,14' background '#ffffff' }
    if (output eq 'png') { set terminal pngcairo size 1520,1120 font 'Helvetica,14' fontscale 1.8 linewidth 2 }
    if (output eq 'pdf') { set terminal pdfcairo size 6.3in,4.7in font 'Helvetica,11' }
    set output dir.'/figures/quantiles.'.output
    plot x with lines lc rgb '#888888' dt 2 notitle, \
         for [i = 1:5] file using 'measured':(column(i + 2)) with points lc rgb colours[i] pt points[i] ps 0.4 title columnheader(i + 2)
    unset output
}
