#pragma once

#include <weir/assignment/dcm_groups.hpp>
#include <weir/assignment/supervisor_machine.hpp>
#include <weir/assignment/trigger_source.hpp>
#include <weir/node/setup.hpp>

#include <memory>

namespace weir::supervisor {

// Converts the farm file's words to the machine's types. These throw std::runtime_error with a sentence.
[[nodiscard]] assignment::SupervisorSettings machine_settings(const node::Setup& setup);
// Returns how long a run waits for its processes to connect; grows with the farm.
[[nodiscard]] DurationNs gather_patience(const node::Setup& setup);
[[nodiscard]] std::unique_ptr<assignment::TriggerSource> make_triggers(const node::Setup& setup);
// One for each group of DCMs.
[[nodiscard]] assignment::DcmGroups::Policies make_policies(const node::Setup& setup);

}  // namespace weir::supervisor
