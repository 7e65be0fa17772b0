#include "weir_catch.hpp"
#include <weir/line_figures/datagrams.hpp>

namespace weir::line_figures {
namespace {

std::vector<Arrival> numbered(std::initializer_list<std::uint32_t> sequences) {
  std::vector<Arrival> arrivals;
  for (const std::uint32_t sequence : sequences) arrivals.push_back({sequence, 0, 0, false});
  return arrivals;
}

TEST_CASE("lost, reordered and repeated datagrams are counted apart") {
  const DatagramCounts counts = count_datagrams(numbered({0, 2, 1, 2, 3, 6, 5}), 8, 0);
  CHECK(counts.received == 6);
  CHECK(counts.lost == 2);  // 4 and 7
  CHECK(counts.reordered == 2);
  CHECK(counts.repeated == 1);
  CHECK(counts.lost_share() == Approx(0.25));
}

TEST_CASE("drops of the receiver's socket do not count as losses of the line") {
  const DatagramCounts counts = count_datagrams(numbered({0, 3}), 6, 3);
  CHECK(counts.dropped_here == 3);
  CHECK(counts.lost == 1);
  CHECK(count_datagrams(numbered({0, 1}), 3, 100).dropped_here == 1);
}

TEST_CASE("numbers that were never sent are ignored") {
  const DatagramCounts counts = count_datagrams(numbered({0, 4'000'000'000U, 1}), 2, 0);
  CHECK(counts.received == 2);
  CHECK(counts.reordered == 0);
  CHECK(count_datagrams({}, 0, 0).lost_share() == 0);
}

TEST_CASE("a round trip leaves out the far host's own time and both clocks' difference") {
  constexpr UtcNs kAhead = 3600 * kSecond;
  const Echo echo{1000, 1000 + 40 + kAhead, 1000 + 40 + 500 + kAhead, 1000 + 40 + 500 + 60};
  CHECK(round_trip_ns(echo) == 100);
  const Echo later{1000, 1000 + 90 + kAhead, 1000 + 90 + kAhead, 1000 + 90 + 80};
  CHECK(least_transit_ns(std::vector{later, echo}) == 60 - kAhead);
}

}  // namespace
}  // namespace weir::line_figures
