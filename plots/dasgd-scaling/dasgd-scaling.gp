# DaSGD: weak scaling. Bars of what is simulated, diamonds of what was published.
# needs: runs.csv dasgd-scaling.csv
load common
quantity = 'throughput_samples_per_s'
load plots.'/bars.gp'
