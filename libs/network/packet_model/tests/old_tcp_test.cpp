#include "weir_catch.hpp"
#include <weir/packet_model/old_tcp.hpp>

#include <algorithm>
#include <vector>

namespace weir::packet_model {
namespace {

constexpr DurationNs kRoundTrip = kMillisecond;

// A connection that the test carries by hand.
struct Connection {
  explicit Connection(const OldTcpSpec& settings = {}) : sender(settings, 0) {}

  std::vector<std::uint32_t> sent() {
    std::vector<std::uint32_t> segments;
    while (const auto out = sender.next(now_ns)) segments.push_back(out->segment);
    return segments;
  }
  void open() {
    CHECK(sent() == std::vector<std::uint32_t>{kSyn});
    now_ns += kRoundTrip;
    sender.opened(now_ns);
  }
  // Carries the segments, except the lost ones, and their acknowledgements. Returns the segments that these
  // allow.
  std::vector<std::uint32_t> carry(const std::vector<std::uint32_t>& segments,
                                   const std::vector<std::uint32_t>& lost = {}) {
    now_ns += kRoundTrip;
    std::vector<std::uint32_t> answers;
    for (const std::uint32_t segment : segments) {
      if (std::find(lost.begin(), lost.end(), segment) != lost.end()) continue;
      sender.acknowledged(receiver.segment(segment), now_ns);
      for (const std::uint32_t next : sent()) answers.push_back(next);
    }
    return answers;
  }
  void fire() {
    now_ns = sender.timer_at_ns();
    sender.timer(now_ns);
  }

  TimeNs now_ns = kMillisecond;
  OldTcp sender;
  OldTcpReceiver receiver;
};

using Segments = std::vector<std::uint32_t>;

}  // namespace

TEST_CASE("a connection opens, starts slowly and stays within its largest window") {
  Connection tcp({.window = 5});
  tcp.sender.write(100 * kOldSegmentBytes);
  tcp.open();
  Segments flying = tcp.sent();
  CHECK(flying == Segments{0, 1});
  flying = tcp.carry(flying);
  CHECK(flying == Segments{2, 3, 4, 5});
  flying = tcp.carry(flying);
  CHECK(flying.size() == 5);
  CHECK(tcp.sender.retransmitted() == 0);
}

TEST_CASE("the last bytes of a message go at once, as a short segment") {
  Connection tcp;
  tcp.sender.write(kOldSegmentBytes + 100);
  tcp.open();
  CHECK(tcp.sent() == Segments{0, 1});
  CHECK(tcp.sender.end_of(1) == kOldSegmentBytes + 100);
  CHECK(tcp.sender.unsent() == 0);
}

TEST_CASE("a round trip within a tick of the clock gives a timeout of three ticks, doubled each time") {
  Connection tcp;
  tcp.sender.write(kOldSegmentBytes);
  tcp.open();
  CHECK(tcp.sent() == Segments{0});
  CHECK(tcp.sender.timer_at_ns() - tcp.now_ns == 300 * kMillisecond);
  for (const DurationNs expected : {600, 1200, 2400}) {
    tcp.fire();
    CHECK(tcp.sent() == Segments{0});
    CHECK(tcp.sender.timer_at_ns() - tcp.now_ns == expected * kMillisecond);
  }
  CHECK(tcp.sender.timeouts() == 3);
  CHECK(tcp.sender.retransmitted() == 3);
}

TEST_CASE("an opening that is lost is repeated after the first timeout, which is long") {
  Connection tcp;
  tcp.sender.write(100);
  CHECK(tcp.sent() == Segments{kSyn});
  CHECK(tcp.sender.timer_at_ns() - tcp.now_ns == 6 * kSecond);
  tcp.fire();
  CHECK(tcp.sent() == Segments{kSyn});
}

TEST_CASE("three duplicates of an acknowledgement repeat the segment without a timeout") {
  Connection tcp;
  tcp.sender.write(1000 * kOldSegmentBytes);
  tcp.open();
  Segments flying = tcp.carry(tcp.carry(tcp.sent()));
  REQUIRE(flying.size() == 8);
  const std::uint32_t lost = flying[0];
  const Segments answers = tcp.carry(flying, {lost});
  REQUIRE(!answers.empty());
  CHECK(answers[0] == lost);
  CHECK(tcp.sender.retransmitted() == 1);
  CHECK(tcp.sender.timeouts() == 0);
  tcp.carry(answers);
  CHECK(tcp.receiver.next() > flying.back());
}

// Of a window with two losses Reno repeats the first one only and then waits for its timer.
TEST_CASE("of several losses in a window, NewReno repeats all and Reno needs a timeout") {
  for (const OldTcpVariant variant : {OldTcpVariant::reno, OldTcpVariant::new_reno}) {
    Connection tcp({.variant = variant, .window = 8});
    tcp.sender.write(10 * kOldSegmentBytes);  // the last window has nothing behind it
    tcp.open();
    Segments flying = tcp.carry(tcp.sent());
    flying = tcp.carry(flying);
    REQUIRE(flying == Segments{6, 7, 8, 9});
    tcp.sender.write(4 * kOldSegmentBytes);
    for (const std::uint32_t more : tcp.sent()) flying.push_back(more);
    flying = tcp.carry(flying, {6, 8});
    for (int trips = 0; trips < 4; ++trips) flying = tcp.carry(flying);
    CHECK((tcp.receiver.next() == 14) == (variant == OldTcpVariant::new_reno));
    CHECK(tcp.sender.timeouts() == 0);
    if (variant == OldTcpVariant::new_reno) continue;
    tcp.fire();
    flying = tcp.sent();
    for (int trips = 0; trips < 4; ++trips) flying = tcp.carry(flying);
    CHECK(tcp.receiver.next() == 14);
  }
}

TEST_CASE("after a timeout's time without data the window starts anew") {
  for (const DurationNs idle : {200 * kMillisecond, 1 * kSecond}) {
    Connection tcp;
    tcp.sender.write(20 * kOldSegmentBytes);
    tcp.open();
    Segments flying = tcp.sent();
    while (!flying.empty()) flying = tcp.carry(flying);
    tcp.now_ns += idle;
    tcp.sender.write(20 * kOldSegmentBytes);
    CHECK(tcp.sent().size() == (idle > 300 * kMillisecond ? 2 : 20));
  }
}

}  // namespace weir::packet_model
