#include <weir/filter_host/streams.hpp>
#include <weir/weir_filter.h>

#include <algorithm>
#include <stdexcept>

namespace weir::filter_host {
namespace {
constexpr std::string_view kDefault = "default";
constexpr std::string_view kDebug = "debug";
}  // namespace

StreamTable::StreamTable(const std::vector<std::string>& names)
    : mask_(WEIR_STREAM_DEFAULT | WEIR_STREAM_DEBUG) {
  for (const std::string& name : names) {
    if (name.empty()) throw std::runtime_error("a stream has an empty name: name it or leave it out");
    if (name == kDefault || name == kDebug) continue;
    if (std::find(own_.begin(), own_.end(), name) != own_.end()) {
      throw std::runtime_error("stream '" + name + "' is listed twice: remove one");
    }
    if (own_.size() == kOwnStreamsMax) {
      throw std::runtime_error("stream '" + name + "' is one too many: a farm has at most " +
                               std::to_string(kOwnStreamsMax) + " besides default and debug");
    }
    own_.push_back(name);
    mask_ |= std::uint64_t{1} << own_.size();
  }
}

std::uint64_t StreamTable::bit(std::string_view name) const {
  if (name == kDefault) return WEIR_STREAM_DEFAULT;
  if (name == kDebug) return WEIR_STREAM_DEBUG;
  const auto found = std::find(own_.begin(), own_.end(), name);
  return found == own_.end() ? 0 : std::uint64_t{1} << (found - own_.begin() + 1);
}

std::string StreamTable::names(std::uint64_t mask) const {
  std::string text;
  const auto append = [&text](std::string_view name) {
    if (!text.empty()) text += ',';
    text += name;
  };
  if ((mask & WEIR_STREAM_DEFAULT) != 0) append(kDefault);
  for (std::size_t i = 0; i < own_.size(); ++i) {
    if ((mask >> (i + 1) & 1) != 0) append(own_[i]);
  }
  if ((mask & WEIR_STREAM_DEBUG) != 0) append(kDebug);
  return text;
}

}  // namespace weir::filter_host
