set terminal svg size 1000,540 font 'sans,15' background rgb 'white' noenhanced
set output 'assignment-p99.svg'
set tmargin 5
set label "Decision latency, p99\n5 workstations of 1 and 6 servers of 3 processors, 11.4 ms a slice, 17 credits each" at screen 0.5, 0.96 center
set grid
set key outside right center
set xrange [0:100]
set logscale y
set xlabel 'offered load, % of all processors'
set ylabel '99th percentile, ms'
plot 'assignment-p99.dat' index 0 using 1:2 with linespoints linewidth 2 title 'static', 'assignment-p99.dat' index 1 using 1:2 with linespoints linewidth 2 title 'credits', 'assignment-p99.dat' index 2 using 1:2 with linespoints linewidth 2 title 'schedule-table', 'assignment-p99.dat' index 3 using 1:2 with linespoints linewidth 2 title 'least-loaded', 'assignment-p99.dat' index 4 using 1:2 with linespoints linewidth 2 title 'learning'
