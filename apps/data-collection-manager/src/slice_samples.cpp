#include "slice_samples.hpp"

#include <weir/reports/numbers.hpp>
#include <weir/v1/bus.pb.h>
#include <weir/v1/control.pb.h>

#include <algorithm>
#include <string>
#include <utility>

namespace weir::dcm {

SliceSamples::SliceSamples(const SliceSamplesSettings& settings)
    : settings_(settings), sampler_(settings.sampler, settings.incarnation) {}

void SliceSamples::wish(const v1::TapWish& wish, TimeNs now_ns) {
  if (settings_.sink == nullptr) return;
  for (const std::string& name : wish.streams()) {
    tap::SampleRequest one;
    one.stream = tap::find_stream(name);
    one.tag = tap::tag_prefix(name, wish.id()) + settings_.self;
    one.every = wish.every();
    one.sources.assign(wish.sources().begin(), wish.sources().end());
    std::sort(one.sources.begin(), one.sources.end());
    if (wish.ends()) {
      sampler_.end(one.tag);
    } else if (one.stream != nullptr) {
      sampler_.renew(std::move(one), wish.lease_ms() * kMillisecond, now_ns);
    }
  }
}

void SliceSamples::sample_raw(const assembly::BuiltSlice& slice, TimeNs now_ns) {
  due_.clear();
  sampler_.due_raw(due_);
  if (!due_.empty()) sample(slice, StoreEpoch(), true, now_ns);
}

void SliceSamples::sample_accepted(const assembly::BuiltSlice& slice, StoreEpoch epoch, TimeNs now_ns) {
  due_.clear();
  sampler_.due_accepted(streams_of(slice), due_);
  if (!due_.empty()) sample(slice, epoch, false, now_ns);
}

void SliceSamples::sample(const assembly::BuiltSlice& slice, StoreEpoch epoch, bool undecided,
                          TimeNs now_ns) {
  RecordContext context = settings_.record;
  context.undecided = undecided;
  for (tap::Tap* tap : due_) {
    if (!sampler_.may_make(*tap, now_ns)) continue;
    context.only = tap->request.sources;
    const Record record = make_record(slice, epoch, context);
    const std::uint64_t bytes = tap::kSampleHeadLength + record.bytes;
    if (!sampler_.may_send(*tap, bytes)) continue;
    sample_.clear();
    sample_.reserve(bytes);
    tap::encode_sample_head(tap->head, sample_);
    sample_.insert(sample_.end(), record.meta.begin(), record.meta.end());
    for (const ConstBytes payload : record.payloads)
      sample_.insert(sample_.end(), payload.begin(), payload.end());
    sampler_.sent(*tap, bytes, settings_.sink->publish(tap->request.tag, sample_));
  }
}

void SliceSamples::add_to(v1::Report& report) const {
  const tap::SamplerCounts& counts = sampler_.counts();
  reports::ReportCounters counters(report);
  const auto add = [&](metrics::CounterKey key, std::uint64_t count) {
    if (count > 0) counters[key] = count;
  };
  const auto add_dropped = [&](std::string_view reason, std::uint64_t count) {
    if (count > 0) counters.of("tap.dropped.", reason) = count;
  };
  add("tap.samples", counts.samples);
  add("tap.bytes", counts.bytes);
  add_dropped("rate", counts.dropped_rate);
  add_dropped("too_large", counts.dropped_too_large);
  add_dropped("bus", counts.dropped_bus);
  add("tap.refused", counts.refused);
}

}  // namespace weir::dcm
