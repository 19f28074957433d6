# The headline: throughput beside the ideal, test loss of the mean model against virtual time, and final accuracy of the mean model and of
# the workers' own models, at the largest number of GPUs; means over seeds, with bars and bands from the least to the greatest.
# needs: runs.csv curves.csv
load style
load runs_of_curves
variant_of(name) = name eq 'eager_solo_bare' ? 'solo, bare' : name eq 'eager_solo' ? 'eager solo' : name eq 'eager_majority' ? 'eager majority' : title_of(name)
array mean_of[4 * n_algorithms]
array least_of[4 * n_algorithms]
array greatest_of[4 * n_algorithms]
quantities = 'throughput_samples_per_s final_accuracy local_accuracy local_accuracy_min'
ideal = 0
do for [i = 1:n_algorithms] {
    do for [q = 1:4] {
        name = word(quantities, q)
        c = (i - 1) * 4 + q
        n_known = 0
        stats runs using (n_known = n_known + (is_run(algorithm(i), largest) && strcol(name) ne ''), 0) nooutput
        if (n_known > 0) {
            stats runs using (is_run(algorithm(i), largest) && strcol(name) ne '' ? column(name) : NaN) name 'Q' nooutput
        }
        known = n_known > 0
        mean_of[c] = known ? Q_mean : NaN
        least_of[c] = known ? Q_min : NaN
        greatest_of[c] = known ? Q_max : NaN
    }
    # If nobody ever waited, a step would take its computation alone.
    stats runs using (is_run(algorithm(i), largest) ? column('throughput_samples_per_s') / column('compute_share') : NaN) name 'I' nooutput
    if (exists('I_records') && I_records > 0) { ideal = ideal < I_mean ? I_mean : ideal }
}
has_accuracy = 0
do for [i = 1:n_algorithms] { has_accuracy = has_accuracy || mean_of[(i - 1) * 4 + 2] == mean_of[(i - 1) * 4 + 2] }
panels = has_accuracy ? 3 : 2
cell(i, q) = (i - 1) * 4 + q
mean_percent(i, q) = 100 * mean_of[cell(i, q)]
least_percent(i, q) = 100 * least_of[cell(i, q)]
greatest_percent(i, q) = 100 * greatest_of[cell(i, q)]
lowest = 100
highest = 0
do for [i = 1:n_algorithms] {
    do for [q = 2:4] {
        if (least_percent(i, q) < lowest) { lowest = least_percent(i, q) }
        if (greatest_percent(i, q) > highest) { highest = greatest_percent(i, q) }
    }
}
stats curves using 'virtual_s' name 'V' nooutput
do for [output in 'svg png pdf'] {
    if (output eq 'svg') { set terminal svg size 460 * panels,430 font 'Helvetica,13' background '#ffffff' }
    if (output eq 'png') { set terminal pngcairo size 920 * panels,860 font 'Helvetica,13' fontscale 1.8 linewidth 2 }
    if (output eq 'pdf') { width = 3.9 * panels; set terminal pdfcairo size width in,3.6in font 'Helvetica,10' }
    set output dir.'/figures/headline.'.output
    set multiplot layout 1,panels title largest.' virtual GPUs' noenhanced
    set xlabel ''
    set ylabel 'throughput (samples/s)'
    set format y (ideal < 10000 ? '%.1s %c' : '%.0s %c')
    set xrange [0.3:n_algorithms + 0.7]
    set yrange [0:ideal * 1.2]
    set boxwidth 0.7
    set style fill solid 0.85 noborder
    unset xtics
    set xtics rotate by 35 right scale 0 noenhanced ()
    set for [i = 1:n_algorithms] xtics add (variant_of(algorithm(i)) i)
    set key right top
    plot for [i = 1:n_algorithms] '+' using (i):(mean_of[cell(i, 1)]) every ::::0 with boxes lt i notitle, \
         for [i = 1:n_algorithms] '+' using (i):(least_of[cell(i, 1)]):(0):(greatest_of[cell(i, 1)] - least_of[cell(i, 1)]) every ::::0 \
             with vectors nohead lw 2 lc rgb '#222222' notitle, \
         ideal with lines lc rgb '#888888' dt 2 title 'ideal: nobody waits'
    set xlabel 'virtual time (s)'
    set ylabel 'test loss of the mean model'
    set format y '%g'
    unset xtics
    set xtics norotate autofreq nomirror scale 1
    set xrange [0:V_max * 1.02]
    set yrange [0:*]
    if (banded) {
        plot for [i = 1:n_algorithms] $bands index i - 1 using 1:3:4 with filledcurves lt i fs transparent solid 0.25 noborder notitle, \
             for [i = 1:n_algorithms] $bands index i - 1 using 1:2 with linespoints lt i title variant_of(algorithm(i))
    } else {
        plot for [k = 1:n_curves] curves using (is_at(k) ? column('virtual_s') : NaN):'loss' with linespoints lt line_of(k) title heading(k)
    }
    if (has_accuracy) {
        set xlabel ''
        set ylabel 'final test accuracy (%)'
        set xrange [0.3:n_algorithms + 0.7]
        set yrange [lowest - 0.4 * (highest - lowest) - 2:highest + 2]
        unset xtics
        set xtics rotate by 35 right scale 0 noenhanced ()
        set for [i = 1:n_algorithms] xtics add (variant_of(algorithm(i)) i)
        set key bottom left Left reverse
        plot for [i = 1:n_algorithms] '+' using (i):(mean_percent(i, 2)):(least_percent(i, 2)):(greatest_percent(i, 2)) every ::::0 \
                 with yerrorbars lt i pt 7 ps 1 notitle, \
             for [i = 1:n_algorithms] '+' using (i + 0.2):(mean_percent(i, 3)):(least_percent(i, 3)):(greatest_percent(i, 3)) every ::::0 \
                 with yerrorbars lt i pt 6 ps 1.3 notitle, \
             for [i = 1:n_algorithms] '+' using (i + 0.2):(mean_percent(i, 4)) every ::::0 with points lt i pt 10 ps 1.3 notitle, \
             '+' using (1):(NaN) every ::::0 with points lc rgb '#444444' pt 7 ps 1 title 'the mean model', \
             '+' using (1):(NaN) every ::::0 with points lc rgb '#444444' pt 6 ps 1.3 title "workers' models, mean", \
             '+' using (1):(NaN) every ::::0 with points lc rgb '#444444' pt 10 ps 1.3 title "workers' models, worst"
    }
    unset multiplot
    unset output
}
