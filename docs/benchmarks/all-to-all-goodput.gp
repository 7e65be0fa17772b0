set terminal svg size 1000,540 font 'sans,15' background rgb 'white' noenhanced
set output 'all-to-all-goodput.svg'
set tmargin 5
set label "Goodput\nAll to all, 6 readouts, fragments of 65536 B, 1 a readout, cubic; port 50mbit, buffer 100k" at screen 0.5, 0.96 center
set grid
set key outside right center
set arrow from 51.2, graph 0 to 51.2, graph 1 nohead dashtype 2 linecolor 'gray40'
set label 'buffer of the port' at 51.2, graph 0.05 right offset -0.6,0 textcolor 'gray40'
set yrange [0:108]
set ylabel 'goodput, % of theory'
set xrange [0:75.6]
set xlabel 'window of each DCM, kB'
plot 'all-to-all-goodput.dat' index 0 using 1:2 with linespoints linewidth 2 pointtype 7 pointsize 0.6 title 'byte-credits', \
     'all-to-all-goodput.dat' index 1 using 1:2 with linespoints linewidth 2 pointtype 7 pointsize 0.6 title 'diatcp', \
     'all-to-all-goodput.dat' index 2 using 1:2 with linespoints linewidth 2 pointtype 7 pointsize 0.6 title 'adaptive', \
     'all-to-all-goodput.dat' index 3 using 1:2 with linespoints linewidth 2 pointtype 7 pointsize 0.6 title 'none'
