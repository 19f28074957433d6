# What the placement of workers costs: seconds per step in each order of the hosts, a group of bars per algorithm, mean over runs; a panel per platform.
# needs: runs.csv:placement runs.csv:platform
load style
orders = ' '
panels = ' '
stats runs using (orders = add(orders, strcol('placement')), panels = add(panels, strcol('platform')), 0) nooutput
n_orders = words(orders)
n_panels = words(panels)

# Seconds per step, and what each order adds to the first.
array step_s[n_panels * n_orders * n_algorithms]
at(p, o, i) = ((p - 1) * n_orders + o - 1) * n_algorithms + i
top = 0
do for [p = 1:n_panels] {
    do for [o = 1:n_orders] {
        do for [i = 1:n_algorithms] {
            undefine T_*
            stats runs using (strcol('algorithm') eq algorithm(i) && strcol('placement') eq word(orders, o) && strcol('platform') eq word(panels, p) && counts(strcol('status')) \
                              ? column('step_mean_s') : NaN) name 'T' nooutput
            step_s[at(p, o, i)] = exists('T_records') && T_records > 0 ? T_mean : NaN
            if (step_s[at(p, o, i)] > top) { top = step_s[at(p, o, i)] }
        }
    }
}
more(p, o, i) = 100 * (step_s[at(p, o, i)] / step_s[at(p, 1, i)] - 1)

set ylabel 'step (s)'
set xrange [0.4:n_algorithms + 0.6]
set yrange [0:top * 1.15]
set style fill solid 0.85 noborder
set boxwidth 0.8 / n_orders
set xtics rotate by -15 scale 0
do for [i = 1:n_algorithms] { set xtics add (title_of(algorithm(i)) i) }
x_of(o, i) = i + (o - 0.5 * (n_orders + 1)) * 0.84 / n_orders
set key at graph 0.98, graph 1.08 horizontal

do for [output in 'svg png pdf'] {
    height = 340 * n_panels
    if (output eq 'svg') { set terminal svg size 900,height font 'Helvetica,13' background '#ffffff' }
    if (output eq 'png') { set terminal pngcairo size 1800,2 * height font 'Helvetica,13' fontscale 1.8 linewidth 2 }
    if (output eq 'pdf') { set terminal pdfcairo size 7.5in,height / 120. font 'Helvetica,10' }
    set output dir.'/figures/placement.'.output
    set multiplot layout n_panels, 1 margins 0.09, 0.97, 0.22 / n_panels, 1 - 0.09 / n_panels spacing 0.3 / n_panels
    do for [p = 1:n_panels] {
        set label 1 word(panels, p) noenhanced at graph 0, graph 1.07 left
        plot for [o = 1:n_orders] for [i = 1:n_algorithms] '+' using (x_of(o, i)):(step_s[at(p, o, i)]) every ::::0 with boxes lt o title (i == 1 ? word(orders, o) : ''), \
             for [o = 2:n_orders] for [i = 1:n_algorithms] '+' using (x_of(o, i)):(step_s[at(p, o, i)]):(sprintf('%+.1f %%', more(p, o, i))) every ::::0 \
                 with labels offset 0, 0.6 font ',11' textcolor rgb '#222222' notitle
    }
    unset multiplot
    unset output
}
