# WAGMA-SGD (TPDS 2021), figure 4: ResNet-50 on ImageNet, 2 delays of 320 ms in every step: published points, and lines between the simulated ones.
# needs: wagma-resnet50.csv
load style
figure = 'wagma-resnet50'
along = 'workers'
quantity = 'throughput_samples_per_s'
set xlabel 'number of GPUs'
set ylabel 'throughput (images/s)'
set logscale x 2
set logscale y
set format y '%.0s %c'
load published
