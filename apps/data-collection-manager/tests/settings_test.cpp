#include "../src/settings.hpp"

#include "weir_catch.hpp"

namespace weir::dcm {
namespace {

assembly::AssemblySettings steps_of(bool remote, std::uint32_t deadline_ms = 1000) {
  node::Setup setup;
  setup.self.remote = remote;
  setup.farm.mutable_dcm()->set_deadline_ms(deadline_ms);
  setup.farm.mutable_supervisor()->set_lease_ms(30'000);
  return assembly_settings(setup);
}

}  // namespace

TEST_CASE("a step of a remote group has half of its lease, and with all put-offs no more than the lease") {
  CHECK(steps_of(false).deadline_ns == kSecond);
  CHECK(steps_of(false).deadline_most_ns == 5 * kSecond);
  CHECK(steps_of(true).deadline_ns == 15 * kSecond);
  CHECK(steps_of(true).deadline_most_ns == 30 * kSecond);
  // A longer deadline of the farm stays.
  CHECK(steps_of(true, 20'000).deadline_ns == 20 * kSecond);
}

}  // namespace weir::dcm
