# Fitted against measured quantiles of step times. As `dsgd imbalance fit FILE -o DIR` leaves them: a fit that is right lies on the diagonal.
# needs: quantiles.csv
no_data = 1
load common
file = dir.'/quantiles.csv'
set datafile columnheaders
stats file using 0 nooutput
n_fits = STATS_columns - 2
array fit[n_fits]
do for [i = 1:n_fits] { stats file using (fit[i] = columnhead(i + 2), 0) every ::::0 nooutput }
stats file using 'measured' name 'M' nooutput
margin = 0.04 * (M_max - M_min) + 1e-12
legend_series = 0
frame_height = 4.2
load open_canvas
set xrange [M_min - margin:M_max + margin]
set yrange [M_min - 3 * margin:M_max + 3 * margin]
set xlabel 'measured (s)'
set ylabel 'fitted (s)'
set grid xtics
set key inside right bottom
if (where eq 'off') { unset key }
plot x with lines lc rgb pale dt 2 lw line_width title 'fitted = measured', \
     for [i = 1:n_fits] file using 'measured':(column(i + 2)) every 1 with points lc rgb word(spare_look[i], 1) pt int(word(spare_look[i], 2)) ps 0.6 * point_size title tex(fit[i])
unset multiplot
unset output
