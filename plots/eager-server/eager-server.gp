# eager-SGD (PPoPP 2020), table 2: ResNet-50 under an asynchronous parameter server. Bars of what is simulated, diamonds of what was published.
# needs: runs.csv eager-server.csv
load common
quantity = 'throughput_samples_per_s'
load plots.'/bars.gp'
