// Tests of open descriptors, and of which processes inherit them.
#include "controlled_farm.hpp"
#include "weir_catch.hpp"

#include <chrono>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <set>
#include <unistd.h>

using namespace weir::system_test;

namespace {

namespace fs = std::filesystem;

// Descriptors beyond the first three that a child would inherit, except those that the process inherited from
// this test.
std::vector<std::string> inheritable(pid_t pid) {
  std::set<std::string> own;
  std::error_code gone;
  for (const auto& one : fs::directory_iterator("/proc/self/fd"))
    own.insert(fs::read_symlink(one.path(), gone).string());
  const fs::path process = "/proc/" + std::to_string(pid);
  std::vector<std::string> found;
  std::size_t looked_at = 0;
  for (const auto& one : fs::directory_iterator(process / "fdinfo")) {
    const std::string number = one.path().filename().string();
    const std::string what = fs::read_symlink(process / "fd" / number, gone).string();
    std::ifstream info(one.path());
    for (std::string line; std::getline(info, line);) {
      if (!line.starts_with("flags:")) continue;
      ++looked_at;
      const unsigned long flags = std::stoul(line.substr(line.find_first_of("01234567")), nullptr, 8);
      if ((flags & O_CLOEXEC) == 0 && std::stoi(number) > STDERR_FILENO && !own.contains(what))
        found.push_back(number + " " + what);
    }
  }
  if (looked_at < 10) found.push_back("only " + std::to_string(looked_at) + " descriptors were looked at");
  return found;
}

constexpr Seconds kBeforeTheCommandEnds(20);  // it takes 60

const std::vector<std::string> kNodes = {"supervisor", "writer-0", "readout-0",
                                         "readout-1",  "dcm-0",    "dcm-1"};

}  // namespace

TEST_CASE("children of a run's processes inherit none of their descriptors") {
  const TemporaryFolder folder;
  // Everything that opens something: metrics, the page, a trigger's listener, front-ends, recorded tracks, a
  // journal.
  ControlledFarm farm(folder,
                      "trigger: {mode: rate, rate_hz: 200}\n"
                      "readout: {count: 2}\ndcm: {count: 2}\n"
                      "source: {kind: hits}\n"
                      "metrics: {listen: '127.0.0.1:0'}\n",
                      kNodes, ", page: '127.0.0.1:0'");
  farm.begin_run();
  REQUIRE(wait_until([&] { return farm.state_of("dcm-1") == "running"; }, Seconds(20)));
  for (const std::string& name : kNodes) {
    INFO(name << "\n" << farm.logs());
    CHECK(inheritable(farm.node(name).pid()).empty());
  }
  CHECK(inheritable(farm.run_control().pid()) == std::vector<std::string>{});
  farm.stop_good();
}

TEST_CASE("a writer that dies is replaced immediately, even while a command for a closed file runs") {
  const TemporaryFolder folder;
  const std::string mark = folder / "began";
  ControlledFarm farm(folder,
                      "trigger: {mode: rate, rate_hz: 500}\n"
                      "readout: {count: 2}\ndcm: {count: 2}\n"
                      "writer: {file_bytes_max: 200000, on_close: 'touch " +
                          mark + "; sleep 60; :'}\n",
                      kNodes);
  farm.begin_run();
  REQUIRE(wait_until([&] { return fs::exists(mark); }, Seconds(20)));

  const auto killed = std::chrono::steady_clock::now();
  farm.kill_node("writer-0");
  farm.start_node("writer-0");
  INFO(farm.logs());
  CHECK(wait_until([&] { return farm.state_of("writer-0") == "running"; }, kBeforeTheCommandEnds));
  const auto stored_again = [&] {
    const auto log = farm.node("writer-0").err();
    return log.find("file closed") != std::string::npos;
  };
  CHECK(wait_until(stored_again, kBeforeTheCommandEnds));
  INFO("after " << Seconds(std::chrono::steady_clock::now() - killed).count() << " s");
  farm.stop_with_faults("writer-0");
  CHECK(farm.record(1).at("ledger_balanced").as_bool());
}
