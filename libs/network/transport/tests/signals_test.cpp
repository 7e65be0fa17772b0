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

TEST_CASE("a signal that the process ignores stays ignored, and others have their old action afterwards") {
  struct sigaction before = {};
  REQUIRE(std::signal(SIGUSR1, SIG_IGN) != SIG_ERR);
  {
    SignalWatch first({SIGUSR1, SIGUSR2});
    {
      SignalWatch second({SIGUSR2});
      std::raise(SIGUSR1);
      std::raise(SIGUSR2);
      CHECK(second.received() == SIGUSR2);
    }
    std::raise(SIGUSR2);  // the first one is still there
    CHECK(first.received() == SIGUSR2);
    CHECK(is_ignored(SIGUSR1));
  }
  SignalWatch later({SIGUSR1});
  CHECK_FALSE(later.received());
  REQUIRE(::sigaction(SIGUSR2, nullptr, &before) == 0);
  CHECK(before.sa_handler == SIG_DFL);
  std::signal(SIGUSR1, SIG_DFL);
}
