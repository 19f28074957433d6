# DropCompute (NeurIPS 2023): effective speed-up under injected delays: published points, and lines between the simulated ones.
# needs: drop-compute.csv
load style
figure = 'drop-compute'
along = 'workers'
quantity = 'throughput_samples_per_s'
set xlabel 'number of GPUs'
set ylabel 'throughput (sequences/s)'
set logscale x 2
set logscale y
set format y '%.0s %c'
load published
