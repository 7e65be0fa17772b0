// Surroundings of a run: folders that move, limits, signals, descriptors, helpers of plugins.
#include "farm_run.hpp"
#include "stored_run.hpp"
#include "weir_catch.hpp"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/stat.h>
#include <vector>

namespace {

using namespace weir;
using namespace weir::system_test;
using Catch::Matchers::ContainsSubstring;

namespace fs = std::filesystem;

constexpr std::uint64_t kSlices = 2000;

std::string farm() { return config_file("event-building.yaml"); }

std::string quoted(const std::string& text) { return "'" + text + "'"; }

std::string weir_command() { return quoted(std::string(WEIR_BIN_DIR) + "/weir"); }

// 2000 slices in 2 s.
std::vector<std::string> two_seconds(const std::vector<std::string>& more = {}) {
  std::vector<std::string> assignments{"trigger.mode=rate", "trigger.rate_hz=1000", "readout.count=2"};
  assignments.insert(assignments.end(), more.begin(), more.end());
  std::vector<std::string> arguments = sets(assignments);
  arguments.insert(arguments.end(), {"--slices", std::to_string(kSlices)});
  return arguments;
}

// Starts a shell with this script.
std::unique_ptr<Process> begin_shell(const TemporaryFolder& folder, const std::string& script) {
  return std::make_unique<Process>(std::vector<std::string>{"/bin/sh", "-c", script}, folder / "sh.out",
                                   folder / "sh.err");
}

CommandEnd shell(const TemporaryFolder& folder, const std::string& script) {
  const auto process = begin_shell(folder, script);
  const auto status = process->wait(Seconds(90));
  REQUIRE(status);
  return {*status, process->out(), process->err()};
}

// `weir run` for a script: the run's folder is `out` in the test's.
std::string run_words(const TemporaryFolder& folder, const std::vector<std::string>& arguments) {
  std::string words = weir_command() + " run " + quoted(farm()) + " --out " + quoted(folder / "out");
  for (const std::string& argument : arguments) words += " " + quoted(argument);
  return words;
}

void check_stored(const std::string& folder, std::uint64_t slices = kSlices) {
  const StoredRun run(folder);
  CHECK(run.ids().size() == slices);
  CHECK(run.problems() == "");
  CHECK(check_dummy_data(run).wrong == "");
}

std::size_t files_in(const fs::path& folder) {
  return static_cast<std::size_t>(std::distance(fs::recursive_directory_iterator(folder), {}));
}

// Replaces a link atomically, as tools do.
void move_link(const std::string& link, const std::string& to) {
  fs::create_directory_symlink(to, link + ".new");
  fs::rename(link + ".new", link);
}

}  // namespace

// ---- folders

TEST_CASE("a run stays in the folder that its link named at the beginning, restarted writers too") {
  const TemporaryFolder folder;
  for (const char* name : {"first", "second"}) fs::create_directory(folder / name);
  const std::string link = folder / "current";
  fs::create_directory_symlink(folder / "first", link);
  const bool killed = GENERATE(false, true);
  CAPTURE(killed);
  FarmRun run(folder, farm(), two_seconds({"writer.file_bytes_max=2000000"}), link);
  REQUIRE(run.wait_for_data(1'000'000));
  move_link(link, folder / "second");
  if (killed) REQUIRE(run.send_signal("writer-0", SIGKILL));
  const FarmEnd end = run.finish();
  CHECK_BALANCED(end, killed ? 3 : 0);
  const StoredRun stored(folder / "first");
  CHECK(stored.ids().size() == kSlices);
  CHECK(check_dummy_data(stored).wrong == "");
  CHECK(fs::exists(folder / "first/run-000001-end.json"));
  CHECK(files_in(folder / "second") == 0);
}

TEST_CASE("a file is recovered beside the original even if it was named through a link to its folder") {
  const TemporaryFolder folder;
  fs::create_directory(folder / "first");
  fs::create_directory_symlink(folder / "first", folder / "current");
  FarmRun run(folder, farm(), two_seconds({"run.restart=never"}), folder / "first");
  REQUIRE(run.wait_for_data(1'000'000));
  REQUIRE(run.send_signal("writer-0", SIGKILL));
  (void)run.finish();
  const std::string part = "run-000001-writer-0-0000.weir.part";
  REQUIRE(fs::exists(folder / "first/" + part));
  const CommandEnd end = run_command(folder, "weir", {"file", "recover", folder / "current/" + part});
  INFO(end.err);
  CHECK(end.status == 0);
  CHECK(fs::exists(folder / "first/run-000001-writer-0-0000.weir"));
}

TEST_CASE("an output folder that records cannot name is refused with an error, and nothing is made") {
  const TemporaryFolder folder;
  const std::string name = "caf\xe9";
  const std::string path = folder / name;
  const std::string file = folder.write("farm.yaml", "farm: f\nrun: {out: " + path + "}\n");
  fs::create_directory(folder / "w");
  for (const std::string& words :
       {"run " + quoted(farm()) + " --slices 10 --out " + quoted(path),
        "run " + quoted(farm()) + " --slices 10 --set run.out=" + quoted(path),
        "check " + quoted(farm()) + " --set run.out=" + quoted(path), "run " + quoted(file) + " --slices 10",
        "check " + quoted(file), "up " + quoted(farm()) + " --set run.out=" + quoted(path)}) {
    const CommandEnd end =
        shell(folder, "cd " + quoted(folder / "w") + "; exec " + weir_command() + " " + words);
    CAPTURE(words);
    CHECK((end.status == 1 || end.status == 2));
    CHECK_THAT(end.err, ContainsSubstring("not UTF-8"));
    CHECK_FALSE(fs::exists(path));
  }
  CHECK(files_in(folder / "w") == 0);
  // The name comes from where the command runs.
  fs::create_directory(path);
  const CommandEnd end = shell(
      folder, "cd " + quoted(path) + "; exec " + weir_command() + " run " + quoted(farm()) + " --out here");
  CHECK(end.status == 1);
  CHECK_THAT(end.err, ContainsSubstring("not UTF-8"));
}

TEST_CASE("an output folder that only a shell would expand is refused") {
  const TemporaryFolder folder;
  for (const char* words : {"--out=~/x", "--set run.out='~/x'", "--out='~'"}) {
    const CommandEnd end = shell(folder, "cd " + quoted(folder.path().string()) + "; exec " + weir_command() +
                                             " run " + quoted(farm()) + " " + words);
    CAPTURE(words);
    CHECK((end.status == 1 || end.status == 2));
    CHECK_THAT(end.err, ContainsSubstring("is not expanded here"));
    CHECK_FALSE(fs::exists(folder / "~"));
  }
}

TEST_CASE("the files of a run have the mode that the umask leaves") {
  const TemporaryFolder folder;
  const bool group = GENERATE(true, false);
  CAPTURE(group);
  const CommandEnd end = shell(folder, std::string("umask ") + (group ? "002" : "077") + "; exec " +
                                           run_words(folder, {"--slices", "50"}));
  REQUIRE(end.status == 0);
  for (const auto& entry : fs::recursive_directory_iterator(folder / "out")) {
    struct stat status = {};
    REQUIRE(::stat(entry.path().c_str(), &status) == 0);
    CAPTURE(entry.path().string());
    CHECK(((status.st_mode & S_IWGRP) != 0) == group);
    CHECK((status.st_mode & (group ? S_IWOTH : S_IROTH)) == 0);
  }
}

// ---- limits

TEST_CASE("a low limit of file sizes gives a run more files") {
  const TemporaryFolder folder;
  // The shell's unit is 512 or 1024 bytes; the run's records fit.
  const CommandEnd end = shell(folder, "ulimit -f 1000; exec " + run_words(folder, two_seconds()));
  INFO(end.err);
  CHECK(end.status == 0);
  check_stored(folder / "out");
  CHECK(StoredRun(folder / "out").file_count() > 5);
}

TEST_CASE("a temporary folder that does not exist is not needed") {
  const TemporaryFolder folder;
  const std::string prefix = "unset XDG_RUNTIME_DIR; export TMPDIR=/nonexistent; exec ";
  const CommandEnd run = shell(folder, prefix + run_words(folder, {"--slices", "50"}));
  INFO(run.err);
  CHECK(run.status == 0);
  // They may find another farm of this machine.
  for (const char* words : {"ctl status", "tap --timeout 1 --duration 0.5", "top --once"}) {
    const CommandEnd end = shell(folder, prefix + weir_command() + " " + words);
    CAPTURE(words, end.err);
    CHECK(end.status < 128);
    CHECK_THAT(end.err, !ContainsSubstring("nonexistent"));
  }
}

// ---- signals

TEST_CASE("a signal that was ignored when a run began does not end it") {
  const TemporaryFolder folder;
  const std::string name = GENERATE("HUP", "INT");
  CAPTURE(name);
  const auto run =
      begin_shell(folder, "trap '' " + name + "; exec " + run_words(folder, two_seconds({"run.out=unused"})));
  REQUIRE(wait_until([&] { return read_file(folder / "sh.out").find("run control at") != std::string::npos; },
                     Seconds(30)));
  run->send_signal(name == "HUP" ? SIGHUP : SIGINT);
  CHECK(run->wait(Seconds(60)) == 0);
  check_stored(folder / "out");
}

TEST_CASE("a run ends by a signal that was blocked when it began") {
  const int signal = GENERATE(SIGINT, SIGTERM);
  CAPTURE(signal);
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const TemporaryFolder folder;
  std::vector<std::string> arguments = two_seconds();
  arguments.back() = "1000000";
  FarmRun run(folder, farm(), arguments);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  REQUIRE(run.wait_for_data(1));
  run.process().send_signal(signal);
  const FarmEnd end = run.finish();
  CHECK_BALANCED(end, 0);
  CHECK(end.summary.count("triggered") < 1'000'000);
}

TEST_CASE("a run and its plugins' trial end although SIGCHLD was ignored when they began") {
  const TemporaryFolder folder;
  const CommandEnd end =
      shell(folder, "trap '' CHLD; exec timeout 60 " + run_words(folder, {"--slices", "50"}));
  INFO(end.err);
  CHECK(end.status == 0);
  check_stored(folder / "out", 50);
}

TEST_CASE("a launcher that ignores SIGTERM still ends its processes by it") {
  const TemporaryFolder folder;
  const auto run = begin_shell(
      folder, "trap '' TERM; exec " + run_words(folder, sets({"trigger.mode=rate", "trigger.rate_hz=100"})));
  REQUIRE(wait_until([&] { return read_file(folder / "sh.out").find(" running: ") != std::string::npos; },
                     Seconds(30)));
  run->send_signal(SIGINT);
  const auto status = run->wait(Seconds(60));
  REQUIRE(status);
  CHECK(*status == 0);
  CHECK(wait_until([&] { return processes_naming(folder.path().string()).empty(); }, Seconds(10)));
}

// ---- standard output

TEST_CASE("output that cannot be written fails every command, with a sentence") {
  const TemporaryFolder folder;
  REQUIRE(shell(folder, run_words(folder, {"--slices", "50"})).status == 0);
  const std::string file = quoted(folder / "out/run-000001-writer-0-0000.weir");
  const std::string check = "check " + quoted(farm());
  const std::string run = "run " + quoted(farm()) + " --slices 20 --out " + quoted(folder / "again");
  for (const std::string& words :
       {"file ls " + file, "file info " + file, "file verify " + file, "file dump --slice 7 " + file,
        "file ls --json " + file, check, check + " --explain dcm-0", std::string("version"),
        std::string("--version"), std::string("--help"), std::string("run --help"), run}) {
    CAPTURE(words);
    const CommandEnd full = shell(folder, "exec " + weir_command() + " " + words + " > /dev/full");
    fs::remove_all(folder / "again");
    CHECK(full.status != 0);
    CHECK_THAT(full.err, ContainsSubstring("weir: standard output could not be written"));
    const CommandEnd closed = shell(folder, "exec " + weir_command() + " " + words + " >&-");
    CHECK(closed.status != 0);
    CHECK_THAT(closed.err, ContainsSubstring("weir: standard output could not be written"));
  }
  check_stored(folder / "again", 20);
}

TEST_CASE("help that cannot be written fails every program of a farm, with a sentence") {
  const TemporaryFolder folder;
  for (const std::string program :
       {"weir-supervisor", "weir-readout", "weir-dcm", "weir-writer", "weir-run-control"}) {
    CAPTURE(program);
    const std::string help = "exec " + quoted(std::string(WEIR_BIN_DIR) + "/" + program) + " --help";
    CHECK(shell(folder, help + " > /dev/null").status == 0);
    const CommandEnd full = shell(folder, help + " > /dev/full");
    CHECK(full.status == 1);
    CHECK_THAT(full.err,
               ContainsSubstring(program + ": standard output could not be written: No space left"));
  }
}

TEST_CASE("a reader of a run's output that disappears does not fail it, and closed descriptors get no data") {
  const TemporaryFolder folder;
  const CommandEnd gone = shell(folder, "{ " + run_words(folder, two_seconds()) + "; echo $? > " +
                                            quoted(folder / "status") + "; } | head -n 1");
  CHECK(gone.status == 0);
  CHECK(read_file(folder / "status") == "0\n");
  check_stored(folder / "out");
  fs::remove_all(folder / "out");
  CHECK(shell(folder, "exec " + run_words(folder, {"--quiet", "--slices", "50"}) + " <&- >&- 2>&-").status ==
        0);
  check_stored(folder / "out", 50);
}

// ---- helpers of plugins

TEST_CASE("a plugin's helper that holds its readout's sockets ends with it, and the readout is restarted") {
  const TemporaryFolder folder;
  const bool leaves = GENERATE(false, true);
  CAPTURE(leaves);
  const std::string pid_file = folder / "pid";
  std::vector<std::string> arguments =
      two_seconds({"source.kind=plugin", std::string("source.plugin=") + WEIR_SYSTEM_PLUGIN_DIR + "/forks.so",
                   "source.parameters.pid_file=" + pid_file,
                   std::string("source.parameters.leaves=") + (leaves ? "true" : "false")});
  FarmRun run(folder, farm(), arguments);
  REQUIRE(wait_until([&] { return read_file(pid_file).ends_with('\n'); }, Seconds(30)));
  REQUIRE(run.send_signal("readout-0", SIGKILL));
  const FarmEnd end = run.finish();
  CHECK_BALANCED(end, 3);
  CHECK_THAT(end.out, ContainsSubstring("readout-0 ended with signal 9 (Killed): restarting (1 of 3)"));
  CHECK_THAT(end.out, !ContainsSubstring("restarting (2 of 3)"));
  CHECK_THAT(end.logs, !ContainsSubstring("is here already"));
  CHECK(StoredRun(folder / "out").ids().size() == kSlices);
  CHECK(end.summary.count("fragments.missing.not_produced") == 0);
  // At most one helper, of readout-1 or of the new readout-0, was started; none outlives the run.
  const pid_t helper = std::stoi(read_file(pid_file));
  CHECK((::kill(helper, 0) != 0 ||
         read_file("/proc/" + std::to_string(helper) + "/stat").find(") Z ") != std::string::npos));
}

#ifdef WEIR_HAS_OWN_MESSAGES
TEST_CASE("a plugin with a copy of Weir's messages and another Protobuf is checked, and runs") {
  const TemporaryFolder folder;
  const std::string plugin = std::string("filter.plugin=") + WEIR_SYSTEM_PLUGIN_DIR + "/own-messages.so";
  const CommandEnd check = run_command(folder, "weir", {"check", farm(), "--set", plugin});
  INFO(check.err);
  CHECK(check.status == 0);
  const FarmEnd end = run_farm(folder, farm(), {"--slices", "100", "--set", plugin});
  CHECK_BALANCED(end, 0);
  check_stored(folder / "out", 100);
}
#endif

TEST_CASE("weir check names a plugin that ends its process") {
  const TemporaryFolder folder;
  std::vector<std::string> arguments =
      sets({"filter.plugin=" WEIR_SYSTEM_PLUGIN_DIR "/dwells.so", "filter.parameters.made_signal=6"});
  arguments.insert(arguments.begin(), {"check", farm()});
  const CommandEnd end = run_command(folder, "weir", arguments);
  CHECK(end.status == 2);
  CHECK_THAT(end.err, ContainsSubstring("--set filter.plugin: the plugin ends its process with signal 6"));
}

TEST_CASE("numbers that an option cannot represent are refused") {
  const TemporaryFolder folder;
  const std::string udp = config_file("udp.yaml");
  const struct {
    std::vector<std::string> words;
    std::string sentence;
  } mistakes[] = {
      {{"emit", udp, "--rate", "nan"}, "nan is not a number"},
      {{"emit", udp, "--rate", "1e-12"}, "at least 3.2e-8 Hz"},
      {{"emit", udp, "--size", "4294967396"}, "--size: 4294967396 is outside the range"},
      {{"emit", udp, "--run", "4294967297"}, "--run: 4294967297 is outside the range"},
      {{"tap", "--duration", "nan"}, "nan is not a number"},
      {{"top", "--interval", "nan"}, "nan is not a number"},
  };
  for (const auto& mistake : mistakes) {
    const CommandEnd end = run_command(folder, "weir", mistake.words);
    CAPTURE(mistake.words.back(), end.err);
    CHECK(end.status == 2);
    CHECK_THAT(end.err, ContainsSubstring(mistake.sentence));
  }
}

TEST_CASE("the page's URL with an IPv6 address is valid in a browser") {
  const TemporaryFolder folder;
  std::vector<std::string> arguments = two_seconds();
  arguments.insert(arguments.end(), {"--page", "[::1]:0"});
  const FarmEnd end = run_farm(folder, farm(), arguments);
  if (end.status != 0) {
    CHECK_THAT(end.err + end.out, ContainsSubstring("[::1]:0"));  // a machine without IPv6
    return;
  }
  CHECK_THAT(end.out, ContainsSubstring("page http://[::1]:"));
}

TEST_CASE("run control's addresses on the command line are used by a run, and its other keys refused") {
  const TemporaryFolder folder;
  std::vector<std::string> arguments = sets({"control.page=127.0.0.1:0", "control.listen=127.0.0.2:0"});
  arguments.insert(arguments.end(), {"--slices", "50"});
  const FarmEnd end = run_farm(folder, farm(), arguments);
  CHECK_BALANCED(end, 0);
  CHECK_THAT(end.out, ContainsSubstring("page http://127.0.0.1:"));
  CHECK_THAT(end.out, ContainsSubstring("run control at 127.0.0.2:"));
  fs::remove_all(folder / "out");
  const FarmEnd wrong = run_farm(folder, farm(), {"--slices", "50", "--page", "127.0.0.1"});
  CHECK(wrong.status == 2);
  CHECK_THAT(wrong.err, ContainsSubstring("'127.0.0.1' is not host:port"));
  for (const char* ignored : {"control.out=elsewhere", "control.transient=[dcm-0]"}) {
    const FarmEnd refused = run_farm(folder, farm(), {"--slices", "50", "--set", ignored});
    CHECK(refused.status == 2);
    CHECK_THAT(refused.err, ContainsSubstring("has no effect on a single run"));
  }
  CHECK_FALSE(fs::exists(folder / "out"));
}

TEST_CASE("run control listens at the farm file's address, and at a free port where it cannot") {
  const struct {
    const char* listen;
    const char* at;
  } places[] = {
      {"127.0.0.2:0", "127.0.0.2:"}, {"192.0.2.1:7700", "127.0.0.1:"}, {"no-host:7700", "127.0.0.1:"}};
  for (const auto& place : places) {
    CAPTURE(place.listen);
    const TemporaryFolder folder;
    std::ofstream(folder / "farm.yaml")
        << read_file(farm()) << "\ncontrol: {listen: '" << place.listen << "'}\n";
    const FarmEnd end = run_farm(folder, folder / "farm.yaml", {"--slices", "50"});
    CHECK_BALANCED(end, 0);
    CHECK_THAT(end.out, ContainsSubstring("run control at " + std::string(place.at)));
    const bool moved = end.out.find("control.listen of the farm file is not used: ") != std::string::npos;
    CHECK(moved == (std::string(place.at) == "127.0.0.1:"));
  }
}

TEST_CASE("a run without problems causes no warning") {
  const TemporaryFolder folder;
  const FarmEnd end = run_farm(folder, farm(), two_seconds());
  CHECK_BALANCED(end, 0);
  for (const auto& entry : fs::directory_iterator(folder / "out/log")) {
    CAPTURE(entry.path().filename().string(), read_file(entry.path()));
    CHECK_THAT(read_file(entry.path()),
               !ContainsSubstring("level=warning") && !ContainsSubstring("level=error"));
  }
}
