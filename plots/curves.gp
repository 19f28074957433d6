# What figures of curves share: the runs at the largest number of GPUs. Each is a line of its own, because one through two runs goes back in time.
largest = word(counts_of_workers, 1)
do for [w in counts_of_workers] { if (int(w) > int(largest)) { largest = w } }
run_ids = ' '
owners = ' '
begins(id) = strcol('workers') eq largest && !has(run_ids, id)
stats curves using (begins(strcol('run')) ? (run_ids = run_ids.strcol('run').' ', owners = owners.strcol('algorithm').' ', 0) : 0) nooutput
n_curves = words(run_ids)
owner(k) = word(owners, k)
place_in(list, word) = words(substr(list, 1, strstrt(list, ' '.word.' '))) + 1
is_at(k) = strcol('run') eq word(run_ids, k)
line_of(k) = place_in(algorithms, owner(k))
heading(k) = place_in(owners, owner(k)) == k ? title_of(owner(k)) : ''
