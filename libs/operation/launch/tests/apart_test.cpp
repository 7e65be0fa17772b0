#include "temporary_folder.hpp"
#include "weir_catch.hpp"
#include <weir/launch/apart.hpp>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <poll.h>
#include <stdexcept>
#include <string>
#include <unistd.h>

namespace weir::launch {
namespace {

using Catch::Matchers::ContainsSubstring;
using test::TemporaryFolder;

constexpr DurationNs kLong = 60 * kSecond;

std::string error_of(const std::function<std::string()>& work, DurationNs limit = kLong) {
  const auto answer = run_apart(work, limit);
  REQUIRE_FALSE(answer);
  return answer.error();
}

TEST_CASE("the text of a child arrives whole") {
  const std::string text(300'000, 'x');
  CHECK(*run_apart([&] { return text; }, kLong) == text);
  CHECK(run_apart([] { return std::string(); }, kLong)->empty());
}

TEST_CASE("a child that ends or blocks gives an error, and this process continues") {
  CHECK(error_of([]() -> std::string { std::exit(0); }) == "ends its process with status 0");
  CHECK(error_of([]() -> std::string { std::_Exit(3); }) == "ends its process with status 3");
  CHECK_THAT(error_of([]() -> std::string { ::raise(SIGKILL), std::abort(); }),
             ContainsSubstring("signal 9"));
  CHECK(error_of([]() -> std::string { throw std::runtime_error("no"); }) ==
        "ends its process with status 1");
  CHECK_THAT(error_of(
                 [] {
                   for (;;) ::pause();
                   return std::string();
                 },
                 kSecond / 5),
             ContainsSubstring("does not answer within 0.2 s"));
}

TEST_CASE("the processes that a child started end with it, also those of another session") {
  const TemporaryFolder folder;
  const std::string file = folder / "pids";
  const std::string script = "sleep 600 & echo $! > " + file + "; setsid sh -c 'echo $$ >> " + file +
                             "; exec sleep 600' & sleep 0.3";
  const auto answer = run_apart([&] { return std::to_string(std::system(script.c_str())); }, kLong);
  REQUIRE(answer);
  CHECK(*answer == "0");
  std::ifstream pids(file);
  int found = 0;
  for (pid_t pid = 0; pids >> pid; ++found) {
    for (int i = 0; i < 1000 && ::kill(pid, 0) == 0; ++i) ::poll(nullptr, 0, 10);
    CHECK(::kill(pid, 0) != 0);
  }
  CHECK(found == 2);
}

}  // namespace
}  // namespace weir::launch
