# WAGMA-SGD (TPDS 2021), figure 4: ResNet-50 on ImageNet, 2 delays of 320 ms in every step. Bars of what is simulated, diamonds of what was published.
# needs: runs.csv wagma-resnet50.csv
load common
quantity = 'throughput_samples_per_s'
has_ideal = 1
load plots.'/bars.gp'
