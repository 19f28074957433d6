# WAGMA-SGD (TPDS 2021), figure 7: Transformer on WMT17: published points, and lines between the simulated ones.
# needs: wagma-transformer.csv
load style
figure = 'wagma-transformer'
along = 'workers'
quantity = 'throughput_samples_per_s'
set xlabel 'number of GPUs'
set ylabel 'throughput (tokens/s)'
set logscale x 2
set logscale y
set format y '%.0s %c'
load published
