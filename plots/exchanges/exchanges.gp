# How far a delay travels within a step: throughput against the number of exchanges per step, beside the backward pass and after it.
# needs: runs.csv:exchange.pieces
load style
head = ' '
stats runs using 0 nooutput
do for [k = 1:STATS_columns] { stats runs using (head = add(head, columnhead(k)), 0) every ::::0 nooutput }
counts = ' '
stats runs using (counts = add(counts, strcol('exchange.pieces')), 0) nooutput
n = words(counts)
overlaps = has(head, 'exchange.overlap') ? 'true false' : 'any'
mode_is(o) = o eq 'any' || strcol('exchange.overlap') eq o
how(o) = o eq 'true' ? ', beside the backward pass' : o eq 'false' ? ', after it' : ''
set print $table
do for [i = 1:n_algorithms] {
    do for [o in overlaps] {
        print 'exchanges,mean'
        do for [k = 1:n] {
            stats runs using (strcol('algorithm') eq algorithm(i) && strcol('exchange.pieces') eq word(counts, k) && mode_is(o) ? column('throughput_samples_per_s') : NaN) name 'T' nooutput
            print sprintf('%s,%g', word(counts, k), exists('T_records') && T_records > 0 ? T_mean : NaN)
        }
        print ''
        print ''
    }
}
unset print
lines = n_algorithms * words(overlaps)
label(j) = title_of(algorithm((j - 1) / words(overlaps) + 1)).how(word(overlaps, (j - 1) % words(overlaps) + 1))
set logscale x 2
set xlabel 'exchanges per step, one after another'
set ylabel 'throughput (samples/s)'
set format y '%.1s %c'
set key outside above left vertical maxrows 2 samplen 2
do for [output in 'svg png pdf'] {
    if (output eq 'svg') { set terminal svg size 760,480 font 'Helvetica,14' background '#ffffff' }
    if (output eq 'png') { set terminal pngcairo size 1520,960 font 'Helvetica,14' fontscale 1.8 linewidth 2 }
    if (output eq 'pdf') { set terminal pdfcairo size 6.3in,4in font 'Helvetica,11' }
    set output dir.'/figures/exchanges.'.output
    plot for [j = 1:lines] $table index j - 1 using 1:2 with linespoints lt j title label(j)
    unset output
}
