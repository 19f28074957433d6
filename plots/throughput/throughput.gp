# Throughput against the number of GPUs, one line per algorithm, or one bar where there is one number; mean and standard deviation over runs.
# needs: runs.csv
load style
array mean[n_algorithms * n_counts]
array deviation[n_algorithms * n_counts]
ideal = 0
array ideals[n_counts]
do for [j = 1:n_counts] {
    ideals[j] = 0
    do for [i = 1:n_algorithms] {
        k = (j - 1) * n_algorithms + i
        stats runs using (is_run(algorithm(i), word(counts_of_workers, j)) ? column('throughput_samples_per_s') : NaN) name 'T' nooutput
        mean[k] = exists('T_records') && T_records > 0 ? T_mean : NaN
        deviation[k] = exists('T_records') && T_records > 1 ? T_ssd : 0
        # If nobody ever waited, a step would take its computation alone.
        stats runs using (is_run(algorithm(i), word(counts_of_workers, j)) ? column('throughput_samples_per_s') / column('compute_share') : NaN) name 'I' nooutput
        if (exists('I_records') && I_records > 0) { ideals[j] = ideals[j] < I_mean ? I_mean : ideals[j] }
    }
}
# The same as a table: a block of rows per algorithm, and one of the ideal.
set print $table
do for [i = 1:n_algorithms] {
    print 'gpus,mean,deviation'
    do for [j = 1:n_counts] { print sprintf('%s,%g,%g', word(counts_of_workers, j), mean[(j - 1) * n_algorithms + i], deviation[(j - 1) * n_algorithms + i]) }
    print ''
    print ''
}
print 'gpus,mean,deviation'
do for [j = 1:n_counts] { print sprintf('%s,%g,0', word(counts_of_workers, j), ideals[j]) }
unset print
set ylabel 'throughput (samples/s)'
set format y '%.0s %c'
mean_of(i, j) = mean[(j - 1) * n_algorithms + i]
deviation_of(i, j) = deviation[(j - 1) * n_algorithms + i]
do for [output in 'svg png pdf'] {
    if (output eq 'svg') { set terminal svg size 760,480 font 'Helvetica,14' background '#ffffff' }
    if (output eq 'png') { set terminal pngcairo size 1520,960 font 'Helvetica,14' fontscale 1.8 linewidth 2 }
    if (output eq 'pdf') { set terminal pdfcairo size 6.3in,4in font 'Helvetica,11' }
    set output dir.'/figures/throughput.'.output
    if (n_counts > 1) {
        set xlabel 'number of GPUs'
        set logscale x 2
        set logscale y
        set xrange [real(word(counts_of_workers, 1)) / 1.3:real(word(counts_of_workers, n_counts)) * 1.3]
        set key left top
        plot for [i = 1:n_algorithms] $table index i - 1 using 1:2:3 with yerrorlines lt i title title_of(algorithm(i)), \
             $table index n_algorithms using 1:2 with lines lc rgb '#888888' dt 2 title 'ideal: nobody waits'
    } else {
        set title word(counts_of_workers, 1).' GPUs' noenhanced
        set xrange [0.3:n_algorithms + 0.7]
        set yrange [0:ideals[1] * 1.15]
        set boxwidth 0.7
        set style fill solid 0.85 noborder
        set xtics rotate by -25 scale 0
        do for [i = 1:n_algorithms] { set xtics add (title_of(algorithm(i)) i) }
        set key right top
        plot for [i = 1:n_algorithms] '+' using (i):(mean_of(i, 1)) every ::::0 with boxes lt i notitle, \
             for [i = 1:n_algorithms] '+' using (deviation_of(i, 1) > 0 ? i : NaN):(mean_of(i, 1)):(deviation_of(i, 1)) every ::::0 with yerrorbars lc rgb '#222222' lw 1.5 pt 0 notitle, \
             ideals[1] with lines lc rgb '#888888' dt 2 title 'ideal: nobody waits'
    }
    unset output
}
