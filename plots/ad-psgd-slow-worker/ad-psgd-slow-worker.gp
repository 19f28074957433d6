# AD-PSGD (ICML 2018): one slow worker of 16: published points, and lines between the simulated ones.
# needs: ad-psgd-slow-worker.csv
load style
figure = 'ad-psgd-slow-worker'
along = 'imbalance.0.factor'
quantity = 'throughput_samples_per_s'
set xlabel 'one worker slower by'
set ylabel 'throughput (images/s)'
set logscale x 2
set logscale y
set format y '%.0s %c'
load published
