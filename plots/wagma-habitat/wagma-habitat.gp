# WAGMA-SGD (TPDS 2021), figure 10: DD-PPO on Habitat. Bars of what is simulated, diamonds of what was published.
# needs: runs.csv wagma-habitat.csv
load common
quantity = 'throughput_samples_per_s'
has_ideal = 1
load plots.'/bars.gp'
