#include <weir/config/locations.hpp>

namespace weir::config {

std::string Locations::of(std::string_view key) const {
  while (!key.empty()) {
    if (const auto found = places_.find(key); found != places_.end()) return found->second;
    const auto cut = key.find_last_of(".[");
    key = key.substr(0, cut == std::string_view::npos ? 0 : cut);
  }
  return file_;
}

std::string Locations::exactly(std::string_view key) const {
  const auto found = places_.find(key);
  return found == places_.end() ? std::string() : found->second;
}

}  // namespace weir::config
