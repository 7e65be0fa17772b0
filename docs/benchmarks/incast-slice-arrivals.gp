set terminal svg size 1000,540 font 'sans,15' background rgb 'white' noenhanced
set output 'incast-slice-arrivals.svg'
set tmargin 5
set label "One slice's bytes over time\nIncast to one DCM, 24 readouts, fragments of 1050 B, 12 a readout, cubic; port 200mbit, buffer 100k" at screen 0.5, 0.96 center
set grid
set key outside right center
set yrange [0:*]
set xrange [0:*]
set xlabel 'time since the first request of a slow slice (9 of 10 are faster), ms'
set ylabel 'arrived, kB'
plot 'incast-slice-arrivals.dat' index 0 using 1:2 with steps linewidth 2 title 'none', \
     'incast-slice-arrivals.dat' index 1 using 1:2 with steps linewidth 2 title 'byte-credits, 72 kB', \
     'incast-slice-arrivals.dat' index 2 using 1:2 with steps linewidth 2 title 'adaptive', \
     'incast-slice-arrivals.dat' index 3 using 1:2 with lines linewidth 2 dashtype 2 linecolor 'gray40' title 'a slice alone'
