#pragma once

#include "parts.hpp"
#include <weir/base/expected.hpp>
#include <weir/control/preflight.hpp>
#include <weir/v1/bus.pb.h>
#include <weir/v1/control.pb.h>

#include <string>

namespace weir::run_control {

// Collects processes, clocks, missing disks and the age of keys; and checksums: the run's parts, or why they
// conflict.
[[nodiscard]] control::PreflightFacts preflight_facts(const Parts& parts,
                                                      const Expected<v1::RunIdentity, std::string>& identity);
void add_checks(const control::PreflightFacts& facts, v1::Reply& reply);

}  // namespace weir::run_control
