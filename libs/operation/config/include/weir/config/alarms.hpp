#pragma once

#include <weir/base/expected.hpp>
#include <weir/config/locations.hpp>
#include <weir/config/problem.hpp>
#include <weir/control/alarms.hpp>
#include <weir/control/states.hpp>
#include <weir/v1/farm.pb.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weir::config {

// How a channel sends its messages.
struct AlarmWay {
  enum class Kind : std::uint8_t { command, mail, webhook };
  Kind kind;
  std::string what;  // command, or a file with address and password
  v1::AlarmChannelSettings::Format format;
  std::uint32_t seconds_max;
};

// A condition of the farm that raises the alarm `name`.
struct AlarmCondition {
  std::string name;
  std::string metric;  // empty: `state`
  std::optional<double> above;
  std::optional<double> below;
  std::optional<control::State> state;
};

struct Alarms {
  control::AlarmSettings settings;
  std::vector<AlarmWay> ways;  // of settings.channels
  std::vector<AlarmCondition> conditions;
};

// Returns the farm file's `control.alarms`. Errors: every problem. Called by validate().
[[nodiscard]] Expected<Alarms, Problems> read_alarms(const v1::Farm& farm, const Locations& locations = {});

}  // namespace weir::config
