# eager-SGD (PPoPP 2020), figure 8: latency of partial collectives of 32 skewed processes: published points, and lines between the simulated ones.
# needs: eager-microbenchmark.csv
load style
figure = 'eager-microbenchmark'
along = 'workload.bytes'
quantity = 'exposed_mean_s'
set xlabel 'bytes'
set ylabel 'latency (s)'
set logscale x 2
set logscale y
set format y '%.0s %c'
load published
