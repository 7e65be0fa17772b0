#include "weir_catch.hpp"
#include <weir/bus/client.hpp>
#include <weir/run_control/run_control.hpp>

#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>

using namespace weir;
using namespace weir::run_control;

namespace {

constexpr int kTurns = 500;
constexpr DurationNs kTurn = 10 * kMillisecond;

struct Folder {
  Folder() { std::filesystem::create_directories(path); }
  ~Folder() { std::filesystem::remove_all(path); }
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("weir-run-over-" + std::to_string(::getpid()));
};

std::string farm_in(const Folder& folder) {
  const std::string file = (folder.path / "farm.yaml").string();
  std::ofstream(file) << "farm: told-twice\nrun: {out: '" << folder.path.string() << "'}\n";
  return file;
}

v1::BusMessage run_over() {
  v1::BusMessage message;
  v1::RunOver& over = *message.mutable_run_over();
  over.set_run(4);
  over.mutable_summary()->set_run(4);
  over.mutable_summary()->set_balanced(true);
  over.mutable_summary()->set_begin_utc_ns(1'700'000'000'000'000'000);
  return message;
}

v1::BusMessage join() {
  v1::BusMessage message;
  message.mutable_join()->set_farm("told-twice");
  message.mutable_join()->set_name("supervisor");
  message.mutable_join()->set_incarnation(9);
  message.mutable_join()->mutable_state()->set_state("ready");
  return message;
}

// A supervisor process that reports its run's end until it is acknowledged.
void tell(const std::string& farm_file, int times) {
  RunControl control({farm_file, {}, "127.0.0.1:0", {}});
  bus::Client supervisor({"127.0.0.1", control.hub().port(), {}}, {});
  supervisor.send(join());
  for (int i = 0; i < times; ++i) supervisor.send(run_over());
  int taken = 0;
  for (int i = 0; i < kTurns && taken < times; ++i) {
    control.turn(kTurn);
    for (const v1::BusMessage& message : supervisor.take()) taken += message.has_run_taken() ? 1 : 0;
  }
  REQUIRE(taken == times);
}

std::size_t lines_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::size_t lines = 0;
  for (std::string line; std::getline(file, line);) ++lines;
  return lines;
}

}  // namespace

TEST_CASE("a repeated end of a run, also after a restart of run control, counts once") {
  const Folder folder;
  const std::string farm = farm_in(folder);
  tell(farm, 2);
  REQUIRE(lines_of(folder.path / "runs.jsonl") == 1);
  tell(farm, 1);
  CHECK(lines_of(folder.path / "runs.jsonl") == 1);
}
