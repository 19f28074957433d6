# AD-PSGD (ICML 2018): one slow worker of 16. Bars of what is simulated, diamonds of what was published.
# needs: runs.csv ad-psgd-slow-worker.csv
load common
quantity = 'throughput_samples_per_s'
xlabel_text = 'how many times slower one worker is'
load plots.'/bars.gp'
