set terminal svg size 1000,540 font 'sans,15' background rgb 'white' noenhanced
set output 'incast-congestion-goodput.svg'
set tmargin 5
set label "Goodput\nIncast to one DCM, 24 readouts, fragments of 65536 B, 1 a readout; port 200mbit, buffer 100k" at screen 0.5, 0.96 center
set grid
set key outside right center
set arrow from 102.4, graph 0 to 102.4, graph 1 nohead dashtype 2 linecolor 'gray40'
set label 'buffer of the port' at 102.4, graph 0.05 right offset -0.6,0 textcolor 'gray40'
set yrange [0:108]
set ylabel 'goodput, % of theory'
set xrange [0:302.4]
set xlabel 'window of each DCM, kB'
plot 'incast-congestion-goodput.dat' index 0 using 1:2 with linespoints linewidth 2 pointtype 7 pointsize 0.6 title 'byte-credits, cubic', \
     'incast-congestion-goodput.dat' index 1 using 1:2 with linespoints linewidth 2 pointtype 7 pointsize 0.6 title 'byte-credits, reno', \
     'incast-congestion-goodput.dat' index 2 using 1:2 with linespoints linewidth 2 pointtype 7 pointsize 0.6 title 'byte-credits, bbr', \
     'incast-congestion-goodput.dat' index 3 using 1:2 with linespoints linewidth 2 pointtype 7 pointsize 0.6 title 'none, cubic', \
     'incast-congestion-goodput.dat' index 4 using 1:2 with linespoints linewidth 2 pointtype 7 pointsize 0.6 title 'none, reno', \
     'incast-congestion-goodput.dat' index 5 using 1:2 with linespoints linewidth 2 pointtype 7 pointsize 0.6 title 'none, bbr'
