#include "farm_run.hpp"
#include "skip.hpp"
#include "stored_run.hpp"
#include "weir_catch.hpp"
#include "wire_client.hpp"

#include <fcntl.h>
#include <filesystem>
#include <sys/mount.h>
#include <unistd.h>

namespace {

using namespace weir;
using namespace weir::system_test;

std::string event_building() { return config_file("event-building.yaml"); }

std::string plugin(const std::string& name) {
  return std::string(WEIR_SYSTEM_PLUGIN_DIR) + "/" + name + ".so";
}

// Ended with status 1 and a sentence, without a process left.
void check_named_end(const TemporaryFolder& folder, const FarmEnd& end, const std::string& sentence) {
  INFO(describe(end));
  CHECK(end.status == 1);
  CHECK_THAT(end.err, Catch::ContainsSubstring(sentence));
  CHECK(processes_naming(folder.path().string()).empty());
}

// Refused before a process of the farm has started.
void check_refused(const TemporaryFolder& folder, const FarmEnd& end, const std::string& sentence) {
  INFO(describe(end));
  CHECK(end.status == 2);
  CHECK_THAT(end.err, Catch::ContainsSubstring(sentence));
  CHECK(end.logs.empty());
  CHECK(!std::filesystem::exists(folder / "out"));
  CHECK(processes_naming(folder.path().string()).empty());
}

}  // namespace

TEST_CASE("an unknown key is named with file, line and the nearest valid key, and nothing starts") {
  const TemporaryFolder folder;
  const std::string farm = folder.write("farm.yaml", "farm: typo\n\ndcm:\n  count: 2\n  credit: 8\n");
  const FarmEnd end = run_farm(folder, farm, {"--slices", "10"});
  CHECK(end.status == 2);
  CHECK_THAT(end.err, Catch::ContainsSubstring(farm + ":5") && Catch::ContainsSubstring("dcm.credit") &&
                          Catch::ContainsSubstring("credits"));
  CHECK(!std::filesystem::exists(folder / "out"));
}

TEST_CASE("an unknown command is rejected with a list of the known ones") {
  const TemporaryFolder folder;
  const CommandEnd end = run_command(folder, "weir", {"xyzzy"});
  CHECK(end.status == 2);
  CHECK_THAT(end.err, Catch::ContainsSubstring("'xyzzy'") && Catch::ContainsSubstring("run, check"));
  const CommandEnd nearly = run_command(folder, "weir", {"rum"});
  CHECK(nearly.status == 2);
  CHECK_THAT(nearly.err, Catch::ContainsSubstring("'rum'") && Catch::ContainsSubstring("did you mean 'run'"));
  CHECK(run_command(folder, "weir", {"help"}).status == 0);
}

TEST_CASE("an unknown key on the command line is named with the nearest valid key") {
  const TemporaryFolder folder;
  const FarmEnd end = run_farm(folder, event_building(), {"--set", "writer.sync_byte=5"});
  CHECK(end.status == 2);
  CHECK_THAT(end.err, Catch::ContainsSubstring("--set") && Catch::ContainsSubstring("writer.sync_byte") &&
                          Catch::ContainsSubstring("sync_bytes"));
}

TEST_CASE("a value out of range is named with its range") {
  const TemporaryFolder folder;
  const FarmEnd end = run_farm(folder, event_building(), {"--set", "dcm.count=0"});
  CHECK(end.status == 2);
  CHECK_THAT(end.err, Catch::ContainsSubstring("dcm.count"));
}

TEST_CASE("a farm file that is not there is named") {
  const TemporaryFolder folder;
  const FarmEnd end = run_farm(folder, folder / "nowhere.yaml", {});
  CHECK(end.status == 2);
  CHECK_THAT(end.err, Catch::ContainsSubstring("nowhere.yaml"));
}

TEST_CASE("a port already in use is named and the run ends") {
  const TemporaryFolder folder;
  const TakenPort taken;
  const std::string at = "127.0.0.1:" + std::to_string(taken.port());
  const char* key = GENERATE("supervisor.listen", "writer.listen");
  CAPTURE(key);
  const FarmEnd end =
      run_farm(folder, event_building(), {"--slices", "10", "--set", std::string(key) + "=" + at});
  check_named_end(folder, end, at);
  CHECK_THAT(end.err, Catch::ContainsSubstring("in use"));
}

TEST_CASE("a plugin that is not there is named with the folders that were searched") {
  const TemporaryFolder folder;
  const FarmEnd end =
      run_farm(folder, event_building(), {"--slices", "10", "--set", "filter.plugin=crystal-ball"});
  check_refused(folder, end, "crystal-ball");
  CHECK_THAT(end.err, Catch::ContainsSubstring(WEIR_PLUGIN_DIR));
}

TEST_CASE("a plugin of another ABI is refused by name with both versions") {
  const TemporaryFolder folder;
  const FarmEnd end =
      run_farm(folder, event_building(), {"--slices", "10", "--set", "filter.plugin=" + plugin("wrong-abi")});
  check_refused(folder, end, "wrong-abi");
  CHECK_THAT(end.err, Catch::ContainsSubstring("ABI") && Catch::ContainsSubstring("2"));
}

TEST_CASE("a parameter unknown to the plugin is named") {
  const TemporaryFolder folder;
  const FarmEnd end =
      run_farm(folder, event_building(), {"--slices", "10", "--set", "filter.parameters.colour=red"});
  check_refused(folder, end, "filter.parameters.colour: filter 'accept-all': unknown parameter 'colour'");
}

TEST_CASE("a wrong parameter of a group's filter is refused before anything starts, with its line") {
  const TemporaryFolder folder;
  const std::string farm = folder.write(
      "split.yaml",
      "farm: split\ntrigger: {mode: max}\nreadout: {count: 2, sources_per_readout: 2}\ndcm:\n  nodes:\n"
      "    - {name: selection, group: selection}\n    - {name: building, group: building}\n  groups:\n"
      "    - {name: selection, forward: [building], filter: {plugin: accept-all}}\n    - name: building\n"
      "      filter:\n        plugin: prescale\n        parameters:\n          colour: red\n");
  const FarmEnd end = run_farm(folder, farm, {"--slices", "10"});
  check_refused(folder, end, farm + ":14: dcm.groups[1].filter.parameters.colour");
}

TEST_CASE("a filter that crashes in its constructor is refused before anything starts") {
  const TemporaryFolder folder;
  // SIGABRT: a sanitizer would make an exit of SIGSEGV.
  std::vector<std::string> arguments =
      sets({"filter.plugin=" + plugin("dwells"), "filter.parameters.made_signal=6"});
  arguments.insert(arguments.end(), {"--slices", "10"});
  const FarmEnd end = run_farm(folder, event_building(), arguments);
  check_refused(folder, end, "ends its process with signal 6");
}

TEST_CASE("slices over which the plugin throws are stored in the debug stream, unfiltered, and counted") {
  const TemporaryFolder folder;
  std::vector<std::string> arguments =
      sets({"filter.plugin=" + plugin("stumbles"), "filter.parameters.every=10"});
  arguments.insert(arguments.end(), {"--slices", "1000"});
  FarmRun run(folder, event_building(), arguments);
  FarmWatcher watcher(run.port_of("supervisor"), "event-building");
  const FarmEnd end = run.finish();
  CHECK_BALANCED(end, 3);
  CHECK(end.summary.count("stored") == 1000);
  const v1::RunSummary account = watcher.account();
  CHECK(counter_of(account, "dcm-0", "dcm.filter_errors") +
            counter_of(account, "dcm-1", "dcm.filter_errors") ==
        100);
  CHECK_THAT(end.logs, Catch::ContainsSubstring("stumbles over slice"));

  std::uint64_t debug = 0;
  std::uint64_t wrong = 0;
  const StoredRun stored(folder / "out");
  stored.for_each_slice([&](const storage::SliceRecordView& slice) {
    const bool thrown = slice.head().slice.value % 10 == 0;
    const bool unfiltered = (slice.head().flags & storage::slice_flag::unfiltered) != 0;
    debug += unfiltered ? 1 : 0;
    if (thrown != unfiltered) ++wrong;
    if (thrown && slice.head().decision != storage::DecisionKind::no_filter) ++wrong;
  });
  CHECK(debug == 100);
  CHECK(wrong == 0);
  CHECK(check_dummy_data(stored).wrong == "");
}

TEST_CASE("slices over which the plugin throws are rejected if the farm file says so") {
  const TemporaryFolder folder;
  std::vector<std::string> arguments =
      sets({"filter.plugin=" + plugin("stumbles"), "filter.parameters.every=10", "filter.on_error=reject"});
  arguments.insert(arguments.end(), {"--slices", "1000"});
  const FarmEnd end = run_farm(folder, event_building(), arguments);
  CHECK_BALANCED(end, 3);
  CHECK(end.summary.count("stored") == 900);
  CHECK(end.summary.count("rejected") == 100);
}

TEST_CASE("an output folder that cannot be made is named and nothing starts") {
  const TemporaryFolder folder;
  folder.write("file", "not a folder\n");
  FarmRun run(folder, event_building(), {"--slices", "10"}, folder / "file/out");
  check_named_end(folder, run.finish(), folder / "file/out");
}

TEST_CASE("an output folder that cannot be written is named and nothing starts") {
  const TemporaryFolder folder;
  const std::string out = folder / "out";
  std::filesystem::create_directory(out);
  const bool root = ::geteuid() == 0;
  if (root && ::mount("none", out.c_str(), "tmpfs", MS_RDONLY, nullptr) != 0) {
    weir::skip_test("no read-only folder can be mounted here");
    return;
  }
  if (!root)
    std::filesystem::permissions(out,
                                 std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  FarmRun run(folder, event_building(), {"--slices", "10"});
  const FarmEnd end = run.finish();
  if (root) {
    ::umount2(out.c_str(), MNT_DETACH);
  } else {
    std::filesystem::permissions(out, std::filesystem::perms::owner_all);
  }
  check_named_end(folder, end, out);
}

TEST_CASE("a farm that cannot be replayed names the folder") {
  const TemporaryFolder folder;
  const FarmEnd end =
      run_farm(folder, config_file("replay.yaml"), {"--set", "replay.path=" + folder / "nothing"});
  CHECK(end.status == 2);
  CHECK_THAT(end.err, Catch::ContainsSubstring("replay.path") && Catch::ContainsSubstring("nothing"));
}
