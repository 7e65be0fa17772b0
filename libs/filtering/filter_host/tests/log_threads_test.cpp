// A filter's log, from its own threads at any time.
#include "test_slice.hpp"
#include "weir_catch.hpp"
#include <weir/filter_host/control_channel.hpp>
#include <weir/filter_host/instance.hpp>

#include <array>
#include <map>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace weir;
using namespace weir::filter_host;
using namespace weir::filter_host::test;

TEST_CASE("lines that several threads of a filter log are each written or counted") {
  constexpr std::uint64_t kLogged = 5 * 10000;
  FilterMetrics metrics;
  std::vector<std::string> lines;  // guarded by the instance
  FilterConfig config =
      config_of(Parameters{{"do", "log_threads"}, {"number", "10000"}}, StreamTable({"muons"}));
  config.limits.log_lines_max = 20000;
  config.log = [&lines](int, std::string_view line) { lines.emplace_back(line); };
  const auto made = FilterInstance::create(load("scripted", WEIR_TEST_PLUGIN_DIR), config, metrics);
  REQUIRE(made);
  FilterResult result;
  TestSlice slice;
  (*made)->process(slice.view(), result);
  CHECK(result.verdict == StepVerdict::accept);
  CHECK(lines == std::vector<std::string>(20000, "line"));
  CHECK(metrics.snapshot().counters.at("filter_log_dropped") == kLogged - lines.size());
}

TEST_CASE("messages that several threads send over a worker's connection arrive whole") {
  constexpr int kEach = 100;
  constexpr std::size_t kLine = 20000;  // the socket is full at times
  std::array<int, 2> ends{};
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
  ControlChannel worker(ends[0]);
  ControlChannel dcm(ends[1]);
  const auto send = [&worker](int thread) {
    v1::WorkerMessage message;
    message.mutable_log()->set_level(thread);
    for (int i = 0; i < kEach; ++i) {
      message.mutable_log()->set_line(std::to_string(i) + std::string(kLine, 'x'));
      worker.send(message);
    }
    worker.flush_all();
  };
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) threads.emplace_back(send, thread);
  std::map<int, int> arrived;
  bool in_order = true;
  for (int left = 4 * kEach; left > 0 && !dcm.ended();) {
    v1::WorkerMessage message;
    if (!dcm.receive(message)) continue;
    --left;
    in_order = in_order && std::stoi(message.log().line()) == arrived[message.log().level()]++;
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(in_order);
  CHECK(arrived == std::map<int, int>{{0, kEach}, {1, kEach}, {2, kEach}, {3, kEach}});
  CHECK_FALSE(dcm.ended());
  for (const int end : ends) ::close(end);
}
