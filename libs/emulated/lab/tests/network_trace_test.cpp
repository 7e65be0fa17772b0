#include "weir_catch.hpp"
#include <weir/lab/network_trace.hpp>

#include <array>

namespace weir::lab {
namespace {

using Catch::ContainsSubstring;

std::vector<Port> two_ports() {
  return {Port{"switch>a", kSwitches, "a", 8'000'000, 100'000, true, {}},
          Port{"switch>b", kSwitches, "b", 16'000'000, 50'000, true, {}}};
}

NetworkTrace traced() {
  NetworkTrace trace(two_ports(), {"a"});
  const auto take = [&](DurationNs at_ns, std::uint64_t bytes, std::uint64_t queue, std::uint64_t requests) {
    const std::array<PortCount, 2> counts{{{bytes, bytes / 1000, 0, queue}, {0, 0, 0, 0}}};
    trace.take(at_ns, counts, std::array<std::uint64_t, 1>{requests});
  };
  take(0, 5000, 0, 700);  // the origin
  take(kMillisecond, 7000, 3000, 764);
  take(3 * kMillisecond, 7000, 0, 764);
  return trace;
}

TEST_CASE(
    "a sample has what passed since the one before, frames with their full length, and the queues now") {
  const NetworkTrace trace = traced();
  REQUIRE(trace.size() == 2);
  CHECK(trace.sample(0).at_us == 1000);
  CHECK(trace.sample(0).sent_bytes[0] == 2000 + 2 * kOverheadBytes);
  CHECK(trace.sample(0).sent_bytes[1] == 0);
  CHECK(trace.sample(0).queue_bytes[0] == 3000);
  CHECK(trace.sample(0).request_bytes[0] == 64);
  CHECK(trace.sample(1).at_us == 3000);
  CHECK(trace.sample(1).sent_bytes[0] == 0);
  CHECK(trace.sample(1).queue_bytes[0] == 0);
}

TEST_CASE("a trace and its lines are the same") {
  const std::string lines = traced().to_lines();
  CHECK_THAT(lines,
             ContainsSubstring(R"("bench":"network-trace")") &&
                 ContainsSubstring("{\"us\":1000,\"sent\":[2048,0],\"queue\":[3000,0],\"requests\":[64]}\n"));
  const auto read = NetworkTrace::from_lines(lines);
  REQUIRE(read.has_value());
  CHECK(read->to_lines() == lines);
}

TEST_CASE("lines without the header's ports are refused by number") {
  CHECK_FALSE(NetworkTrace::from_lines("").has_value());
  const std::string lines = traced().to_lines();
  const auto refused =
      NetworkTrace::from_lines(lines + "{\"us\":1,\"sent\":[1],\"queue\":[],\"requests\":[]}\n");
  REQUIRE_FALSE(refused.has_value());
  CHECK_THAT(refused.error(), ContainsSubstring("line 4") && ContainsSubstring("'sent' needs 2 numbers"));
}

TEST_CASE("samples beyond the limit are left out and counted") {
  constexpr std::size_t kRow = 3;  // time, sent, queue
  NetworkTrace trace({two_ports()[0]}, {}, 2 * kRow);
  for (int i = 0; i < 5; ++i) trace.take(i * kMillisecond, std::array<PortCount, 1>{}, {});
  CHECK(trace.size() == 2);
  CHECK(trace.left_out() == 2);
}

}  // namespace
}  // namespace weir::lab
