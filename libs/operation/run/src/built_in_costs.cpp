// The table of `weir bench costs --rounds 3 --seconds 1` on the machine and day of `origin`: the lesser of
// two runs, because other programs ran beside them.
#include <weir/run/costs.hpp>

namespace weir::run {

const CostTable& built_in_costs() {
  // readouts, sources, bytes, stored; us of readouts, DCM, supervisor, writer, disk
  static const CostTable table{"Intel Xeon, 2 cores, virtual, 2026-11-28",
                               {
                                   {4, 4, 64, false, 3.23, 2.54, 1.09, 0, 0},
                                   {4, 4, 1024, false, 6.6, 4.97, 1.51, 0, 0},
                                   {4, 4, 4096, false, 11.8, 10.3, 1.78, 0, 0},
                                   {4, 4, 16'384, false, 31.7, 37.5, 2.88, 0, 0},
                                   {4, 4, 65'536, false, 145, 221, 12.6, 0, 0},
                                   {4, 4, 64, true, 4.07, 5.41, 1.49, 2.31, 1.1},
                                   {4, 4, 1024, true, 7.71, 12.6, 2.04, 8.49, 5.25},
                                   {4, 4, 4096, true, 14.6, 37.3, 2.78, 22.8, 19.8},
                                   {4, 4, 16'384, true, 50.6, 127, 8.99, 79.9, 79.4},
                                   {4, 4, 65'536, true, 210, 506, 39, 380, 582},
                                   {4, 1, 64, false, 2.11, 2.13, 0.849, 0, 0},
                                   {1, 4, 64, false, 0.458, 0.779, 0.421, 0, 0},
                               }};
  return table;
}

}  // namespace weir::run
