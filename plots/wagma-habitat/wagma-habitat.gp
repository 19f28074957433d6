# WAGMA-SGD (TPDS 2021), figure 10: DD-PPO on Habitat: published points, and lines between the simulated ones.
# needs: wagma-habitat.csv
load style
figure = 'wagma-habitat'
along = 'workers'
quantity = 'throughput_samples_per_s'
set xlabel 'number of GPUs'
set ylabel 'throughput (experience steps/s)'
set logscale x 2
set logscale y
set format y '%.0s %c'
load published
