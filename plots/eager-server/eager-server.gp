# eager-SGD (PPoPP 2020), table 2: ResNet-50 under an asynchronous parameter server: the published point, and the simulated one.
# needs: eager-server.csv
load style
figure = 'eager-server'
along = 'algorithm'
quantity = 'throughput_samples_per_s'
set xlabel ''
set ylabel 'throughput (images/s)'
set yrange [0:*]
load published
