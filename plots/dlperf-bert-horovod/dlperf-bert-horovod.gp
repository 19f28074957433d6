# DLPerf, BERT on V100, MXNet and Horovod: throughput. Bars of what is simulated, diamonds of what was published.
# needs: runs.csv dlperf-bert-horovod.csv
load common
quantity = 'throughput_samples_per_s'
load plots.'/bars.gp'
