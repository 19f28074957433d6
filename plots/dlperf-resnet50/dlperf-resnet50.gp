# DLPerf, ResNet-50 on V100: throughput. Bars of what is simulated, diamonds of what was published.
# needs: runs.csv dlperf-resnet50.csv
load common
quantity = 'throughput_samples_per_s'
load plots.'/bars.gp'
