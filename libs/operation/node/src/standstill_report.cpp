#include <weir/clock/clock.hpp>
#include <weir/node/standstill_report.hpp>

#include <fmt/format.h>

namespace weir::node {

std::string StandstillReport::look() {
  const auto pause = watch_.look(left_out_ns());
  if (!pause) return {};
  return fmt::format("stood still for {:.1f} s (stopped, or in one long step): timers exclude this time",
                     static_cast<double>(*pause) / static_cast<double>(kSecond));
}

}  // namespace weir::node
