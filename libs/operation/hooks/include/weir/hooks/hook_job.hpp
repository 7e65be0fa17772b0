#pragma once

#include <weir/base/ids.hpp>
#include <weir/control/hooks.hpp>
#include <weir/hooks/hook_runner.hpp>
#include <weir/run_record/run_fields.hpp>
#include <weir/v1/bus.pb.h>

#include <boost/json/object.hpp>

#include <cstdint>
#include <map>
#include <string>

// The input of a hook: the account of a transition as JSON on standard input, and a part of it in the
// environment (docs/hooks.md).
namespace weir::hooks {

struct TransitionFacts {
  std::string farm;
  std::string state;
  RunNumber run;
  run_record::RunFields fields;                 // of the run
  std::map<std::string, std::string> settings;  // keys that differ from the farm file
  std::string folder;                           // of the run's records
};
[[nodiscard]] boost::json::object account_of(const TransitionFacts& facts);
// Adds the paths of the run's records, as after a start.
void add_records(const std::string& folder, RunNumber run, boost::json::object& account);
// Adds the end of the run.
void add_end(const v1::FarmView::Run& run, boost::json::object& account);

// Returns the job of a hook. Requires: it is at this point.
[[nodiscard]] HookJob job_of(const control::Hook& hook, control::HookPoint point, std::uint64_t id,
                             boost::json::object account);

}  // namespace weir::hooks
