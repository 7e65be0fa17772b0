#include <weir/assignment/back_pressure.hpp>
#include <weir/base/assert.hpp>
#include <weir/slice_rows/reasons.hpp>

#include <algorithm>
#include <bit>

namespace weir::assignment {

void BackPressure::say(NodeRef node, bool on, double level, std::string_view reason) {
  const auto found =
      std::find_if(entries_.begin(), entries_.end(), [&](const Entry& one) { return one.node == node; });
  if (found != entries_.end()) {
    WEIR_ASSERT(!found->on || on_ > 0);
    on_ -= found->on ? 1 : 0;
    entries_.erase(found);
  }
  const double bounded = level > 0 ? std::min(level, 1.0) : 0;  // no number is 0, too
  if (!on && !(bounded > 0)) return;
  on_ += on ? 1 : 0;
  entries_.push_back({node, on, bounded, std::string(reason)});
}

// Returns null if the farm has no writer, or if none of them is full at all.
const BackPressure::Entry* BackPressure::emptiest_writer(const PartTable& parts,
                                                         const NodeTable& writers) const {
  const Entry* emptiest = nullptr;
  for (std::size_t i = 0; i < writers.places(); ++i) {
    const NodeRef writer{Role::writer, NodeIndex(static_cast<std::uint16_t>(i))};
    if (!writers.live(writer.node) || parts.of(writer) != Part::in) continue;
    const auto own = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const Entry& entry) { return entry.node == writer; });
    if (own == entries_.end()) return nullptr;
    if (emptiest == nullptr || own->level < emptiest->level) emptiest = &*own;
  }
  return emptiest;
}

void BackPressure::renew(const PartTable& parts, const NodeTable& writers) {
  level_ = 0;
  fullest_.reset();
  if (entries_.empty()) return;
  const auto look = [this](const Entry& entry) {
    if (entry.level <= level_) return;
    level_ = entry.level;
    fullest_ = {entry.reason, entry.node, 0};
  };
  for (const Entry& entry : entries_) {
    if (entry.node.role != Role::writer && parts.of(entry.node) == Part::in) look(entry);
  }
  if (const Entry* writer = emptiest_writer(parts, writers)) look(*writer);
}

bool BackPressure::stops(const PartTable& parts, const NodeTable& writers) const {
  if (on_ == 0) return false;
  return std::any_of(entries_.begin(), entries_.end(),
                     [&](const Entry& entry) { return entry.on && counts(entry, parts, writers); });
}

std::vector<HoldUp> BackPressure::stopped_by(const PartTable& parts, const NodeTable& writers) const {
  std::vector<HoldUp> held_up;
  for (const Entry& entry : entries_) {
    if (entry.on && counts(entry, parts, writers)) held_up.push_back({entry.reason, entry.node, 1});
  }
  return held_up;
}

std::optional<HoldUp> BackPressure::slowed_by(double pending) const {
  const double lost = 1 - gate_.share(level(pending));
  if (lost <= 0) return std::nullopt;
  HoldUp fullest{std::string(name(HoldReason::slices_pending)), std::nullopt, lost};
  if (fullest_ && pending <= level_) fullest = *fullest_;
  fullest.share = lost;
  return fullest;
}

void BackPressure::append_state(TimeNs now, std::vector<std::uint64_t>& out) const {
  std::vector<const Entry*> sorted;
  for (const Entry& entry : entries_) sorted.push_back(&entry);
  const auto place = [](const Entry& entry) {
    return std::uint64_t{place_of(entry.node.role)} << 16U | entry.node.node.value;
  };
  std::sort(sorted.begin(), sorted.end(),
            [&](const Entry* one, const Entry* other) { return place(*one) < place(*other); });
  out.push_back(sorted.size());
  for (const Entry* entry : sorted)
    out.insert(out.end(), {place(*entry), entry->on ? 1U : 0U, std::bit_cast<std::uint64_t>(entry->level)});
  out.push_back(std::bit_cast<std::uint64_t>(level_));
  // The gate goes by the time of its period, where it closes at all.
  const bool closes = gate_.share(1) < 1;
  out.push_back(closes ? static_cast<std::uint64_t>(now % TriggerGate::kPeriodNs) : 0);
}

}  // namespace weir::assignment
