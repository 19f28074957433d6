# DaSGD: weak scaling: published points, and lines between the simulated ones.
# needs: dasgd-scaling.csv
load style
figure = 'dasgd-scaling'
along = 'workers'
quantity = 'throughput_samples_per_s'
set xlabel 'number of GPUs'
set ylabel 'throughput (images/s)'
set logscale x 2
set logscale y
set format y '%.0s %c'
load published
