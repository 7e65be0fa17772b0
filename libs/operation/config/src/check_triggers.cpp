#include "validation.hpp"
#include "yaml_tree.hpp"
#include <weir/config/id_order.hpp>
#include <weir/slice_rows/trigger_file.hpp>
#include <weir/slice_rows/words.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <system_error>

namespace weir::config {
namespace {

// One trigger in the longest run, a year.
constexpr double kRateMinHz = 1.0 / 31536000;

bool is_push(Validation& found) { return found.farm().run().mode() == v1::RunSettings::MODE_PUSH; }

}  // namespace

void check_trigger(Validation& found) {
  using Trigger = v1::TriggerSettings;
  const Trigger& trigger = found.farm().trigger();
  const bool needs_rate = trigger.mode() == Trigger::MODE_RATE || trigger.mode() == Trigger::MODE_POISSON;
  if (needs_rate && trigger.rate_hz() == 0) {
    const std::string mode = trigger.mode() == Trigger::MODE_RATE ? "rate" : "poisson";
    found.error(ProblemKind::missing_key, "trigger.rate_hz", "needed by trigger.mode '" + mode + "'");
  } else if (needs_rate && trigger.rate_hz() < kRateMinHz) {
    found.error(ProblemKind::out_of_range, "trigger.rate_hz",
                "a rate above 0 must be at least 3.2e-8 Hz, one trigger a year");
  }
  if (trigger.mode() == Trigger::MODE_FILE) {
    std::error_code ignored;
    if (trigger.file().empty()) {
      found.error(ProblemKind::missing_key, "trigger.file", "needed by trigger.mode 'file'");
    } else if (!std::filesystem::is_regular_file(trigger.file(), ignored)) {
      found.error(ProblemKind::unreadable, "trigger.file", in_quotes(trigger.file()) + ": no such file");
    }
  }
  if (trigger.mode() == Trigger::MODE_NETWORK && trigger.listen().empty()) {
    found.error(ProblemKind::missing_key, "trigger.listen", "needed by trigger.mode 'network'");
  }
  if (trigger.mode() != Trigger::MODE_NETWORK && !trigger.listen_text().empty()) {
    found.inconsistent("trigger.listen_text", "needs trigger.mode 'network'");
  }
  if (trigger.first_slice() > slice_rows::kSliceIdNamedMax.value) {
    found.error(ProblemKind::out_of_range, "trigger.first_slice",
                std::to_string(trigger.first_slice()) + " is above " +
                    std::to_string(slice_rows::kSliceIdNamedMax.value) +
                    " (2^62 - 2^32 - 1), the highest id that may be named");
  }
  std::set<std::uint32_t> types;
  for (int i = 0; i < trigger.types_size(); ++i) {
    const std::uint32_t type = trigger.types(i).type();
    if (!types.insert(type).second) {
      found.inconsistent("trigger.types[" + std::to_string(i) + "].type",
                         "type " + std::to_string(type) + " is listed twice");
    }
  }
}

void check_trigger_file(Validation& found) {
  if (found.farm().trigger().mode() != v1::TriggerSettings::MODE_FILE) return;
  const std::string& path = found.farm().trigger().file();
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  const auto triggers = slice_rows::parse_trigger_file(text.str(), path);
  if (!triggers) return found.error(ProblemKind::unreadable, "trigger.file", triggers.error());
  const std::string why = ascending_ids_reason(found.farm());
  const auto at = slice_rows::first_descending(*triggers);
  if (why.empty() || !at) return;
  found.inconsistent("trigger.file", in_quotes(path) + ": slice " +
                                         std::to_string((*triggers)[*at].slice.value) + " follows slice " +
                                         std::to_string((*triggers)[*at - 1].slice.value) + ", and " + why);
}

void check_overrun(Validation& found) {
  using Readout = v1::ReadoutSettings;
  using Trigger = v1::TriggerSettings;
  const Readout& readout = found.farm().readout();
  if (!is_push(found)) return;
  const bool cuts = readout.on_overrun() == Readout::ON_OVERRUN_TRUNCATE ||
                    readout.on_overrun() == Readout::ON_OVERRUN_DROP;
  if (cuts && readout.overrun_bytes() == 0) {
    found.error(ProblemKind::missing_key, "readout.overrun_bytes",
                "needed by readout.on_overrun 'truncate' and 'drop'");
  }
  const bool barrel = readout.shaper() == Readout::SHAPER_BARREL;
  if (readout.cut_off_bytes() > 0 && !barrel) {
    found.inconsistent(
        "readout.cut_off_bytes",
        "needs readout.shaper 'barrel': slices must be held back until the end of a burst is known");
  }
  const auto mode = found.farm().trigger().mode();
  const bool knows_slot =
      mode == Trigger::MODE_CLOCK || mode == Trigger::MODE_RATE || mode == Trigger::MODE_POISSON;
  if (barrel && !knows_slot && readout.slot_ms() == 0) {
    found.error(ProblemKind::missing_key, "readout.slot_ms",
                "needed by readout.shaper 'barrel' where trigger.mode is not 'clock', 'rate' or 'poisson'");
  }
}

namespace {

void check_cut_off_sources(Validation& found, const FarmPlan& plan) {
  const v1::ReadoutSettings& readout = found.farm().readout();
  if (readout.cut_off_sources() == 1) return;
  if (readout.cut_off_bytes() == 0) {
    found.warn("readout.cut_off_sources", "has no effect without readout.cut_off_bytes");
    return;
  }
  for (const NodePlan* node : plan.of_role(Role::readout)) {
    if (node->sources.size() % readout.cut_off_sources() == 0) continue;
    found.inconsistent("readout.cut_off_sources",
                       std::to_string(readout.cut_off_sources()) + " does not divide the " +
                           std::to_string(node->sources.size()) + " sources of " + node->name);
    return;
  }
}

}  // namespace

// Checks that delays and waiting times fit the number of DCMs.
void check_push(Validation& found, const FarmPlan& plan) {
  if (!is_push(found)) {
    if (found.farm().dcm().incomplete() == v1::DcmSettings::INCOMPLETE_ORDER) {
      found.inconsistent("dcm.incomplete",
                         "'order' needs run.mode 'push': requested fragments have no order that tells which "
                         "are late");
    }
    return;
  }
  check_cut_off_sources(found, plan);
  if (found.farm().readout().shaper() != v1::ReadoutSettings::SHAPER_BARREL) return;
  const std::size_t readouts = plan.of_role(Role::readout).size();
  const std::size_t dcms = std::max<std::size_t>(1, plan.of_role(Role::dcm).size());
  const std::size_t group = found.farm().readout().barrel_group();
  const std::size_t delays = (readouts + group - 1) / group;
  if (delays > dcms) {
    found.warn("readout.barrel_group", std::to_string(group) + " makes " + std::to_string(delays) +
                                           " delays, more than there are DCMs, " + std::to_string(dcms) +
                                           ": readouts of two delays send to one DCM at a time; " +
                                           std::to_string((readouts + dcms - 1) / dcms) +
                                           " is the least that fits");
  }
  const std::size_t held_back =
      found.farm().readout().cut_off_bytes() > 0 ? found.farm().readout().cut_off_slices() : 0;
  // Slices from the first word of one to its last, plus the one that has just begun.
  const std::size_t active = (delays + held_back + dcms) / dcms + 1;
  if (found.farm().dcm().push_active_slices() < active) {
    found.warn("dcm.push_active_slices", std::to_string(found.farm().dcm().push_active_slices()) +
                                             " is below the " + std::to_string(active) +
                                             " slices under way: slices will be evicted");
  }
}

}  // namespace weir::config
