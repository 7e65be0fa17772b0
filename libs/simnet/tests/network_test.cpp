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

// One end of a connection, as a process keeps it.
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

// Two processes, connected.
struct Rig {
  explicit Rig(std::uint64_t seed = 1, const WorldSettings& settings = {}) : world(seed, settings) {
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
    Rig rig(seed, settings);
    const std::string text = long_text(2000);
    rig.here.say(text);
    rig.run(20 * kSecond);
    CHECK(rig.here.connected);
    CHECK(rig.there.heard == text);
    CHECK(rig.here.drained > 0);
    CHECK(rig.here.stream->unsent_bytes() == 0);
    rig.there.say("answer");
    rig.run(kSecond);
    CHECK(rig.here.heard == "answer");
    rig.here.stream->close();
    rig.run(kSecond);
    CHECK(rig.there.closed == CloseReason::peer_closed);
    CHECK(!rig.here.closed);
  }
}

TEST_CASE("a reader that pauses, or stalls, holds its writer back at the window") {
  WorldSettings settings;
  settings.window_min = settings.window_max = 100;
  Rig rig(1, settings);
  rig.run(kSecond);
  rig.there.stream->pause_receiving(true);
  rig.here.say(long_text(500));
  rig.run(kSecond);
  CHECK(rig.there.heard.empty());
  CHECK(rig.here.stream->unsent_bytes() == 400);
  rig.there.stream->pause_receiving(false);
  rig.right.stall(rig.world.now_ns() + kSecond);
  rig.run(kSecond / 2);
  CHECK(rig.here.stream->unsent_bytes() == 400);
  rig.run(10 * kSecond);
  CHECK(rig.there.heard == long_text(500));
}

TEST_CASE("nobody listens, or a host refuses: the one who connects hears so") {
  Rig rig;
  Talker lost;
  lost.stream = rig.left.connect({"right", 81}, lost);
  Talker refused;
  rig.world.refuse(rig.right, kSecond);
  refused.stream = rig.left.connect({"right", 80}, refused);
  rig.run(kSecond);
  CHECK(lost.closed == CloseReason::refused);
  CHECK(refused.closed == CloseReason::refused);
}

TEST_CASE("a connection that breaks is heard of on both sides, at different times in most cases") {
  int apart = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Rig rig(seed);
    rig.run(kSecond);
    rig.world.break_connections(rig.left, rig.right);
    rig.here.say("into the void");
    rig.run(kSecond);
    CHECK(rig.here.closed == CloseReason::reset);
    CHECK(rig.there.closed == CloseReason::reset);
    CHECK(rig.there.heard.empty());
    apart += rig.here.closed_at_ns != rig.there.closed_at_ns ? 1 : 0;
  }
  CHECK(apart > 10);
}

TEST_CASE("silence of one direction delays it and leaves the other alone") {
  Rig rig;
  rig.run(kSecond);
  rig.world.silence(rig.left, rig.right, rig.world.now_ns() + 10 * kSecond);
  rig.here.say("late");
  rig.there.say("at once");
  rig.run(kSecond);
  CHECK(rig.there.heard.empty());
  CHECK(rig.here.heard == "at once");
  rig.run(10 * kSecond);
  CHECK(rig.there.heard == "late");
  CHECK(!rig.here.closed);
}

TEST_CASE("between two that are parted nothing passes, and it comes when they are not parted any more") {
  Rig rig;
  rig.run(kSecond);
  rig.world.partition(rig.right, rig.left, rig.world.now_ns() + 10 * kSecond);
  rig.here.say("there");
  rig.there.say("back");
  rig.run(9 * kSecond);
  CHECK(rig.there.heard.empty());
  CHECK(rig.here.heard.empty());
  rig.run(2 * kSecond);
  CHECK(rig.there.heard == "there");
  CHECK(rig.here.heard == "back");
  CHECK(!rig.here.closed);
}

TEST_CASE("a process that is killed calls nobody any more, and the far end hears a prefix and the end") {
  int whole = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Rig rig(seed);
    rig.run(kSecond);
    rig.here.say("first");
    rig.run(kMillisecond);
    rig.here.say("second");
    rig.left.wake();
    rig.run(10 * kMicrosecond);
    rig.left.crash(seed % 4 == 0 ? Death::machine : Death::process);
    rig.run(5 * kSecond);
    CHECK(!rig.here.closed);
    CHECK(rig.there.closed.has_value());
    CHECK(std::string("firstsecond").starts_with(rig.there.heard));
    whole += rig.there.heard == "firstsecond" ? 1 : 0;
  }
  CHECK(whole > 0);
  CHECK(whole < 40);
}

TEST_CASE("what is written to a process that is gone comes back as a reset") {
  Rig rig;
  rig.run(kSecond);
  rig.there.stream->close();
  rig.here.say("anybody?");
  rig.run(kSecond);
  CHECK(rig.here.closed.has_value());
}

TEST_CASE("the same seed gives the same trace, another one another") {
  const auto hash = [](std::uint64_t seed) {
    Rig rig(seed);
    rig.here.say(long_text(3000));
    rig.run(kSecond);
    rig.world.break_connections(rig.left, rig.right);
    rig.run(kSecond);
    return rig.world.trace().hash();
  };
  CHECK(hash(3) == hash(3));
  CHECK(hash(3) != hash(4));
}
