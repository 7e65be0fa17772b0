set terminal svg size 1000,540 font 'sans,15' background rgb 'white' noenhanced
set output 'incast-quota-latency.svg'
set tmargin 5
set label "Latency of a slice\nIncast to one DCM, fragment-credits, 24 readouts, fragments of 1050 B, 12 a readout, cubic; port 200mbit, buffer 100k" at screen 0.5, 0.96 center
set grid
set key outside right center
set arrow from 97.5238, graph 0 to 97.5238, graph 1 nohead dashtype 2 linecolor 'gray40'
set label 'buffer of the port' at 97.5238, graph 0.93 right offset -0.6,0 textcolor 'gray40'
set logscale y
set ylabel 'first request to last fragment, ms'
set logscale x
set xrange [0.833333:345.6]
set xlabel 'quota of each DCM, fragments'
plot 'incast-quota-latency.dat' index 0 using 1:3 with linespoints linewidth 2 linecolor 1 dashtype 1 pointtype 7 pointsize 0.4 notitle, \
     'incast-quota-latency.dat' index 0 using 1:4 with linespoints linewidth 2 linecolor 1 dashtype 2 pointtype 7 pointsize 0.4 notitle, \
     'incast-quota-latency.dat' index 0 using 1:5 with linespoints linewidth 2 linecolor 1 dashtype 3 pointtype 7 pointsize 0.4 notitle, \
     keyentry with lines linewidth 2 linecolor 'black' dashtype 1 title 'p50', \
     keyentry with lines linewidth 2 linecolor 'black' dashtype 2 title 'p99', \
     keyentry with lines linewidth 2 linecolor 'black' dashtype 3 title 'max', \
     'incast-quota-latency.dat' index 0 using 1:6 with lines linewidth 2 dashtype 4 linecolor 'gray40' title 'a slice alone'
