# Learning against virtual time for three tasks, a panel each; mean over seeds of the time and of the value at every evaluation.
# Takes `root`, a folder of results with resnet, transformer and policy in it, and writes root/figures/time_to_accuracy.{svg,png,pdf}.
dir = root.'/transformer' # whose list of algorithms has those of the others in it
load style
set linetype 8 lc rgb '#999999' lw 2 pt 8 ps 0.8
set linetype 9 lc rgb '#7B3F00' lw 2 pt 10 ps 0.8
set linetype 10 lc rgb '#882255' lw 2 pt 12 ps 0.8
set linetype cycle 10

tasks = 'resnet transformer policy'
array title[3] = ['ResNet-50, 2 of 64 workers 320 ms late', 'Transformer on WMT17, 16 workers', 'DD-PPO on Habitat, 64 workers']
array label[3] = ['test accuracy (%)', 'test loss (nats per character)', 'mean return of an episode']
array measure[3] = ['accuracy', 'loss', 'loss'] # of the policy the loss is the return with its sign turned
array scale[3] = [100, 1, -1]
array low[3] = [10, 2.1, -1.0]
array high[3] = [85, 3.6, 1.9]
array target[3] = [72, 2.4, 1.6]
array end[3] = [400, 800, 2000] # s
name_of(a) = a eq 'sgp_2' ? 'SGP, 2 peers' : title_of(a)

index_of(name, i) = i > n_algorithms ? 0 : word(algorithms, i) eq name ? i : index_of(name, i + 1)
most = 100 # evaluations of a run
room = 3 * n_algorithms * most
array time[room]
array value[room]
array seeds[room]
do for [k = 1:room] { time[k] = 0; value[k] = 0; seeds[k] = 0 }
run = ''
point = 0
place(task, a, point) = ((task - 1) * n_algorithms + a - 1) * most + point
do for [task = 1:3] {
    curves = root.'/'.word(tasks, task).'/curves.csv'
    stats curves using (point = strcol('run') eq run ? point + 1 : 1, run = strcol('run'), k = place(task, index_of(strcol('algorithm'), 1), point), \
                        time[k] = time[k] + column('virtual_s'), value[k] = value[k] + scale[task] * column(measure[task]), seeds[k] = seeds[k] + 1, 0) nooutput
}
mean_time(k) = seeds[k] > 0 ? time[k] / seeds[k] : NaN
mean_value(k) = seeds[k] > 0 ? value[k] / seeds[k] : NaN

system('mkdir -p '.root.'/figures')
do for [output in 'svg png pdf'] {
    if (output eq 'svg') { set terminal svg size 1300,480 font 'Helvetica,13' background '#ffffff' }
    if (output eq 'png') { set terminal pngcairo size 2600,960 font 'Helvetica,13' fontscale 1.8 linewidth 2 }
    if (output eq 'pdf') { set terminal pdfcairo size 10.8in,4in font 'Helvetica,10' }
    set output root.'/figures/time_to_accuracy.'.output
    set multiplot
    set samples most
    set xlabel 'virtual time (s)'
    do for [task = 1:3] {
        set lmargin at screen (task - 1) * 0.27 + 0.05
        set rmargin at screen task * 0.27 - 0.01
        set tmargin at screen 0.9
        set bmargin at screen 0.15
        set title title[task] noenhanced
        set ylabel label[task]
        set xrange [0:end[task]]
        set yrange [low[task]:high[task]]
        set arrow 1 from graph 0, first target[task] to graph 1, first target[task] nohead back lc rgb '#999999' dt 2 lw 1
        set key off
        if (task == 3) { set key at screen 0.995, screen 0.9 right top Left reverse samplen 2 noenhanced }
        plot for [a = 1:n_algorithms] '+' using (mean_time(place(task, a, int($0) + 1))):(mean_value(place(task, a, int($0) + 1))) \
             with linespoints lt a pointinterval 4 title name_of(algorithm(a))
    }
    unset multiplot
    unset output
}
