# What figures of curves share: the runs at the largest number of GPUs. Where they differ by their seed alone, an algorithm is the
# mean over seeds with a band from the least to the greatest; else each run is a line of its own.
largest = word(counts_of_workers, 1)
do for [w in counts_of_workers] { if (int(w) > int(largest)) { largest = w } }
run_ids = ' '
owners = ' '
pairs = ' '
repeats = 0
begins(id) = strcol('workers') eq largest && !has(run_ids, id)
pair(row) = strcol('algorithm').':'.strcol('seed')
stats curves using (begins(strcol('run')) ? (run_ids = run_ids.strcol('run').' ', owners = owners.strcol('algorithm').' ', \
                    repeats = repeats + has(pairs, pair(0)), pairs = add(pairs, pair(0)), 0) : 0) nooutput
n_curves = words(run_ids)
owner(k) = word(owners, k)
place_in(list, word) = words(substr(list, 1, strstrt(list, ' '.word.' '))) + 1
is_at(k) = strcol('run') eq word(run_ids, k)
line_of(k) = place_in(algorithms, owner(k))
heading(k) = place_in(owners, owner(k)) == k ? title_of(owner(k)) : ''
banded = repeats == 0

# Evaluations of an algorithm by their number: [algorithm, evaluation] of the mean time, and of mean, least and greatest loss and accuracy.
if (banded) {
    most_points = 0
    run = ''
    nth = 0
    place = 0
    point(row) = (nth = strcol('run') eq run ? nth + 1 : 1, run = strcol('run'), most_points = nth > most_points ? nth : most_points, 0)
    stats curves using (strcol('workers') eq largest ? point(0) : 0) nooutput
    cells = n_algorithms * most_points
    array seeds[cells]
    array sum_s[cells]
    array sum_loss[cells]
    array sum_accuracy[cells]
    array least_loss[cells]
    array greatest_loss[cells]
    array least_accuracy[cells]
    array greatest_accuracy[cells]
    do for [c = 1:cells] {
        seeds[c] = 0; sum_s[c] = 0; sum_loss[c] = 0; sum_accuracy[c] = 0
        least_loss[c] = 1e300; greatest_loss[c] = -1e300; least_accuracy[c] = 1e300; greatest_accuracy[c] = -1e300
    }
    least(a, b) = a < b ? a : b
    greatest(a, b) = a > b ? a : b
    number_in(name) = strcol(name) eq '' ? NaN : column(name)
    gather(c, loss, accuracy) = (seeds[c] = seeds[c] + 1, sum_s[c] = sum_s[c] + column('virtual_s'), \
        sum_loss[c] = sum_loss[c] + loss, least_loss[c] = least(least_loss[c], loss), greatest_loss[c] = greatest(greatest_loss[c], loss), \
        sum_accuracy[c] = sum_accuracy[c] + accuracy, least_accuracy[c] = least(least_accuracy[c], accuracy), \
        greatest_accuracy[c] = greatest(greatest_accuracy[c], accuracy), 0)
    run = ''
    stats curves using (strcol('workers') eq largest ? (point(0), \
        gather((place_in(algorithms, strcol('algorithm')) - 1) * most_points + nth, number_in('loss'), number_in('accuracy'))) : 0) nooutput
    set print $bands
    do for [i = 1:n_algorithms] {
        print 'virtual_s,loss,least loss,greatest loss,accuracy,least accuracy,greatest accuracy'
        do for [m = 1:most_points] {
            c = (i - 1) * most_points + m
            n = seeds[c]
            if (n > 0) {
                print sprintf('%.9g,%.9g,%.9g,%.9g,%.9g,%.9g,%.9g', sum_s[c] / n, sum_loss[c] / n, least_loss[c], greatest_loss[c], \
                              sum_accuracy[c] / n, least_accuracy[c], greatest_accuracy[c])
            }
        }
        print ''
        print ''
    }
    unset print
}
