// Commands for closed files, with real processes.
#include "temporary_folder.hpp"
#include "weir_catch.hpp"
#include <weir/writer/close_commands.hpp>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>
#include <unistd.h>

namespace weir::writer {

using test::TemporaryFolder;
namespace {

namespace fs = std::filesystem;

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

bool wait_until(const std::function<bool()>& condition) {
  for (int i = 0; i < 1500 && !condition(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return condition();
}

}  // namespace

TEST_CASE("a command for a closed file inherits no open file of the writer") {
  const TemporaryFolder folder;
  const std::string list = folder / "list";
  const int kept = ::open("/dev/null", O_RDONLY);  // as a library may leave one
  REQUIRE(kept > STDERR_FILENO);
  CloseCommands commands;
  commands.add({"ls /proc/self/fd > " + list + "; echo done >> " + list + "; :", "file", "0", 10}, 1);
  REQUIRE(wait_until([&] {
    const auto lines = lines_of(list);
    return !lines.empty() && lines.back() == "done";
  }));
  // ls itself has one, for the folder.
  CHECK(lines_of(list) == std::vector<std::string>{"0", "1", "2", "3", "done"});
  ::close(kept);
}

TEST_CASE("no more commands run at a time than allowed, and each file has its turn") {
  const TemporaryFolder folder;
  const std::string list = folder / "list";
  CloseCommands commands;
  for (int i = 0; i < 5; ++i) {
    commands.add({"echo begin >> " + list + "; sleep 0.3; echo end >> " + list + "; :", "file", "0", 10}, 2);
  }
  REQUIRE(wait_until([&] { return lines_of(list).size() == 10; }));
  int running = 0;
  int most = 0;
  for (const std::string& line : lines_of(list)) {
    running += line == "begin" ? 1 : -1;
    most = std::max(most, running);
  }
  CHECK(most == 2);
  CHECK(commands.counts().started == 5);
}

TEST_CASE("a command over its time limit is ended with all processes that it started, and counted") {
  const TemporaryFolder folder;
  const std::string pid_file = folder / "pid";
  CloseCommands commands;
  commands.add({"sleep 60 & echo $! > " + pid_file + "; wait; :", "file", "0", 1}, 1);
  REQUIRE(wait_until([&] { return commands.counts().ended_by_limit == 1; }));
  CHECK(commands.counts().failed == 0);
  const std::string pid = lines_of(pid_file).front();
  CHECK(wait_until([&] {
    std::ifstream status("/proc/" + pid + "/stat");
    std::string number;
    std::string name;
    char state = 'X';
    status >> number >> name >> state;
    return state == 'X' || state == 'Z';
  }));
}

TEST_CASE("a command that fails is counted as that") {
  CloseCommands commands;
  commands.add({"exit 3; :", "file", "0", 10}, 1);
  CHECK(wait_until([&] { return commands.counts().failed == 1; }));
  CHECK(commands.counts().ended_by_limit == 0);
}

TEST_CASE("commands that did not end well are described with the last of them, and counted from a point on") {
  CloseCommands commands;
  commands.add({"exit 3; :", "first", "0", 10}, 1);
  CHECK(wait_until([&] { return commands.counts().unfinished == 0; }));
  const CloseCounts before = commands.counts();
  CHECK(describe(before) ==
        "writer.on_close: of the commands for closed files 1 failed (last: status 3: first)");
  commands.add({"true", "good", "0", 10}, 1);
  commands.add({"kill -9 $$; :", "second", "0", 10}, 1);
  commands.add({"sleep 60; :", "third", "0", 1}, 1);
  CHECK(commands.counts().unfinished > 0);
  CHECK(wait_until([&] { return commands.counts().unfinished == 0; }));
  const CloseCounts since = commands.counts() - before;
  CHECK(since.bad() == 2);
  CHECK(
      describe(since) ==
      "writer.on_close: of the commands for closed files 1 failed, 1 ended by writer.on_close_s (last: took "
      "longer than 1 s: third)");
  CHECK(describe(commands.counts() - commands.counts()).empty());
}

TEST_CASE("a command that can never run is refused with its reason") {
  for (const char* good : {"", "cp", "true", "/bin/true", "cd / && true", "A=b true", "'/bin/true'",
                           "exit 1; :", "echo >> list", "if true; then true; fi; :"}) {
    CAPTURE(good);
    CHECK(unusable(good).empty());
  }
  for (const char* bad : {"no-such-program-of-weir", "/nonexistent/archive --now", "./nothing-here; true"}) {
    CAPTURE(bad);
    CHECK(unusable(bad).find("no program '") != std::string::npos);
  }
  for (const char* bad : {"/tmp", "/etc/passwd --now", "./; true"}) {
    CAPTURE(bad);
    CHECK(unusable(bad).find("is not a program") != std::string::npos);
  }
  for (const char* bad : {"echo 'open", "if true; then", "( true"}) {
    CAPTURE(bad);
    CHECK(unusable(bad).find("the shell cannot read") != std::string::npos);
  }
}

TEST_CASE("commands that wait when the writer ends run after it, once per file") {
  const TemporaryFolder folder;
  const std::string list = folder / "list";
  {
    CloseCommands commands;
    for (int i = 0; i < 6; ++i)
      commands.add({"sleep 0.2; echo >> " + list, "file " + std::to_string(i), "00c0ffee", 10}, 1);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  REQUIRE(wait_until([&] { return lines_of(list).size() == 6; }));
  auto lines = lines_of(list);
  std::sort(lines.begin(), lines.end());
  for (std::size_t i = 0; i < lines.size(); ++i) CHECK(lines[i] == "file " + std::to_string(i) + " 00c0ffee");
}

}  // namespace weir::writer
