# Test accuracy and loss of the algorithm's output against virtual time. Means over seeds with 95 % bands, a frame per swept value; --target draws a line; a cross for each failure of a worker.
# needs: runs.csv curves.csv
load common
along_x = 'virtual_s'
load plots.'/curves.gp'
