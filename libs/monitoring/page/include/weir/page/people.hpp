#pragma once

#include <weir/base/expected.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Users of the page, each with a token. Pure.
namespace weir::page {

enum class PersonRole : std::uint8_t {
  observer,  // may not command
  shift,     // leads runs: transitions, fields, alarms, bursts; adds and restarts processes
  expert     // also settings, removing processes, log levels, the end of the farm
};
[[nodiscard]] std::string_view name(PersonRole role);  // "observer", "shift", "expert"

struct Person {
  std::string name;  // empty: whoever has the token of `page-token`
  PersonRole role = PersonRole::observer;
  std::string token;
};

inline constexpr std::size_t kTokenBytesMin = 16;
inline constexpr std::size_t kPeopleMax = 64;

// Reads lines "ROLE NAME TOKEN"; empty lines and those that begin with '#' are skipped. Errors: a sentence
// with the number of the line, never with a token.
[[nodiscard]] Expected<std::vector<Person>, std::string> read_people(const std::string& text);

}  // namespace weir::page
