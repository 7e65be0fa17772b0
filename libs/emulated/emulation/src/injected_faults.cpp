#include <weir/base/assert.hpp>
#include <weir/base/crc32c.hpp>
#include <weir/base/hash.hpp>
#include <weir/emulation/injected_faults.hpp>

#include <boost/unordered/unordered_flat_map.hpp>

#include <algorithm>
#include <optional>
#include <utility>

namespace weir::emulation {
namespace {

// Longest wait for the next fragment of a source.
constexpr DurationNs kReorderPatience = 100 * kMillisecond;
constexpr double kHashes = 18446744073709551616.0;  // 2^64

void cut(source::SourceFragment& fragment) {
  fragment.bytes = fragment.bytes.first(fragment.bytes.size() / 2);
  if (fragment.crc32c != 0) fragment.crc32c = crc32c(fragment.bytes);
  fragment.status = FragmentStatus::truncated;
}

// Flips the bit in a copy, because the bytes may be shared with other fragments.
void flip_bit(source::SourceFragment& fragment, std::uint64_t which) {
  WEIR_ASSERT(!fragment.bytes.empty());
  auto copy = std::make_shared<std::vector<std::byte>>(fragment.bytes.begin(), fragment.bytes.end());
  (*copy)[which % copy->size()] ^= std::byte{1};
  fragment.bytes = *copy;
  fragment.owner = std::move(copy);
}

}  // namespace

class FaultInjector::Wrapped final : public source::FragmentSource {
 public:
  Wrapped(FaultInjector& injector, std::unique_ptr<source::FragmentSource> source, const FaultRates& rates)
      : injector_(injector), source_(std::move(source)), rates_(rates) {}

  [[nodiscard]] SourceId id() const override { return source_->id(); }
  void begin_run(RunNumber run) override { source_->begin_run(run); }
  [[nodiscard]] source::SourceFragment produce(const source::Trigger& trigger) override {
    return injector_.make(*this, trigger);
  }
  [[nodiscard]] Timing timing() const override { return Timing::either; }
  void given_up(SliceId slice) override { held_.erase(slice.value); }

  [[nodiscard]] const FaultRates& rates() const { return rates_; }
  [[nodiscard]] source::SourceFragment produce_sound(const source::Trigger& trigger) {
    return source_->produce(trigger);
  }
  // Holds a fragment until it is delivered or given up.
  void hold(SliceId slice, source::SourceFragment fragment) {
    held_.insert_or_assign(slice.value, std::move(fragment));
  }
  // Returns an empty fragment if the buffer has given it up: its arrival still counts.
  [[nodiscard]] source::SourceFragment take_held(SliceId slice) {
    const auto at = held_.find(slice.value);
    if (at == held_.end()) return {};
    source::SourceFragment fragment = std::move(at->second);
    held_.erase(at);
    return fragment;
  }
  void forget() {
    held_.clear();
    behind_next.reset();
  }
  // The fragment that waits for the next one of this source.
  std::optional<Late> behind_next;

 private:
  FaultInjector& injector_;
  std::unique_ptr<source::FragmentSource> source_;
  FaultRates rates_;
  boost::unordered_flat_map<std::uint64_t, source::SourceFragment> held_;
};

std::unique_ptr<source::FragmentSource> FaultInjector::wrap(std::unique_ptr<source::FragmentSource> source,
                                                            const FaultRates& rates) {
  has_sources_ = true;
  return std::make_unique<Wrapped>(*this, std::move(source), rates);
}

void FaultInjector::begin_run(TimeNs now) {
  begun_ = now_ = now;
  counts_ = {};
  not_delayed_ = 0;
}

void FaultInjector::end_run() {
  for (const Late& late : late_) late.source->forget();
  for (Wrapped* source : holding_) source->forget();
  late_.clear();
  repeats_.clear();
  holding_.clear();
}

void FaultInjector::pass(TimeNs now, source::FragmentBuffer& buffer, source::AnswerSink& sink) {
  now_ = now;
  for (const Late& repeat : repeats_) deliver(repeat, buffer, sink);
  repeats_.clear();
  while (!late_.empty() && late_.front().due <= now) {
    deliver(late_.front(), buffer, sink);
    late_.pop_front();
  }
  std::erase_if(holding_, [&](Wrapped* source) {
    if (!source->behind_next) return true;
    if (source->behind_next->due > now) return false;
    deliver(*std::exchange(source->behind_next, std::nullopt), buffer, sink);
    return true;
  });
}

source::SourceFragment FaultInjector::make(Wrapped& source, const source::Trigger& trigger) {
  const FaultRates& rates = source.rates();
  const SliceId slice = trigger.slice;
  const auto is = [&](InjectedFault fault, double rate) { return draw(fault, rate, source.id(), slice); };
  if (is_silent(rates, now_)) {
    ++counts_[static_cast<std::size_t>(InjectedFault::silence)];
    return source::pending_fragment(0);
  }
  source::SourceFragment fragment = source.produce_sound(trigger);
  if (is(InjectedFault::drop, rates.drop)) return source::missing_fragment(MissingReason::gap);
  if (!fragment.bytes.empty()) {
    if (is(InjectedFault::truncate, rates.truncate)) cut(fragment);
    if (is(InjectedFault::corrupt, rates.corrupt)) flip_bit(fragment, mix64(slice.value));
  }
  return schedule(source, slice, std::move(fragment));
}

source::SourceFragment FaultInjector::schedule(Wrapped& source, SliceId slice,
                                               source::SourceFragment fragment) {
  const FaultRates& rates = source.rates();
  Late one{now_, &source, slice, draw(InjectedFault::duplicate, rates.duplicate, source.id(), slice)};
  const auto hold = [&] {
    const auto size = static_cast<std::uint32_t>(fragment.bytes.size());
    source.hold(slice, std::move(fragment));
    return source::pending_fragment(size);
  };
  if (draw(InjectedFault::delay, rates.delay, source.id(), slice)) {
    if (late_.size() < kDelayedMax) {
      one.due += rates.delay_ns;
      keep(one);
      return hold();
    }
    ++not_delayed_;
  } else if (!source.behind_next && draw(InjectedFault::reorder, rates.reorder, source.id(), slice)) {
    one.due += kReorderPatience;
    source.behind_next = one;
    holding_.push_back(&source);
    return hold();
  }
  if (source.behind_next) source.behind_next->due = now_;  // this fragment is the next one
  if (one.twice) repeats_.push_back({now_, &source, slice, false});
  return fragment;
}

void FaultInjector::keep(const Late& late) {
  const auto at = std::upper_bound(late_.begin(), late_.end(), late.due,
                                   [](TimeNs due, const Late& other) { return due < other.due; });
  WEIR_ASSERT(late_.size() < kDelayedMax);
  late_.insert(at, late);
}

void FaultInjector::deliver(const Late& late, source::FragmentBuffer& buffer, source::AnswerSink& sink) {
  (void)buffer.deliver(late.source->id(), late.slice, late.source->take_held(late.slice), sink);
  if (late.twice) (void)buffer.deliver(late.source->id(), late.slice, {}, sink);
}

bool FaultInjector::is_silent(const FaultRates& rates, TimeNs now) const {
  if (rates.silent_every_ns <= 0) return false;
  return (now - begun_) % rates.silent_every_ns >= rates.silent_every_ns - rates.silent_for_ns;
}

bool FaultInjector::draw(InjectedFault fault, double rate, SourceId source, SliceId slice) {
  if (rate <= 0) return false;
  const std::uint64_t kind = static_cast<std::uint64_t>(fault) + 1;
  const std::uint64_t hash =
      mix64(slice.value ^ mix64(seed_ ^ (std::uint64_t{source.value} << 32U) ^ (kind << 24U)));
  if (static_cast<double>(hash) >= rate * kHashes) return false;
  ++counts_[static_cast<std::size_t>(fault)];
  return true;
}

}  // namespace weir::emulation
