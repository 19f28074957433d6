# How long each worker computes in each step. As `dsgd explain --format svg` draws it: a multiple of the median of all, the darker the
# slower; of many workers or steps a cell is the slowest of some. White: not computed.
# needs: slowdown.csv
no_data = 1
load common
file = dir.'/slowdown.csv'
set datafile columnheaders
stats file using 2 name 'workers' nooutput
stats file using 4 name 'steps' nooutput
stats file using ($1 + $2) name 'to_worker' nooutput
stats file using ($3 + $4) name 'to_step' nooutput
stats file using 5 name 'cell' nooutput
of_workers = workers_max > 1 ? sprintf('%d workers', workers_max) : ''
of_steps = steps_max > 1 ? sprintf('%d steps', steps_max) : ''
note = of_workers.(of_workers ne '' && of_steps ne '' ? ' and ' : '').of_steps
if (note ne '') { note = 'a cell shows the slowest of '.note }
legend_series = 0
frame_height = 3.6
load open_canvas
eval frame(1)
set xrange [0:to_step_max]
set yrange [to_worker_max:0]
set xlabel 'step'
set ylabel 'worker'
set xtics 0, greater(1, step_of(to_step_max, @ticks_across))
set ytics 0, greater(1, step_of(to_worker_max, @ticks_up))
set tics out
unset grid
set lmargin 10
set rmargin 12
set palette defined (0 '#F1EBDD', 0.25 '#FDB863', 0.5 '#E0662A', 0.75 '#A40A0F', 1 '#2F0552')
top = greater(1.02, cell_max)
set cbrange [1:top]
if (top > 4) { set logscale cb; eval 'set cbtics '.log_ticks(1, top, @ticks_up) } else { set cbtics 1, step_of(top - 1, 4) }
set cblabel 'computation over the median' offset 0.5, 0
set colorbox user origin graph 1.02, graph 0 size screen 2 * letter / W, graph 1
plot file using ($3 + 0.5 * steps_max):($1 + 0.5 * workers_max):5 with image pixels notitle
unset multiplot
unset output
