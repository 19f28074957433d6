# What algorithms give for what they cost: final accuracy (or loss) against throughput. With 95 % intervals over seeds, a frame per number of
# GPUs or swept value. Filled: the algorithm's output; hollow, below it: the workers' own models, where they were evaluated.
# needs: runs.csv:final_loss curves.csv
load common
quantity = 'throughput_samples_per_s'
logarithmic = 0
load plots.'/cloud.gp'
