# What all figures share: looks and names of algorithms, frames in a grid beside a legend, and axes.
# `dsgd plot` sets dir, into, figure, format, style, common and plots, and what the user chose: size, legend, log_x, log_y, target.
set datafile separator comma
set encoding utf8
load style
if (!exists('no_data')) { load into.'/data.gp' }
else { n_series = 0; longest_title = 0; note = '' }

# --- texts
rfind(text, c) = (strstrt(text, c) == 0 ? 0 : strstrt(text, c) + rfind(text[strstrt(text, c) + 1:], c))
known(name) = exists('title_'.name)
stem(name) = known(name) ? name : rfind(name, '_') > 1 ? stem(name[1:rfind(name, '_') - 1]) : ''
swap(text, a, b) = strstrt(text, a) == 0 ? text : text[1:strstrt(text, a) - 1].b.swap(text[strstrt(text, a) + strlen(a):], a, b)
head_of(name) = strstrt(name, ';') == 0 ? name : name[1:strstrt(name, ';') - 1]
rest_of(name) = strstrt(name, ';') == 0 ? '' : ','.name[strstrt(name, ';') + 1:]
pretty(name) = stem(name) eq '' ? name : stem(name) eq name ? value('title_'.name) : \
    value('title_'.stem(name)).', '.swap(name[strlen(stem(name)) + 2:], '_', ' ')
# LaTeX reads these.
tex(text) = format ne 'tikz' ? text : swap(swap(swap(swap(text, '%', '{\char37}'), '_', '{\char95}'), '&', '{\char38}'), '#', '{\char35}')
# gnuplot reads a tick's text as a format.
tick(text) = swap(text, '%', '%%')
title_of(name) = tex(pretty(head_of(name)).rest_of(name))
nth(list, name) = strstrt(list, ' '.name.' ') == 0 ? 0 : words(list[1:strstrt(list, ' '.name.' ')]) + 1
greater(a, b) = a > b ? a : b
lesser(a, b) = a < b ? a : b
# In lines of n letters, broken at blanks, or where there is none.
last_blank(text, n) = strlen(text) <= n ? -1 : rfind(text[1:n], ' ')
wrapped(text, n) = last_blank(text, n) < 0 ? text : last_blank(text, n) == 0 ? text[1:n]."\n".wrapped(text[n + 1:], n) : \
    text[1:last_blank(text, n) - 1]."\n".wrapped(text[last_blank(text, n) + 1:], n)
lines_of(text) = strstrt(text, "\n") == 0 ? 1 : 1 + lines_of(text[strstrt(text, "\n") + 1:])
# Names of series that are cut have a number, by which a longer one is found: those below an axis in the legend, of `numbered` figures, and
# those that the legend has no room for in the note at the foot.
most_letters = 24
cut(text, n) = strlen(text) <= n ? text : text[1:n - 3].'...'
with_number(i) = sprintf('%d: %s', i, title[i])
below_axis(i) = strlen(title[i]) <= most_letters ? title[i] : cut(with_number(i), most_letters)
numbered = 0

# A pattern is tiled, with seams in some viewers: what is full is solid. Bars are drawn by two plots, of which each leaves out the other's.
fill_style(pattern) = pattern == 3 ? 'solid 1' : sprintf('pattern %d', pattern)
full(i, y) = fill[i] == 3 ? y : NaN
hatched(i, y) = fill[i] == 3 ? NaN : y

# Bands of many series would hide each other.
banded = n_series <= 8

# --- looks: linetype i is that of series i, which has fill[i] where it is a bar
if (n_series > 0) {
    array title[n_series]
    array fill[n_series]
    array look[n_series]
    marked(look) = word(look, 1).'/'.word(look, 2) # colour and marker
    used = ''
    do for [i = 1:n_series] {
        title[i] = label[i] eq '' ? title_of(series[i]) : tex(label[i])
        look[i] = exists('look_'.series[i]) ? value('look_'.series[i]) : ''
        if (look[i] ne '') { used = used.marked(look[i]).' ' }
    }
    # In the order of the hash, so that the order of the file does not matter: from a slot on that the name decides the first spare look of
    # a colour that this figure does not have, else of another colour and marker, else that very one.
    do for [k = 1:n_series] {
        next = 0
        do for [i = 1:n_series] { if (look[i] eq '' && (next == 0 || hash[i] < hash[next])) { next = i } }
        if (next == 0) { break }
        do for [rule = 1:3] {
            do for [m = 0:|spare_look| - 1] {
                spare = spare_look[(int(hash[next]) + m) % |spare_look| + 1]
                if (look[next] eq '' && (rule == 3 || strstrt(used, rule == 1 ? word(spare, 1) : marked(spare).' ') == 0)) { look[next] = spare }
            }
        }
        used = used.marked(look[next]).' '
    }
    do for [i = 1:n_series] {
        set linetype i lc rgb word(look[i], 1) pt int(word(look[i], 2)) dt int(word(look[i], 3)) lw line_width ps point_size
        fill[i] = int(word(look[i], 4))
    }
    longest_title = 0
    cut_names = '' # the series that the legend has to name in full
    do for [i = 1:n_series] {
        longest_title = greater(longest_title, strlen(title[i]))
        if (strlen(title[i]) > most_letters) { cut_names = cut_names.sprintf('%d ', i) }
    }
}
longest_name = lesser(longest_title, most_letters)

# --- the canvas: n_frames frames of at least frame_width inches in a grid, beside a legend of the series (as boxes, lines or points) and extras
asked = exists('size')
size_text = !asked ? size_default : exists('size_'.swap(size, '-', '_')) ? value('size_'.swap(size, '-', '_')) : \
            swap(size, 'x', ' ').' '.(real(word(swap(size, 'x', ' '), 1)) < 5 ? '7' : '10')
W = real(word(size_text, 1))
H = real(word(size_text, 2))
pt = real(word(size_text, 3))
font_name = default_font
where = exists('legend') ? legend : 'top'
line = 1.45 * pt / 72
letter = 0.6 * pt / 72
terminal_of(w, h) = format eq 'svg' ? terminal_svg(w, h, pt, font_name) : format eq 'png' ? terminal_png(w, h, pt, font_name) : \
                    format eq 'pdf' ? terminal_pdf(w, h, pt, font_name) : terminal_tikz(w, h, pt, font_name)
legend_kind = 'lines'
legend_series = n_series
legend_list = '' # of series; none: all
extras = ''
n_frames = 1
frame_width = 2.4
frame_height = 2.7
least_height = greater(1.4, 8 * line) # a title, three ticks, two lines below
least_width = greater(1.6, 20 * letter)
least_grid_width = 13 * letter
extra_title(word) = word eq 'ideal' ? 'ideal: nobody waits' : word eq 'mean_model' ? "algorithm's output" : word eq 'local_models' ? "workers' models" : \
                    word eq 'worst_model' ? 'worst of them' : word eq 'published' ? points_title : word eq 'target' ? 'target' : word eq 'equally_fast' ? 'equally fast' : word eq 'uncertain' ? 'within 2 % or noise' : word eq 'late' ? "v2:1 late: step 1's value in sum 2" : word eq 'straggler' ? '* computes longest' : word eq 'backward' ? 'white line: backward' : word eq 'least_loss' ? 'least loss' : word eq 'late_model' ? 'late model' : word eq 'stale' ? 'stale gradient' : word eq 'held_up_by' ? 'who was waited for' : word eq 'failure' ? 'a worker fails' : word eq 'away' ? 'failed' : word eq 'stop' ? 'all stand still' : word
open_canvas = plots.'/canvas.gp'
frame(k) = sprintf('set origin %g,%g; set size %g,%g', grid_left + column_of(k) * cell_width, bottom + (down - 1 - row_of(k)) * cell_height, cell_width, cell_height)

# --- axes
# Of n texts along an axis the first has a tick, the last, and who has room between the one before, which ends at `end`, and the last.
clear(k, n, at, half, end, last_begin, gap) = k == 1 || (at - half >= end + gap && (k == n || at + half <= last_begin - gap))
# Names of the series below an axis that counts them: slanted, or upright where they are many or long.
slanted = n_series <= 9 && longest_title <= 20
# Letters beside a y axis: its ticks and its title, which may have two lines.
left = 8
names_below = 'eval "set xtics rotate by ".(slanted ? "35" : "90")." right scale 0 nomirror ()"; slot = 0; lean = 0; \
    do for [i = 1:n_series] { if (!exists("dropped") || i != dropped) { slot = slot + 1; set xtics add (tick(below_axis(i)) slot); if (slot == 1 && n_series > 1) { lean = 0.82 * strlen(title[i]) } } }; \
    set lmargin (slanted ? greater(left, lean + 1 - 0.5 * cell_width * W / letter / (n_series + 1)) : left)'
# Slanted names of n series need so much of a frame.
have_room(width, n) = (width - 9 * letter) / n >= 1.6 * line
# Large numbers are counted in thousands or millions, so that ticks are short and none is rounded.
thousands(top) = top >= 1e10 ? 1e9 : top >= 1e7 ? 1e6 : top >= 1e4 ? 1e3 : 1
thousands_text(scale) = scale == 1e9 ? 'billion ' : scale == 1e6 ? 'million ' : scale == 1e3 ? '1,000 ' : ''
prefix(scale) = scale == 1e9 ? 'G' : scale == 1e6 ? 'M' : scale == 1e3 ? 'k' : ''
label_of(quantity, scale) = quantity eq 'throughput_samples_per_s' ? 'throughput ('.thousands_text(scale).unit.'/s)' : \
    quantity eq 'step_mean_s' ? 'step (s)' : quantity eq 'exposed_mean_s' ? 'latency (s)' : quantity eq 'speedup' ? 'speed-up' : quantity eq 'staleness_mean' ? 'mean age of values (steps)' : quantity eq 'gradient_staleness_mean' ? 'mean age of gradients (steps)' : \
    quantity eq 'time_to_target_s' ? 'time ('.thousands_text(scale).'s)' : quantity eq 'energy_to_target_j' ? 'energy ('.prefix(scale).'J)' : \
    quantity eq 'cost_to_target' || quantity eq 'cost' ? 'cost ('.thousands_text(scale).currency.')' : quantity eq 'samples_per_cost' ? thousands_text(scale).unit.' per '.currency : quantity eq 'sent_to_target_bytes' || quantity eq 'sent_mean_bytes' ? prefix(scale).'B per worker' : \
    quantity[strlen(quantity) - 1:] eq '_s' ? swap(quantity[1:strlen(quantity) - 2], '_', ' ').' ('.thousands_text(scale).'s)' : swap(quantity, '_', ' ').(scale > 1 ? ' ('.thousands_text(scale).')' : '')
title_of_x(scale) = along_x eq 'virtual_s' ? 'virtual time ('.thousands_text(scale).'s)' : 'sent per worker ('.thousands_text(scale).'MB)'
# What the runs of a panel at a place have in common.
title_of_place(j) = n_places == 1 ? '' : along eq 'workers' ? place[j].' GPUs' : axis.' '.place[j]
both(a, b) = a.(a ne '' && b ne '' ? '; ' : '').b
if (n_series > 0) {
    longest_place = 0
    do for [j = 1:n_places] { longest_place = greater(longest_place, strlen(place[j])) }
    longest_panel = 0
    do for [k = 1:n_panels] { longest_panel = greater(longest_panel, strlen(panel[k])) }
}
# Where several values are swept, panels are a grid: the last one's values along a row, the others' down. Its titles stand once, beside it.
head_of_panel(p) = rfind(panel[p], '; ') < 2 ? '' : panel[p][1:rfind(panel[p], '; ') - 1]
tail_of_panel(p) = rfind(panel[p], '; ') < 2 ? panel[p] : panel[p][rfind(panel[p], '; ') + 2:]
# Of "bandwidth 1GB/s; deviation 0.1": "bandwidth, deviation" and "1GB/s, 0.1".
part_at_end(text) = word(text, words(text))
part_before(text) = words(text) < 2 ? '' : text[1:strlen(text) - strlen(part_at_end(text)) - 1]
names_in(text) = strstrt(text, '; ') == 0 ? part_before(text) : part_before(text[1:strstrt(text, '; ') - 1]).', '.names_in(text[strstrt(text, '; ') + 2:])
values_in(text) = strstrt(text, '; ') == 0 ? part_at_end(text) : part_at_end(text[1:strstrt(text, '; ') - 1]).', '.values_in(text[strstrt(text, '; ') + 2:])
panels_across = 0
if (n_series > 0 && n_panels > 3 && head_of_panel(1) ne '') {
    do for [k = 1:n_panels] { if (panels_across == k - 1 && head_of_panel(k) eq head_of_panel(1)) { panels_across = k } }
    is_grid = panels_across > 1 && n_panels % panels_across == 0
    do for [k = 1:n_panels] {
        if (is_grid && (head_of_panel(k) ne head_of_panel(k - (k - 1) % panels_across) || tail_of_panel(k) ne tail_of_panel((k - 1) % panels_across + 1))) { is_grid = 0 }
    }
    if (!is_grid) { panels_across = 0 }
}
# The title of a frame: without the name of the axis where one would be too long, and a line for each swept value where all of them are.
wide(text) = strlen(text) * letter > cell_width * W - 0.5
name_of_place(j) = (longest_place + (along eq 'workers' ? 5 : strlen(axis) + 1)) * letter > cell_width * W - 0.5 ? place[j] : title_of_place(j)
broken(text) = !wide(text) ? text : strstrt(text, '; ') > 0 ? swap(text, '; ', ";\n") : words(text) > 1 ? part_before(text)."\n".part_at_end(text) : text
title_of_cell(p, j) = grid ? '' : broken(tex(both(name_of_place(j), panel[p])))
breaks(text) = strstrt(text, '; ') == 0 ? 0 : 1 + breaks(text[strstrt(text, '; ') + 2:])
longest_part(text) = strstrt(text, '; ') == 0 ? strlen(text) : greater(strstrt(text, '; '), longest_part(text[strstrt(text, '; ') + 2:]))
# A title of the y axis that is longer than the axis breaks before its unit or its reference.
beside_axis(text, height) = strlen(text) * letter < height ? text : swap(swap(text, ' (', "\n("), 'speed-up over', "speed-up\nover")
longest_line(text) = strstrt(text, "\n") == 0 ? strlen(text) : greater(strstrt(text, "\n") - 1, longest_line(text[strstrt(text, "\n") + 1:]))
# What an axis above upright names needs, its title beside it.
height_of_axis(title) = greater(greater(2, 6 * line), letter * (longest_line(beside_axis(title, 0)) + 2) + line)
# Steps of 1, 2, 2.5 or 5 times a power of ten, such that at most n ticks are in a range.
nice(x) = x <= 1 ? 1 : x <= 2 ? 2 : x <= 2.5 ? 2.5 : x <= 5 ? 5 : 10
step_of(range, n) = range <= 0 ? 1 : step_near(1. * range / n)
step_near(x) = 10.**floor(log10(x)) * nice(x / 10.**floor(log10(x)))
# The same, of a range that does not begin at 0: smaller ones where no two ticks would be in it.
step_in(low, high, n) = low >= high || ticks_between(low, high, step_of(high - low, n)) > 1 || n > 20 ? step_of(high - low, n) : step_in(low, high, n + 1)
ticks_between(low, high, step) = floor(high / step) - ceil(low / step) + 1
ticks_across = "int(greater(2, lesser(7, cell_width * W / letter / 9)))"
ticks_up = "int(greater(2, lesser(8, (cell_height * H - 0.8) / line / 2.2)))"
# Powers of ten with a raised exponent; terminals are told not to look for such things in names.
raised(n) = n < 0 ? '⁻'.raised(-n) : (n > 9 ? raised(n / 10) : '').word('⁰ ¹ ² ³ ⁴ ⁵ ⁶ ⁷ ⁸ ⁹', n % 10 + 1)
power(x, n) = (abs(x / 10.**n - 1) < 1e-6 ? '' : sprintf('%g', x / 10.**n).'·').'10'.raised(n)
number(x) = format eq 'tikz' || x == 0 || (abs(x) < 1e5 && abs(x) >= 1e-3) ? sprintf('%g', x) : power(x, int(floor(log10(abs(x)) + 1e-9)))
tick_text(x) = sprintf('%.2g', x)
tick_with(x) = sprintf('"%s" %g,', number(x), x)
# Ticks of a logarithmic axis that has room for n: 1, 2 and 5 of each decade, or 1 of each or of some; even steps where there is no decade.
ticks_in(low, high, x, each, by, list) = x > high ? list : ticks_in(low, high, x * 10**by, each, by, list.(x >= low ? tick_with(x) : '') \
    .(each && 2 * x >= low && 2 * x <= high ? tick_with(2 * x) : '').(each && 5 * x >= low && 5 * x <= high ? tick_with(5 * x) : ''))
even_ticks(high, step, x) = x > high ? '' : tick_with(x).even_ticks(high, step, x + step)
decades(low, high) = log10(high / low)
even_from(low, high, step) = even_ticks(high, step, step * ceil(low / step))
log_ticks(low, high, n) = '('.(high < 4 * low ? even_from(low, high, step_of(high - low, lesser(4, n))) : \
    ticks_in(low, high, 10.**floor(log10(low)), 3 * decades(low, high) <= greater(n, 4), int(ceil(decades(low, high) / (n + 1.))), '')) \
    .sprintf('%g)', 10.**ceil(log10(high) + 1))
