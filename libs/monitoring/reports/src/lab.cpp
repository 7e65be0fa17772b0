#include <weir/reports/lab.hpp>

namespace weir::reports {

void RelayReport::set_lateness(const metrics::ValueHistogram& late_us) {
  frames = late_us.count();
  late_p50_us = late_us.percentile(50);
  late_p99_us = late_us.percentile(99);
  late_max_us = late_us.max();
}

}  // namespace weir::reports
