# eager-SGD (PPoPP 2020), figure 11: ResNet-50 on ImageNet, 4 of 64 workers delayed: published points, and lines between the simulated ones.
# needs: eager-imagenet.csv
load style
figure = 'eager-imagenet'
along = 'imbalance.0.seconds'
quantity = 'throughput_samples_per_s'
set xlabel 'delay (s)'
set ylabel 'throughput (images/s)'
set yrange [0:*]
load published
