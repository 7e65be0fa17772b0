#include <weir/base/crc32c.hpp>
#include <weir/base/hash.hpp>
#include <weir/source/injected_faults.hpp>

#include <algorithm>
#include <optional>
#include <utility>

namespace weir::source {
namespace {

// The next fragment of a source is not waited for longer than this.
constexpr DurationNs kReorderPatience = 100 * kMillisecond;
constexpr double kHashes = 18446744073709551616.0;  // 2^64

void cut(Fragment& fragment) {
  fragment.bytes = fragment.bytes.first(fragment.bytes.size() / 2);
  if (fragment.crc32c != 0) fragment.crc32c = crc32c(fragment.bytes);
  fragment.status = FragmentStatus::truncated;
}

// In a copy: the bytes may be other fragments' too.
void flip_bit(Fragment& fragment, std::uint64_t which) {
  auto copy = std::make_shared<std::vector<std::byte>>(fragment.bytes.begin(), fragment.bytes.end());
  (*copy)[which % copy->size()] ^= std::byte{1};
  fragment.bytes = *copy;
  fragment.owner = std::move(copy);
}

}  // namespace

// Says when its slice is made, and keeps what the source is.
class FaultInjector::Wrapped final : public Source {
 public:
  Wrapped(FaultInjector& injector, std::unique_ptr<Source> source, const FaultRates& rates)
      : injector_(injector), source_(std::move(source)), rates_(rates) {}

  [[nodiscard]] SourceId id() const override { return source_->id(); }
  void begin_run(RunNumber run) override { source_->begin_run(run); }
  [[nodiscard]] Fragment produce(const Trigger& trigger) override { return source_->produce(trigger); }
  [[nodiscard]] bool arrives() const override { return true; }
  void awaited(const Trigger& trigger) override { injector_.wanted_.push_back({this, trigger}); }

  [[nodiscard]] const FaultRates& rates() const { return rates_; }
  // What waits for the next one of this source.
  std::optional<Late> behind_next;

 private:
  FaultInjector& injector_;
  std::unique_ptr<Source> source_;
  FaultRates rates_;
};

std::unique_ptr<Source> FaultInjector::wrap(std::unique_ptr<Source> source, const FaultRates& rates) {
  has_sources_ = true;
  return std::make_unique<Wrapped>(*this, std::move(source), rates);
}

void FaultInjector::begin_run(TimeNs now) {
  begun_ = now;
  counts_ = {};
  not_delayed_ = 0;
}

void FaultInjector::end_run() {
  wanted_.clear();
  late_.clear();
  for (Wrapped* source : holding_) source->behind_next.reset();
  holding_.clear();
}

void FaultInjector::pass(TimeNs now, FragmentBuffer& buffer, AnswerSink& sink) {
  for (const Wanted& wanted : wanted_) make(wanted, now, buffer, sink);
  wanted_.clear();
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

void FaultInjector::make(const Wanted& wanted, TimeNs now, FragmentBuffer& buffer, AnswerSink& sink) {
  Wrapped& source = *wanted.source;
  const FaultRates& rates = source.rates();
  const SliceId slice = wanted.trigger.slice;
  const auto is = [&](InjectedFault fault, double rate) { return draw(fault, rate, source.id(), slice); };
  if (is_silent(rates, now)) {
    ++counts_[static_cast<std::size_t>(InjectedFault::silence)];
    return;
  }
  Late one{now, &source, slice, source.produce(wanted.trigger)};
  if (is(InjectedFault::drop, rates.drop)) {
    one.fragment = {};
    one.fragment.status = FragmentStatus::missing;
    one.fragment.reason = MissingReason::gap;
    return deliver(one, buffer, sink);
  }
  if (!one.fragment.bytes.empty()) {
    if (is(InjectedFault::truncate, rates.truncate)) cut(one.fragment);
    if (is(InjectedFault::corrupt, rates.corrupt)) flip_bit(one.fragment, mix64(slice.value));
  }
  one.twice = is(InjectedFault::duplicate, rates.duplicate);
  if (is(InjectedFault::delay, rates.delay)) {
    one.due = now + rates.delay_ns;
    return keep(std::move(one), buffer, sink);
  }
  if (!source.behind_next && is(InjectedFault::reorder, rates.reorder)) {
    one.due = now + kReorderPatience;
    source.behind_next = std::move(one);
    holding_.push_back(&source);
    return;
  }
  deliver(one, buffer, sink);
  if (source.behind_next) deliver(*std::exchange(source.behind_next, std::nullopt), buffer, sink);
}

void FaultInjector::keep(Late late, FragmentBuffer& buffer, AnswerSink& sink) {
  if (late_.size() >= kDelayedMax) {
    ++not_delayed_;
    return deliver(late, buffer, sink);
  }
  const auto at = std::upper_bound(late_.begin(), late_.end(), late.due,
                                   [](TimeNs due, const Late& other) { return due < other.due; });
  late_.insert(at, std::move(late));
}

void FaultInjector::deliver(const Late& late, FragmentBuffer& buffer, AnswerSink& sink) {
  for (int copies = late.twice ? 2 : 1; copies > 0; --copies)
    (void)buffer.deliver(late.source->id(), late.slice, late.fragment, sink);
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

}  // namespace weir::source
