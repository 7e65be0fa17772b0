#pragma once

#include "model_farm.hpp"
#include "weir_catch.hpp"

// A farm with one slice, which has one DCM.
namespace weir::assignment::test {

inline Farm one_slice(SupervisorSettings settings = small_farm()) {
  settings.slices_max = 1;
  Farm farm(settings);
  farm.join_dcm(0, 4);
  farm.pass();
  return farm;
}

inline const Assignment& only_assignment(const Actions& actions, std::uint16_t dcm) {
  REQUIRE(actions.dcms.size() > dcm);
  REQUIRE(actions.dcms[dcm].assign.size() == 1);
  return actions.dcms[dcm].assign[0];
}

inline const Confirmation& only_confirmation(const Actions& actions, std::uint16_t dcm) {
  REQUIRE(actions.dcms.size() > dcm);
  REQUIRE(actions.dcms[dcm].confirm.size() == 1);
  return actions.dcms[dcm].confirm[0];
}

}  // namespace weir::assignment::test
