#pragma once

#include <weir/base/time.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace weir::telemetry {

// Allows one line per cause and interval, so that a filter that fails for every slice leaves a line per
// interval. Causes that differ in digits only are one cause. Not thread-safe.
class CauseLimit {
 public:
  static constexpr DurationNs kInterval = 10 * kSecond;
  static constexpr std::size_t kCausesMax = 16;  // further ones count as one

  // Counts an event. Returns nothing if no line should be written for it, else the number of events of this
  // cause since its last line, this one included.
  [[nodiscard]] std::optional<std::uint64_t> ask(std::string_view cause, TimeNs now_ns);

 private:
  struct Seen {
    TimeNs next_ns = 0;
    std::uint64_t count = 0;
  };
  std::unordered_map<std::string, Seen> causes_;
};

}  // namespace weir::telemetry
