#include "node_names.hpp"

namespace weir::config {
namespace {

constexpr std::string_view kPlain = "{i}";
constexpr std::string_view kPadded = "{i:0";  // then one digit and '}'

struct Place {
  std::size_t at = std::string_view::npos;
  std::size_t length = 0;
  std::size_t digits = 0;
};

Place find(std::string_view pattern) {
  if (const std::size_t at = pattern.find(kPlain); at != pattern.npos) return {at, kPlain.size(), 0};
  const std::size_t at = pattern.find(kPadded);
  const std::size_t digit = at + kPadded.size();
  if (at == pattern.npos || pattern.size() < digit + 2 || pattern[digit] < '1' || pattern[digit] > '9' ||
      pattern[digit + 1] != '}')
    return {};
  return {at, kPadded.size() + 2, static_cast<std::size_t>(pattern[digit] - '0')};
}

}  // namespace

bool takes_number(std::string_view pattern) { return find(pattern).length > 0; }

std::string numbered(std::string_view pattern, std::uint32_t number) {
  const Place place = find(pattern);
  if (place.length == 0) return std::string(pattern);
  std::string digits = std::to_string(number);
  if (digits.size() < place.digits) digits.insert(0, place.digits - digits.size(), '0');
  return std::string(pattern.substr(0, place.at)) + digits +
         std::string(pattern.substr(place.at + place.length));
}

}  // namespace weir::config
