# Throughput over that of allreduce (or else of the first algorithm, or --by and --baseline). Seed by seed, with 95 % intervals; a group of
# bars per number of GPUs or swept value.
# needs: runs.csv
load common
quantity = 'speedup'
dropped = baseline_series
# A long name beside the axis would leave it.
reference = dropped > 0 ? title[dropped] : pretty(baseline)
ylabel_text = 'speed-up over '.(strlen(reference) <= 24 ? reference : 'the baseline')
if (least_speedup == 0) { set print '-'; print 'speedup      skipped: all of it is '.reference.', the baseline'; exit status 4 }
load plots.'/bars.gp'
