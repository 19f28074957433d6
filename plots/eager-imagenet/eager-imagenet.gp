# eager-SGD (PPoPP 2020), figure 11: ResNet-50 on ImageNet, 4 of 64 workers delayed. Bars of what is simulated, diamonds of what was published.
# needs: runs.csv eager-imagenet.csv
load common
quantity = 'throughput_samples_per_s'
xlabel_text = 'delay of 4 of 64 workers'
load plots.'/bars.gp'
