// Tests when hosts may compute: rhythms, quotas, and the place of control groups.
#include "weir_catch.hpp"
#include <weir/lab/cpu_shares.hpp>
#include <weir/lab/pauses.hpp>

namespace weir::lab {
namespace {

TEST_CASE("a host pauses at the beginning of every period but the first") {
  const Rhythm rhythm{500 * kMillisecond, 80 * kMillisecond};
  CHECK_FALSE(rhythm.still(0));
  CHECK_FALSE(rhythm.still(499 * kMillisecond));
  CHECK(rhythm.still(500 * kMillisecond));
  CHECK(rhythm.still(579 * kMillisecond));
  CHECK_FALSE(rhythm.still(580 * kMillisecond));
  CHECK(rhythm.still(1010 * kMillisecond));
  CHECK(rhythm.until_change_ns(100 * kMillisecond) == 400 * kMillisecond);
  CHECK(rhythm.until_change_ns(500 * kMillisecond) == 80 * kMillisecond);
  CHECK(rhythm.until_change_ns(600 * kMillisecond) == 400 * kMillisecond);
}

TEST_CASE("without a rhythm no pause; a long one is checked every second") {
  CHECK_FALSE(Rhythm{}.still(kSecond));
  CHECK(Rhythm{}.until_change_ns(0) == kSecond);
  CHECK(Rhythm{60 * kSecond, kSecond}.until_change_ns(0) == kSecond);
}

TEST_CASE("a share of a core is a rhythm with turns of a millisecond or more") {
  CHECK(rhythm_of_share(0.25).every_ns == 20 * kMillisecond);
  CHECK(rhythm_of_share(0.25).for_ns == 15 * kMillisecond);
  CHECK(rhythm_of_share(0.01).every_ns == 100 * kMillisecond);
  CHECK(rhythm_of_share(0.01).for_ns == 99 * kMillisecond);
  CHECK(rhythm_of_share(1.5).every_ns == 0);
  CHECK(rhythm_of_share(0).every_ns == 0);
}

TEST_CASE("a share of a core is a quota of the kernel's") {
  CHECK(quota_of_share(0.25).period_ns == 20 * kMillisecond);
  CHECK(quota_of_share(0.25).quota_ns == 5 * kMillisecond);
  CHECK(quota_of_share(2).quota_ns == 40 * kMillisecond);
  CHECK(quota_of_share(0.01).period_ns == 100 * kMillisecond);
  CHECK(quota_of_share(0.01).quota_ns == kMillisecond);
}

TEST_CASE("groups are made below this process' own, or in the one tree of version 2") {
  const std::string tmpfs = "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n";
  const std::string cpu = "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n";
  const std::string both =
      "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct\n";
  const std::string accounts = "33 31 0:30 / /sys/fs/cgroup/cpuacct rw - cgroup cgroup rw,cpuacct\n";
  const std::string two = "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";
  CHECK_FALSE(cpu_groups(tmpfs + accounts, "").has_value());
  CHECK(cpu_groups(tmpfs + two + cpu, "2:cpuacct:/x\n1:cpu:/\n0::/\n")->folder == "/sys/fs/cgroup/cpu");
  const auto below = cpu_groups(accounts + both, "4:cpu,cpuacct:/user/me\n");
  REQUIRE(below.has_value());
  CHECK_FALSE(below->unified);
  CHECK(below->folder == "/sys/fs/cgroup/cpu,cpuacct/user/me");
  const auto unified = cpu_groups(tmpfs + two, "0::/user.slice\n");
  REQUIRE(unified.has_value());
  CHECK(unified->unified);
  CHECK(unified->folder == "/sys/fs/cgroup/unified");
}

}  // namespace
}  // namespace weir::lab
