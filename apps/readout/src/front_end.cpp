#include "front_end.hpp"

#include <weir/node/identity.hpp>
#include <weir/reports/numbers.hpp>

#include <spdlog/spdlog.h>

#include <algorithm>
#include <stdexcept>

namespace weir::readout {
namespace {

constexpr DurationNs kPollInterval = 10 * kMillisecond;

void write_log(std::int32_t level, std::string_view text) {
  switch (level) {
    case WEIR_SOURCE_LOG_DEBUG:
      return spdlog::debug("source: {}", text);
    case WEIR_SOURCE_LOG_INFO:
      return spdlog::info("source: {}", text);
    case WEIR_SOURCE_LOG_WARNING:
      return spdlog::warn("source: {}", text);
    default:
      return spdlog::error("source: {}", text);
  }
}

}  // namespace

std::unique_ptr<FrontEnd> FrontEnd::make(const FrontEndSettings& settings,
                                         const ReadoutEnvironment& environment) {
  std::vector<std::string> folders = settings.folders;
  folders.insert(folders.end(), environment.plugin_path.begin(), environment.plugin_path.end());
  auto plugin = source_host::SourcePlugin::load(settings.plugin, folders, settings.host);
  if (!plugin) throw std::runtime_error("source.plugin: " + plugin.error().text);

  std::unique_ptr<FrontEnd> self(new FrontEnd);
  self->ids_ = settings.instance.sources;
  self->clock_ = &environment.clock;
  self->plugin_part_ = node::plugin_part(settings.name, (*plugin)->path(), (*plugin)->file_crc32c());
  node::require(settings.run_identity, self->plugin_part_);
  source_host::InstanceConfig config = settings.instance;
  config.log = write_log;
  config.wake = [front_end = self.get(), wake = environment.wake] {
    front_end->woken_.store(true, std::memory_order_release);
    if (wake) wake();
  };
  auto instance = source_host::SourceInstance::create(*plugin, std::move(config), *self);
  if (!instance) throw std::runtime_error(instance.error().text);
  self->instance_ = *instance;
  if (settings.windows) {
    if (self->instance_->makes()) {
      throw std::runtime_error(
          "source.plugin: '" + (*plugin)->name() +
          "' makes fragments on request, but with build.by: time a source delivers its data "
          "with their times. Use an asynchronous source, or another build.by");
    }
    self->windows_ = std::make_unique<WindowDelivery>(self->ids_, *settings.windows);
  }
  spdlog::info("source plugin={} version={} path={}", (*plugin)->name(), (*plugin)->version(),
               (*plugin)->path());
  if (environment.readiness != nullptr && self->instance_->fd() >= 0) {
    self->watch_ = environment.readiness->watch(self->instance_->fd(),
                                                [front_end = self.get()] { front_end->readable_ = true; });
  }
  return self;
}

FrontEnd::~FrontEnd() {
  watch_.reset();
  if (instance_) instance_->detach();
}

std::vector<std::unique_ptr<source::FragmentSource>> FrontEnd::sources(StepCheck* steps) {
  if (windows_) return windows_->sources();
  steps_ = steps;
  auto sources = source_host::make_sources(instance_, ids_);
  if (steps == nullptr || !instance_->makes()) return sources;
  for (auto& source : sources) source = steps->wrap(std::move(source));
  return sources;
}

void FrontEnd::attach(source::FragmentBuffer& buffer, source::AnswerSink& sink, reports::LossWatch& losses,
                      OwnNumbers* numbers) {
  numbers_ = numbers;
  buffer_ = &buffer;
  sink_ = &sink;
  losses_ = &losses;
  if (windows_) windows_->attach(buffer, sink);
}

std::string FrontEnd::begin_run(RunNumber run, SliceId first_slice, bool joins) {
  faults_.clear();
  faults_unnamed_ = 0;
  if (windows_) windows_->begin_run(joins ? std::optional(clock_->utc_ns()) : std::nullopt);
  const auto begun = instance_->begin_run(run, first_slice);
  if (!begun) return begun.error().text;
  if (watch_) watch_->arm();
  return {};
}

void FrontEnd::announced(std::span<const source::Trigger> triggers) {
  if (windows_) windows_->announced(triggers);
  instance_->announced(triggers);
}

void FrontEnd::end_run() {
  instance_->end_run();
  if (windows_) windows_->end_run();
}

void FrontEnd::pass(TimeNs now_ns) {
  if (!instance_->in_run()) return;
  const bool woken = woken_.exchange(false, std::memory_order_acq_rel);
  if (!readable_ && !woken && now_ns - polled_ns_ < kPollInterval) return;
  polled_ns_ = now_ns;
  polled_utc_ns_ = clock_->utc_ns();
  instance_->poll(now_ns);
  if (!readable_) return;
  readable_ = false;
  watch_->arm();
}

void FrontEnd::add_to(v1::Report& report) const {
  reports::ReportCounters counters(report);
  for (const auto& [name, value] : instance_->counters()) counters.of("source.", name) = value;
  if (windows_) windows_->add_to(report);
  *report.mutable_ran()->add_parts() = plugin_part_;
  (*report.mutable_notes())["source"] = instance_->plugin().name() + " " + instance_->plugin().version();
}

source::Delivery FrontEnd::on_fragment(SourceId source, SliceId slice, source::SourceFragment fragment,
                                       const Stamp& stamp) {
  if (windows_) return windows_->add(source, slice, std::move(fragment), stamp, clock_->utc_ns());
  if (numbers_ != nullptr) {
    const auto number = numbers_->take(source, slice.value, stamp, polled_utc_ns_, polled_ns_);
    if (!number) {
      if (const std::string fault = numbers_->take_fault(); !fault.empty()) on_fault(fault);
      return source::Delivery::late;
    }
    slice = *number;
  }
  if (steps_ != nullptr) {
    const bool there = fragment.status != FragmentStatus::missing;
    slice = there ? steps_->check(source, slice, stamp, fragment) : steps_->place(source, slice);
  }
  const source::Delivery delivery = buffer_->deliver(source, slice, std::move(fragment), *sink_);
  if (numbers_ != nullptr && delivery == source::Delivery::taken)
    numbers_->arrived(source, slice, stamp, polled_utc_ns_, polled_ns_,
                      steps_ == nullptr || !steps_->has_named(source));
  return delivery;
}

void FrontEnd::on_watermark(SourceId source, SliceId slice, MissingReason reason) {
  if (windows_) return;  // their ids are no slices
  const auto number = numbers_ == nullptr ? slice : numbers_->place(source, slice.value);
  if (!number) return;
  buffer_->source_passed(source, steps_ == nullptr ? *number : steps_->place(source, *number), reason,
                         *sink_);
}

void FrontEnd::on_time_passed(SourceId source, UtcNs time, bool gap) {
  if (windows_) windows_->pass(source, time, gap, clock_->utc_ns());
}

void FrontEnd::on_losses(std::optional<SourceId> source, std::uint64_t reached, std::uint64_t lost,
                         std::string_view reason) {
  losses_->add(source.value_or(reports::LossWatch::kNoSource), reports::LossWatch::Stage::packets, reached,
               lost, reason);
}

void FrontEnd::add_losses(std::uint64_t made, std::uint64_t delivered) {
  using Stage = reports::LossWatch::Stage;
  for (const auto& [source, failed] : instance_->make_failed()) {
    losses_->set_reached(source, Stage::made, made);
    losses_->set_lost(source, Stage::made, "make_failed", failed);
  }
  if (windows_) windows_->add_losses(*losses_);
  const std::uint64_t refused = instance_->refused();
  if (refused == 0) return;
  losses_->set_reached(reports::LossWatch::kNoSource, Stage::fragments, delivered + refused);
  losses_->set_lost(reports::LossWatch::kNoSource, Stage::fragments, "refused", refused);
}

void FrontEnd::on_fault(std::string_view text) {
  if (faults_.size() < kFaultsMax) {
    spdlog::warn("front-end fault=\"{}\"", text);
    faults_.emplace_back(text);
  } else {
    ++faults_unnamed_;
  }
}

std::vector<std::string> FrontEnd::faults() const {
  std::vector<std::string> all = faults_;
  if (windows_) {
    if (std::string text = windows_->fault(); !text.empty()) all.push_back(std::move(text));
  }
  if (faults_unnamed_ > 0)
    all.push_back("and " + std::to_string(faults_unnamed_) + " more of its front-ends");
  return all;
}

}  // namespace weir::readout
