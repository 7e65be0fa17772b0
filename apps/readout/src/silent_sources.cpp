#include "silent_sources.hpp"

#include <fmt/format.h>

namespace weir::readout {

std::vector<std::string> SilentSources::update(const source::FragmentBuffer& buffer, TimeNs now_ns) {
  std::vector<std::string> news;
  std::size_t count = 0;
  text_.clear();
  silent_.resize(buffer.sources().size());
  for (std::size_t place = 0; place < silent_.size(); ++place) {
    const source::SourceDrops drops = buffer.drops_of(place);
    const std::uint32_t id = buffer.sources()[place].value;
    const DurationNs silent_ns = now_ns - drops.unanswered_since_ns;
    const bool silent = drops.unanswered >= kSlicesMin && silent_ns >= kSilentMin;
    if (silent && !silent_[place])
      news.push_back(fmt::format("source silent source={} slices={}", id, drops.unanswered));
    if (!silent && silent_[place]) news.push_back(fmt::format("source delivers again source={}", id));
    silent_[place] = silent;
    if (!silent || ++count > kNamed) continue;
    fmt::format_to(std::back_inserter(text_), "{}source {}", text_.empty() ? "" : ", ", id);
  }
  if (count > kNamed) fmt::format_to(std::back_inserter(text_), " and {} more", count - kNamed);
  return news;
}

}  // namespace weir::readout
