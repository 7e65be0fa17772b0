#include "push_sender.hpp"

#include <weir/base/crc32c.hpp>
#include <weir/reports/numbers.hpp>
#include <weir/v1/control.pb.h>

#include <spdlog/spdlog.h>

#include <algorithm>

namespace weir::readout {
namespace {

using shaping::PushVerdict;

shaping::Overrun overrun(const v1::Farm& farm) {
  switch (farm.readout().on_overrun()) {
    case v1::ReadoutSettings::ON_OVERRUN_REQUEUE:
      return shaping::Overrun::requeue;
    case v1::ReadoutSettings::ON_OVERRUN_TRUNCATE:
      return shaping::Overrun::truncate;
    case v1::ReadoutSettings::ON_OVERRUN_DROP:
      return shaping::Overrun::drop;
    default:
      return shaping::Overrun::fall_behind;
  }
}

shaping::BarrelSettings barrel_settings(const node::Setup& setup) {
  const v1::ReadoutSettings& readout = setup.farm.readout();
  const node::PushTiming timing = node::push_timing(setup.farm, *setup.whole_farm);
  shaping::BarrelSettings settings;
  settings.barrel = timing.barrel;
  settings.sources = static_cast<std::uint32_t>(setup.identity.sources.size());
  settings.collectors = static_cast<std::uint32_t>(setup.plan.of_role(Role::dcm).size());
  settings.slot_ns = timing.slot_ns;
  settings.delay_slots = timing.delay_slots(setup.self.index.value);
  settings.overrun = overrun(setup.farm);
  settings.overrun_bytes = static_cast<std::uint32_t>(readout.overrun_bytes());
  settings.cut_off_bytes = static_cast<std::uint32_t>(readout.cut_off_bytes());
  settings.cut_off_slices = readout.cut_off_slices();
  settings.ahead_bytes = readout.push_ahead_bytes();
  // A piece may be half as long again (shaping::Barrel), and has to fit a frame.
  settings.piece_bytes = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(settings.piece_bytes, setup.farm.network().frame_bytes_max() / 3 * 2));
  settings.slices_max = std::max<std::size_t>(1, 2 * std::size_t{readout.buffer_slices()});
  return settings;
}

}  // namespace

std::unique_ptr<PushSender> PushSender::make(const node::Setup& setup) {
  if (!node::is_push(setup.farm)) return nullptr;
  return std::unique_ptr<PushSender>(new PushSender(setup, barrel_settings(setup)));
}

PushSender::PushSender(const node::Setup& setup, const shaping::BarrelSettings& settings)
    : sources_(setup.identity.sources),
      checksums_(setup.farm.run().checksums()),
      timing_(node::push_timing(setup.farm, *setup.whole_farm)),
      clock_offset_max_ns_(static_cast<DurationNs>(setup.farm.readout().clock_offset_ms() * 1e6)),
      barrel_(settings),
      links_(settings.collectors) {
  std::sort(sources_.begin(), sources_.end());
}

std::optional<std::uint32_t> PushSender::place_of(SourceId source) const {
  const auto at = std::lower_bound(sources_.begin(), sources_.end(), source);
  if (at == sources_.end() || *at != source) return std::nullopt;
  return static_cast<std::uint32_t>(at - sources_.begin());
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
  coming.ready_ns = ready_ns;
  coming.sizes.assign(sources_.size(), 0);
  coming.missing = sources_.size();
}

void PushSender::is_there(SliceId slice, SourceId source, const source::SourceFragment& fragment) {
  const bool missing = fragment.status == FragmentStatus::missing;
  if (missing) {
    ++probes_missing_[static_cast<std::size_t>(fragment.reason)];
  } else {
    ++probes_served_;
  }
  const auto found = coming_.find(slice);
  const auto place = place_of(source);
  if (found == coming_.end() || !place) return;
  Coming& coming = found->second;
  coming.sizes[*place] = missing ? 0 : static_cast<std::uint32_t>(fragment.bytes.size());
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
