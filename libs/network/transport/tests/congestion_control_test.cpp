#include "weir_catch.hpp"
#include <weir/transport/congestion_control.hpp>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <unistd.h>
#include <vector>

namespace weir::transport {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;

std::vector<std::string> names_in(const std::string& file) {
  std::ifstream names("/proc/sys/net/ipv4/" + file);
  return {std::istream_iterator<std::string>(names), {}};
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

TEST_CASE("an unknown congestion control is a problem, with the names that the kernel has") {
  CHECK(congestion_control_problem("").empty());
  for (const std::string& name : {std::string("no-such"), std::string(1000, 'x')}) {
    const std::string problem = congestion_control_problem(name);
    CHECK_THAT(problem, StartsWith("this kernel has no '" + name + "'"));
    for (const std::string& known : names_in("tcp_available_congestion_control"))
      CHECK_THAT(problem, ContainsSubstring(known));
  }
}

// The reserved ones differ between hosts.
TEST_CASE("other users than root may take the default congestion control and the allowed ones") {
  const bool root = ::geteuid() == 0;
  if (root) REQUIRE(::seteuid(65534) == 0);
  const auto allowed = names_in("tcp_allowed_congestion_control");
  const auto own = names_in("tcp_congestion_control");
  for (const std::string& name : names_in("tcp_available_congestion_control")) {
    CAPTURE(name);
    const std::string problem = congestion_control_problem(name);
    CHECK(problem.empty() == (contains(allowed, name) || contains(own, name)));
    if (!problem.empty()) CHECK_THAT(problem, StartsWith("this kernel keeps '" + name + "' for root"));
  }
  if (root) REQUIRE(::seteuid(0) == 0);
}

}  // namespace
}  // namespace weir::transport
