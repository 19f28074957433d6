# Throughput beside the ideal and what was published. A group of bars per number of GPUs or swept value, with 95 % intervals over seeds.
# Of another number of runs.csv in its place: `dsgd plot DIR goodput`; over intervals of checkpoints Daly's is marked.
# needs: runs.csv
load common
has_ideal = !exists('quantity')
if (has_ideal) { quantity = 'throughput_samples_per_s' }
if (nth(columns_of_groups, quantity) == 0) { set print '-'; print sprintf('%-12s skipped: no run has a number of it', figure); exit status 4 }
load plots.'/bars.gp'
