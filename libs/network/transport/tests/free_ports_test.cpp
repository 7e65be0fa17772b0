#include "skip.hpp"
#include "weir_catch.hpp"
#include <weir/transport/free_ports.hpp>

#include <arpa/inet.h>
#include <fstream>
#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace weir;

namespace {

// Takes a free port of this process' network namespace, and keeps it.
bool takes_port() {
  sockaddr_in any{};
  any.sin_family = AF_INET;
  const int descriptor = ::socket(AF_INET, SOCK_STREAM, 0);
  return ::bind(descriptor, reinterpret_cast<const sockaddr*>(&any), sizeof any) == 0;
}

enum Outcome : int { kAsExpected, kWrong, kNoNamespace };

Outcome in_namespace_with_two_ports() {
  if (::unshare(CLONE_NEWNET) != 0) return kNoNamespace;
  std::ofstream range("/proc/sys/net/ipv4/ip_local_port_range");
  if (!(range << "40000 40001" << std::flush)) return kNoNamespace;
  if (!transport::no_port_left().empty() || !takes_port() || !takes_port()) return kWrong;
  const std::string why = transport::no_port_left();
  return why.find("net.ipv4.ip_local_port_range is 40000 to 40001: ") != why.npos ? kAsExpected : kWrong;
}

}  // namespace

TEST_CASE("a range without a free ephemeral port is named, and one with a free port is not") {
  CHECK(transport::no_port_left().empty());
  const pid_t child = ::fork();
  if (child == 0) ::_exit(in_namespace_with_two_ports());
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kNoNamespace) return skip_test("a network namespace needs root's rights");
  CHECK(WEXITSTATUS(status) == kAsExpected);
}
