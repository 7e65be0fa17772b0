#include "weir_catch.hpp"
#include <weir/transport/loop.hpp>
#include <weir/transport/signals.hpp>

#include <csignal>
#include <memory>

using namespace weir;
using namespace weir::transport;

TEST_CASE("a signal between two loops is noted, and one that a loop receives is noted as well") {
  SignalWatch watch({SIGTERM, SIGHUP});
  int seen = 0;
  {
    Loop loop{SocketPolicy{}};
    loop.on_signals({SIGTERM}, [&](int signal) { seen = signal; });
    loop.run_once([](TimeNs) {}, 0);
  }
  CHECK_FALSE(watch.received());
  std::raise(SIGTERM);  // no loop is here
  CHECK(watch.received() == SIGTERM);
  CHECK(seen == 0);
  Loop loop{SocketPolicy{}};
  loop.on_signals({SIGHUP}, [&](int signal) { seen = signal; });
  std::raise(SIGHUP);
  loop.run_once([](TimeNs) {}, 0);
  CHECK(seen == SIGHUP);
  CHECK(watch.received() == SIGHUP);
}
