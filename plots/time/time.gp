# Where the workers' time goes: computing, waiting for others, communicating; mean over workers and runs, at the largest number of GPUs.
# needs: runs.csv
load style
largest = word(counts_of_workers, 1)
do for [w in counts_of_workers] { if (int(w) > int(largest)) { largest = w } }
array compute[n_algorithms]
array wait[n_algorithms]
array communicate[n_algorithms]
do for [i = 1:n_algorithms] {
    stats runs using (is_run(algorithm(i), largest) ? column('compute_share') : NaN) name 'C' nooutput
    compute[i] = exists('C_records') && C_records > 0 ? 100 * C_mean : NaN
    stats runs using (is_run(algorithm(i), largest) ? column('wait_share') : NaN) name 'W' nooutput
    wait[i] = exists('W_records') && W_records > 0 ? 100 * W_mean : NaN
    stats runs using (is_run(algorithm(i), largest) ? column('comm_share') : NaN) name 'M' nooutput
    communicate[i] = exists('M_records') && M_records > 0 ? 100 * M_mean : NaN
}
set ylabel 'share of time (%)'
set yrange [0:100]
set xrange [0.3:n_algorithms + 0.7]
set boxwidth 0.7
set style fill solid 0.9 noborder
set xtics rotate by -25 scale 0
do for [i = 1:n_algorithms] { set xtics add (title_of(algorithm(i)) i) }
set key outside top center horizontal
set title largest.' GPUs' noenhanced
do for [output in 'svg png pdf'] {
    if (output eq 'svg') { set terminal svg size 760,480 font 'Helvetica,14' background '#ffffff' }
    if (output eq 'png') { set terminal pngcairo size 1520,960 font 'Helvetica,14' fontscale 1.8 linewidth 2 }
    if (output eq 'pdf') { set terminal pdfcairo size 6.3in,4in font 'Helvetica,11' }
    set output dir.'/figures/time.'.output
    plot '+' using (int($0) < n_algorithms ? int($0) + 1 : NaN):(int($0) < n_algorithms ? compute[int($0) + 1] + wait[int($0) + 1] + communicate[int($0) + 1] : NaN) with boxes lt 2 title 'communicate', \
         '+' using (int($0) < n_algorithms ? int($0) + 1 : NaN):(int($0) < n_algorithms ? compute[int($0) + 1] + wait[int($0) + 1] : NaN) with boxes lt 5 title 'wait', \
         '+' using (int($0) < n_algorithms ? int($0) + 1 : NaN):(int($0) < n_algorithms ? compute[int($0) + 1] : NaN) with boxes lt 1 title 'compute'
    unset output
}
