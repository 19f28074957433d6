# Published points beside simulated lines, one colour per algorithm. A script sets `figure`, `along` and `quantity` (columns) and its labels
# before it loads this. Where `along` is the algorithm, or takes few values, bars stand beside each other: simulated filled, published as a cross.
scores = dir.'/'.figure.'.csv'
names = ' '
places = ' '
stats scores using (strcol('relation') eq '~' ? (names = add(names, strcol('algorithm')), 0) : 0) nooutput
stats runs using (places = add(places, strcol(along)), 0) nooutput
is_point(a) = strcol('algorithm') eq a && strcol('relation') eq '~' && strcol('over') eq '' && strcol('quantity') eq quantity
bars = along eq 'algorithm' || words(places) < 3
place_of(text) = strstrt(places, sprintf(' %s ', text)) == 0 ? NaN : words(substr(places, 1, strstrt(places, sprintf(' %s ', text)))) + 1
# Means over seeds of what was simulated, a block per algorithm.
set print $simulated
do for [i = 1:n_algorithms] {
    print 'place,mean'
    do for [j = 1:words(places)] {
        undefine T_*
        if (along eq 'algorithm' && i != j) { continue }
        stats runs using (strcol('algorithm') eq algorithm(i) && strcol(along) eq word(places, j) && counts(strcol('status')) ? column(quantity) : NaN) name 'T' nooutput
        mean = exists('T_records') && T_records > 0 ? T_mean : NaN
        if (mean == mean) { print sprintf('%s,%g', bars ? sprintf('%d', j) : word(places, j), mean) }
    }
    print ''
    print ''
}
unset print
do for [output in 'svg png pdf'] {
    if (output eq 'svg') { set terminal svg size 760,480 font 'Helvetica,14' background '#ffffff' }
    if (output eq 'png') { set terminal pngcairo size 1520,960 font 'Helvetica,14' fontscale 1.8 linewidth 2 }
    if (output eq 'pdf') { set terminal pdfcairo size 6.3in,4in font 'Helvetica,11' }
    set output dir.'/figures/'.figure.'.'.output
    if (bars) {
        width = along eq 'algorithm' ? 0.7 : 0.8 / n_algorithms
        shift(i) = along eq 'algorithm' ? 0 : (i - (n_algorithms + 1) / 2.0) * width
        set boxwidth width * 0.95
        set style fill solid 0.8 noborder
        set xrange [0.4:words(places) + 0.6]
        set offsets 0, 0, graph 0.08, 0
        set xtics scale 0 (title_of(word(places, 1)) 1)
        do for [j = 2:words(places)] { set xtics add (title_of(word(places, j)) j) }
        set key outside top center horizontal
        plot for [i = 1:n_algorithms] $simulated index i - 1 using ($1 + shift(i)):2 with boxes lt i title (along eq 'algorithm' ? '' : title_of(algorithm(i))), \
             for [i = 1:n_algorithms] scores using (is_point(algorithm(i)) ? place_of(strcol(along)) + shift(i) : NaN):'published' with points lc rgb '#222222' lw 2 pt 2 ps 2 title (i == 1 ? 'published' : '')
    } else {
        set xrange [real(word(places, 1)) / 1.3:real(word(places, words(places))) * 1.3]
        set xtics (word(places, 1) real(word(places, 1)))
        do for [j = 2:words(places)] { set xtics add (word(places, j) real(word(places, j))) }
        set key outside right center
        plot for [i = 1:n_algorithms] $simulated index i - 1 using 1:2 with lines lt i title title_of(algorithm(i)), \
             for [i = 1:n_algorithms] scores using (is_point(algorithm(i)) ? column(along) : NaN):'published' with points lt i ps 1.5 notitle, \
             NaN with points lc rgb '#222222' pt 7 title 'published'
    }
    unset output
}
