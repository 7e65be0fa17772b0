#include "weir_catch.hpp"
#include <weir/launch/log_tail.hpp>

#include <filesystem>
#include <fstream>
#include <string>

namespace weir::launch {
namespace {

TEST_CASE("a process' reason is that of its last error line") {
  CHECK(last_error("2026-01-01T00:00:00.000Z level=error process=w run=1 process failed reason=\"old\"\n"
                   "2026-01-01T00:00:01.000Z level=error process=w run=1 process failed reason=\"disk \"/d\" "
                   "is full\"\n"
                   "2026-01-01T00:00:02.000Z level=info process=w run=1 ends\n") == "disk \"/d\" is full");
}

TEST_CASE("an error line without a reason counts with its message") {
  CHECK(last_error("2026-01-01T00:00:00.000Z level=error process=w run=1 cannot bind port=7\n") ==
        "cannot bind port=7");
}

TEST_CASE("the error of a JSON log is found like that of a text log") {
  CHECK(
      last_error(
          R"({"time":"t","level":"info","process":"w","run":1,"message":"listens"})"
          "\n"
          R"({"time":"t","level":"error","process":"w","run":1,"message":"process failed reason=\"no port\""})"
          "\n") == "no port");
}

TEST_CASE("without an error line the last line that is not of the log counts") {
  CHECK(last_error("farm.yaml:3: dcm.credits: 0 is below 1\n") == "farm.yaml:3: dcm.credits: 0 is below 1");
  CHECK(last_error("assertion failed: a < b\n"
                   "2026-01-01T00:00:02.000Z level=info process=w run=1 joined\n") ==
        "assertion failed: a < b");
}

TEST_CASE("a log without complaints has no error") {
  CHECK(last_error("").empty());
  CHECK(last_error("2026-01-01T00:00:02.000Z level=info process=w run=1 joined\n").empty());
  CHECK(last_error("{\"time\":\"t\",\"level\":\"info\",\"message\":\"x\"}").empty());
}

TEST_CASE("a log that begins in the middle of a line is read from there") {
  CHECK(last_error("l=error process=w run=1 x\n2026-01-01T00:00:00.000Z level=error process=w run=1 y\n") ==
        "y");
}

TEST_CASE("a library's own output before its death becomes one clean line") {
  const std::string path = (std::filesystem::temp_directory_path() / "weir-log-tail-test").string();
  std::ofstream(path) << "all is well\x1b[2J\xff" << std::string(10'000, 'x') << "\n";
  const std::string error = last_error_of_file(path, 0);
  std::filesystem::remove(path);
  CHECK(error.starts_with("all is well\\x1b[2J\\xffxxx"));
  CHECK(error.size() <= 2000);
}

TEST_CASE("the log of a file that is not there is empty") {
  CHECK(last_error_of_file("/nonexistent/x", 0).empty());
}

}  // namespace
}  // namespace weir::launch
