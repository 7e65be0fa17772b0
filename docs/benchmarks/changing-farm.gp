set terminal svg size 1000,540 font 'sans,15' background rgb 'white' noenhanced
set output 'changing-farm.svg'
set tmargin 5
set label "The rate follows the farm\n6 DCMs, 25 ms a slice each" at screen 0.5, 0.96 center
set grid ytics
set key outside right center
set arrow from 0.00, graph 0 to 0.00, graph 1 nohead dashtype 2 linecolor 'gray70'
set label 'begin' at 0.00, graph 0.02 rotate by 90 offset 0.7,0 textcolor 'gray40'
set arrow from 8.02, graph 0 to 8.02, graph 1 nohead dashtype 2 linecolor 'gray70'
set label 'remove dcm-5' at 8.02, graph 0.02 rotate by 90 offset 0.7,0 textcolor 'gray40'
set arrow from 16.01, graph 0 to 16.01, graph 1 nohead dashtype 2 linecolor 'gray70'
set label 'remove dcm-4' at 16.01, graph 0.02 rotate by 90 offset 0.7,0 textcolor 'gray40'
set arrow from 24.02, graph 0 to 24.02, graph 1 nohead dashtype 2 linecolor 'gray70'
set label 'remove dcm-3' at 24.02, graph 0.02 rotate by 90 offset 0.7,0 textcolor 'gray40'
set arrow from 32.02, graph 0 to 32.02, graph 1 nohead dashtype 2 linecolor 'gray70'
set label 'add dcm-3' at 32.02, graph 0.02 rotate by 90 offset 0.7,0 textcolor 'gray40'
set arrow from 40.00, graph 0 to 40.00, graph 1 nohead dashtype 2 linecolor 'gray70'
set label 'add dcm-4' at 40.00, graph 0.02 rotate by 90 offset 0.7,0 textcolor 'gray40'
set arrow from 48.01, graph 0 to 48.01, graph 1 nohead dashtype 2 linecolor 'gray70'
set label 'add dcm-5' at 48.01, graph 0.02 rotate by 90 offset 0.7,0 textcolor 'gray40'
set arrow from 56.04, graph 0 to 56.04, graph 1 nohead dashtype 2 linecolor 'gray70'
set label 'kill -9 dcm-0' at 56.04, graph 0.02 rotate by 90 offset 0.7,0 textcolor 'gray40'
set arrow from 64.04, graph 0 to 64.04, graph 1 nohead dashtype 2 linecolor 'gray70'
set label 'start dcm-0' at 64.04, graph 0.02 rotate by 90 offset 0.7,0 textcolor 'gray40'
set xrange [0:72]
set yrange [0:*]
set xlabel 'time, s'
set ylabel 'slices stored per second'
plot 'changing-farm.dat' index 1 using 1:2 with lines linewidth 2 linecolor 'magenta' title 'DCMs that are there', \
     'changing-farm.dat' index 0 using 1:2 with points pointtype 7 pointsize 0.5 linecolor 'black' title 'rate'
