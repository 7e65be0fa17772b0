set terminal svg size 1000,540 font 'sans,15' background rgb 'white' noenhanced
set output 'incast-congestion-latency.svg'
set tmargin 5
set label "Latency of a slice\nIncast to one DCM, 24 readouts, fragments of 65536 B, 1 a readout; port 200mbit, buffer 100k" at screen 0.5, 0.96 center
set grid
set key outside right center
set arrow from 102.4, graph 0 to 102.4, graph 1 nohead dashtype 2 linecolor 'gray40'
set label 'buffer of the port' at 102.4, graph 0.93 right offset -0.6,0 textcolor 'gray40'
set logscale y
set ylabel 'first request to last fragment, ms'
set xrange [0:302.4]
set xlabel 'window of each DCM, kB'
plot 'incast-congestion-latency.dat' index 0 using 1:3 with linespoints linewidth 2 linecolor 1 dashtype 1 pointtype 7 pointsize 0.4 title 'byte-credits, cubic', \
     'incast-congestion-latency.dat' index 0 using 1:4 with linespoints linewidth 2 linecolor 1 dashtype 2 pointtype 7 pointsize 0.4 notitle, \
     'incast-congestion-latency.dat' index 0 using 1:5 with linespoints linewidth 2 linecolor 1 dashtype 3 pointtype 7 pointsize 0.4 notitle, \
     'incast-congestion-latency.dat' index 1 using 1:3 with linespoints linewidth 2 linecolor 2 dashtype 1 pointtype 7 pointsize 0.4 title 'byte-credits, reno', \
     'incast-congestion-latency.dat' index 1 using 1:4 with linespoints linewidth 2 linecolor 2 dashtype 2 pointtype 7 pointsize 0.4 notitle, \
     'incast-congestion-latency.dat' index 1 using 1:5 with linespoints linewidth 2 linecolor 2 dashtype 3 pointtype 7 pointsize 0.4 notitle, \
     'incast-congestion-latency.dat' index 2 using 1:3 with linespoints linewidth 2 linecolor 3 dashtype 1 pointtype 7 pointsize 0.4 title 'byte-credits, bbr', \
     'incast-congestion-latency.dat' index 2 using 1:4 with linespoints linewidth 2 linecolor 3 dashtype 2 pointtype 7 pointsize 0.4 notitle, \
     'incast-congestion-latency.dat' index 2 using 1:5 with linespoints linewidth 2 linecolor 3 dashtype 3 pointtype 7 pointsize 0.4 notitle, \
     'incast-congestion-latency.dat' index 3 using 1:3 with linespoints linewidth 2 linecolor 4 dashtype 1 pointtype 7 pointsize 0.4 title 'none, cubic', \
     'incast-congestion-latency.dat' index 3 using 1:4 with linespoints linewidth 2 linecolor 4 dashtype 2 pointtype 7 pointsize 0.4 notitle, \
     'incast-congestion-latency.dat' index 3 using 1:5 with linespoints linewidth 2 linecolor 4 dashtype 3 pointtype 7 pointsize 0.4 notitle, \
     'incast-congestion-latency.dat' index 4 using 1:3 with linespoints linewidth 2 linecolor 5 dashtype 1 pointtype 7 pointsize 0.4 title 'none, reno', \
     'incast-congestion-latency.dat' index 4 using 1:4 with linespoints linewidth 2 linecolor 5 dashtype 2 pointtype 7 pointsize 0.4 notitle, \
     'incast-congestion-latency.dat' index 4 using 1:5 with linespoints linewidth 2 linecolor 5 dashtype 3 pointtype 7 pointsize 0.4 notitle, \
     'incast-congestion-latency.dat' index 5 using 1:3 with linespoints linewidth 2 linecolor 6 dashtype 1 pointtype 7 pointsize 0.4 title 'none, bbr', \
     'incast-congestion-latency.dat' index 5 using 1:4 with linespoints linewidth 2 linecolor 6 dashtype 2 pointtype 7 pointsize 0.4 notitle, \
     'incast-congestion-latency.dat' index 5 using 1:5 with linespoints linewidth 2 linecolor 6 dashtype 3 pointtype 7 pointsize 0.4 notitle, \
     keyentry with lines linewidth 2 linecolor 'black' dashtype 1 title 'p50', \
     keyentry with lines linewidth 2 linecolor 'black' dashtype 2 title 'p99', \
     keyentry with lines linewidth 2 linecolor 'black' dashtype 3 title 'max', \
     'incast-congestion-latency.dat' index 0 using 1:6 with lines linewidth 2 dashtype 4 linecolor 'gray40' title 'a slice alone'
