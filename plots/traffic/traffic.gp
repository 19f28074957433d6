# Test accuracy and loss of the mean model against what a worker has sent: means over seeds with 95 % bands, a frame per swept value.
# needs: runs.csv curves.csv
load common
along_x = 'megabytes'
load plots.'/curves.gp'
