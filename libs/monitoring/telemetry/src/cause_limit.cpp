#include <weir/base/assert.hpp>
#include <weir/telemetry/cause_limit.hpp>

#include <utility>

namespace weir::telemetry {
namespace {

std::string without_digits(std::string_view cause) {
  std::string key;
  for (const char letter : cause) {
    if (letter < '0' || letter > '9') {
      key += letter;
    } else if (key.empty() || key.back() != '0') {
      key += '0';
    }
  }
  return key;
}

}  // namespace

std::optional<std::uint64_t> CauseLimit::ask(std::string_view cause, TimeNs now_ns) {
  std::string key = without_digits(cause);
  if (!causes_.contains(key) && causes_.size() >= kCausesMax) key.clear();
  Seen& seen = causes_[key];
  WEIR_ASSERT(causes_.size() <= kCausesMax + 1);  // one for all further causes
  ++seen.count;
  if (now_ns < seen.next_ns) return std::nullopt;
  seen.next_ns = now_ns + kInterval;
  return std::exchange(seen.count, 0);
}

}  // namespace weir::telemetry
