#pragma once

#include <weir/control/alarms.hpp>

#include <cstdint>
#include <string>

namespace weir::run_control {

// Events of alarms, a JSON object a line, in a file of at most kBytesMax and the one before it.
class AlarmHistory {
 public:
  static constexpr std::uint64_t kBytesMax = 2 << 20;

  explicit AlarmHistory(std::string path) : path_(std::move(path)) {}

  // Returns an error the first time that the file cannot be written.
  [[nodiscard]] std::string add(const control::AlarmEvent& event);

 private:
  std::string path_;  // empty: none is kept
  bool failed_ = false;
};

}  // namespace weir::run_control
