# DLPerf, BERT on V100, PyTorch: throughput. Bars of what is simulated, diamonds of what was published.
# needs: runs.csv dlperf-bert.csv
load common
quantity = 'throughput_samples_per_s'
load plots.'/bars.gp'
