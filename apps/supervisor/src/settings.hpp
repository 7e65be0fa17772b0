#pragma once

#include <weir/assignment/policy.hpp>
#include <weir/assignment/supervisor_machine.hpp>
#include <weir/assignment/trigger_source.hpp>
#include <weir/node/setup.hpp>

#include <memory>

namespace weir::supervisor {

// The farm file's words as the machine's. These throw std::runtime_error with a sentence.
[[nodiscard]] assignment::SupervisorSettings machine_settings(const node::Setup& setup);
// Returns how long a run waits for its processes to connect; grows with the farm.
[[nodiscard]] DurationNs gather_patience(const node::Setup& setup);
[[nodiscard]] std::unique_ptr<assignment::TriggerSource> make_triggers(const node::Setup& setup);
[[nodiscard]] std::unique_ptr<assignment::AssignmentPolicy> make_assignment_policy(const node::Setup& setup);

}  // namespace weir::supervisor
