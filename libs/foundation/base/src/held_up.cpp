#include <weir/base/held_up.hpp>

#include <algorithm>
#include <array>

namespace weir {
namespace {

constexpr std::array<std::string_view, kHolds> kHoldNames = {"none", "throttled", "blocked"};

// Returns the first word of `text` and removes it, with the blank behind it, from `text`.
std::string_view take_word(std::string_view& text) {
  const std::string_view word = text.substr(0, text.find(' '));
  text.remove_prefix(std::min(text.size(), word.size() + 1));
  return word;
}

}  // namespace

std::string_view name(Hold hold) { return kHoldNames[static_cast<std::size_t>(hold)]; }

HeldUp held_up_of(std::string_view state) {
  const std::size_t colon = state.find(": ");
  if (colon == state.npos) return {};
  const auto named = std::find(kHoldNames.begin() + 1, kHoldNames.end(), state.substr(0, colon));
  if (named == kHoldNames.end()) return {};
  HeldUp held{static_cast<Hold>(named - kHoldNames.begin()), {}, {}, state.substr(colon + 2)};
  std::string_view rest = held.told;
  held.reason = take_word(rest);
  held.cause = take_word(rest);
  return held;
}

std::string held_up_state(Hold hold, std::string_view reason, std::string_view cause) {
  std::string text(name(hold));
  text.append(": ").append(reason);
  if (!cause.empty()) text.append(" ").append(cause);
  return text;
}

}  // namespace weir
