# The headline: throughput beside the ideal, and test loss of the mean model against virtual time, at the largest number of GPUs.
# needs: runs.csv curves.csv
load style
load runs_of_curves
array throughput[n_algorithms]
ideal = 0
do for [i = 1:n_algorithms] {
    stats runs using (is_run(algorithm(i), largest) ? column('throughput_samples_per_s') : NaN) name 'T' nooutput
    throughput[i] = exists('T_records') && T_records > 0 ? T_mean : NaN
    # If nobody ever waited, a step would take its computation alone.
    stats runs using (is_run(algorithm(i), largest) ? column('throughput_samples_per_s') / column('compute_share') : NaN) name 'I' nooutput
    if (exists('I_records') && I_records > 0) { ideal = ideal < I_mean ? I_mean : ideal }
}
stats curves using 'virtual_s' name 'V' nooutput
do for [output in 'svg png pdf'] {
    if (output eq 'svg') { set terminal svg size 1000,430 font 'Helvetica,13' background '#ffffff' }
    if (output eq 'png') { set terminal pngcairo size 2000,860 font 'Helvetica,13' fontscale 1.8 linewidth 2 }
    if (output eq 'pdf') { set terminal pdfcairo size 8.3in,3.6in font 'Helvetica,10' }
    set output dir.'/figures/headline.'.output
    set multiplot layout 1,2 title largest.' virtual GPUs' noenhanced
    set xlabel ''
    set ylabel 'throughput (samples/s)'
    set format y '%.0s %c'
    set xrange [0.3:n_algorithms + 0.7]
    set yrange [0:ideal * 1.2]
    set boxwidth 0.7
    set style fill solid 0.85 noborder
    set xtics rotate by -30 scale 0 noenhanced
    set for [i = 1:n_algorithms] xtics add (title_of(algorithm(i)) i)
    set key right top
    plot for [i = 1:n_algorithms] '+' using (i):(throughput[i]) every ::::0 with boxes lt i notitle, \
         ideal with lines lc rgb '#888888' dt 2 title 'ideal: nobody waits'
    set xlabel 'virtual time (s)'
    set ylabel 'test loss of the mean model'
    set format y '%g'
    unset xtics
    set xtics norotate autofreq nomirror scale 1
    set xrange [0:V_max * 1.02]
    set yrange [0:*]
    plot for [k = 1:n_curves] curves using (is_at(k) ? column('virtual_s') : NaN):'loss' with linespoints lt line_of(k) title heading(k)
    unset multiplot
    unset output
}
