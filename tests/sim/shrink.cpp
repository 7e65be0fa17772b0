#include "shrink.hpp"

#include "cpu_limit.hpp"
#include "seeds.hpp"

#include <cstdio>
#include <sys/wait.h>
#include <unistd.h>

namespace weir::sim {
namespace {

constexpr unsigned kSecondsMax = 120;

}  // namespace

bool fails(const Scenario& scenario) {
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child < 0) return false;
  if (child == 0) {
    test::limit_cpu(kSecondsMax);
    if (std::freopen("/dev/null", "w", stderr) == nullptr) ::_exit(2);
    ::_exit(run_scenario(scenario, false).problem.empty() ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return !(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

Scenario shrink(const Scenario& failing) {
  Scenario smallest = failing;
  bool smaller = true;
  while (smaller) {
    smaller = false;
    for (std::size_t i = 0; i < smallest.faults.size(); ++i) {
      Scenario candidate = smallest;
      candidate.faults.erase(candidate.faults.begin() + static_cast<std::ptrdiff_t>(i));
      if (!fails(candidate)) continue;
      smallest = candidate;
      smaller = true;
      break;
    }
  }
  return smallest;
}

void print_shrunk(const Scenario& failing, const std::string& rates) {
  const Scenario smallest = shrink(failing);
  std::printf("  fails with %zu of its %zu faults:\n", smallest.faults.size(), failing.faults.size());
  std::string only;
  for (const Fault& fault : smallest.faults) {
    std::size_t number = 0;
    while (describe(failing.faults[number]) != describe(fault)) ++number;
    std::printf("    %zu: %s\n", number, describe(fault).c_str());
    only += (only.empty() ? "" : ",") + std::to_string(number);
  }
  std::printf("  weir-sim --seed %llu%s %s --trace\n", static_cast<unsigned long long>(failing.seed),
              rates.empty() ? "" : (" --rates " + rates).c_str(),
              only.empty() ? "--no-faults" : ("--only " + only).c_str());
  std::fflush(stdout);
}

}  // namespace weir::sim
