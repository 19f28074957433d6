# eager-SGD (PPoPP 2020), section 6.3: ResNet-32 on CIFAR-10, all 8 workers skewed. Bars of what is simulated, diamonds of what was published.
# needs: runs.csv eager-cifar10.csv
load common
quantity = 'step_mean_s'
load plots.'/bars.gp'
