#include "../src/members.hpp"

#include "weir_catch.hpp"
#include <weir/node/setup.hpp>

#include <sys/wait.h>
#include <unistd.h>

using namespace weir;
using namespace weir::run_control;

namespace {

bus::Sender sender(const std::string& id, const std::string& address = {}) {
  return {id, address, security::BusRole::node};
}

}  // namespace

TEST_CASE("a place has one process: a new one replaces its predecessor") {
  Members members(2);
  CHECK_FALSE(members.of("a"));
  v1::Join join;
  join.set_host("here");
  members.joined(1, sender("a"), join);
  CHECK(members.of("a") == 1U);
  join.set_host("there\n");
  members.joined(1, sender("b"), join);
  CHECK_FALSE(members.of("a"));
  CHECK(members.of("b") == 1U);
  CHECK(members[1].host.find('\n') == std::string::npos);
  members.left("b");
  CHECK_FALSE(members.of("b"));
  CHECK(members[1].client == "b");  // it was there once
}

TEST_CASE("a process that listens on all addresses is reached at the address that it sent from") {
  Members members(1);
  v1::Join join;
  join.set_metrics("0.0.0.0:9100");
  members.joined(0, sender("a", "10.0.0.7"), join);
  CHECK(members[0].metrics == "10.0.0.7:9100");
  join.set_metrics("10.0.0.9:9100");
  members.joined(0, sender("a", "10.0.0.7"), join);
  CHECK(members[0].metrics == "10.0.0.9:9100");
}

TEST_CASE("a supervisor's address is valid for its run alone") {
  Members members(1);
  CHECK(members.supervisor(RunNumber(0)).empty());
  members.supervisor_listens(RunNumber(4), "[::]:7000", "10.0.0.7");
  CHECK(members.supervisor(RunNumber(4)) == "10.0.0.7:7000");
  CHECK(members.supervisor(RunNumber(5)).empty());
}

TEST_CASE("a new run begins without reports") {
  Members members(1);
  v1::Report report;
  report.set_state("blocked: WRITER_DISK_FULL writer-0");
  members.reported(0, report);
  CHECK(members[0].report.state() == report.state());
  members.forget_reports();
  CHECK(members[0].report.state().empty());
}

TEST_CASE("a process is dead when its number is free on the machine that it was on, and not elsewhere") {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  Process process;
  process.pid = static_cast<std::uint32_t>(child);
  process.pid_space = node::pid_space();
  CHECK(is_dead(process));
  process.pid_space = "another machine";
  CHECK_FALSE(is_dead(process));
  process.pid_space = node::pid_space();
  process.pid = static_cast<std::uint32_t>(::getpid());
  CHECK_FALSE(is_dead(process));
}

TEST_CASE("a process is dead when another has its number, or its parent has not waited for it") {
  Members members(1);
  v1::Join join;
  join.set_pid(static_cast<std::uint32_t>(::getpid()));
  join.set_pid_space(node::pid_space());
  members.joined(0, {"a", "127.0.0.1", security::BusRole::node}, join);
  REQUIRE_FALSE(members[0].began.empty());
  CHECK_FALSE(is_dead(members[0]));
  Process earlier = members[0];
  earlier.began = std::to_string(std::stoull(earlier.began) - 1);
  CHECK(is_dead(earlier));
  earlier.began.clear();  // /proc did not have it
  CHECK_FALSE(is_dead(earlier));
  join.set_pid_space("another machine");
  members.joined(0, {"a", "127.0.0.1", security::BusRole::node}, join);
  CHECK(members[0].began.empty());

  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    char none = 0;
    ::close(ends[1]);
    ::_exit(static_cast<int>(::read(ends[0], &none, 1)));
  }
  join.set_pid(static_cast<std::uint32_t>(child));
  join.set_pid_space(node::pid_space());
  members.joined(0, {"a", "127.0.0.1", security::BusRole::node}, join);
  CHECK_FALSE(is_dead(members[0]));
  ::close(ends[0]);
  ::close(ends[1]);
  siginfo_t ended{};
  REQUIRE(::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT) == 0);
  CHECK(is_dead(members[0]));
  ::waitpid(child, nullptr, 0);
  CHECK(is_dead(members[0]));
}
