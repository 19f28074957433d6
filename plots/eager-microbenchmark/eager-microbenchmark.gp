# eager-SGD (PPoPP 2020), figure 8: latency of partial collectives of 32 skewed processes. Lines through what is simulated, diamonds of what was published.
# needs: runs.csv eager-microbenchmark.csv
load common
quantity = 'exposed_mean_s'
xlabel_text = 'size of the message'
log_y = 1
load plots.'/bars.gp'
