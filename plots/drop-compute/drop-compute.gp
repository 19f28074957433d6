# DropCompute (NeurIPS 2023): throughput under injected delays. Bars of what is simulated, diamonds of what was published.
# needs: runs.csv drop-compute.csv
load common
quantity = 'throughput_samples_per_s'
load plots.'/bars.gp'
