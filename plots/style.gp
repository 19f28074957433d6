# Shared by all figures: fonts, colours that colour-blind readers can tell apart (Okabe and Ito), and the three outputs.
# A figure sets the string variable `figure`, defines its drawing as a function block by `load`, and includes this file first.
set datafile separator comma
set datafile missing ''
set datafile columnheaders
set encoding utf8
set linetype 1 lc rgb '#0072B2' lw 2 pt 7  ps 0.7
set linetype 2 lc rgb '#D55E00' lw 2 pt 5  ps 0.7
set linetype 3 lc rgb '#009E73' lw 2 pt 9  ps 0.8
set linetype 4 lc rgb '#CC79A7' lw 2 pt 11 ps 0.8
set linetype 5 lc rgb '#E69F00' lw 2 pt 13 ps 0.9
set linetype 6 lc rgb '#56B4E9' lw 2 pt 6  ps 0.8
set linetype 7 lc rgb '#000000' lw 2 pt 4  ps 0.8
set linetype 8 lc rgb '#F0E442' lw 2 pt 8  ps 0.8
set linetype cycle 8
set border 3 lc rgb '#444444'
set tics nomirror textcolor rgb '#222222'
set grid ytics lc rgb '#dddddd' lw 1 dt 1
set key noenhanced
set xtics noenhanced

# Which network simulated the runs, or some of them, where it is not SimGrid's.
if (exists('network')) { set label 999 'network: '.network at screen 0.99, screen 0.02 right font ',9' textcolor rgb '#666666' }

# Runs that count, and the words and numbers in them.
counts(status) = status eq 'ok' || status eq 'diverged'
has(list, word) = strstrt(list, ' '.word.' ') > 0
add(list, word) = has(list, word) ? list : list.word.' '
title_of(name) = name eq 'allreduce' ? 'Allreduce-SGD' : name eq 'eager_solo' ? 'eager-SGD solo' : name eq 'eager_majority' ? 'eager-SGD majority' : \
                 name eq 'wagma' ? 'WAGMA-SGD' : name eq 'ad_psgd' ? 'AD-PSGD' : name eq 'dasgd' ? 'DaSGD' : \
                 name eq 'local_sgd' ? 'local SGD' : name eq 'd_psgd' ? 'D-PSGD' : name eq 'sgp' ? 'SGP' : name eq 'osgp' ? 'OSGP' : \
                 name eq 'a_psgd' ? 'A-PSGD' : name eq 'easgd' ? 'EASGD' : name eq 'eamsgd' ? 'EAMSGD' : name eq 'drop_compute' ? 'DropCompute' : \
                 name eq 'slowmo' ? 'SlowMo' : name eq 'diloco' ? 'DiLoCo' : name eq 'horovod' ? 'Horovod' : name

runs = dir.'/runs.csv'
curves = dir.'/curves.csv'
workers_file = dir.'/workers.csv'

# Which algorithms and worker counts there are, in the order of the file.
algorithms = ' '
counts_of_workers = ' '
stats runs using (algorithms = add(algorithms, strcol('algorithm')), counts_of_workers = add(counts_of_workers, strcol('workers')), 0) nooutput
n_algorithms = words(algorithms)
n_counts = words(counts_of_workers)
algorithm(i) = word(algorithms, i)
is_run(a, w) = strcol('algorithm') eq a && strcol('workers') eq w && counts(strcol('status'))

# What figures of published points share, and what figures of curves do.
published = style[1:strlen(style) - 8].'published.gp'
runs_of_curves = style[1:strlen(style) - 8].'curves.gp'
