# Test loss and accuracy of the mean model against virtual time, for the largest number of GPUs: the mean over seeds with a band
# from the least to the greatest, or one line per run where runs differ by more than the seed.
# needs: runs.csv curves.csv
load style
load runs_of_curves
panels = 1
stats curves using (strcol('workers') eq largest && column('virtual_s') > 0 && strcol('accuracy') ne '' ? (panels = 2, 0) : 0) nooutput
set xlabel 'virtual time (s)'
do for [output in 'svg png pdf'] {
    if (output eq 'svg') { set terminal svg size 760,620 font 'Helvetica,14' background '#ffffff' }
    if (output eq 'png') { set terminal pngcairo size 1520,1240 font 'Helvetica,14' fontscale 1.8 linewidth 2 }
    if (output eq 'pdf') { set terminal pdfcairo size 6.3in,5.1in font 'Helvetica,11' }
    set output dir.'/figures/learning.'.output
    set multiplot layout panels,1 title largest.' GPUs' noenhanced
    set ylabel 'test loss'
    set key right top
    if (banded) {
        plot for [i = 1:n_algorithms] $bands index i - 1 using 1:3:4 with filledcurves lt i fs transparent solid 0.25 noborder notitle, \
             for [i = 1:n_algorithms] $bands index i - 1 using 1:2 with linespoints lt i title title_of(algorithm(i))
    } else {
        plot for [k = 1:n_curves] curves using (is_at(k) ? column('virtual_s') : NaN):'loss' with linespoints lt line_of(k) title heading(k)
    }
    if (panels == 2) {
        set ylabel 'test accuracy'
        set key off
        if (banded) {
            plot for [i = 1:n_algorithms] $bands index i - 1 using 1:6:7 with filledcurves lt i fs transparent solid 0.25 noborder notitle, \
                 for [i = 1:n_algorithms] $bands index i - 1 using 1:5 with linespoints lt i title title_of(algorithm(i))
        } else {
            plot for [k = 1:n_curves] curves using (is_at(k) ? column('virtual_s') : NaN):'accuracy' with linespoints lt line_of(k) title heading(k)
        }
    }
    unset multiplot
    unset output
}
