# Horovod, ResNet-101 on 16 Pascal GPUs: throughput. Bars of what is simulated, diamonds of what was published.
# needs: runs.csv horovod-2017.csv
load common
quantity = 'throughput_samples_per_s'
xlabel_text = 'bytes/s of a server'
load plots.'/bars.gp'
