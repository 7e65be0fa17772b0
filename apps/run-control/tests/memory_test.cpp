#include "../src/memory.hpp"

#include "weir_catch.hpp"

#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <unistd.h>

using namespace weir;
using namespace weir::run_control;

namespace {

std::string fresh_file(const std::string& name) {
  const auto path = std::filesystem::temp_directory_path() / (name + "-" + std::to_string(::getpid()));
  std::filesystem::remove(path);
  return path;
}

}  // namespace

TEST_CASE("saved state is read again, and does not exist before") {
  const std::string path = fresh_file("weir-memory");
  const auto before = read_memory(path);
  REQUIRE(before);
  CHECK(before->goal().empty());
  v1::ControlMemory memory;
  memory.set_goal("running");
  memory.set_run(7);
  memory.set_run_open(true);
  memory.add_sets("dcm.credits=4");
  REQUIRE(write_memory(path, memory).empty());
  const auto after = read_memory(path);
  REQUIRE(after);
  CHECK(after->SerializeAsString() == memory.SerializeAsString());
  std::filesystem::remove(path);
}

TEST_CASE("unreadable and unwritable files are errors that name them") {
  const std::string path = fresh_file("weir-memory");
  std::ofstream(path) << "goal: running and more\n";
  const auto read = read_memory(path);
  REQUIRE_FALSE(read);
  CHECK(read.error().find(path) != std::string::npos);
  CHECK(write_memory("/nowhere/at/all", {}).find("/nowhere/at/all") != std::string::npos);
  std::filesystem::remove(path);
}

TEST_CASE("a truncated file is refused with an error, and no other output") {
  const std::string path = fresh_file("weir-memory");
  v1::ControlMemory memory;
  memory.set_goal("running");
  memory.set_run(7);
  memory.add_excluded("dcm-0");
  REQUIRE(write_memory(path, memory).empty());
  std::ostringstream written;
  written << std::ifstream(path).rdbuf();
  const std::string whole = written.str();
  std::ostringstream printed;
  std::streambuf* const before = std::cerr.rdbuf(printed.rdbuf());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    CAPTURE(size);
    std::ofstream(path, std::ios::trunc) << whole.substr(0, size);
    const auto read = read_memory(path);
    CHECK_FALSE(read);
    if (!read) CHECK(read.error().find("move it away to start afresh") != std::string::npos);
  }
  std::cerr.rdbuf(before);
  CHECK(printed.str().empty());
  std::filesystem::remove(path);
}

TEST_CASE("saved state is for the next process, and the first finds none") {
  const std::string path = fresh_file("weir-memory");
  v1::ControlMemory memory;
  memory.set_goal("ready");
  {
    Memory first(path);
    CHECK(first.before() == nullptr);
    CHECK(first.keep(memory).empty());
  }
  Memory second(path);
  REQUIRE(second.before() != nullptr);
  CHECK(second.before()->goal() == "ready");
  std::filesystem::remove(path);
  CHECK(second.keep(memory).empty());
  CHECK_FALSE(std::filesystem::exists(path));  // no change
  memory.set_goal("running");
  CHECK(second.keep(memory).empty());
  CHECK(std::filesystem::exists(path));
  std::filesystem::remove(path);
}

TEST_CASE("a failure to write is reported once, and without a path nothing is written") {
  v1::ControlMemory memory;
  memory.set_goal("ready");
  Memory lost("/nowhere/at/all");
  CHECK_FALSE(lost.keep(memory).empty());
  CHECK(lost.keep(memory).empty());
  Memory none("");
  CHECK(none.keep(memory).empty());
}
