# What a simulation costs against the number of workers: messages per step, CPU seconds per step, and memory per worker, on both networks.
# needs: runs.csv:memory_kib
load style
networks = 'loggp flows'
titles = '"messages per step" "CPU seconds per step" "memory per worker (KiB)"'
quantity(j) = j == 1 ? column('messages') / column('steps') : j == 2 ? column('cpu_s') / column('steps') : column('memory_kib') / column('workers')
least(j) = j == 1 ? 1e1 : j == 2 ? 1e-3 : 1e1
is_of(n, i) = strcol('network') eq word(networks, n) && strcol('algorithm') eq algorithm(i)
dashes(i) = i > 8 ? 2 : 1
set logscale xy
set xrange [48:90000]
set xtics ('64' 64, '256' 256, '1 Ki' 1024, '4 Ki' 4096, '16 Ki' 16384, '64 Ki' 65536)
set format y '10^{%L}'
set grid xtics ytics lc rgb '#dddddd' lw 1 dt 1
do for [output in 'svg png pdf'] {
    if (output eq 'svg') { set terminal svg size 1140,720 font 'Helvetica,12' background '#ffffff' }
    if (output eq 'png') { set terminal pngcairo size 1710,1080 font 'Helvetica,12' fontscale 1.3 linewidth 1.3 }
    if (output eq 'pdf') { set terminal pdfcairo size 9.5in,6in font 'Helvetica,10' }
    set output dir.'/figures/scale.'.output
    set multiplot layout 2,3 margins 0.05,0.83,0.08,0.95 spacing 0.05,0.12
    do for [n = 1:2] {
        do for [j = 1:3] {
            set yrange [least(j) : least(j) * (j == 3 ? 1e2 : 1e6)]
            set title word(titles, j).', '.word(networks, n)
            if (n == 2) { set xlabel 'workers' } else { unset xlabel }
            if (j == 3) { set key at screen 0.835, graph 1 left top vertical Left reverse samplen 3 spacing 1.2 } else { unset key }
            plot for [i = 1:n_algorithms] runs using (is_of(n, i) && quantity(j) > 0 ? column('workers') : NaN):(quantity(j)) \
                with linespoints lt i dt dashes(i) title (i > 8) == (n == 2) ? title_of(algorithm(i)) : ''
        }
    }
    unset multiplot
    unset output
}
