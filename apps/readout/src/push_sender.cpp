#include "push_sender.hpp"

#include <weir/base/assert.hpp>
#include <weir/base/crc32c.hpp>
#include <weir/reports/numbers.hpp>
#include <weir/v1/control.pb.h>

#include <spdlog/spdlog.h>

#include <algorithm>

namespace weir::readout {
namespace {

using shaping::PushVerdict;

}  // namespace

PushSender::PushSender(const PushSettings& settings)
    : sources_(settings.sources),
      checksums_(settings.checksums),
      timing_(settings.timing),
      clock_offset_max_ns_(settings.clock_offset_max_ns),
      barrel_(settings.barrel),
      links_(settings.barrel.dcms) {
  std::sort(sources_.begin(), sources_.end());
}

std::optional<std::uint32_t> PushSender::place_of(SourceId source) const {
  const auto at = std::lower_bound(sources_.begin(), sources_.end(), source);
  if (at == sources_.end() || *at != source) return std::nullopt;
  return static_cast<std::uint32_t>(at - sources_.begin());
}

// A DCM that is in no newer epoch has left. One that left and joined before another slice is in all that are
// there: a number is missing then.
Expected<void, slice_codec::BadRow> PushSender::take_destinations(const v1::Destinations& message) {
  std::uint32_t last = destinations_.number();
  if (auto taken = slice_codec::decode(message, destinations_); !taken) return taken;
  for (const slice_rows::DestinationEpoch& epoch : destinations_.epochs()) {
    if (epoch.number <= last) continue;
    const bool lacks_one = epoch.number > last + 1;
    last = epoch.number;
    for (std::uint32_t dcm = 0; dcm < links_.size(); ++dcm) {
      const NodeIndex index(static_cast<std::uint16_t>(dcm));
      const bool is_there = std::find(epoch.dcms.begin(), epoch.dcms.end(), index) != epoch.dcms.end();
      if (lacks_one || !is_there) barrel_.dcm_left(dcm, epoch.from);
    }
  }
  return {};
}

// An announcement takes time, so each difference is too large by that; the least of many is almost right.
void PushSender::compare_clocks(UtcNs theirs, UtcNs own, TimeNs now_ns) {
  const DurationNs ahead = own - theirs;
  least_ahead_ns_ = std::min(ahead, least_ahead_ns_.value_or(ahead));
  if (clocks_since_ns_ == 0) clocks_since_ns_ = now_ns;
  if (now_ns - clocks_since_ns_ < kSecond) return;
  ahead_ns_ = *least_ahead_ns_;
  least_ahead_ns_.reset();
  clocks_since_ns_ = now_ns;
  if (std::abs(ahead_ns_) <= clock_offset_max_ns_) return;
  if (++clocks_off_ > 1) return;
  spdlog::warn(
      "clock ahead_us={} text=\"this host's clock is not that of the supervisor: slots do not fit; "
      "synchronise the clocks, or raise readout.clock_offset_ms\"",
      ahead_ns_ / kMicrosecond);
}

void PushSender::expect(SliceId slice, TimeNs ready_ns) {
  Coming& coming = coming_[slice];
  if (!coming.sizes.empty()) return;  // announced again
  WEIR_ASSERT(coming.missing == 0);
  coming.ready_ns = ready_ns;
  coming.sizes.assign(sources_.size(), 0);
  coming.missing = sources_.size();
}

void PushSender::is_there(SliceId slice, SourceId source, const source::SourceFragment& fragment) {
  const bool missing = fragment.status == FragmentStatus::missing;
  if (missing) {
    WEIR_ASSERT(fragment.reason != MissingReason::none);
    ++probes_missing_[static_cast<std::size_t>(fragment.reason)];
  } else {
    ++probes_served_;
  }
  const auto found = coming_.find(slice);
  const auto place = place_of(source);
  if (found == coming_.end() || !place) return;
  Coming& coming = found->second;
  coming.sizes[*place] = missing ? 0 : static_cast<std::uint32_t>(fragment.bytes.size());
  WEIR_ASSERT(coming.missing > 0 && *place < coming.sizes.size());
  if (--coming.missing > 0) return;
  const auto to = destinations_.of(slice);
  if (to && to->value < links_.size()) {
    barrel_.add(slice, to->value, coming.ready_ns, coming.sizes);
  } else {
    ++no_destination_;
  }
  coming_.erase(found);
}

void PushSender::asked_for(SliceId slice, SourceId source) {
  if (const auto place = place_of(source)) barrel_.asked_for(slice, *place);
}

void PushSender::not_wanted(SliceId slice) {
  for (std::uint32_t place = 0; place < sources_.size(); ++place) barrel_.asked_for(slice, place);
}

void PushSender::settled(SliceId slice) {
  coming_.erase(slice);
  barrel_.forget(slice);
}

void PushSender::end_run() {
  coming_.clear();
  barrel_.forget_all();
}

source::SourceFragment PushSender::shown(SliceId slice, SourceId source,
                                         const source::SourceFragment& fragment) const {
  const auto place = place_of(source);
  const PushVerdict verdict = place ? barrel_.verdict(slice, *place) : PushVerdict::whole;
  source::SourceFragment shown;
  switch (verdict) {
    case PushVerdict::whole:
      return fragment;
    case PushVerdict::suppressed:
      shown.status = FragmentStatus::suppressed;
      return shown;
    case PushVerdict::dropped:
      shown.status = FragmentStatus::missing;
      shown.reason = MissingReason::dropped;
      return shown;
    case PushVerdict::truncated:
      break;
  }
  shown = fragment;
  shown.status = FragmentStatus::truncated;
  shown.bytes =
      fragment.bytes.first(std::min<std::size_t>(fragment.bytes.size(), barrel_.settings().overrun_bytes));
  shown.crc32c = checksums_ ? crc32c(shown.bytes) : 0;
  return shown;
}

void PushSender::add_to(v1::Report& report) const {
  reports::ReportCounters counters(report);
  const shaping::BarrelCounters& counted = barrel_.counters();
  counters["push.fragments"] = counted.sent.fragments;
  counters["push.bytes"] = counted.sent.bytes;
  counters["push.truncated"] = counted.truncated;
  counters["push.dropped"] = counted.dropped.fragments;
  counters["push.suppressed"] = counted.suppressed.fragments;
  counters["push.slices_behind"] = counted.behind;
  counters["push.slices_requeued"] = counted.requeued;
  counters["push.slices_stalled"] = counted.stalled;
  counters["push.slices_no_destination"] = no_destination_;
  counters["push.clocks_off"] = clocks_off_;
  for (std::size_t i = 0; i < counted.not_pushed.size(); ++i) {
    counters.of("push.not_pushed.", shaping::name(static_cast<shaping::NotPushed>(i))) =
        counted.not_pushed[i].fragments;
  }
  // The probes are not counted as answers.
  const auto take_out = [](std::uint64_t& counter, std::uint64_t count) {
    counter -= std::min(counter, count);
  };
  take_out(counters["fragments.served"], probes_served_);
  for (std::size_t i = 1; i < probes_missing_.size(); ++i) {
    if (probes_missing_[i] > 0)
      take_out(counters.of("readout.missing.", name(static_cast<MissingReason>(i))), probes_missing_[i]);
  }
  reports::Gauges gauges(report);
  gauges["push.waiting_bytes"] = static_cast<double>(counted.waiting.bytes);
  gauges["push.clock_ahead_us"] = static_cast<double>(ahead_ns_) / kMicrosecond;
  if (clocks_off_ > 0) {
    (*report.mutable_notes())["clock"] =
        "differs from the supervisor's by " + std::to_string(ahead_ns_ / kMicrosecond) + " us";
  }
}

}  // namespace weir::readout
