#include "weir_catch.hpp"
#include <weir/simnet/world.hpp>

#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

using namespace weir;
using ports::CloseReason;
using simnet::Death;
using simnet::Host;
using simnet::World;
using simnet::WorldSettings;

namespace {

// One end of a connection, as a process uses it.
class Talker final : public ports::StreamHandler, public ports::Acceptor {
 public:
  void on_connected() override { connected = true; }
  ports::ReceiveSpace receive_space() override {
    return {Bytes(room_.data(), 3), Bytes(room_.data() + 3, 4)};
  }
  bool on_received(std::size_t bytes) override {
    for (std::size_t i = 0; i < bytes; ++i) heard += static_cast<char>(room_[i]);
    return true;
  }
  void on_drained() override { ++drained; }
  void on_closed(CloseReason reason) override {
    closed = reason;
    closed_at_ns = clock ? clock() : 0;
  }
  ports::StreamHandler* on_accept(std::unique_ptr<ports::Stream> accepted) override {
    stream = std::move(accepted);
    return this;
  }
  void say(const std::string& text) {
    stream->append(ConstBytes(reinterpret_cast<const std::byte*>(text.data()), text.size()));
  }

  std::unique_ptr<ports::Stream> stream;
  std::string heard;
  bool connected = false;
  int drained = 0;
  std::optional<CloseReason> closed;
  TimeNs closed_at_ns = 0;
  std::function<TimeNs()> clock;

 private:
  std::vector<std::byte> room_ = std::vector<std::byte>(7);
};

constexpr TimeNs kNever = std::numeric_limits<TimeNs>::max();

// Two connected processes.
struct Connected {
  explicit Connected(std::uint64_t seed = 1, const WorldSettings& settings = {}) : world(seed, settings) {
    for (Host* host : {&left, &right}) {
      host->boot([](TimeNs) {}, [] { return kNever; });
    }
    listener = std::move(*right.listen({"right", 80}, there));
    here.clock = there.clock = [this] { return world.now_ns(); };
    here.stream = left.connect({"right", 80}, here);
  }
  void run(DurationNs duration_ns) {
    const TimeNs until = world.now_ns() + duration_ns;
    while (world.timeline().step(until)) {
    }
  }

  World world;
  Host& left = world.add_host("left");
  Host& right = world.add_host("right");
  Talker here;
  Talker there;
  std::unique_ptr<ports::Listener> listener;
};

std::string long_text(std::size_t size) {
  std::string text;
  for (std::size_t i = 0; i < size; ++i) text += static_cast<char>('a' + i % 26);
  return text;
}

}  // namespace

TEST_CASE("bytes arrive whole and in order, however they are cut on the way") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    WorldSettings settings;
    settings.window_min = settings.window_max = 100;
    settings.cut_permille = 500;
    settings.tail_permille = 300;
    Connected fixture(seed, settings);
    const std::string text = long_text(2000);
    fixture.here.say(text);
    fixture.run(20 * kSecond);
    CHECK(fixture.here.connected);
    CHECK(fixture.there.heard == text);
    CHECK(fixture.here.drained > 0);
    CHECK(fixture.here.stream->unsent_bytes() == 0);
    fixture.there.say("answer");
    fixture.run(kSecond);
    CHECK(fixture.here.heard == "answer");
    fixture.here.stream->close();
    fixture.run(kSecond);
    CHECK(fixture.there.closed == CloseReason::peer_closed);
    CHECK(!fixture.here.closed);
  }
}

TEST_CASE("a reader that pauses, or stalls, holds its writer back at the window") {
  WorldSettings settings;
  settings.window_min = settings.window_max = 100;
  Connected fixture(1, settings);
  fixture.run(kSecond);
  fixture.there.stream->pause_receiving(true);
  fixture.here.say(long_text(500));
  fixture.run(kSecond);
  CHECK(fixture.there.heard.empty());
  CHECK(fixture.here.stream->unsent_bytes() == 400);
  fixture.there.stream->pause_receiving(false);
  fixture.right.stall(fixture.world.now_ns() + kSecond);
  fixture.run(kSecond / 2);
  CHECK(fixture.here.stream->unsent_bytes() == 400);
  fixture.run(10 * kSecond);
  CHECK(fixture.there.heard == long_text(500));
}

TEST_CASE("connecting fails with a reason if no process listens or a host refuses") {
  Connected fixture;
  Talker lost;
  lost.stream = fixture.left.connect({"right", 81}, lost);
  Talker refused;
  fixture.world.refuse(fixture.right, kSecond);
  refused.stream = fixture.left.connect({"right", 80}, refused);
  fixture.run(kSecond);
  CHECK(lost.closed == CloseReason::refused);
  CHECK(refused.closed == CloseReason::refused);
}

TEST_CASE("a broken connection is noticed on both sides, usually at different times") {
  int apart = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Connected fixture(seed);
    fixture.run(kSecond);
    fixture.world.break_connections(fixture.left, fixture.right);
    fixture.here.say("into the void");
    fixture.run(kSecond);
    CHECK(fixture.here.closed == CloseReason::reset);
    CHECK(fixture.there.closed == CloseReason::reset);
    CHECK(fixture.there.heard.empty());
    apart += fixture.here.closed_at_ns != fixture.there.closed_at_ns ? 1 : 0;
  }
  CHECK(apart > 10);
}

TEST_CASE("silence of one direction delays it and leaves the other alone") {
  Connected fixture;
  fixture.run(kSecond);
  fixture.world.silence(fixture.left, fixture.right, fixture.world.now_ns() + 10 * kSecond);
  fixture.here.say("late");
  fixture.there.say("at once");
  fixture.run(kSecond);
  CHECK(fixture.there.heard.empty());
  CHECK(fixture.here.heard == "at once");
  fixture.run(10 * kSecond);
  CHECK(fixture.there.heard == "late");
  CHECK(!fixture.here.closed);
}

TEST_CASE("between two parted hosts nothing passes until they are connected again") {
  Connected fixture;
  fixture.run(kSecond);
  fixture.world.partition(fixture.right, fixture.left, fixture.world.now_ns() + 10 * kSecond);
  fixture.here.say("there");
  fixture.there.say("back");
  fixture.run(9 * kSecond);
  CHECK(fixture.there.heard.empty());
  CHECK(fixture.here.heard.empty());
  fixture.run(2 * kSecond);
  CHECK(fixture.there.heard == "there");
  CHECK(fixture.here.heard == "back");
  CHECK(!fixture.here.closed);
}

TEST_CASE("a killed process calls no handler, and its peer receives a prefix and the end") {
  int whole = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Connected fixture(seed);
    fixture.run(kSecond);
    fixture.here.say("first");
    fixture.run(kMillisecond);
    fixture.here.say("second");
    fixture.left.wake();
    fixture.run(10 * kMicrosecond);
    fixture.left.crash(seed % 4 == 0 ? Death::machine : Death::process);
    fixture.run(5 * kSecond);
    CHECK(!fixture.here.closed);
    CHECK(fixture.there.closed.has_value());
    CHECK(std::string("firstsecond").starts_with(fixture.there.heard));
    whole += fixture.there.heard == "firstsecond" ? 1 : 0;
  }
  CHECK(whole > 0);
  CHECK(whole < 40);
}

TEST_CASE("data written to a dead process cause a reset") {
  Connected fixture;
  fixture.run(kSecond);
  fixture.there.stream->close();
  fixture.here.say("anybody?");
  fixture.run(kSecond);
  CHECK(fixture.here.closed.has_value());
}

TEST_CASE("the same seed gives the same trace, another one another") {
  const auto hash = [](std::uint64_t seed) {
    Connected fixture(seed);
    fixture.here.say(long_text(3000));
    fixture.run(kSecond);
    fixture.world.break_connections(fixture.left, fixture.right);
    fixture.run(kSecond);
    return fixture.world.trace().hash();
  };
  CHECK(hash(3) == hash(3));
  CHECK(hash(3) != hash(4));
}
