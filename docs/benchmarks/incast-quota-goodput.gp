set terminal svg size 1000,540 font 'sans,15' background rgb 'white' noenhanced
set output 'incast-quota-goodput.svg'
set tmargin 5
set label "Goodput\nIncast to one DCM, fragment-credits, 24 readouts, fragments of 1050 B, 12 a readout, cubic; port 200mbit, buffer 100k" at screen 0.5, 0.96 center
set grid
set key outside right center
set arrow from 97.5238, graph 0 to 97.5238, graph 1 nohead dashtype 2 linecolor 'gray40'
set label 'buffer of the port' at 97.5238, graph 0.05 right offset -0.6,0 textcolor 'gray40'
set yrange [0:108]
set ylabel 'goodput, % of theory'
set logscale x
set xrange [0.833333:345.6]
set xlabel 'quota of each DCM, fragments'
plot 'incast-quota-goodput.dat' index 0 using 1:2 with linespoints linewidth 2 pointtype 7 pointsize 0.6 title 'goodput'
