#include "own_numbers.hpp"

#include <weir/base/assert.hpp>
#include <weir/reports/numbers.hpp>
#include <weir/slice_codec/announce.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace weir::readout {

OwnNumbers::OwnNumbers(const OwnNumbersSettings& settings, std::vector<SourceId> sources)
    : settings_(settings),
      sources_(std::move(sources)),
      jumps_(sources_.size(), numbering::JumpWatch(settings.apart_ns)),
      told_(sources_.size()),
      seen_(sources_.size(), settings.times) {
  for (const SourceId source : sources_) {
    const auto offset = settings_.offsets.find(source.value);
    tracks_.emplace_back(numbering::CounterSettings{
        settings_.bits, offset == settings_.offsets.end() ? 0 : offset->second.counter, settings_.first});
  }
}

void OwnNumbers::begin_run(SliceId first_slice) {
  for (numbering::CounterTrack& track : tracks_) track.begin();
  const auto joins = first_slice > settings_.first ? std::optional(first_slice) : std::nullopt;
  for (numbering::JumpWatch& jump : jumps_) jump.begin(joins);
  news_ = false;
  std::fill(told_.begin(), told_.end(), false);
  seen_.begin();
  latest_.reset();
  fault_.clear();
  if (first_slice > settings_.first) announced(SliceId(first_slice.value - 1), std::nullopt);
}

void OwnNumbers::stood_still(SliceId at) {
  for (numbering::CounterTrack& track : tracks_) track.anchor(at);
}

void OwnNumbers::recall(const steps::Slipped& known) {
  if (!known.by_time) jumps_[place_of(known.source)].recall({known.slip, known.since});
}

std::size_t OwnNumbers::place_of(SourceId source) const {
  const auto at = std::lower_bound(sources_.begin(), sources_.end(), source);
  WEIR_ASSERT(at != sources_.end() && *at == source);
  return static_cast<std::size_t>(at - sources_.begin());
}

std::optional<UtcNs> OwnNumbers::own_time(SourceId source, const Stamp& stamp) const {
  if (!stamp.has_time) return std::nullopt;
  const auto offset = settings_.offsets.find(source.value);
  const DurationNs added = offset == settings_.offsets.end() ? 0 : offset->second.time;
  UtcNs time = 0;
  if (__builtin_add_overflow(stamp.time, added, &time)) return std::nullopt;  // it may send any time
  return time;
}

std::optional<SliceId> OwnNumbers::take(SourceId source, std::uint64_t counter, const Stamp& stamp, UtcNs utc,
                                        TimeNs now) {
  const std::size_t place = place_of(source);
  const auto number = tracks_[place].take(counter, latest_);
  if (number) {
    const bool by_own = settings_.times.tolerance_ns > 0;
    numbering::JumpWatch& jump = jumps_[place];
    const bool first = !jump.has_delivered();
    const bool changed = jump.see(*number, by_own ? own_time(source, stamp) : utc, now);
    news_ = news_ || first || changed;
    return number;
  }
  if (told_[place]) return number;
  told_[place] = true;
  fault_ = fmt::format(
      "source {}: counter {} of {} bits cannot be placed beside slice {}: its fragments are dropped; let all "
      "front-ends begin "
      "with the run, or send wider counters",
      source.value, counter, settings_.bits, latest_.value_or(settings_.first).value);
  return number;
}

std::optional<SliceId> OwnNumbers::place(SourceId source, std::uint64_t counter) const {
  return tracks_[place_of(source)].place(counter, latest_);
}

void OwnNumbers::arrived(SourceId source, SliceId number, const Stamp& stamp, UtcNs utc, TimeNs now,
                         bool trusted) {
  const auto own = settings_.times.tolerance_ns > 0 ? own_time(source, stamp) : std::nullopt;
  seen_.note(place_of(source), number, own.value_or(utc), now, trusted);
}

void OwnNumbers::announced(SliceId upto, std::optional<UtcNs> time) {
  latest_ = std::max(latest_.value_or(upto), upto);
  // A veto has no time, but this readout may have reported the number, or one below it.
  const std::optional<UtcNs> begun = time ? time : seen_.time_upto(upto);
  for (numbering::JumpWatch& jump : jumps_) news_ = jump.announced(upto, begun) || news_;
  seen_.announced(upto, time);
}

void OwnNumbers::tell(node::SupervisorClient& supervisor, TimeNs now) {
  for (;;) {
    seen_.take(slice_codec::kRowsMax, now, batch_);
    if (batch_.empty()) return;
    v1::Control message;
    v1::Seen& seen = *message.mutable_seen();
    for (const numbering::SeenNumber& one : batch_) {
      seen.add_slice(one.number.value);
      seen.add_time_ns(one.time);
    }
    supervisor.send(message);
  }
}

std::vector<SourceId> OwnNumbers::delivering() const {
  std::vector<SourceId> all;
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    if (jumps_[i].has_delivered()) all.push_back(sources_[i]);
  }
  return all;
}

std::vector<steps::Slipped> OwnNumbers::jumped() const {
  std::vector<steps::Slipped> all;
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    const numbering::Jump& jump = jumps_[i].state();
    if (jump.slip != 0 && jumps_[i].has_delivered())
      all.push_back({sources_[i], jump.slip, jump.since, false});
  }
  return all;
}

void OwnNumbers::add_to(v1::Report& report) const {
  numbering::CounterCounts all;
  for (const numbering::CounterTrack& track : tracks_) {
    all.left_out += track.counts().left_out;
    all.repeated += track.counts().repeated;
    all.back += track.counts().back;
    all.unanchored += track.counts().unanchored;
  }
  reports::ReportCounters counters(report);
  counters["numbers.left_out"] = all.left_out;
  counters["numbers.repeated"] = all.repeated;
  counters["numbers.back"] = all.back;
  counters["numbers.unanchored"] = all.unanchored;
  counters["numbers.forgotten"] = seen_.forgotten();
}

std::string OwnNumbers::take_fault() { return std::exchange(fault_, {}); }

}  // namespace weir::readout
