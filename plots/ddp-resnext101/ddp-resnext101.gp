# PyTorch's benchmark of DDP, ResNeXt-101 on V100: steps. Bars of what is simulated, diamonds of what was published.
# needs: runs.csv ddp-resnext101.csv
load common
quantity = 'step_mean_s'
load plots.'/bars.gp'
