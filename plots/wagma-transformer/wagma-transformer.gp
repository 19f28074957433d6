# WAGMA-SGD (TPDS 2021), figure 7: Transformer on WMT17. Bars of what is simulated, diamonds of what was published.
# needs: runs.csv wagma-transformer.csv
load common
quantity = 'throughput_samples_per_s'
has_ideal = 1
load plots.'/bars.gp'
