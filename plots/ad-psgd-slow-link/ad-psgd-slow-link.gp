# AD-PSGD (ICML 2018): one slow link of 16: published points, and lines between the simulated ones.
# needs: ad-psgd-slow-link.csv
load style
figure = 'ad-psgd-slow-link'
along = 'platform.hosts.0.bandwidth'
quantity = 'throughput_samples_per_s'
set xlabel 'share of its bandwidth that one link has'
set ylabel 'throughput (images/s)'
set logscale x 2
set logscale y
set format y '%.0s %c'
load published
