set terminal svg size 1000,540 font 'sans,15' background rgb 'white' noenhanced
set output 'incast-static-distribution.svg'
set tmargin 5
set label "Distribution of latency\nIncast to one DCM, 24 readouts, fragments of 65536 B, 1 a readout, cubic; port 200mbit, buffer 100k" at screen 0.5, 0.96 center
set grid
set key outside right center
set logscale xy
set yrange [0.05:100]
set arrow from 200, graph 0 to 200, graph 1 nohead dashtype 2 linecolor 'gray40'
set label '200 ms' at 200, graph 0.96 offset 0.6,0 textcolor 'gray40'
set xlabel 'first request to last fragment, ms'
set ylabel 'slices that took longer, %'
plot 'incast-static-distribution.dat' index 0 using 1:2 with steps linewidth 2 title 'none', \
     'incast-static-distribution.dat' index 1 using 1:2 with steps linewidth 2 title 'none, congestion window fixed at 2', \
     'incast-static-distribution.dat' index 2 using 1:2 with steps linewidth 2 title 'none, congestion window fixed at 4', \
     'incast-static-distribution.dat' index 3 using 1:2 with steps linewidth 2 title 'none, congestion window fixed at 8', \
     'incast-static-distribution.dat' index 4 using 1:2 with steps linewidth 2 title 'none, congestion window fixed at 16', \
     'incast-static-distribution.dat' index 5 using 1:2 with steps linewidth 2 title 'byte-credits, 72 kB', \
     'incast-static-distribution.dat' index 6 using 1:2 with steps linewidth 2 title 'byte-credits, 72 kB, congestion window fixed at 2', \
     'incast-static-distribution.dat' index 7 using 1:2 with steps linewidth 2 title 'byte-credits, 72 kB, congestion window fixed at 4', \
     'incast-static-distribution.dat' index 8 using 1:2 with steps linewidth 2 title 'byte-credits, 72 kB, congestion window fixed at 8', \
     'incast-static-distribution.dat' index 9 using 1:2 with steps linewidth 2 title 'byte-credits, 72 kB, congestion window fixed at 16'
