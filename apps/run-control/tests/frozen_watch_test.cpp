#include "../src/frozen_watch.hpp"

#include "small_farm.hpp"
#include "weir_catch.hpp"

#include <csignal>
#include <string>

using namespace weir;
using namespace weir::run_control;

namespace {

std::string status(const std::string& state, const std::string& tracer, const std::string& waits) {
  return "Name:\tweir-supervisor\nState:\t" + state + "\nPid:\t12\nPPid:\t41\nTracerPid:\t" + tracer +
         "\nvoluntary_ctxt_switches:\t" + waits + "\nnonvoluntary_ctxt_switches:\t9\n";
}

}  // namespace

TEST_CASE("the status of a process has its state, its tracer and its starter") {
  const auto stopped = read_status(status("T (stopped)", "0", "12"), 41);
  REQUIRE(stopped);
  CHECK(stopped->stopped);
  CHECK(!stopped->traced);
  CHECK(stopped->same_starter);
  CHECK(stopped->waits == 12U);
  CHECK(!read_status(status("S (sleeping)", "0", "12"), 40)->same_starter);
  CHECK(!read_status(status("S (sleeping)", "0", "12"), 41)->stopped);
  CHECK(read_status(status("t (tracing stop)", "77", "12"), 41)->traced);
  CHECK(!read_status(status("t (tracing stop)", "77", "12"), 41)->stopped);
  CHECK(read_status(status("D (disk sleep)", "0", "12"), 41)->in_disk);
}

TEST_CASE("a dead process is not frozen, and a number that the system does not count is unknown") {
  CHECK(!read_status(status("Z (zombie)", "0", "12"), 41));
  CHECK(!read_status("", 41));
  CHECK(!read_status(status("S (sleeping)", "0", "0"), 41)->waits);
  // Without a line about tracers nothing is ended.
  CHECK(read_status("State:\tT (stopped)\nPPid:\t41\n", 41)->traced);
}

TEST_CASE("the end of a process that run control killed is reported in its words, once") {
  test::SmallFarm farm;
  const std::size_t dcm = farm.member("dcm-0");
  const auto join = [&](std::uint32_t pid, const std::string& after) {
    v1::Join message;
    message.set_pid(pid);
    message.set_after(after);
    farm.members.joined(dcm, {"dcm-0", "", security::BusRole::node}, message);
    return farm.members[dcm].after;
  };
  CHECK(join(100, "").empty());
  farm.members.was_ended(dcm, "killed by run control: hung");
  CHECK(join(100, "").empty());  // the same process, before its end
  CHECK(join(101, "signal 9 (Killed)") == "killed by run control: hung");
  CHECK(join(102, "signal 11") == "signal 11");
}
