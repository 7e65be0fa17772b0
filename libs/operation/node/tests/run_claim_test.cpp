#include "temporary_folder.hpp"
#include "weir_catch.hpp"
#include <weir/node/run_claim.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace weir::node {

using test::TemporaryFolder;
namespace {

constexpr RunNumber kRun(7);
constexpr std::uint64_t kMine = 0x0123456789abcdefULL;
constexpr std::uint64_t kOthers = 0xfedcba9876543210ULL;

TEST_CASE("of processes that claim a run at the same time one gets it, and the others the next numbers") {
  constexpr int kProcesses = 24;
  for (int round = 0; round < 20; ++round) {
    const TemporaryFolder folder;
    int go[2];
    REQUIRE(::pipe(go) == 0);
    std::vector<pid_t> children;
    for (int i = 0; i < kProcesses; ++i) {
      const pid_t child = ::fork();
      REQUIRE(child >= 0);
      if (child == 0) {
        char token = 0;
        ::close(go[1]);
        (void)!::read(go[0], &token, 1);  // all children begin when the parent closes its end
        std::uint32_t number = 1;
        for (; number <= kProcesses; ++number) {
          const auto claimed =
              claim_run(folder.path(), RunNumber(number), "farm", kMine + static_cast<unsigned>(i));
          if (!claimed) ::_exit(0);
          if (*claimed) break;
        }
        ::_exit(static_cast<int>(number));
      }
      children.push_back(child);
    }
    ::close(go[0]);
    ::close(go[1]);
    std::set<int> numbers;
    for (const pid_t child : children) {
      int status = 0;
      REQUIRE(::waitpid(child, &status, 0) == child);
      numbers.insert(WEXITSTATUS(status));
    }
    CHECK(numbers.size() == kProcesses);
    CHECK(*numbers.begin() == 1);
    CHECK(*numbers.rbegin() == kProcesses);
    for (std::uint32_t number = 1; number <= kProcesses; ++number)
      CHECK(read_claim(folder.path(), RunNumber(number)).value_or(0) != 0);
    // The attempts leave no other files.
    CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == kProcesses);
  }
}

TEST_CASE(
    "a process of the run holds its claim, before and after a restart, and one of another run does not") {
  const TemporaryFolder folder;
  CHECK_FALSE(read_claim(folder.path(), kRun).has_value());
  CHECK(hold_claim(folder.path(), kRun, "farm", kMine) == true);  // not claimed yet
  CHECK(hold_claim(folder.path(), kRun, "farm", kMine) == false);
  CHECK(read_claim(folder.path(), kRun) == kMine);
  const auto refused = hold_claim(folder.path(), kRun, "farm", kOthers);
  REQUIRE_FALSE(refused.has_value());
  CHECK_THAT(refused.error(), Catch::ContainsSubstring("holds run 7 of another farm") &&
                                  Catch::ContainsSubstring("run-000007-claim.yaml") &&
                                  Catch::ContainsSubstring("choose another run number"));
  CHECK(hold_claim(folder.path(), RunNumber(8), "farm", kOthers) == true);
}

TEST_CASE("a claim is given up by its own run alone") {
  const TemporaryFolder folder;
  REQUIRE(claim_run(folder.path(), kRun, "farm", kMine) == true);
  give_up_claim(folder.path(), kRun, kOthers);
  CHECK(claim_run(folder.path(), kRun, "farm", kOthers) == false);
  give_up_claim(folder.path(), kRun, kMine);
  CHECK(claim_run(folder.path(), kRun, "farm", kOthers) == true);
}

TEST_CASE("an unreadable claim belongs to no run") {
  const TemporaryFolder folder;
  std::ofstream(claim_path(folder.path(), kRun)).put('\n');
  CHECK(read_claim(folder.path(), kRun) == 0);
  CHECK_FALSE(hold_claim(folder.path(), kRun, "farm", kMine).has_value());
}

TEST_CASE("a folder that cannot be written into is named") {
  const auto claimed = claim_run("/proc/self", kRun, "farm", kMine);
  REQUIRE_FALSE(claimed.has_value());
  CHECK_THAT(claimed.error(), Catch::ContainsSubstring("cannot write into '/proc/self'"));
}

}  // namespace
}  // namespace weir::node
