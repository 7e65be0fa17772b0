set terminal svg size 1000,540 font 'sans,15' background rgb 'white' noenhanced
set output 'assignment-mean.svg'
set tmargin 5
set label "Decision latency, mean\n5 workstations of 1 and 6 servers of 3 processors, 11.4 ms a slice, 17 credits each" at screen 0.5, 0.96 center
set grid
set key outside right center
set xrange [0:100]
set logscale y
set xlabel 'offered load, % of all processors'
set ylabel 'mean, ms'
plot 'assignment-mean.dat' index 0 using 1:2 with linespoints linewidth 2 title 'static', 'assignment-mean.dat' index 1 using 1:2 with linespoints linewidth 2 title 'credits', 'assignment-mean.dat' index 2 using 1:2 with linespoints linewidth 2 title 'schedule-table', 'assignment-mean.dat' index 3 using 1:2 with linespoints linewidth 2 title 'least-loaded', 'assignment-mean.dat' index 4 using 1:2 with linespoints linewidth 2 title 'learning'
