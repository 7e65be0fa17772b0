#include <weir/assignment/trigger_source.hpp>
#include <weir/base/assert.hpp>
#include <weir/base/hash.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace weir::assignment {
namespace {

class MaxSource final : public TriggerSource {
 public:
  explicit MaxSource(const TriggerSettings& settings) : slice_ns_(settings.slice_ns), type_(settings.type) {}
  std::string_view name() const override { return "max"; }
  void start(const Now&) override {}
  bool next(const Now& now, TriggerOffer& offer) override {
    offer = {std::nullopt, {now.utc, slice_ns_, type_}, {}};
    return true;
  }
  bool waits_for_room() const override { return true; }
  std::optional<TimeNs> next_due(const Now& now) const override { return now.mono; }

 private:
  DurationNs slice_ns_;
  TriggerType type_;
};

class RateSource final : public TriggerSource {
 public:
  explicit RateSource(const TriggerSettings& settings)
      : period_ns_(static_cast<double>(kSecond) / settings.rate_hz),
        slice_ns_(settings.slice_ns),
        type_(settings.type) {}
  std::string_view name() const override { return "rate"; }
  void start(const Now& now) override { start_ = now.mono; }
  void resume(std::uint64_t offered, const Now& begun) override {
    const TimeNs now = std::exchange(start_, begun.mono);
    offered_ = offered;
    // At the latest now, even if the host's clock was set back between the processes.
    start_ -= std::max<DurationNs>(0, due_at(offered_) - now);
  }
  bool next(const Now& now, TriggerOffer& offer) override {
    const TimeNs due = due_at(offered_);
    if (due > now.mono) return false;
    ++offered_;
    offer = {std::nullopt, {now.utc - (now.mono - due), slice_ns_, type_}, {}};
    return true;
  }
  std::uint64_t skip_overdue(const Now& now) override {
    const TimeNs oldest = now.mono - kCatchUpMaxNs;
    if (due_at(offered_) >= oldest) return 0;
    const auto passed = static_cast<std::uint64_t>(static_cast<double>(oldest - start_) / period_ns_);
    const std::uint64_t skipped = passed - std::min(passed, offered_);
    offered_ += skipped;
    return skipped;
  }
  std::optional<TimeNs> next_due(const Now&) const override { return due_at(offered_); }

 private:
  TimeNs due_at(std::uint64_t index) const {
    return start_ + static_cast<TimeNs>(static_cast<double>(index) * period_ns_);
  }

  double period_ns_;
  DurationNs slice_ns_;
  TriggerType type_;
  TimeNs start_ = 0;
  std::uint64_t offered_ = 0;
};

class PoissonSource final : public TriggerSource {
 public:
  explicit PoissonSource(const TriggerSettings& settings)
      : mean_ns_(static_cast<double>(kSecond) / settings.rate_hz),
        seed_(mix64(settings.seed)),
        slice_ns_(settings.slice_ns),
        type_(settings.type) {}
  std::string_view name() const override { return "poisson"; }
  void start(const Now& now) override {
    start_ = now.mono;
    advance();
  }
  void resume(std::uint64_t offered, const Now& begun) override {
    const auto mean_time = static_cast<DurationNs>(static_cast<double>(offered) * mean_ns_);
    start_ = std::min(start_, begun.mono + mean_time);
    since_start_ns_ = 0;
    drawn_ = offered;
    advance();
  }
  bool next(const Now& now, TriggerOffer& offer) override {
    const TimeNs due = due_at();
    if (due > now.mono) return false;
    offer = {std::nullopt, {now.utc - (now.mono - due), slice_ns_, type_}, {}};
    advance();
    return true;
  }
  std::uint64_t skip_overdue(const Now& now) override {
    const TimeNs oldest = now.mono - kCatchUpMaxNs;
    if (due_at() >= oldest) return 0;
    // The distances have no memory: the next one may begin anywhere, and as many are lost as fall due on
    // average.
    const auto skipped = 1 + static_cast<std::uint64_t>(static_cast<double>(oldest - due_at()) / mean_ns_);
    since_start_ns_ = static_cast<double>(oldest - start_);
    drawn_ += skipped - 1;
    advance();
    return skipped;
  }
  std::optional<TimeNs> next_due(const Now&) const override { return due_at(); }

 private:
  TimeNs due_at() const { return start_ + static_cast<TimeNs>(since_start_ns_); }
  // Inverse transform: -ln(u) / rate with u uniform in (0, 1).
  void advance() {
    constexpr double kTwoToMinus53 = 1.0 / 9007199254740992.0;
    const double uniform = (static_cast<double>(mix64(seed_ + drawn_++) >> 11) + 0.5) * kTwoToMinus53;
    since_start_ns_ -= mean_ns_ * std::log(uniform);
  }

  double mean_ns_;
  std::uint64_t seed_;
  DurationNs slice_ns_;
  TriggerType type_;
  TimeNs start_ = 0;
  double since_start_ns_ = 0;
  std::uint64_t drawn_ = 0;
};

class ClockSource final : public TriggerSource {
 public:
  explicit ClockSource(const TriggerSettings& settings)
      : slice_ns_(settings.slice_ns), first_slice_(settings.first_slice), type_(settings.type) {}
  std::string_view name() const override { return "clock"; }
  void start(const Now& now) override {
    WEIR_ASSERT(slice_ns_ > 0);
    const UtcNs since_boundary = ((now.utc % slice_ns_) + slice_ns_) % slice_ns_;
    origin_ = since_boundary == 0 ? now.utc : now.utc - since_boundary + slice_ns_;
  }
  void resume(std::uint64_t offered, const Now& begun) override {
    start(begun);
    period_ = offered;
  }
  bool next(const Now& now, TriggerOffer& offer) override {
    const UtcNs begin = begin_of(period_);
    if (begin > now.utc) return false;
    offer = {SliceId(first_slice_.value + period_), {begin, slice_ns_, type_}, {}};
    ++period_;
    return true;
  }
  std::uint64_t skip_overdue(const Now& now) override {
    const UtcNs oldest = now.utc - std::max(kCatchUpMaxNs, slice_ns_);
    if (begin_of(period_) >= oldest) return 0;
    const auto passed = static_cast<std::uint64_t>((oldest - origin_) / slice_ns_);
    const std::uint64_t skipped = passed - std::min(passed, period_);
    period_ += skipped;
    return skipped;
  }
  std::optional<TimeNs> next_due(const Now& now) const override {
    return now.mono + std::max<DurationNs>(0, begin_of(period_) - now.utc);
  }

 private:
  UtcNs begin_of(std::uint64_t period) const { return origin_ + static_cast<UtcNs>(period) * slice_ns_; }

  DurationNs slice_ns_;
  SliceId first_slice_;
  TriggerType type_;
  UtcNs origin_ = 0;
  std::uint64_t period_ = 0;
};

class FileSource final : public TriggerSource {
 public:
  FileSource(std::vector<FileTrigger> triggers, bool pace, DurationNs slice_ns)
      : triggers_(std::move(triggers)), pace_(pace), slice_ns_(slice_ns) {}
  std::string_view name() const override { return "file"; }
  void start(const Now& now) override { start_ = now.mono; }
  void resume(std::uint64_t offered, const Now&) override {
    offered_ = static_cast<std::size_t>(std::min<std::uint64_t>(offered, triggers_.size()));
    if (!exhausted()) start_ -= due_at() - start_;  // the next one is due now
  }
  bool next(const Now& now, TriggerOffer& offer) override {
    if (exhausted() || (pace_ && due_at() > now.mono)) return false;
    const FileTrigger& trigger = triggers_[offered_++];
    offer = {trigger.slice, {trigger.time, slice_ns_, trigger.type}, trigger.payload};
    return true;
  }
  bool exhausted() const override { return offered_ == triggers_.size(); }
  bool waits_for_room() const override { return !pace_; }
  std::optional<TimeNs> next_due(const Now& now) const override {
    if (exhausted()) return std::nullopt;
    return pace_ ? due_at() : now.mono;
  }

 private:
  TimeNs due_at() const {
    WEIR_ASSERT(offered_ < triggers_.size());
    // The file's times are anyone's: the difference of two is taken without overflow.
    const auto distance = static_cast<std::uint64_t>(triggers_[offered_].time) -
                          static_cast<std::uint64_t>(triggers_.front().time);
    const bool before_first = triggers_[offered_].time < triggers_.front().time;
    const auto room = static_cast<std::uint64_t>(INT64_MAX - std::max<TimeNs>(start_, 0));
    return before_first ? start_ : start_ + static_cast<TimeNs>(std::min(distance, room));
  }

  std::vector<FileTrigger> triggers_;
  bool pace_;
  DurationNs slice_ns_;
  TimeNs start_ = 0;
  std::size_t offered_ = 0;
};

class NetworkSource final : public TriggerSource {
 public:
  std::string_view name() const override { return "network"; }
  void start(const Now&) override {}
  bool next(const Now&, TriggerOffer&) override { return false; }
  bool open() const override { return true; }
};

Unexpected<AssignmentFailure> bad_setting(std::string message) {
  return Unexpected<AssignmentFailure>(AssignmentFailure{AssignmentError::bad_setting, std::move(message)});
}

}  // namespace

std::vector<std::string_view> trigger_modes() {
  return {"max", "rate", "poisson", "clock", "file", "network"};
}

Expected<std::unique_ptr<TriggerSource>, AssignmentFailure> make_trigger_source(TriggerSettings settings) {
  const std::string& mode = settings.mode;
  if (settings.slice_ns < 0) return bad_setting("trigger: the length of a slice is not negative");
  if (mode == "max") return std::make_unique<MaxSource>(settings);
  if (mode == "network") return std::make_unique<NetworkSource>();
  if (mode == "rate" || mode == "poisson") {
    if (!(settings.rate_hz > 0 && settings.rate_hz <= kRateMaxHz)) {
      return bad_setting("trigger: mode " + mode + " needs a rate above 0 and up to 1e8 Hz");
    }
    if (mode == "rate") return std::make_unique<RateSource>(settings);
    return std::make_unique<PoissonSource>(settings);
  }
  if (mode == "clock") {
    if (settings.slice_ns == 0) return bad_setting("trigger: mode clock needs the length of a time slice");
    return std::make_unique<ClockSource>(settings);
  }
  if (mode == "file") {
    if (settings.file.empty())
      return bad_setting("trigger: mode file needs a file with at least one trigger");
    return std::make_unique<FileSource>(std::move(settings.file), settings.file_pace, settings.slice_ns);
  }
  std::string known;
  for (const std::string_view each : trigger_modes())
    known += (known.empty() ? "" : ", ") + std::string(each);
  return Unexpected<AssignmentFailure>(AssignmentFailure{
      AssignmentError::unknown_name, "trigger: unknown mode '" + mode + "'; there are " + known});
}

}  // namespace weir::assignment
