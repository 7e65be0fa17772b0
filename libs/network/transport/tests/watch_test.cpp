#include "weir_catch.hpp"
#include <weir/transport/loop.hpp>

#include <fcntl.h>
#include <unistd.h>

using namespace weir;

namespace {

struct Pipe {
  Pipe() { REQUIRE(::pipe2(ends, O_NONBLOCK | O_CLOEXEC) == 0); }
  ~Pipe() {
    ::close(ends[0]);
    ::close(ends[1]);
  }
  void put() const { REQUIRE(::write(ends[1], "x", 1) == 1); }
  void take() const {
    char byte = 0;
    REQUIRE(::read(ends[0], &byte, 1) == 1);
  }
  int ends[2] = {-1, -1};
};

void turn(transport::Loop& loop) {
  for (int i = 0; i < 3; ++i) loop.run_once([](TimeNs) {}, kMillisecond);
}

}  // namespace

TEST_CASE("a watch fires once for each time it is armed, while there is data to read") {
  transport::Loop loop({});
  const Pipe pipe;
  int told = 0;
  const auto watch = loop.watch(pipe.ends[0], [&] { ++told; });
  REQUIRE(watch);
  watch->arm();
  turn(loop);
  CHECK(told == 0);
  pipe.put();
  turn(loop);
  CHECK(told == 1);
  turn(loop);
  CHECK(told == 1);  // not armed
  watch->arm();
  turn(loop);
  CHECK(told == 2);  // still readable
  pipe.take();
  watch->arm();
  turn(loop);
  CHECK(told == 2);
  pipe.put();
  turn(loop);
  CHECK(told == 3);
}

TEST_CASE("a destroyed watch does not fire and leaves the descriptor open") {
  transport::Loop loop({});
  const Pipe pipe;
  int told = 0;
  {
    const auto watch = loop.watch(pipe.ends[0], [&] { ++told; });
    watch->arm();
  }
  pipe.put();
  turn(loop);
  CHECK(told == 0);
  pipe.take();
}
