# eager-SGD (PPoPP 2020), section 6.3: LSTM on UCF101, inherently imbalanced: published points, and lines between the simulated ones.
# needs: eager-ucf101.csv
load style
figure = 'eager-ucf101'
along = 'algorithm'
quantity = 'step_mean_s'
set xlabel ''
set ylabel 'step (s)'
set yrange [0:*]
load published
