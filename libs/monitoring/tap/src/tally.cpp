#include <weir/tap/tally.hpp>

namespace weir::tap {

void Tally::add(const std::string& tag, const SampleHead& head) {
  ++received_;
  const auto [found, first] = places_.try_emplace(tag);
  Place& place = found->second;
  if (!first && place.last.numbering == head.numbering) {
    if (head.sequence > place.last.sequence) lost_ += head.sequence - place.last.sequence - 1;
  } else if (!first) {
    place.dropped_before += place.last.dropped;
    place.seen_before += place.last.seen;
    lost_ += head.sequence;
  }
  place.last = head;
}

std::uint64_t Tally::dropped() const {
  std::uint64_t sum = 0;
  for (const auto& [tag, place] : places_) sum += place.dropped_before + place.last.dropped;
  return sum;
}

std::uint64_t Tally::seen() const {
  std::uint64_t sum = 0;
  for (const auto& [tag, place] : places_) sum += place.seen_before + place.last.seen;
  return sum;
}

}  // namespace weir::tap
