# Throughput over that of allreduce (or else of the first algorithm), seed by seed, with 95 % intervals; a group of bars per number of GPUs.
# needs: runs.csv
load common
quantity = 'speedup'
reference = 1
do for [i = 1:n_series] { if (series[i] eq 'allreduce') { reference = i } }
# A long name beside the axis would leave it.
ylabel_text = 'speed-up over '.(strlen(title[reference]) <= 20 ? title[reference] : 'the first')
load plots.'/bars.gp'
