# What algorithms learn for what they send: final accuracy (or loss) against the bytes that a worker has sent by the end. With 95 % intervals
# over seeds, a frame per number of GPUs or swept value. Filled: the algorithm's output; hollow, below it: the workers' own models.
# needs: runs.csv:final_loss runs.csv:sent_mean_bytes curves.csv
load common
quantity = 'sent_mean_bytes'
logarithmic = 1
load plots.'/cloud.gp'
