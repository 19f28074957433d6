# How many times as few steps as one worker takes, over the number of workers, by what the data are like. Of DIR/best.csv, which best.py writes.
# needs: runs.csv best.csv
no_data = 1
load common
file = dir.'/best.csv'
set datafile columnheaders
legend_series = 0
n_frames = 9
if (!asked) { W = 9.0 }
frame_width = W / 3.01
frame_height = 2.4
note = 'dotted: as many times as there are workers; features of mean square 1, best rate of each'
# Of each frame the place of its data set in the experiment.
place_of = '0 1 2 3 4 5 6 7 2'
titles = '"variance 0.5" "variance 0.9" "variance 1" "no zeros" "3/4 zeros" "31/32 zeros" "4 distinct points" "32 distinct" "1024 distinct"'
algorithms = 'minibatch decentralised hogwild dadm'
names = 'minibatch decentralised "Hogwild!" DADM'
looks = 'allreduce d_psgd a_psgd dadm'
load open_canvas
set logscale xy 2
set xrange [0.9:72]
set yrange [0.7:72]
set xtics (1, 4, 16, 64)
set ytics (1, 4, 16, 64)
set xlabel 'workers'
set ylabel 'times as few steps'
do for [k = 1:n_frames] {
    eval frame(k)
    set title word(titles, k) offset 0, -0.6
    if (k == 1) { set key inside left top samplen 2 } else { unset key }
    plot x with lines lc rgb pale dt 3 lw line_width notitle, \
         for [i = 1:4] file using (column('place') == int(word(place_of, k)) && strcol('algorithm') eq word(algorithms, i) ? column('workers') : NaN):'speedup' \
             with linespoints lc rgb word(value('look_'.word(looks, i)), 1) pt int(word(value('look_'.word(looks, i)), 2)) ps 0.6 * point_size title word(names, i)
    eval legend_drawn
}
unset multiplot
unset output
