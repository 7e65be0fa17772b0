set terminal svg size 1000,540 font 'sans,15' background rgb 'white' noenhanced
set output 'all-to-all-latency.svg'
set tmargin 5
set label "Latency of a slice\nAll to all, 6 readouts, fragments of 65536 B, 1 a readout, cubic; port 50mbit, buffer 100k" at screen 0.5, 0.96 center
set grid
set key outside right center
set arrow from 51.2, graph 0 to 51.2, graph 1 nohead dashtype 2 linecolor 'gray40'
set label 'buffer of the port' at 51.2, graph 0.93 right offset -0.6,0 textcolor 'gray40'
set logscale y
set ylabel 'first request to last fragment, ms'
set xrange [0:75.6]
set xlabel 'window of each DCM, kB'
plot 'all-to-all-latency.dat' index 0 using 1:3 with linespoints linewidth 2 linecolor 1 dashtype 1 pointtype 7 pointsize 0.4 title 'byte-credits', \
     'all-to-all-latency.dat' index 0 using 1:4 with linespoints linewidth 2 linecolor 1 dashtype 2 pointtype 7 pointsize 0.4 notitle, \
     'all-to-all-latency.dat' index 0 using 1:5 with linespoints linewidth 2 linecolor 1 dashtype 3 pointtype 7 pointsize 0.4 notitle, \
     'all-to-all-latency.dat' index 1 using 1:3 with linespoints linewidth 2 linecolor 2 dashtype 1 pointtype 7 pointsize 0.4 title 'diatcp', \
     'all-to-all-latency.dat' index 1 using 1:4 with linespoints linewidth 2 linecolor 2 dashtype 2 pointtype 7 pointsize 0.4 notitle, \
     'all-to-all-latency.dat' index 1 using 1:5 with linespoints linewidth 2 linecolor 2 dashtype 3 pointtype 7 pointsize 0.4 notitle, \
     'all-to-all-latency.dat' index 2 using 1:3 with linespoints linewidth 2 linecolor 3 dashtype 1 pointtype 7 pointsize 0.4 title 'adaptive', \
     'all-to-all-latency.dat' index 2 using 1:4 with linespoints linewidth 2 linecolor 3 dashtype 2 pointtype 7 pointsize 0.4 notitle, \
     'all-to-all-latency.dat' index 2 using 1:5 with linespoints linewidth 2 linecolor 3 dashtype 3 pointtype 7 pointsize 0.4 notitle, \
     'all-to-all-latency.dat' index 3 using 1:3 with linespoints linewidth 2 linecolor 4 dashtype 1 pointtype 7 pointsize 0.4 title 'none', \
     'all-to-all-latency.dat' index 3 using 1:4 with linespoints linewidth 2 linecolor 4 dashtype 2 pointtype 7 pointsize 0.4 notitle, \
     'all-to-all-latency.dat' index 3 using 1:5 with linespoints linewidth 2 linecolor 4 dashtype 3 pointtype 7 pointsize 0.4 notitle, \
     keyentry with lines linewidth 2 linecolor 'black' dashtype 1 title 'p50', \
     keyentry with lines linewidth 2 linecolor 'black' dashtype 2 title 'p99', \
     keyentry with lines linewidth 2 linecolor 'black' dashtype 3 title 'max', \
     'all-to-all-latency.dat' index 0 using 1:6 with lines linewidth 2 dashtype 4 linecolor 'gray40' title 'a slice alone'
