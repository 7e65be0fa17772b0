#include "../src/settings.hpp"

#include "weir_catch.hpp"

namespace weir::dcm {
namespace {

v1::Farm farm_of(std::uint32_t deadline_ms, std::uint32_t lease_ms) {
  v1::Farm farm;
  farm.mutable_dcm()->set_deadline_ms(deadline_ms);
  farm.mutable_supervisor()->set_lease_ms(lease_ms);
  return farm;
}

}  // namespace

TEST_CASE("a step of a remote group has half of its lease, and with all put-offs no more than the lease") {
  const v1::Farm farm = farm_of(1000, 30'000);
  CHECK(assembly_settings(farm, false).deadline_ns == kSecond);
  CHECK(assembly_settings(farm, false).deadline_most_ns == 5 * kSecond);
  CHECK(assembly_settings(farm, true).deadline_ns == 15 * kSecond);
  CHECK(assembly_settings(farm, true).deadline_most_ns == 30 * kSecond);
  // A longer deadline of the farm stays.
  CHECK(assembly_settings(farm_of(20'000, 30'000), true).deadline_ns == 20 * kSecond);
}

}  // namespace weir::dcm
