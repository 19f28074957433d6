# Throughput beside the ideal and what was published. A group of bars per number of GPUs or swept value, with 95 % intervals over seeds.
# needs: runs.csv
load common
quantity = 'throughput_samples_per_s'
has_ideal = 1
load plots.'/bars.gp'
