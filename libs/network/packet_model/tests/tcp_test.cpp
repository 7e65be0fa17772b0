// Tests the modelled TCP alone: its retransmissions when segments are lost.
#include "weir_catch.hpp"
#include <weir/packet_model/tcp.hpp>

#include <algorithm>
#include <functional>
#include <set>
#include <vector>

namespace weir::packet_model {
namespace {

constexpr DurationNs kWay = kMillisecond;

// A sender and a receiver with a fixed delay between them; the test chooses the losses.
class Pair final : public Wire {
 public:
  explicit Pair(const TcpSpec& settings = {}) : sender(0, 2 * kWay, settings, *this) {}

  std::function<bool(std::uint32_t segment, int time)> loses = [](auto, auto) { return false; };
  std::function<DurationNs(std::uint32_t segment, int time)> late = [](auto, auto) { return 0; };
  TcpSender sender;
  TcpReceiver receiver;
  std::vector<int> sent;  // how often, by segment
  TimeNs now_ns = 1;

  void send_segment(std::uint32_t, std::uint32_t segment, std::uint16_t length, TimeNs at_ns) override {
    if (sent.size() <= segment) sent.resize(segment + 1);
    if (loses(segment, ++sent[segment])) return;
    const Flying flying{at_ns + kWay + late(segment, sent[segment]), segment, length, at_ns};
    const auto place = std::upper_bound(way_.begin(), way_.end(), flying,
                                        [](const Flying& a, const Flying& b) { return a.at_ns < b.at_ns; });
    way_.insert(place, flying);
  }
  // Runs until all data is acknowledged, or no event is left.
  void run() {
    for (;;) {
      TimeNs next = sender.timer_at_ns() > 0 ? sender.timer_at_ns() : INT64_MAX;
      if (!way_.empty()) next = std::min(next, way_.front().at_ns);
      if (!back_.empty()) next = std::min(next, back_.front().first);
      if (next == INT64_MAX) return;
      now_ns = std::max(now_ns, next);
      if (!way_.empty() && way_.front().at_ns <= now_ns) {
        arrive();
      } else if (!back_.empty() && back_.front().first <= now_ns) {
        const Acknowledgement ack = back_.front().second;
        back_.pop_front();
        sender.acknowledged(ack, now_ns);
      } else {
        sender.timer(now_ns);
      }
    }
  }

 private:
  struct Flying {
    TimeNs at_ns;
    std::uint32_t segment;
    std::uint16_t length;
    TimeNs sent_ns;
  };
  void arrive() {
    const Flying flying = way_.front();
    way_.pop_front();
    const auto outcome = receiver.segment(flying.segment, flying.length, flying.sent_ns);
    if (outcome.acknowledge) back_.emplace_back(now_ns + kWay, outcome.ack);
    // Replaces the delayed acknowledgement's timer.
    if (!outcome.acknowledge && way_.empty()) back_.emplace_back(now_ns + kWay, receiver.take_ack());
  }
  std::deque<Flying> way_;
  std::deque<std::pair<TimeNs, Acknowledgement>> back_;
};

}  // namespace

TEST_CASE("all bytes arrive, each segment sent once when none is lost") {
  Pair pair;
  pair.sender.write(1'000'003, pair.now_ns);
  pair.run();
  CHECK(pair.receiver.in_order() == 1'000'003);
  CHECK(pair.sender.retransmissions() == 0);
  CHECK(pair.receiver.out_of_order() == 0);
  CHECK(std::all_of(pair.sent.begin(), pair.sent.end(), [](int times) { return times == 1; }));
}

TEST_CASE("a lost segment is sent once more, and no other") {
  const std::uint32_t lost = GENERATE(0U, 1U, 5U, 40U, 400U);
  CAPTURE(lost);
  Pair pair;
  pair.loses = [lost](std::uint32_t segment, int time) { return segment == lost && time == 1; };
  pair.sender.write(1'448'000, pair.now_ns);
  pair.run();
  CHECK(pair.receiver.in_order() == 1'448'000);
  CHECK(pair.sender.retransmissions() == 1);
  CHECK(pair.sender.timeouts() == 0);
  CHECK(pair.sent[lost] == 2);
  CHECK(pair.now_ns < kSecond);
}

TEST_CASE("lost last segments are found by a probe, a single one late, without a timeout") {
  const std::uint32_t lost = GENERATE(1U, 2U);
  Pair pair;
  pair.sender.write(100 * kSegmentBytes, pair.now_ns);
  pair.run();
  const TimeNs before = pair.now_ns;
  pair.loses = [lost](std::uint32_t segment, int time) { return segment >= 120 - lost && time == 1; };
  pair.sender.write(20 * kSegmentBytes, pair.now_ns);
  pair.run();
  CHECK(pair.receiver.in_order() == 120 * kSegmentBytes);
  CHECK(pair.sender.retransmissions() == lost);
  CHECK(pair.sender.timeouts() == 0);
  // A single segment's acknowledgement may be delayed: Linux gives it 200 ms.
  if (lost == 1) CHECK(pair.now_ns - before > 200 * kMillisecond);
  if (lost == 2) CHECK(pair.now_ns - before < 50 * kMillisecond);
}

TEST_CASE("when everything under way is lost, and the probe, only the timeout helps") {
  Pair pair;
  pair.sender.write(100 * kSegmentBytes, pair.now_ns);
  pair.run();
  const TimeNs before = pair.now_ns;
  pair.loses = [before, &pair](std::uint32_t segment, int) {
    return segment >= 100 && pair.now_ns < before + 100 * kMillisecond;
  };
  pair.sender.write(10 * kSegmentBytes, pair.now_ns);
  pair.run();
  CHECK(pair.receiver.in_order() == 110 * kSegmentBytes);
  CHECK(pair.sender.timeouts() >= 1);
  CHECK(pair.now_ns - before > 200 * kMillisecond);
}

TEST_CASE("a retransmission that is lost as well is found without a timeout") {
  Pair pair;
  pair.loses = [](std::uint32_t segment, int time) { return segment == 200 && time <= 2; };
  pair.sender.write(2'000 * kSegmentBytes, pair.now_ns);
  pair.run();
  CHECK(pair.receiver.in_order() == 2'000 * kSegmentBytes);
  CHECK(pair.sent[200] == 3);
  CHECK(pair.sender.timeouts() == 0);
}

TEST_CASE("a segment that is overtaken by many is sent once more, no other, and the window stays") {
  Pair pair;
  double before = 0;
  pair.late = [&](std::uint32_t segment, int time) {
    if (segment == 200 && time == 2) before = pair.sender.window();
    return segment == 200 && time == 1 ? kWay * 3 / 2 : 0;
  };
  pair.sender.write(2'000 * kSegmentBytes, pair.now_ns);
  pair.run();
  CHECK(pair.receiver.in_order() == 2'000 * kSegmentBytes);
  CHECK(pair.sender.retransmissions() == 1);
  CHECK(pair.sender.timeouts() == 0);
  CHECK(pair.sender.window() >= before);
}

TEST_CASE("with many losses everything still arrives") {
  const std::uint32_t modulus = GENERATE(2U, 3U, 7U, 50U);
  CAPTURE(modulus);
  Pair pair;
  pair.loses = [modulus](std::uint32_t segment, int time) { return segment % modulus == 0 && time <= 2; };
  pair.sender.write(500'000, pair.now_ns);
  pair.run();
  CHECK(pair.receiver.in_order() == 500'000);
}

TEST_CASE("without selective acknowledgements three duplicates are needed, and fewer cost a timeout") {
  const std::uint32_t lost = GENERATE(40U, 96U, 97U);  // of 100; all in flight together
  CAPTURE(lost);
  Pair pair({.selective = false});
  pair.loses = [lost](std::uint32_t segment, int time) { return segment == lost && time == 1; };
  pair.sender.write(100 * kSegmentBytes, pair.now_ns);
  pair.run();
  CHECK(pair.receiver.in_order() == 100 * kSegmentBytes);
  CHECK(pair.sent[lost] == 2);
  CHECK(pair.sender.timeouts() == (lost == 97 ? 1 : 0));
  CHECK((pair.now_ns > 200 * kMillisecond) == (lost == 97));
}

TEST_CASE("without selective acknowledgements everything still arrives") {
  const std::uint32_t modulus = GENERATE(2U, 3U, 7U, 50U);
  CAPTURE(modulus);
  Pair pair({.selective = false});
  pair.loses = [modulus](std::uint32_t segment, int time) { return segment % modulus == 0 && time <= 2; };
  pair.sender.write(500'000, pair.now_ns);
  pair.run();
  CHECK(pair.receiver.in_order() == 500'000);
}

TEST_CASE("an idle connection starts slowly again, where that is on") {
  const bool restart = GENERATE(true, false);
  Pair pair({.slow_start_after_idle = restart});
  pair.sender.write(500 * kSegmentBytes, pair.now_ns);
  pair.run();
  const double before = pair.sender.window();
  CHECK(before > 40);
  pair.sender.write(kSegmentBytes, pair.now_ns + 10 * kSecond);
  if (restart) CHECK(pair.sender.window() == 10);
  if (!restart) CHECK(pair.sender.window() == before);
}

}  // namespace weir::packet_model
