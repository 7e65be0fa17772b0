// Runs without their data disk.
#include "kept_farm.hpp"
#include "small_disk.hpp"
#include "weir_catch.hpp"

#include <boost/json/serialize.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace {

using namespace weir;
using namespace weir::system_test;
using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;

// A farm with run.out on a disk at data/, and control.out beside it.
struct Farm {
  Farm() : disk(folder / "disk", 64), data(folder / "data") {
    fs::create_directory(data);
    if (disk.mounted()) disk.show_at(data);
  }
  ~Farm() {
    if (disk.mounted()) ::umount2(data.c_str(), MNT_DETACH);
  }
  [[nodiscard]] std::vector<std::string> settings() const {
    return {"run.out=" + data + "/out", "control.out=" + (folder / "control"), "trigger.rate_hz=100",
            "writer.sync_interval_ms=100"};
  }
  [[nodiscard]] static std::string headline(const KeptFarm& kept) {
    return boost::json::serialize(kept.status().at("health").at(0));
  }
  [[nodiscard]] static bool leads(const KeptFarm& kept, const std::string& text) {
    return wait_until([&] { return headline(kept).find(text) != std::string::npos; }, Seconds(30));
  }

  TemporaryFolder folder;
  test::SmallDisk disk;
  std::string data;
};

std::size_t run_files(const std::string& folder) {
  std::size_t count = 0;
  if (!fs::exists(folder)) return 0;
  for (const auto& one : fs::directory_iterator(folder))
    count += one.path().string().find(".weir") == std::string::npos ? 0 : 1;
  return count;
}

}  // namespace

TEST_CASE("a data disk unmounted in a run leads the health list; nothing lands below it, and it resumes") {
  const Farm farm;
  if (!farm.disk.mounted()) return;
  const KeptFarm kept(farm.folder, farm.settings());
  for (const char* word : {"init", "configure", "start"}) kept.must({word});
  REQUIRE(wait_until([&] { return run_files(farm.data + "/out") > 0; }, Seconds(30)));
  test::SmallDisk::hide_at(farm.data);
  fs::create_directory(farm.data + "/out");  // as a log file of a restarted process would
  REQUIRE(farm.leads(kept, "disk missing"));
  CHECK_THAT(farm.headline(kept),
             ContainsSubstring("mount " + farm.data + " again: the writers resume by themselves"));
  REQUIRE(wait_until(
      [&] {
        return boost::json::serialize(kept.status()).find("blocked: WRITER_DISK_GONE") != std::string::npos;
      },
      Seconds(30)));
  CHECK(run_files(farm.data + "/out") == 0);
  farm.disk.show_at(farm.data);
  REQUIRE(farm.leads(kept, "\"running\""));
  const CommandEnd stop = kept.ctl({"stop"});
  CHECK_THAT(stop.out + stop.err,
             ContainsSubstring("0 discarded; the ledger balances") &&
                 ContainsSubstring("first: the disk of run.out was unmounted in the run"));
  CHECK(run_files(farm.data + "/out") == 1);
  kept.must({"off"});
}

TEST_CASE("a start without the data disk of an earlier run is refused, until it is mounted or accepted") {
  const Farm farm;
  if (!farm.disk.mounted()) return;
  KeptFarm kept(farm.folder, farm.settings());
  for (const char* word : {"init", "configure", "start", "stop", "off"}) kept.must({word});
  CHECK(kept.process().wait(Seconds(30)) == 0);
  test::SmallDisk::hide_at(farm.data);
  kept.start();  // its memory is in control.out
  for (const char* word : {"init", "configure"}) kept.must({word});
  REQUIRE(farm.leads(kept, "disk missing"));
  const CommandEnd refused = kept.ctl({"start"});
  CHECK(refused.status == 1);
  CHECK_THAT(refused.err, ContainsSubstring("run.out '" + farm.data + "/out' was on " + farm.data) &&
                              ContainsSubstring("in run 1") && ContainsSubstring("--accept-disks"));
  CHECK(run_files(farm.data + "/out") == 0);
  std::vector<std::string> check{"check", config_file("event-building.yaml")};
  for (const std::string& one : sets(farm.settings())) check.push_back(one);
  CHECK_THAT(run_command(farm.folder, "weir", check).err, ContainsSubstring("was on " + farm.data));
  farm.disk.show_at(farm.data);
  REQUIRE(farm.leads(kept, "ready"));
  for (const char* word : {"start", "stop"}) kept.must({word});
  CHECK(run_files(farm.data + "/out") == 2);
  test::SmallDisk::hide_at(farm.data);
  REQUIRE(farm.leads(kept, "disk missing"));
  kept.must({"start", "--accept-disks"});
  kept.must({"stop"});
  kept.must({"start"});
  kept.must({"stop"});
  CHECK(run_files(farm.data + "/out") == 2);
  kept.must({"off"});
}
