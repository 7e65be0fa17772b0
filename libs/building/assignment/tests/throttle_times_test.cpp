#include "weir_catch.hpp"
#include <weir/assignment/throttle_times.hpp>

#include <string>
#include <vector>

using namespace weir;
using namespace weir::assignment;

namespace {

HoldUp by(std::string reason, double share = 1) { return {std::move(reason), std::nullopt, share}; }

}  // namespace

TEST_CASE("the time that triggers are held up is counted by reason, once for several nodes") {
  ThrottleTimes times;
  const std::vector<HoldUp> none;
  const std::vector<HoldUp> disk{by("WRITER_DISK_FULL"), by("WRITER_DISK_FULL")};
  std::vector<HoldUp> both = disk;
  both.push_back(by("READOUT_BUFFER_BYTES"));
  times.look(none, 5 * kSecond);
  times.look(disk, 6 * kSecond);
  times.look(both, 8 * kSecond);
  times.look(none, 10 * kSecond);
  CHECK(times.lost().by_reason.size() == 2);
  CHECK(times.lost().by_reason.at("WRITER_DISK_FULL") == 3 * kSecond);
  CHECK(times.lost().by_reason.at("READOUT_BUFFER_BYTES") == 2 * kSecond);
  CHECK(times.lost().all == 3 * kSecond);
}

TEST_CASE("a lost share of time counts with its share") {
  ThrottleTimes times;
  const std::vector<HoldUp> some{by("READOUT_BUFFER_BYTES", 0.25), by("READOUT_BUFFER_BYTES", 0.125)};
  times.look(some, kSecond);
  times.look(some, 5 * kSecond);
  CHECK(times.lost().by_reason.at("READOUT_BUFFER_BYTES") == kSecond);
  CHECK(times.lost().all == kSecond);
}

TEST_CASE("more reasons than there is room for count as other") {
  ThrottleTimes times;
  std::vector<HoldUp> many;
  for (int i = 0; i < 100; ++i) many.push_back(by("reason " + std::to_string(i)));
  times.look(many, kSecond);
  times.look(many, 3 * kSecond);
  CHECK(times.lost().by_reason.size() == ThrottleTimes::kReasonsMax + 1);
  CHECK(times.lost().by_reason.at("other") == 2 * kSecond);
}

TEST_CASE("lost time continues from an earlier process's, without the time in between") {
  ThrottleTimes times;
  const std::vector<HoldUp> disk{by("WRITER_DISK_FULL")};
  times.resume({3 * kSecond, {{"WRITER_DISK_FULL", 3 * kSecond}, {"RUN_PAUSED", kSecond}}});
  times.look(disk, 100 * kSecond);
  times.look(disk, 102 * kSecond);
  CHECK(times.lost() == LostTimes{5 * kSecond, {{"WRITER_DISK_FULL", 5 * kSecond}, {"RUN_PAUSED", kSecond}}});
}
