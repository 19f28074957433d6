# Test accuracy and loss of the algorithm's output against what a worker has sent. Means over seeds with 95 % bands, a frame per swept value.
# needs: runs.csv curves.csv
load common
along_x = 'megabytes'
load plots.'/curves.gp'
