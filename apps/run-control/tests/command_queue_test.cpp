#include "../src/command_queue.hpp"

#include "weir_catch.hpp"

#include <chrono>
#include <future>
#include <poll.h>
#include <string>
#include <vector>

using namespace weir;
using namespace weir::run_control;
using Catch::ContainsSubstring;

namespace {

v1::Request wish_of(const std::string& command) {
  v1::Request request;
  request.set_command(command);
  return request;
}

}  // namespace

TEST_CASE("an abandoned request is not carried out later") {
  CommandQueue wishes(std::chrono::milliseconds(1));
  CHECK_THAT(wishes.ask(wish_of("start")), ContainsSubstring("does not answer"));
  std::vector<std::string> done;
  wishes.answer([&](const v1::Request& request) {
    done.push_back(request.command());
    return std::string();
  });
  CHECK(done.empty());
}

TEST_CASE("a wish that is being carried out when patience ends is waited for") {
  const std::chrono::milliseconds patience(1000);
  CommandQueue wishes(patience);
  auto asked = std::async(std::launch::async, [&] { return wishes.ask(wish_of("start")); });
  bool taken = false;
  while (!taken && asked.wait_for(std::chrono::milliseconds(1)) == std::future_status::timeout) {
    wishes.answer([&](const v1::Request&) {
      taken = true;
      CHECK(asked.wait_for(patience * 3 / 2) == std::future_status::timeout);
      return std::string("the farm is idle");
    });
  }
  CHECK(asked.get() == "the farm is idle");
}

TEST_CASE("a request makes the descriptor readable until it is answered") {
  CommandQueue wishes(std::chrono::milliseconds(20'000));
  const auto is_readable = [&](int patience_ms) {
    pollfd one{wishes.descriptor(), POLLIN, 0};
    return ::poll(&one, 1, patience_ms) == 1;
  };
  CHECK_FALSE(is_readable(0));
  auto asked = std::async(std::launch::async, [&] { return wishes.ask(wish_of("start")); });
  CHECK(is_readable(20'000));
  wishes.answer([](const v1::Request&) { return std::string("the farm is idle"); });
  CHECK(asked.get() == "the farm is idle");
  CHECK_FALSE(is_readable(0));
}

TEST_CASE("a request is answered with its result") {
  CommandQueue wishes(std::chrono::minutes(1));
  for (const std::string error : {"", "no run is active"}) {
    auto asked = std::async(std::launch::async, [&] { return wishes.ask(wish_of("stop")); });
    std::string command;
    while (asked.wait_for(std::chrono::milliseconds(1)) == std::future_status::timeout) {
      wishes.answer([&](const v1::Request& request) {
        command = request.command();
        return error;
      });
    }
    CHECK(command == "stop");
    CHECK(asked.get() == error);
  }
}
