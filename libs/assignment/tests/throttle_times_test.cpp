#include "weir_catch.hpp"
#include <weir/assignment/throttle_times.hpp>

#include <string>
#include <vector>

using namespace weir;
using namespace weir::assignment;

TEST_CASE("the time that triggers are held up is counted by reason, once for several nodes") {
  ThrottleTimes times;
  using Entries = std::vector<ThrottleBoard::Entry>;
  const Entries none;
  const Entries disk{{Role::writer, NodeIndex(0), "writer_no_space"},
                     {Role::writer, NodeIndex(1), "writer_no_space"}};
  Entries both = disk;
  both.push_back({Role::readout, NodeIndex(0), "readout_buffer_bytes"});
  times.look(none, 5 * kSecond);
  times.look(disk, 6 * kSecond);
  times.look(both, 8 * kSecond);
  times.look(none, 10 * kSecond);
  CHECK(times.by_reason().size() == 2);
  CHECK(times.by_reason().at("writer_no_space") == 3 * kSecond);
  CHECK(times.by_reason().at("readout_buffer_bytes") == 2 * kSecond);
}

TEST_CASE("more reasons than there is room for count as other") {
  ThrottleTimes times;
  std::vector<ThrottleBoard::Entry> entries;
  for (std::uint16_t i = 0; i < 100; ++i)
    entries.push_back({Role::readout, NodeIndex(i), "reason " + std::to_string(i)});
  times.look(entries, kSecond);
  times.look(entries, 3 * kSecond);
  CHECK(times.by_reason().size() == ThrottleTimes::kReasonsMax + 1);
  CHECK(times.by_reason().at("other") == 2 * kSecond);
}
