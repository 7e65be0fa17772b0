#include <weir/base/assert.hpp>
#include <weir/reports/merged_texts.hpp>

#include <cstddef>
#include <string_view>
#include <unordered_map>

namespace weir::reports {

std::vector<std::string> merged(std::span<const std::string> texts) {
  struct Place {
    std::size_t at;
    std::size_t times;
  };
  std::vector<std::string> out;
  std::unordered_map<std::string_view, Place> known;
  for (const std::string& text : texts) {
    const auto [place, is_new] = known.try_emplace(text, Place{out.size(), 0});
    ++place->second.times;
    if (is_new) out.push_back(text);
  }
  WEIR_ASSERT(out.size() == known.size());
  for (const auto& [text, place] : known) {
    if (place.times > 1) out[place.at] += " (" + std::to_string(place.times) + " times)";
  }
  return out;
}

}  // namespace weir::reports
