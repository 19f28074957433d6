# What bars find out about `quantity` in $groups before they are drawn: its column c, its range, its unit, and the places.
c = nth(columns_of_groups, quantity)
if (!exists('has_ideal')) { has_ideal = 0 }
ideal_column = nth(columns_of_groups, 'ideal')
named_bars = n_places == 1
# Series `dropped` (0: none) has no bar: what all others are divided by.
if (!exists('dropped')) { dropped = 0 }
n_bars = n_series - (dropped > 0)
# `value` gives no element of an array; this copies one.
array top[n_panels * n_places]
eval 'do for [k = 1:|top|] { top[k] = greater(top_'.quantity.'[k], has_ideal ? top_ideal[k] : 0) }'
lowest = value('least_'.quantity)
# Points that were measured or published, some of which are above all bars.
is_point(quantity) = strcol(6) eq quantity && strcol(4) eq 'place'
published_places = ''
stats $points using (is_point(quantity) ? (published_places = published_places.sprintf(' %d', $3), \
    top[($2 - 1) * n_places + int($3)] = greater(top[($2 - 1) * n_places + int($3)], $9), lowest = lesser(lowest, $8), 0) : 0) nooutput
has_published = published_places ne ''
published_places = published_places.' '
highest = 0
least_top = 1e300
do for [k = 1:|top|] {
    highest = greater(highest, top[k])
    if (top[k] > 0) { least_top = lesser(least_top, top[k]) }
}
# A place without a published point, where others have one, is a prediction.
array place_title[n_places]
rises = 1
has_predicted = 0
do for [j = 1:n_places] {
    is_predicted = has_published && points_title eq 'published' && nth(published_places, sprintf('%d', j)) == 0
    has_predicted = has_predicted || is_predicted
    place_title[j] = tex(place[j]).(is_predicted ? "\npredicted" : quantity eq 'speedup' && j == baseline_place ? "\nbaseline" : '')
    if (j > 1 && place_value[j] <= place_value[greater(1, j - 1)]) { rises = 0 }
}
as_lines = n_places > 1 && rises && (n_places > 6 || exists('log_y') || exists('log_x'))
log_places = as_lines && place_value[1] > 0 && (exists('log_x') || place_value[n_places] >= 10 * place_value[1])
if (highest == 0) { highest = 1 }
scale = thousands(1.08 * highest)
if (!exists('ylabel_text')) { ylabel_text = label_of(quantity, scale) }
if (!exists('xlabel_text')) { xlabel_text = axis }
