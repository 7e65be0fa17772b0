#include "lab_text.hpp"
#include <weir/lab/port_record.hpp>

namespace weir::lab {
namespace {

// Returns one port of 8 Mbit/s: 1 000 bytes a millisecond.
std::vector<Port> one_port() {
  return plan_of("hosts: [{name: a}]\nport_rate: 8mbit\nport_buffer: 10k\n").counted_ports();
}

constexpr TimeNs kStart = 5 * kSecond;

TEST_CASE("a port's use counts a frame's full length on the wire") {
  PortRecord record(one_port());
  record.take(kStart, {{1000, 10, 0, 0}});
  record.take(kStart + kSecond, {{1000 + 488'000, 10 + 500, 0, 0}});
  const auto report = record.report(2);
  REQUIRE(report.size() == 1);
  CHECK(report[0].bytes == 500'000);
  CHECK(report[0].packets == 500);
  CHECK(report[0].use == Approx(0.25));
  CHECK(report[0].busiest_use == Approx(0.5));
  CHECK(record.use_now()[0] == Approx(0.5));
}

TEST_CASE("drops in a port's first second are told from those after it") {
  PortRecord record(one_port());
  PortCount count;
  TimeNs now = kStart;
  const auto take = [&](std::uint64_t bytes, std::uint64_t drops) {
    count.bytes += bytes;
    count.drops += drops;
    record.take(now, {count});
    now += kSampleInterval;
  };
  take(0, 0);
  take(300, 0);  // connection set-up: below 1 % of the rate
  for (int i = 0; i < 10; ++i) take(90'000, 5);
  for (int i = 0; i < 10; ++i) take(90'000, 0);
  take(90'000, 3);
  const auto report = record.report(2);
  CHECK(report[0].drops == 53);
  CHECK(report[0].drops_after_1s == 3);
  CHECK(report[0].last_drop_s == Approx(2.1));
}

TEST_CASE("a port that carried nothing has no drops and no use") {
  PortRecord record(one_port());
  record.take(kStart, {{}});
  record.take(kStart + kSecond, {{}});
  const auto report = record.report(0);
  CHECK(report[0].drops_after_1s == 0);
  CHECK(report[0].last_drop_s == 0);
  CHECK(report[0].use == 0);
}

TEST_CASE("a port that changes is measured by its rate at the time, and over the run by the mean") {
  PortRecord record({Port{"switch>a", kSwitches, "a", 8'000'000, 100'000, true, {}}});
  PortCount count;
  record.take(0, {count});
  count.bytes = 1'000'000;
  record.take(kSecond, {count});
  CHECK(record.use_now()[0] == Approx(1));
  record.change_rate(0, 4'000'000);
  count.bytes = 1'500'000;
  record.take(2 * kSecond, {count});
  CHECK(record.use_now()[0] == Approx(1));
  const auto report = record.report(2, {6e6});
  CHECK(report[0].use == Approx(1));
  CHECK(report[0].busiest_use == Approx(1));
  CHECK(report[0].rate_bits_per_s == 8'000'000);
}

}  // namespace
}  // namespace weir::lab
