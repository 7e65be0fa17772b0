set terminal svg size 1000,540 font 'sans,15' background rgb 'white' noenhanced
set output 'incast-readouts-goodput.svg'
set tmargin 5
set label "Goodput\nIncast to one DCM, fragments of 16384 B, 1 a readout, cubic; port 200mbit, buffer 100k" at screen 0.5, 0.96 center
set grid
set key outside right center
set yrange [0:108]
set ylabel 'goodput, % of theory'
set xrange [0:33.6]
set xlabel 'readouts'
plot 'incast-readouts-goodput.dat' index 0 using 1:2 with linespoints linewidth 2 pointtype 7 pointsize 0.6 title 'none', \
     'incast-readouts-goodput.dat' index 1 using 1:2 with linespoints linewidth 2 pointtype 7 pointsize 0.6 title 'byte-credits, 72 kB', \
     'incast-readouts-goodput.dat' index 2 using 1:2 with linespoints linewidth 2 pointtype 7 pointsize 0.6 title 'adaptive'
