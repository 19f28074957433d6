# eager-SGD (PPoPP 2020), section 6.3: LSTM on UCF101, inherently imbalanced. Bars of what is simulated, diamonds of what was published.
# needs: runs.csv eager-ucf101.csv
load common
quantity = 'step_mean_s'
load plots.'/bars.gp'
