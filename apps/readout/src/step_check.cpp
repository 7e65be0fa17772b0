#include "step_check.hpp"

#include <weir/base/planted.hpp>
#include <weir/reports/numbers.hpp>
#include <weir/reports/source_counts.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

namespace weir::readout {
namespace {

constexpr DurationNs kListEvery = 100 * kMillisecond;  // for news that can wait
constexpr std::size_t kNamed = 4;

}  // namespace

// Marks the fragments that a source makes.
class StepCheck::Checked final : public source::FragmentSource {
 public:
  Checked(StepCheck& check, std::unique_ptr<source::FragmentSource> source)
      : check_(check), source_(std::move(source)) {}

  [[nodiscard]] SourceId id() const override { return source_->id(); }
  void begin_run(RunNumber run) override { source_->begin_run(run); }
  [[nodiscard]] source::SourceFragment produce(const source::Trigger& trigger) override {
    source::SourceFragment fragment = source_->produce(trigger);
    if (fragment.status != FragmentStatus::missing)
      (void)check_.check(id(), trigger.slice, source_->stamp(trigger), fragment);
    return fragment;
  }
  [[nodiscard]] Stamp stamp(const source::Trigger& trigger) const override { return source_->stamp(trigger); }
  [[nodiscard]] Timing timing() const override { return source_->timing(); }
  void given_up(SliceId slice) override { source_->given_up(slice); }

 private:
  StepCheck& check_;
  std::unique_ptr<source::FragmentSource> source_;
};

StepCheck::StepCheck(const steps::WatchSettings& settings, std::vector<SourceId> sources)
    : sources_(std::move(sources)), watch_(settings, sources_) {}

std::unique_ptr<source::FragmentSource> StepCheck::wrap(std::unique_ptr<source::FragmentSource> source) {
  made_.push_back(source->id());
  return std::make_unique<Checked>(*this, std::move(source));
}

void StepCheck::begin_run() {
  watch_.begin_run();
  delivering_.clear();
  jumped_.clear();
  told_.clear();
  realigned_ = 0;
  for (const steps::Slipped& one : named_) watch_.recall(one);
  for (const auto& [source, treatment] : treatments_) watch_.realign(source, treatment.shift);
  resend_ = true;
}

SliceId StepCheck::check(SourceId source, SliceId slice, const Stamp& stamp,
                         source::SourceFragment& fragment) {
  const steps::Placed placed = watch_.take(source, slice, stamp);
  const bool ignored = planted(Planted::mark_named) && !has_named(source);
  if (!placed.fits && !ignored) fragment.status = FragmentStatus::out_of_step;
  if (treatments_.empty()) return placed.slice;
  const auto found = treatments_.find(source);
  if (found == treatments_.end()) return placed.slice;
  if (found->second.masked) fragment = source::missing_fragment(MissingReason::masked);
  if (found->second.shift != 0) ++realigned_;
  return placed.slice;
}

SliceId StepCheck::place(SourceId source, SliceId slice) const {
  const auto found = treatments_.find(source);
  if (found == treatments_.end()) return slice;
  return SliceId(slice.value + static_cast<std::uint64_t>(found->second.shift));
}

void StepCheck::announced(std::span<const source::Trigger> triggers, source::FragmentBuffer& buffer) {
  for (const source::Trigger& trigger : triggers) {
    watch_.announce(trigger.slice, trigger.time,
                    [&](SourceId source, SliceId slice) { buffer.mark_out_of_step(source, slice); });
  }
}

void StepCheck::set_jumped(std::vector<SourceId> delivering, std::vector<steps::Slipped> jumped) {
  delivering_ = std::move(delivering);
  jumped_ = std::move(jumped);
  changed_ = true;
}

std::vector<SourceId> StepCheck::compared() const {
  std::vector<SourceId> all;
  std::ranges::set_union(watch_.compared(), delivering_, std::back_inserter(all));
  return all;
}

// A slip that its times show is exact.
std::vector<steps::Slipped> StepCheck::slipped() const {
  std::vector<steps::Slipped> all;
  std::ranges::set_union(watch_.slipped(), jumped_, std::back_inserter(all), {}, &steps::Slipped::source,
                         &steps::Slipped::source);
  return all;
}

std::optional<v1::Control> StepCheck::take_message(TimeNs now_ns) {
  changed_ = watch_.take_news() || changed_;
  if (!changed_ && !resend_) return std::nullopt;
  std::vector<steps::Slipped> slipped = this->slipped();
  if (!resend_ && slipped == told_ && now_ns - told_ns_ < kListEvery) return std::nullopt;
  v1::Control message;
  v1::OutOfStep& list = *message.mutable_out_of_step();
  for (const SourceId source : compared()) {
    if (!std::ranges::binary_search(slipped, source, {}, &steps::Slipped::source))
      list.add_sources()->set_source(source.value);
  }
  for (const steps::Slipped& slip : slipped) {
    v1::OutOfStep::Source& one = *list.add_sources();
    one.set_source(slip.source.value);
    one.set_slip(slip.slip);
    one.set_since_slice(slip.since.value);
    one.set_by_time(slip.by_time);
  }
  // Nothing is compared yet, and the supervisor keeps what an earlier process has found.
  if (list.sources().empty()) return std::nullopt;
  told_ = std::move(slipped);
  told_ns_ = now_ns;
  changed_ = resend_ = false;
  return message;
}

void StepCheck::take_verdict(const v1::StepVerdict& verdict) {
  const auto before = std::exchange(treatments_, {});
  named_.clear();
  for (const v1::StepVerdict::Source& one : verdict.sources()) {
    const SourceId source(one.source());
    if (!std::ranges::binary_search(sources_, source)) continue;
    const steps::Slipped named{source, one.slip(), SliceId(one.since_slice()), one.by_time()};
    named_.push_back(named);
    watch_.recall(named);
    const bool moves = one.realigned() && std::ranges::find(made_, source) == made_.end();
    if (one.masked() || moves) treatments_[source] = {one.masked(), moves ? one.slip() : 0};
  }
  for (const auto& [source, treatment] : before) watch_.realign(source, 0);
  for (const auto& [source, treatment] : treatments_) watch_.realign(source, treatment.shift);
}

bool StepCheck::has_named(SourceId source) const {
  return std::ranges::find(named_, source, &steps::Slipped::source) != named_.end();
}

std::string StepCheck::text() const { return steps::sentences(named_, kNamed); }

void StepCheck::add_to(v1::Report& report) const {
  reports::ReportCounters counters(report);
  counters["readout.out_of_step"] = watch_.misfits();
  counters["readout.realigned"] = realigned_;
  counters["readout.not_compared"] = watch_.not_compared();
  reports::Gauges gauges(report);
  gauges["sources_out_of_step"] = static_cast<double>(named_.size());
  reports::note_out_of_step(report, text());
}

}  // namespace weir::readout
