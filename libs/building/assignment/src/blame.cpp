#include <weir/assignment/blame.hpp>
#include <weir/base/assert.hpp>

#include <algorithm>

namespace weir::assignment {
namespace {

void count(std::uint8_t& counter) {
  if (counter < UINT8_MAX) ++counter;
}

}  // namespace

BlameRule::BlameRule(std::uint8_t filtered_max, std::uint8_t attempts_max)
    : filtered_max_(filtered_max), attempts_max_(attempts_max) {
  WEIR_ASSERT(attempts_max > 0);
}

Blame BlameRule::of_death(SliceEntry& entry, const FilterNote& in_filter) const {
  if (entry.state != SliceState::assigned || entry.held) return Blame::nobody;
  if (!in_filter.suspect && in_filter.beside.empty()) {
    count(entry.losses);
    return Blame::suspect;
  }
  const Lease lease{entry.slice, entry.attempt};
  if (lease == in_filter.suspect) {
    // If it was alone, it was to blame for the first death, too.
    if (in_filter.beside.empty() && entry.kills == 0) count(entry.kills);
    return Blame::attempt;
  }
  if (std::find(in_filter.beside.begin(), in_filter.beside.end(), lease) != in_filter.beside.end())
    return Blame::attempt;
  // Without a suspect other slices passed the filter.
  return in_filter.suspect ? Blame::nobody : Blame::suspect;
}

Blame BlameRule::of_expiry(SliceEntry& entry, bool in_filter_for_long) const {
  if (in_filter_for_long) return Blame::attempt;
  count(entry.losses);
  return Blame::nobody;
}

void BlameRule::killed(SliceEntry& entry, std::uint32_t number) const {
  entry.kills =
      static_cast<std::uint8_t>(std::min<std::uint32_t>(entry.kills + std::min(number, 255U), UINT8_MAX));
}

bool BlameRule::try_again(SliceEntry& entry, Blame blame) const {
  if (blame == Blame::attempt) count(entry.kills);
  entry.suspect = !unfiltered(entry) && (entry.suspect || blame != Blame::nobody);
  entry.held = false;
  return std::max(entry.kills, entry.losses) < attempts_max_ && entry.attempt.value < UINT16_MAX;
}

}  // namespace weir::assignment
