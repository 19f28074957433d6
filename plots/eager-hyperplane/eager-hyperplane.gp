# eager-SGD (PPoPP 2020), figure 10: hyperplane regression, one of 8 workers delayed: published points, and lines between the simulated ones.
# needs: eager-hyperplane.csv
load style
figure = 'eager-hyperplane'
along = 'imbalance.0.seconds'
quantity = 'throughput_samples_per_s'
set xlabel 'delay (s)'
set ylabel 'throughput (points/s)'
set yrange [0:*]
load published
