// Tests the lines on standard error, redirected to a file.
#include "temporary_folder.hpp"
#include "weir_catch.hpp"
#include <weir/base/assert.hpp>
#include <weir/base/text.hpp>
#include <weir/telemetry/log.hpp>
#include <weir/v1/control.pb.h>

#include <boost/json.hpp>
#include <spdlog/spdlog.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <sstream>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

using namespace weir;
using Catch::ContainsSubstring;

namespace {

// Returns the lines written to standard error while `act` runs.
template <class Act>
std::vector<std::string> written_by(Act act) {
  const test::TemporaryFolder folder;
  const std::string path = folder / "log";
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const int before = ::dup(STDERR_FILENO);
  std::fflush(stderr);
  ::dup2(file, STDERR_FILENO);
  act();
  std::fflush(stderr);
  ::dup2(before, STDERR_FILENO);
  ::close(before);
  ::close(file);
  std::vector<std::string> lines;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

void set_up(telemetry::LogFormat format) {
  telemetry::LogSettings settings;
  settings.format = format;
  settings.process = "dcm-0";
  settings.run = 7;
  telemetry::set_up_logging(settings);
}

// Returns a control message with invalid UTF-8, as a peer might send it.
std::string bad_message() {
  v1::Report report;
  report.set_state("running");
  std::string bytes = report.SerializeAsString();
  bytes[bytes.find("running")] = '\xff';
  return bytes;
}

}  // namespace

TEST_CASE("messages of Protocol Buffers go through the log, a few lines, with the number of omitted ones") {
  for (const auto format : {telemetry::LogFormat::json, telemetry::LogFormat::text}) {
    const std::string bad = bad_message();
    const auto lines = written_by([&] {
      set_up(format);
      for (int i = 0; i < 10'000; ++i) {
        v1::Report report;
        CHECK_FALSE(report.ParseFromString(bad));
      }
    });
    // The limit applies to the process: the second round may find it used up.
    CHECK(lines.size() <= 5);
    if (format == telemetry::LogFormat::text) continue;
    CHECK(lines.size() == 5);
    for (const std::string& line : lines) {
      INFO(line);
      const auto object = boost::json::parse(line).as_object();
      CHECK(object.at("level") == "error");
      CHECK_THAT(std::string(object.at("message").as_string().c_str()),
                 ContainsSubstring("library name=protobuf left_out=0"));
    }
  }
}

TEST_CASE("a message that holds anything is one line in either format, cut where it is too long") {
  const std::string nasty = "line\nend \x1b[2J \xff \"q\" " + std::string(50'000'000, 'x');
  for (const auto format : {telemetry::LogFormat::json, telemetry::LogFormat::text}) {
    const auto lines = written_by([&] {
      set_up(format);
      spdlog::info("filter {}", nasty);
    });
    REQUIRE(lines.size() == 1);
    const std::string& line = lines[0];
    CHECK(line.size() < telemetry::kLineBytesMax + 1000);
    CHECK(utf8_prefix(line) == line.size());
    CHECK(line.find('\x1b') == line.npos);
    if (format == telemetry::LogFormat::text) {
      CHECK_THAT(line, ContainsSubstring(" run=7 filter line\\nend \\x1b[2J \\xff \"q\" xxx"));
    } else {
      const auto object = boost::json::parse(line).as_object();
      CHECK(std::string(object.at("message").as_string().c_str())
                .starts_with("filter line\\nend \\x1b[2J \\xff \"q\" xxx"));
    }
    CHECK_THAT(line, ContainsSubstring(" bytes more]"));
  }
}

TEST_CASE(
    "a log is never silenced: it has five levels, and every other word is refused and changes nothing") {
  const auto lines = written_by([] {
    set_up(telemetry::LogFormat::text);
    for (const char* level : {"trace", "debug", "info", "warning", "error"})
      CHECK(telemetry::set_log_level(level));
    for (const char* word : {"off", "critical", "warn", "loud", ""}) {
      INFO(word);
      CHECK_FALSE(telemetry::set_log_level(word));
    }
    spdlog::warn("below");
    spdlog::error("above");
  });
  REQUIRE(lines.size() == 1);
  CHECK_THAT(lines[0], ContainsSubstring("above"));
}

TEST_CASE("a line listener receives clean lines, and may cause a library to log") {
  const std::string bad = bad_message();
  std::vector<std::string> heard;
  const auto lines = written_by([&] {
    set_up(telemetry::LogFormat::text);
    telemetry::on_log_line([&](UtcNs, const std::string&, const std::string& text) {
      heard.push_back(text);
      v1::Report report;
      CHECK_FALSE(report.ParseFromString(bad));  // would deadlock if its line were logged
    });
    spdlog::info("a\nb");
    telemetry::on_log_line(nullptr);
  });
  CHECK(heard == std::vector<std::string>{"a\\nb"});
  CHECK(lines.size() == 1);
}

TEST_CASE("a broken invariant is the last log line of its process, with run, place and callers") {
  int status = 0;
  const auto lines = written_by([&] {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      std::signal(SIGABRT, SIG_DFL);
      set_up(telemetry::LogFormat::text);
      WEIR_ASSERT(std::string("\"a\"").empty());
      ::_exit(0);
    }
    REQUIRE(::waitpid(child, &status, 0) == child);
  });
  CHECK(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGABRT);
  REQUIRE(lines.size() == 1);
  CHECK_THAT(lines[0],
             ContainsSubstring(" level=critical process=dcm-0 run=7 broken invariant expression=\""));
  CHECK_THAT(lines[0], ContainsSubstring(" at=libs/monitoring/telemetry/tests/log_test.cpp:"));
  CHECK_THAT(lines[0], ContainsSubstring(" backtrace=\"telemetry_log_test+0x"));
}
