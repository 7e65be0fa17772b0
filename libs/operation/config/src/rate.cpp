#include <weir/config/rate.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>

namespace weir::config {
namespace {

constexpr std::uint64_t kBufferMax = std::uint64_t{1} << 40;
constexpr double kRateMax = 1e15;  // whole bits per second up to this are exact in a double

struct Unit {
  std::string_view name;  // in lower case
  std::uint64_t factor;
};
constexpr std::array<Unit, 6> kRateUnits = {{{"", 1},
                                             {"bit", 1},
                                             {"kbit", 1'000},
                                             {"mbit", 1'000'000},
                                             {"gbit", 1'000'000'000},
                                             {"tbit", 1'000'000'000'000}}};
constexpr std::array<Unit, 11> kBufferUnits = {{{"", 1},
                                                {"b", 1},
                                                {"k", 1U << 10},
                                                {"kb", 1U << 10},
                                                {"kib", 1U << 10},
                                                {"m", 1U << 20},
                                                {"mb", 1U << 20},
                                                {"mib", 1U << 20},
                                                {"g", 1U << 30},
                                                {"gb", 1U << 30},
                                                {"gib", 1U << 30}}};

template <class Units>
const Unit* find_unit(const Units& units, std::string_view name) {
  while (!name.empty() && name.front() == ' ') name.remove_prefix(1);
  std::string lower(name);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const auto found =
      std::find_if(units.begin(), units.end(), [&](const Unit& unit) { return unit.name == lower; });
  return found == units.end() ? nullptr : &*found;
}

// Formats the number in the largest unit in which it is whole.
template <class Units>
std::string print(std::uint64_t number, const Units& units, std::string_view one) {
  const Unit* best = &units.front();  // the smallest unit
  for (const Unit& unit : units) {
    const bool larger = unit.factor > best->factor || best->name.size() < one.size();
    if (larger && unit.name.size() >= one.size() && number % unit.factor == 0) best = &unit;
  }
  return std::to_string(number / best->factor) + std::string(best->name);
}

}  // namespace

std::optional<std::uint64_t> parse_rate(std::string_view text) {
  if (text == "unlimited") return 0;
  double number = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  if (parsed.ec != std::errc() || text.empty() || text.front() == '-') return std::nullopt;
  const Unit* unit = find_unit(kRateUnits, {parsed.ptr, static_cast<std::size_t>(end - parsed.ptr)});
  if (unit == nullptr) return std::nullopt;
  const double bits = std::round(number * static_cast<double>(unit->factor));
  if (!(bits >= 1) || bits > kRateMax) return std::nullopt;
  return static_cast<std::uint64_t>(bits);
}

std::optional<std::uint64_t> parse_buffer(std::string_view text) {
  std::uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  if (parsed.ec != std::errc()) return std::nullopt;
  const Unit* unit = find_unit(kBufferUnits, {parsed.ptr, static_cast<std::size_t>(end - parsed.ptr)});
  if (unit == nullptr || number == 0 || number > kBufferMax / unit->factor) return std::nullopt;
  return number * unit->factor;
}

std::string print_rate(std::uint64_t bits_per_s) {
  return bits_per_s == 0 ? "unlimited" : print(bits_per_s, kRateUnits, "bit");
}

std::string print_buffer(std::uint64_t bytes) { return print(bytes, kBufferUnits, ""); }

}  // namespace weir::config
