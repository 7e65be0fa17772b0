// Files that leave the DAQ host by writer.on_close and rsync (docs/analysis.md), while transfers and writers
// are killed at random (WEIR_SOAK_SYNC, 6 kills; WEIR_SOAK_SEED).
#include "controlled_farm.hpp"
#include "farm_run.hpp"
#include "skip.hpp"
#include "soak.hpp"
#include "stored_run.hpp"
#include "weir_catch.hpp"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

using namespace weir::system_test;

namespace {

constexpr Seconds kPatience{90};

const std::vector<std::string> kNodes = {"supervisor", "writer-0",  "dcm-0",
                                         "dcm-1",      "readout-0", "readout-1"};

bool has_rsync() {
  if (std::system("rsync --version > /dev/null 2>&1") == 0) return true;
  weir::skip_test("no rsync here");
  return false;
}

// The script of docs/analysis.md, slow enough to be killed.
std::string copy_out(const TemporaryFolder& folder) {
  const std::string path = folder.write(
      "copy-out", "#!/bin/sh\nexec rsync --archive --partial-dir=.partial --bwlimit=20000 \"$1\" \"" +
                      (folder / "archive") + "/\"\n");
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  std::filesystem::create_directory(folder / "archive");
  return path;
}

std::string farm_with(const std::string& on_close) {
  return "farm: copied\n"
         "trigger: {mode: rate, rate_hz: 300}\n"
         "source: {kind: dummy, size_bytes: 4000}\n"
         "supervisor: {lease_ms: 60000}\n"
         "readout: {count: 2, sources_per_readout: 2}\n"
         "dcm: {count: 2, deadline_ms: 20000, grace_ms: 20000}\n"
         "filter: {plugin: accept-all}\n"
         "writer: {count: 1, file_bytes_max: 2000000, on_close: '" +
         on_close + "'}\n";
}

std::vector<std::string> closed_files(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("run-") && name.ends_with(".weir")) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

// The transfers into this archive: rsync and its own children.
std::vector<RunningProcess> transfers(const std::string& archive) {
  std::vector<RunningProcess> found = processes_naming(archive);
  std::erase_if(found, [](const RunningProcess& one) { return one.arguments.front() != "rsync"; });
  return found;
}

class Archive {
 public:
  Archive(std::string from, std::string to) : from_(std::move(from)), to_(std::move(to)) {}
  // Every file under its own name is whole.
  void check() {
    for (const std::string& name : closed_files(to_)) {
      if (!whole_.insert(name).second) continue;
      CAPTURE(name);
      CHECK((read_file(to_ + "/" + name) == read_file(from_ + "/" + name)));
    }
  }
  [[nodiscard]] std::size_t files() const { return whole_.size(); }

 private:
  std::string from_;
  std::string to_;
  std::set<std::string> whole_;
};

}  // namespace

TEST_CASE(
    "kill -9 at random moments of copying files away leaves no part that looks whole, and loses nothing") {
  if (!has_rsync()) return;
  const int kills = from_environment("WEIR_SOAK_SYNC", 6);
  Random random(from_environment("WEIR_SOAK_SEED", 1));
  const TemporaryFolder folder;
  const std::string script = copy_out(folder);
  const std::string to = folder / "archive";
  ControlledFarm farm(folder, farm_with(script), kNodes);
  farm.begin_run();
  Archive archive(farm.out(), to);
  int transfers_killed = 0;
  int writers_killed = 0;
  while (transfers_killed + writers_killed < kills) {
    (void)wait_until([] { return false; }, random.between(0.05, 0.6));
    if (random.below(10) < 3) {
      farm.kill_node("writer-0");
      farm.start_node("writer-0");
      ++writers_killed;
    } else {
      std::vector<RunningProcess> running;
      REQUIRE(wait_until([&] { return !(running = transfers(to)).empty(); }, kPatience));
      if (::kill(random.one_of(running).pid, SIGKILL) == 0) ++transfers_killed;
    }
    archive.check();
  }
  if (writers_killed > 0)
    farm.stop_with_faults("writer-0 was lost");
  else
    farm.stop_good();
  REQUIRE(wait_until([&] { return transfers(to).empty(); }, kPatience));
  archive.check();

  const Summary summary(farm.record(1));
  INFO(summary.imbalance());
  CHECK(summary.balanced());
  const StoredRun run(farm.out());
  CHECK(run.ids().size() == summary.count("triggered"));
  CHECK(check_dummy_data(run).wrong.empty());
  // The command again, for killed transfers, as docs/analysis.md says.
  const std::vector<std::string> files = closed_files(farm.out());
  for (const std::string& name : files)
    REQUIRE(std::system((script + " " + farm.out() + "/" + name).c_str()) == 0);
  archive.check();
  CHECK(archive.files() == files.size());
  CHECK((closed_files(to) == files));
  CHECK(files.size() > 2);
  CHECK(transfers_killed > 0);
}
