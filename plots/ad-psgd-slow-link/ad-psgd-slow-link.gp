# AD-PSGD (ICML 2018): one slow link of 16. Bars of what is simulated, diamonds of what was published.
# needs: runs.csv ad-psgd-slow-link.csv
load common
quantity = 'throughput_samples_per_s'
xlabel_text = 'share of its bandwidth that one link has'
load plots.'/bars.gp'
