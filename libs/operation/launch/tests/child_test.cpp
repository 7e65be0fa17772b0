#include "temporary_folder.hpp"
#include "weir_catch.hpp"
#include <weir/launch/child.hpp>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <poll.h>
#include <unistd.h>
#include <vector>

namespace weir::launch {

using test::TemporaryFolder;
namespace {

namespace fs = std::filesystem;

std::string read(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Waits until the process has ended; the test's own time limit ends a hanging one.
ProcessEnd wait_for(Child& child) {
  for (;;) {
    if (const auto end = child.poll()) return *end;
    ::poll(nullptr, 0, 2);
  }
}

ChildSettings shell(const std::string& script, const TemporaryFolder& folder) {
  ChildSettings settings;
  settings.program = "/bin/sh";
  settings.arguments = {"-c", script};
  settings.log_file = folder / "log";
  return settings;
}

TEST_CASE("an ended process is reported once, with its status and resource use") {
  const TemporaryFolder folder;
  auto child = Child::start(shell("exit 3", folder));
  REQUIRE(child.has_value());
  const ProcessEnd end = wait_for(*child);
  CHECK(end.status == 3);
  CHECK(end.rss_max_bytes > 0);
  CHECK(describe(end) == "status 3");
  CHECK_FALSE(child->running());
  CHECK_FALSE(child->poll().has_value());
}

TEST_CASE("a process that a signal ends has the signal's number, negative") {
  const TemporaryFolder folder;
  auto child = Child::start(shell("kill -9 $$", folder));
  REQUIRE(child.has_value());
  const ProcessEnd end = wait_for(*child);
  CHECK(end.status == -SIGKILL);
  CHECK(describe(end) == "signal 9 (Killed)");
}

TEST_CASE("a process that a signal has stopped is known until it continues or ends") {
  const TemporaryFolder folder;
  auto child = Child::start(shell("kill -STOP $$; sleep 100", folder));
  REQUIRE(child.has_value());
  const auto becomes = [&](bool stopped) {
    for (int i = 0; i < 5000 && child->is_stopped() != stopped; ++i) ::usleep(2000);
    return child->is_stopped() == stopped;
  };
  REQUIRE(becomes(true));
  CHECK(child->is_stopped());
  child->send_signal(SIGCONT);
  CHECK(becomes(false));
  child->send_signal(SIGSTOP);
  CHECK(becomes(true));
  child->send_signal(SIGKILL);
  CHECK(wait_for(*child).status == -SIGKILL);
  CHECK_FALSE(child->is_stopped());
}

TEST_CASE("standard error goes to the log, which a restart continues") {
  const TemporaryFolder folder;
  auto first = Child::start(shell("echo one >&2", folder));
  REQUIRE(first.has_value());
  (void)wait_for(*first);
  ChildSettings again = shell("echo two >&2; echo three", folder);
  again.append_log = true;
  auto second = Child::start(again);
  REQUIRE(second.has_value());
  (void)wait_for(*second);
  CHECK(read(folder / "log") == "one\ntwo\nthree\n");
}

TEST_CASE("standard output is returned on request") {
  const TemporaryFolder folder;
  ChildSettings settings = shell("echo here", folder);
  settings.read_output = true;
  auto child = Child::start(settings);
  REQUIRE(child.has_value());
  (void)wait_for(*child);
  CHECK(child->take_output() == "here\n");
  CHECK(child->take_output().empty());
}

TEST_CASE("a program that is not there ends with status 127 and is named in the log") {
  const TemporaryFolder folder;
  ChildSettings settings;
  settings.program = "/nonexistent/weir-dcm";
  settings.log_file = folder / "log";
  auto child = Child::start(settings);
  REQUIRE(child.has_value());
  CHECK(wait_for(*child).status == 127);
  CHECK(read(folder / "log") == "cannot execute /nonexistent/weir-dcm: No such file or directory\n");
}

TEST_CASE("a log that cannot be written is an error, and nothing is started") {
  ChildSettings settings;
  settings.program = "/bin/true";
  settings.log_file = "/nonexistent/log";
  const auto child = Child::start(settings);
  REQUIRE_FALSE(child.has_value());
  CHECK(child.error() == "cannot write '/nonexistent/log': No such file or directory");
}

TEST_CASE("a process has its own group and no files of its parent's") {
  const TemporaryFolder folder;
  const TemporaryFolder secret;
  std::ofstream open(secret / "open");
  ChildSettings settings =
      shell("ls -l /proc/self/fd; ps -o pgid= -p $$ 2>/dev/null || cut -d' ' -f5 /proc/$$/stat", folder);
  settings.read_output = true;
  auto child = Child::start(settings);
  REQUIRE(child.has_value());
  const pid_t pid = child->pid();
  (void)wait_for(*child);
  const std::string output = child->take_output();
  CHECK(output.find(secret / "open") == output.npos);
  CHECK(output.find(std::to_string(pid)) != output.npos);
}

// Leaves three processes behind: one in the group, one in another session, and a child of that one.
constexpr const char* kLeaves =
    "sleep 1000 & echo $! >> pids\n"
    "setsid sh -c 'sleep 1000 & echo $! >> pids; echo $$ >> pids; wait' &\n"
    "until [ $(wc -l < pids) = 3 ]; do sleep 0.01; done\n";

std::vector<pid_t> numbers_in(const std::string& path) {
  std::ifstream file(path);
  return {std::istream_iterator<pid_t>(file), {}};
}

bool is_running(pid_t process) {
  std::ifstream stat("/proc/" + std::to_string(process) + "/stat");
  std::string line;
  std::getline(stat, line);
  return !line.empty() && line.find(") Z ") == line.npos;
}

TEST_CASE("descendants of a process end with it, in other groups and sessions, too") {
  const TemporaryFolder folder;
  const std::string end = GENERATE("exit 0", "kill -9 $$", "let go");
  CAPTURE(end);
  {
    auto child = Child::start(shell("cd " + folder.path().string() + "; touch pids; " + kLeaves +
                                        (end == "let go" ? "touch done; wait" : end),
                                    folder));
    REQUIRE(child.has_value());
    if (end != "let go") (void)wait_for(*child);
    while (end == "let go" && !fs::exists(folder / "done")) ::poll(nullptr, 0, 2);
  }
  const std::vector<pid_t> left = numbers_in(folder / "pids");
  REQUIRE(left.size() == 3);
  for (const pid_t process : left) CHECK_FALSE(is_running(process));
}

TEST_CASE("descendants of a process live while it does, whatever else ends") {
  const TemporaryFolder folder;
  const TemporaryFolder other;
  auto first = Child::start(shell(
      "cd " + folder.path().string() + "; touch pids; (" + kLeaves + ") & wait $!; touch done; read never",
      folder));
  // Its helper is an orphan, adopted while the process still runs.
  auto lasting = Child::start(shell(
      "cd " + other.path().string() + "; sh -c 'setsid sleep 1000 & echo $! > pids'; sleep 1000", other));
  REQUIRE(first.has_value());
  REQUIRE(lasting.has_value());
  while (numbers_in(other / "pids").empty()) ::poll(nullptr, 0, 2);
  (void)wait_for(*first);
  CHECK(is_running(numbers_in(other / "pids").front()));
}

TEST_CASE("a new log takes the place of another user's, which is not written to") {
  const TemporaryFolder folder;
  std::ofstream(folder / "log") << "old\n";
  fs::create_hard_link(folder / "log", folder / "kept");
  auto child = Child::start(shell("echo new >&2", folder));
  REQUIRE(child.has_value());
  (void)wait_for(*child);
  CHECK(read(folder / "kept") == "old\n");
  CHECK(read(folder / "log") == "new\n");
}

TEST_CASE("a released process is killed") {
  const TemporaryFolder folder;
  pid_t pid = 0;
  {
    auto child = Child::start(shell("exec sleep 100", folder));
    REQUIRE(child.has_value());
    pid = child->pid();
    CHECK(::kill(pid, 0) == 0);
  }
  CHECK(::kill(pid, 0) != 0);
}

}  // namespace
}  // namespace weir::launch
