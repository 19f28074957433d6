# The style of all figures. Copy this file, change it, and pass the copy by `dsgd plot DIR --style FILE`.

# Names, and looks: colour, marker, dash, fill (3: solid; 0: empty; 1, 2, 4 to 7: hatched). Eight colours in steps of lightness, CIELAB distances
# of at least 38, 28 as seen with deuteranopia, 30 with protanopia, 16 with tritanopia, and 11 in grey. Who shares a colour has another marker
# and another fill. Names that are not here (plug-ins, labels) take a spare look: first of a colour that the figure does not have.
title_allreduce = 'Allreduce-SGD';           look_allreduce = '#000000 7 1 3'
title_drop_compute = 'DropCompute';          look_drop_compute = '#000000 6 2 4'
title_local_sgd = 'local SGD';               look_local_sgd = '#2F0552 5 1 3'
title_slowmo = 'SlowMo';                     look_slowmo = '#2F0552 4 2 4'
title_sgp = 'SGP';                           look_sgp = '#0600BE 9 1 3'
title_osgp = 'OSGP';                         look_osgp = '#0600BE 8 2 4'
title_wagma = 'WAGMA-SGD';                   look_wagma = '#A40A0F 13 1 3'
title_eamsgd = 'EAMSGD';                     look_eamsgd = '#A40A0F 12 2 4'
title_d_psgd = 'D-PSGD';                     look_d_psgd = '#1B7A63 11 1 3'
title_diloco = 'DiLoCo';                     look_diloco = '#1B7A63 10 2 4'
title_eager_solo = 'eager-SGD solo';         look_eager_solo = '#6188D7 15 1 3'
title_eager_majority = 'eager-SGD majority'; look_eager_majority = '#6188D7 14 2 4'
title_ad_psgd = 'AD-PSGD';                   look_ad_psgd = '#FD8835 2 1 3'
title_a_psgd = 'A-PSGD';                     look_a_psgd = '#FD8835 1 2 4'
title_dasgd = 'DaSGD';                       look_dasgd = '#7BD1F8 3 1 3'
title_easgd = 'EASGD';                       look_easgd = '#7BD1F8 7 2 4'
title_top_k = 'top-k';                       look_top_k = '#1B7A63 7 3 5'
title_ok_topk = 'Ok-Topk';                   look_ok_topk = '#A40A0F 5 3 5'
title_power_sgd = 'PowerSGD';                look_power_sgd = '#6188D7 9 3 5'
title_ef21 = 'EF21';                         look_ef21 = '#7BD1F8 14 3 5'
title_zero = 'ZeRO';                         look_zero = '#FD8835 15 3 6'
title_choco = 'CHOCO-SGD';                   look_choco = '#FD8835 13 3 5'
title_gradient_tracking = 'gradient tracking'; look_gradient_tracking = '#0600BE 11 3 5'
title_hierarchical = 'hierarchical SGD';     look_hierarchical = '#000000 15 3 5'
title_streaming_diloco = 'Streaming DiLoCo'; look_streaming_diloco = '#7BD1F8 1 3 6'
title_ssp = 'SSP';                           look_ssp = '#A40A0F 6 4 1'
title_backup_workers = 'backup workers';     look_backup_workers = '#1B7A63 4 4 1'
title_rennala = 'Rennala';                   look_rennala = '#FD8835 8 4 1'
title_ringmaster = 'Ringmaster';             look_ringmaster = '#6188D7 12 4 1'
title_async_local_sgd = 'async local SGD';   look_async_local_sgd = '#000000 10 4 1'
title_dsgd_aau = 'DSGD-AAU';                 look_dsgd_aau = '#0600BE 14 4 1'
title_scaffold = 'SCAFFOLD';                 look_scaffold = '#7BD1F8 9 4 1'
title_decoupled_diloco = 'Decoupled DiLoCo'; look_decoupled_diloco = '#7BD1F8 13 5 0'
title_dedloc = 'DeDLOC';                     look_dedloc = '#A40A0F 14 5 0'
title_cluster_based = 'cluster-based SGD';   look_cluster_based = '#1B7A63 12 5 0'
title_dadm = 'DADM';                         look_dadm = '#0600BE 1 5 2'
title_horovod = 'Horovod'
array spare_look[16] = ['#2F0552 3 5 6', '#7BD1F8 5 5 7', '#1B7A63 9 5 7', '#A40A0F 10 5 7', '#6188D7 5 5 6', '#FD8835 7 5 7', \
                        '#0600BE 15 5 6', '#000000 1 5 6', '#6188D7 8 5 7', '#2F0552 7 5 7', '#000000 8 5 7', '#0600BE 6 5 7', \
                        '#6188D7 4 4 0', '#2F0552 13 4 0', '#0600BE 5 4 0', '#000000 12 4 0']

# What is no algorithm.
ink = '#222222'
pale = '#999999'
ideal_colour = '#707070'
grid_colour = '#dddddd'
look_compute = '#4D4D4D 3'
look_wait = '#E0E0E0 3'
look_away = '#000000 4'
look_communicate = '#8A8A8A 4'
message_colour = '#6188D7'
held_colour = '#A40A0F'

# Width and height in inches, and points of the font; a figure of many panels is higher, where no size was asked for.
size_default = '6.3 3.6 10'
size_one_column = '3.4 2.5 7'
size_two_column = '7 3 8'
size_slide = '10 5.6 17'
default_font = 'Sans'
line_width = 1.6
point_size = 0.8

# Terminals, by the name of a format.
terminal_svg(w, h, pt, font) = sprintf("svg size %d,%d font '%s,%.1f' linewidth 1 background '#ffffff' noenhanced", 96 * w, 96 * h, font, pt * 96 / 72.)
terminal_png(w, h, pt, font) = sprintf("pngcairo size %d,%d font '%s,%.1f' fontscale 1.667 linewidth 1.8 pointscale 1.8 noenhanced", 160 * w, 160 * h, font, pt)
terminal_pdf(w, h, pt, font) = sprintf("pdfcairo size %gin,%gin font '%s,%.1f' linewidth 1 noenhanced", w, h, font, pt)
terminal_tikz(w, h, pt, font) = sprintf("tikz size %gin,%gin font '\\fontsize{%.1f}{%.1f}\\selectfont'", w, h, pt, 1.2 * pt)

set border 3 lc rgb ink
set tics nomirror textcolor rgb ink
set grid ytics lc rgb grid_colour lw 1 dt 1
