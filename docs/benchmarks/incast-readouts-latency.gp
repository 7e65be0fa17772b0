set terminal svg size 1000,540 font 'sans,15' background rgb 'white' noenhanced
set output 'incast-readouts-latency.svg'
set tmargin 5
set label "Latency of a slice\nIncast to one DCM, fragments of 16384 B, 1 a readout, cubic; port 200mbit, buffer 100k" at screen 0.5, 0.96 center
set grid
set key outside right center
set logscale y
set ylabel 'first request to last fragment, ms'
set xrange [0:33.6]
set xlabel 'readouts'
plot 'incast-readouts-latency.dat' index 0 using 1:3 with linespoints linewidth 2 linecolor 1 dashtype 1 pointtype 7 pointsize 0.4 title 'none', \
     'incast-readouts-latency.dat' index 0 using 1:4 with linespoints linewidth 2 linecolor 1 dashtype 2 pointtype 7 pointsize 0.4 notitle, \
     'incast-readouts-latency.dat' index 0 using 1:5 with linespoints linewidth 2 linecolor 1 dashtype 3 pointtype 7 pointsize 0.4 notitle, \
     'incast-readouts-latency.dat' index 1 using 1:3 with linespoints linewidth 2 linecolor 2 dashtype 1 pointtype 7 pointsize 0.4 title 'byte-credits, 72 kB', \
     'incast-readouts-latency.dat' index 1 using 1:4 with linespoints linewidth 2 linecolor 2 dashtype 2 pointtype 7 pointsize 0.4 notitle, \
     'incast-readouts-latency.dat' index 1 using 1:5 with linespoints linewidth 2 linecolor 2 dashtype 3 pointtype 7 pointsize 0.4 notitle, \
     'incast-readouts-latency.dat' index 2 using 1:3 with linespoints linewidth 2 linecolor 3 dashtype 1 pointtype 7 pointsize 0.4 title 'adaptive', \
     'incast-readouts-latency.dat' index 2 using 1:4 with linespoints linewidth 2 linecolor 3 dashtype 2 pointtype 7 pointsize 0.4 notitle, \
     'incast-readouts-latency.dat' index 2 using 1:5 with linespoints linewidth 2 linecolor 3 dashtype 3 pointtype 7 pointsize 0.4 notitle, \
     keyentry with lines linewidth 2 linecolor 'black' dashtype 1 title 'p50', \
     keyentry with lines linewidth 2 linecolor 'black' dashtype 2 title 'p99', \
     keyentry with lines linewidth 2 linecolor 'black' dashtype 3 title 'max', \
     'incast-readouts-latency.dat' index 0 using 1:6 with lines linewidth 2 dashtype 4 linecolor 'gray40' title 'a slice alone'
