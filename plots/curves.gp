# Test loss and accuracy against `along_x`, a column of frames per panel and place: never a mean over what was swept.
n_cells = n_panels * n_places
quantities = ''
do for [quantity in 'accuracy loss'] { if (nth(quantities_of_curves, quantity) > 0) { quantities = quantities.' '.quantity } }
if (quantities eq '') { quantities = 'loss' } # all diverged: empty axes
n_quantities = words(quantities)
n_frames = n_cells * n_quantities
frame_width = 2.6
frame_height = greater(2.5, 9 * line)
least_height = greater(least_height, 9 * line)
least_grid_width = 14.5 * letter
extras = exists('target') ? 'target' : ''
if (along_x eq 'virtual_s' && n_failures > 0) { extras = extras.' failure' }
stats $points using (strcol(4) eq along_x ? 1 : 0) name 'given' nooutput
if (given_max > 0) { extras = extras.' published' }
note = both(note, banded ? of_two_seeds : 'without bands: more than 8 algorithms')
farthest = 0
do for [b = 1:n_cells] { farthest = greater(farthest, value('high_'.along_x)[b]) }
common_scale = thousands(farthest)
x_title = title_of_x(common_scale)
load open_canvas
set rmargin 2
do for [k = 1:n_frames] {
    eval frame(k)
    b = (k - 1) / n_quantities + 1
    p = (b - 1) / n_places + 1
    j = (b - 1) % n_places + 1
    set title title_of_cell(p, j) offset 0, -0.6
    quantity = word(quantities, (k - 1) % n_quantities + 1)
    load plots.'/curves_frame.gp'
    eval legend_drawn
}
unset multiplot; unset output
