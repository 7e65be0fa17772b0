#include <weir/run_database/moment.hpp>

#include <charconv>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <string>

namespace weir::run_database {
namespace {

std::optional<DurationNs> read_age(std::string_view text) {
  if (text.size() < 2) return std::nullopt;
  constexpr DurationNs kMinute = 60 * kSecond;
  const char unit = text.back();
  const DurationNs scale = unit == 's'   ? kSecond
                           : unit == 'm' ? kMinute
                           : unit == 'h' ? 60 * kMinute
                           : unit == 'd' ? 24 * 60 * kMinute
                                         : 0;
  constexpr std::uint32_t kMost = 100'000;  // days that UtcNs has
  std::uint32_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size() - 1, count);
  if (scale == 0 || error != std::errc() || end != text.data() + text.size() - 1 || count > kMost)
    return std::nullopt;
  return count * scale;
}

}  // namespace

std::optional<UtcNs> read_moment(std::string_view text, UtcNs now) {
  if (const auto age = read_age(text)) return now - *age;
  const std::string copy(text);
  std::tm parts{};
  double seconds = 0;
  int used = 0;
  const auto matches = [&](const char* format, auto*... fields) {
    used = 0;
    return std::sscanf(copy.c_str(), format, &parts.tm_year, &parts.tm_mon, &parts.tm_mday, fields...,
                       &used) >= 3 + static_cast<int>(sizeof...(fields)) &&
           used > 0 &&
           (static_cast<std::size_t>(used) == copy.size() ||
            (static_cast<std::size_t>(used) + 1 == copy.size() && copy.back() == 'Z'));
  };
  if (!matches("%4d-%2d-%2d%n")) {
    parts.tm_hour = parts.tm_min = 0;
    if (!matches("%4d-%2d-%2d%*[ T]%2d:%2d%n", &parts.tm_hour, &parts.tm_min) &&
        !matches("%4d-%2d-%2d%*[ T]%2d:%2d:%lf%n", &parts.tm_hour, &parts.tm_min, &seconds))
      return std::nullopt;
  }
  const bool is_date = parts.tm_year >= 1970 && parts.tm_year < 2250 && parts.tm_mon >= 1 &&
                       parts.tm_mon <= 12 && parts.tm_mday >= 1 && parts.tm_mday <= 31 &&
                       parts.tm_hour >= 0 && parts.tm_hour < 24 && parts.tm_min >= 0 && parts.tm_min < 60 &&
                       seconds >= 0 && seconds < 61;
  if (!is_date) return std::nullopt;
  parts.tm_year -= 1900;
  parts.tm_mon -= 1;
  return static_cast<UtcNs>(::timegm(&parts)) * kSecond + std::llround(seconds * kSecond);
}

}  // namespace weir::run_database
