# eager-SGD (PPoPP 2020), figure 10: hyperplane regression, one of 8 workers delayed. Bars of what is simulated, diamonds of what was published.
# needs: runs.csv eager-hyperplane.csv
load common
quantity = 'throughput_samples_per_s'
xlabel_text = 'delay of one of 8 workers'
load plots.'/bars.gp'
