# eager-SGD (PPoPP 2020), section 6.3: ResNet-32 on CIFAR-10, all 8 workers skewed: published points, and lines between the simulated ones.
# needs: eager-cifar10.csv
load style
figure = 'eager-cifar10'
along = 'algorithm'
quantity = 'step_mean_s'
set xlabel ''
set ylabel 'step (s)'
set yrange [0:*]
load published
